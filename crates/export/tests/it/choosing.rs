//! Who is in the supervised set, and why the others are not.

use lake_export::{Request, Scans};
use lake_testkit::{EMPTY_SHA256, Object, SessionBuilder, Task, scenarios, trust_toml};
use lake_trace::Verdict;
use lake_verdict::Trust;

use crate::lake::{Lake, key, request, run, run_with, signed_request};

fn task() -> Task {
    Task::new("github.com/acme/billing", "bill-1")
}

fn flipped(id: &str) -> Vec<u8> {
    scenarios::flipped_session(id, &task(), None)
}

fn one(list: &[(String, String)]) -> Option<(&str, &str)> {
    match list {
        [(session, reason)] => Some((session, reason)),
        _ => None,
    }
}

#[test]
fn each_session_is_used_or_listed_once_per_set() {
    let key = key();
    let untracked = scenarios::untracked_session("s4", "github.com/acme/billing");
    let lake = Lake::of([
        scenarios::flipped_session("s1", &task(), Some(&key)),
        scenarios::no_flip_session("s2", &task(), Some(&key), 2),
        scenarios::flipped_session("s3", &task(), None),
        untracked,
        scenarios::retried_session("s5", &task(), Some(&key), 1),
    ]);
    let done = run(&lake, signed_request());
    assert_eq!(done.sft().len(), 2);
    assert_eq!(done.pairs().len(), 1);
    for (set, counts) in &done.report.manifest.sets {
        assert_eq!(counts.used + counts.excluded.values().sum::<u64>(), counts.selected);
        assert_eq!(done.excluded(set).len() as u64, counts.selected - counts.used);
    }
    let unsigned = done.exclusions().into_iter().find(|l| l["session_id"] == "s3").expect("listed");
    assert_eq!(
        unsigned.to_string(),
        r#"{"branch":0,"flags":["unsigned"],"reason":"unsigned","session_id":"s3","set":"sft","step":"signature"}"#
    );
    let reasons = done.excluded("sft");
    assert!(reasons.contains(&("s2".into(), "no_flip".into())) && reasons.contains(&("s4".into(), "untracked".into())));
    assert_eq!(done.report.rows.len(), 4);
    assert_eq!(done.report.rows[0].key_ids, [key.id()]);
}

#[test]
fn lines_after_the_pass_are_in_no_row() {
    let key = key();
    let mut session = scenarios::graded("s1", &task(), Some(&key), &[Verdict::Pass]);
    session.message("assistant", "Now I delete the tests.").grade(Verdict::Pass, "more").raw("{broken\n");
    let done = run(&Lake::of([session.build()]), signed_request());
    assert_eq!(done.sft().len(), 1);
    assert!(!done.text("sft/train-00000-of-00001.jsonl").contains("delete the tests"));
    assert!(!done.text("sft/train-00000-of-00001.jsonl").contains("oracle_verdict"));
}

#[test]
fn a_reject_inside_what_was_graded_keeps_the_session_out() {
    let mut session = SessionBuilder::new("s1", &task());
    session.start().prompt().baseline(Verdict::Fail).raw("<<<<<<< HEAD\n");
    session.message("assistant", "done").grade(Verdict::Pass, "diff");
    assert_eq!(one(&run(&Lake::of([session.build()]), request()).excluded("sft")), Some(("s1", "reject")));
}

#[test]
fn flags_and_forks_keep_a_session_out() {
    let start = |source: &str, more: fn(Object) -> Object| {
        let mut session = SessionBuilder::new("s1", &task());
        let fields = more(session.start_fields(source));
        session.event("session_start", fields).prompt().baseline(Verdict::Fail);
        session.message("assistant", "done").grade(Verdict::Pass, "diff");
        run(&Lake::of([session.build()]), request()).excluded("sft")
    };
    assert_eq!(one(&start("fork", |f| f)), Some(("s1", "fork")));
    assert_eq!(one(&start("resume", |f| f.text("parent_session_id", "s0"))), Some(("s1", "fork")));
    assert_eq!(one(&start("startup", |f| f)), None);
    let mut session = SessionBuilder::new("s1", &task());
    let fields = session.start_fields("startup").build().replace(EMPTY_SHA256, &"ab".repeat(32));
    let line = session.line("session_start", Object::new());
    session.raw(format!("{},{}\n", &line[..line.len() - 1], &fields[1..]));
    session.prompt().baseline(Verdict::Fail).message("assistant", "done").grade(Verdict::Pass, "diff");
    assert_eq!(one(&run(&Lake::of([session.build()]), request()).excluded("sft")), Some(("s1", "dirty_start")));
}

#[test]
fn what_cannot_be_rendered_keeps_a_session_out() {
    for (kind, fields) in [
        ("message", Object::new().text("role", "assistant").raw("text", "7")),
        ("message", Object::new().text("role", "developer").text("text", "x")),
        ("message", Object::new().raw("role", "1").text("text", "x")),
        ("tool_call", Object::new().raw("tool", "[]").raw("input", "{}")),
        ("tool_call", Object::new().text("tool", "Bash").raw("input", "[1]")),
        ("tool_call", Object::new().raw("input", "{}")),
    ] {
        let mut session = SessionBuilder::new("s1", &task());
        session.start().prompt().baseline(Verdict::Fail).event(kind, fields);
        session.message("assistant", "done").grade(Verdict::Pass, "diff");
        assert_eq!(one(&run(&Lake::of([session.build()]), request()).excluded("sft")), Some(("s1", "unrenderable")));
    }
}

#[test]
fn a_session_without_a_turn_of_the_model_trains_nothing() {
    let mut session = SessionBuilder::new("s1", &task());
    session.start().prompt().baseline(Verdict::Fail).grade(Verdict::Pass, "diff");
    let done = run(&Lake::of([session.build()]), request());
    assert_eq!(one(&done.excluded("sft")), Some(("s1", "nothing_trained")));
    assert_eq!(one(&done.excluded("preference")), Some(("s1", "nothing_trained")));
}

#[test]
fn a_repository_of_a_key_never_exports_an_unsigned_session() {
    let scoped = |repo: &str| Trust::parse(&trust_toml(&[key().trust_entry().repos(&[repo])])).expect("a trust file");
    let reasons = |repo: &str| {
        let request = Request { trust: Some(scoped(repo)), ..request() };
        run(&Lake::of([flipped("s1")]), request).excluded("sft")
    };
    assert_eq!(one(&reasons("github.com/acme/*")), Some(("s1", "unsigned")));
    assert_eq!(one(&reasons("github.com/other/*")), None);
}

#[test]
fn a_session_retracts_itself_and_only_from_where_it_came() {
    let tail = |id: &str, of: &str| {
        let mut session = SessionBuilder::new(id, &task());
        session.set_clock(1_748_900_000_000).correct(of, "retract", "wrong");
        session.build()
    };
    let sessions = |source: &'static str| {
        let mut lake = Lake::of([flipped("s1"), flipped("s2")]);
        lake.add_parts(&[("laptop", flipped("s3")), (source, tail("s3", "s3"))]);
        lake
    };
    assert_eq!(one(&run(&sessions("laptop"), request()).excluded("sft")), Some(("s3", "retracted")));
    assert_eq!(one(&run(&sessions("other"), request()).excluded("sft")), None);
    let done = run(&sessions("other"), Request { corrections_from: vec!["other".into()], ..request() });
    assert_eq!(one(&done.excluded("sft")), Some(("s3", "retracted")));
}

#[test]
fn only_named_sources_retract_others_sessions() {
    let mut lake = Lake::of([flipped("s1"), flipped("s2")]);
    let mut session = SessionBuilder::new("note", &Task::untracked("github.com/acme/billing"));
    session.correct("s1", "retract", "leaked").correct("s2", "annotate", "nice");
    lake.add("review", session.build());
    let reasons = |from: Vec<String>, repos: Vec<String>| {
        let done = run(&lake, Request { corrections_from: from, repos, ..request() });
        done.excluded("sft").into_iter().filter(|(_, reason)| reason == "retracted").collect::<Vec<_>>()
    };
    assert_eq!(one(&reasons(vec!["review".into()], Vec::new())), Some(("s1", "retracted")));
    // The correction stands outside the selection.
    assert_eq!(one(&reasons(vec!["review".into()], vec!["github.com/acme/billing".into()])), Some(("s1", "retracted")));
    assert_eq!(one(&reasons(Vec::new(), Vec::new())), None);
}

#[test]
fn the_selection_is_what_was_asked_for() {
    let other = Task::new("gitlab.com/other/tool", "t");
    let lake = Lake::of([flipped("s1"), scenarios::flipped_session("s2", &other, None)]);
    let ids = |request: Request| {
        let done = run(&lake, request);
        let rows = done.sft();
        assert_eq!(done.report.manifest.sets["sft"].selected, rows.len() as u64);
        rows.iter().map(|r| r["session_id"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(request()), ["s1", "s2"]);
    assert_eq!(ids(Request { repos: vec!["https://github.com/Acme/billing.git".into()], ..request() }), ["s1"]);
    assert_eq!(ids(Request { orgs: vec!["other".into()], ..request() }), ["s2"]);
    assert_eq!(ids(Request { models: vec!["model-b".into()], ..request() }), Vec::<String>::new());
    assert_eq!(ids(Request { until: Some(0), ..request() }), Vec::<String>::new());
    assert_eq!(ids(Request { since: Some(0), until: Some(i64::MAX), ..request() }), ["s1", "s2"]);
    assert_eq!(ids(Request { selection: Some([("s2".to_owned(), 0)].into()), ..request() }), ["s2"]);
}

#[test]
fn a_diff_that_fails_outside_the_selection_makes_its_pass_flaky() {
    let key = key();
    let graded = |id: &str, verdict: Verdict| {
        let mut session = SessionBuilder::new(id, &task()).signed(Some(&key));
        session.start().prompt().baseline(Verdict::Fail).message("assistant", "done").grade(verdict, "same diff");
        session.end("agent", "?");
        session.build()
    };
    let lake = Lake::of([graded("s1", Verdict::Pass), graded("s2", Verdict::Fail), graded("s3", Verdict::Fail)]);
    let selection = Some([("s1".to_owned(), 0)].into());
    let done = run(&lake, Request { selection, ..signed_request() });
    assert_eq!(one(&done.excluded("sft")), Some(("s1", "flaky")));
    let all = run(&lake, signed_request());
    assert!(all.excluded("preference").iter().all(|(_, reason)| reason == "flaky"), "{:?}", all.excluded("preference"));
}

#[test]
fn erased_bytes_are_listed_and_told() {
    let lake = Lake { gone: Some("s1".into()), ..Lake::of([flipped("s1"), flipped("s2")]) };
    let done = run_with(&lake, &Scans::new(), request());
    assert_eq!(one(&done.excluded("sft")), Some(("s1", "purged")));
    assert!(done.report.warnings.iter().any(|w| w.contains("purged")), "{:?}", done.report.warnings);
}
