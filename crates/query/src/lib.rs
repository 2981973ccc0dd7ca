//! The SQL surface of a lake: views over its tables, saved queries, the read-only guard, and what writes answers.
//!
//! Tables come in as DataFusion providers with the columns of [`lake_store::schema`]; this crate knows no path in the
//! lake. [`session`] puts the tables and the views over them into one session; [`Query::run`] lets only questions
//! through; [`write()`] prints answers as they come.
//!
//! | name | one row |
//! |---|---|
//! | `events`, `segments`, `verdicts`, `rejects`, `checks`, `exports` | as in the tables, up to `--at` |
//! | `sessions` | a branch of a session: its newest summary, checks, retraction |
//! | `messages`, `tool_calls`, `corrections` | an event of that type |
//! | `findings` | a finding of a check |
//! | `held_back` | a branch that is in no supervised set yet, and why |
//! | `batches`, `hosts` | a batch of the log; a host and when it last synced |

mod error;
mod guard;
mod json_get;
mod output;
mod payload;
mod prune;
mod saved;
mod session;
mod views;
mod words;

pub use error::{Error, Result};
pub use output::{Format, write};
pub use saved::{Saved, saved, saved_query};
pub use session::{Options, Query, Sources, session};
