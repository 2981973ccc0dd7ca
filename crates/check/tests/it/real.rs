//! The real cases, where they are.

use std::fs;
use std::path::PathBuf;

use crate::lake::{TestLake, options};

/// The traces and the trust file; None, aloud, where they are absent.
#[expect(clippy::print_stderr, reason = "says that the test was passed over")]
fn cases() -> Option<(Vec<Vec<u8>>, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/cases/real");
    let Ok(folder) = fs::read_dir(root.join("data-dir/traces")) else {
        eprintln!("SKIPPED: no real cases at {}", root.display());
        return None;
    };
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let traces = paths.iter().map(|path| fs::read(path).expect("a trace")).collect();
    Some((traces, fs::read_to_string(root.join("keys/trust.toml")).expect("a trust file")))
}

#[test]
fn of_27_real_sessions_9_flip_18_do_not_none_holds_a_secret_and_all_verdicts_verify() {
    let Some((traces, trust)) = cases() else { return };
    let lake = TestLake::of(&traces);
    let options = options(Some(&trust));
    let report = lake.check(&options);
    assert_eq!((report.looked_at_secrets, report.looked_at_signatures, report.already), (27, 27, 0));
    assert_eq!(report.secrets, Vec::new());
    assert_eq!((report.with_secrets, report.unread), (0, 0));
    assert_eq!(
        report.outcomes.into_iter().collect::<Vec<_>>(),
        [("flipped".to_owned(), 9), ("no_flip".to_owned(), 18)]
    );
    assert!(report.flags.is_empty(), "{:?}", report.flags);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!(report.rows, 54);
    assert_eq!((lake.secrets(&options).len(), lake.signatures(&options).len()), (27, 27));
    assert!(lake.secrets(&options).iter().all(|row| row.result == "clean" && row.findings.is_empty()));
}
