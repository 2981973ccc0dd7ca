//! A text, its views and its encodings, each looked at once.

use crate::hit::{ceil, floor, merge};
use crate::view::{Seam, View, views};
use crate::{Hit, RuleSet, core, encodings, escapes, judge, lines, redact};

/// What may still be undone. Each view takes one off, so that the work is bounded whatever the text is.
#[derive(Copy, Clone)]
struct Budget {
    escapes: u8,
    lines: u8,
    percents: u8,
    entities: u8,
    encodings: u8,
}

const BUDGET: Budget = Budget { escapes: 5, lines: 2, percents: 2, entities: 1, encodings: 2 };

/// How often a text is scanned again with what was found taken out.
const ROUNDS: usize = 6;

/// All secrets of one text, sorted by start, not overlapping. `cut` = the collector truncated the text at its end.
///
/// The hits are complete in this sense: [`redact`] with a placeholder `<SECRET:…>`, and a scan of that finds nothing.
pub fn scan(rules: &RuleSet, text: &str, cut: bool) -> Vec<Hit> {
    until_clean(rules, text, |text| windows(rules, text, cut))
}

/// A longer text is looked at in windows: memory does not grow with it.
const WINDOW: usize = 4 << 20;
/// How far windows overlap; no secret is longer.
const OVERLAP: usize = 64 << 10;

fn windows(set: &RuleSet, text: &str, cut: bool) -> Vec<Hit> {
    if text.len() <= WINDOW + OVERLAP {
        return layer(set, text, cut, BUDGET);
    }
    let bytes = text.as_bytes();
    // The end of a line near `at`, so that a window begins where a token can.
    let border = |at: usize| {
        let from = at.saturating_sub(OVERLAP / 4);
        memchr::memrchr(b'\n', &bytes[from..at]).map_or_else(|| floor(text, at), |newline| from + newline + 1)
    };
    let (mut hits, mut from) = (Vec::new(), 0);
    loop {
        let end = if text.len() - from <= WINDOW + OVERLAP { text.len() } else { floor(text, from + WINDOW + OVERLAP) };
        // What begins in the first half of the overlap was seen whole by the window before.
        let least = if from == 0 { 0 } else { OVERLAP / 4 };
        let inner = layer(set, &text[from..end], cut && end == text.len(), BUDGET);
        let inner = inner.into_iter().filter(|hit| hit.start >= least || hit.end > OVERLAP);
        hits.extend(inner.map(|hit| Hit { start: from + hit.start, end: from + hit.end, ..hit }));
        if end == text.len() {
            return absorb(set, Vec::new(), hits);
        }
        from = border(from + WINDOW);
    }
}

/// Scans, takes out what was found, and scans what is left, until nothing is found.
pub(crate) fn until_clean(set: &RuleSet, text: &str, scan: impl Fn(&str) -> Vec<Hit>) -> Vec<Hit> {
    let mut hits = scan(text);
    if hits.is_empty() {
        return hits;
    }
    for _ in 0..ROUNDS {
        let (rest, origins) = redact::with_origins(text, &hits, |hit| format!("<SECRET:{}:1>", hit.rule));
        let more: Vec<Hit> = scan(&rest)
            .into_iter()
            .filter_map(|hit| {
                let start = origins.original(hit.start);
                let end = origins.original_end(hit.end);
                let (start, end) = (floor(text, start), ceil(text, end));
                (start < end).then_some(Hit { start, end, ..hit })
            })
            .collect();
        if more.is_empty() {
            break;
        }
        hits = absorb(set, hits, more);
    }
    hits
}

/// The hits and some more; those that overlap become one that covers both.
fn absorb(set: &RuleSet, hits: Vec<Hit>, more: Vec<Hit>) -> Vec<Hit> {
    let mut all: Vec<Hit> = hits.into_iter().chain(more).collect();
    all.sort_by_key(|hit| (hit.start, hit.end));
    let mut kept: Vec<Hit> = Vec::with_capacity(all.len());
    for hit in all {
        match kept.last_mut() {
            Some(last) if hit.start < last.end => {
                let end = last.end.max(hit.end);
                let start = last.start;
                if set.standing(hit.rule).1 > set.standing(last.rule).1 {
                    *last = hit;
                }
                (last.start, last.end) = (start, end);
            }
            _ => kept.push(hit),
        }
    }
    kept
}

fn layer(set: &RuleSet, text: &str, cut: bool, budget: Budget) -> Vec<Hit> {
    let mut hits = core::find(set, text, cut);
    let mut look = |seams: Vec<Seam>, budget: Budget| {
        for view in views(text, &seams) {
            let inner = layer(set, &view.text, false, budget);
            hits.extend(inner.into_iter().filter(|hit| is_sure(set, &view, hit)).map(|hit| {
                let span = view.original(hit.start..hit.end);
                Hit { start: floor(text, span.start), end: ceil(text, span.end), ..hit }
            }));
        }
    };
    if budget.escapes > 0 && memchr::memchr(b'\\', text.as_bytes()).is_some() {
        look(escapes::backslashes(text), Budget { escapes: budget.escapes - 1, ..budget });
    }
    if budget.entities > 0 && memchr::memchr(b'&', text.as_bytes()).is_some() {
        look(escapes::entities(text), Budget { entities: budget.entities - 1, ..budget });
    }
    if budget.percents > 0 && memchr::memchr(b'%', text.as_bytes()).is_some() {
        look(escapes::percents(text), Budget { percents: budget.percents - 1, ..budget });
    }
    if budget.lines > 0 && has_seams(text) {
        // Escapes are read within a line, and gutters do not matter there.
        look(lines::gutters(text), Budget { lines: 0, escapes: 0, percents: 0, entities: 0, ..budget });
        // Under colours there may be a gutter; under a wrap there is nothing more.
        let coloured = memchr::memchr(0x1b, text.as_bytes()).is_some();
        let below = if coloured { budget.lines - 1 } else { 0 };
        look(lines::seams(text), Budget { lines: below, ..budget });
    }
    if budget.encodings > 0 {
        for (span, inner) in encodings::decoded(text) {
            let inner = layer(set, &inner, false, Budget { encodings: budget.encodings - 1, ..budget });
            hits.extend(inner.into_iter().map(|hit| Hit { start: span.start, end: span.end, ..hit }));
        }
    }
    merge(set, hits)
}

/// Whether there can be a seam: an end of a line, a quote, a colour or what is left of a text in UTF-16.
fn has_seams(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr3(b'\n', 0x1b, 0, bytes).is_some() || memchr::memchr2(b'"', b'\'', bytes).is_some()
}

/// Two lines that make a value together only because nobody said where it ends: both parts have to look like it.
fn is_sure(set: &RuleSet, view: &View, hit: &Hit) -> bool {
    if set.standing(hit.rule).1 > 0 || hit.rule == "private-key" {
        return true;
    }
    let mut at = hit.start;
    let ends: Vec<usize> = view.guesses(&(hit.start..hit.end)).chain([hit.end]).collect();
    if ends.len() == 1 {
        return true;
    }
    // A quote on both sides says where it ends.
    let bytes = view.text.as_bytes();
    let quote = |at: Option<&u8>| at.copied().filter(|b| matches!(b, b'"' | b'\'' | b'`'));
    let opening = hit.start.checked_sub(1).and_then(|before| quote(bytes.get(before)));
    if opening.is_some() && opening == quote(bytes.get(hit.end)) {
        return true;
    }
    judge::is_random(&hit.secret)
        && ends.into_iter().all(|end| {
            let part = view.text.get(at..end).unwrap_or_default();
            at = end;
            part.len() < 6 || judge::surprise(part) >= 4.2
        })
}
