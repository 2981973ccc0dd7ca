//! Judges a branch whose bytes are at hand.

use lake_trace::{Fold, Hashed};

use crate::{Case, Judged, Ledger, Trust, judge};

/// Whose bytes they are.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// The session that the file is of.
    pub session_id: &'a str,
    /// The branch, from 0.
    pub branch: u32,
    /// All of its lines, folded.
    pub fold: &'a Fold,
    /// The same lines as they stand in the file.
    pub bytes: &'a Hashed,
    /// From a byte offset to the commit time (milliseconds UTC) of the batch whose segment first held it.
    pub committed_at: &'a dyn Fn(u64) -> Option<i64>,
    /// What the oracles say that they signed; counts with a trust file only.
    pub ledger: Option<&'a Ledger>,
}

/// As [`judge()`].
pub fn judge_whole(whole: Whole<'_>, trust: Option<&Trust>, require: bool) -> Judged {
    let Whole { session_id, branch, fold, bytes, committed_at, ledger } = whole;
    let summary = fold.summary();
    let size = |n: u64| usize::try_from(n).ok();
    let case = Case {
        session_id,
        branch,
        start: fold.start(),
        verdicts: fold.verdicts(),
        ended_by: summary.ended_by.as_deref(),
        len: bytes.len() as u64,
        committed_at,
        prefix_sha256: &|n| bytes.prefix_sha256(size(n)?),
        ends_line: &|n| size(n).and_then(|n| bytes.get(n.checked_sub(1)?)) == Some(&b'\n'),
        ledger,
    };
    judge(&case, trust, require)
}
