//! JSON as traces need it: borrowed where it can be, numbers as they were written, repairs told.
//!
//! `serde_json` refuses a lone surrogate and loses a number's text and which keys came twice; all three are what
//! the trace event format asks a reader about. So the reader of a line is ours, and small.

mod read;
mod text;
mod value;
mod write;

pub use read::{Notes, parse, parse_fields};
pub use text::Str;
pub use value::Value;
pub use write::{write_str, write_value};
