//! The judge: what a branch of a session is worth, and what proves it.

use std::borrow::Cow;

use lake_trace::{EndedBy, LineRef, Outcome, SessionStart, Verdict, VerdictRecord, canonical_repo};

use crate::examine::Step;
use crate::records::{Looked, RecordCheck, check_all, is_gate_error, record_of};
use crate::rows::{Reading, read, tests_hash};
use crate::statement::EMPTY_SHA256;
use crate::{Claim, Ledger, Statement, Trust, VerdictFlag};

/// One branch of a session as the judge needs it.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The session that the file is of.
    pub session_id: &'a str,
    /// The branch, from 0.
    pub branch: u32,
    /// The first `session_start` in file order.
    pub start: Option<(LineRef, &'a SessionStart)>,
    /// The verdict records in file order, of equal lines the first.
    pub verdicts: &'a [(LineRef, VerdictRecord)],
    /// What ended the session.
    pub ended_by: Option<&'a str>,
    /// Bytes of the branch in the lake.
    pub len: u64,
    /// From a byte offset to the commit time (milliseconds UTC) of the batch whose segment first held it.
    pub committed_at: &'a dyn Fn(u64) -> Option<i64>,
    /// SHA-256 of the branch's first n bytes, as they were; only asked for 0 < n ≤ `len`, once a signed record at most.
    pub prefix_sha256: &'a dyn Fn(u64) -> Option<[u8; 32]>,
    /// Whether byte n − 1 is a newline; only asked for what `prefix_sha256` was.
    pub ends_line: &'a dyn Fn(u64) -> bool,
    /// What the oracles say that they signed; counts with a trust file only.
    pub ledger: Option<&'a Ledger>,
}

/// What a diff was graded for: two runs with the same of these should say the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Graded {
    /// Canonical remote, lower case.
    pub repo: String,
    /// The task.
    pub task_id: String,
    /// The base commit.
    pub base_commit: String,
    /// The tests.
    pub tests_hash: String,
    /// SHA-256 of the diff.
    pub diff_sha256: String,
}

impl Graded {
    pub(crate) fn signed(statement: &Statement) -> Graded {
        Graded {
            repo: statement.repo.to_lowercase(),
            task_id: statement.task_id.clone(),
            base_commit: statement.base_commit.clone(),
            tests_hash: statement.tests_hash.clone(),
            diff_sha256: statement.diff_sha256.clone(),
        }
    }

    /// None where the record names no diff.
    fn recorded(case: &Case<'_>, record: &VerdictRecord) -> Option<Graded> {
        let text = |s: &Option<String>| s.clone().unwrap_or_default();
        Some(Graded {
            repo: case.start.and_then(|(_, s)| s.repo.as_deref()).map(canonical_repo).unwrap_or_default(),
            task_id: text(&record.task_id),
            base_commit: text(&record.base_commit),
            tests_hash: text(&record.tests_hash),
            diff_sha256: record.diff_sha256.clone()?,
        })
    }
}

/// Where evidence and training end, and what proves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The record's place in [`Judged::records`].
    pub record: usize,
    /// Bytes: only lines before it are evidence. Signed: the end of the prefix that was graded. Unsigned: the start of
    /// that verdict's line.
    pub prefix_end: u64,
    /// Whether a signature proves it.
    pub verified: bool,
    /// Whether only the ledger has it.
    pub from_ledger: bool,
    /// The key that signed it.
    pub key_id: Option<String>,
    /// Digest of what was signed.
    pub payload_digest: Option<String>,
    /// The oracle's run.
    pub run_id: Option<String>,
    /// The diff that was graded.
    pub diff_sha256: Option<String>,
    /// The tests.
    pub tests_hash: Option<String>,
    /// What the diff was graded for; None where an unsigned record names no diff.
    pub graded: Option<Graded>,
}

/// What a branch is worth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The outcome.
    pub outcome: Outcome,
    /// What is wrong with the session, or with a record up to the deciding PASS (without one: with any): the flag, the
    /// step that found it (`start`, `diff` and `tests` beside those of [`Step::name`]), and its line. Each once.
    pub flags: Vec<(VerdictFlag, &'static str, Option<LineRef>)>,
    /// Each verdict record, those after the deciding PASS too. What only the ledger has stands where its chain has it.
    pub records: Vec<RecordCheck>,
    /// What the ledger lists of the session, and neither stands in the branch nor fits it: `seq`, and words for a person.
    pub missing: Vec<(u64, String)>,
    /// The deciding PASS of a flip.
    pub pass: Option<Evidence>,
    /// The last FAIL of a negative: a `no_flip` without a flag that the agent or its attempts ended.
    pub negative: Option<Evidence>,
    /// Diffs that a FAIL names, sorted: one that a trusted key signed, or one without a signature.
    pub failed_diffs: Vec<String>,
    /// What a FAIL that a trusted key signed was graded for, in file order.
    pub failed: Vec<Graded>,
}

impl Judged {
    /// Whether a flag is there.
    pub fn has(&self, flag: VerdictFlag) -> bool {
        self.flags.iter().any(|(f, ..)| *f == flag)
    }

    /// The first record up to the deciding PASS (without one: of all) that has no signature, whether or not one is
    /// required; `flags` names it only where one is. None without a trust file: then no signature is looked at.
    pub fn unsigned(&self) -> Option<LineRef> {
        let last = self.pass.as_ref().map_or(usize::MAX, |pass| pass.record);
        let unsigned = |r: &&RecordCheck| r.record <= last && r.flag == Some(VerdictFlag::Unsigned);
        self.records.iter().find(unsigned).map(|record| record.at)
    }

    /// What this branch has to say to those of other sessions; see [`Claim::new`].
    pub fn claim(&self, session_id: &str, branch: u32, order: u64) -> Claim {
        Claim::new(self, session_id, branch, order)
    }
}

/// Judges one branch.
///
/// Without a trust file signatures are not judged, and the records are taken at their word. With one, a signature that
/// is there and does not verify, on a record up to the deciding PASS (without one: on any), leaves the session
/// unproven. `require` asks for a signature too; a repository in some key's scope asks for it by itself. An unsigned
/// record up to the PASS then costs the flip.
///
/// What a ledger lists and the branch lacks counts as a record where it is bound to the trace: before the record whose
/// chain leads back to it, or after the last one, up to a first PASS. All of it is told as `verdict_missing`, a notice:
/// it costs no flip, and no session with it is a negative.
pub fn judge(case: &Case<'_>, trust: Option<&Trust>, require: bool) -> Judged {
    let Looked { checks: mut records, missing } = match trust {
        Some(trust) => check_all(case, trust),
        None => untouched(case),
    };
    let verdicts = with_listed(case.verdicts, &records);
    let case = &Case { verdicts: &verdicts, ..*case };
    let start = case.start.map(|(_, start)| start);
    let mut reading = read(start.and_then(|s| s.task_id.as_deref()), case.verdicts);
    if let Some(pass) = reading.decides {
        ask_for_trace(&mut records[pass]);
    }
    let own_repo = start.and_then(|s| s.repo.as_deref()).map(canonical_repo);
    let require = trust.is_some_and(|t| require || own_repo.is_some_and(|repo| t.covers(&repo)));
    let seen = ..reading.decides.map_or(records.len(), |pass| pass + 1);
    reading.outcome = outcome(&reading, case, &records[seen], require);
    // A FAIL that is bound to no trace is a FAIL still, but no one can say what was tried: the flag keeps it from the
    // negatives.
    if let Some(last) = reading.last_fail {
        ask_for_trace(&mut records[last]);
    }

    let mut flags = Vec::new();
    for step in records[seen].iter().flat_map(|r| r.steps.iter().map(move |s| (s, r.at))) {
        let (Step { flag: Some(flag), name, .. }, at) = step else { continue };
        if *flag != VerdictFlag::Unsigned || require {
            flags.push((*flag, *name, Some(at)));
        }
    }
    if !missing.is_empty() {
        flags.push((VerdictFlag::VerdictMissing, "ledger", None));
    }
    if start.and_then(|s| s.start_diff_sha256.as_deref()).is_some_and(|d| !is_empty_diff(d)) {
        flags.push((VerdictFlag::DirtyStart, "start", case.start.map(|(at, _)| at)));
    }
    if let Some(i) = tests_changed(&reading, case) {
        flags.push((VerdictFlag::TestsChanged, "tests", Some(case.verdicts[i].0)));
    }
    let pass = reading.decides.filter(|_| reading.outcome == Outcome::Flipped).map(|i| evidence(case, &records[i]));
    if let Some(pass) = pass.as_ref().filter(|p| is_flaky(p, case, &records)) {
        flags.push((VerdictFlag::Flaky, "diff", Some(case.verdicts[pass.record].0)));
    }
    let ended = case.ended_by.and_then(EndedBy::parse);
    let counts = reading.outcome == Outcome::NoFlip
        && flags.is_empty()
        && matches!(ended, Some(EndedBy::Agent | EndedBy::AttemptBudget));
    let negative = reading.last_fail.filter(|_| counts).map(|i| evidence(case, &records[i]));
    let failed = proven_fails(&records).map(Graded::signed).collect();
    let failed_diffs = failed_diffs(case, &records);
    Judged { outcome: reading.outcome, flags, records, missing, pass, negative, failed_diffs, failed }
}

fn untouched(case: &Case<'_>) -> Looked {
    let check = |(i, (at, _)): (usize, &(LineRef, _))| RecordCheck { record: i, ..RecordCheck::new(*at) };
    Looked { checks: case.verdicts.iter().enumerate().map(check).collect(), missing: Vec::new() }
}

/// The records as they were looked at: the branch's own, and those of the ledger among them.
fn with_listed<'a>(
    own: &'a [(LineRef, VerdictRecord)],
    records: &[RecordCheck],
) -> Cow<'a, [(LineRef, VerdictRecord)]> {
    if records.len() == own.len() {
        return Cow::Borrowed(own);
    }
    let mut own = own.iter();
    let one = |check: &RecordCheck| match &check.statement {
        Some(statement) if check.ledger_seq.is_some() => Some((check.at, record_of(statement))),
        _ => own.next().cloned(),
    };
    records.iter().filter_map(one).collect()
}

/// A verdict that decides has to say which bytes it was shown.
fn ask_for_trace(record: &mut RecordCheck) {
    if record.verifies() && record.statement.as_ref().is_some_and(|s| s.trace_bytes.is_none()) {
        record.push(Step::bad("trace", VerdictFlag::TraceUnbound, "no `trace_bytes` and `trace_sha256`"));
    }
}

fn outcome(reading: &Reading, case: &Case<'_>, seen: &[RecordCheck], require: bool) -> Outcome {
    if matches!(reading.outcome, Outcome::Untracked | Outcome::Ungraded) {
        return reading.outcome;
    }
    let record = |check: &RecordCheck| &case.verdicts[check.record].1;
    // Without a trust file no record has a step.
    let bad = seen.iter().any(|r| !r.steps.is_empty() && record(r).signature.is_some() && !r.verifies());
    let unsigned = require && seen.iter().any(|r| record(r).signature.is_none() && !is_gate_error(record(r)));
    if bad || (unsigned && reading.decides.is_some()) { Outcome::Unproven } else { reading.outcome }
}

/// The record that was graded under other tests than its baseline: a PASS, or the last FAIL of no flip.
fn tests_changed(reading: &Reading, case: &Case<'_>) -> Option<usize> {
    let hash = |i: usize| tests_hash(&case.verdicts[i].1);
    match reading.outcome {
        Outcome::TestsChanged => reading.decides,
        Outcome::NoFlip => reading.last_fail.filter(|last| reading.baseline.is_some_and(|b| hash(b) != hash(*last))),
        _ => None,
    }
}

fn is_empty_diff(sha256: &str) -> bool {
    sha256.strip_prefix("sha256:").unwrap_or(sha256).eq_ignore_ascii_case(EMPTY_SHA256)
}

/// An unsigned FAIL speaks within its own branch only, and never against a signed PASS.
fn is_flaky(pass: &Evidence, case: &Case<'_>, records: &[RecordCheck]) -> bool {
    if pass.diff_sha256.as_deref().is_some_and(is_empty_diff) {
        return true;
    }
    let Some(graded) = &pass.graded else { return false };
    let recorded = |r: &RecordCheck| {
        let record = &case.verdicts[r.record].1;
        let open = r.steps.is_empty() || record.signature.is_none();
        open && record.verdict() == Some(Verdict::Fail) && Graded::recorded(case, record).as_ref() == Some(graded)
    };
    proven_fails(records).any(|s| Graded::signed(s) == *graded) || (!pass.verified && records.iter().any(recorded))
}

fn proven_fails(records: &[RecordCheck]) -> impl Iterator<Item = &Statement> {
    let proven = records.iter().filter(|r| r.proven).filter_map(|r| r.statement.as_ref());
    proven.filter(|s| s.verdict == Verdict::Fail)
}

fn failed_diffs(case: &Case<'_>, records: &[RecordCheck]) -> Vec<String> {
    let unjudged = records.iter().filter(|r| r.steps.is_empty() || case.verdicts[r.record].1.signature.is_none());
    let recorded = unjudged.map(|r| &case.verdicts[r.record].1).filter(|r| r.verdict() == Some(Verdict::Fail));
    let recorded = recorded.filter_map(|r| r.diff_sha256.clone());
    let mut diffs: Vec<String> = proven_fails(records).map(|s| s.diff_sha256.clone()).chain(recorded).collect();
    diffs.sort_unstable();
    diffs.dedup();
    diffs
}

fn evidence(case: &Case<'_>, check: &RecordCheck) -> Evidence {
    let record = &case.verdicts[check.record].1;
    let signed = check.statement.as_ref().filter(|_| check.verifies());
    Evidence {
        record: check.record,
        prefix_end: signed.and_then(|s| s.trace_bytes).unwrap_or(check.at.offset),
        verified: signed.is_some(),
        from_ledger: check.ledger_seq.is_some(),
        key_id: check.key_id.clone(),
        payload_digest: check.payload_digest.clone(),
        // What verifies says the same in the event.
        run_id: record.run_id.clone(),
        diff_sha256: record.diff_sha256.clone(),
        tests_hash: record.tests_hash.clone(),
        graded: signed.map(Graded::signed).or_else(|| Graded::recorded(case, record)),
    }
}
