//! Rows of messages with roles: what `trl`, `axolotl`, `openai`, `swift` and `tinker` have in common, and where they differ.
//!
//! A message is rendered up to where its mask would stand, since only the set that it goes to knows whether it has one.

use lake_trace::json::{write_str, write_value};

use super::text::{write_inside, write_member, write_text};
use crate::Dialect;
use crate::conversation::{Assistant, Output, Turn};

/// How a dialect writes a message.
pub(super) struct Form {
    /// Arguments are a JSON text, not an object.
    arguments_as_text: bool,
    reasoning: Reasoning,
    /// A tool's message has the tool's name.
    tool_name: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reasoning {
    /// Beside the content.
    Field,
    /// In front of the content, between the tags that models of today use.
    Tags,
    /// It is lost.
    Dropped,
}

pub(super) fn form(dialect: Dialect) -> Form {
    let reasoning = match dialect {
        Dialect::Openai => Reasoning::Dropped,
        Dialect::Swift => Reasoning::Tags,
        _ => Reasoning::Field,
    };
    Form { arguments_as_text: dialect != Dialect::Trl, reasoning, tool_name: dialect != Dialect::Openai }
}

/// Appends a turn as a message without its mask and its closing brace.
pub(super) fn open_message(form: &Form, out: &mut String, turn: &Turn<'_>) {
    match turn {
        Turn::Context(context) => {
            out.push_str("{\"role\":\"");
            out.push_str(context.role.as_str());
            out.push_str("\",\"content\":");
            write_text(out, &context.text);
        }
        Turn::Assistant(assistant) => open_assistant(form, out, assistant),
        Turn::Output(output) => open_output(form, out, output),
    }
}

fn open_assistant(form: &Form, out: &mut String, assistant: &Assistant<'_>) {
    out.push_str("{\"role\":\"assistant\",\"content\":\"");
    if form.reasoning == Reasoning::Tags && !assistant.reasoning.is_empty() {
        out.push_str("<think>\\n");
        write_inside(out, &assistant.reasoning);
        out.push_str("\\n</think>\\n\\n");
    }
    write_inside(out, &assistant.text);
    out.push('"');
    if form.reasoning == Reasoning::Field && !assistant.reasoning.is_empty() {
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
        if form.arguments_as_text {
            let mut text = String::new();
            write_value(&mut text, &call.arguments);
            write_str(out, &text);
        } else {
            write_value(out, &call.arguments);
        }
        out.push_str("}}");
    }
    if !assistant.calls.is_empty() {
        out.push(']');
    }
}

fn open_output(form: &Form, out: &mut String, output: &Output<'_>) {
    out.push_str("{\"role\":\"tool\"");
    write_member(out, "tool_call_id", Some(&output.call_id));
    if form.tool_name {
        write_member(out, "name", Some(&output.name));
    }
    out.push_str(",\"content\":");
    write_text(out, &output.text);
}
