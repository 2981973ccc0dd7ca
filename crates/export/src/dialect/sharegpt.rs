//! LLaMA-Factory's `sharegpt` conversations.
//!
//! Its converter takes a system message at the start, then what the model reads (`human`, `observation`) and what it says
//! (`gpt`, `function_call`) in turn, and passes over a row that is not of that form. So neighbours of one side are joined
//! here, and what nothing answers is left out. Text beside a call stands before `<tool_call>`, as its
//! `FunctionFormatter` reads it; several outputs are joined as its converter of OpenAI's messages joins them.

use lake_trace::json::{write_str, write_value};

use super::text::{inside, write_inside};
use crate::conversation::{Assistant, Role, Turn};

const SYSTEM: char = 's';
const HUMAN: char = 'h';
const OBSERVATION: char = 'o';
const GPT: char = 'g';
/// Calls alone.
const CALLS: char = 'c';
/// Calls behind a text.
const TOLD_CALLS: char = 't';

const BETWEEN: &str = "\\n\\n";
const BETWEEN_OUTPUTS: &str = "\\n</tool_response>\\n<tool_response>\\n";

/// Appends one letter that says whose the value is, and the value as it stands between quotes.
pub(super) fn open_turn(out: &mut String, turn: &Turn<'_>) {
    match turn {
        Turn::Context(context) => {
            out.push(if context.role == Role::System { SYSTEM } else { HUMAN });
            write_inside(out, &context.text);
        }
        Turn::Output(output) => {
            out.push(OBSERVATION);
            write_inside(out, &output.text);
        }
        Turn::Assistant(assistant) => open_assistant(out, assistant),
    }
}

fn open_assistant(out: &mut String, assistant: &Assistant<'_>) {
    let mut words = String::new();
    if !assistant.reasoning.is_empty() {
        words.push_str("<think>\\n");
        write_inside(&mut words, &assistant.reasoning);
        words.push_str("\\n</think>\\n\\n");
    }
    write_inside(&mut words, &assistant.text);
    if assistant.calls.is_empty() {
        out.push(GPT);
        out.push_str(&words);
        return;
    }
    let mut calls = String::new();
    for (i, call) in assistant.calls.iter().enumerate() {
        calls.push_str(if i == 0 { "[{\"name\":" } else { ",{\"name\":" });
        write_str(&mut calls, &call.name);
        calls.push_str(",\"arguments\":");
        write_value(&mut calls, &call.arguments);
        calls.push('}');
    }
    calls.push(']');
    out.push(if words.is_empty() { CALLS } else { TOLD_CALLS });
    out.push_str(&words);
    let tagged = !words.is_empty();
    out.push_str(if tagged { "<tool_call>" } else { "" });
    inside(out, |out| write_str(out, &calls));
    out.push_str(if tagged { "</tool_call>" } else { "" });
}

/// Whether the formatter finds the calls of a turn where they are: it looks for the tags by text, wherever they stand.
pub(super) fn is_readable(assistant: &Assistant<'_>) -> bool {
    if assistant.calls.is_empty() {
        return true;
    }
    let mut opened = String::new();
    open_assistant(&mut opened, assistant);
    let tagged = usize::from(opened.starts_with(TOLD_CALLS));
    let thought = usize::from(!assistant.reasoning.is_empty());
    let times = |tag: &str| opened.matches(tag).count();
    [("<tool_call>", tagged), ("</tool_call>", tagged), ("<think>", thought), ("</think>", thought)]
        .into_iter()
        .all(|(tag, ours)| times(tag) == ours)
}

/// Puts turns together in the form that the converter takes. One message is held back, since the next may join it.
#[derive(Default)]
pub(super) struct Turns {
    held: Option<(char, String)>,
    /// Whether anything but the system message was written.
    begun: bool,
    written: bool,
}

impl Turns {
    /// Takes the next turn as [`open_turn`] wrote it.
    pub(super) fn take(&mut self, opened: &str, out: &mut Vec<u8>) {
        let mut letters = opened.chars();
        let Some(letter) = letters.next() else { return };
        let value = letters.as_str();
        // A later system message is something that the model reads.
        let kind = if letter == SYSTEM && (self.begun || self.held.is_some()) { HUMAN } else { letter };
        match &mut self.held {
            Some((held, text)) if is_read(*held) && is_read(kind) => {
                text.push_str(if *held == OBSERVATION && kind == OBSERVATION { BETWEEN_OUTPUTS } else { BETWEEN });
                text.push_str(value);
            }
            Some((held, text)) if *held == GPT && is_said(kind) => {
                text.push_str(BETWEEN);
                if kind == CALLS {
                    text.push_str("<tool_call>");
                    text.push_str(value);
                    text.push_str("</tool_call>");
                } else {
                    text.push_str(value);
                }
                *held = if kind == GPT { GPT } else { TOLD_CALLS };
            }
            _ => {
                self.pass(out);
                if is_said(kind) && !self.begun {
                    // Somebody has to have spoken first.
                    self.write(HUMAN, "", out);
                }
                self.held = Some((kind, value.to_owned()));
            }
        }
    }

    /// Ends a run of turns. What is read and not answered is left out, unless an answer follows elsewhere.
    pub(super) fn end(&mut self, is_prompt: bool, out: &mut Vec<u8>) {
        let ends_said = self.held.as_ref().is_some_and(|(held, _)| is_said(*held));
        if is_prompt || ends_said {
            self.pass(out);
        }
        if is_prompt && ends_said {
            self.write(HUMAN, "", out);
        }
        self.held = None;
    }

    fn pass(&mut self, out: &mut Vec<u8>) {
        if let Some((kind, text)) = self.held.take() {
            self.write(kind, &text, out);
        }
    }

    fn write(&mut self, kind: char, value: &str, out: &mut Vec<u8>) {
        if self.written {
            out.push(b',');
        }
        self.written = true;
        self.begun |= kind != SYSTEM;
        write_turn(kind, value, out);
    }
}

/// Appends the one turn of a side, as [`open_turn`] wrote it.
pub(super) fn write_answer(opened: &str, out: &mut Vec<u8>) {
    let mut letters = opened.chars();
    if let Some(kind) = letters.next() {
        write_turn(kind, letters.as_str(), out);
    }
}

fn write_turn(kind: char, value: &str, out: &mut Vec<u8>) {
    let from = match kind {
        SYSTEM => "system",
        HUMAN => "human",
        OBSERVATION => "observation",
        GPT => "gpt",
        _ => "function_call",
    };
    out.extend_from_slice(format!("{{\"from\":\"{from}\",\"value\":\"").as_bytes());
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\"}");
}

fn is_read(kind: char) -> bool {
    matches!(kind, HUMAN | OBSERVATION)
}

fn is_said(kind: char) -> bool {
    matches!(kind, GPT | CALLS | TOLD_CALLS)
}
