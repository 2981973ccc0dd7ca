//! Turns a company's own coding-agent traces into training data that it can trust.
fn main() {}
