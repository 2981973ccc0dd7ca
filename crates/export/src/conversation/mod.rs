//! A session as a conversation: what every dialect renders.

mod assemble;
mod item;
mod mask;
mod turn;

pub(crate) use assemble::assemble;
pub(crate) use item::{Item, What};
pub(crate) use mask::mask;
pub(crate) use turn::{Assistant, Call, Context, Conversation, Kind, Output, Role, TRUNCATED, Text, Turn};
