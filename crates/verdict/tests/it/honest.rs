//! Sessions that nobody cheated in.

use lake_trace::{Mode, Outcome, Verdict};
use lake_verdict::{EMPTY_SHA256, Statement};

use crate::build::*;

/// A baseline that every session of the task shares.
fn shared(trace: &Trace) -> Statement {
    Statement {
        session_id: None,
        trace_sha256: None,
        trace_bytes: None,
        run_id: "shared-run".into(),
        ..trace.statement(Mode::Baseline, Verdict::Fail)
    }
}

#[test]
fn a_baseline_fail_and_a_later_pass_flip_the_session() {
    let mut trace = session(Verdict::Pass);
    let graded = trace
        .bytes
        .iter()
        .rposition(|b| *b == b'\n')
        .and_then(|end| trace.bytes[..end].iter().rposition(|b| *b == b'\n').map(|before| before as u64 + 1));
    trace.end("agent");
    let judged = trace.judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec![]));
    let pass = judged.pass.expect("evidence");
    assert_eq!((pass.record, Some(pass.prefix_end), pass.verified), (2, graded, true));
    assert_eq!(pass.run_id.as_deref(), Some("run-2"));
    assert!(pass.key_id.is_some() && pass.payload_digest.is_some());
    assert!(judged.records.iter().all(|r| r.verifies() && r.steps.iter().all(|s| s.ok)));
    assert_eq!(judged.failed.len(), 2);
    assert!(judged.negative.is_none());
}

#[test]
fn what_follows_the_first_pass_changes_nothing() {
    let mut trace = session(Verdict::Pass);
    let before = trace.judge();
    trace.message("broke it");
    trace.signed(Mode::Grade, Verdict::Fail);
    trace.unsigned(Mode::Grade, Verdict::Pass);
    trace.event("oracle_verdict", r#""seq":0,"mode":"grade","verdict":"PASS","signature":7"#);
    let after = trace.judge();
    assert_eq!((after.outcome, &after.pass, names(&after)), (Outcome::Flipped, &before.pass, vec![]));
    assert_eq!(after.records[4].flag.map(|f| f.as_str()), Some("unsigned"));
    assert_eq!(after.records[5].flag.map(|f| f.as_str()), Some("malformed"));
}

#[test]
fn a_session_that_never_passed_is_a_negative_if_the_agent_or_its_attempts_ended_it() {
    for (ended_by, counts) in [("agent", true), ("attempt_budget", true), ("user", false), ("harness_cap", false)] {
        let mut trace = session(Verdict::Fail);
        let end = trace.statement(Mode::Grade, Verdict::Fail).trace_bytes;
        trace.end(ended_by);
        let judged = trace.judge();
        assert_eq!(judged.outcome, Outcome::NoFlip);
        assert_eq!(judged.negative.is_some(), counts, "{ended_by}");
        assert!(judged.negative.is_none_or(|n| n.record == 2 && n.verified && Some(n.prefix_end) < end));
    }
    assert!(session(Verdict::Fail).judge().negative.is_none(), "swept");
}

#[test]
fn a_shared_baseline_starts_any_session_of_its_task() {
    let mut trace = Trace::new();
    trace.sign(&shared(&trace));
    let again = shared(&trace);
    trace.message("work");
    trace.signed(Mode::Grade, Verdict::Pass);
    assert_eq!(trace.judge().outcome, Outcome::Flipped);

    // A resumed session shows it once more.
    let mut resumed = Trace::new();
    resumed.sign(&shared(&resumed));
    let (attempt, prev) = (resumed.attempt, resumed.prev.clone());
    let first = Statement { attempt: 0, prev: None, ..again };
    resumed.sign(&first);
    (resumed.attempt, resumed.prev) = (attempt, prev);
    resumed.signed(Mode::Grade, Verdict::Pass);
    let judged = resumed.judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec![]));
}

#[test]
fn an_unsigned_error_of_the_gate_stands_outside_the_chain() {
    let mut trace = started();
    let before = trace.clone();
    trace.unsigned(Mode::Grade, Verdict::Error);
    (trace.attempt, trace.prev) = (before.attempt, before.prev);
    trace.signed(Mode::Grade, Verdict::Pass);
    let judged = trace.judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec![]));
}

#[test]
fn a_signed_error_is_part_of_the_chain() {
    let mut trace = started();
    trace.signed(Mode::Grade, Verdict::Error);
    trace.signed(Mode::Grade, Verdict::Pass);
    assert_eq!(trace.judge().outcome, Outcome::Flipped);
}

#[test]
fn the_pair_may_be_missing_where_nothing_is_decided() {
    let mut trace = Trace::new();
    let bare = Statement { trace_sha256: None, trace_bytes: None, ..trace.statement(Mode::Baseline, Verdict::Fail) };
    trace.sign(&bare);
    trace.signed(Mode::Grade, Verdict::Pass);
    assert_eq!(trace.judge().outcome, Outcome::Flipped);
}

#[test]
fn a_repository_is_compared_without_case_and_in_any_form_of_its_remote() {
    let mut trace = Trace::start(&format!(
        r#""repo":"https://GitHub.com/Acme/Billing.git","base_commit":"{BASE}","task_id":"{TASK}""#
    ));
    let statement =
        Statement { repo: "GitHub.com/acme/BILLING".into(), ..trace.statement(Mode::Baseline, Verdict::Fail) };
    trace.sign(&statement);
    trace.signed(Mode::Grade, Verdict::Pass);
    let judged = trace.judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec![]));
}

#[test]
fn without_a_trust_file_the_records_are_taken_at_their_word() {
    let mut trace = Trace::new();
    trace.unsigned(Mode::Baseline, Verdict::Fail);
    trace.message("work");
    let at = trace.bytes.len() as u64;
    let statement = trace.statement(Mode::Grade, Verdict::Pass);
    trace.record(&statement, "\"nonsense\"");
    let judged = judge_bytes(&trace.bytes, None, false);
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec![]));
    let pass = judged.pass.expect("evidence");
    assert_eq!((pass.prefix_end, pass.verified, pass.key_id), (at, false, None));
    assert_eq!(pass.diff_sha256, Some(statement.diff_sha256));
    assert_eq!(judged.failed_diffs, [EMPTY_SHA256]);
    assert!(judged.failed.is_empty());
}

#[test]
fn a_signature_is_asked_for_by_the_flag_or_by_a_keys_scope() {
    let mut trace = Trace::new();
    trace.unsigned(Mode::Baseline, Verdict::Fail);
    trace.unsigned(Mode::Grade, Verdict::Pass);
    trace.end("agent");
    let elsewhere = trace_with_scope("gitlab.com/**");
    for (trust, require, expected) in [
        (&elsewhere, false, Outcome::Flipped),
        (&elsewhere, true, Outcome::Unproven),
        (&trust(), false, Outcome::Unproven),
    ] {
        let judged = judge_bytes(&trace.bytes, Some(trust), require);
        assert_eq!(judged.outcome, expected);
        assert_eq!(judged.pass.is_none(), expected == Outcome::Unproven);
        assert_eq!(names(&judged).contains(&"unsigned"), expected == Outcome::Unproven);
    }
}

fn trace_with_scope(scope: &str) -> lake_verdict::Trust {
    trust_with(&format!("repos = [\"{scope}\"]\n"))
}

#[test]
fn an_unsigned_fail_is_no_negative_where_a_signature_is_asked_for() {
    let mut trace = Trace::new();
    trace.unsigned(Mode::Baseline, Verdict::Fail);
    trace.unsigned(Mode::Grade, Verdict::Fail);
    trace.end("agent");
    let judged = trace.judge();
    assert_eq!((judged.outcome, judged.negative), (Outcome::NoFlip, None));
    let open = judge_bytes(&trace.bytes, None, false);
    assert_eq!((open.outcome, open.negative.map(|n| n.record)), (Outcome::NoFlip, Some(1)));
}
