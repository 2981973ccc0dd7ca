//! Each verdict record of a branch, looked at in file order.

use lake_trace::{LineRef, Verdict, VerdictRecord};

use crate::chain::Chain;
use crate::examine::{Step, examine, stands};
use crate::{Case, Statement, Trust, VerdictFlag, bind};

/// Signed records of one branch that are looked at; a session has a handful. It bounds the work that one file can ask for.
const MAX_SIGNED: usize = 4096;

/// What was found about one verdict record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordCheck {
    /// Its line.
    pub at: LineRef,
    /// Its place among the branch's verdict records, from 0.
    pub record: usize,
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
    pub(crate) fn new(at: LineRef, record: usize) -> RecordCheck {
        RecordCheck {
            at,
            record,
            steps: Vec::new(),
            flag: None,
            key_id: None,
            payload_digest: None,
            statement: None,
            proven: false,
        }
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

/// Whether a record is a gate's own note that it got no verdict: it stands outside the chain.
pub(crate) fn is_gate_error(record: &VerdictRecord) -> bool {
    record.signature.is_none() && record.verdict() == Some(Verdict::Error)
}

/// Looks at every record of the branch.
pub(crate) fn check_all(case: &Case<'_>, trust: &Trust) -> Vec<RecordCheck> {
    let mut chain = Chain::default();
    let mut before = None;
    let mut signed = 0;
    let mut out = Vec::with_capacity(case.verdicts.len());
    for (i, (at, record)) in case.verdicts.iter().enumerate() {
        let mut check = RecordCheck::new(*at, i);
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
                look(&mut check, case, record, envelope, trust, &mut chain, before);
                before = Some(at.end);
            }
        }
        out.push(check);
    }
    out
}

fn look(
    check: &mut RecordCheck,
    case: &Case<'_>,
    record: &VerdictRecord,
    envelope: &str,
    trust: &Trust,
    chain: &mut Chain,
    before: Option<u64>,
) {
    let examined = examine(envelope, trust, (case.committed_at)(check.at.offset));
    check.proven = examined.stands();
    examined.steps.into_iter().for_each(|step| check.push(step));
    (check.key_id, check.payload_digest) = (examined.key_id, examined.payload_digest);
    if let (true, Some(statement), Some(digest)) = (check.proven, &examined.statement, check.payload_digest.clone()) {
        bound(check, case, record, statement, &digest, chain, before);
    }
    check.statement = examined.statement;
    if !check.verifies() {
        chain.cut();
    }
}

/// Each group is looked at only when the one before holds: a copied envelope would fail all that follow.
fn bound(
    check: &mut RecordCheck,
    case: &Case<'_>,
    record: &VerdictRecord,
    statement: &Statement,
    digest: &str,
    chain: &mut Chain,
    before: Option<u64>,
) {
    bind::identity(case, statement).into_iter().for_each(|step| check.push(step));
    if check.verifies() {
        check.push(bind::fields(record, statement));
    }
    if check.verifies() {
        chain.link(statement, digest).into_iter().for_each(|step| check.push(step));
    }
    if check.verifies() {
        bind::trace(case, statement, check.at, before).into_iter().for_each(|step| check.push(step));
    }
}
