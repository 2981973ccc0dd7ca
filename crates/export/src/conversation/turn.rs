//! The parts of a conversation.

use std::borrow::Cow;

use lake_trace::json::{Str, Value};

/// What a cut value ends in where it is rendered.
pub(crate) const TRUNCATED: &str = "\n[truncated]";

/// Who speaks when the model does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    System,
    User,
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
        }
    }
}

/// A text, and whether the collector cut it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Text<'a> {
    pub(crate) text: Str<'a>,
    pub(crate) cut: bool,
}

impl Text<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A system or user message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Context<'a> {
    pub(crate) role: Role,
    pub(crate) text: Text<'a>,
    /// A person wrote it: not the harness, and not the gate after a FAIL.
    pub(crate) human: bool,
}

/// One tool call of an assistant turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call<'a> {
    pub(crate) id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    /// Always an object.
    pub(crate) arguments: Value<'a>,
}

/// One turn of the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Assistant<'a> {
    pub(crate) text: Text<'a>,
    pub(crate) reasoning: Text<'a>,
    /// Parallel if there are several.
    pub(crate) calls: Vec<Call<'a>>,
    /// Whether the model may learn it.
    pub(crate) train: bool,
    /// Whether the collector cut the input of some call.
    pub(crate) cut_input: bool,
    /// Whether a secret was replaced in it.
    pub(crate) redacted: bool,
}

impl Assistant<'_> {
    /// Whether some value of it was cut: what is left is not what the model wrote.
    pub(crate) fn is_cut(&self) -> bool {
        self.text.cut || self.reasoning.cut || self.cut_input
    }
}

/// What came back from a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output<'a> {
    pub(crate) call_id: Cow<'a, str>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) text: Text<'a>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    Context(Context<'a>),
    Assistant(Assistant<'a>),
    /// Answers a call of the assistant turn before it; of several in the order of the calls.
    Output(Output<'a>),
}

/// Whose a turn is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Context,
    Assistant,
    Output,
}

impl Turn<'_> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Turn::Context(_) => Kind::Context,
            Turn::Assistant(_) => Kind::Assistant,
            Turn::Output(_) => Kind::Output,
        }
    }
}

/// A session's turns in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation<'a> {
    pub(crate) turns: Vec<Turn<'a>>,
    /// The last assistant turn before each grade that did not pass.
    pub(crate) claims: Vec<usize>,
    /// Turns before the last grade FAIL.
    pub(crate) before_last_fail: usize,
    /// Some call's input was cut to a text: it is no object any more, and no dialect can render it.
    pub(crate) cut_to_text: bool,
}

impl<'a> Conversation<'a> {
    /// Turns before the first one of the model: the prompt.
    pub(crate) fn prompt(&self) -> usize {
        let first = self.turns.iter().position(|turn| matches!(turn, Turn::Assistant(_)));
        first.unwrap_or(self.turns.len())
    }

    pub(crate) fn assistants(&self) -> impl Iterator<Item = &Assistant<'a>> {
        self.turns.iter().filter_map(|turn| match turn {
            Turn::Assistant(assistant) => Some(assistant),
            _ => None,
        })
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call<'a>> {
        self.assistants().flat_map(|assistant| &assistant.calls)
    }
}
