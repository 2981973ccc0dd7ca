//! The real sessions, where they are.

use std::path::Path;

use lake_trace::Outcome;
use lake_verdict::Trust;

use crate::build::{judge_at, names};

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/real");

#[test]
#[expect(clippy::print_stderr, reason = "says that the test was passed over")]
fn nine_real_sessions_flip_and_eighteen_do_not() {
    let Ok(text) = std::fs::read_to_string(Path::new(CASES).join("keys/trust.toml")) else {
        eprintln!("passed over: no {CASES}");
        return;
    };
    let trust = Trust::parse(&text).expect("the trust file");
    let (mut flipped, mut no_flip) = (0, 0);
    for entry in std::fs::read_dir(Path::new(CASES).join("data-dir/traces")).expect("traces") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a trace");
        // Later than any of them.
        let judged = judge_at(&bytes, Some(&trust), true, Some(1_800_000_000_000));
        assert_eq!(names(&judged), Vec::<&str>::new(), "{}", path.display());
        assert!(judged.records.iter().all(|r| r.verifies()), "{}", path.display());
        match judged.outcome {
            Outcome::Flipped => flipped += 1,
            Outcome::NoFlip => no_flip += 1,
            other => panic!("{other} in {}", path.display()),
        }
        let evidence = judged.pass.or(judged.negative);
        assert!(evidence.is_some_and(|e| e.verified && e.prefix_end > 0), "{}", path.display());
    }
    assert_eq!((flipped, no_flip), (9, 18));
}
