//! What sessions the lake holds: the branches of each, their segments and their summaries. No text is read for it.

use lake_trace::{Counts, Place};

use crate::{Error, Lake, Result, Tables, log};

/// One segment of a branch: where its bytes are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// First byte in the branch.
    pub offset: u64,
    /// One past the last byte in the branch.
    pub end: u64,
    /// Number of its first line, from 1.
    pub first_line: u64,
    /// Number of the line after its last one.
    pub next_line: u64,
    /// SHA-256 of the branch's bytes `[0, end)`, hex.
    pub sha256_end: String,
    /// The raw object, a path in the lake.
    pub raw: String,
    /// The byte of the branch that the raw object starts at; at most `offset`.
    pub raw_offset: u64,
    /// Size of the raw object, bytes as stored.
    pub raw_bytes: u64,
    /// The batch that brought it.
    pub k: u64,
    /// When that batch was committed, milliseconds since 1970 UTC.
    pub at: i64,
    /// Where it came from.
    pub source: String,
    /// The machine that sent it.
    pub host: String,
}

/// One branch of one session, as the newest of its segments sums it up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// The session.
    pub session_id: String,
    /// 0 for the first file of that session that came, 1 for the next that differs, …
    pub branch: u32,
    /// Organisation, repository and date.
    pub place: Place,
    /// Its segments by offset, without a gap from 0.
    pub segments: Vec<Segment>,
    /// Source of its first segment: who may retract it.
    pub source: Option<String>,
    /// Host of its first segment.
    pub host: Option<String>,
    /// Name of the harness.
    pub harness: Option<String>,
    /// Version of the harness.
    pub version: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The task; None is untracked.
    pub task_id: Option<String>,
    /// The commit that the work started from.
    pub base_commit: Option<String>,
    /// Canonical remote in lower case.
    pub repo_url: Option<String>,
    /// Milliseconds since 1970 UTC.
    pub started_at: Option<i64>,
    /// Milliseconds since 1970 UTC.
    pub ended_at: Option<i64>,
    /// What ended it.
    pub ended_by: Option<String>,
    /// The outcome that its records claim; signatures not looked at.
    pub recorded_outcome: Option<String>,
    /// How much it holds.
    pub counts: Counts,
    /// What was noticed: names of flags.
    pub flags: Vec<String>,
}

impl Branch {
    /// Length of the branch, bytes.
    pub fn end(&self) -> u64 {
        self.segments.last().map_or(0, |s| s.end)
    }

    /// SHA-256 of all its bytes, hex.
    pub fn sha256(&self) -> &str {
        self.segments.last().map_or("", |s| s.sha256_end.as_str())
    }

    /// When the batch that first held the byte at `offset` was committed, milliseconds since 1970 UTC.
    pub fn committed_at(&self, offset: u64) -> Option<i64> {
        self.segments.iter().find(|s| (s.offset..s.end).contains(&offset)).map(|s| s.at)
    }
}

/// All branches at one version of the lake.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// The lake's version: the last batch that is in it.
    pub k: u64,
    /// SHA-256 of that batch's record, hex; empty for an empty lake.
    pub record_sha256: String,
    /// Sorted by session id, then branch.
    pub branches: Vec<Branch>,
}

/// The catalog at version `at`, by default that of the tables. Reads the tables; what is not derived yet is not in it.
///
/// # Errors
/// [`Error::Ahead`] for a version that the tables do not have, and those of the store.
pub fn catalog(lake: &Lake, at: Option<u64>) -> Result<Catalog> {
    let tables = Tables::open(lake)?;
    let stands = tables.as_ref().map_or(0, Tables::k);
    let k = at.unwrap_or(stands);
    if k > stands {
        return Err(Error::Ahead { asked: k, stands });
    }
    let record_sha256 = match log::read(lake, k)? {
        Some((_, tip)) => tip.sha256,
        None => String::new(),
    };
    let branches = match tables {
        Some(tables) => tables.branches(lake, None, Some(k))?,
        None => Vec::new(),
    };
    Ok(Catalog { k, record_sha256, branches })
}
