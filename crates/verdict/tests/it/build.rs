//! Builds a trace as a collector and an oracle would, and judges its bytes.

use chrono::{DateTime, Utc};
use ed25519_dalek::SigningKey;
use lake_trace::{Fold, LineRef, Mode, Outcome, Verdict, lines};
use lake_verdict::*;
use sha2::{Digest, Sha256};

pub(crate) const SESSION: &str = "s-1";
pub(crate) const REPO: &str = "github.com/acme/billing";
pub(crate) const TASK: &str = "task-1";
pub(crate) const BASE: &str = "aa046a3a";
pub(crate) const TESTS: &str = "sha256:tests-1";
/// When the batch came, an hour after every verdict.
pub(crate) const COMMITTED: i64 = 1_767_229_200_000;

pub(crate) fn key(n: u8) -> SigningKey {
    SigningKey::from_bytes(&[n; 32])
}

pub(crate) fn ssh_line(key: &ed25519_dalek::VerifyingKey) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20".to_vec();
    blob.extend_from_slice(key.as_bytes());
    format!("ssh-ed25519 {} oracle", STANDARD.encode(blob))
}

/// A trust file with key 1, and what stands in its entry besides id, key and oracle.
pub(crate) fn trust_with(rest: &str) -> Trust {
    let public = key(1).verifying_key();
    Trust::parse(&format!(
        "version = 1\n[[keys]]\nid = \"{}\"\npublic_key = \"{}\"\noracle = \"oracle-a\"\n{rest}",
        key_id(&public),
        ssh_line(&public)
    ))
    .expect("a trust file")
}

pub(crate) fn trust() -> Trust {
    trust_with("repos = [\"github.com/acme/*\"]\nvalid_from = 2025-01-01T00:00:00Z\n")
}

pub(crate) fn time(text: &str) -> DateTime<Utc> {
    DateTime::parse_from_rfc3339(text).expect("a time").with_timezone(&Utc)
}

pub(crate) fn sha(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A trace under way, and what the oracle has counted.
#[derive(Clone)]
pub(crate) struct Trace {
    pub(crate) bytes: Vec<u8>,
    pub(crate) attempt: u64,
    pub(crate) prev: Option<String>,
    /// Every envelope that was signed.
    pub(crate) signed: Vec<String>,
    events: u64,
}

impl Trace {
    pub(crate) fn new() -> Trace {
        Trace::start(&format!(
            r#""repo":"{REPO}","base_commit":"{BASE}","task_id":"{TASK}","start_diff_sha256":"{EMPTY_SHA256}""#
        ))
    }

    pub(crate) fn start(fields: &str) -> Trace {
        let mut trace = Trace { bytes: Vec::new(), attempt: 0, prev: None, signed: Vec::new(), events: 0 };
        trace.event("session_start", fields);
        trace
    }

    pub(crate) fn event(&mut self, kind: &str, fields: &str) {
        self.events += 1;
        self.bytes.extend_from_slice(
            format!(
                "{{\"session_id\":\"{SESSION}\",\"event_id\":\"e{}\",\"ts\":\"2026-01-01T00:00:00Z\",\"type\":\"{kind}\",{fields}}}\n",
                self.events
            )
            .as_bytes(),
        );
    }

    pub(crate) fn message(&mut self, text: &str) {
        self.event("message", &format!(r#""role":"assistant","text":"{text}""#));
    }

    /// What the oracle would say now. A baseline is of the empty diff, a grade of one that its attempt makes.
    pub(crate) fn statement(&self, mode: Mode, verdict: Verdict) -> Statement {
        Statement {
            mode,
            verdict,
            session_id: Some(SESSION.into()),
            attempt: self.attempt,
            task_id: TASK.into(),
            repo: REPO.into(),
            base_commit: BASE.into(),
            tests_hash: TESTS.into(),
            trace_sha256: Some(sha(&self.bytes)),
            trace_bytes: Some(self.bytes.len() as u64),
            prev: self.prev.clone(),
            run_id: format!("run-{}", self.attempt),
            finished_at: time("2026-01-01T00:00:00Z"),
            oracle: "oracle-a".into(),
            diff_sha256: match mode {
                Mode::Baseline => EMPTY_SHA256.into(),
                Mode::Grade => sha(format!("diff {}", self.attempt).as_bytes()),
            },
        }
    }

    /// The event of a statement, with any text as its signature.
    pub(crate) fn record(&mut self, s: &Statement, signature: &str) {
        let fields = format!(
            r#""mode":"{}","attempt":{},"verdict":"{}","task_id":"{}","base_commit":"{}","diff_sha256":"{}","tests_hash":"{}","run_id":"{}","signature":{signature}"#,
            s.mode, s.attempt, s.verdict, s.task_id, s.base_commit, s.diff_sha256, s.tests_hash, s.run_id
        );
        self.event("oracle_verdict", &fields);
    }

    /// Signs with key 1, writes the event, and counts.
    pub(crate) fn sign(&mut self, statement: &Statement) {
        let envelope = self.counted(statement);
        self.record(statement, &envelope);
    }

    /// Signs and counts; the trace gets no event.
    pub(crate) fn counted(&mut self, statement: &Statement) -> String {
        let payload = statement.to_payload();
        self.attempt = statement.attempt + 1;
        self.prev = Some(payload_digest(&payload));
        self.signed.push(sign(&key(1), &payload));
        self.signed[self.signed.len() - 1].clone()
    }

    /// What the oracle wrote down.
    pub(crate) fn ledger(&self) -> Ledger {
        ledger_of(&self.signed)
    }

    pub(crate) fn signed(&mut self, mode: Mode, verdict: Verdict) {
        let statement = self.statement(mode, verdict);
        self.sign(&statement);
    }

    pub(crate) fn unsigned(&mut self, mode: Mode, verdict: Verdict) {
        let statement = self.statement(mode, verdict);
        self.record(&statement, "null");
        self.attempt += 1;
    }

    pub(crate) fn end(&mut self, by: &str) {
        self.event("session_end", &format!(r#""ended_by":"{by}","outcome":"flipped""#));
    }

    pub(crate) fn judge(&self) -> Judged {
        judge_bytes(&self.bytes, Some(&trust()), true)
    }
}

/// Baseline FAIL, one FAIL, then `last`, with work between.
pub(crate) fn session(last: Verdict) -> Trace {
    let mut trace = Trace::new();
    trace.signed(Mode::Baseline, Verdict::Fail);
    trace.message("work");
    trace.signed(Mode::Grade, Verdict::Fail);
    trace.message("more work");
    trace.signed(Mode::Grade, last);
    trace
}

/// Baseline FAIL and work: what most cheats start from.
pub(crate) fn started() -> Trace {
    let mut trace = Trace::new();
    trace.signed(Mode::Baseline, Verdict::Fail);
    trace.message("work");
    trace
}

pub(crate) fn judge_bytes(bytes: &[u8], trust: Option<&Trust>, require: bool) -> Judged {
    judge_at(bytes, trust, require, Some(COMMITTED))
}

/// Folds the bytes as derive does, and judges them.
pub(crate) fn judge_at(bytes: &[u8], trust: Option<&Trust>, require: bool, committed: Option<i64>) -> Judged {
    judge_with(bytes, trust, require, committed, None)
}

/// As [`judge_at`], with what the oracle wrote down.
pub(crate) fn judge_with(
    bytes: &[u8],
    trust: Option<&Trust>,
    require: bool,
    committed: Option<i64>,
    ledger: Option<&Ledger>,
) -> Judged {
    let mut fold = Fold::new(None);
    for (n, line) in (1..).zip(lines(bytes)) {
        let at = LineRef { line: n, offset: line.start as u64, end: line.end as u64 };
        fold.line(line.bytes, at, &mut String::new());
    }
    let whole = lines(bytes).last().map_or(0, |line| line.end);
    let asked = |n: u64| assert!((1..=whole as u64).contains(&n), "asked for {n}");
    let summary = fold.summary();
    let case = Case {
        session_id: fold.session_id().unwrap_or_default(),
        branch: 0,
        start: fold.start(),
        verdicts: fold.verdicts(),
        ended_by: summary.ended_by.as_deref(),
        len: whole as u64,
        committed_at: &|_| committed,
        prefix_sha256: &|n| {
            asked(n);
            Some(Sha256::digest(&bytes[..n as usize]).into())
        },
        ends_line: &|n| {
            asked(n);
            bytes[n as usize - 1] == b'\n'
        },
        ledger,
    };
    judge(&case, trust, require)
}

/// The text of a ledger with these envelopes.
pub(crate) fn ledger_text(envelopes: &[String]) -> String {
    (1..).zip(envelopes).map(|(seq, e)| format!("{{\"seq\":{seq},\"envelope\":{e}}}\n")).collect()
}

pub(crate) fn ledger_of(envelopes: &[String]) -> Ledger {
    Ledger::parse(&ledger_text(envelopes), &trust()).expect("a ledger")
}

/// The flags' names, in order.
pub(crate) fn names(judged: &Judged) -> Vec<&'static str> {
    judged.flags.iter().map(|(flag, ..)| flag.as_str()).collect()
}

/// A PASS whose payload is any text, signed by key 1; the event says what an honest one would.
pub(crate) fn pass_payload(change: impl FnOnce(String) -> String) -> Trace {
    let mut trace = started();
    let statement = trace.statement(Mode::Grade, Verdict::Pass);
    let payload = change(String::from_utf8(statement.to_payload()).expect("text"));
    trace.record(&statement, &sign(&key(1), payload.as_bytes()));
    trace
}

#[track_caller]
pub(crate) fn caught(judged: &Judged, flag: &str) {
    assert_eq!((judged.outcome, names(judged), &judged.pass), (Outcome::Unproven, vec![flag], &None));
    let at = judged.flags[0].2.expect("a line");
    let record = judged.records.iter().find(|r| r.at == at).expect("its record");
    assert!(record.steps.iter().any(|s| !s.ok && s.name == judged.flags[0].1 && !s.detail.is_empty()));
}
