//! Replaces what was found.

use crate::Hit;

/// Replaces the hits' spans by placeholders. Hits that overlap an earlier one, or that are not on the text's character
/// boundaries, are left out; [`scan`](crate::scan) gives none of these. With placeholders of the form
/// `<SECRET:rule:number>`, scanning the result finds nothing, and redacting it again changes nothing.
pub fn redact(text: &str, hits: &[Hit], placeholder: impl Fn(&Hit) -> String) -> String {
    with_origins(text, hits, placeholder).0
}

/// Where the pieces of a redacted text come from.
pub(crate) struct Origins {
    /// Start and length in the result, start and end in the original.
    replaced: Vec<(usize, usize, usize, usize)>,
}

impl Origins {
    /// Where the byte at `at` of the result begins in the original.
    pub(crate) fn original(&self, at: usize) -> usize {
        match self.replaced.partition_point(|piece| piece.0 <= at).checked_sub(1).map(|index| self.replaced[index]) {
            None => at,
            Some((start, length, from, _)) if at < start + length => from,
            Some((start, length, _, to)) => to + at - start - length,
        }
    }

    /// Where the byte before `end` of the result ends in the original.
    pub(crate) fn original_end(&self, end: usize) -> usize {
        let Some(last) = end.checked_sub(1) else { return 0 };
        match self.replaced.partition_point(|piece| piece.0 <= last).checked_sub(1).map(|index| self.replaced[index]) {
            None => end,
            Some((start, length, _, to)) if last < start + length => to,
            Some((start, length, _, to)) => to + end - start - length,
        }
    }
}

pub(crate) fn with_origins(text: &str, hits: &[Hit], placeholder: impl Fn(&Hit) -> String) -> (String, Origins) {
    let mut order: Vec<&Hit> = hits.iter().collect();
    order.sort_by_key(|hit| (hit.start, hit.end));
    let mut result = String::with_capacity(text.len());
    let mut replaced = Vec::with_capacity(order.len());
    let mut at = 0;
    for hit in order {
        let Some(between) = text.get(at..hit.start) else { continue };
        if hit.end <= hit.start || !text.is_char_boundary(hit.end) {
            continue;
        }
        result.push_str(between);
        let stand_in = placeholder(hit);
        replaced.push((result.len(), stand_in.len(), hit.start, hit.end));
        result.push_str(&stand_in);
        at = hit.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    (result, Origins { replaced })
}
