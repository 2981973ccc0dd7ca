//! The demo data dir is worth what its sessions' names say.

use std::collections::BTreeMap;

use lake_testkit::{DataDir, demo_sessions, demo_trust, fold_file, judge_file, made_up_github_token};
use lake_trace::Outcome;
use lake_verdict::Trust;

#[test]
fn each_demo_session_has_the_outcome_of_its_name() {
    let trust = Trust::parse(&demo_trust()).expect("a trust file");
    let mut found = BTreeMap::new();
    for (id, bytes) in demo_sessions() {
        let judged = judge_file(&bytes, Some(&trust), false);
        assert!(judged.flags.is_empty(), "{id}: {:?}", judged.flags);
        let verified = judged.pass.as_ref().is_some_and(|pass| pass.verified);
        assert_eq!(verified, judged.outcome == Outcome::Flipped && id != "demo-08-unsigned", "{id}");
        assert_eq!(judged.negative.is_some(), judged.outcome == Outcome::NoFlip, "{id}");
        *found.entry(judged.outcome).or_insert(0) += 1;
    }
    assert_eq!(
        found.into_iter().collect::<Vec<_>>(),
        [(Outcome::Flipped, 7), (Outcome::NoFlip, 3), (Outcome::Untracked, 1)]
    );
}

#[test]
fn only_the_malformed_session_has_a_reject_and_only_one_a_token() {
    for (id, bytes) in demo_sessions() {
        let rejects = fold_file(&bytes).summary().counts.rejects;
        assert_eq!(rejects, u64::from(id == "demo-11-malformed"), "{id}");
        let has_token = String::from_utf8_lossy(&bytes).contains(&made_up_github_token());
        assert_eq!(has_token, id == "demo-10-secret", "{id}");
    }
}

#[test]
fn the_made_up_token_has_the_published_form() {
    let token = made_up_github_token();
    assert!(token.starts_with("ghp_") && token.len() == 40);
    assert!(token[4..].bytes().all(|b| b.is_ascii_alphanumeric()));
}

#[test]
fn a_data_dir_holds_what_was_written() {
    let dir = DataDir::temp();
    let path = dir.session("s", b"1\n");
    dir.append("traces/s.jsonl", b"2\n");
    assert_eq!(std::fs::read(&path).expect("the file"), b"1\n2\n");
    dir.age("traces/s.jsonl", std::time::Duration::from_secs(90_000));
    let modified = std::fs::metadata(&path).and_then(|meta| meta.modified()).expect("a time");
    assert!(modified.elapsed().expect("in the past").as_secs() >= 90_000);
    dir.remove("traces/s.jsonl");
    assert!(!path.exists());
}
