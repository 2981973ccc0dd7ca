//! The secrets of a session, wherever they stand and in whatever form.

use crate::hit::{ceil, floor, merge};
use crate::scan::until_clean;
use crate::{Hit, RuleSet, Severity, scan};
use aho_corasick::{AhoCorasick, MatchKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use std::collections::{HashMap, HashSet};
use std::hash::Hasher as _;
use std::ops::Range;

/// Shorter values stand in too many places by chance.
const LEAST: usize = 6;
/// Of an encoded form, shorter pieces say too little.
const LEAST_ENCODED: usize = 10;
/// The least part of a long value that is taken for it at the end of a text that was cut.
const LEAST_BEGINNING: usize = 8;

/// A part of a secret in one text, known by that text.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) digest: u64,
    pub(crate) length: usize,
    pub(crate) span: Range<usize>,
    pub(crate) rule: &'static str,
    pub(crate) secret: String,
}

/// A text's identity within one process; nothing that is stored.
pub(crate) fn digest(text: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write(text.as_bytes());
    hasher.finish()
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Form {
    Plain,
    Encoded,
}

/// The values found in a session, as one automaton over them and their encoded forms.
#[derive(Debug)]
pub struct KnownSecrets {
    /// Rule, number within the rule, value.
    secrets: Vec<(&'static str, usize, String)>,
    by_value: HashMap<String, usize>,
    automaton: Option<AhoCorasick>,
    /// For each pattern of the automaton, the secret and the form.
    patterns: Vec<(usize, Form)>,
    parts: HashMap<(u64, usize), Vec<Part>>,
    /// The texts in which pass one found something.
    seen: HashSet<(u64, usize)>,
}

impl KnownSecrets {
    /// In order of first sight. A value that several rules found has the name of the most specific.
    pub(crate) fn new(
        set: &RuleSet,
        secrets: Vec<(&'static str, String)>,
        parts: Vec<Part>,
        mut seen: HashSet<(u64, usize)>,
    ) -> Self {
        let mut values: Vec<(&'static str, String)> = Vec::new();
        let mut by_value: HashMap<String, usize> = HashMap::new();
        for (rule, value) in secrets {
            match by_value.get(&value) {
                Some(&at) if set.standing(rule).1 > set.standing(values[at].0).1 => values[at].0 = rule,
                Some(_) => {}
                None => {
                    by_value.insert(value.clone(), values.len());
                    values.push((rule, value));
                }
            }
        }
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let secrets: Vec<_> = values
            .into_iter()
            .map(|(rule, value)| {
                let count = counts.entry(rule).or_default();
                *count += 1;
                (rule, *count, value)
            })
            .collect();
        let mut needles = Vec::new();
        let mut patterns = Vec::new();
        for (at, (_, _, value)) in secrets.iter().enumerate() {
            for (form, needle) in forms(value) {
                needles.push(needle);
                patterns.push((at, form));
            }
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&needles).ok();
        let mut by_text: HashMap<(u64, usize), Vec<Part>> = HashMap::new();
        for part in parts {
            seen.insert((part.digest, part.length));
            by_text.entry((part.digest, part.length)).or_default().push(part);
        }
        Self { secrets, by_value, automaton, patterns, parts: by_text, seen }
    }

    /// All hits of this text: the rules' own, each known value in any form, and the parts that are split over texts.
    pub fn locate(&self, rules: &RuleSet, text: &str, cut: bool) -> Vec<Hit> {
        let mut hits = until_clean(rules, text, |text| {
            // The parts are known by the whole text: with something taken out of it, they are gone as well.
            let mut hits = self.split(rules, text);
            hits.extend(scan(rules, text, cut));
            self.values(rules, text, &mut hits);
            if cut {
                self.beginning(rules, text, &mut hits);
            }
            merge(rules, hits)
        });
        for hit in &mut hits {
            if let Some(&at) = self.by_value.get(&hit.secret) {
                hit.rule = self.secrets[at].0;
                hit.severity = rules.standing(hit.rule).0;
            }
        }
        hits
    }

    /// As [`Self::locate`], for a text that the session was fed: where pass one saw nothing and no known value stands,
    /// nothing is looked at again.
    pub fn locate_fed(&self, rules: &RuleSet, text: &str, cut: bool) -> Vec<Hit> {
        if !cut
            && !self.automaton.as_ref().is_some_and(|automaton| automaton.is_match(text))
            && !self.seen.contains(&(digest(text), text.len()))
        {
            return Vec::new();
        }
        self.locate(rules, text, cut)
    }

    /// Whether a known value may stand in a line of JSON as it is written, that is with one more layer of escapes than in
    /// the texts on it. An escape that could be any character may be one of a value.
    pub fn may_stand_in(&self, line: &[u8]) -> bool {
        self.automaton.as_ref().is_none_or(|automaton| automaton.is_match(line))
            || memchr::memmem::find(line, b"\\u").is_some()
    }

    fn split(&self, rules: &RuleSet, text: &str) -> Vec<Hit> {
        if self.parts.is_empty() {
            return Vec::new();
        }
        let parts = self.parts.get(&(digest(text), text.len())).map_or(&[][..], Vec::as_slice);
        let hits = parts.iter().filter(|part| text.get(part.span.clone()).is_some());
        hits.map(|part| hit(rules, part.rule, part.span.clone(), part.secret.clone())).collect()
    }

    fn values(&self, rules: &RuleSet, text: &str, hits: &mut Vec<Hit>) {
        let Some(automaton) = &self.automaton else { return };
        let bytes = text.as_bytes();
        for found in automaton.find_iter(text) {
            let (at, form) = self.patterns[found.pattern().as_usize()];
            let (rule, _, value) = &self.secrets[at];
            let mut span = found.range();
            match form {
                Form::Plain => {
                    let inside = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
                    let part_of_word =
                        inside(span.start.checked_sub(1).map(|before| &bytes[before])) || inside(bytes.get(span.end));
                    if (value.len() < 12 && part_of_word) || is_placeholder(text, &span) {
                        continue;
                    }
                }
                Form::Encoded => span = widen(bytes, span),
            }
            hits.push(hit(rules, rule, floor(text, span.start)..ceil(text, span.end), value.clone()));
        }
    }

    /// The beginning of a known value at the end of a text that was cut.
    fn beginning(&self, rules: &RuleSet, text: &str, hits: &mut Vec<Hit>) {
        let end = text.trim_end().len();
        for (rule, _, value) in &self.secrets {
            let longest = (LEAST_BEGINNING..value.len())
                .rev()
                .find(|&length| value.is_char_boundary(length) && text[..end].ends_with(&value[..length]));
            if let Some(length) = longest {
                hits.push(hit(rules, rule, end - length..end, value.clone()));
            }
        }
    }

    /// How many different secrets there are.
    pub fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Never so for what [`SessionScan::finish`](crate::SessionScan::finish) gives.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The same placeholder for the same secret within a session: `<SECRET:github-token:1>`, numbered in order of first
    /// sight within its rule. Number 0 stands for one that pass one did not see.
    pub fn placeholder(&self, hit: &Hit) -> String {
        match self.by_value.get(&hit.secret).map(|&at| &self.secrets[at]) {
            Some((rule, number, _)) => format!("<SECRET:{rule}:{number}>"),
            None => format!("<SECRET:{}:0>", hit.rule),
        }
    }
}

fn hit(rules: &RuleSet, rule: &'static str, span: Range<usize>, secret: String) -> Hit {
    let severity: Severity = rules.standing(rule).0;
    Hit { rule, severity, start: span.start, end: span.end, secret }
}

/// A value that is a rule's name, say, must not take a placeholder apart.
fn is_placeholder(text: &str, span: &Range<usize>) -> bool {
    let before = floor(text, span.start.saturating_sub(48));
    text[before..span.start].rfind("<SECRET:").is_some_and(|at| !text[before + at..span.start].contains('>'))
}

/// An encoded value is part of a longer run as often as not: the whole of it is taken.
fn widen(bytes: &[u8], span: Range<usize>) -> Range<usize> {
    let run = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/-_=%\\".contains(byte);
    let before = bytes[..span.start].iter().rev().take(64 << 10).take_while(run).count();
    let after = bytes[span.end..].iter().take(64 << 10).take_while(run).count();
    span.start - before..span.end + after
}

fn forms(value: &str) -> Vec<(Form, String)> {
    if value.len() < LEAST {
        return Vec::new();
    }
    let mut forms = vec![(Form::Plain, value.to_owned())];
    let mut add = |form, needle: String| {
        let is_new = !forms.iter().any(|(_, known)| *known == needle);
        if is_new && needle.len() >= LEAST_ENCODED.min(value.len()) {
            forms.push((form, needle));
        }
    };
    let mut escaped = value.to_owned();
    for _ in 0..4 {
        let json = serde_json::to_string(&escaped).unwrap_or_default();
        escaped = json.get(1..json.len().saturating_sub(1)).unwrap_or_default().to_owned();
        add(Form::Plain, escaped.clone());
        add(Form::Plain, escaped.replace('/', "\\/"));
    }
    for upper in [true, false] {
        add(Form::Plain, percent(value, upper));
    }
    add(Form::Encoded, hex::encode(value));
    add(Form::Encoded, hex::encode_upper(value));
    for shift in 0..3 {
        for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            let mut bytes = vec![0u8; shift];
            bytes.extend_from_slice(value.as_bytes());
            let encoded = engine.encode(&bytes);
            // The characters that share bits with what stands before and after are left out.
            let from = [0, 2, 3][shift];
            let to = bytes.len() * 8 / 6;
            if to > from && to - from >= LEAST_ENCODED {
                add(Form::Encoded, encoded[from..to].to_owned());
            }
        }
    }
    forms
}

fn percent(value: &str, upper: bool) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else if upper {
            encoded.push_str(&format!("%{byte:02X}"));
        } else {
            encoded.push_str(&format!("%{byte:02x}"));
        }
    }
    encoded
}
