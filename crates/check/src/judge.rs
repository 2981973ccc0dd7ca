//! What the verdicts of one branch are worth.

use std::collections::{BTreeSet, HashMap};

use lake_store::{Branch, Finding};
use lake_trace::{Action, Fold, Hashed, Outcome};
use lake_verdict::{Claim, Judged, Ledger, Trust, VerdictFlag, Whole, judge_whole};

/// A judged branch, before the others were heard.
#[derive(Debug)]
pub(crate) struct Verdicts {
    pub(crate) outcome: Outcome,
    /// One finding a flag.
    pub(crate) findings: Vec<Finding>,
    /// What it has to say about other branches; None where it is retracted by itself.
    pub(crate) claim: Option<Claim>,
}

/// What a branch is judged by.
pub(crate) struct Judging<'j> {
    pub(crate) trust: &'j Trust,
    pub(crate) ledger: Option<&'j Ledger>,
    /// The first batch that held any of the session.
    pub(crate) order: u64,
    /// When the batch that first held a byte was committed.
    pub(crate) committed_at: &'j dyn Fn(u64) -> Option<i64>,
}

/// Judges a branch that was folded. `event_ids` are those of lines that may have a flag.
pub(crate) fn verdicts(
    branch: &Branch,
    bytes: &Hashed,
    fold: &Fold,
    judging: &Judging<'_>,
    event_ids: &HashMap<u64, String>,
) -> Verdicts {
    // Where a signature is required by a key's scope the judge asks for it by itself.
    let &Judging { trust, ledger, order, committed_at } = judging;
    let whole = Whole { session_id: &branch.session_id, branch: branch.branch, fold, bytes, committed_at, ledger };
    let judged = judge_whole(whole, Some(trust), false);
    let claim = judged.claim(&branch.session_id, branch.branch, order);
    Verdicts {
        outcome: judged.outcome,
        findings: findings(&judged, event_ids),
        claim: (!retracts_itself(branch, fold)).then_some(claim),
    }
}

fn findings(judged: &Judged, event_ids: &HashMap<u64, String>) -> Vec<Finding> {
    let detail = |flag: VerdictFlag, step: &str, line: u64| {
        let records = judged.records.iter().filter(|record| record.at.line == line);
        let steps = records.flat_map(|record| &record.steps);
        let found = steps.into_iter().find(|s| s.flag == Some(flag) && s.name == step);
        let missing = || judged.missing.iter().find(|_| flag == VerdictFlag::VerdictMissing).map(|(_, text)| text);
        found.map(|step| &step.detail).or_else(missing).cloned().unwrap_or_default()
    };
    let finding = |flag: VerdictFlag, step: &str, line: u64| Finding {
        rule: flag.as_str().to_owned(),
        line,
        event_id: event_ids.get(&line).cloned().unwrap_or_default(),
        field: step.to_owned(),
        detail: detail(flag, step, line),
        ..Finding::default()
    };
    let mut seen: BTreeSet<VerdictFlag> = BTreeSet::new();
    let mut out = Vec::new();
    for (flag, step, at) in &judged.flags {
        if seen.insert(*flag) {
            out.push(finding(*flag, step, at.map_or(0, |at| at.line)));
        }
    }
    // Where nobody asks for a signature a missing one costs nothing, but who looks wants to know.
    if let Some(at) = judged.unsigned()
        && seen.insert(VerdictFlag::Unsigned)
    {
        out.push(finding(VerdictFlag::Unsigned, "signature", at.line));
    }
    out
}

/// What other branches bring.
pub(crate) fn brought(flag: VerdictFlag) -> Finding {
    let (step, detail) = match flag {
        VerdictFlag::ReplayedRun => ("run", "another branch or session used the run first"),
        _ => ("diff", "another session's run failed the same diff"),
    };
    Finding { rule: flag.as_str().to_owned(), field: step.to_owned(), detail: detail.to_owned(), ..Finding::default() }
}

/// Whether the branch takes all of itself back, from the source that it came from first. A copy that its owner took back
/// must not keep the run that it copied.
fn retracts_itself(branch: &Branch, fold: &Fold) -> bool {
    let source = |offset: u64| {
        let mut segments = branch.segments.iter();
        segments.find(|s| (s.offset..s.end).contains(&offset)).map(|s| s.source.as_str())
    };
    fold.corrections().iter().any(|(at, correction)| {
        correction.action == Action::Retract
            && correction.session_id == branch.session_id
            && source(at.offset) == source(0)
    })
}
