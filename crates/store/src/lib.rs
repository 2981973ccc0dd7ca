//! Everything about the bytes in the lake: raw log, tables, derive, compact, read a session.
//!
//! The raw log is the truth: putting a batch's record is the only commit, and the tables can be made from it anew.

mod branch;
mod catalog;
mod chain;
mod checks;
mod checks_io;
mod checks_writer;
mod commit_times;
mod compact;
mod delta;
mod derive;
mod error;
mod heads;
mod lake;
pub mod log;
mod names;
mod object;
mod parquet_file;
pub mod raw;
mod rows;
pub mod schema;
mod segment_rows;
mod session;
mod sink;
mod tables;

pub use branch::{BadLine, BadLines, BatchMeta, BranchWriter};
pub use catalog::{Branch, Catalog, Segment, catalog};
pub use chain::read_branch;
pub use checks::{CheckRow, ExportRow, Finding};
pub use checks_io::{append_exports, checks_table, exports_table, read_checks};
pub use checks_writer::{Checks, KindRows};
pub use commit_times::{CommitTimes, Committed};
pub use compact::{Compacted, compact};
pub use derive::{Derived, OnBytes, derive, rebuild};
pub use error::{Error, Result};
pub use heads::{Heads, heads, keep_heads};
pub use lake::{Lake, StoreOptions};
pub use log::{Record, SegmentRecord, Tip};
pub use object::read_object;
pub use segment_rows::SegmentRow;
pub use sink::{Prepared, Sink};
pub use tables::{PARSER, Tables};

/// SHA-256 of no bytes, hex: what stands before the first segment.
pub const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
