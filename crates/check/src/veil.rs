//! Hides the secrets of a session from whoever reads it.

use std::collections::HashMap;

use lake_secrets::{Hit, KnownSecrets, RuleSet, fingerprint, redact};
use lake_trace::json::{Notes, Str, Value, parse, write_value};
use lake_trace::{lines, parse_line};

use crate::Options;
use crate::secrets::{FirstPass, locate};

/// The secrets of one branch, as the rules and the allow list in force see them.
pub struct Veil<'o> {
    rules: &'static RuleSet,
    options: &'o Options,
    known: Vec<KnownSecrets>,
    /// Numbers of the secrets that were hidden, in order of first sight within their rule.
    numbers: HashMap<(&'static str, String), usize>,
}

impl<'o> Veil<'o> {
    /// Looks through all bytes of a branch. What is on the allow list will be shown.
    pub fn over(bytes: &[u8], options: &'o Options) -> Veil<'o> {
        let rules = RuleSet::builtin();
        let mut first = FirstPass::new(rules);
        for (number, line) in (1..).zip(lines(bytes)) {
            let mut scratch = String::new();
            match parse_line(line.bytes, number, &mut scratch) {
                Ok(Some(event)) => first.event(&event, line.bytes, number),
                Ok(None) => {}
                Err(_) => first.reject(line.bytes, number),
            }
        }
        Veil { rules, options, known: first.finish().known, numbers: HashMap::new() }
    }

    /// The text with a placeholder in place of each secret, in strings of JSON too; how many there were is added up.
    pub fn hide(&mut self, text: &mut String, field: &str, hidden: &mut u64) {
        if self.known.is_empty() {
            return;
        }
        if text.starts_with(['{', '['])
            && let Ok(mut value) = parse(text, &mut Notes::default())
        {
            let before = *hidden;
            self.value(&mut value, field, hidden);
            if *hidden > before {
                let mut out = String::new();
                write_value(&mut out, &value);
                *text = out;
            }
        }
        self.word(text, field, hidden);
    }

    fn word(&mut self, text: &mut String, field: &str, hidden: &mut u64) {
        let mut hits = locate(&self.known, self.rules, text, false, false);
        hits.retain(|hit| !self.allows(hit, field));
        if hits.is_empty() {
            return;
        }
        *hidden += hits.len() as u64;
        let names: HashMap<usize, String> = hits.iter().map(|hit| (hit.start, self.name(hit))).collect();
        *text = redact(text, &hits, |hit| names.get(&hit.start).cloned().unwrap_or_default());
    }

    fn name(&mut self, hit: &Hit) -> String {
        let next = self.numbers.keys().filter(|(rule, _)| *rule == hit.rule).count() + 1;
        let number = self.numbers.entry((hit.rule, hit.secret.clone())).or_insert(next);
        format!("<SECRET:{}:{number}>", hit.rule)
    }

    fn allows(&self, hit: &Hit, field: &str) -> bool {
        let print = fingerprint(&self.options.fingerprint_key, &hit.secret);
        self.options.allow.allows(hit, &print, field, self.options.now_ms.div_euclid(1000))
    }

    fn value(&mut self, value: &mut Value<'_>, field: &str, hidden: &mut u64) {
        match value {
            Value::Str(text) => {
                let mut own = text.decode().into_owned();
                self.word(&mut own, field, hidden);
                *text = Str::Plain(own.into());
            }
            Value::Arr(items) => {
                items.iter_mut().enumerate().for_each(|(i, item)| self.value(item, &format!("{field}/{i}"), hidden));
            }
            Value::Obj(members) => members.iter_mut().for_each(|(key, item)| {
                let field = format!("{field}/{}", key.replace('~', "~0").replace('/', "~1"));
                let mut own = key.to_string();
                self.word(&mut own, &field, hidden);
                *key = own.into();
                self.value(item, &field, hidden);
            }),
            Value::Null | Value::Bool(_) | Value::Num(_) => {}
        }
    }
}
