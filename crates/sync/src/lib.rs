//! Finds finished traces, cuts them into segments, uploads them and commits batches.
//!
//! A batch record in the log is the only commit. Nothing that is kept on this machine decides anything: the cache of
//! file sizes and times saves reading, and may be deleted.

mod batch;
mod cache;
mod cut;
mod find;
mod inside;
mod run;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use run::sync;

/// One collector's data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDir {
    /// The folder that holds `traces/`.
    pub path: PathBuf,
    /// Name of the source in the log; by default `host:absolute data dir`.
    pub source: String,
}

/// What a sync is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to look, in this order.
    pub data_dirs: Vec<DataDir>,
    /// Name of this machine.
    pub host: String,
    /// A trace without an end counts as finished when it has not grown for this long.
    pub idle: Duration,
    /// Lines up to this are parsed, bytes; a longer one is kept in pieces and is a reject.
    pub max_line: usize,
    /// Derive the tables in the same pass.
    pub derive: bool,
    /// Say what would be done, write nothing.
    pub dry_run: bool,
    /// Now, milliseconds since 1970 UTC.
    pub now_ms: i64,
    /// Folder for the cache of file sizes and times; None keeps none.
    pub cache: Option<PathBuf>,
}

/// A file or folder that could not be read: the rest went on.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Which one.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// What went wrong, and with what.
    pub what: String,
}

/// A line that is no event: it is kept in `rejects`.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct BadLine {
    /// The file on this machine.
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// Number of the line, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// A path as a person reads it: a name that is no UTF-8 must not spoil the whole summary.
fn shown<S: serde::Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

/// What a sync did.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Trace files that were found.
    pub found: u64,
    /// Files of a session, or a version of one, that the lake did not have.
    pub new: u64,
    /// Files that had grown.
    pub grown: u64,
    /// Files that have not ended yet.
    pub unfinished: u64,
    /// Files of which the lake has everything.
    pub unchanged: u64,
    /// Lines that are no events.
    pub rejected: u64,
    /// Bytes of traces that went into the lake, before compression.
    pub bytes: u64,
    /// Segments that went into the lake.
    pub segments: u64,
    /// The lake's versions that were made.
    pub batches: Vec<u64>,
    /// The lake's version now.
    pub k: u64,
    /// The version that the tables stand at; None where they were not looked at.
    pub tables_at: Option<u64>,
    /// What could not be read.
    pub problems: Vec<Problem>,
    /// The first 100 lines that are no events.
    pub bad_lines: Vec<BadLine>,
    /// Segments that a derive left out because an object in the lake is damaged; each has a note.
    pub damaged: u64,
    /// What a derive had to say.
    pub notes: Vec<String>,
}

/// How far it is. Called from many threads.
pub trait Progress: Sync {
    /// Bytes to be looked at became known.
    fn more(&self, bytes: u64);
    /// Bytes were looked at.
    fn done(&self, bytes: u64);
}

/// No progress is shown.
impl Progress for () {
    fn more(&self, _: u64) {}
    fn done(&self, _: u64) {}
}
