//! Signed verdicts: envelope, statement, trust file, ledger, what a flip is and what a cheat is.
//!
//! The agent's host is hostile: it can write any line into a trace. Only bytes that an oracle's key signed are evidence.
//! No IO here. An envelope is verified first and read then, from exactly the bytes that were verified.

mod across;
mod bind;
mod chain;
mod envelope;
mod examine;
mod flag;
mod judge;
mod key;
mod ledger;
mod oracle;
mod records;
mod rows;
mod statement;
mod trust;
mod whole;

pub use across::{Across, Claim};
pub use ed25519_dalek::{SigningKey, VerifyingKey};
pub use envelope::{Envelope, EnvelopeError, MAX_PAYLOAD, PAYLOAD_TYPE, pae, payload_digest, sign};
pub use examine::{Examined, Step, examine};
pub use flag::VerdictFlag;
pub use judge::{Case, Evidence, Graded, Judged, judge};
pub use key::{KeyError, key_id, read_private_key, read_public_key, write_private_key, write_public_key};
pub use ledger::{Ledger, LedgerEntry, LedgerError, LedgerReader};
pub use oracle::{Kept, OracleError, Run, kept_after, start_from, statement};
pub use records::RecordCheck;
pub use rows::recorded_outcome;
pub use statement::{EMPTY_SHA256, PREDICATE_TYPE, STATEMENT_TYPE, Statement, StatementError};
pub use trust::{Revocation, Trust, TrustError, TrustedKey};
pub use whole::{Whole, judge_whole};
