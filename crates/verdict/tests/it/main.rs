//! The judge on whole traces: honest ones, each way to cheat, and the real cases.

mod across;
mod build;
mod change;
mod cheats;
mod honest;
mod keys;
mod malformed;
mod real;
