//! How rows look to a trainer. A dialect renders turns and closes rows; it decides nothing about what is trained.
//!
//! A turn is opened when its session is read, and waits in the temporary file; what stands between turns, and the mask,
//! is written when the row is.

mod atif;
mod chat;
mod join;
mod losses;
mod row;
mod sharegpt;
mod text;

pub(crate) use join::Joiner;
pub(crate) use losses::losses;
pub(crate) use row::{Shared, pair, session};
pub(crate) use text::write_member;

use crate::Dialect;
use crate::conversation::{Conversation, Turn};

/// What a side of a pair can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sides {
    /// All turns after the prompt.
    Whole,
    /// The last message alone: both sides share everything before it.
    LastMessage,
    /// There are no pairs.
    None,
}

impl Dialect {
    /// What its preference rows can hold.
    pub(crate) fn sides(self) -> Sides {
        match self {
            Dialect::Trl | Dialect::Swift | Dialect::Tinker => Sides::Whole,
            Dialect::Axolotl | Dialect::Openai | Dialect::Llamafactory => Sides::LastMessage,
            Dialect::Atif => Sides::None,
        }
    }

    /// How the rows' mask reaches the trainer, as the manifest says it.
    pub(crate) fn mask(self) -> &'static str {
        match self {
            Dialect::Trl => "not_enforced",
            Dialect::Axolotl | Dialect::Openai | Dialect::Swift | Dialect::Tinker => "by_message",
            Dialect::Llamafactory => "by_role",
            Dialect::Atif => "none",
        }
    }
}

/// Whether the dialect's trainer reads every turn as what it is.
pub(crate) fn is_readable(dialect: Dialect, conversation: &Conversation<'_>) -> bool {
    dialect != Dialect::Llamafactory || conversation.assistants().all(sharegpt::is_readable)
}

/// Appends a turn as far as it can be rendered without what stands beside it and without its mask.
pub(crate) fn open_turn(dialect: Dialect, out: &mut String, turn: &Turn<'_>) {
    match dialect {
        Dialect::Llamafactory => sharegpt::open_turn(out, turn),
        Dialect::Atif => atif::open_turn(out, turn),
        _ => chat::open_message(&chat::form(dialect), out, turn),
    }
}
