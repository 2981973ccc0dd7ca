//! Each verdict record of a branch, looked at in file order; what a ledger lists beside them stands where its chain has it.

use std::collections::HashSet;

use lake_trace::{LineRef, Verdict, VerdictRecord};

use crate::chain::Chain;
use crate::envelope::Envelope;
use crate::examine::{Step, examine, short, stands};
use crate::ledger::LedgerEntry;
use crate::{Case, Statement, Trust, VerdictFlag, bind, payload_digest};

/// Signed records of one branch that are looked at; a session has a handful. It bounds the work that one file can ask for.
const MAX_SIGNED: usize = 4096;

/// What was found about one verdict record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordCheck {
    /// Its line; line 0 at the end of its prefix for one that only the ledger has.
    pub at: LineRef,
    /// Its place among those that were judged, from 0: the branch's verdict records, and what the ledger brings.
    pub record: usize,
    /// Its `seq` in the ledger, where only that has it.
    pub ledger_seq: Option<u64>,
    /// What was looked at, in order. Empty without a trust file.
    pub steps: Vec<Step>,
    /// The first thing that is wrong. `unsigned` stands here whether or not a signature is required.
    pub flag: Option<VerdictFlag>,
    /// The trusted key that signed it.
    pub key_id: Option<String>,
    /// Digest of the payload; only with a good signature.
    pub payload_digest: Option<String>,
    /// What was signed; only with a good signature.
    pub statement: Option<Statement>,
    /// Whether a trusted key signed the statement and may sign it, whatever trace it stands in.
    pub proven: bool,
}

impl RecordCheck {
    pub(crate) fn new(at: LineRef) -> RecordCheck {
        RecordCheck {
            at,
            record: 0,
            ledger_seq: None,
            steps: Vec::new(),
            flag: None,
            key_id: None,
            payload_digest: None,
            statement: None,
            proven: false,
        }
    }

    /// One that only the ledger has: it was verified when that was read.
    fn listed(entry: &LedgerEntry) -> RecordCheck {
        let n = entry.statement.trace_bytes.unwrap_or(0);
        let mut check = RecordCheck::new(LineRef { line: 0, offset: n, end: n });
        check.ledger_seq = Some(entry.seq);
        check.push(Step::bad("ledger", VerdictFlag::VerdictMissing, told(entry)));
        check.key_id = Some(entry.key_id.clone());
        check.payload_digest = Some(entry.digest.clone());
        check.statement = Some(entry.statement.clone());
        check.proven = true;
        check
    }

    /// Whether it verifies and is bound to this trace.
    pub fn verifies(&self) -> bool {
        self.proven && stands(&self.steps)
    }

    pub(crate) fn push(&mut self, step: Step) {
        let graver = |flag: VerdictFlag| self.flag.is_none_or(|f| f.is_notice() && !flag.is_notice());
        if let Some(flag) = step.flag.filter(|f| graver(*f)) {
            self.flag = Some(flag);
        }
        self.steps.push(step);
    }
}

/// What a ledger lists and the branch lacks, for a person.
fn told(entry: &LedgerEntry) -> String {
    let statement = &entry.statement;
    let (mode, attempt, verdict) = (statement.mode, statement.attempt, statement.verdict);
    format!(
        "{mode} {attempt} {verdict}, run {}, stands in the ledger only (seq {})",
        short(&statement.run_id),
        entry.seq
    )
}

/// Whether a record is a gate's own note that it got no verdict: it stands outside the chain.
pub(crate) fn is_gate_error(record: &VerdictRecord) -> bool {
    record.signature.is_none() && record.verdict() == Some(Verdict::Error)
}

/// What looking at every record of a branch found.
#[derive(Debug, Default)]
pub(crate) struct Looked {
    /// In order; `record` counts them.
    pub(crate) checks: Vec<RecordCheck>,
    /// What the ledger lists of the session, and the branch neither has nor can be shown to have earned.
    pub(crate) missing: Vec<(u64, String)>,
}

/// Looks at every record of the branch, and at what the ledger lists of its session.
pub(crate) fn check_all(case: &Case<'_>, trust: &Trust) -> Looked {
    let mut walk = Walk { case, held: held(case), chain: Chain::default(), before: None, out: Vec::new() };
    let mut signed = 0;
    for (at, record) in case.verdicts {
        let mut check = RecordCheck::new(*at);
        match record.signature.as_deref() {
            None if is_gate_error(record) => {
                check.push(Step::good("signature", "none: an error of the gate stands outside the chain"));
            }
            None => check.push(Step::bad("signature", VerdictFlag::Unsigned, "none")),
            Some(_) if signed == MAX_SIGNED => {
                let detail = format!("not looked at: {MAX_SIGNED} signed verdicts stand before it");
                check.push(Step::bad("envelope", VerdictFlag::Malformed, detail));
            }
            Some(envelope) => {
                signed += 1;
                walk.own(&mut check, record, envelope, trust);
                walk.before = Some(at.end);
            }
        }
        walk.out.push(check);
    }
    let missing = walk.late();
    let mut checks = walk.out;
    checks.iter_mut().enumerate().for_each(|(i, check)| check.record = i);
    Looked { checks, missing }
}

/// Digests of the payloads that the branch holds, whatever they are worth. Empty without a ledger: nobody asks.
fn held(case: &Case<'_>) -> HashSet<String> {
    if case.ledger.is_none() {
        return HashSet::new();
    }
    let signed = case.verdicts.iter().filter_map(|(_, record)| record.signature.as_deref()).take(MAX_SIGNED);
    signed.filter_map(|text| Some(payload_digest(&Envelope::parse(text).ok()?.payload))).collect()
}

struct Walk<'w, 'c> {
    case: &'w Case<'c>,
    held: HashSet<String>,
    chain: Chain,
    /// End of the last signed record's line.
    before: Option<u64>,
    out: Vec<RecordCheck>,
}

impl Walk<'_, '_> {
    fn own(&mut self, check: &mut RecordCheck, record: &VerdictRecord, envelope: &str, trust: &Trust) {
        let examined = examine(envelope, trust, (self.case.committed_at)(check.at.offset));
        check.proven = examined.stands();
        examined.steps.into_iter().for_each(|step| check.push(step));
        (check.key_id, check.payload_digest) = (examined.key_id, examined.payload_digest);
        if let (true, Some(statement), Some(digest)) =
            (check.proven, &examined.statement, &check.payload_digest.clone())
        {
            self.fill(statement, check.at);
            bound(check, self.case, Some(record), statement, digest, &mut self.chain, self.before);
        }
        check.statement = examined.statement;
        if !check.verifies() {
            self.chain.cut();
        }
    }

    /// Puts before a record what the ledger has between it and the one before. `at` is the record's line.
    fn fill(&mut self, statement: &Statement, at: LineRef) {
        let (Some(ledger), Some(last)) = (self.case.ledger, self.chain.open_end()) else { return };
        let path = ledger.between(self.case.session_id, last, statement.prev.as_deref(), &self.held);
        for entry in path.unwrap_or_default() {
            self.held.insert(entry.digest.clone());
            let check = join(self.case, entry, at, &mut self.chain, self.before);
            if !check.verifies() {
                self.chain.cut();
            }
            self.out.push(check);
        }
    }

    /// Takes what came too late for the trace, as far as it is bound to it, and returns the rest of what is missing.
    fn late(&mut self) -> Vec<(u64, String)> {
        let Some(ledger) = self.case.ledger else { return Vec::new() };
        let session = self.case.session_id;
        // Nothing after a PASS was asked for.
        let mut open = !passed(&self.out, self.case);
        let mut missing = Vec::new();
        for entry in ledger.of_session(session).take(MAX_SIGNED) {
            if self.held.contains(&entry.digest) {
                continue;
            }
            if open && let Some(last) = self.chain.open_end() {
                let between = ledger.between(session, last, entry.statement.prev.as_deref(), &self.held);
                let joined = between.and_then(|mut path| {
                    path.push(entry);
                    self.joined(&path)
                });
                if let Some((checks, chain)) = joined {
                    open = !checks.iter().any(|check| is_pass(check.statement.as_ref()));
                    self.held.extend(checks.iter().filter_map(|check| check.payload_digest.clone()));
                    self.out.extend(checks);
                    self.chain = chain;
                    continue;
                }
            }
            missing.push((entry.seq, told(entry)));
        }
        missing
    }

    /// The entries as records at the end of the branch, if all of them verify.
    fn joined(&self, path: &[&LedgerEntry]) -> Option<(Vec<RecordCheck>, Chain)> {
        let mut chain = self.chain.clone();
        let end = LineRef { line: 0, offset: self.case.len, end: self.case.len };
        let checks = path.iter().map(|entry| join(self.case, entry, end, &mut chain, self.before));
        let checks: Vec<RecordCheck> = checks.collect();
        checks.iter().all(RecordCheck::verifies).then_some((checks, chain))
    }
}

fn is_pass(statement: Option<&Statement>) -> bool {
    statement.is_some_and(|s| s.mode == lake_trace::Mode::Grade && s.verdict == Verdict::Pass)
}

/// Whether some record of the branch, or what the ledger put before one, says PASS, proven or not.
fn passed(checks: &[RecordCheck], case: &Case<'_>) -> bool {
    let own = case.verdicts.iter().map(|(_, record)| record);
    let mut own = own.filter(|r| r.mode() == Some(lake_trace::Mode::Grade));
    own.any(|r| r.verdict() == Some(Verdict::Pass))
        || checks.iter().any(|check| check.ledger_seq.is_some() && is_pass(check.statement.as_ref()))
}

/// A verdict of the ledger as a record that stands before the line at `at`.
fn join(case: &Case<'_>, entry: &LedgerEntry, at: LineRef, chain: &mut Chain, before: Option<u64>) -> RecordCheck {
    let mut check = RecordCheck::listed(entry);
    let own = std::mem::replace(&mut check.at, at);
    bound(&mut check, case, None, &entry.statement, &entry.digest, chain, before);
    check.at = own;
    check
}

/// Each group is looked at only when the one before holds: a copied envelope would fail all that follow. Without a record
/// there is no event to differ from the statement.
fn bound(
    check: &mut RecordCheck,
    case: &Case<'_>,
    record: Option<&VerdictRecord>,
    statement: &Statement,
    digest: &str,
    chain: &mut Chain,
    before: Option<u64>,
) {
    bind::identity(case, statement).into_iter().for_each(|step| check.push(step));
    if let Some(record) = record.filter(|_| check.verifies()) {
        check.push(bind::fields(record, statement));
    }
    if check.verifies() {
        chain.link(statement, digest).into_iter().for_each(|step| check.push(step));
    }
    if check.verifies() {
        bind::trace(case, statement, check.at, before).into_iter().for_each(|step| check.push(step));
    }
}

/// A verdict of the ledger in the form of a record, as the rows of outcomes read them.
pub(crate) fn record_of(statement: &Statement) -> VerdictRecord {
    VerdictRecord {
        mode: Some(statement.mode.as_str().to_owned()),
        attempt: Some(statement.attempt),
        verdict: Some(statement.verdict.as_str().to_owned()),
        task_id: Some(statement.task_id.clone()),
        base_commit: Some(statement.base_commit.clone()),
        diff_sha256: Some(statement.diff_sha256.clone()),
        tests_hash: Some(statement.tests_hash.clone()),
        run_id: Some(statement.run_id.clone()),
        // It has one, which was looked at when the ledger was read.
        signature: Some(String::new()),
    }
}
