//! Sync as its user sees it: what is in the lake afterwards, whatever went wrong on the way.

#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod crash;
mod oddities;
mod real;
mod support;
mod together;
