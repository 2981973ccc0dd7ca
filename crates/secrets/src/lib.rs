//! Finds secrets in a text and redacts them. No IO: rules are in the binary, texts come as arguments.
//!
//! One text is looked at by [`scan`]; a session by [`SessionScan`], which also finds what is split over texts, and then
//! by [`KnownSecrets`], which finds a value that was a secret once wherever it stands. [`redact`] replaces what was
//! found by placeholders; a scan of the result finds nothing.

mod allow;
mod bigrams;
mod checks;
mod core;
mod encodings;
mod error;
mod escapes;
mod fingerprint;
mod generic;
mod hit;
mod judge;
mod known;
mod lines;
mod manifest;
mod names;
mod near;
mod pem;
mod prefilter;
mod redact;
mod rule;
mod ruleset;
mod scan;
mod session;
mod standins;
mod view;

pub use allow::AllowList;
pub use error::Error;
pub use fingerprint::fingerprint;
pub use hit::Hit;
pub use known::KnownSecrets;
pub use redact::redact;
pub use rule::{Rule, Severity};
pub use ruleset::RuleSet;
pub use scan::scan;
pub use session::SessionScan;
