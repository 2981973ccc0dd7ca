//! Judges a branch whose bytes are at hand.

use std::collections::HashMap;

use lake_trace::Fold;
use sha2::{Digest, Sha256};

use crate::{Case, Judged, Trust, judge, wanted_prefixes};

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
    pub bytes: &'a [u8],
    /// From a byte offset to the commit time (milliseconds UTC) of the batch whose segment first held it.
    pub committed_at: &'a dyn Fn(u64) -> Option<i64>,
}

/// As [`judge()`], with prefixes hashed in one pass over the bytes; without a trust file none are.
pub fn judge_whole(whole: Whole<'_>, trust: Option<&Trust>, require: bool) -> Judged {
    let Whole { session_id, branch, fold, bytes, committed_at } = whole;
    let summary = fold.summary();
    let wanted = trust.map(|_| wanted_prefixes(fold.verdicts())).unwrap_or_default();
    let prefixes = prefix_hashes(bytes, &wanted);
    let last_byte = |n: u64| usize::try_from(n).ok().and_then(|n| bytes.get(n.checked_sub(1)?));
    let case = Case {
        session_id,
        branch,
        start: fold.start(),
        verdicts: fold.verdicts(),
        ended_by: summary.ended_by.as_deref(),
        len: bytes.len() as u64,
        committed_at,
        prefix_sha256: &|n| prefixes.get(&n).copied(),
        ends_line: &|n| last_byte(n) == Some(&b'\n'),
    };
    judge(&case, trust, require)
}

/// `wanted` is sorted.
fn prefix_hashes(bytes: &[u8], wanted: &[u64]) -> HashMap<u64, [u8; 32]> {
    let mut hash = Sha256::new();
    let mut from = 0;
    let mut out = HashMap::with_capacity(wanted.len());
    for n in wanted {
        let Some(part) = usize::try_from(*n).ok().and_then(|to| bytes.get(from..to)) else { break };
        hash.update(part);
        from += part.len();
        out.insert(*n, hash.clone().finalize().into());
    }
    out
}
