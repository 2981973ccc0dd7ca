//! The secrets of one branch: first what they are, then wherever they stand.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ops::Range;

use lake_secrets::{Hit, KnownSecrets, RuleSet, SessionScan, Severity, fingerprint, redact};
use lake_store::Finding;
use lake_trace::json::Value;
use lake_trace::{Event, LineRef};

use crate::Options;
use crate::texts::{Stream, Text, texts, texts_of};

/// Findings that one row lists: a file that is a list of secrets must not make a row of any size.
const MOST: usize = 10_000;
/// A text that stands alone and is shorter is no secret by itself: no token is, and a name with its value is longer.
const SHORTEST: usize = 8;
/// Messages over which one secret may be split.
const ACROSS: usize = 5;

/// What was found in a branch.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// `clean`, `found`, or `allowed`: all that was found is on the allow list. Since its entries expire, that is not
    /// clean for ever, and such a branch is looked at again each time.
    pub(crate) result: &'static str,
    pub(crate) findings: Vec<Finding>,
}

/// The first pass: takes the texts of a branch in order.
pub(crate) struct FirstPass<'r> {
    /// Messages that follow each other are looked at across their borders; what lies between must not part them.
    said: SessionScan<'r>,
    thought: SessionScan<'r>,
    alone: SessionScan<'r>,
    rules: &'r RuleSet,
    turn: u64,
    /// The lines that the second pass must look at whatever stands on them: something was found there, or may be part of
    /// what was found later, or the collector cut it.
    lines: HashSet<u64>,
    /// The last lines that said something.
    said_on: VecDeque<u64>,
}

impl<'r> FirstPass<'r> {
    pub(crate) fn new(rules: &'r RuleSet) -> FirstPass<'r> {
        let session = || SessionScan::new(rules);
        FirstPass {
            said: session(),
            thought: session(),
            alone: session(),
            rules,
            turn: 0,
            lines: HashSet::new(),
            said_on: VecDeque::new(),
        }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, line: &[u8], number: u64) {
        // A turn is what lies between two prompts.
        if event.role.as_deref() == Some("user") {
            self.turn += 1;
        }
        let rules = self.rules;
        texts(event, line, rules, &mut |text| self.text(&text, number));
    }

    /// Takes a line of JSON that is no event.
    pub(crate) fn value(&mut self, value: &Value<'_>, number: u64) {
        let rules = self.rules;
        texts_of(value, rules, &mut |text| self.text(&text, number));
    }

    fn text(&mut self, text: &Text<'_>, number: u64) {
        let hits = match text.stream {
            Stream::Said => self.said.feed(text.text, Some(self.turn), text.cut),
            Stream::Thought => self.thought.feed(text.text, Some(self.turn), text.cut),
            Stream::Alone if text.text.len() < SHORTEST => Vec::new(),
            Stream::Alone => self.alone.feed(text.text, None, text.cut),
        };
        if text.stream != Stream::Alone {
            self.said_on.push_back(number);
            if self.said_on.len() > 2 * ACROSS {
                self.said_on.pop_front();
            }
            if !hits.is_empty() {
                self.lines.extend(&self.said_on);
            }
        }
        if text.cut || !hits.is_empty() {
            self.lines.insert(number);
        }
    }

    /// Takes a line, or a part of one, that is no event.
    pub(crate) fn reject(&mut self, bytes: &[u8], number: u64) {
        if !self.alone.feed(&String::from_utf8_lossy(bytes), None, false).is_empty() {
            self.lines.insert(number);
        }
    }

    /// What the secrets are, and where to look again.
    pub(crate) fn finish(self) -> Learnt {
        let sessions = [self.said, self.thought, self.alone];
        Learnt { known: sessions.into_iter().filter_map(SessionScan::finish).collect(), lines: self.lines }
    }
}

/// What the first pass leaves for the second.
pub(crate) struct Learnt {
    pub(crate) known: Vec<KnownSecrets>,
    lines: HashSet<u64>,
}

impl Learnt {
    /// Whether nothing is secret: then no second pass is needed.
    pub(crate) fn is_nothing(&self) -> bool {
        self.known.is_empty()
    }
}

/// The second pass: finds what the first one found wherever it stands, before and after, its encoded forms too.
pub(crate) struct SecondPass<'o> {
    rules: &'o RuleSet,
    options: &'o Options,
    learnt: Learnt,
    findings: Vec<Finding>,
    more: u64,
    allowed: u64,
}

impl<'o> SecondPass<'o> {
    pub(crate) fn new(rules: &'o RuleSet, options: &'o Options, learnt: Learnt) -> SecondPass<'o> {
        SecondPass { rules, options, learnt, findings: Vec::new(), more: 0, allowed: 0 }
    }

    /// Whether a line is worth being read again.
    pub(crate) fn concerns(&self, line: &[u8], number: u64) -> bool {
        self.learnt.lines.contains(&number) || self.learnt.known.iter().any(|known| known.may_stand_in(line))
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, at: LineRef, line: &[u8]) {
        let mut here: HashSet<String> = HashSet::new();
        texts(event, line, self.rules, &mut |text| self.text(&text, at.line, &event.event_id, &mut here));
    }

    /// A line of JSON that is no event.
    pub(crate) fn value(&mut self, value: &Value<'_>, line: u64) {
        let mut here: HashSet<String> = HashSet::new();
        texts_of(value, self.rules, &mut |text| self.text(&text, line, "", &mut here));
    }

    fn text(&mut self, text: &Text<'_>, line: u64, event_id: &str, here: &mut HashSet<String>) {
        // Alone and shorter, it was not fed.
        let is_short = text.stream == Stream::Alone && text.text.len() < SHORTEST;
        for hit in self.locate(text.text, text.cut, !is_short) {
            // Where it stands by itself it was found already, with a better place.
            if text.repeats && here.contains(&hit.secret) {
                continue;
            }
            self.keep(&hit, text.field, line, event_id);
            here.insert(hit.secret);
        }
    }

    /// A piece of a text that is no JSON: each hit that begins within `own`, and how it is kept.
    pub(crate) fn piece(&mut self, text: &str, own: Range<usize>, mut line_of: impl FnMut(&Hit) -> u64) {
        for hit in self.locate(text, false, true) {
            if own.contains(&hit.start) {
                self.keep(&hit, "", line_of(&hit), "");
            }
        }
    }

    /// What was found since the last time, and how much of it was let pass.
    pub(crate) fn take(&mut self) -> (Vec<Finding>, u64) {
        self.say_more();
        self.more = 0;
        (std::mem::take(&mut self.findings), std::mem::take(&mut self.allowed))
    }

    pub(crate) fn reject(&mut self, bytes: &[u8], at: LineRef) {
        for hit in self.locate(&String::from_utf8_lossy(bytes), false, true) {
            self.keep(&hit, "", at.line, "");
        }
    }

    /// `fed`: pass one saw this very text.
    fn locate(&self, text: &str, cut: bool, fed: bool) -> Vec<Hit> {
        locate(&self.learnt.known, self.rules, text, cut, fed)
    }

    fn keep(&mut self, hit: &Hit, field: &str, line: u64, event_id: &str) {
        let fingerprint = fingerprint(&self.options.fingerprint_key, &hit.secret);
        if self.options.allow.allows(hit, &fingerprint, field, self.options.now_ms.div_euclid(1000)) {
            self.allowed += 1;
            return;
        }
        if self.findings.len() == MOST {
            self.more += 1;
            return;
        }
        self.findings.push(Finding {
            rule: hit.rule.to_owned(),
            severity: severity(hit.severity).to_owned(),
            line,
            event_id: self.redacted(event_id),
            field: self.redacted(field),
            start: hit.start as u64,
            end: hit.end as u64,
            fingerprint,
            detail: String::new(),
        });
    }

    /// A pointer holds keys, and an id is the trace's own: either may be, or hold, what was found.
    fn redacted(&self, place: &str) -> String {
        let plain = place.replace("~1", "/").replace("~0", "~");
        let hits = self.locate(&plain, false, false);
        if hits.is_empty() {
            return place.to_owned();
        }
        redact(&plain, &hits, |hit| format!("<SECRET:{}:0>", hit.rule))
    }

    fn say_more(&mut self) {
        if self.more > 0
            && let Some(last) = self.findings.last_mut()
        {
            last.detail = format!("and {} more, which are not listed", self.more);
        }
    }

    pub(crate) fn finish(mut self) -> Found {
        self.say_more();
        // Fail closed: what the first pass found and the second did not is still a secret.
        let all_allowed = self.findings.is_empty() && self.allowed > 0;
        Found { result: if all_allowed { "allowed" } else { "found" }, findings: self.findings }
    }
}

/// Where what is known stands in a text: sorted by start, not overlapping. `fed`: pass one saw this very text.
pub(crate) fn locate(known: &[KnownSecrets], rules: &RuleSet, text: &str, cut: bool, fed: bool) -> Vec<Hit> {
    let locate = |known: &KnownSecrets| match fed {
        true => known.locate_fed(rules, text, cut),
        false => known.locate(rules, text, cut),
    };
    let mut hits: Vec<Hit> = known.iter().flat_map(locate).collect();
    if known.len() > 1 {
        hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end)));
        let mut end = 0;
        hits.retain(|hit| {
            let apart = hit.start >= end;
            end = end.max(hit.end);
            apart
        });
    }
    hits
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

/// How many findings there are of each rule.
pub(crate) fn count_by_rule(findings: &[Finding], into: &mut BTreeMap<String, u64>) {
    for finding in findings {
        match into.get_mut(&finding.rule) {
            Some(count) => *count += 1,
            None => {
                into.insert(finding.rule.clone(), 1);
            }
        }
    }
}
