//! Columns of the tables, as Arrow knows them. Times are UTC; Delta keeps them in microseconds.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};

/// Names of the derived tables of a generation, in the order in which they are committed: `segments` last.
pub const TABLES: [&str; 4] = ["events", "verdicts", "rejects", "segments"];

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn key(name: &str) -> Field {
    Field::new(name, DataType::Utf8, false)
}

fn int(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn whole(name: &str) -> Field {
    Field::new(name, DataType::Int64, false)
}

fn time(name: &str) -> Field {
    Field::new(name, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true)
}

fn words(name: &str) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))), true)
}

fn placed(rest: Vec<Field>) -> SchemaRef {
    let mut fields = vec![key("org"), key("repo"), Field::new("date", DataType::Date32, false), key("session_id")];
    fields.push(Field::new("branch", DataType::Int32, false));
    fields.extend(rest);
    Arc::new(Schema::new(fields))
}

/// One row an event.
pub fn events() -> SchemaRef {
    placed(vec![
        whole("seq"),
        whole("line"),
        key("event_id"),
        time("ts"),
        key("type"),
        text("role"),
        text("text"),
        text("thinking"),
        text("tool"),
        text("call_id"),
        text("input"),
        text("output"),
        text("status"),
        Field::new("duration_ms", DataType::Float64, true),
        text("agent_id"),
        text("turn_id"),
        text("response_id"),
        words("flags"),
        text("ext"),
    ])
}

/// One row a segment of a branch, with the branch's summary up to its end.
pub fn segments() -> SchemaRef {
    placed(vec![
        whole("offset"),
        whole("end"),
        whole("first_line"),
        whole("next_line"),
        key("sha256_before"),
        key("sha256_end"),
        key("raw"),
        whole("raw_offset"),
        whole("raw_bytes"),
        whole("k"),
        time("at"),
        text("source"),
        text("host"),
        text("harness"),
        text("version"),
        text("model"),
        text("task_id"),
        text("base_commit"),
        text("repo_url"),
        text("start_diff_sha256"),
        time("started_at"),
        time("ended_at"),
        text("ended_by"),
        text("claimed_outcome"),
        text("recorded_outcome"),
        int("attempts"),
        int("lines"),
        int("events"),
        int("rejects"),
        int("messages"),
        int("tool_calls"),
        int("verdicts"),
        words("flags"),
    ])
}

/// One row a verdict event, with the envelope as it came.
pub fn verdicts() -> SchemaRef {
    placed(vec![
        whole("line"),
        whole("offset"),
        key("event_id"),
        time("ts"),
        text("mode"),
        int("attempt"),
        text("verdict"),
        text("task_id"),
        text("base_commit"),
        text("diff_sha256"),
        text("tests_hash"),
        text("run_id"),
        text("signature"),
    ])
}

/// One row a line that is no event. `file` is the raw object that holds it.
pub fn rejects() -> SchemaRef {
    placed(vec![
        key("file"),
        whole("line"),
        whole("offset"),
        Field::new("bytes", DataType::Binary, true),
        whole("length"),
        key("reason"),
    ])
}

/// The schema of a derived table by name.
pub fn of(table: &str) -> SchemaRef {
    match table {
        "events" => events(),
        "verdicts" => verdicts(),
        "rejects" => rejects(),
        _ => segments(),
    }
}

/// Members of a finding.
pub fn finding() -> Fields {
    Fields::from(vec![
        text("rule"),
        text("severity"),
        int("line"),
        text("event_id"),
        text("field"),
        int("start"),
        int("end"),
        text("fingerprint"),
        text("detail"),
    ])
}

/// One row a session, branch, end, kind and digest that was looked at.
pub fn checks() -> SchemaRef {
    Arc::new(Schema::new(vec![
        key("session_id"),
        Field::new("branch", DataType::Int32, false),
        whole("end"),
        key("kind"),
        key("digest"),
        key("result"),
        time("at"),
        Field::new(
            "findings",
            DataType::List(Arc::new(Field::new("element", DataType::Struct(finding()), true))),
            true,
        ),
    ]))
}

/// One row a row of a training set that was exported.
pub fn exports() -> SchemaRef {
    Arc::new(Schema::new(vec![
        key("manifest_sha256"),
        time("at"),
        text("out"),
        whole("k"),
        key("set"),
        whole("row"),
        key("session_id"),
        Field::new("branch", DataType::Int32, false),
        whole("end"),
        words("key_ids"),
        text("rules_digest"),
    ]))
}
