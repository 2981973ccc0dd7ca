//! Writes answers as they come.

mod cells;
mod table;
mod write;

pub use write::{Format, write};
