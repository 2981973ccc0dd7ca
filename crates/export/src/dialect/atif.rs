//! Trajectories in the Agent Trajectory Interchange Format, version 1.7.
//!
//! A step of the agent holds its calls and what came back from them; see Harbor's `models/trajectories`.

use lake_trace::json::{write_str, write_value};

use super::text::{write_inside, write_member, write_text};
use crate::conversation::Turn;

/// Version that the trajectories name.
pub(super) const VERSION: &str = "ATIF-v1.7";

/// Appends a step without its number, what came back and its closing brace; of an output the result in an observation.
pub(super) fn open_turn(out: &mut String, turn: &Turn<'_>) {
    match turn {
        Turn::Context(context) => {
            out.push_str("\"source\":\"");
            out.push_str(context.role.as_str());
            out.push_str("\",\"message\":");
            write_text(out, &context.text);
        }
        Turn::Assistant(assistant) => {
            out.push_str("\"source\":\"agent\",\"message\":");
            write_text(out, &assistant.text);
            if !assistant.reasoning.is_empty() {
                out.push_str(",\"reasoning_content\":");
                write_text(out, &assistant.reasoning);
            }
            for (i, call) in assistant.calls.iter().enumerate() {
                out.push_str(if i == 0 { ",\"tool_calls\":[{\"tool_call_id\":" } else { ",{\"tool_call_id\":" });
                write_str(out, &call.id);
                write_member(out, "function_name", Some(&call.name));
                out.push_str(",\"arguments\":");
                write_value(out, &call.arguments);
                out.push('}');
            }
            if !assistant.calls.is_empty() {
                out.push(']');
            }
        }
        Turn::Output(output) => {
            out.push_str("{\"source_call_id\":");
            write_str(out, &output.call_id);
            out.push_str(",\"content\":\"");
            write_inside(out, &output.text);
            out.push_str("\"}");
        }
    }
}
