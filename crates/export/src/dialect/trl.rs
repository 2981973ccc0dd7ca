//! The `trl` dialect, the canonical row.
//!
//! A message is rendered up to where its mask would stand, since only the set that it goes to knows whether it has one.

use lake_trace::json::{write_str, write_value};

use crate::conversation::{Assistant, Output, TRUNCATED, Text, Turn};

/// Appends a turn as a message without its mask and its closing brace.
pub(crate) fn open_message(out: &mut String, turn: &Turn<'_>) {
    match turn {
        Turn::Context(context) => {
            out.push_str("{\"role\":\"");
            out.push_str(context.role.as_str());
            out.push_str("\",\"content\":");
            write_text(out, &context.text);
        }
        Turn::Assistant(assistant) => open_assistant(out, assistant),
        Turn::Output(output) => open_output(out, output),
    }
}

/// What closes a message; `train` None: the set has no mask.
pub(crate) fn close_message(train: Option<bool>) -> &'static str {
    match train {
        Some(true) => ",\"train\":true}",
        Some(false) => ",\"train\":false}",
        None => "}",
    }
}

/// Appends a member whose value is a string, but not if there is none: a key that does not apply is absent.
pub(crate) fn write_member(out: &mut String, key: &str, value: Option<&str>) {
    let Some(value) = value else { return };
    out.push(',');
    write_str(out, key);
    out.push(':');
    write_str(out, value);
}

fn open_assistant(out: &mut String, assistant: &Assistant<'_>) {
    out.push_str("{\"role\":\"assistant\",\"content\":");
    write_text(out, &assistant.text);
    if !assistant.reasoning.is_empty() {
        out.push_str(",\"reasoning_content\":");
        write_text(out, &assistant.reasoning);
    }
    for (i, call) in assistant.calls.iter().enumerate() {
        out.push_str(if i == 0 { ",\"tool_calls\":[" } else { "," });
        out.push_str("{\"id\":");
        write_str(out, &call.id);
        out.push_str(",\"type\":\"function\",\"function\":{\"name\":");
        write_str(out, &call.name);
        out.push_str(",\"arguments\":");
        write_value(out, &call.arguments);
        out.push_str("}}");
    }
    if !assistant.calls.is_empty() {
        out.push(']');
    }
}

fn open_output(out: &mut String, output: &Output<'_>) {
    out.push_str("{\"role\":\"tool\"");
    write_member(out, "tool_call_id", Some(&output.call_id));
    write_member(out, "name", Some(&output.name));
    out.push_str(",\"content\":");
    write_text(out, &output.text);
}

/// A value that was cut says so at its end.
fn write_text(out: &mut String, text: &Text<'_>) {
    text.text.write(out);
    if text.cut {
        out.pop();
        // The note has a newline in it, which stands escaped.
        let mut note = String::new();
        write_str(&mut note, TRUNCATED);
        out.push_str(&note[1..]);
    }
}
