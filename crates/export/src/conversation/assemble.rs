//! From events to turns.

use std::borrow::Cow;
use std::collections::HashSet;
use std::mem::take;

use lake_trace::json::Value;

use super::item::Called;
use super::{Assistant, Call, Context, Conversation, Item, Output, Text, Turn, What};

/// Between two thoughts that become one.
const BETWEEN_THOUGHTS: &str = "\n\n";

/// Puts items in order and joins them to turns. Every call has its answer, and every answer its call.
pub(crate) fn assemble(mut items: Vec<Item<'_>>) -> Conversation<'_> {
    // The sort is stable, and the items come in the order of their lines.
    items.sort_by_key(|item| item.seq);
    let taken = items.iter().filter_map(|item| match &item.what {
        What::Called(call) => call.id.clone(),
        _ => None,
    });
    let mut builder = Builder { taken: taken.collect(), ..Builder::default() };
    for item in items {
        builder.take(item.what);
    }
    builder.close();
    builder.conversation
}

#[derive(Default)]
struct Builder<'a> {
    conversation: Conversation<'a>,
    /// Thinking without text, for the turn after it.
    thought: Option<Text<'a>>,
    /// The model's turn that may still grow.
    open: Option<Assistant<'a>>,
    /// Outputs of the open turn's calls.
    outputs: Vec<Output<'a>>,
    /// What the open turn's calls share.
    response: Option<Cow<'a, str>>,
    /// Ids that the calls bring themselves.
    taken: HashSet<Cow<'a, str>>,
    /// Ids that were made here.
    made: u64,
}

impl<'a> Builder<'a> {
    fn take(&mut self, what: What<'a>) {
        match what {
            What::Context { role, text, human } => {
                self.close();
                self.conversation.turns.push(Turn::Context(Context { role, text, human }));
            }
            What::Said { text, thinking } => self.said(text, thinking),
            What::Called(call) => self.called(call),
            What::Verdict { missed, failed } => self.verdict(missed, failed),
            What::Fork | What::Unrenderable => {}
        }
    }

    fn said(&mut self, text: Text<'a>, thinking: Text<'a>) {
        self.close_turn();
        if !thinking.is_empty() {
            self.thought = Some(join(self.thought.take(), thinking));
        }
        if !text.is_empty() {
            let reasoning = self.thought.take().unwrap_or_default();
            self.open = Some(Assistant { text, reasoning, train: true, ..Assistant::default() });
        }
    }

    fn called(&mut self, called: Called<'a>) {
        let id = called.id.unwrap_or_else(|| {
            loop {
                self.made += 1;
                let id = Cow::Owned(format!("call_{}", self.made));
                if !self.taken.contains(&id) {
                    break id;
                }
            }
        });
        let parallel = called.response.is_some() && called.response == self.response;
        if !parallel && self.open.as_ref().is_some_and(|open| !open.calls.is_empty()) {
            self.close_turn();
        }
        let thought = &mut self.thought;
        let open = self.open.get_or_insert_with(|| Assistant {
            reasoning: thought.take().unwrap_or_default(),
            train: true,
            ..Assistant::default()
        });
        self.response = called.response;
        open.train &= !called.denied;
        open.cut_input |= called.cut_input;
        let arguments = match called.input {
            Some(object @ Value::Obj(_)) => object,
            Some(_) => {
                self.conversation.cut_to_text = true;
                Value::Obj(Vec::new())
            }
            None => Value::Obj(Vec::new()),
        };
        self.outputs.push(Output { call_id: id.clone(), name: called.name.clone(), text: called.output });
        open.calls.push(Call { id, name: called.name, arguments });
    }

    fn verdict(&mut self, missed: bool, failed: bool) {
        self.close();
        let turns = &self.conversation.turns;
        if missed && let Some(last) = turns.iter().rposition(|turn| matches!(turn, Turn::Assistant(_))) {
            self.conversation.claims.push(last);
        }
        if failed {
            self.conversation.before_last_fail = self.conversation.turns.len();
        }
    }

    /// The open turn does not grow any more.
    fn close_turn(&mut self) {
        if let Some(open) = self.open.take() {
            self.conversation.turns.push(Turn::Assistant(open));
            self.conversation.turns.extend(take(&mut self.outputs).into_iter().map(Turn::Output));
        }
        self.response = None;
    }

    /// Nothing before this joins anything after it.
    fn close(&mut self) {
        self.close_turn();
        if let Some(reasoning) = self.thought.take() {
            let alone = Assistant { reasoning, train: true, ..Assistant::default() };
            self.conversation.turns.push(Turn::Assistant(alone));
        }
    }
}

fn join<'a>(before: Option<Text<'a>>, after: Text<'a>) -> Text<'a> {
    let Some(before) = before else { return after };
    let cut = before.cut || after.cut;
    Text { text: format!("{}{BETWEEN_THOUGHTS}{}", before.text.decode(), after.text.decode()).into(), cut }
}
