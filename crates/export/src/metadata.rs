//! What a row says of itself where its tokens were counted.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::facts::Row;
use crate::tokens::Counts;

/// What a row says of itself, with its tokens where they were counted.
pub(crate) fn session_metadata(row: &Row) -> Cow<'_, str> {
    let (cut, counts) = match (&row.cut, &row.tokens) {
        (Some((messages, counts)), _) => (Some(messages), counts),
        (None, Some(counts)) => (None, counts),
        (None, None) => return Cow::Borrowed(&row.metadata),
    };
    let mut out = open_with_tokens(row, counts);
    // Writing to a string cannot fail.
    let _ = write!(out, ",\"trained_tokens\":{},\"trained_runs\":[", counts.trained);
    for (i, (start, end)) in counts.runs.iter().enumerate() {
        let _ = write!(out, "{}[{start},{end}]", if i == 0 { "" } else { "," });
    }
    out.push(']');
    if let Some(messages) = cut {
        let _ = write!(out, ",\"cut_after_messages\":{messages}");
    }
    out.push('}');
    Cow::Owned(out)
}

fn open_with_tokens(row: &Row, counts: &Counts) -> String {
    let open = row.metadata.strip_suffix('}').unwrap_or_default();
    format!("{open},\"tokens\":{}", counts.all)
}

/// The same of a side of a pair.
pub(crate) fn side_metadata(row: &Row) -> Cow<'_, str> {
    match &row.tokens {
        Some(counts) => Cow::Owned(format!("{}}}", open_with_tokens(row, counts))),
        None => Cow::Borrowed(&row.metadata),
    }
}
