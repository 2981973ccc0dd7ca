//! What the events say that a session is judged by.

use crate::json::Value;
use crate::{Event, Mode, Verdict};

/// What a `session_start` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionStart {
    /// `startup`, `resume`, `clear`, `compact`, `fork`.
    pub source: Option<String>,
    /// Remote, as it was written.
    pub repo: Option<String>,
    /// Override of the organisation.
    pub org: Option<String>,
    /// The commit that the work started from.
    pub base_commit: Option<String>,
    /// SHA-256 of the diff against the base at the start.
    pub start_diff_sha256: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The task; None is untracked.
    pub task_id: Option<String>,
    /// The session that this one was forked from.
    pub parent_session_id: Option<String>,
    /// Name of the harness.
    pub harness: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

/// What a `session_end` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionEnd {
    /// What the gate claims; never evidence.
    pub outcome: Option<String>,
    /// `agent`, `attempt_budget`, …
    pub ended_by: Option<String>,
    /// Attempts that the gate counted.
    pub attempts: Option<u64>,
}

/// What an `oracle_verdict` event says, and the envelope as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerdictRecord {
    /// `baseline` or `grade`.
    pub mode: Option<String>,
    /// 0 for the baseline.
    pub attempt: Option<u64>,
    /// `PASS`, `FAIL`, `ERROR`.
    pub verdict: Option<String>,
    /// The task graded.
    pub task_id: Option<String>,
    /// The commit it started from.
    pub base_commit: Option<String>,
    /// SHA-256 of the diff that was graded.
    pub diff_sha256: Option<String>,
    /// Hash over the hidden tests.
    pub tests_hash: Option<String>,
    /// The oracle's run.
    pub run_id: Option<String>,
    /// Source text of the `signature` field; None when it is absent or null.
    pub signature: Option<String>,
}

impl VerdictRecord {
    /// The mode, where it is one.
    pub fn mode(&self) -> Option<Mode> {
        self.mode.as_deref().and_then(Mode::parse)
    }

    /// The bit, where it is one.
    pub fn verdict(&self) -> Option<Verdict> {
        self.verdict.as_deref().and_then(Verdict::parse)
    }
}

impl Event<'_> {
    /// What a `session_start` says; None for any other type.
    pub fn session_start(&self) -> Option<SessionStart> {
        if self.kind != "session_start" {
            return None;
        }
        let text = |name: &str| self.other_str(name).map(str::to_owned);
        let harness =
            |name: &str| self.other("harness").and_then(|h| h.get(name)).and_then(Value::as_str).map(str::to_owned);
        Some(SessionStart {
            source: text("source"),
            repo: text("repo"),
            org: text("org"),
            base_commit: text("base_commit"),
            start_diff_sha256: text("start_diff_sha256"),
            model: text("model"),
            task_id: text("task_id"),
            parent_session_id: text("parent_session_id"),
            harness: harness("name"),
            version: harness("version"),
        })
    }

    /// What a `session_end` says; None for any other type.
    pub fn session_end(&self) -> Option<SessionEnd> {
        if self.kind != "session_end" {
            return None;
        }
        Some(SessionEnd {
            outcome: self.other_str("outcome").map(str::to_owned),
            ended_by: self.other_str("ended_by").map(str::to_owned),
            attempts: self.other("attempts").and_then(Value::as_u64),
        })
    }

    /// What an `oracle_verdict` says; None for any other type.
    pub fn verdict_record(&self) -> Option<VerdictRecord> {
        if self.kind != "oracle_verdict" {
            return None;
        }
        let text = |name: &str| self.other_str(name).map(str::to_owned);
        Some(VerdictRecord {
            mode: text("mode"),
            attempt: self.other("attempt").and_then(Value::as_u64),
            verdict: text("verdict"),
            task_id: text("task_id"),
            base_commit: text("base_commit"),
            diff_sha256: text("diff_sha256"),
            tests_hash: text("tests_hash"),
            run_id: text("run_id"),
            signature: self.signature.map(str::to_owned),
        })
    }
}
