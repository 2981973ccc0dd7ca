//! Envelopes and fields that are missing, of another kind, or from another time.

use super::fixture::{Fixture, begun, finish, session};
use crate::{Object, sha256_hex};

pub(super) fn fixtures() -> Vec<Fixture> {
    let mut all = envelope();
    all.extend(optional());
    all.extend(order());
    all
}

fn envelope() -> Vec<Fixture> {
    let raw = |name: &'static str, note, fields: &str| {
        let line = format!("{{{fields}}}\n");
        Fixture::one(
            name,
            note,
            session(name, |s| {
                s.raw(line);
            }),
        )
        .rejects(1)
    };
    vec![
        raw("missing_type", "No `type`: a reject.", r#""session_id":"s","ts":"2025-06-02T09:00:10Z","text":"x""#),
        raw("missing_session_id", "No `session_id`: a reject.", r#""type":"message","ts":"2025-06-02T09:00:10Z""#),
        raw("missing_ts", "No `ts`: a reject.", r#""type":"message","session_id":"odd-missing_ts""#),
        raw("null_ts", "null is absent: a reject.", r#""type":"message","session_id":"odd-null_ts","ts":null"#),
        raw("bad_date", "A date that no calendar has.", r#""type":"a","session_id":"s","ts":"2025-02-30T00:00:00Z""#),
        raw("number_as_type", "`type` is a number.", r#""type":7,"session_id":"s","ts":"2025-06-02T09:00:10Z""#),
        raw("empty_session_id", "An empty `session_id`.", r#""type":"a","session_id":"","ts":"2025-06-02T09:00:10Z""#),
        raw(
            "long_session_id",
            "A `session_id` of 257 characters.",
            &format!(r#""type":"a","session_id":"{}","ts":"2025-06-02T09:00:10Z""#, "s".repeat(257)),
        ),
    ]
}

fn optional() -> Vec<Fixture> {
    let said = || Object::new().text("role", "assistant").text("text", "as ever");
    let event = |name: &'static str, note, kind: &'static str, fields: Object| {
        Fixture::one(
            name,
            note,
            session(name, |s| {
                s.event(kind, fields);
            }),
        )
    };
    let long = "all of a long text";
    vec![
        // The builder has said `v` before; the last one wins.
        event("newer_v", "A later version is kept and flagged.", "message", said().number("v", 2))
            .flags(&["newer_schema", "duplicate_key"]),
        event("unknown_type", "A type that nobody knows is kept and passed by.", "telemetry", said().number("cpu", 3)),
        event("unknown_field", "An unknown field goes to `ext`.", "message", said().raw("mood", r#"{"a":[1,2]}"#)),
        event("own_ext", "The collector's `ext` is kept.", "message", said().raw("ext", r#"{"a":1}"#)),
        event("bad_field", "An optional field of another kind goes to `ext`.", "message", said().number("thinking", 3))
            .flags(&["bad_field"]),
        event(
            "null_fields",
            "null is absent.",
            "tool_call",
            Object::new().text("tool", "Bash").raw("input", "{}").raw("output", "null").raw("status", "null"),
        ),
        event(
            "truncated_values",
            "Values that the collector cut say how long they were; a cut `input` is a string.",
            "tool_call",
            Object::new()
                .text("tool", "Bash")
                .text("input", "{\"command\":\"all o")
                .raw("input_truncated", "true")
                .number("input_bytes", 30)
                .text("input_sha256", &sha256_hex(long))
                .text("output", "all of a")
                .raw("output_truncated", "true")
                .number("output_bytes", long.len() as u64)
                .text("output_sha256", &sha256_hex(long)),
        )
        .flags(&["truncated"]),
        event(
            "structured_output",
            "An output may be any JSON.",
            "tool_call",
            Object::new().text("tool", "Grep").raw("input", "{}").raw("output", r#"[{"z":1,"a":[true,null,1.50]}]"#),
        ),
        event(
            "denied_call",
            "A call that was denied is a call.",
            "tool_call",
            Object::new()
                .text("tool", "Bash")
                .raw("input", "{}")
                .text("output", "denied by the user")
                .text("status", "denied"),
        ),
        Fixture::one(
            "no_ids",
            "Without `event_id` and `seq` both come from the line.",
            session("no_ids", |s| {
                let id = s.session_id().to_owned();
                s.raw(format!(
                    "{{\"type\":\"message\",\"session_id\":\"{id}\",\"ts\":\"2025-06-02T09:00:14Z\",\"role\":\"assistant\",\"text\":\"bare\"}}\n"
                ));
            }),
        ),
        Fixture::one(
            "foreign_session_line",
            "A line with another session's id stays with the file's session.",
            session("foreign_session_line", |s| {
                let line = s.line("message", said()).replace("odd-foreign_session_line", "somebody-else");
                s.raw(line + "\n");
            }),
        )
        .flags(&["mixed_session"]),
    ]
}

fn order() -> Vec<Fixture> {
    let said = |text: &str| Object::new().text("role", "assistant").text("text", text);
    let at = |name: &'static str, note, time: &str| {
        let ms = lake_trace::parse_ts(time).expect("a time");
        let bytes = session(name, |s| {
            let now = s.now();
            s.set_clock(ms).message("assistant", "what time is it?");
            s.set_clock(now);
        });
        Fixture::one(name, note, bytes).flags(&["clock"])
    };
    let mut agents = begun("sub_agents");
    agents.set_agent(Some("agent-1")).message("user", "Look for callers.");
    agents.call("Grep", &[("pattern", "total")], "src/a.py:1").message("assistant", "There is one.");
    agents.end("agent", "none").set_agent(None);
    finish(&mut agents);
    vec![
        at("clock_back", "Time runs backwards for a line; order is by `seq`.", "2025-06-02T08:00:00Z"),
        at("clock_future", "A line from the future.", "2999-01-01T00:00:00Z"),
        Fixture::one(
            "seq_out_of_order",
            "Lines written out of order are rendered by `seq`, then line.",
            session("seq_out_of_order", |s| {
                let (first, second) = (s.line("message", said("first")), s.line("message", said("second")));
                s.raw(format!("{second}\n{first}\n"));
            }),
        )
        .flags(&["clock"]),
        Fixture::one(
            "sub_agents",
            "A sub-agent's events share the session; its end is not the session's.",
            agents.build(),
        ),
    ]
}
