//! What an event gives to a conversation.

use std::borrow::Cow;

use lake_trace::json::{Str, Value, write_value};
use lake_trace::{Event, Flag, LineRef, Mode, Verdict};
use lake_verdict::Statement;

use super::{Role, Text};

/// An event that may matter to a conversation, with its place in the file and its place in order.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    pub(crate) at: LineRef,
    pub(crate) seq: u64,
    pub(crate) what: What<'a>,
}

/// What it says.
#[derive(Debug)]
pub(crate) enum What<'a> {
    Context {
        role: Role,
        text: Text<'a>,
        human: bool,
    },
    Said {
        text: Text<'a>,
        thinking: Text<'a>,
    },
    Called(Called<'a>),
    /// Any verdict; `missed`: a grade that did not pass; `failed`: a grade FAIL.
    Verdict {
        missed: bool,
        failed: bool,
    },
    /// The session was forked from another.
    Fork,
    /// A field that a row needs is of another kind.
    Unrenderable,
}

/// A tool call.
#[derive(Debug)]
pub(crate) struct Called<'a> {
    pub(crate) id: Option<Cow<'a, str>>,
    pub(crate) response: Option<Cow<'a, str>>,
    pub(crate) name: Cow<'a, str>,
    pub(crate) input: Option<Value<'a>>,
    pub(crate) cut_input: bool,
    pub(crate) output: Text<'a>,
    pub(crate) denied: bool,
}

impl<'a> Item<'a> {
    /// None for an event that no conversation shows. Copies and duplicates are the caller's to leave out.
    pub(crate) fn of(event: Event<'a>, at: LineRef) -> Option<Item<'a>> {
        let seq = event.seq;
        let what = match event.kind.as_ref() {
            // A sub-agent works in a conversation of its own; its verdicts are the session's all the same.
            "oracle_verdict" => verdict(&event),
            _ if event.agent_id.is_some() => return None,
            "message" => message(event)?,
            "tool_call" => call(event),
            "session_start" if is_fork(&event) => What::Fork,
            _ => return None,
        };
        Some(Item { at, seq, what })
    }

    /// A verdict that only the ledger has, where the oracle was asked.
    pub(crate) fn listed(statement: &Statement, at: LineRef, seq: u64) -> Item<'a> {
        Item { at, seq, what: graded(Some(statement.mode), Some(statement.verdict)) }
    }
}

fn verdict(event: &Event<'_>) -> What<'static> {
    let record = event.verdict_record().unwrap_or_default();
    graded(record.mode(), record.verdict())
}

fn graded(mode: Option<Mode>, verdict: Option<Verdict>) -> What<'static> {
    let grade = mode == Some(Mode::Grade);
    What::Verdict { missed: grade && verdict != Some(Verdict::Pass), failed: grade && verdict == Some(Verdict::Fail) }
}

fn is_fork(event: &Event<'_>) -> bool {
    // A line of another session that stands in this file says nothing about this one.
    let own = !event.flags.has(Flag::MixedSession);
    own && (event.other_str("source") == Some("fork") || event.other_str("parent_session_id").is_some())
}

/// A text field; empty where there is none.
fn text<'a>(field: Option<Str<'a>>, cut: bool) -> Text<'a> {
    Text { text: field.unwrap_or_default(), cut }
}

fn message(event: Event<'_>) -> Option<What<'_>> {
    if ["role", "text", "thinking"].into_iter().any(|field| event.is_bad(field)) {
        return Some(What::Unrenderable);
    }
    let (cut_text, cut_thinking) = (event.cut("text").is_some(), event.cut("thinking").is_some());
    let human = !matches!(event.other_str("origin"), Some("harness" | "gate"));
    let said = text(event.text, cut_text);
    let thinking = text(event.thinking, cut_thinking);
    if said.is_empty() && thinking.is_empty() {
        return None;
    }
    Some(match event.role.as_deref() {
        Some("assistant") => What::Said { text: said, thinking },
        Some("user" | "system") if said.is_empty() => return None,
        Some("user") => What::Context { role: Role::User, text: said, human },
        Some("system") => What::Context { role: Role::System, text: said, human: false },
        _ => What::Unrenderable,
    })
}

fn call(event: Event<'_>) -> What<'_> {
    if event.is_bad("tool") || event.is_bad("input") {
        return What::Unrenderable;
    }
    let (cut_input, cut_output) = (event.cut("input").is_some(), event.cut("output").is_some());
    let denied = event.status.as_deref() == Some("denied");
    let Some(name) = event.tool.filter(|name| !name.is_empty()) else { return What::Unrenderable };
    What::Called(Called {
        id: event.call_id.filter(|id| !id.is_empty()),
        response: event.response_id.filter(|id| !id.is_empty()),
        name,
        input: event.input,
        cut_input,
        output: Text { text: event.output.map(output_text).unwrap_or_default(), cut: cut_output },
        denied,
    })
}

fn output_text(value: Value<'_>) -> Str<'_> {
    match value {
        Value::Str(text) => text,
        other => {
            let mut out = String::new();
            write_value(&mut out, &other);
            out.into()
        }
    }
}
