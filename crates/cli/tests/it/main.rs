//! Runs the binary as a shell does, each test with a home of its own.

mod architecture;
mod arguments;
mod asked;
mod at_once;
mod bad_input;
mod chance;
mod configuration;
mod damage;
mod environment;
mod errors;
mod exporting;
mod full_disk;
mod killed;
mod kit;
mod nightly;
mod python;
mod reading;
mod rows;
mod s3;
mod schemas;
mod secrecy;
mod sql;
mod stopping;
mod syncing;
