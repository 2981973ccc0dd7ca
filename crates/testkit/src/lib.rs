//! Builds data dirs, keys, attacks, and a store that fails.
