//! The secrets of one branch: first what they are, then wherever they stand.

use std::collections::{BTreeMap, HashSet};

use lake_secrets::{Hit, KnownSecrets, RuleSet, SessionScan, Severity, fingerprint, redact};
use lake_store::Finding;
use lake_trace::{Event, LineRef};

use crate::Options;
use crate::texts::{Stream, Text, texts};

/// Findings that one row lists: a file that is a list of secrets must not make a row of any size.
const MOST: usize = 10_000;
/// A text that stands alone and is shorter is no secret by itself: no token is, and a name with its value is longer.
const SHORTEST: usize = 8;

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
    turn: u64,
}

impl<'r> FirstPass<'r> {
    pub(crate) fn new(rules: &'r RuleSet) -> FirstPass<'r> {
        let session = || SessionScan::new(rules);
        FirstPass { said: session(), thought: session(), alone: session(), turn: 0 }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, line: &[u8]) {
        // A turn is what lies between two prompts.
        if event.role.as_deref() == Some("user") {
            self.turn += 1;
        }
        texts(event, line, &mut |text| self.text(&text));
    }

    fn text(&mut self, text: &Text<'_>) {
        match text.stream {
            Stream::Said => self.said.feed(text.text, Some(self.turn), text.cut),
            Stream::Thought => self.thought.feed(text.text, Some(self.turn), text.cut),
            Stream::Alone if text.text.len() < SHORTEST => Vec::new(),
            Stream::Alone => self.alone.feed(text.text, None, text.cut),
        };
    }

    /// Takes a line, or a part of one, that is no event.
    pub(crate) fn reject(&mut self, bytes: &[u8]) {
        self.alone.feed(&String::from_utf8_lossy(bytes), None, false);
    }

    /// What the secrets are; nothing when there are none, and then no second pass is needed.
    pub(crate) fn finish(self) -> Vec<KnownSecrets> {
        [self.said, self.thought, self.alone].into_iter().filter_map(SessionScan::finish).collect()
    }
}

/// The second pass: finds what the first one found wherever it stands, before and after, its encoded forms too.
pub(crate) struct SecondPass<'o> {
    rules: &'o RuleSet,
    options: &'o Options,
    known: Vec<KnownSecrets>,
    findings: Vec<Finding>,
    more: u64,
    allowed: u64,
}

impl<'o> SecondPass<'o> {
    pub(crate) fn new(rules: &'o RuleSet, options: &'o Options, known: Vec<KnownSecrets>) -> SecondPass<'o> {
        SecondPass { rules, options, known, findings: Vec::new(), more: 0, allowed: 0 }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>, at: LineRef, line: &[u8]) {
        let mut here: HashSet<String> = HashSet::new();
        texts(event, line, &mut |text| {
            for hit in self.locate(text.text, text.cut) {
                // Where it stands by itself it was found already, with a better place.
                if text.repeats && here.contains(&hit.secret) {
                    continue;
                }
                self.keep(&hit, text.field, at.line, &event.event_id);
                here.insert(hit.secret);
            }
        });
    }

    pub(crate) fn reject(&mut self, bytes: &[u8], at: LineRef) {
        for hit in self.locate(&String::from_utf8_lossy(bytes), false) {
            self.keep(&hit, "", at.line, "");
        }
    }

    fn locate(&self, text: &str, cut: bool) -> Vec<Hit> {
        locate(&self.known, self.rules, text, cut)
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
        let hits = self.locate(&plain, false);
        if hits.is_empty() {
            return place.to_owned();
        }
        redact(&plain, &hits, |hit| format!("<SECRET:{}:0>", hit.rule))
    }

    pub(crate) fn finish(mut self) -> Found {
        if self.more > 0
            && let Some(last) = self.findings.last_mut()
        {
            last.detail = format!("and {} more, which are not listed", self.more);
        }
        // Fail closed: what the first pass found and the second did not is still a secret.
        let all_allowed = self.findings.is_empty() && self.allowed > 0;
        Found { result: if all_allowed { "allowed" } else { "found" }, findings: self.findings }
    }
}

/// Where what is known stands in a text: sorted by start, not overlapping.
pub(crate) fn locate(known: &[KnownSecrets], rules: &RuleSet, text: &str, cut: bool) -> Vec<Hit> {
    let mut hits: Vec<Hit> = known.iter().flat_map(|known| known.locate(rules, text, cut)).collect();
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
