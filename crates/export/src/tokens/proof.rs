//! Where the texts of a row stand in what a template made of it: what the model said in its spans, all else outside.

use std::ops::Range;

use minijinja::value::Value;

use super::python::{is_space, write_json_str};
use super::template::Rendered;

/// A message as far as the proof needs it.
#[derive(Clone, Debug, Default)]
pub(super) struct Message {
    pub(super) assistant: bool,
    pub(super) text: Value,
    pub(super) reasoning: Value,
    /// Their names; the arguments are the template's to print, which the probes have seen.
    pub(super) calls: Vec<Value>,
    pub(super) train: bool,
}

/// Finds each text. `rendered` has a span for each turn of the model, trained or not.
///
/// Gives where the texts of others are, in order. None: a text is not there, or not where it must be.
pub(super) fn context(rendered: &Rendered, messages: &[Message]) -> Option<Vec<Range<usize>>> {
    let turns = messages.iter().filter(|message| message.assistant).count();
    if rendered.spans.len() != turns {
        return None;
    }
    let mut context = Vec::new();
    let mut turn = 0;
    // Before the first span, between two of them, or after the last.
    let mut from = 0;
    for message in messages {
        if message.assistant {
            let span = rendered.spans[turn].clone();
            let said = &rendered.text[span.clone()];
            let parts = [&message.reasoning, &message.text].into_iter().chain(&message.calls);
            if !parts.into_iter().all(|part| find(said, part).is_some()) {
                return None;
            }
            turn += 1;
            from = span.end;
        } else {
            let to = rendered.spans.get(turn).map_or(rendered.text.len(), |span| span.start);
            let found = find(&rendered.text[from..to], &message.text)?;
            context.push(from + found.start..from + found.end);
            from += found.end;
        }
    }
    Some(context)
}

/// Where a text is, without the space around it, as it stands or as JSON has it.
fn find(place: &str, text: &Value) -> Option<Range<usize>> {
    let text = text.as_str().unwrap_or_default().trim_matches(is_space);
    let plain = place.find(text).map(|at| at..at + text.len());
    plain.or_else(|| {
        let mut json = String::new();
        write_json_str(&mut json, text, false);
        let json = &json[1..json.len() - 1];
        place.find(json).map(|at| at..at + json.len())
    })
}
