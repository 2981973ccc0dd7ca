//! The judge on whole traces: honest ones, each way to cheat, and the real cases.

mod across;
mod build;
mod change;
mod cheats;
mod fuzz;
mod honest;
mod keys;
mod ledger;
mod malformed;
mod real;
mod vectors;
