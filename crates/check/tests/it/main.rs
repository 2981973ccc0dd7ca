//! What a check looks at, what it writes, and what it leaves alone.

mod again;
mod lake;
mod real;
mod secrets;
mod signatures;
