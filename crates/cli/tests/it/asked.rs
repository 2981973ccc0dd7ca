//! What only some machines have. Without it a test is skipped aloud, or fails where nothing may be skipped.

use std::io::Write;

/// A variable that names what a test needs; None skips the test. With `TRACE_LAKE_TEST_REQUIRE` it has to be there.
#[track_caller]
pub(crate) fn asked(variable: &str, what: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        assert!(
            std::env::var_os("TRACE_LAKE_TEST_REQUIRE").is_none_or(|v| v.is_empty() || v == "0"),
            "{variable} names no {what}, and nothing may be skipped here"
        );
        skip(&format!("{variable} names no {what}"));
    }
    value
}

/// Says that a test did not run, past the harness, which hides what passing tests print.
#[track_caller]
pub(crate) fn skip(why: &str) {
    let place = std::panic::Location::caller();
    let _ = writeln!(std::io::stderr(), "skipped: {}:{}: {why}", place.file(), place.line());
}
