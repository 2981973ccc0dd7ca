//! One row: rendered, looked through, and counted.

use lake_trace::json::{self, Notes};
use minijinja::value::Value;
use sha2::{Digest, Sha256};

use super::chat::Chat;
use super::counter::{Counter, Counts, Said, Uncounted};
use super::probe::Kept;
use super::proof::{Message, context};
use super::python::value_of;
use super::template::Rendered;

/// The fields that a canonical message may have.
const FIELDS: [&str; 6] = ["role", "content", "reasoning_content", "tool_calls", "tool_call_id", "name"];

/// What a row is as tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Measured {
    Counted(Counts),
    /// The template does not print it as it is, or not at all.
    Unrenderable,
    /// It is too large to be counted.
    TooLarge,
    /// The template drops its reasoning.
    DropsReasoning,
}

/// A row's messages, as a template sees them.
#[derive(Default)]
pub(super) struct Messages {
    /// Fields of each, without `train`.
    values: Vec<Vec<(&'static str, Value)>>,
    facts: Vec<Message>,
    /// Bytes of their JSON.
    bytes: usize,
}

impl Messages {
    /// Takes the next canonical message. None: it holds what no template can be given.
    pub(super) fn push(&mut self, text: &str, train: bool) -> Option<()> {
        let json::Value::Obj(members) = json::parse(text, &mut Notes::default()).ok()? else { return None };
        let mut values: Vec<(&'static str, Value)> = Vec::new();
        let mut message = Message { train, ..Message::default() };
        for (key, value) in members {
            let name = *FIELDS.iter().find(|name| **name == key)?;
            let made = value_of(&value)?;
            match name {
                "role" => message.assistant = made.as_str() == Some("assistant"),
                "content" => message.text = made.clone(),
                "reasoning_content" => {
                    message.reasoning = made.clone();
                    // An older name for it, which transformers puts first.
                    values.insert(0, ("thinking", made.clone()));
                }
                "tool_calls" => {
                    let name = |call: Value| call.get_attr("function").and_then(|f| f.get_attr("name")).ok();
                    message.calls = made.try_iter().ok()?.filter_map(name).collect();
                }
                _ => {}
            }
            values.push((name, made));
        }
        self.bytes += text.len();
        self.values.push(values);
        self.facts.push(message);
        Some(())
    }

    pub(super) fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether a row may end after so many messages: every call in it has its answer, and it does not end with a prompt.
    pub(super) fn may_end_after(&self, messages: usize) -> bool {
        let is_output =
            |i: usize| self.values.get(i).is_some_and(|v| v.iter().any(|(name, _)| *name == "tool_call_id"));
        !is_output(messages) && messages > 0 && (is_output(messages - 1) || self.facts[messages - 1].assistant)
    }

    pub(super) fn has_call(&self, messages: usize) -> bool {
        self.facts[..messages].iter().any(|message| !message.calls.is_empty())
    }

    fn value(&self, messages: usize, train: impl Fn(&Message) -> bool) -> Value {
        let one = |(values, message): (&Vec<(&'static str, Value)>, &Message)| {
            let train = ("train", Value::from(train(message)));
            Value::from_pairs(values.iter().cloned().chain([train]))
        };
        Value::from(self.values.iter().zip(&self.facts).take(messages).map(one).collect::<Vec<Value>>())
    }
}

/// Measures the first messages of a row.
pub(super) fn measure(chat: &Chat, counter: &Counter, row: &Messages, messages: usize, tools: &Value) -> Measured {
    let facts = &row.facts[..messages];
    if chat.thinking != Kept::Yes && facts.iter().any(|message| message.reasoning.len() > Some(0)) {
        return Measured::DropsReasoning;
    }
    // A little more than the JSON: a template may print a name twice.
    let room = row.bytes + row.bytes / 8;
    let rendered =
        |train: &dyn Fn(&Message) -> bool| chat.template.render(&row.value(messages, train), tools, false, room).ok();
    // The turns that are trained, of which only the hash of the text is kept: one text at a time is in memory.
    let is_mixed = facts.iter().any(|message| message.assistant && !message.train);
    let hashed = |rendered: Rendered| (<[u8; 32]>::from(Sha256::digest(&rendered.text)), rendered.spans);
    let trained = is_mixed.then(|| rendered(&|message| message.train).map(hashed));
    // All turns, to see where each is. Those that are trained must be some of them.
    let Some(all) = rendered(&|message| message.assistant) else { return Measured::Unrenderable };
    let Some(context) = context(&all, facts) else { return Measured::Unrenderable };
    let turns = facts.iter().filter(|message| message.assistant);
    let said: Vec<Said> =
        all.spans.iter().zip(turns).map(|(at, turn)| Said { at: at.clone(), train: turn.train }).collect();
    if let Some(trained) = trained {
        let Some((hash, spans)) = trained else { return Measured::Unrenderable };
        let expected = said.iter().filter(|said| said.train).map(|said| &said.at);
        if hash != <[u8; 32]>::from(Sha256::digest(&all.text)) || !expected.eq(&spans) {
            return Measured::Unrenderable;
        }
    }
    match counter.count(&all.text, &said, &context) {
        Ok(counts) => Measured::Counted(counts),
        Err(Uncounted::TooLarge) => Measured::TooLarge,
        Err(Uncounted::ContextTrained | Uncounted::Unknown) => Measured::Unrenderable,
    }
}
