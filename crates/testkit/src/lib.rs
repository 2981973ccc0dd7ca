//! Builds data dirs, keys, attacks, and a store that fails.
//!
//! For tests and benches only. Everything here is deterministic: ids, clocks, keys and signatures come from names and
//! seeds, so that what it writes is the same bytes each time. It may `expect`, with the reason.

pub mod attacks;
mod data_dir;
mod demo;
mod judged;
mod key;
pub mod made;
mod names;
mod object;
pub mod oddities;
pub mod scenarios;
pub mod secrets;
mod session;
pub mod store;
mod task;

pub use data_dir::DataDir;
pub use demo::{DemoTasks, demo_keys, demo_sessions, demo_trust, fixture_files, made_up_github_token};
pub use judged::{fold_file, judge_file, judge_file_with};
pub use key::{OracleKey, TrustEntry, trust_toml};
pub use lake_verdict::EMPTY_SHA256;
pub use names::{sha256_hex, uuid_of};
pub use object::Object;
pub use session::{SessionBuilder, record_of};
pub use task::{SharedBaseline, Task};
