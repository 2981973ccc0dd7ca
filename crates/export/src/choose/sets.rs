//! The rules of each set, in the order in which a reason is given.

use lake_trace::Outcome;
use lake_verdict::VerdictFlag;

use super::{Everyone, Reason};
use crate::Set;
use crate::facts::{Facts, Judgement};

/// A branch that is not in a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excluded {
    /// Its place in the catalog.
    pub(crate) branch: usize,
    pub(crate) reason: Reason,
    /// The step of the verification that found the flag that is the reason.
    pub(crate) step: Option<&'static str>,
}

/// What a set makes of the selection: each branch is in one of the two, once.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetChoice {
    /// Places in the catalog.
    pub(crate) candidates: Vec<usize>,
    pub(crate) excluded: Vec<Excluded>,
}

/// Sorts the selection out for one set. `banned`: branches with a secret in what all rows of their harness would share.
pub(crate) fn candidates(
    set: Set,
    selected: &[usize],
    facts: &[Option<Facts>],
    everyone: &Everyone,
    banned: &dyn Fn(&Judgement) -> bool,
) -> SetChoice {
    let mut choice = SetChoice::default();
    for &branch in selected {
        match refuse(set, branch, facts[branch].as_ref(), everyone, banned) {
            None => choice.candidates.push(branch),
            Some((reason, step)) => choice.excluded.push(Excluded { branch, reason, step }),
        }
    }
    choice
}

type Refusal = (Reason, Option<&'static str>);

fn refuse(
    set: Set,
    branch: usize,
    facts: Option<&Facts>,
    everyone: &Everyone,
    banned: &dyn Fn(&Judgement) -> bool,
) -> Option<Refusal> {
    if everyone.retracted[branch] {
        return Some((Reason::Retracted, None));
    }
    let judgement = match facts {
        Some(Facts::Read(judgement)) => judgement,
        Some(Facts::Unread(reason)) => return Some((*reason, None)),
        // Fail closed: nothing is known of it.
        None => return Some((Reason::Damaged, None)),
    };
    let flags = &everyone.flags[branch];
    let flag = |(flag, step): &(VerdictFlag, &'static str)| (Reason::Flag(*flag), Some(*step));
    if let Some(first) = flags.iter().find(|(flag, _)| !flag.is_notice()) {
        return Some(flag(first));
    }
    let fits = match (set, judgement.outcome) {
        (_, Outcome::Flipped) => true,
        (Set::Preference, Outcome::NoFlip) => judgement.evidence.is_some(),
        _ => false,
    };
    if !fits {
        // Of a negative even a notice is too much.
        let notice = flags.first().filter(|_| set == Set::Preference && judgement.outcome == Outcome::NoFlip);
        return Some(notice.map_or((Reason::Outcome(judgement.outcome), None), flag));
    }
    if set == Set::Preference && everyone.is_flaky_task(judgement) {
        return Some((Reason::Flag(VerdictFlag::Flaky), Some("diff")));
    }
    let Some(row) = &judgement.row else { return Some((Reason::Outcome(judgement.outcome), None)) };
    let rest = match set {
        Set::Sft => row.no_sft,
        Set::Preference => row.no_preference.or_else(|| {
            let helped = judgement.outcome == Outcome::Flipped && row.human_help;
            helped.then_some(Reason::HumanHelp)
        }),
    };
    let rest = rest.or_else(|| banned(judgement).then_some(Reason::Secret));
    rest.map(|reason| (reason, None))
}
