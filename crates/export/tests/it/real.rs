//! The real traces, where they are.

use std::path::{Path, PathBuf};

use lake_export::Request;
use lake_verdict::Trust;

use crate::lake::{Lake, request, run};
use crate::whole::assert_well_formed;

fn cases() -> Option<PathBuf> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/real");
    cases.exists().then_some(cases)
}

#[test]
#[expect(clippy::print_stderr, reason = "a test that does not run says so")]
fn nine_real_sessions_and_one_pair_are_proven() {
    let Some(cases) = cases() else {
        eprintln!("skipped: there are no real cases beside the checkout");
        return;
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(cases.join("data-dir/traces"))
        .expect("traces")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let lake = Lake::of(paths.iter().map(|path| std::fs::read(path).expect("a trace")));
    let text = std::fs::read_to_string(cases.join("keys/trust.toml")).expect("a trust file");
    let trust = Some(Trust::parse(&text).expect("a trust file"));
    let done = run(&lake, Request { trust, require_signature: true, ..request() });
    let (sft, pairs) = (done.sft(), done.pairs());
    assert_eq!((sft.len(), pairs.len()), (9, 1), "{:?}", done.excluded("sft"));
    sft.iter().for_each(|row| assert_well_formed(row, true, &["messages"]));
    assert_well_formed(&pairs[0], false, &["prompt", "chosen"]);
    assert_well_formed(&pairs[0], false, &["prompt", "rejected"]);
    assert_eq!(done.excluded("sft").len(), 18);
    assert!(done.excluded("sft").iter().all(|(_, reason)| reason == "no_flip"));
}
