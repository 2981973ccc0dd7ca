//! The published schemas say what the reader does.

use std::fs;
use std::path::Path;

use jsonschema::Validator;
use lake_testkit::oddities::oddities;
use lake_testkit::{demo_sessions, fold_file};
use lake_trace::{Flag, Reject, lines, parse_line};
use lake_verdict::{Envelope, Statement};
use serde_json::{Value, json};

fn schema(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/{name}.schema.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let value: Value = serde_json::from_str(&text).expect("a schema is JSON");
    jsonschema::options().should_validate_formats(true).build(&value).expect("a schema that is one")
}

fn fits(schema: &Validator, value: &Value) -> Result<(), String> {
    schema.validate(value).map_err(|error| format!("{error} at {}", error.instance_path))
}

#[test]
fn every_line_of_the_demo_fits_the_trace_event_schema() {
    let schema = schema("trace-event");
    let mut seen = 0;
    for (id, bytes) in demo_sessions() {
        for (number, line) in (1..).zip(lines(&bytes)) {
            let mut scratch = String::new();
            if matches!(parse_line(line.bytes, number, &mut scratch), Err(Reject::NotJson { .. })) {
                assert_eq!(id, "demo-11-malformed");
                continue;
            }
            let value: Value = serde_json::from_slice(line.bytes).expect("the reader takes it for JSON");
            assert_eq!(fits(&schema, &value), Ok(()), "{id} line {number}");
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen} lines");
}

#[test]
fn the_reader_takes_what_fits_and_flags_or_rejects_what_does_not() {
    let schema = schema("trace-event");
    let mut refused = 0;
    for fixture in oddities() {
        for (path, bytes) in fixture.files.iter().chain(&fixture.later).filter(|(path, _)| path.ends_with(".jsonl")) {
            if path.starts_with("state/") {
                continue;
            }
            for (number, line) in (1..).zip(lines(bytes)) {
                // What is no JSON to begin with, or only after a repair, is beyond a schema.
                let Ok(value) = serde_json::from_slice::<Value>(line.bytes) else { continue };
                let mut scratch = String::new();
                let read = parse_line(line.bytes, number, &mut scratch);
                let as_it_is = matches!(&read, Ok(Some(event)) if !event.flags.has(Flag::BadField));
                let fits = fits(&schema, &value);
                assert_eq!(fits.is_ok(), as_it_is, "{} line {number}: {fits:?}, {read:?}", fixture.name);
                refused += usize::from(!as_it_is);
            }
        }
    }
    assert!(refused >= 9, "{refused} lines");
}

#[test]
fn fields_of_another_kind_do_not_fit() {
    let schema = schema("trace-event");
    let with = |field: &str, value: Value| {
        let mut event = json!({"type": "a", "session_id": "s", "ts": "2025-06-02T09:00:00Z"});
        event[field] = value;
        event
    };
    for (field, good, bad) in [
        ("text", json!("x"), json!(1)),
        ("seq", json!(0), json!(-1)),
        ("attempt", json!(3), json!("3")),
        ("duration_ms", json!(1.5), json!("fast")),
        ("input", json!({}), json!([])),
        ("input", json!(null), json!("cut, but not said so")),
        ("harness", json!({"name": "x"}), json!("x")),
        ("output", json!([1]), json!(null)),
        ("ref", json!({"session_id": "s"}), json!("s")),
        ("model", json!(null), json!(["m"])),
    ] {
        for (value, expected) in [(good, true), (bad, field == "output")] {
            let event = with(field, value);
            let line = event.to_string();
            let mut scratch = String::new();
            let read = parse_line(line.as_bytes(), 1, &mut scratch).expect("an event").expect("not blank");
            assert_eq!(fits(&schema, &event).is_ok(), expected, "{line}");
            assert_eq!(read.flags.has(Flag::BadField), !expected, "{line}");
        }
    }
}

#[test]
fn signed_statements_fit_the_statement_schema() {
    let schema = schema("verdict-statement");
    let mut seen = 0;
    for (id, bytes) in demo_sessions() {
        for (_, record) in fold_file(&bytes).verdicts() {
            let Some(envelope) = &record.signature else { continue };
            let payload = Envelope::parse(envelope).expect("an envelope").payload;
            let mut value: Value = serde_json::from_slice(&payload).expect("a payload is JSON");
            assert_eq!(fits(&schema, &value), Ok(()), "{id}");
            value["predicate"]["note"] = json!("x");
            assert!(fits(&schema, &value).is_err() && Statement::parse_strict(value.to_string().as_bytes()).is_err());
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen} statements");
}

#[test]
fn rows_and_manifests_of_the_documented_form_fit_and_others_do_not() {
    let sft = schema("sft-row");
    let preference = schema("preference-row");
    let manifest = schema("manifest");
    let call = json!({"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "Bash", "arguments": {"command": "pytest"}}}]});
    let answer = json!({"role": "tool", "tool_call_id": "call_1", "name": "Bash", "content": "1 passed"});
    let user = json!({"role": "user", "content": "Fix add()"});
    let train = |message: &Value, train: bool| {
        let mut message = message.clone();
        message["train"] = json!(train);
        message
    };
    let row = |messages: Value| {
        json!({"messages": messages, "tools": "[]", "session_id": "s", "task_id": "t", "repo": "h/o/n",
            "metadata": "{}"})
    };
    let good = row(json!([train(&user, false), train(&call, true), train(&answer, false)]));
    assert_eq!(fits(&sft, &good), Ok(()));
    assert!(fits(&sft, &row(json!([train(&user, true)]))).is_err(), "a user turn is never trained");
    assert!(fits(&sft, &row(json!([user]))).is_err(), "`train` is always there");
    assert!(fits(&sft, &row(json!([{"role": "assistant", "content": null, "train": true}]))).is_err(), "never null");

    let pair = |rejected: Value| {
        json!({"prompt": [user], "chosen": [call, answer], "rejected": rejected, "tools": "[]", "task_id": "t",
            "chosen_session_id": "a", "rejected_session_id": "b", "metadata": "{}"})
    };
    assert_eq!(fits(&preference, &pair(json!([call, answer]))), Ok(()));
    assert!(fits(&preference, &pair(json!([train(&call, true)]))).is_err(), "the sides have no `train`");

    let sha256 = "a".repeat(64);
    let counts = json!({"selected": 2, "used": 1, "excluded": {"no_flip": 1}, "rows": 1});
    let file = json!({"path": "sft/train-00000-of-00001.jsonl", "sha256": sha256, "bytes": 10, "rows": 1});
    let request = json!({"dialect": "trl", "sets": ["sft"], "require_signature": false, "on_secret": "exclude",
        "train_after_fail": "work", "on_truncated_output": "keep", "pairs_per_task": 1, "pair_strategy": "closest-length",
        "max_length_ratio": null, "prompt_match": "exact", "tools_sha256": null, "repos": [], "orgs": [], "models": [],
        "since": "2026-01-01T00:00:00.000Z", "until": null, "where": null, "corrections_from": []});
    let made = json!({"version": 1, "code_version": "0.1.0", "lake": {"k": 3, "record_sha256": sha256}, "request": request,
        "rules_digest": format!("sha256:{sha256}"), "signatures": {"judged": "no"}, "negatives": "unproven",
        "mask": "not_enforced", "corrections": {"counted": 0, "refused": 0}, "tools": [{"sha256": sha256}],
        "sets": {"sft": counts}, "files": [file]});
    assert_eq!(fits(&manifest, &made), Ok(()));
    let without = |field: &str| {
        let mut made = made.clone();
        made.as_object_mut().map(|members| members.remove(field));
        made
    };
    for field in ["lake", "request", "rules_digest", "signatures", "sets", "files"] {
        assert!(fits(&manifest, &without(field)).is_err(), "{field}");
    }
    for (field, bad) in
        [("out", json!("/tmp/x")), ("at", json!("2026-01-01")), ("signatures", json!({"judged": "yes"}))]
    {
        let mut made = made.clone();
        made[field] = bad;
        assert!(fits(&manifest, &made).is_err(), "{field}");
    }
}
