//! One pass of the prefilter over one text as it stands, and the confirmation of each candidate.

use crate::hit::{ceil, floor};
use crate::ruleset::Action;
use crate::{Hit, Rule, RuleSet, checks, generic, judge, manifest, near, pem};
use std::ops::Range;

/// What was found in one view of a text.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// Tokens of a vendor's form that are none (wrong checksum, documents' example): no generic finding there either.
    pub(crate) vetoes: Vec<Range<usize>>,
    /// Where the last assignment's name began, so that a name with two keywords is judged once.
    pub(crate) last_name: Option<usize>,
    /// How often names inside one value were taken for names, so that `key=key=key=` costs no more than its length.
    pub(crate) nested: Tries,
    /// The same for manifests.
    pub(crate) manifests: Tries,
    /// The same for each rule, in one run of the characters of tokens.
    runs: Vec<(usize, u8)>,
}

/// Attempts that overlap. A text made to slow the scan down has many; no other has more than a few.
#[derive(Debug, Default)]
pub(crate) struct Tries {
    end: usize,
    count: u8,
}

/// More overlapping attempts are not made.
const MOST_TRIES: u8 = 12;

impl Tries {
    /// Whether no attempt that begins at `at` will be made.
    pub(crate) fn are_spent(&self, at: usize) -> bool {
        at < self.end && self.count >= MOST_TRIES
    }

    /// Whether an attempt that covers `span` is still to be made.
    pub(crate) fn allow(&mut self, span: &Range<usize>) -> bool {
        self.count = if span.start < self.end { self.count.saturating_add(1) } else { 0 };
        self.end = self.end.max(span.end);
        self.count < MOST_TRIES
    }
}

impl Found {
    /// Whether the rule is still to be tried at `at`: after a dozen failures in one unbroken run, it is not.
    pub(crate) fn allow(&mut self, set: &RuleSet, rule: usize, bytes: &[u8], at: usize) -> bool {
        if self.runs.is_empty() {
            self.runs.resize(set.rules().len(), (usize::MAX, 0));
        }
        let (last, count) = &mut self.runs[rule];
        let same = *last <= at
            && at - *last < 4096
            && bytes[*last..at].iter().all(|b| b.is_ascii_alphanumeric() || b"_-+/".contains(b));
        *count = if same { count.saturating_add(1) } else { 0 };
        *last = at;
        *count < MOST_TRIES
    }

    pub(crate) fn push(&mut self, set: &RuleSet, rule: &'static str, text: &str, span: Range<usize>, secret: String) {
        let (start, end) = (floor(text, span.start), ceil(text, span.end));
        if start < end {
            self.hits.push(Hit { rule, severity: set.standing(rule).0, start, end, secret });
        }
    }

    pub(crate) fn is_known(&self, rule: &str, at: usize) -> bool {
        self.hits.iter().rev().take(8).any(|hit| hit.rule == rule && hit.start <= at && at < hit.end)
    }
}

/// All findings of the text itself, without views and encodings, unsorted.
pub(crate) fn find(set: &RuleSet, text: &str, cut: bool) -> Vec<Hit> {
    let mut found = Found::default();
    for (keyword, at) in set.prefilter().candidates(text) {
        for &action in set.actions(keyword) {
            let at = at.clone();
            match action {
                Action::Rule { rule, keyword } => {
                    let number = usize::from(rule);
                    let rule = &set.rules()[number];
                    if rule.near {
                        near::confirm(set, rule, number, text, at, &mut found);
                        continue;
                    }
                    confirm(set, rule, (number, usize::from(keyword)), text, at, &mut found);
                }
                Action::Name => generic::assignment(set, text, at, &mut found),
                Action::Url => generic::url(set, text, at, &mut found),
                Action::Manifest => manifest::secret(set, text, at, &mut found),
                Action::Pem => pem::private_key(set, text, at.start, &mut found),
            }
        }
    }
    if cut {
        cut_off(set, text, &mut found);
    }
    let Found { mut hits, vetoes, .. } = found;
    hits.retain(|hit| {
        let vetoed = vetoes.iter().any(|veto| veto.start < hit.end && hit.start < veto.end);
        !(is_placeholder_at(text, hit) || vetoed && set.standing(hit.rule).1 < 2)
    });
    hits
}

/// A placeholder of an earlier redaction, whole or in part, is no secret.
fn is_placeholder_at(text: &str, hit: &Hit) -> bool {
    let before = floor(text, hit.start.saturating_sub(64));
    let inside = |from: usize| text[from..].find('>').is_some_and(|close| from + close + 1 > hit.start);
    text[before..hit.end].match_indices("<SECRET:").any(|(at, _)| inside(before + at))
}

fn confirm(
    set: &RuleSet,
    rule: &Rule,
    (number, keyword): (usize, usize),
    text: &str,
    at: Range<usize>,
    found: &mut Found,
) {
    let bytes = text.as_bytes();
    if !rule.nocase && &bytes[at.clone()] != rule.keywords[keyword].as_bytes() {
        return;
    }
    if (rule.lead == 0 && rule.boundary && !starts_token(bytes, at.start)) || found.is_known(rule.id, at.start) {
        return;
    }
    let Some(pattern) = rule.pattern.as_ref().and_then(|pattern| pattern.get()) else { return };
    if !found.allow(set, number, bytes, at.start) {
        return;
    }
    let from = at.start.saturating_sub(rule.lead);
    let window = &bytes[from..(at.start + rule.window).min(bytes.len())];
    for captures in pattern.captures_iter(window) {
        let Some(whole) = captures.get(0) else { continue };
        if from + whole.end() < at.end {
            continue;
        }
        let Some(secret) = captures.iter().skip(1).flatten().next().or(Some(whole)) else { continue };
        let span = from + secret.start()..from + secret.end();
        let starts = rule.lead == 0 || !rule.boundary || starts_token(bytes, span.start);
        if starts && ends_token(bytes, span.end) {
            let value = String::from_utf8_lossy(&bytes[span.clone()]).into_owned();
            if is_secret(rule, &value) {
                found.push(set, rule.id, text, span, value);
            } else if rule.rank == 2 && is_vetoed(rule, &value) {
                found.vetoes.push(span);
            }
        }
        return;
    }
}

/// Whether what is no token of this rule is no other either: its checksum or its structure is wrong, or it is the
/// documents' example. What is only less random than a token may be that of another vendor.
fn is_vetoed(rule: &Rule, value: &str) -> bool {
    judge::is_sample_token(value)
        || rule.checks.iter().any(|&check| checks::is_structure(check) && !checks::passes(check, value))
}

pub(crate) fn is_secret(rule: &Rule, value: &str) -> bool {
    (value.len() < 16 || judge::entropy(value) >= rule.min_entropy)
        && !judge::is_sample_token(value)
        && rule.checks.iter().all(|&check| checks::passes(check, value))
}

/// Whether a token can begin here: after something that is no part of a word. An escape (`\n`, `%3D`, `\u0022`,
/// a colour code) ends in a letter or a digit and is no part of a word.
pub(crate) fn starts_token(bytes: &[u8], at: usize) -> bool {
    let back = |by: usize| at.checked_sub(by).map(|index| bytes[index]);
    let Some(last) = back(1) else { return true };
    if !(last.is_ascii_alphanumeric() || last == b'_') {
        return true;
    }
    if back(2) == Some(b'\\') && matches!(last, b'n' | b'r' | b't' | b'f' | b'b' | b'v' | b'0' | b'e') {
        return true;
    }
    if last.is_ascii_hexdigit() && back(2).is_some_and(|b| b.is_ascii_hexdigit()) {
        if back(3) == Some(b'%') || (back(3) == Some(b'x') && back(4) == Some(b'\\')) {
            return true;
        }
        if back(5) == Some(b'u') && back(6) == Some(b'\\') {
            return true;
        }
    }
    if last.is_ascii_alphabetic() {
        let mut index = at - 1;
        while index > 0 && at - index < 24 && matches!(bytes[index - 1], b'0'..=b'9' | b';' | b':') {
            index -= 1;
        }
        if index >= 2 && bytes[index - 1] == b'[' {
            return matches!(bytes[index - 2], 0x1b | b'b' | b'B' | b'3' | b'e');
        }
    }
    false
}

/// Whether a token can end here.
pub(crate) fn ends_token(bytes: &[u8], end: usize) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    end == 0 || end >= bytes.len() || !word(bytes[end - 1]) || !word(bytes[end])
}

/// How far from the end of a cut value a prefix is looked for.
const TAIL: usize = 400;

/// The collector cut this value: the rest of a token may be gone, so its prefix is enough.
fn cut_off(set: &RuleSet, text: &str, found: &mut Found) {
    let end = before_marker(text);
    let from = floor(text, end.saturating_sub(TAIL));
    let tail = &text[from..end];
    let run = tail.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_-./+=:~".contains(c)));
    let run = run.map_or(0, |at| at + tail[at..].chars().next().map_or(1, char::len_utf8));
    let mut best: Option<(usize, &Rule)> = None;
    for rule in set.rules().iter().filter(|rule| rule.prefix) {
        for keyword in rule.keywords.iter().filter(|keyword| keyword.len() >= 4) {
            if let Some(at) = tail[run..].find(keyword.as_str()) {
                let start = from + run + at;
                if starts_token(text.as_bytes(), start) && best.is_none_or(|(known, _)| start < known) {
                    best = Some((start, rule));
                }
            }
        }
    }
    if let Some((start, rule)) = best {
        let overlaps = |span: &Range<usize>| span.start < end && start < span.end;
        if !found.hits.iter().any(|hit| hit.start <= start && start < hit.end) && !found.vetoes.iter().any(overlaps) {
            found.push(set, rule.id, text, start..end, text[start..end].to_owned());
        }
    }
}

/// Where a cut value really ends: before a note such as `[output truncated]` or `… truncated`.
fn before_marker(text: &str) -> usize {
    let from = floor(text, text.len().saturating_sub(120));
    let tail = &text[from..];
    let note =
        ["[output", "[trunc", "...", "…", "<trunc", "(trunc", "[cut"].iter().filter_map(|note| tail.rfind(note)).min();
    let end = note.map_or(text.len(), |at| from + at);
    text[..end].trim_end().len()
}
