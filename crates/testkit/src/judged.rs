//! Reads and judges a trace in memory, as the lake does from its tables.

use lake_trace::{Fold, LineRef, lines};
use lake_verdict::{Case, Judged, Ledger, Trust, judge};
use sha2::{Digest, Sha256};

/// The fold of a whole file. What follows its last newline is left out.
pub fn fold_file(bytes: &[u8]) -> Fold {
    let mut fold = Fold::new(None);
    for (number, line) in (1..).zip(lines(bytes)) {
        let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
        fold.line(line.bytes, at, &mut String::new());
    }
    fold
}

/// Judges a file as the only branch of its session, in the lake since 2025-07-01.
pub fn judge_file(bytes: &[u8], trust: Option<&Trust>, require: bool) -> Judged {
    judge_file_with(bytes, trust, require, None)
}

/// As [`judge_file`], with what the oracles wrote down.
pub fn judge_file_with(bytes: &[u8], trust: Option<&Trust>, require: bool, ledger: Option<&Ledger>) -> Judged {
    /// 2025-07-01T00:00:00Z.
    const IN_LAKE_MS: i64 = 1_751_328_000_000;
    let fold = fold_file(bytes);
    let summary = fold.summary();
    let prefix = |n: u64| usize::try_from(n).ok().and_then(|n| bytes.get(..n));
    let case = Case {
        session_id: fold.session_id().unwrap_or_default(),
        branch: 0,
        start: fold.start(),
        verdicts: fold.verdicts(),
        ended_by: summary.ended_by.as_deref(),
        len: bytes.len() as u64,
        committed_at: &|_| Some(IN_LAKE_MS),
        prefix_sha256: &|n| prefix(n).map(|first| Sha256::digest(first).into()),
        ends_line: &|n| prefix(n).is_some_and(|first| first.ends_with(b"\n")),
        ledger,
    };
    judge(&case, trust, require)
}
