//! Payloads and envelopes that are refused whoever signed them.

use lake_trace::{Mode, Outcome, Verdict};

use crate::build::*;

#[test]
fn payloads_that_the_strict_reading_refuses() {
    for change in [
        (|p| p.replace(r#""attempt":1"#, r#""attempt":0,"attempt":1"#)) as fn(String) -> String,
        |p| p.replace(r#""attempt":1"#, r#""attempt":1,"\u0061ttempt":1"#),
        |p| p.replace(r#""attempt":1"#, r#""attempt":1,"more":1"#),
        |p| p.replace(r#","oracle":"oracle-a""#, ""),
        |p| p.replace(r#""attempt":1"#, r#""attempt":1.0"#),
        |p| p.replace(r#""attempt":1"#, r#""attempt":1e0"#),
        |p| p.replace(r#""attempt":1"#, r#""attempt":9007199254740992"#),
        |p| p.replace(r#""attempt":1"#, r#""attempt":-1"#),
        |p| format!("{p}{}", " ".repeat(16 * 1024)),
        |p| p.replace(r#""session_id":"s-1""#, r#""session_id":null"#),
        |p| p.replace(r#""finished_at":"2026-01-01T00:00:00Z""#, r#""finished_at":"2026-01-01T00:00:00+01:00""#),
    ] {
        caught(&pass_payload(change).judge(), "malformed");
    }
    let mut worked = Trace::new();
    let mut baseline = worked.statement(Mode::Baseline, Verdict::Fail);
    baseline.diff_sha256 = sha(b"work");
    worked.sign(&baseline);
    worked.signed(Mode::Grade, Verdict::Pass);
    caught(&worked.judge(), "malformed");
}

#[test]
fn a_signature_that_is_no_envelope() {
    for signature in ["7", "\"AAAA\"", "[]", "{}", "true", r#"{"payloadType":"application/vnd.in-toto+json"}"#] {
        let mut trace = started();
        let statement = trace.statement(Mode::Grade, Verdict::Pass);
        trace.record(&statement, signature);
        caught(&trace.judge(), "malformed");
        // A signature that is there and says nothing costs the flip even where none is asked for.
        let elsewhere = trust_with("repos = [\"gitlab.com/**\", \"github.com/acme/billing\"]");
        assert_eq!(judge_bytes(&trace.bytes, Some(&elsewhere), false).outcome, Outcome::Unproven);
    }
}
