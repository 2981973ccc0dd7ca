//! A small lake in memory: three hosts, six sessions, seven branches.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::json::{LineDelimitedWriter, ReaderBuilder};
use datafusion::catalog::TableProvider;
use datafusion::datasource::MemTable;
use lake_query::{Options, Query, Sources, session};
use lake_store::schema;
use serde_json::{Value, json};

pub(crate) const RULES: &str = "rules-2";
pub(crate) const TRUST: &str = "trust-2";

/// How strings are kept in the tables.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Strings {
    Plain,
    Views,
    Large,
}

pub(crate) fn options() -> Options {
    Options {
        rules_digest: Some(RULES.into()),
        trust_digest: Some(TRUST.into()),
        threads: Some(2),
        ..Options::default()
    }
}

pub(crate) fn lake() -> Query {
    ask(&options())
}

pub(crate) fn ask(options: &Options) -> Query {
    session(sources(Strings::Plain), options).expect("a session")
}

pub(crate) fn empty() -> Query {
    session(Sources::default(), &Options::default()).expect("a session")
}

pub(crate) fn sources(strings: Strings) -> Sources {
    Sources {
        events: Some(table(&schema::events(), &events(), strings)),
        verdicts: Some(table(&schema::verdicts(), &verdicts(), strings)),
        rejects: Some(table(&schema::rejects(), &rejects(), strings)),
        segments: Some(table(&schema::segments(), &segments(), strings)),
        checks: Some(table(&schema::checks(), &checks(), strings)),
        exports: Some(table(&schema::exports(), &exports(), strings)),
    }
}

/// Rows of an answer as JSON objects.
pub(crate) async fn rows(query: &Query, sql: &str) -> Vec<Value> {
    let batches = query.collect(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
    let mut out = LineDelimitedWriter::new(Vec::new());
    out.write_batches(&batches.iter().collect::<Vec<_>>()).expect("JSON");
    out.finish().expect("JSON");
    let text = String::from_utf8(out.into_inner()).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

fn table(schema: &SchemaRef, rows: &[Value], strings: Strings) -> Arc<dyn TableProvider> {
    let mut decoder = ReaderBuilder::new(Arc::clone(schema)).build_decoder().expect("a decoder");
    decoder.serialize(rows).expect("rows of the schema");
    let batch = decoder.flush().expect("rows").unwrap_or_else(|| RecordBatch::new_empty(Arc::clone(schema)));
    let batch = kept(&batch, strings);
    let whole = concat_batches(&batch.schema(), [&batch]).expect("one batch");
    Arc::new(MemTable::try_new(whole.schema(), vec![vec![whole]]).expect("a table"))
}

/// The batch as another writer keeps it: views or large strings, and dictionaries for what it is partitioned by.
fn kept(batch: &RecordBatch, strings: Strings) -> RecordBatch {
    if strings == Strings::Plain {
        return batch.clone();
    }
    let text = if strings == Strings::Views { DataType::Utf8View } else { DataType::LargeUtf8 };
    let schema = batch.schema();
    let mut fields = Vec::new();
    let mut columns = Vec::new();
    for (field, column) in schema.fields().iter().zip(batch.columns()) {
        let kind = match field.data_type() {
            DataType::Utf8 if matches!(field.name().as_str(), "org" | "repo") => {
                DataType::Dictionary(Box::new(DataType::UInt16), Box::new(DataType::Utf8))
            }
            DataType::Utf8 => text.clone(),
            DataType::List(item) if *item.data_type() == DataType::Utf8 => {
                DataType::List(Arc::new(Field::new("element", text.clone(), true)))
            }
            other => other.clone(),
        };
        columns.push(cast(column, &kind).expect("a cast"));
        fields.push(Field::new(field.name(), kind, field.is_nullable()));
    }
    // Delta puts what a table is partitioned by last.
    fields.rotate_left(2);
    columns.rotate_left(2);
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).expect("a batch")
}

fn with(mut base: Value, more: Value) -> Value {
    let (Some(into), Value::Object(more)) = (base.as_object_mut(), more) else { panic!("objects") };
    into.extend(more);
    base
}

fn placed(session: &str, branch: u32, day: &str) -> Value {
    json!({"org": "acme", "repo": "billing", "date": day, "session_id": session, "branch": branch})
}

fn segment(session: &str, branch: u32, day: &str, more: Value) -> Value {
    let base = json!({
        "offset": 0, "first_line": 1, "sha256_before": "", "sha256_end": "", "raw": "raw/x", "raw_offset": 0,
        "raw_bytes": 10, "harness": "claude-code", "version": "2.0", "model": "m1", "task_id": "t1",
        "base_commit": "abc", "repo_url": "github.com/acme/billing",
        "started_at": format!("{day}T10:00:00Z"), "ended_at": format!("{day}T11:00:00Z"), "ended_by": "agent",
        "attempts": 1, "lines": 10, "events": 10, "rejects": 0, "messages": 2, "tool_calls": 3, "verdicts": 2,
        "flags": []
    });
    with(with(placed(session, branch, day), base), more)
}

fn from(host: &str, k: u64) -> Value {
    json!({"k": k, "at": format!("2026-08-{:02}T12:00:00Z", 10 + k), "source": format!("{host}:/d"), "host": host})
}

fn segments() -> Vec<Value> {
    let day = "2026-08-03";
    vec![
        // s1: flipped; grew in batch 3, from another host.
        segment("s1", 0, day, with(from("ha", 1), json!({"end": 100, "next_line": 11, "recorded_outcome": "no_flip"}))),
        segment(
            "s1",
            0,
            day,
            with(
                from("hb", 3),
                json!({"offset": 100, "end": 200, "first_line": 11, "next_line": 21, "verdicts": 3, "lines": 20,
                       "claimed_outcome": "flipped", "recorded_outcome": "flipped", "flags": ["clock", "bad_field"]}),
            ),
        ),
        // s1, another file under the same id.
        segment(
            "s1",
            1,
            day,
            with(
                from("hb", 2),
                json!({"end": 80, "next_line": 9, "recorded_outcome": "unproven", "flags": ["rewritten"]}),
            ),
        ),
        // s2: no flip, clean.
        segment(
            "s2",
            0,
            "2026-08-04",
            with(from("ha", 1), json!({"end": 90, "next_line": 10, "recorded_outcome": "no_flip"})),
        ),
        // s3: flipped, with a secret, and it retracts itself.
        segment(
            "s3",
            0,
            "2026-08-11",
            with(from("ha", 2), json!({"end": 70, "next_line": 8, "task_id": "t2", "recorded_outcome": "flipped"})),
        ),
        // s4: untracked, no end; it asks for s2's retraction.
        segment(
            "s4",
            0,
            "2026-08-12",
            with(
                from("hc", 4),
                json!({"end": 60, "next_line": 7, "task_id": null, "recorded_outcome": "untracked", "verdicts": 0,
                       "ended_at": null, "ended_by": "sweep", "rejects": 1}),
            ),
        ),
        // s5: unsigned flip, never scanned.
        segment(
            "s5",
            0,
            "2026-08-12",
            with(from("hb", 4), json!({"end": 50, "next_line": 6, "recorded_outcome": "flipped"})),
        ),
    ]
}

fn event(session: &str, branch: u32, line: u64, kind: &str, more: Value) -> Value {
    let base = json!({
        "seq": line, "line": line, "event_id": format!("{session}-{branch}-{line}"), "type": kind,
        "ts": format!("2026-08-03T10:00:{line:02}Z"), "flags": []
    });
    with(with(placed(session, branch, "2026-08-03"), base), more)
}

fn call(session: &str, line: u64, tool: &str, status: &str, ms: f64) -> Value {
    let more =
        json!({"tool": tool, "call_id": "c", "input": "{\"command\":\"ls\"}", "status": status, "duration_ms": ms});
    event(session, 0, line, "tool_call", more)
}

fn events() -> Vec<Value> {
    let retract = |of: &str| {
        json!({"ext": format!(
            r#"{{"ref":{{"session_id":"{of}"}},"action":"retract","reason":"private","author":"ann"}}"#
        )})
    };
    vec![
        event("s1", 0, 1, "session_start", json!({})),
        event(
            "s1",
            0,
            2,
            "message",
            json!({"role": "user", "text": "Fix\u{1b}[2J it", "ext": "{\"origin\":\"human\"}"}),
        ),
        call("s1", 3, "Bash", "ok", 10.0),
        call("s1", 4, "Bash", "error", 30.0),
        call("s1", 12, "Edit", "ok", 5.0),
        call("s2", 3, "Bash", "denied", 20.0),
        // Line 15 came with the second segment, from another host than the first: it retracts nothing.
        event("s1", 0, 15, "correction", retract("s1")),
        event("s3", 0, 5, "correction", retract("s3")),
        event("s4", 0, 5, "correction", retract("s2")),
        event("s4", 0, 6, "correction", json!({"ext": r#"{"ref":{"session_id":4},"action":"retract"}"#})),
        event(
            "s5",
            0,
            5,
            "correction",
            json!({"ext": r#"{"ref":{"session_id":"s5","event_id":"e"},"action":"annotate"}"#}),
        ),
    ]
}

fn verdict(session: &str, line: u64, mode: &str, attempt: u64, verdict: &str, signature: Option<&str>) -> Value {
    let base = json!({
        "line": line, "offset": 0, "event_id": format!("{session}-{line}"), "ts": "2026-08-03T10:30:00Z", "mode": mode,
        "attempt": attempt, "verdict": verdict, "task_id": if session == "s3" { "t2" } else { "t1" },
        "base_commit": "abc", "signature": signature
    });
    with(placed(session, 0, "2026-08-03"), base)
}

fn verdicts() -> Vec<Value> {
    vec![
        verdict("s1", 5, "baseline", 0, "FAIL", Some("{}")),
        verdict("s1", 9, "grade", 1, "FAIL", Some("{}")),
        verdict("s1", 18, "grade", 2, "PASS", Some("{}")),
        verdict("s2", 5, "baseline", 0, "FAIL", Some("{}")),
        verdict("s2", 9, "grade", 1, "FAIL", Some("{}")),
        verdict("s3", 2, "baseline", 0, "FAIL", Some("{}")),
        verdict("s3", 7, "grade", 1, "PASS", Some("{}")),
        verdict("s5", 2, "baseline", 0, "FAIL", None),
        verdict("s5", 4, "grade", 1, "PASS", None),
    ]
}

fn rejects() -> Vec<Value> {
    let base =
        json!({"file": "raw/s4", "line": 3, "offset": 20, "length": 7, "bytes": "00ff", "reason": "not a JSON object"});
    vec![with(placed("s4", 0, "2026-08-12"), base)]
}

fn check(session: &str, end: u64, kind: &str, digest: &str, result: &str, at: &str, findings: Value) -> Value {
    json!({"session_id": session, "branch": 0, "end": end, "kind": kind, "digest": digest, "result": result,
           "at": format!("2026-08-{at}T00:00:00Z"), "findings": findings})
}

fn checks() -> Vec<Value> {
    let flag = |name: &str| json!([{"rule": name, "severity": "", "line": 5}]);
    let secret = json!([
        {"rule": "github-token", "severity": "critical", "line": 3, "event_id": "e", "field": "/text", "start": 1,
         "end": 9, "fingerprint": "f1", "detail": "d"},
        {"rule": "github-token", "severity": "critical", "line": 4, "event_id": "e", "field": "/text", "start": 1,
         "end": 9, "fingerprint": "f1", "detail": "d"}
    ]);
    vec![
        check("s1", 100, "signatures", TRUST, "no_flip", "12", json!([])),
        check("s1", 200, "signatures", TRUST, "flipped", "14", flag("finished_late")),
        check("s1", 200, "secrets", RULES, "clean", "14", json!([])),
        check("s2", 90, "signatures", TRUST, "no_flip", "14", json!([])),
        check("s2", 90, "secrets", RULES, "clean", "14", json!([])),
        // Under older digests, looked at later than under those in force.
        check("s2", 90, "signatures", "trust-1", "unproven", "20", flag("untrusted_key")),
        check("s2", 90, "secrets", "rules-1", "found", "20", secret.clone()),
        check("s3", 70, "signatures", TRUST, "flipped", "14", json!([])),
        // Two rows for one key: found counts, though clean is newer.
        check("s3", 70, "secrets", RULES, "found", "14", secret),
        check("s3", 70, "secrets", RULES, "clean", "15", json!([])),
        check("s5", 50, "signatures", TRUST, "unproven", "16", flag("unsigned")),
        check("s5", 50, "signatures", TRUST, "flipped", "17", json!([])),
    ]
}

fn exports() -> Vec<Value> {
    vec![
        json!({"manifest_sha256": "m", "at": "2026-08-15T00:00:00Z", "out": "/o", "k": 3, "set": "sft", "row": 0,
                "session_id": "s1", "branch": 0, "end": 200, "key_ids": ["sha256:1"], "rules_digest": RULES}),
        // Written when the rules did not know what is found now.
        json!({"manifest_sha256": "m0", "at": "2026-08-13T00:00:00Z", "out": "/old", "k": 3, "set": "preference", "row": 0,
                "session_id": "s3", "branch": 0, "end": 70, "key_ids": ["sha256:1"], "rules_digest": "rules-1"}),
        // Written without it, since those rules found it.
        json!({"manifest_sha256": "m1", "at": "2026-08-15T00:00:00Z", "out": "/new", "k": 3, "set": "preference", "row": 0,
                "session_id": "s3", "branch": 0, "end": 70, "key_ids": ["sha256:1"], "rules_digest": RULES}),
    ]
}
