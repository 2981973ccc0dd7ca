//! What the secret scan promises.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod attacks;
mod forms;
mod generate;
mod properties;
mod rules;
mod session;
