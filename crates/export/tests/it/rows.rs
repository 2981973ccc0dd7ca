//! How a session becomes a row.

use lake_testkit::{Object, SessionBuilder, Task};
use lake_trace::Verdict;
use serde_json::Value;

use crate::lake::{Lake, key, request, run, signed_request};

fn task() -> Task {
    Task::new("github.com/acme/billing", "bill-1")
}

/// The row of a session whose work `work` writes.
fn row(work: impl FnOnce(&mut SessionBuilder)) -> Value {
    let mut session = SessionBuilder::new("s1", &task());
    session.start().prompt().baseline(Verdict::Fail);
    work(&mut session);
    session.grade(Verdict::Pass, "diff");
    let mut rows = run(&Lake::of([session.build()]), request()).sft();
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

/// Role, content and names of calls of each message; `-` before what is not trained.
fn outline(row: &Value) -> Vec<String> {
    let line = |m: &Value| {
        let calls: Vec<&str> =
            m["tool_calls"].as_array().into_iter().flatten().filter_map(|c| c["id"].as_str()).collect();
        let mask = if m["train"] == true { "+" } else { "-" };
        let thought = m["reasoning_content"].as_str().map(|t| format!(" ({t})")).unwrap_or_default();
        let calls = if calls.is_empty() { String::new() } else { format!(" {calls:?}") };
        format!("{mask}{}: {}{thought}{calls}", m["role"].as_str().unwrap_or("?"), m["content"].as_str().unwrap_or("?"))
    };
    row["messages"].as_array().expect("messages").iter().map(line).collect()
}

fn call(session: &mut SessionBuilder, response: Option<&str>, id: Option<&str>, status: &str, output: &str) {
    let fields = Object::new().text("tool", "Bash").object("input", Object::new().text("command", "ls"));
    let fields = fields.maybe("response_id", response).maybe("call_id", id).text("status", status);
    session.event("tool_call", fields.raw("output", output));
}

#[test]
fn a_row_holds_what_the_format_says() {
    let key = key();
    let mut session = SessionBuilder::new("s1", &task()).signed(Some(&key));
    session.start().message("system", "Be brief.").prompt().baseline(Verdict::Fail);
    session.message("assistant", "Let me look.").call("Bash", &[("command", "pytest")], "1 failed");
    session.thinking("Fixed.", "It was \"off\" by one.").grade(Verdict::Pass, "diff").end("agent", "flipped");
    let done = run(&Lake::of([session.build()]), signed_request());
    insta::assert_snapshot!(done.golden("sft/train-00000-of-00001.jsonl"));
    insta::assert_snapshot!(done.text("README.md"));
    insta::assert_snapshot!(done.text("trl-sft.yaml"));
    let mut manifest: Value = serde_json::from_str(&done.text("manifest.json")).expect("JSON");
    // The rules grow without this crate.
    manifest["rules_digest"] = "…".into();
    for file in manifest["files"].as_array_mut().into_iter().flatten().filter(|file| file["rows"] != 0) {
        file["sha256"] = "…".into();
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&manifest).expect("JSON"));
}

#[test]
fn a_message_joins_the_call_after_it_and_a_verdict_keeps_them_apart() {
    let row = row(|s| {
        s.message("assistant", "one").call("Bash", &[], "a");
        s.message("assistant", "two").message("assistant", "three").call("Bash", &[], "b");
        s.message("assistant", "four").grade(Verdict::Fail, "d1").call("Bash", &[], "c");
    });
    let expected = [
        "+assistant: one [\"call_1\"]",
        "-tool: a",
        "+assistant: two",
        "+assistant: three [\"call_2\"]",
        "-tool: b",
        "-assistant: four",
        "+assistant:  [\"call_3\"]",
        "-tool: c",
    ];
    assert_eq!(outline(&row)[1..], expected);
}

#[test]
fn calls_are_parallel_only_as_neighbours_of_one_response() {
    let row = row(|s| {
        call(s, Some("r1"), Some("a"), "ok", "\"1\"");
        call(s, Some("r1"), Some("b"), "ok", "\"2\"");
        call(s, Some("r2"), Some("c"), "ok", "\"3\"");
        s.message("assistant", "now");
        call(s, Some("r2"), Some("d"), "ok", "\"4\"");
        call(s, None, Some("e"), "ok", "\"5\"");
        call(s, None, Some("f"), "ok", "\"6\"");
    });
    let expected = [
        "+assistant:  [\"a\", \"b\"]",
        "-tool: 1",
        "-tool: 2",
        "+assistant:  [\"c\"]",
        "-tool: 3",
        "+assistant: now [\"d\"]",
        "-tool: 4",
        "+assistant:  [\"e\"]",
        "-tool: 5",
        "+assistant:  [\"f\"]",
        "-tool: 6",
    ];
    assert_eq!(outline(&row)[1..], expected);
}

#[test]
fn a_denied_call_is_not_trained_nor_is_its_group() {
    let row = row(|s| {
        call(s, Some("r1"), Some("a"), "ok", "\"1\"");
        call(s, Some("r1"), Some("b"), "denied", "\"no\"");
        call(s, None, Some("c"), "ok", "\"3\"");
    });
    let expected = ["-assistant:  [\"a\", \"b\"]", "-tool: 1", "-tool: no", "+assistant:  [\"c\"]", "-tool: 3"];
    assert_eq!(outline(&row)[1..], expected);
}

#[test]
fn outputs_are_text_and_ids_are_made_where_none_came() {
    let row = row(|s| {
        call(s, None, None, "ok", "null");
        call(s, None, Some("call_2"), "ok", r#"{"z": 1.10, "a": [true, null]}"#);
        call(s, None, None, "ok", "\"\"");
    });
    let expected = [
        "+assistant:  [\"call_1\"]",
        "-tool: ",
        "+assistant:  [\"call_2\"]",
        "-tool: {\"z\":1.10,\"a\":[true,null]}",
        "+assistant:  [\"call_3\"]",
        "-tool: ",
    ];
    assert_eq!(outline(&row)[1..], expected);
}

#[test]
fn thinking_alone_joins_the_turn_after_it() {
    let think = |s: &mut SessionBuilder, text: &str| {
        s.event("message", Object::new().text("role", "assistant").text("thinking", text));
    };
    let row = row(|s| {
        think(s, "a");
        think(s, "b");
        s.call("Bash", &[], "1");
        think(s, "c");
        s.thinking("text", "d");
        think(s, "e");
        s.message("user", "hm");
        s.event("message", Object::new().text("role", "assistant"));
        s.message("assistant", "end");
    });
    let expected = [
        "+assistant:  (a\n\nb) [\"call_1\"]",
        "-tool: 1",
        "+assistant: text (c\n\nd)",
        "+assistant:  (e)",
        "-user: hm",
        "+assistant: end",
    ];
    assert_eq!(outline(&row)[1..], expected);
}

#[test]
fn events_come_by_seq_and_copies_only_once() {
    let text = |seq: u64, id: &str, text: &str| {
        Object::new().number("seq", seq).text("event_id", id).text("role", "assistant").text("text", text)
    };
    let line = |fields: Object| {
        let head = Object::new().text("session_id", "s1").text("ts", "2025-06-02T10:00:00Z").text("type", "message");
        format!("{}\n", head.all(fields).build())
    };
    let row = row(|s| {
        let second = line(text(901, "e2", "second"));
        s.raw(&second).raw(line(text(900, "e1", "first"))).raw(line(text(902, "e1", "copied")));
        s.raw(&second).raw(line(text(903, "e3", "agent").text("agent_id", "x"))).raw(line(text(904, "e4", "third")));
    });
    assert_eq!(outline(&row)[1..], ["+assistant: first", "+assistant: second", "+assistant: third"]);
}

#[test]
fn numbers_and_the_order_of_arguments_stay_as_they_were() {
    let mut session = SessionBuilder::new("s1", &task());
    session.start().prompt().baseline(Verdict::Fail);
    let input = Object::new().raw("z", "1.50").raw("a", "null").raw("n", "123456789012345678901234567890");
    session.call_with("Edit", input, |f| f.text("output", "tab\there \u{1} \u{2028} ü"));
    session.grade(Verdict::Pass, "diff");
    let done = run(&Lake::of([session.build()]), request());
    let text = done.text("sft/train-00000-of-00001.jsonl");
    assert!(text.contains(r#""arguments":{"z":1.50,"a":null,"n":123456789012345678901234567890}"#), "{text}");
    assert!(text.contains("\"content\":\"tab\\there \\u0001 \u{2028} ü\""), "{text}");
}

#[test]
fn a_cut_output_says_so_and_a_cut_text_keeps_the_session_out() {
    let cut = |s: &mut SessionBuilder, field: &str, status: &str| {
        let input = if field == "input" { "\"{\\\"command\\\": \\\"l\"" } else { "{}" };
        let fields =
            Object::new().text("tool", "Bash").raw("input", input).text("output", "long").text("status", status);
        s.event("tool_call", fields.raw(&format!("{field}_truncated"), "true").number(&format!("{field}_bytes"), 99));
    };
    assert_eq!(outline(&row(|s| cut(s, "output", "ok")))[2], "-tool: long\n[truncated]");
    let session = |field: &'static str, status: &'static str| {
        let mut session = SessionBuilder::new("s1", &task());
        session.start().prompt().baseline(Verdict::Fail);
        cut(&mut session, field, status);
        session.message("assistant", "done").grade(Verdict::Pass, "diff");
        Lake::of([session.build()])
    };
    let truncated = [("s1".to_owned(), "truncated".to_owned())];
    assert_eq!(run(&session("input", "ok"), request()).excluded("sft"), truncated);
    assert_eq!(run(&session("input", "denied"), request()).excluded("sft"), truncated);
    let strict = lake_export::Request { on_truncated_output: lake_export::OnTruncatedOutput::Exclude, ..request() };
    assert_eq!(run(&session("output", "ok"), strict).excluded("sft"), truncated);
}
