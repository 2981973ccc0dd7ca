//! Training sets from a lake: chooses sessions, assembles, masks and pairs them, and writes what the trainers load.
//!
//! [`export()`] is the one way in. It takes only what it verified itself: every branch is judged and looked through for
//! secrets afresh here, from the bytes that were received. What cannot be decided is left out, and listed.
//!
//! A branch is read and parsed once. Its row waits in a temporary file until all branches are judged, since only all of
//! them together show a replayed run, a retraction, who pairs with whom and which tools there were.

mod choose;
mod conversation;
mod dialect;
mod error;
mod examine;
mod export;
mod facts;
mod metadata;
mod output;
mod plan;
mod report;
mod request;
mod rows;
mod secrets;
mod spill;
mod tokens;
mod tools;

pub use choose::{FunnelStep, Reason, Split};
pub use error::{Error, Result};
pub use export::export;
pub use output::{
    CorrectionsUsed, FileEntry, LakeVersion, Manifest, PairCounts, RequestEntry, SetCounts, Signatures, ToolsEntry,
    TrustUsed,
};
pub use report::{ExportedRow, Report};
pub use request::{
    Allow, Dialect, OnSecret, OnTooLong, OnTruncatedOutput, Out, PairStrategy, Progress, PromptMatch, Request, Scan,
    Scans, Set, Source, Step, TokenRequest, TrainAfterFail,
};
pub use tokens::{Bin, TokenCounts, TokensUsed};
