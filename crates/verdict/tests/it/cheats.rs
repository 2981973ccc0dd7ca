//! Each way to cheat, and what catches it: one test a row.

use lake_trace::{Mode, Outcome, Verdict};
use lake_verdict::{EMPTY_SHA256, Statement, Trust, pae, payload_digest, sign};

use crate::build::*;

/// A PASS that was changed before it was signed.
fn pass(change: impl FnOnce(&mut Statement)) -> Trace {
    let mut trace = started();
    let mut statement = trace.statement(Mode::Grade, Verdict::Pass);
    change(&mut statement);
    trace.sign(&statement);
    trace
}

#[test]
fn no_signature() {
    let mut trace = started();
    trace.unsigned(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "unsigned");
    let mut unsigned_fail = started();
    let (attempt, prev) = (unsigned_fail.attempt, unsigned_fail.prev.clone());
    unsigned_fail.unsigned(Mode::Grade, Verdict::Fail);
    (unsigned_fail.attempt, unsigned_fail.prev) = (attempt, prev);
    unsigned_fail.signed(Mode::Grade, Verdict::Pass);
    caught(&unsigned_fail.judge(), "unsigned");
}

#[test]
fn signed_by_a_key_that_is_not_trusted() {
    let mut trace = started();
    let statement = trace.statement(Mode::Grade, Verdict::Pass);
    let forged = sign(&key(9), &statement.to_payload());
    let mut named = trace.clone();
    trace.record(&statement, &forged);
    caught(&trace.judge(), "untrusted_key");

    let id = |n| lake_verdict::key_id(&key(n).verifying_key());
    named.record(&statement, &forged.replace(&id(9), &id(1)));
    caught(&named.judge(), "bad_signature");
}

#[test]
fn the_key_id_is_a_hint_only() {
    let mut trace = started();
    let statement = trace.statement(Mode::Grade, Verdict::Pass);
    let id = lake_verdict::key_id(&key(1).verifying_key());
    trace.record(&statement, &sign(&key(1), &statement.to_payload()).replace(&id, "someone"));
    assert_eq!(trace.judge().outcome, Outcome::Flipped);
}

fn with_signature(change: impl FnOnce(&mut [u8; 64])) -> Trace {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut trace = started();
    let statement = trace.statement(Mode::Grade, Verdict::Pass);
    let envelope = sign(&key(1), &statement.to_payload());
    let from = envelope.find("\"sig\":\"").expect("sig") + 7;
    let text = &envelope[from..from + 88];
    let mut bytes: [u8; 64] = STANDARD.decode(text).expect("base64").try_into().expect("64 bytes");
    change(&mut bytes);
    trace.record(&statement, &envelope.replace(text, &STANDARD.encode(bytes)));
    trace
}

#[test]
fn signature_or_payload_altered() {
    caught(&with_signature(|sig| sig[40] ^= 1).judge(), "bad_signature");
    caught(&with_signature(|sig| sig[3] ^= 1).judge(), "bad_signature");
    let mut trace = started();
    let failed = trace.statement(Mode::Grade, Verdict::Fail);
    let passed = trace.statement(Mode::Grade, Verdict::Pass);
    let (real, wanted) = (sign(&key(1), &failed.to_payload()), sign(&key(1), &passed.to_payload()));
    let sig = |envelope: &str| envelope[envelope.find("\"signatures\"").expect("signatures")..].to_owned();
    trace.record(&passed, &wanted.replace(&sig(&wanted), &sig(&real)));
    caught(&trace.judge(), "bad_signature");
}

#[test]
fn a_signature_that_no_signer_makes() {
    // S plus the order of the group.
    let plus_order = |sig: &mut [u8; 64]| {
        let order = hex::decode("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010").expect("hex");
        let mut carry = 0u16;
        for (byte, add) in sig[32..].iter_mut().zip(order) {
            carry += u16::from(*byte) + u16::from(add);
            *byte = carry as u8;
            carry >>= 8;
        }
    };
    caught(&with_signature(plus_order).judge(), "bad_signature");
    for point in ["01", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "00"] {
        let point = hex::decode(point).expect("hex");
        let small = |sig: &mut [u8; 64]| {
            sig.fill(0);
            sig[..point.len()].copy_from_slice(&point);
        };
        caught(&with_signature(small).judge(), "bad_signature");
    }
    // Whichever key it names: S is exactly the order.
    let order = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";
    let exactly = with_signature(|sig| sig[32..].copy_from_slice(&hex::decode(order).expect("hex")));
    let id = lake_verdict::key_id(&key(1).verifying_key());
    let text = String::from_utf8(exactly.bytes).expect("text");
    let last = text[..text.len() - 1].rfind('\n').expect("a line");
    let unnamed = format!("{}{}", &text[..last], text[last..].replace(&id, "someone"));
    caught(&judge_bytes(unnamed.as_bytes(), Some(&trust()), true), "bad_signature");
}

#[test]
fn another_payload_type_or_predicate_type() {
    let mut trace = started();
    let statement = trace.statement(Mode::Grade, Verdict::Pass);
    let envelope = sign(&key(1), &statement.to_payload());
    trace.record(&statement, &envelope.replace("vnd.in-toto+json", "vnd.other+json"));
    caught(&trace.judge(), "wrong_type");
    caught(&pass_payload(|p| p.replace("oracle-verdict:v1", "oracle-verdict:v2")).judge(), "wrong_type");
    caught(&pass_payload(|p| p.replace("in-toto.io/Statement/v1", "in-toto.io/Statement/v0.1")).judge(), "wrong_type");
    // Signed under its own type it is no better.
    use ed25519_dalek::Signer;
    assert_ne!(key(1).sign(&pae("application/x", b"{}")), key(1).sign(&pae(lake_verdict::PAYLOAD_TYPE, b"{}")));
}

#[test]
fn the_event_says_what_the_payload_does_not() {
    let honest = session(Verdict::Fail);
    let text = String::from_utf8(honest.bytes.clone()).expect("text");
    let last = text[..text.len() - 1].rfind('\n').expect("a line") + 1;
    for (from, to) in [
        (r#""verdict":"FAIL""#, r#""verdict":"PASS""#),
        (r#""attempt":2"#, r#""attempt":3"#),
        (r#""run_id":"run-2""#, r#""run_id":"run-9""#),
        (r#""tests_hash":"sha256:tests-1""#, r#""tests_hash":"sha256:tests-2""#),
        (r#""base_commit":"aa046a3a""#, r#""base_commit":"aa046a3b""#),
        (r#""task_id":"task-1""#, r#""task_id":null"#),
        (r#""diff_sha256""#, r#""diff""#),
    ] {
        assert!(text[last..].contains(from), "{from}");
        let changed = format!("{}{}", &text[..last], text[last..].replace(from, to));
        let judged = judge_bytes(changed.as_bytes(), Some(&trust()), true);
        caught(&judged, "field_mismatch");
    }
    let mut shown = Trace::new();
    let baseline = shown.statement(Mode::Baseline, Verdict::Pass);
    let as_grade = Statement { mode: Mode::Grade, ..baseline.clone() };
    shown.record(&as_grade, &sign(&key(1), &baseline.to_payload()));
    caught(&shown.judge(), "field_mismatch");
}

#[test]
fn from_another_session_repository_task_or_base() {
    caught(&pass(|s| s.session_id = Some("s-2".into())).judge(), "wrong_session");
    caught(&pass(|s| s.repo = "github.com/acme/other".into()).judge(), "wrong_repo");
    caught(&pass(|s| s.task_id = "task-2".into()).judge(), "wrong_task");
    caught(&pass(|s| s.base_commit = "bb".into()).judge(), "wrong_base");
    // A shared baseline of another task starts nothing here.
    let mut trace = Trace::new();
    let mut baseline = trace.statement(Mode::Baseline, Verdict::Fail);
    (baseline.session_id, baseline.trace_bytes, baseline.trace_sha256) = (None, None, None);
    baseline.task_id = "task-2".into();
    trace.sign(&baseline);
    trace.signed(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "wrong_task");
}

#[test]
fn a_whole_envelope_copied_from_another_session() {
    let honest = session(Verdict::Pass);
    let text = String::from_utf8(honest.bytes).expect("text");
    // The thief keeps the lines and writes its own id over the plain ones; the payloads still say whose they are.
    let stolen = text.replace("\"session_id\":\"s-1\"", "\"session_id\":\"s-9\"");
    let judged = judge_bytes(stolen.as_bytes(), Some(&trust()), true);
    assert_eq!((judged.outcome, judged.pass.as_ref()), (Outcome::Unproven, None));
    assert_eq!(names(&judged), ["wrong_session"; 3]);
    // What the thief was shown to have failed stays true, and is told.
    assert_eq!(judged.failed.len(), 2);
}

#[test]
fn a_fail_in_the_middle_removed() {
    // Not even a binding to the trace would tell: the oracle's chain does.
    let mut trace = started();
    let failed = trace.statement(Mode::Grade, Verdict::Fail);
    (trace.attempt, trace.prev) = (2, Some(payload_digest(&failed.to_payload())));
    trace.signed(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "chain_gap");
    // The right number, but another's `prev`.
    caught(&pass(|s| s.prev = Some(payload_digest(b"x"))).judge(), "chain_gap");
    caught(&pass(|s| s.prev = None).judge(), "chain_gap");
    caught(&pass(|s| s.attempt = 0).judge(), "chain_gap");
}

#[test]
fn the_baseline_removed() {
    let mut trace = Trace::new();
    (trace.attempt, trace.prev) = (1, Some(payload_digest(b"x")));
    trace.signed(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "chain_gap");
}

#[test]
fn the_same_run_used_twice() {
    caught(&pass(|s| s.run_id = "run-0".into()).judge(), "replayed_run");
    let mut trace = started();
    let failed = trace.statement(Mode::Grade, Verdict::Fail);
    trace.sign(&failed);
    trace.sign(&failed);
    trace.signed(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "replayed_run");
}

#[test]
fn the_trace_edited_after_grading() {
    let honest = session(Verdict::Pass);
    let text = String::from_utf8(honest.bytes).expect("text");
    let line = text.lines().find(|l| l.contains("more work")).expect("a line");
    for edited in [
        text.replace("more work", "less work"),
        text.replace("more work", "better work"),
        text.replace(&format!("{line}\n"), ""),
        text.replace(&format!("{line}\n"), &format!("{{\"added\":1}}\n{line}\n")),
        text.replace(&format!("{line}\n"), &format!("\n{line}\n")),
    ] {
        let judged = judge_bytes(edited.as_bytes(), Some(&trust()), true);
        assert_eq!((judged.outcome, names(&judged)[0]), (Outcome::Unproven, "trace_changed"));
    }
    caught(&pass(|s| s.trace_bytes = Some(1 << 40)).judge(), "trace_changed");
}

#[test]
fn a_prefix_that_is_empty_not_whole_lines_too_short_or_too_long() {
    let bytes = started().bytes;
    let ends: Vec<usize> = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
    // Start, baseline, message.
    for n in [0, ends[0] - 1, ends[0], ends[1] - 1, ends[2] - 1] {
        let cut = |s: &mut Statement| {
            s.trace_bytes = Some(n as u64);
            s.trace_sha256 = Some(sha(&bytes[..n]));
        };
        caught(&pass(cut).judge(), "trace_unbound");
    }
    caught(&pass(|s| (s.trace_bytes, s.trace_sha256) = (None, None)).judge(), "trace_unbound");
    caught(&pass(|s| s.trace_bytes = None).judge(), "trace_unbound");
    caught(&pass(|s| s.trace_sha256 = None).judge(), "trace_unbound");
    // A message may come between the oracle's look and its verdict.
    let mut late = started();
    let statement = late.statement(Mode::Grade, Verdict::Pass);
    late.message("meanwhile");
    late.sign(&statement);
    assert_eq!(late.judge().outcome, Outcome::Flipped);
    // A prefix that goes past the verdict's own line cannot have the right hash too: it would hash its own signature.
    let mut long = started();
    let honest = long.statement(Mode::Grade, Verdict::Pass);
    long.sign(&honest);
    let mut past = started();
    past.sign(&Statement { trace_bytes: Some(long.bytes.len() as u64), ..honest });
    assert_eq!(past.bytes.len(), long.bytes.len());
    let judged = past.judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Unproven, vec!["trace_changed", "trace_unbound"]));
}

#[test]
fn a_prefix_before_the_sessions_own_start() {
    let mut trace = Trace::new();
    trace.bytes.clear();
    trace.message("before anything");
    let early = trace.statement(Mode::Baseline, Verdict::Fail);
    trace.bytes.extend_from_slice(&Trace::new().bytes);
    trace.sign(&early);
    trace.signed(Mode::Grade, Verdict::Pass);
    caught(&trace.judge(), "trace_unbound");
}

#[test]
fn a_negative_needs_its_trace_too() {
    let mut trace = started();
    let mut failed = trace.statement(Mode::Grade, Verdict::Fail);
    (failed.trace_bytes, failed.trace_sha256) = (None, None);
    trace.sign(&failed);
    trace.end("agent");
    let judged = trace.judge();
    assert_eq!((judged.outcome, names(&judged), judged.negative), (Outcome::NoFlip, vec!["trace_unbound"], None));
}

#[test]
fn lines_added_after_the_pass_are_in_no_row() {
    let mut trace = session(Verdict::Pass);
    let before = trace.judge();
    trace.event("message", r#""seq":0,"role":"user","text":"first of all""#);
    assert_eq!(trace.judge().pass, before.pass);
}

#[test]
fn a_key_outside_its_scope_or_window_or_name() {
    let honest = session(Verdict::Pass).bytes;
    let first = |trust: &Trust, committed| {
        let judged = judge_at(&honest, Some(trust), true, committed);
        assert!(judged.outcome == Outcome::Unproven || names(&judged).is_empty());
        names(&judged).first().copied()
    };
    let at = |rest: &str| first(&trust_with(rest), Some(COMMITTED));
    assert_eq!(at(""), None);
    assert_eq!(at("repos = [\"github.com/other/*\"]"), Some("key_scope"));
    assert_eq!(at("repos = []"), Some("key_scope"));
    caught(&pass(|s| s.oracle = "oracle-b".into()).judge(), "key_scope");
    // The window is half open; every verdict finishes at the first instant of 2026.
    assert_eq!(at("valid_from = 2026-01-01T00:00:00Z"), None);
    assert_eq!(at("valid_from = 2026-01-01T00:00:01Z"), Some("key_expired"));
    assert_eq!(at("valid_until = 2026-01-01T00:00:00Z"), Some("key_expired"));
    assert_eq!(at("valid_until = 2026-01-01T00:00:01Z"), None);
    assert_eq!(at("revoked_at = 2026-01-01T00:00:00Z\nreason = \"superseded\""), Some("key_revoked"));
    assert_eq!(at("revoked_at = 2026-01-01T00:00:01Z\nreason = \"superseded\""), None);
    // Whoever stole the key can write any time into the payload: only when the lake had it counts.
    let stolen = |since: &str| {
        trust_with(&format!("revoked_at = 2027-01-01T00:00:00Z\nreason = \"compromised\"\ncompromised_since = {since}"))
    };
    assert_eq!(first(&stolen("2026-01-01T01:00:00Z"), Some(COMMITTED)), Some("key_revoked"));
    assert_eq!(first(&stolen("2026-01-01T01:00:01Z"), Some(COMMITTED)), None);
    assert_eq!(first(&stolen("2026-06-01T00:00:00Z"), None), Some("key_revoked"));
}

#[test]
fn a_verdict_that_finished_after_the_lake_had_it() {
    let honest = session(Verdict::Pass).bytes;
    let finished = COMMITTED - 3_600_000;
    for (committed, late) in [(finished - 600_000, false), (finished - 600_001, true)] {
        let judged = judge_at(&honest, Some(&trust()), true, Some(committed));
        assert_eq!(judged.outcome, Outcome::Flipped);
        assert_eq!(names(&judged).contains(&"finished_late"), late);
    }
}

#[test]
fn work_that_was_there_before_the_session() {
    let mut trace = Trace::start(&format!(
        r#""repo":"{REPO}","base_commit":"{BASE}","task_id":"{TASK}","start_diff_sha256":"{}""#,
        sha(b"work")
    ));
    trace.signed(Mode::Baseline, Verdict::Fail);
    trace.signed(Mode::Grade, Verdict::Pass);
    assert_eq!(names(&trace.judge()), ["dirty_start"]);
}

#[test]
fn a_pass_on_a_diff_that_failed_or_on_none() {
    let mut again = started();
    let failed = again.statement(Mode::Grade, Verdict::Fail);
    again.sign(&failed);
    let passed = Statement { diff_sha256: failed.diff_sha256, ..again.statement(Mode::Grade, Verdict::Pass) };
    again.sign(&passed);
    let judged = again.judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec!["flaky"]));
    let judged = pass(|s| s.diff_sha256 = EMPTY_SHA256.into()).judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::Flipped, vec!["flaky"]));
    let open = judge_bytes(&again.bytes, None, false);
    assert_eq!(names(&open), ["flaky"]);
    // What nobody signed says nothing against what was.
    let mut slandered = started();
    let passed = slandered.statement(Mode::Grade, Verdict::Pass);
    slandered.sign(&passed);
    slandered.record(&Statement { verdict: Verdict::Fail, run_id: "x".into(), ..passed }, "null");
    assert_eq!(names(&slandered.judge()), Vec::<&str>::new());
    assert_eq!(names(&judge_bytes(&slandered.bytes, None, false)), ["flaky"]);
}

#[test]
fn a_pass_under_other_tests() {
    let judged = pass(|s| s.tests_hash = "sha256:tests-2".into()).judge();
    assert_eq!((judged.outcome, names(&judged)), (Outcome::TestsChanged, vec!["tests_changed"]));
    assert!(judged.pass.is_none());
    let mut failed = started();
    let other = Statement { tests_hash: "sha256:tests-2".into(), ..failed.statement(Mode::Grade, Verdict::Fail) };
    failed.sign(&other);
    failed.end("agent");
    let judged = failed.judge();
    assert_eq!((judged.outcome, names(&judged), judged.negative), (Outcome::NoFlip, vec!["tests_changed"], None));
}
