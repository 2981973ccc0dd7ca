//! How many sessions are left after each step from the selection to the rows.

use std::collections::BTreeMap;

use lake_trace::Outcome;
use serde::Serialize;

use super::Reason;

/// One step of the way: what it is called, how many are left after it, and whom it dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunnelStep {
    /// `graded`, `flipped` (in the preference set also the negatives), `verified`, `clean`, `fits` (a row can be made of it) and
    /// `exported`.
    pub step: &'static str,
    /// Sessions that are left.
    pub left: u64,
    /// Sessions that were dropped here, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
}

const STEPS: [&str; 6] = ["graded", "flipped", "verified", "clean", "fits", "exported"];

/// The steps from `selected` sessions on.
pub(crate) fn funnel(selected: u64, reasons: impl Iterator<Item = Reason>) -> Vec<FunnelStep> {
    let mut dropped: BTreeMap<&'static str, BTreeMap<&'static str, u64>> = BTreeMap::new();
    for reason in reasons {
        *dropped.entry(step_of(reason)).or_default().entry(reason.as_str()).or_default() += 1;
    }
    let mut left = selected;
    let mut next = |step: &'static str| {
        let dropped = dropped.remove(step).unwrap_or_default();
        left = left.saturating_sub(dropped.values().sum());
        FunnelStep { step, left, dropped }
    };
    STEPS.into_iter().map(&mut next).collect()
}

fn step_of(reason: Reason) -> &'static str {
    match reason {
        Reason::Outcome(Outcome::Untracked | Outcome::Ungraded) | Reason::Purged | Reason::Damaged => "graded",
        Reason::Outcome(_) => "flipped",
        Reason::Retracted | Reason::Flag(_) | Reason::Fork | Reason::Reject => "verified",
        Reason::Secret => "clean",
        Reason::TooLong | Reason::Truncated | Reason::Unrenderable | Reason::NothingTrained | Reason::HumanHelp => {
            "fits"
        }
        Reason::Filtered | Reason::NoPartner => "exported",
    }
}
