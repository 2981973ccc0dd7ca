//! Questions asked of a small lake in memory.

mod guard;
mod lake;
mod output;
mod queries;
mod views;
