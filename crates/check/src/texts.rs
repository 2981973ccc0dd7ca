//! Every text of an event, with the place it stands at.

use std::borrow::Cow;

use lake_secrets::RuleSet;
use lake_trace::json::{Value, write_value};
use lake_trace::{Event, Flag};

/// Which texts can carry on from each other: what is said in one message may end in the next, whatever lies between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// What was said.
    Said,
    /// What was thought.
    Thought,
    /// All else: each stands alone.
    Alone,
}

/// One text.
pub(crate) struct Text<'t> {
    /// JSON pointer into the event; empty is the line itself.
    pub(crate) field: &'t str,
    pub(crate) text: &'t str,
    /// Whether the collector cut it at its end.
    pub(crate) cut: bool,
    pub(crate) stream: Stream,
    /// Whether it repeats other texts of the event: a key and its value together may be a secret where neither is one.
    pub(crate) repeats: bool,
}

/// Hands each text of an event to `each`: message text and reasoning, tool inputs and outputs, keys and values of all
/// fields, known or not. What repeats comes last.
///
/// Left out are `signature`, which holds a signed statement in base64 that the verdict rules read, and `ts`, which is a
/// time or the line is no event.
pub(crate) fn texts(event: &Event<'_>, line: &[u8], rules: &RuleSet, each: &mut impl FnMut(Text<'_>)) {
    if let Some(text) = &event.text {
        let cut = event.cut("text").is_some();
        each(Text { field: "/text", text: &text.decode(), cut, stream: Stream::Said, repeats: false });
    }
    if let Some(text) = &event.thinking {
        let cut = event.cut("thinking").is_some();
        each(Text { field: "/thinking", text: &text.decode(), cut, stream: Stream::Thought, repeats: false });
    }
    for (field, text) in [
        ("/event_id", Some(&event.event_id)),
        ("/session_id", Some(&event.session_id)),
        ("/type", Some(&event.kind)),
        ("/role", event.role.as_ref()),
        ("/tool", event.tool.as_ref()),
        ("/call_id", event.call_id.as_ref()),
        ("/status", event.status.as_ref()),
        ("/agent_id", event.agent_id.as_ref()),
        ("/turn_id", event.turn_id.as_ref()),
        ("/response_id", event.response_id.as_ref()),
    ] {
        if let Some(text) = text {
            each(alone(field, text));
        }
    }
    let mut path = String::new();
    for (field, value) in [("input", &event.input), ("output", &event.output)] {
        if let Some(value) = value {
            path.clear();
            push(&mut path, field);
            walk(value, &mut path, event.cut(field).is_some(), each);
        }
    }
    for (key, value) in event.rest.iter().filter(|(key, _)| key != "signature") {
        path.clear();
        push(&mut path, key);
        if !is_known(key) {
            each(alone(&path, key));
        }
        walk(value, &mut path, event.cut(key).is_some(), each);
    }
    for (field, value) in [("input", &event.input), ("output", &event.output)] {
        if let Some(value) = value {
            together(&format!("/{field}"), value, event.cut(field).is_some(), rules, each);
        }
    }
    // Under the names of the format nothing is a secret because of its name.
    let unknown: Vec<(Cow<'_, str>, Value<'_>)> =
        event.rest.iter().filter(|(key, _)| !is_known(key)).cloned().collect();
    if !unknown.is_empty() {
        together("", &Value::Obj(unknown), false, rules, each);
    }
    if let Some(ext) = event.other("ext") {
        together("/ext", ext, false, rules, each);
    }
    // Of a key that came twice the first value is on the line only.
    if event.flags.has(Flag::DuplicateKey) {
        let text = String::from_utf8_lossy(line);
        each(Text { field: "", text: &text, cut: false, stream: Stream::Alone, repeats: true });
    }
}

/// The same of a line of JSON that is no event. What stands where messages have their text may go on in the next line.
pub(crate) fn texts_of(value: &Value<'_>, rules: &RuleSet, each: &mut impl FnMut(Text<'_>)) {
    let said = ["/text", "/content", "/delta", "/arguments", "/partial_json"];
    let mut path = String::new();
    walk(value, &mut path, false, &mut |text| {
        let stream = if said.iter().any(|end| text.field.ends_with(end)) { Stream::Said } else { Stream::Alone };
        each(Text { stream, ..text });
    });
    together("", value, false, rules, each);
}

fn alone<'t>(field: &'t str, text: &'t str) -> Text<'t> {
    Text { field, text, cut: false, stream: Stream::Alone, repeats: false }
}

/// The words of the format that an event keeps among its other fields.
fn is_known(key: &str) -> bool {
    matches!(
        key,
        "v" | "harness"
            | "agent_type"
            | "parent_agent_id"
            | "ext"
            | "source"
            | "cwd"
            | "start_diff_sha256"
            | "repo"
            | "org"
            | "base_commit"
            | "model"
            | "task_id"
            | "max_attempts"
            | "parent_session_id"
            | "origin"
            | "mode"
            | "attempt"
            | "verdict"
            | "diff_sha256"
            | "tests_hash"
            | "run_id"
            | "signature"
            | "reason"
            | "outcome"
            | "ended_by"
            | "attempts"
            | "ref"
            | "action"
            | "author"
            | "text_truncated"
            | "text_bytes"
            | "text_sha256"
            | "input_truncated"
            | "input_bytes"
            | "input_sha256"
            | "output_truncated"
            | "output_bytes"
            | "output_sha256"
    )
}

/// Appends a part of a JSON pointer (RFC 6901).
fn push(path: &mut String, part: &str) {
    path.push('/');
    if part.contains(['~', '/']) {
        path.push_str(&part.replace('~', "~0").replace('/', "~1"));
    } else {
        path.push_str(part);
    }
}

fn walk(value: &Value<'_>, path: &mut String, cut: bool, each: &mut impl FnMut(Text<'_>)) {
    let length = path.len();
    match value {
        Value::Str(text) => {
            each(Text { field: path, text: &text.decode(), cut, stream: Stream::Alone, repeats: false });
        }
        Value::Arr(items) => {
            for (number, item) in items.iter().enumerate() {
                push(path, &number.to_string());
                walk(item, path, cut, each);
                path.truncate(length);
            }
        }
        Value::Obj(members) => {
            for (key, item) in members {
                push(path, key);
                each(alone(path, key));
                walk(item, path, cut, each);
                path.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Num(_) => {}
    }
}

/// A longer text holds what makes a secret of it itself.
const SHORT: usize = 256;

/// The JSON text of an object or array, without white space: spans of what is found there are in this text. Nothing
/// when no key and no short text in it has a word that could make a secret of another.
fn together(field: &str, value: &Value<'_>, cut: bool, rules: &RuleSet, each: &mut impl FnMut(Text<'_>)) {
    if !matches!(value, Value::Obj(_) | Value::Arr(_)) || !tells(value, rules) {
        return;
    }
    let mut text = String::new();
    write_value(&mut text, value);
    each(Text { field, text: &text, cut, stream: Stream::Alone, repeats: true });
}

fn tells(value: &Value<'_>, rules: &RuleSet) -> bool {
    match value {
        Value::Str(text) => text.len() <= SHORT && rules.has_name(&text.decode()),
        Value::Arr(items) => items.iter().any(|item| tells(item, rules)),
        Value::Obj(members) => members.iter().any(|(key, item)| rules.has_name(key) || tells(item, rules)),
        Value::Null | Value::Bool(_) | Value::Num(_) => false,
    }
}
