//! What a check did.

use std::collections::BTreeMap;

use lake_store::Finding;
use serde::Serialize;

/// Findings that a report lists; the rows hold all.
pub(crate) const LISTED: usize = 100;

/// What a check did. Counts are of branches: a session that was never rewritten has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The lake's version that was looked at.
    pub k: u64,
    /// How many batches the tables stood behind the log; more than 0 only in a dry run, which derives nothing.
    pub behind: u64,
    /// Looked at for secrets.
    pub looked_at_secrets: u64,
    /// Judged.
    pub looked_at_signatures: u64,
    /// Had all its rows already.
    pub already: u64,
    /// Bytes of what was looked at.
    pub bytes: u64,
    /// Of those looked at for secrets: those in which something was found.
    pub with_secrets: u64,
    /// Of those looked at for secrets: those in which all that was found is on the allow list.
    pub allowed: u64,
    /// Of those that had their row already: those in which something was found.
    pub with_secrets_before: u64,
    /// Findings by rule.
    pub findings_by_rule: BTreeMap<String, u64>,
    /// Branches that were judged, by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Branches that were judged, by flag; one with several flags counts under each.
    pub flags: BTreeMap<String, u64>,
    /// Of those that had their row already: those with a flag.
    pub flagged_before: u64,
    /// What a person should know: purged and damaged sessions, which get no row.
    pub notes: Vec<String>,
    /// Segments that were not derived because an object is damaged; each has a note.
    pub damaged: u64,
    /// Sessions that could not be looked at; each has a note.
    pub unread: u64,
    /// The first 100 findings of secrets.
    pub secrets: Vec<SessionFinding>,
    /// Rows of `checks` that were written, but for a mark that says no more than that this run was the newest.
    pub rows: u64,
}

/// A finding and the session that it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionFinding {
    /// The session.
    pub session_id: String,
    /// Its branch.
    pub branch: u32,
    /// What was found, and where.
    pub finding: Finding,
}
