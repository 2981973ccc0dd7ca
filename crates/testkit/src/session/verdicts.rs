//! Verdict lines: signed, chained and bound, or not.

use chrono::DateTime;
use lake_trace::{Mode, Verdict, VerdictRecord};
use lake_verdict::{Statement, payload_digest, sign};
use sha2::Digest;

use super::SessionBuilder;
use crate::{EMPTY_SHA256, Object, SharedBaseline, sha256_hex, uuid_of};

impl SessionBuilder {
    /// The statement that an honest oracle would make now: next attempt, the chain so far, all bytes so far. `diff` is
    /// the text of what is graded; a baseline's is the empty string.
    pub fn statement(&self, mode: Mode, verdict: Verdict, diff: &str) -> Statement {
        let attempt = if mode == Mode::Baseline { 0 } else { self.attempt.unwrap_or(0) + 1 };
        Statement {
            mode,
            verdict,
            session_id: Some(self.session_id.clone()),
            attempt,
            task_id: self.task.task_id.clone().unwrap_or_default(),
            repo: self.task.repo.clone(),
            base_commit: self.task.base_commit.clone(),
            tests_hash: self.task.tests_hash.clone(),
            trace_sha256: Some(hex::encode(self.prefix.clone().finalize())),
            trace_bytes: Some(self.bytes().len() as u64),
            prev: self.prev.clone(),
            run_id: uuid_of(&["run", &self.session_id, &attempt.to_string()]),
            finished_at: DateTime::from_timestamp(self.clock_ms.div_euclid(1000), 0)
                .expect("the builder's clock is within the years that chrono knows"),
            oracle: self.key.as_ref().map_or_else(|| "oracle-0".to_owned(), |key| key.oracle.clone()),
            diff_sha256: if diff.is_empty() { EMPTY_SHA256.to_owned() } else { sha256_hex(diff) },
        }
    }

    /// Signs a statement with the session's key, moves the chain on, and writes its event. `edit` may change what the
    /// event shows; the signature stays over the statement.
    ///
    /// Without a key the event is unsigned, and the chain stands still.
    pub fn verdict(&mut self, statement: &Statement, edit: impl FnOnce(&mut VerdictRecord)) -> &mut Self {
        let mut record = record_of(statement);
        if let Some(key) = &self.key {
            let payload = statement.to_payload();
            record.signature = Some(sign(&key.signing, &payload));
            self.prev = Some(payload_digest(&payload));
        }
        self.attempt = Some(statement.attempt);
        edit(&mut record);
        self.record(&record)
    }

    /// Writes a verdict event as it is. The chain stands still.
    pub fn record(&mut self, record: &VerdictRecord) -> &mut Self {
        let mut fields = Object::new().maybe("mode", record.mode.as_deref());
        if let Some(attempt) = record.attempt {
            fields = fields.number("attempt", attempt);
        }
        let fields = fields
            .maybe("verdict", record.verdict.as_deref())
            .maybe("task_id", record.task_id.as_deref())
            .maybe("base_commit", record.base_commit.as_deref())
            .maybe("diff_sha256", record.diff_sha256.as_deref())
            .maybe("tests_hash", record.tests_hash.as_deref())
            .maybe("run_id", record.run_id.as_deref())
            .raw("signature", record.signature.as_deref().unwrap_or("null"));
        self.event("oracle_verdict", fields)
    }

    /// The baseline, over the empty diff.
    pub fn baseline(&mut self, verdict: Verdict) -> &mut Self {
        self.verdict(&self.statement(Mode::Baseline, verdict, ""), |_| ())
    }

    /// A baseline that was made for the task, not for this session.
    pub fn shared_baseline(&mut self, shared: &SharedBaseline) -> &mut Self {
        self.attempt = Some(0);
        self.prev = Some(shared.digest.clone());
        let record = VerdictRecord { signature: Some(shared.envelope.clone()), ..record_of(&shared.statement) };
        self.record(&record)
    }

    /// The next grade, of this diff.
    pub fn grade(&mut self, verdict: Verdict, diff: &str) -> &mut Self {
        self.verdict(&self.statement(Mode::Grade, verdict, diff), |_| ())
    }
}

/// The event that shows a statement as it is, without a signature.
pub fn record_of(statement: &Statement) -> VerdictRecord {
    VerdictRecord {
        mode: Some(statement.mode.as_str().to_owned()),
        attempt: Some(statement.attempt),
        verdict: Some(statement.verdict.as_str().to_owned()),
        task_id: Some(statement.task_id.clone()),
        base_commit: Some(statement.base_commit.clone()),
        diff_sha256: Some(statement.diff_sha256.clone()),
        tests_hash: Some(statement.tests_hash.clone()),
        run_id: Some(statement.run_id.clone()),
        signature: None,
    }
}
