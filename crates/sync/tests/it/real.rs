//! Real runs, where they are at hand.

use std::path::Path;

use lake_store::catalog;

use crate::support::{memory, options, rows, run};

#[test]
fn twenty_seven_real_runs_are_taken_whole() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/real/data-dir");
    if !cases.is_dir() {
        eprintln_skip("the real cases are not at hand");
        return;
    }
    let (lake, _) = memory();
    let summary = run(&lake, &options(&[&cases]));
    assert_eq!((summary.found, summary.new, summary.rejected), (27, 27, 0));
    let branches = catalog(&lake, None).unwrap().branches;
    assert_eq!(branches.len(), 27);
    let count = |outcome: &str| branches.iter().filter(|b| b.recorded_outcome.as_deref() == Some(outcome)).count();
    assert_eq!((count("flipped"), count("no_flip")), (9, 18));
    assert_eq!(rows(&lake)["verdicts"].len(), 54);
    let again = run(&lake, &options(&[&cases]));
    assert_eq!((again.unchanged, again.new, again.batches.len()), (27, 0, 0));
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn eprintln_skip(why: &str) {
    eprintln!("skipped: {why}");
}
