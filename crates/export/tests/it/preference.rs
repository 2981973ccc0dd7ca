//! Pairs.

use lake_export::{PairStrategy, PromptMatch, Request};
use lake_testkit::{SessionBuilder, Task, scenarios};
use lake_trace::Verdict;
use serde_json::Value;

use crate::lake::{Lake, request, run, signed_request};

fn task() -> Task {
    Task::new("github.com/acme/billing", "bill-1")
}

/// A session of `length` bytes of the model's words.
fn sized(id: &str, verdict: Verdict, length: usize) -> Vec<u8> {
    let mut session = SessionBuilder::new(id, &task());
    session.start().prompt().baseline(Verdict::Fail).message("assistant", &"x".repeat(length));
    session.grade(verdict, id).end("agent", "?");
    session.build()
}

fn ids(rows: &[Value]) -> Vec<(&str, &str)> {
    let text = |row: &'_ Value, key: &str| row[key].as_str().expect("a string").len();
    assert!(rows.iter().all(|row| text(row, "chosen_session_id") > 0));
    rows.iter().filter_map(|r| Some((r["chosen_session_id"].as_str()?, r["rejected_session_id"].as_str()?))).collect()
}

#[test]
fn a_pair_holds_what_the_format_says() {
    let key = crate::lake::key();
    let pass = scenarios::flipped_session("s1", &task(), Some(&key));
    let fail = scenarios::no_flip_session("s2", &task(), Some(&key), 1);
    let done = run(&Lake::of([pass, fail]), signed_request());
    insta::assert_snapshot!(done.golden("preference/train-00000-of-00001.jsonl"));
    insta::assert_snapshot!(done.text("trl-dpo.yaml"));
    assert!(done.excluded("preference").is_empty());
}

#[test]
fn the_sides_closest_in_length_are_paired() {
    let lake = Lake::of([
        sized("p1", Verdict::Pass, 100),
        sized("p2", Verdict::Pass, 500),
        sized("n1", Verdict::Fail, 460),
        sized("n2", Verdict::Fail, 210),
        sized("n3", Verdict::Fail, 9000),
    ]);
    let pairs = |request: Request| run(&lake, request).pairs();
    assert_eq!(ids(&pairs(request())), [("p2", "n1")]);
    let two = Request { pairs_per_task: 2, ..request() };
    assert_eq!(ids(&pairs(two.clone())), [("p1", "n2"), ("p2", "n1")]);
    assert_eq!(ids(&pairs(Request { max_length_ratio: Some(2.0), ..two })), [("p2", "n1"), ("p2", "n2")][..1]);
    let first = Request { pair_strategy: PairStrategy::First, ..request() };
    assert_eq!(ids(&pairs(first)), [("p1", "n1")]);
    let random = Request { pair_strategy: PairStrategy::Random, pairs_per_task: 100, ..request() };
    assert_eq!(pairs(random).len(), 6);
    let counts = run(&lake, request()).report.manifest.sets["preference"].clone();
    assert_eq!((counts.used, counts.excluded["no_partner"]), (2, 3));
    assert_eq!(counts.pairs.expect("counts of pairs").chosen_longer, 1);
}

#[test]
fn prompts_must_be_equal_unless_the_task_is_enough() {
    let other = |role: &str| {
        let mut session = SessionBuilder::new("n1", &task());
        session.start().message(role, "Another prompt.").baseline(Verdict::Fail).message("assistant", "x");
        session.grade(Verdict::Fail, "d").end("attempt_budget", "?");
        Lake::of([sized("p1", Verdict::Pass, 5), session.build()])
    };
    assert!(run(&other("user"), request()).pairs().is_empty());
    let by_task = run(&other("system"), Request { prompt_match: PromptMatch::Task, ..request() });
    let pairs = by_task.pairs();
    assert_eq!(pairs[0]["prompt"][0]["content"], task().prompt.as_str());
    assert!(pairs[0]["metadata"].as_str().is_some_and(|m| m.ends_with(r#""prompt_of":"chosen"}"#)));
    assert!(by_task.text("README.md").contains("another prompt"));
}

#[test]
fn human_help_is_no_chosen_side_but_the_gate_is_no_human() {
    let session = |id: &str, gate: bool, verdict: Verdict| {
        let mut session = SessionBuilder::new(id, &task());
        session.start().prompt().baseline(Verdict::Fail).message("assistant", "x");
        if gate {
            session.gate()
        } else {
            session.message("user", "Look at total.py.")
        };
        session.message("assistant", "y").grade(verdict, id).end("agent", "?");
        session.build()
    };
    let helped = Lake::of([session("p1", false, Verdict::Pass), session("n1", false, Verdict::Fail)]);
    let done = run(&helped, request());
    assert_eq!(done.excluded("preference"), [("n1".into(), "no_partner".into()), ("p1".into(), "human_help".into())]);
    assert_eq!(done.sft().len(), 1);
    let gated = Lake::of([session("p1", true, Verdict::Pass), session("n1", false, Verdict::Fail)]);
    assert_eq!(run(&gated, request()).pairs().len(), 1);
}

#[test]
fn sides_with_the_same_diff_or_another_harness_are_no_pair() {
    let session = |id: &str, verdict: Verdict, version: &str| {
        let mut session = SessionBuilder::new(id, &task()).harness("claude-code", version);
        session.start().prompt().baseline(Verdict::Fail).message("assistant", "x").grade(verdict, "one diff");
        session.end("agent", "?");
        session.build()
    };
    let same = Lake::of([session("p1", Verdict::Pass, "1"), session("n1", Verdict::Fail, "1")]);
    assert!(run(&same, request()).pairs().is_empty());
    let other = Lake::of([sized("p1", Verdict::Pass, 5), session("n1", Verdict::Fail, "2")]);
    assert!(run(&other, request()).pairs().is_empty());
    let given = Request { tools: Some("[]".into()), ..request() };
    assert_eq!(run(&other, given).pairs().len(), 1);
}

#[test]
fn who_was_stopped_is_no_negative() {
    for (ended_by, pairs) in [("agent", 1), ("attempt_budget", 1), ("user", 0), ("harness_cap", 0)] {
        let mut session = SessionBuilder::new("n1", &task());
        session.start().prompt().baseline(Verdict::Fail).message("assistant", "x").grade(Verdict::Fail, "d");
        session.end(ended_by, "?");
        let done = run(&Lake::of([sized("p1", Verdict::Pass, 5), session.build()]), request());
        assert_eq!(done.pairs().len(), pairs, "{ended_by}");
    }
}

#[test]
fn a_negative_ends_at_its_last_fail() {
    let key = crate::lake::key();
    let mut fail = scenarios::graded("n1", &task(), Some(&key), &[Verdict::Fail]);
    fail.message("assistant", "after the last FAIL").end("agent", "?");
    let lake = Lake::of([scenarios::flipped_session("p1", &task(), Some(&key)), fail.build()]);
    let done = run(&lake, signed_request());
    assert_eq!(done.pairs().len(), 1);
    assert!(!done.text("preference/train-00000-of-00001.jsonl").contains("after the last FAIL"));
}
