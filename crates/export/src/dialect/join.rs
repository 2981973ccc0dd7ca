//! What stands between the turns of a row.

use super::sharegpt;
use crate::Dialect;
use crate::conversation::Kind;
use crate::spill::Note;

/// Puts opened turns together, one after the other, and closes them.
pub(crate) struct Joiner {
    dialect: Dialect,
    /// Whether the messages have a mask.
    has_mask: bool,
    /// Whether it is a side of a pair, after its prompt.
    is_side: bool,
    turns: u64,
    /// Steps that were begun.
    steps: u64,
    in_observation: bool,
    sharegpt: sharegpt::Turns,
}

impl Joiner {
    pub(crate) fn new(dialect: Dialect, has_mask: bool) -> Joiner {
        Joiner {
            dialect,
            has_mask,
            is_side: false,
            turns: 0,
            steps: 0,
            in_observation: false,
            sharegpt: sharegpt::Turns::default(),
        }
    }

    /// For a side of a pair.
    pub(crate) fn side(dialect: Dialect) -> Joiner {
        Joiner { is_side: true, ..Joiner::new(dialect, false) }
    }

    /// Whether turns stand as they were opened, each between [`Joiner::separate`] and [`Joiner::close`].
    pub(crate) fn is_plain(&self) -> bool {
        !matches!(self.dialect, Dialect::Llamafactory | Dialect::Atif)
    }

    /// Appends what stands before the next message.
    pub(crate) fn separate(&self, out: &mut Vec<u8>) {
        if self.turns > 0 {
            out.push(b',');
        }
    }

    /// Appends what closes a message.
    pub(crate) fn close(&mut self, note: Note, out: &mut Vec<u8>) {
        self.turns += 1;
        let train = self.has_mask.then_some(note.train);
        out.extend_from_slice(close_message(self.dialect, note.kind, train).as_bytes());
    }

    /// Appends the next turn of a dialect that joins them. What is appended is whole only after [`Joiner::end`].
    pub(crate) fn turn(&mut self, opened: &[u8], kind: Kind, out: &mut Vec<u8>) {
        match self.dialect {
            Dialect::Llamafactory if self.is_side => {
                sharegpt::write_answer(std::str::from_utf8(opened).unwrap_or_default(), out);
            }
            Dialect::Llamafactory => {
                // It was a text when it was put into the file.
                self.sharegpt.take(std::str::from_utf8(opened).unwrap_or_default(), out);
            }
            Dialect::Atif => self.step(opened, kind, out),
            _ => out.extend_from_slice(opened),
        }
    }

    /// Appends what is left to be closed. `is_prompt`: a side follows.
    pub(crate) fn end(&mut self, is_prompt: bool, out: &mut Vec<u8>) {
        match self.dialect {
            Dialect::Llamafactory => self.sharegpt.end(is_prompt, out),
            Dialect::Atif => self.close_step(out),
            _ => {}
        }
    }

    fn step(&mut self, opened: &[u8], kind: Kind, out: &mut Vec<u8>) {
        if kind == Kind::Output {
            let open: &[u8] = if self.in_observation { b"," } else { b",\"observation\":{\"results\":[" };
            out.extend_from_slice(open);
            self.in_observation = true;
        } else {
            if self.steps > 0 {
                self.close_step(out);
                out.push(b',');
            }
            self.steps += 1;
            out.extend_from_slice(format!("{{\"step_id\":{},", self.steps).as_bytes());
        }
        out.extend_from_slice(opened);
    }

    fn close_step(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.in_observation) {
            out.extend_from_slice(b"]}");
        }
        if self.steps > 0 {
            out.push(b'}');
        }
    }
}

/// What closes a message; `train` None: the set has no mask.
fn close_message(dialect: Dialect, kind: Kind, train: Option<bool>) -> &'static str {
    let Some(train) = train else { return "}" };
    let said = kind == Kind::Assistant;
    match (dialect, train) {
        (Dialect::Openai, true) if said => ",\"weight\":1}",
        (Dialect::Openai, false) if said => ",\"weight\":0}",
        (Dialect::Swift, true) if said => ",\"loss\":true}",
        (Dialect::Swift, false) if said => ",\"loss\":false}",
        (Dialect::Openai | Dialect::Swift, _) => "}",
        (Dialect::Tinker, true) => ",\"trainable\":true}",
        (Dialect::Tinker, false) => ",\"trainable\":false}",
        (_, true) => ",\"train\":true}",
        (_, false) => ",\"train\":false}",
    }
}
