//! What looks like a secret stays out of a row, or is replaced in it.

use std::borrow::Cow;

use lake_secrets::{Hit, KnownSecrets, RuleSet, SessionScan, fingerprint, redact, scan};
use lake_trace::json::{Str, Value, write_value};
use lake_trace::{Event, lines, parse_line};

use crate::conversation::{Conversation, Text, Turn};
use crate::{Allow, OnSecret};

/// The rules, what somebody lets pass, and what to do with the rest.
#[derive(Clone, Copy)]
pub(crate) struct Guard<'r> {
    pub(crate) rules: &'r RuleSet,
    pub(crate) allow: Option<&'r Allow>,
    pub(crate) on_secret: OnSecret,
}

impl Guard<'_> {
    /// Every secret of a branch, wherever in it: what a row leaves out may show what a word in it means. None: there is
    /// none, and the texts of its row need no second look.
    pub(crate) fn learn(&self, bytes: &[u8]) -> Option<KnownSecrets> {
        let mut session = SessionScan::new(self.rules);
        let mut turn = 0;
        for (number, line) in (1..).zip(lines(bytes)) {
            let mut scratch = String::new();
            // A line that is no event is in no row.
            let Ok(Some(event)) = parse_line(line.bytes, number, &mut scratch) else { continue };
            if event.role.as_deref() == Some("user") {
                turn += 1;
            }
            feed(&mut session, &event, turn);
        }
        session.finish()
    }

    /// Looks through all texts of a conversation, and replaces what it finds if that is asked for. False: a secret is
    /// in it, and it must stay out.
    pub(crate) fn clear(&self, conversation: &mut Conversation<'_>, known: &KnownSecrets) -> bool {
        conversation.turns.iter_mut().all(|turn| match turn {
            Turn::Context(context) => self.text(&mut context.text, "/text", known).is_some(),
            Turn::Output(output) => {
                self.word(&mut output.call_id, "/call_id", false, known).is_some()
                    && self.word(&mut output.name, "/tool", false, known).is_some()
                    && self.text(&mut output.text, "/output", known).is_some()
            }
            Turn::Assistant(assistant) => {
                let mut replaced = false;
                let mut note = |found: Option<bool>| {
                    replaced |= found == Some(true);
                    found.is_some()
                };
                let cut = assistant.cut_input;
                let clear = note(self.text(&mut assistant.text, "/text", known))
                    && note(self.text(&mut assistant.reasoning, "/thinking", known))
                    && assistant.calls.iter_mut().all(|call| {
                        note(self.word(&mut call.id, "/call_id", false, known))
                            && note(self.word(&mut call.name, "/tool", false, known))
                            && note(self.value(&mut call.arguments, "/input", cut, known))
                            // A key can make a secret of its value: look at both together, too.
                            && self.is_clean(&compact(&call.arguments), "/input", cut, Some(known))
                    });
                assistant.redacted |= replaced;
                clear
            }
        })
    }

    /// Whether a text that cannot be redacted holds nothing.
    pub(crate) fn is_clean(&self, text: &str, field: &str, cut: bool, known: Option<&KnownSecrets>) -> bool {
        self.hits(text, field, cut, known).is_empty()
    }

    /// A name that holds a secret, without it; None for one that holds none.
    pub(crate) fn redacted(&self, name: &str, field: &str, number: usize) -> Option<String> {
        let hits = self.hits(name, field, false, None);
        let text = || redact(name, &hits, |hit| format!("<SECRET:{}:{number}>", hit.rule));
        (!hits.is_empty()).then(text)
    }

    fn hits(&self, text: &str, field: &str, cut: bool, known: Option<&KnownSecrets>) -> Vec<Hit> {
        if text.is_empty() {
            return Vec::new();
        }
        let mut hits = match known {
            Some(known) => known.locate(self.rules, text, cut),
            None => scan(self.rules, text, cut),
        };
        hits.retain(|hit| !self.allows(hit, field));
        hits
    }

    fn allows(&self, hit: &Hit, field: &str) -> bool {
        self.allow.is_some_and(|allow| {
            let print = fingerprint(&allow.fingerprint_key, &hit.secret);
            allow.list.allows(hit, &print, field, allow.now_unix_seconds)
        })
    }

    fn text(&self, text: &mut Text<'_>, field: &str, known: &KnownSecrets) -> Option<bool> {
        let cut = text.cut;
        self.string(&mut text.text, field, cut, known)
    }

    fn string(&self, text: &mut Str<'_>, field: &str, cut: bool, known: &KnownSecrets) -> Option<bool> {
        let mut decoded = text.decode();
        let replaced = self.word(&mut decoded, field, cut, known)?;
        if replaced {
            *text = Str::Plain(Cow::Owned(decoded.into_owned()));
        }
        Some(replaced)
    }

    /// Whether something was replaced; None: something should be, and may not.
    fn word(&self, text: &mut Cow<'_, str>, field: &str, cut: bool, known: &KnownSecrets) -> Option<bool> {
        let hits = self.hits(text, field, cut, Some(known));
        if hits.is_empty() {
            return Some(false);
        }
        if self.on_secret == OnSecret::Exclude {
            return None;
        }
        *text = Cow::Owned(redact(text, &hits, |hit| known.placeholder(hit)));
        Some(true)
    }

    fn value(&self, value: &mut Value<'_>, field: &str, cut: bool, known: &KnownSecrets) -> Option<bool> {
        match value {
            Value::Str(text) => self.string(text, field, cut, known),
            Value::Arr(items) => items.iter_mut().enumerate().try_fold(false, |replaced, (i, item)| {
                Some(self.value(item, &format!("{field}/{i}"), cut, known)? | replaced)
            }),
            Value::Obj(members) => members.iter_mut().try_fold(false, |replaced, (key, item)| {
                let field = format!("{field}/{}", key.replace('~', "~0").replace('/', "~1"));
                let name = self.word(key, &field, false, known)?;
                Some(self.value(item, &field, cut, known)? | name | replaced)
            }),
            Value::Null | Value::Bool(_) | Value::Num(_) => Some(false),
        }
    }
}

fn compact(value: &Value<'_>) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn feed(session: &mut SessionScan<'_>, event: &Event<'_>, turn: u64) {
    for (field, text) in [("text", &event.text), ("thinking", &event.thinking)] {
        if let Some(text) = text {
            session.feed(&text.decode(), Some(turn), event.cut(field).is_some());
        }
    }
    for name in [&event.tool, &event.call_id].into_iter().flatten() {
        session.feed(name, None, false);
    }
    for (field, value) in [("input", &event.input), ("output", &event.output)] {
        if let Some(value) = value {
            let cut = event.cut(field).is_some();
            feed_value(session, value, cut);
            if !value.is_str() {
                session.feed(&compact(value), None, cut);
            }
        }
    }
    for (key, value) in event.rest.iter().filter(|(key, _)| key != "signature") {
        session.feed(key, None, false);
        feed_value(session, value, false);
    }
}

fn feed_value(session: &mut SessionScan<'_>, value: &Value<'_>, cut: bool) {
    match value {
        Value::Str(text) => {
            session.feed(&text.decode(), None, cut);
        }
        Value::Arr(items) => items.iter().for_each(|item| feed_value(session, item, cut)),
        Value::Obj(members) => members.iter().for_each(|(key, item)| {
            session.feed(key, None, false);
            feed_value(session, item, cut);
        }),
        Value::Null | Value::Bool(_) | Value::Num(_) => {}
    }
}
