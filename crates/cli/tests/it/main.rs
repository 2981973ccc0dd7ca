//! Runs the binary as a shell does, each test with a home of its own.

mod arguments;
mod configuration;
mod errors;
mod exporting;
mod kit;
mod reading;
mod secrecy;
mod sql;
mod stopping;
mod syncing;
