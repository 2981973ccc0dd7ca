//! How many sessions are left after each step from the selection to the rows.

use std::collections::BTreeMap;

use lake_trace::Outcome;
use serde::Serialize;

use super::Reason;
use crate::Set;

/// One step of the way: what it is called, how many are left after it, and whom it dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunnelStep {
    /// `graded`, `flipped`, `verified`, `clean`, `fits` and `exported`; in the preference set `flipped` has the negatives too,
    /// and `paired` comes before `exported`.
    pub step: &'static str,
    /// Sessions that are left.
    pub left: u64,
    /// Sessions that were dropped here, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
}

const STEPS: [&str; 7] = ["graded", "flipped", "verified", "clean", "fits", "paired", "exported"];

/// The steps of a set, from `selected` sessions on.
pub(crate) fn funnel(set: Set, selected: u64, reasons: impl Iterator<Item = Reason>) -> Vec<FunnelStep> {
    let mut dropped: BTreeMap<&'static str, BTreeMap<&'static str, u64>> = BTreeMap::new();
    for reason in reasons {
        *dropped.entry(step_of(reason)).or_default().entry(reason.as_str()).or_default() += 1;
    }
    let mut left = selected;
    let steps = STEPS.into_iter().filter(|step| set == Set::Preference || *step != "paired");
    let mut next = |step: &'static str| {
        let dropped = dropped.remove(step).unwrap_or_default();
        left = left.saturating_sub(dropped.values().sum());
        FunnelStep { step, left, dropped }
    };
    steps.map(&mut next).collect()
}

fn step_of(reason: Reason) -> &'static str {
    match reason {
        Reason::Outcome(Outcome::Untracked | Outcome::Ungraded) | Reason::Purged | Reason::Damaged => "graded",
        Reason::Outcome(_) => "flipped",
        Reason::Retracted | Reason::Flag(_) | Reason::Fork | Reason::Reject => "verified",
        Reason::Secret => "clean",
        Reason::TooLong | Reason::Truncated => "fits",
        Reason::NoPartner => "paired",
        Reason::Filtered | Reason::Unrenderable | Reason::NothingTrained | Reason::HumanHelp => "exported",
    }
}
