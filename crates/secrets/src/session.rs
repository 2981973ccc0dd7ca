//! A session is scanned whole: pass one collects what is secret, pass two finds it wherever it stands.

use crate::hit::{ceil, floor, merge};
use crate::known::{KnownSecrets, Part};
use crate::{Hit, RuleSet, scan};
use std::collections::{HashSet, VecDeque};

/// A secret is looked for over the borders of this many texts.
const TEXTS: usize = 5;
/// And no further than this from a border.
const REACH: usize = 768;
/// A private key reaches further.
const KEY_REACH: usize = 16 << 10;

/// Texts of this length come again often.
const SHORT: usize = 40;
/// So many are remembered.
const MOST_CLEAN: usize = 2048;

/// Pass one over a session's texts, in order.
#[derive(Debug)]
pub struct SessionScan<'r> {
    rules: &'r RuleSet,
    turn: Option<u64>,
    /// The ends of the last texts of this turn.
    tails: VecDeque<Tail>,
    secrets: Vec<(&'static str, String)>,
    learnt: HashSet<(&'static str, String)>,
    parts: Vec<Part>,
    /// The texts in which something was found.
    seen: HashSet<(u64, usize)>,
    /// Short texts that stand alone and hold nothing: names of fields and tools come again and again.
    clean: HashSet<Box<str>>,
}

#[derive(Debug)]
struct Tail {
    /// The end of the text; all of it when it is short.
    text: String,
    /// Where that begins in the text.
    from: usize,
    digest: u64,
    length: usize,
    in_key: bool,
}

impl<'r> SessionScan<'r> {
    /// An empty session.
    pub fn new(rules: &'r RuleSet) -> Self {
        Self {
            rules,
            turn: None,
            tails: VecDeque::new(),
            secrets: Vec::new(),
            learnt: HashSet::new(),
            parts: Vec::new(),
            seen: HashSet::new(),
            clean: HashSet::new(),
        }
    }

    /// Takes the next text. Texts with the same `Some(turn)` that follow each other are looked at across their borders
    /// too. Returns the hits in this text that are known so far: the rules', and this text's part of a split secret.
    pub fn feed(&mut self, text: &str, turn: Option<u64>, cut: bool) -> Vec<Hit> {
        let is_short = turn.is_none() && !cut && text.len() <= SHORT;
        if is_short && self.clean.contains(text) {
            self.tails.clear();
            self.turn = None;
            return Vec::new();
        }
        let mut hits = scan(self.rules, text, cut);
        if is_short && hits.is_empty() {
            if self.clean.len() >= MOST_CLEAN {
                self.clean.clear();
            }
            self.clean.insert(text.into());
        }
        if turn.is_none() || turn != self.turn {
            self.tails.clear();
            self.turn = turn;
        }
        if turn.is_some() && !text.is_empty() {
            let digest = crate::known::digest(text);
            let across = self.across(text, digest);
            hits = merge(self.rules, hits.into_iter().chain(across).collect());
            let in_key = hits.last().is_some_and(|hit| hit.rule == "private-key" && text.len() - hit.end < 4);
            let from = floor(text, text.len().saturating_sub(if in_key { KEY_REACH } else { REACH }));
            self.tails.push_back(Tail { text: text[from..].to_owned(), from, digest, length: text.len(), in_key });
            if self.tails.len() >= TEXTS {
                self.tails.pop_front();
            }
        }
        if !hits.is_empty() {
            self.seen.insert((crate::known::digest(text), text.len()));
        }
        for hit in &hits {
            self.learn(hit.rule, &hit.secret);
        }
        hits
    }

    fn learn(&mut self, rule: &'static str, secret: &str) {
        if self.learnt.insert((rule, secret.to_owned())) {
            self.secrets.push((rule, secret.to_owned()));
        }
    }

    /// Hits over the border between this text and those before it; the parts in those are remembered.
    fn across(&mut self, text: &str, digest: u64) -> Vec<Hit> {
        let Some(last) = self.tails.back() else { return Vec::new() };
        // A message of its own neither begins nor ends with a blank: a part of a stream does.
        let open = |byte: Option<&u8>| byte.is_some_and(|b| !b.is_ascii_whitespace() || *b == b' ');
        let in_key = last.in_key;
        let touch = open(last.text.as_bytes().last()) && open(text.as_bytes().first());
        if !(in_key || touch) {
            return Vec::new();
        }
        let reach = if in_key { KEY_REACH } else { REACH };
        let mut joined = String::new();
        // Start in the joined text, and the tail.
        let mut starts = Vec::new();
        let mut first = self.tails.len();
        let mut length = 0;
        while first > 0 && length < reach {
            first -= 1;
            length += self.tails[first].text.len();
            // Only a text that is whole can have one before it that touches.
            if self.tails[first].from > 0 {
                break;
            }
        }
        for tail in self.tails.range(first..) {
            starts.push(joined.len());
            joined.push_str(&tail.text);
        }
        let border = joined.len();
        joined.push_str(&text[..ceil(text, reach)]);
        let mut here = Vec::new();
        for hit in scan(self.rules, &joined, false) {
            // One that is whole in this text may have its name in the one before.
            if hit.end <= border {
                continue;
            }
            for (tail, &start) in self.tails.range(first..).zip(&starts) {
                let end = start + tail.text.len();
                let (from, to) = (hit.start.max(start), hit.end.min(end));
                if from < to {
                    let span = tail.from + from - start..tail.from + to - start;
                    self.parts.push(Part {
                        digest: tail.digest,
                        length: tail.length,
                        span,
                        rule: hit.rule,
                        secret: hit.secret.clone(),
                    });
                }
            }
            let (from, end) = (hit.start.saturating_sub(border), hit.end - border);
            self.parts.push(Part {
                digest,
                length: text.len(),
                span: from..end,
                rule: hit.rule,
                secret: hit.secret.clone(),
            });
            here.push(Hit { start: from, end, ..hit });
        }
        here
    }

    /// What was found; None when nothing was: then no second pass is needed.
    pub fn finish(mut self) -> Option<KnownSecrets> {
        let split: Vec<(&'static str, String)> =
            self.parts.iter().map(|part| (part.rule, part.secret.clone())).collect();
        for (rule, secret) in split {
            self.learn(rule, &secret);
        }
        (!self.secrets.is_empty()).then(|| KnownSecrets::new(self.rules, self.secrets, self.parts, self.seen))
    }
}
