//! What only all sessions together show: retractions, runs used twice, flaky diffs and tasks.

use std::collections::HashSet;

use lake_store::{Branch, Catalog};
use lake_trace::Action;
use lake_verdict::{Across, Graded, VerdictFlag};

use crate::Request;
use crate::facts::{Facts, Judgement};

/// What all sessions together show about each branch of the catalog.
#[derive(Debug, Default)]
pub(crate) struct Everyone {
    pub(crate) retracted: Vec<bool>,
    /// Flags of the branch itself, then those that other sessions bring; each with the step that found it.
    pub(crate) flags: Vec<Vec<(VerdictFlag, &'static str)>>,
    /// Tasks on which one diff both passed and failed, or the empty one passed.
    flaky: HashSet<Work>,
    /// How many corrections count, and how many do not.
    pub(crate) corrections: (u64, u64),
}

/// Repository, task, base commit and tests.
type Work = (String, String, String, String);

fn work(graded: &Graded) -> Work {
    (graded.repo.clone(), graded.task_id.clone(), graded.base_commit.clone(), graded.tests_hash.clone())
}

impl Everyone {
    /// Whether the task that a branch was graded on is flaky.
    pub(crate) fn is_flaky_task(&self, judgement: &Judgement) -> bool {
        let graded = judgement.evidence.as_ref().and_then(|evidence| evidence.graded.as_ref());
        !self.flaky.is_empty() && graded.is_some_and(|graded| self.flaky.contains(&work(graded)))
    }
}

/// Looks over all branches. `facts` are in the catalog's order, None where nothing was read.
pub(crate) fn everyone(catalog: &Catalog, facts: &[Option<Facts>], request: &Request) -> Everyone {
    let read = || {
        catalog.branches.iter().zip(facts).enumerate().filter_map(|(i, (branch, facts))| match facts {
            Some(Facts::Read(judgement)) => Some((i, branch, judgement)),
            _ => None,
        })
    };
    let mut out = Everyone { retracted: vec![false; facts.len()], ..Everyone::default() };
    let mut taken_back: HashSet<&str> = HashSet::new();
    for (i, branch, judgement) in read() {
        for (offset, correction) in judgement.corrections.iter().filter(|(_, c)| c.action == Action::Retract) {
            let source = source_at(branch, *offset);
            if source.is_some_and(|source| request.corrections_from.iter().any(|from| from == source)) {
                taken_back.insert(&correction.session_id);
                out.corrections.0 += 1;
            } else if correction.session_id == branch.session_id && source == source_at(branch, 0) {
                out.retracted[i] = true;
                out.corrections.0 += 1;
            } else {
                out.corrections.1 += 1;
            }
        }
    }
    for (retracted, branch) in out.retracted.iter_mut().zip(&catalog.branches) {
        *retracted |= taken_back.contains(branch.session_id.as_str());
    }
    let mut across = Across::new();
    request.ledger.iter().for_each(|ledger| across.add_ledger(ledger));
    for (_, _, judgement) in read().filter(|(i, ..)| !out.retracted[*i]) {
        across.add(&judgement.claim);
    }
    out.flags = facts.iter().map(|facts| own_flags(facts.as_ref())).collect();
    for (i, _, judgement) in read().filter(|(i, ..)| !out.retracted[*i]) {
        for flag in across.flags(&judgement.claim) {
            let step = if flag == VerdictFlag::ReplayedRun { "run" } else { "diff" };
            out.flags[i].push((flag, step));
        }
        // What nobody signed may say nothing about others' sessions.
        let counts = |e: &&lake_verdict::Evidence| e.verified || request.trust.is_none();
        let graded = judgement.evidence.as_ref().filter(counts).and_then(|e| e.graded.as_ref());
        if let Some(graded) = graded.filter(|_| out.flags[i].iter().any(|(flag, _)| *flag == VerdictFlag::Flaky)) {
            out.flaky.insert(work(graded));
        }
    }
    out
}

fn own_flags(facts: Option<&Facts>) -> Vec<(VerdictFlag, &'static str)> {
    match facts {
        Some(Facts::Read(judgement)) => judgement.flags.clone(),
        _ => Vec::new(),
    }
}

fn source_at(branch: &Branch, offset: u64) -> Option<&str> {
    branch.segments.iter().find(|s| (s.offset..s.end).contains(&offset)).map(|s| s.source.as_str())
}
