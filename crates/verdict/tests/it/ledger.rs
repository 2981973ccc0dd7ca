//! What the oracle wrote down, beside what the trace shows.

use lake_trace::{Mode, Outcome, Verdict};
use lake_verdict::{Across, EMPTY_SHA256, Judged, Ledger, LedgerError, LedgerReader, Statement, sign};

use crate::build::*;

fn with(trace: &Trace, ledger: &Ledger) -> Judged {
    judge_with(&trace.bytes, Some(&trust()), true, Some(COMMITTED), Some(ledger))
}

/// A grade that the oracle signed and the trace never got; the gate notes that it got nothing.
fn unheard(trace: &mut Trace, verdict: Verdict) {
    let statement = trace.statement(Mode::Grade, verdict);
    trace.counted(&statement);
}

#[test]
fn a_session_that_shows_all_is_judged_as_without_a_ledger() {
    for last in [Verdict::Pass, Verdict::Fail] {
        let mut trace = session(last);
        trace.end("agent");
        let judged = with(&trace, &trace.ledger());
        assert_eq!(judged, trace.judge());
        assert!(judged.pass.is_some() || judged.negative.is_some());
    }
}

#[test]
fn a_gap_is_filled_by_what_the_ledger_has() {
    let mut trace = started();
    unheard(&mut trace, Verdict::Fail);
    trace.message("more work");
    trace.signed(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "chain_gap");
    let judged = with(&trace, &trace.ledger());
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec!["verdict_missing"]));
    let pass = judged.pass.as_ref().expect("evidence");
    assert_eq!((pass.record, pass.verified, pass.from_ledger), (2, true, false));
    let filled = &judged.records[1];
    assert_eq!((filled.record, filled.ledger_seq, filled.at.line), (1, Some(2), 0));
    assert!(filled.verifies() && judged.missing.is_empty());
    assert_eq!(filled.steps.iter().map(|s| s.name).collect::<Vec<_>>()[..2], ["ledger", "session"]);
    assert_eq!(judged.failed.len(), 2);
}

#[test]
fn two_in_a_row_and_a_shared_baseline_are_filled_too() {
    let mut trace = Trace::new();
    let mut shared = trace.statement(Mode::Baseline, Verdict::Fail);
    (shared.session_id, shared.trace_bytes, shared.trace_sha256) = (None, None, None);
    trace.counted(&shared);
    unheard(&mut trace, Verdict::Error);
    trace.message("work");
    trace.signed(Mode::Grade, Verdict::Pass);
    let judged = with(&trace, &trace.ledger());
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec!["verdict_missing"; 2]));
    // A ledger without one of the two cannot lead from the one to the other.
    let judged = with(&trace, &ledger_of(&trace.signed[1..]));
    assert_eq!((judged.outcome, judged.pass), (Outcome::Unproven, None));
}

#[test]
fn a_verdict_that_came_too_late_for_the_trace_counts_where_it_is_bound() {
    for verdict in [Verdict::Pass, Verdict::Fail, Verdict::Error] {
        let mut trace = started();
        let graded = trace.bytes.len() as u64;
        unheard(&mut trace, verdict);
        trace.event("oracle_verdict", r#""mode":"grade","verdict":"ERROR","signature":null"#);
        trace.end("agent");
        assert_eq!(trace.judge().pass, None);
        let judged = with(&trace, &trace.ledger());
        assert_eq!(names(&judged), ["verdict_missing"]);
        let expected = match verdict {
            Verdict::Pass => Outcome::Flipped,
            Verdict::Fail => Outcome::NoFlip,
            Verdict::Error => Outcome::OracleError,
        };
        assert_eq!((judged.outcome, judged.pass.is_some()), (expected, verdict == Verdict::Pass));
        assert!(judged.pass.is_none_or(|pass| pass.from_ledger && pass.verified && pass.prefix_end == graded));
        // What the lake lacks keeps a session from the negatives.
        assert_eq!(judged.negative, None);
    }
}

#[test]
fn a_session_that_lost_its_last_pass_is_no_negative() {
    let mut honest = session(Verdict::Pass);
    honest.end("agent");
    let text = String::from_utf8(honest.bytes.clone()).expect("text");
    // The line alone is gone: what it was bound to stands, and the PASS with it.
    let mut lines: Vec<&str> = text.lines().collect();
    let pass = lines.iter().rposition(|line| line.contains("\"PASS\"")).expect("a PASS");
    lines.remove(pass);
    let stripped = lines.join("\n") + "\n";
    let alone = judge_bytes(stripped.as_bytes(), Some(&trust()), true);
    assert!(alone.negative.is_some() && alone.flags.is_empty());
    let judge = |text: &str| judge_with(text.as_bytes(), Some(&trust()), true, Some(COMMITTED), Some(&honest.ledger()));
    let judged = judge(&stripped);
    assert_eq!((judged.outcome, names(&judged), judged.negative), (Outcome::Flipped, vec!["verdict_missing"], None));
    // The work before it is gone too: nobody can say what passed, but that something did is known.
    let gone = text.lines().take(pass - 1).map(|line| format!("{line}\n")).collect::<String>()
        + &text.lines().last().map(|line| format!("{line}\n")).expect("the end");
    assert!(judge_bytes(gone.as_bytes(), Some(&trust()), true).negative.is_some());
    let judged = judge(&gone);
    assert_eq!((judged.outcome, names(&judged)), (Outcome::NoFlip, vec!["verdict_missing"]));
    assert_eq!((judged.negative, judged.missing.len(), judged.missing[0].0), (None, 1, 3));
}

#[test]
fn what_is_missing_never_costs_an_earlier_pass() {
    let mut trace = session(Verdict::Pass);
    let before = trace.judge();
    trace.message("more");
    unheard(&mut trace, Verdict::Fail);
    // Another oracle's chain of the same session, of which the trace shows nothing.
    let mut other = Trace::new();
    let baseline = Statement { run_id: "other-0".into(), ..other.statement(Mode::Baseline, Verdict::Pass) };
    other.counted(&baseline);
    let judged = with(&trace, &ledger_of(&[trace.signed.clone(), other.signed].concat()));
    assert_eq!((judged.outcome, judged.pass.as_ref()), (Outcome::Flipped, before.pass.as_ref()));
    assert_eq!((names(&judged).as_slice(), judged.missing.len()), (["verdict_missing"].as_slice(), 2));
}

#[test]
fn what_does_not_fit_the_trace_fills_no_gap() {
    let mut trace = started();
    let mut wrong = trace.statement(Mode::Grade, Verdict::Fail);
    wrong.trace_sha256 = Some(sha(b"another trace"));
    trace.counted(&wrong);
    trace.message("more work");
    trace.signed(Mode::Grade, Verdict::Pass);
    let judged = with(&trace, &trace.ledger());
    assert_eq!((judged.outcome, judged.pass.as_ref()), (Outcome::Unproven, None));
    assert_eq!(names(&judged), ["verdict_missing", "trace_changed"]);
}

#[test]
fn the_ledger_of_another_session_says_nothing_here() {
    let mut trace = session(Verdict::Fail);
    trace.end("agent");
    let mut other = session(Verdict::Fail);
    let pass = Statement {
        session_id: Some("s-2".into()),
        run_id: "run-x".into(),
        ..other.statement(Mode::Grade, Verdict::Pass)
    };
    other.counted(&pass);
    assert_eq!(with(&trace, &ledger_of(&other.signed[3..])), trace.judge());
}

#[test]
fn a_line_that_stands_in_the_wrong_place_is_not_mended() {
    let mut trace = session(Verdict::Pass);
    trace.end("agent");
    let text = String::from_utf8(trace.bytes.clone()).expect("text");
    let mut lines: Vec<&str> = text.lines().collect();
    let fail = lines.iter().position(|line| line.contains("\"attempt\":1")).expect("a FAIL");
    let line = lines.remove(fail);
    lines.push(line);
    let moved = lines.join("\n") + "\n";
    let judged = judge_with(moved.as_bytes(), Some(&trust()), true, Some(COMMITTED), Some(&trace.ledger()));
    assert_eq!((judged.outcome, judged.pass), (Outcome::Unproven, None));
}

#[test]
fn a_diff_that_failed_in_the_ledger_alone_is_flaky() {
    let mut passed = started();
    let failed = Statement {
        session_id: Some("s-9".into()),
        run_id: "run-9".into(),
        ..passed.statement(Mode::Grade, Verdict::Fail)
    };
    passed.signed(Mode::Grade, Verdict::Pass);
    let claim = passed.judge().claim(SESSION, 0, 1);
    let mut across = Across::new();
    across.add(&claim);
    assert!(across.flags(&claim).is_empty());
    across.add_ledger(&ledger_of(&[sign(&key(1), &failed.to_payload())]));
    assert_eq!(across.flags(&claim), [lake_verdict::VerdictFlag::Flaky]);
}

#[test]
fn a_branch_that_holds_the_pass_comes_before_one_to_which_only_the_ledger_brings_it() {
    let honest = session(Verdict::Pass);
    let cut = honest.bytes[..honest.bytes.len() - 1].iter().rposition(|b| *b == b'\n').expect("a line") + 1;
    let copy = judge_with(&honest.bytes[..cut], Some(&trust()), true, Some(COMMITTED), Some(&honest.ledger()));
    assert_eq!(copy.outcome, Outcome::Flipped);
    let claims = [copy.claim(SESSION, 0, 1), with(&honest, &honest.ledger()).claim(SESSION, 1, 1)];
    let mut across = Across::new();
    claims.iter().for_each(|claim| across.add(claim));
    assert_eq!(across.flags(&claims[0]), [lake_verdict::VerdictFlag::ReplayedRun]);
    assert!(across.flags(&claims[1]).is_empty());
}

#[test]
fn a_ledger_is_read_strictly() {
    let envelopes = session(Verdict::Pass).signed;
    let text = ledger_text(&envelopes);
    let error = |text: &str| Ledger::parse(text, &trust()).map(|_| ()).expect_err(text);
    assert_eq!(error(&text.replace("\"seq\":2", "\"seq\":3")), LedgerError::Gap { line: 2, found: 3, expected: 2 });
    assert_eq!(error(&text.replacen("\"seq\":1", "\"seq\":4", 1)), LedgerError::Gap { line: 1, found: 4, expected: 1 });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(error(&[lines[0], lines[0]].join("\n")), LedgerError::Gap { line: 2, found: 1, expected: 2 });
    for bad in ["7", "{}", "{\"seq\":1}", "{\"seq\":1.0,\"envelope\":{}}", "{\"seq\":-1,\"envelope\":{}}", "nonsense"] {
        assert_eq!(error(bad), LedgerError::Line { line: 1 }, "{bad}");
    }
    assert_eq!(error(&text.replacen("{\"seq\":1", "{\"more\":1,\"seq\":1", 1)), LedgerError::Line { line: 1 });
    assert_eq!(error(&text.replacen("{\"seq\":1", "{\"seq\":1,\"seq\":1", 1)), LedgerError::Line { line: 1 });
    assert!(matches!(error("{\"seq\":1,\"envelope\":{}}"), LedgerError::Envelope { line: 1, .. }));
    // An oracle's own PASS that became a FAIL.
    let swapped = envelopes[2].replace(
        &envelopes[2][envelopes[2].find("\"sig\"").expect("a sig")..],
        &envelopes[1][envelopes[1].find("\"sig\"").expect("a sig")..],
    );
    let refused = error(&format!("{{\"seq\":1,\"envelope\":{swapped}}}"));
    assert!(matches!(refused, LedgerError::Refused { line: 1, flag, .. } if flag.as_str() == "bad_signature"));
    // From 0 or from 1; blank lines are none; the same verdict twice is one.
    let from_0 = format!("{{\"seq\":0,\"envelope\":{}}}\n\n{{\"seq\":1,\"envelope\":{}}}", envelopes[0], envelopes[0]);
    assert_eq!(Ledger::parse(&from_0, &trust()).expect("a ledger").entries().len(), 1);
}

#[test]
fn verdicts_of_keys_that_may_not_say_it_are_kept_apart() {
    let mut trace = Trace::new();
    let statement = trace.statement(Mode::Baseline, Verdict::Fail);
    trace.signed.push(sign(&key(9), &statement.to_payload()));
    let elsewhere = Statement { repo: "github.com/other/x".into(), ..statement.clone() };
    trace.signed.push(sign(&key(1), &elsewhere.to_payload()));
    let ledger = trace.ledger();
    let unused: Vec<_> = ledger.unused().iter().map(|(line, flag)| (*line, flag.as_str())).collect();
    assert_eq!((ledger.entries().len(), unused), (0, vec![(1, "untrusted_key"), (2, "key_scope")]));
    // A stolen key can sign any time: what no batch held before counts for nothing.
    let stolen = trust_with(
        "revoked_at = 2027-01-01T00:00:00Z\nreason = \"compromised\"\ncompromised_since = 2026-06-01T00:00:00Z\n",
    );
    let text = ledger_text(&session(Verdict::Pass).signed);
    let ledger = Ledger::parse(&text, &stolen).expect("a ledger");
    assert!(ledger.entries().is_empty() && ledger.unused().iter().all(|(_, f)| f.as_str() == "key_revoked"));
}

#[test]
fn two_ledgers_are_counted_each_by_itself() {
    let first = session(Verdict::Fail);
    let mut other = Trace::new();
    let mut shared = other.statement(Mode::Baseline, Verdict::Fail);
    (shared.session_id, shared.trace_bytes, shared.trace_sha256) = (None, None, None);
    shared.run_id = "shared".into();
    other.counted(&shared);
    let trust = trust();
    let mut reader = LedgerReader::new(&trust);
    for text in [ledger_text(&first.signed), ledger_text(&other.signed)] {
        reader.next_ledger();
        text.lines().for_each(|line| reader.line(line).expect("a line"));
    }
    let ledger = reader.finish();
    assert_eq!((ledger.entries().len(), ledger.of_session(SESSION).count()), (4, 3));
    assert_eq!(shared.diff_sha256, EMPTY_SHA256);
    // What is known of one session changes with its own verdicts only.
    let alone = ledger_of(&first.signed);
    assert_eq!(alone.session_digest(SESSION), ledger.session_digest(SESSION));
    assert_ne!(alone.digest(), ledger.digest());
    assert_ne!(ledger_of(&first.signed[..2]).session_digest(SESSION), alone.session_digest(SESSION));
    assert_eq!(alone.session_digest("s-2"), None);
}
