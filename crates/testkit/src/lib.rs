//! Builds data dirs, keys, attacks, and a store that fails.
//!
//! For tests and benches only. Everything here is deterministic: ids, clocks, keys and signatures come from names and
//! seeds, so that what it writes is the same bytes each time. It may `expect`, with the reason.

pub mod store;
