//! What a second run looks at, and what cannot be looked at.

use std::sync::atomic::AtomicBool;

use lake_check::{Error, Options, check};
use lake_testkit::{OracleKey, demo_sessions, demo_trust, made_up_github_token, trust_toml};

use crate::lake::{TestLake, options};

fn demo() -> (TestLake, Options) {
    let sessions: Vec<Vec<u8>> = demo_sessions().into_iter().map(|(_, bytes)| bytes).collect();
    (TestLake::of(&sessions), options(Some(&demo_trust())))
}

#[test]
fn a_second_run_looks_at_nothing() {
    let (lake, options) = demo();
    assert_eq!(lake.check(&options).rows, 22);
    let report = lake.check(&options);
    assert_eq!((report.looked_at_secrets, report.looked_at_signatures, report.already), (0, 0, 11));
    assert_eq!((report.rows, report.bytes, report.k), (0, 0, 1));
}

#[test]
fn another_trust_file_asks_for_signatures_again_and_not_for_secrets() {
    let (lake, demo) = demo();
    lake.check(&demo);
    let other = options(Some(&trust_toml(&[OracleKey::from_seed(9).trust_entry()])));
    let report = lake.check(&other);
    assert_eq!((report.looked_at_secrets, report.looked_at_signatures), (0, 11));
    assert_eq!(report.outcomes.get("flipped"), None);
    assert!(report.flags["untrusted_key"] > 0 && report.flags["unsigned"] > 0, "{:?}", report.flags);
    assert_eq!((lake.signatures(&demo).len(), lake.signatures(&other).len()), (11, 11));
}

#[test]
fn without_a_trust_file_no_signature_is_judged() {
    let (lake, _) = demo();
    let report = lake.check(&options(None));
    assert_eq!((report.looked_at_secrets, report.looked_at_signatures, report.rows), (11, 0, 11));
    assert!(report.outcomes.is_empty());
}

#[test]
fn a_session_that_grew_is_looked_at_whole() {
    let (id, bytes) = demo_sessions().remove(0);
    let token = made_up_github_token();
    let cut = bytes.len() - 1 - bytes[..bytes.len() - 1].iter().rev().position(|b| *b == b'\n').expect("lines");
    let mut lake = TestLake::of([&bytes[..cut].to_vec()]);
    let options = options(Some(&demo_trust()));
    assert_eq!(lake.check(&options).with_secrets, 0);
    let line = format!(
        "{{\"type\":\"message\",\"session_id\":\"{id}\",\"ts\":\"2025-06-02T10:00:00Z\",\"text\":\"{token}\"}}\n"
    );
    let grown = [&bytes[..], line.as_bytes()].concat();
    lake.batch(&[(&grown, cut)]);
    let report = lake.check(&options);
    assert_eq!((report.looked_at_secrets, report.looked_at_signatures, report.with_secrets), (1, 1, 1));
    assert_eq!(report.bytes, grown.len() as u64);
    let rows = lake.secrets(&options);
    let ends: Vec<(u64, &str)> = rows.iter().map(|row| (row.end, row.result.as_str())).collect();
    assert_eq!(ends, [(cut as u64, "clean"), (grown.len() as u64, "found")]);
}

#[test]
fn a_dry_run_writes_nothing_and_says_how_far_behind_the_tables_are() {
    let (mut lake, options) = demo();
    let dry = Options { dry_run: true, ..options.clone() };
    let report = lake.check(&dry);
    assert_eq!((report.k, report.behind, report.looked_at_secrets), (0, 1, 0));
    assert!(!lake.folder.path().join("lake/tables").exists());
    lake.check(&options);
    let (_, bytes) = demo_sessions().remove(0);
    let more =
        [&bytes[..], b"{\"type\":\"note\",\"session_id\":\"demo-01-flipped\",\"ts\":\"2025-06-02T10:00:00Z\"}\n"]
            .concat();
    lake.batch(&[(&more, bytes.len())]);
    let other = Options { trust: None, ..dry };
    assert_eq!((lake.check(&other).behind, lake.check(&other).rows), (1, 0));
}

#[test]
fn a_purged_or_damaged_raw_object_gives_a_note_and_no_row() {
    let (lake, options) = demo();
    lake_store::derive(&lake.lake, &AtomicBool::new(false), &|_| ()).expect("tables");
    let raw = |id: &str| {
        let catalog = lake_store::catalog(&lake.lake, None).expect("a catalog");
        let branch = catalog.branches.into_iter().find(|b| b.session_id == id).expect("the session");
        lake.folder.path().join("lake").join(&branch.segments[0].raw)
    };
    std::fs::remove_file(raw("demo-01-flipped")).expect("purged");
    std::fs::write(raw("demo-02-retried"), b"not zstd").expect("damaged");
    let report = lake.check(&options);
    assert_eq!((report.looked_at_secrets, report.looked_at_signatures, report.unread), (9, 9, 2));
    assert_eq!(report.notes.len(), 2);
    assert!(report.notes[0].contains("demo-01-flipped") && report.notes[0].contains("purged"), "{:?}", report.notes);
    assert!(report.notes[1].contains("demo-02-retried") && report.notes[1].contains("damaged"), "{:?}", report.notes);
    assert_eq!(lake.secrets(&options).len(), 9);
    // No row is not clean: they are due again.
    assert_eq!(lake.check(&options).unread, 2);
}

#[test]
fn a_run_that_is_told_to_stop_stops() {
    let (lake, options) = demo();
    let stopped = check(&lake.lake, &options, &(), &AtomicBool::new(true));
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    assert_eq!(lake.check(&options).rows, 22);
}
