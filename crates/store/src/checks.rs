//! What was looked at, with which rules or trust file, and found; and what was exported.

use serde::{Deserialize, Serialize};

/// One thing that a check found. Never the secret's value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Rule of the secret scan, or flag of a verdict.
    pub rule: String,
    /// `low`, `medium`, `high`, `critical`; empty for a verdict.
    pub severity: String,
    /// Line in the branch, from 1; 0 when it is about no line.
    pub line: u64,
    /// The event.
    pub event_id: String,
    /// JSON pointer of the field, or the step of the verification.
    pub field: String,
    /// First byte of the span in the decoded value.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// Keyed fingerprint of the secret.
    pub fingerprint: String,
    /// A few words for a person.
    pub detail: String,
}

/// One row of `checks`: whole in one commit. See [`CheckRow::mark`] for the one that is about no session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckRow {
    /// The session.
    pub session_id: String,
    /// Its branch.
    pub branch: u32,
    /// Up to which byte it was looked at.
    pub end: u64,
    /// `secrets` or `signatures`.
    pub kind: String,
    /// Digest of the rules or the trust file.
    pub digest: String,
    /// `clean` or `found` for secrets; an outcome for signatures.
    pub result: String,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl CheckRow {
    /// The mark of a run that had no row to write: rows say under which digest the newest check was run, and where
    /// everything had its row already, this one does. It has no session, and ends at 0, where no branch does.
    pub fn mark(kind: &str, digest: &str, at: i64) -> CheckRow {
        CheckRow {
            session_id: String::new(),
            branch: 0,
            end: 0,
            kind: kind.to_owned(),
            digest: digest.to_owned(),
            result: "run".to_owned(),
            at,
            findings: Vec::new(),
        }
    }

    /// Whether it is a mark.
    pub fn is_mark(&self) -> bool {
        self.end == 0
    }
}

/// One row of `exports`: a row of a training set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportRow {
    /// SHA-256 of the manifest, hex.
    pub manifest_sha256: String,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// Where to.
    pub out: String,
    /// Version of the lake.
    pub k: u64,
    /// `sft`, `preference`, …
    pub set: String,
    /// Number of the row in its set, from 0.
    pub row: u64,
    /// The session.
    pub session_id: String,
    /// Its branch.
    pub branch: u32,
    /// Bytes of the branch that the row draws on.
    pub end: u64,
    /// The keys that prove it.
    pub key_ids: Vec<String>,
    /// Digest of the secret rules.
    pub rules_digest: Option<String>,
}
