//! The nouns of a trace: event, session, outcome. Reads a line, folds a session.
//!
//! No IO and no Arrow here: bytes come in, types go out. What a line may hold, and what a reader does with one that
//! is broken, is the trace event format, version 1 (`schema/trace-event.schema.json`).

mod correction;
mod event;
mod flags;
mod fold;
mod hashed;
pub mod json;
mod lines;
mod outcome;
mod place;
mod records;
mod time;

pub use correction::{Action, Correction};
pub use event::{Cut, Event, parse_line};
pub use flags::{Flag, Flags};
pub use fold::{Counts, Fold, LineRef, Looked, Summary};
pub use hashed::Hashed;
pub use lines::{Line, lines};
pub use outcome::{EndedBy, Mode, Outcome, Verdict};
pub use place::{Place, canonical_repo, org_and_repo, session_slug};
pub use records::{SessionEnd, SessionStart, VerdictRecord};
pub use time::{date_of_ms, format_ms, parse_ts};

/// Why a line is not an event. The line itself stays in the raw log, and stands in `rejects` with this reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reject {
    /// Not JSON at all, or not one value: the byte in the line (from 0) and what is wrong there.
    #[error("not JSON at byte {at}: {what}")]
    NotJson {
        /// Offset in the line, bytes.
        at: usize,
        /// What the reader met.
        what: &'static str,
    },
    /// JSON, but nested deeper than 127.
    #[error("nested deeper than 127")]
    TooDeep,
    /// JSON, but no object.
    #[error("not a JSON object")]
    NotObject,
    /// A field that every event needs is missing or null.
    #[error("no `{0}`")]
    Missing(&'static str),
    /// A field that every event needs is of another kind, length or form.
    #[error("`{0}` is not {1}")]
    Bad(&'static str, &'static str),
    /// Longer than the longest line that is parsed.
    #[error("line of {0} bytes is longer than the longest that is parsed")]
    TooLong(u64),
}
