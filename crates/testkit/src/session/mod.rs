//! Writes the lines of a session as a collector would.

mod builder;
mod verdicts;

pub use builder::SessionBuilder;
pub use verdicts::record_of;
