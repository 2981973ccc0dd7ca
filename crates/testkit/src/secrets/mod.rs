//! Made-up secrets, and the ways in which a trace writes them down.

pub mod disguises;
pub mod examples;
