//! What a session works on.

use chrono::{DateTime, Utc};
use lake_trace::{Mode, Verdict};
use lake_verdict::{Statement, payload_digest, sign};

use crate::{EMPTY_SHA256, OracleKey, sha256_hex, uuid_of};

/// A repository, a task in it, and what an oracle knows of both. Base and tests hash come from the names.
#[derive(Clone, Debug)]
pub struct Task {
    /// Canonical remote, `host/org/name`.
    pub repo: String,
    /// Override of the organisation.
    pub org: Option<String>,
    /// The commit that the work starts from.
    pub base_commit: String,
    /// The task; None is untracked.
    pub task_id: Option<String>,
    /// Hash over the hidden tests.
    pub tests_hash: String,
    /// What the user asks for first.
    pub prompt: String,
}

impl Task {
    /// A task in a repository.
    pub fn new(repo: &str, task_id: &str) -> Task {
        Task {
            repo: repo.to_owned(),
            org: None,
            base_commit: sha256_hex(format!("base {repo} {task_id}"))[..40].to_owned(),
            task_id: Some(task_id.to_owned()),
            tests_hash: format!("sha256:{}", sha256_hex(format!("tests {repo} {task_id}"))),
            prompt: format!("Please fix {task_id}: the total is wrong when the list is empty."),
        }
    }

    /// Work without a task.
    pub fn untracked(repo: &str) -> Task {
        Task { task_id: None, ..Task::new(repo, "untracked") }
    }

    /// A baseline FAIL that every session of this task may start from, signed by `key`.
    pub fn shared_baseline(&self, key: &OracleKey, finished_at: DateTime<Utc>) -> SharedBaseline {
        let task_id = self.task_id.clone().unwrap_or_default();
        let statement = Statement {
            mode: Mode::Baseline,
            verdict: Verdict::Fail,
            session_id: None,
            attempt: 0,
            run_id: uuid_of(&["shared baseline", &self.repo, &task_id]),
            task_id,
            repo: self.repo.clone(),
            base_commit: self.base_commit.clone(),
            tests_hash: self.tests_hash.clone(),
            trace_sha256: None,
            trace_bytes: None,
            prev: None,
            finished_at,
            oracle: key.oracle.clone(),
            diff_sha256: EMPTY_SHA256.to_owned(),
        };
        let payload = statement.to_payload();
        SharedBaseline { envelope: sign(&key.signing, &payload), digest: payload_digest(&payload), statement }
    }
}

/// A signed baseline of a task, without a session.
#[derive(Clone, Debug)]
pub struct SharedBaseline {
    /// What it says.
    pub statement: Statement,
    /// The envelope, one line of JSON.
    pub envelope: String,
    /// `sha256:` and the hash of its payload.
    pub digest: String,
}
