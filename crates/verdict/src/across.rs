//! What only all sessions of a lake together show: a run used twice, a diff that failed elsewhere.

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

use crate::{Graded, Judged, Ledger, VerdictFlag};

/// Half a SHA-256: enough to tell things apart, and small, since a lake has many.
type Key = [u8; 16];

fn key(parts: &[&str]) -> Key {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut out = [0; 16];
    out.copy_from_slice(&hash.finalize()[..16]);
    out
}

fn graded(g: &Graded) -> Key {
    key(&[&g.repo, &g.task_id, &g.base_commit, &g.tests_hash, &g.diff_sha256])
}

/// Who comes first to a run: the least one. A total order, so that no order of adding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    unverified: bool,
    /// A branch that holds the verdict comes before one to which only the ledger brings it.
    from_ledger: bool,
    order: u64,
    session: Key,
    no_flip: bool,
    branch: u32,
}

/// What a branch has to say to other sessions, made small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    rank: Rank,
    /// The run, alone and together with the session.
    run: Option<(Key, Key)>,
    /// What its PASS was graded for, where its own branch has not shown it flaky.
    passed: Option<Key>,
    failed: Vec<Key>,
}

impl Claim {
    /// The claim of a judged branch. `order` is the session's place in commit order, the same for all its branches: the
    /// number of the batch that first held any of it will do; sessions of the same order are told apart by their ids.
    pub fn new(judged: &Judged, session_id: &str, branch: u32, order: u64) -> Claim {
        let user = judged.pass.as_ref().or(judged.negative.as_ref());
        let pass = judged.pass.as_ref().filter(|_| !judged.has(VerdictFlag::Flaky));
        Claim {
            rank: Rank {
                unverified: !user.is_some_and(|e| e.verified),
                from_ledger: user.is_some_and(|e| e.from_ledger),
                order,
                session: key(&[session_id]),
                no_flip: judged.pass.is_none(),
                branch,
            },
            run: user.and_then(|e| e.run_id.as_deref()).map(|run| (key(&[run]), key(&[session_id, run]))),
            passed: pass.and_then(|e| e.graded.as_ref()).map(graded),
            failed: judged.failed.iter().map(graded).collect(),
        }
    }

    /// Whether it can neither change another's answer nor get one: such a claim need not be kept.
    pub fn is_empty(&self) -> bool {
        self.run.is_none() && self.passed.is_none() && self.failed.is_empty()
    }
}

/// All claims of a lake. Add those of every branch that is not retracted, in any order; then ask.
///
/// A retracted branch must stay out: a copy that its owner retracts would else keep the run that it copied.
#[derive(Clone, Debug, Default)]
pub struct Across {
    /// First user of each run that a signature proves.
    proven: HashMap<Key, Rank>,
    /// First user of each run within a session, where nothing proves it.
    recorded: HashMap<Key, Rank>,
    failed: HashSet<Key>,
}

impl Across {
    /// No claims yet.
    pub fn new() -> Across {
        Across::default()
    }

    /// Takes what the oracles' ledger says to have failed, though no branch may show it.
    pub fn add_ledger(&mut self, ledger: &Ledger) {
        self.failed.extend(ledger.failed().map(|failed| graded(&failed)));
    }

    /// Takes a branch's claim.
    pub fn add(&mut self, claim: &Claim) {
        self.failed.extend(&claim.failed);
        if let Some((run, in_session)) = claim.run {
            // What is not proven was written by anyone: it may say nothing against another session.
            let (users, run) =
                if claim.rank.unverified { (&mut self.recorded, in_session) } else { (&mut self.proven, run) };
            users.entry(run).and_modify(|first| *first = claim.rank.min(*first)).or_insert(claim.rank);
        }
    }

    /// What the other claims show about a branch whose claim was added, beyond what its own judging did.
    pub fn flags(&self, claim: &Claim) -> Vec<VerdictFlag> {
        let mut out = Vec::new();
        if let Some((run, in_session)) = claim.run {
            let first = [self.proven.get(&run), self.recorded.get(&in_session)].into_iter().flatten().min();
            if first.is_some_and(|first| *first < claim.rank) {
                out.push(VerdictFlag::ReplayedRun);
            }
        }
        if claim.passed.is_some_and(|passed| self.failed.contains(&passed)) {
            out.push(VerdictFlag::Flaky);
        }
        out
    }
}
