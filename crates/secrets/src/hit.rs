//! What a scan finds.

use crate::{RuleSet, Severity};

/// One secret in one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The rule's id.
    pub rule: &'static str,
    /// How bad a leak is.
    pub severity: Severity,
    /// First byte in the text that was given to the scan; on a character boundary.
    pub start: usize,
    /// One past the last byte, on a character boundary; more than `start`.
    pub end: usize,
    /// The value, decoded and joined. To be fingerprinted and forgotten: never printed, never stored.
    pub secret: String,
}

/// Sorts by start and leaves one hit where several overlap: the most specific rule's, of those the longest.
pub(crate) fn merge(set: &RuleSet, hits: Vec<Hit>) -> Vec<Hit> {
    if hits.len() < 2 {
        return hits;
    }
    let mut ranked: Vec<(u8, Hit)> = hits.into_iter().map(|hit| (set.standing(hit.rule).1, hit)).collect();
    ranked.sort_by(|(a_rank, a), (b_rank, b)| {
        (b_rank, b.end - b.start, b.severity, a.start, a.rule, &a.secret).cmp(&(
            a_rank,
            a.end - a.start,
            a.severity,
            b.start,
            b.rule,
            &b.secret,
        ))
    });
    let mut kept: std::collections::BTreeMap<usize, Hit> = std::collections::BTreeMap::new();
    for (_, hit) in ranked {
        let before = kept.range(..hit.end).next_back();
        if before.is_none_or(|(_, other)| other.end <= hit.start) {
            kept.insert(hit.start, hit);
        }
    }
    kept.into_values().collect()
}

/// The nearest character boundary at or before `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The nearest character boundary at or after `at`.
pub(crate) fn ceil(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
