//! Runs the secret scan and the verdict rules over what is new in the lake.
//!
//! [`check`] is the one way in. It reads each branch that lacks a row for the rules or the trust file in force, once, and
//! whole: a secret at its end can make a secret of a word at its start, and a verdict can change what an earlier one is
//! worth. A row is about bytes, rules and trust file that do not change, so no row is ever taken back: other rules, another
//! trust file or more bytes make another row. A run that finds a row for everything, but under rules or a trust file that
//! were not the newest, leaves one mark, so that a view that is told neither goes by this run.
//!
//! [`look_through`] does the same with a text that is in no lake, for secrets only.
//!
//! Retractions are not looked at here: views join them, since they may come at any time. What an export lets through it
//! judges itself.

mod behind;
mod error;
mod judge;
mod look;
mod loose;
mod options;
mod report;
mod rows;
mod run;
mod secrets;
mod texts;
mod veil;

pub use error::{Error, Result};
pub use loose::{Looked, LooseFinding, look_through};
pub use options::{Options, Progress, secrets_digest, signatures_digest};
pub use report::{Report, SessionFinding};
pub use run::check;
pub use veil::Veil;
