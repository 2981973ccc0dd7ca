//! What rows are as tokens: the model's chat template renders them, its tokenizer counts them, and a proof looks at what
//! would be trained.

mod chat;
mod counter;
mod measure;
mod probe;
mod proof;
mod python;
mod rows;
mod tags;
mod template;
mod totals;
mod words;
mod wrap;

pub(crate) use counter::Counts;
pub(crate) use rows::{LARGEST_SESSION, Measuring, Tokens};
pub use totals::{Bin, TokenCounts, TokensUsed};
