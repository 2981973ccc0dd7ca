//! Finds secrets in a text and redacts them.
