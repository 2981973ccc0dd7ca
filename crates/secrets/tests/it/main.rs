//! What the secret scan promises.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]

mod attacks;
mod forms;
mod properties;
mod rules;
mod session;

/// The test kit's own, without all that it needs for other tests.
#[expect(unreachable_pub, reason = "of the crate that it is from")]
#[path = "../../../testkit/src/secrets/mod.rs"]
mod made_up;
