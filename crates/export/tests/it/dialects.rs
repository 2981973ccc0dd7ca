//! What each dialect makes of the same sessions.

use lake_export::{Dialect, Error, Out, PromptMatch, Request, Scans, TrainAfterFail, export};
use lake_testkit::{Object, SessionBuilder, Task, scenarios};
use lake_trace::Verdict;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

use crate::lake::{Exported, Lake, key, request, run, signed_request};

const ALL: [Dialect; 7] = [
    Dialect::Trl,
    Dialect::Axolotl,
    Dialect::Openai,
    Dialect::Llamafactory,
    Dialect::Swift,
    Dialect::Tinker,
    Dialect::Atif,
];

fn task() -> Task {
    Task::new("github.com/acme/billing", "bill-1")
}

/// Everything that a row may hold: a system message, reasoning, words beside calls, parallel calls, odd characters, a claim
/// that was wrong, what the gate says to it.
fn rich(id: &str) -> Vec<u8> {
    let key = key();
    let mut s = SessionBuilder::new(id, &task()).signed(Some(&key)).model("model-a");
    s.start().message("system", "Be \"brief\".").prompt().baseline(Verdict::Fail);
    s.thinking("Let me look.", "Where is it?\n\t\\").call(
        "Bash",
        &[("command", "grep -n \"é\\n\" *")],
        "1: <tool_call>\n",
    );
    let parallel = |s: &mut SessionBuilder, id: &str, output: &str| {
        let fields = Object::new().text("tool", "Read").object("input", Object::new().text("path", id));
        s.event("tool_call", fields.text("response_id", "r1").text("call_id", id).raw("output", output));
    };
    parallel(&mut s, "a", "\"one\"");
    parallel(&mut s, "b", "{\"two\":2}");
    s.message("assistant", "Done.").grade(Verdict::Fail, "d1").gate();
    s.call("Edit", &[("path", "a.py"), ("new", "x")], "").thinking("Fixed now.", "Off by one.");
    s.grade(Verdict::Pass, "d2").end("agent", "flipped");
    s.build()
}

/// Says two things after one another without anything between, and speaks first.
fn talkative(id: &str) -> Vec<u8> {
    let key = key();
    let mut s = SessionBuilder::new(id, &task()).signed(Some(&key));
    s.start().baseline(Verdict::Fail).message("assistant", "Hello.").message("assistant", "I begin.");
    s.call("Bash", &[("command", "ls")], "a").message("user", "And?").message("user", "Well?");
    s.message("assistant", "Done.").call("Bash", &[("command", "pytest")], "1 passed").grade(Verdict::Pass, "d");
    s.end("agent", "flipped");
    s.build()
}

fn lake() -> Lake {
    Lake::of([rich("s1"), talkative("s2")])
}

fn exported(dialect: Dialect) -> Exported {
    run(&lake(), Request { dialect, ..signed_request() })
}

/// A message of any of the dialects with roles as the canonical row has it.
fn canonical(dialect: Dialect, message: &Value) -> Value {
    let mut message = message.clone();
    let said = message["role"] == "assistant";
    let object = message.as_object_mut().expect("a message");
    let mask = match dialect {
        Dialect::Openai => object.remove("weight").map(|weight| weight == 1),
        Dialect::Swift => object.remove("loss").map(|loss| loss == true),
        Dialect::Tinker => object.remove("trainable").map(|trainable| trainable == true),
        _ => object.remove("train").map(|train| train == true),
    };
    assert!(mask.is_some() || !said, "a turn of the model has a mask");
    object.insert("train".into(), mask.unwrap_or(false).into());
    for call in object.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        if dialect != Dialect::Trl {
            *arguments = serde_json::from_str(arguments.as_str().expect("a text")).expect("JSON in it");
        }
    }
    if dialect == Dialect::Swift
        && let Some((reasoning, content)) = object["content"].as_str().and_then(|content| {
            let (reasoning, content) = content.strip_prefix("<think>\n")?.split_once("\n</think>\n\n")?;
            Some((reasoning.to_owned(), content.to_owned()))
        })
    {
        object.insert("reasoning_content".into(), reasoning.into());
        object.insert("content".into(), content.into());
    }
    message
}

#[test]
fn dialects_with_roles_say_what_the_canonical_row_says() {
    let expected = exported(Dialect::Trl).sft();
    for dialect in [Dialect::Axolotl, Dialect::Openai, Dialect::Swift, Dialect::Tinker] {
        let rows = exported(dialect).sft();
        assert_eq!(rows.len(), expected.len(), "{dialect:?}");
        for (row, expected) in rows.iter().zip(&expected) {
            let mut expected = expected["messages"].clone();
            if dialect == Dialect::Openai {
                for message in expected.as_array_mut().expect("messages") {
                    let message = message.as_object_mut().expect("a message");
                    message.remove("reasoning_content");
                    if message["role"] == "tool" {
                        message.remove("name");
                    }
                }
            }
            let messages = row["messages"].as_array().expect("messages").iter().map(|m| canonical(dialect, m));
            assert_eq!(Value::Array(messages.collect()), expected, "{dialect:?}");
        }
    }
}

#[test]
fn rows_of_each_dialect_hold_what_its_format_says() {
    for dialect in ALL {
        let done = exported(dialect);
        let row = done.sft().remove(0);
        let text = serde_json::to_string_pretty(&row).expect("JSON");
        // The rules grow without this crate.
        let text = text.replace(&done.report.manifest.rules_digest, "…");
        insta::assert_snapshot!(format!("{}_row", dialect.as_str()), text);
        let configuration = done.files().into_iter().find(|(name, _)| {
            name.starts_with(dialect.as_str())
                && (name.ends_with(".yaml") || name.ends_with(".json") || name.ends_with(".py"))
        });
        assert_eq!(configuration.is_some(), dialect != Dialect::Atif, "{dialect:?}");
        if let Some((_, text)) = configuration.filter(|_| dialect != Dialect::Trl) {
            insta::assert_snapshot!(
                format!("{}_configuration", dialect.as_str()),
                String::from_utf8(text).expect("UTF-8")
            );
        }
    }
    insta::assert_snapshot!("dataset_info", exported(Dialect::Llamafactory).text("dataset_info.json"));
}

#[test]
fn llamafactory_gets_turns_in_alternation_and_loses_no_word() {
    let expected = exported(Dialect::Trl).sft();
    for (row, expected) in exported(Dialect::Llamafactory).sft().iter().zip(&expected) {
        let mut turns = row["conversations"].as_array().expect("turns").as_slice();
        if turns[0]["from"] == "system" {
            turns = &turns[1..];
        }
        assert_eq!(turns.len() % 2, 0);
        for (at, turn) in turns.iter().enumerate() {
            let sides: [&str; 2] = if at % 2 == 0 { ["human", "observation"] } else { ["gpt", "function_call"] };
            assert!(sides.contains(&turn["from"].as_str().expect("a side")), "{turn}");
        }
        let all = row["conversations"].as_array().expect("turns").iter();
        let all: Vec<&str> = all.map(|turn| turn["value"].as_str().expect("a text")).collect();
        let all = all.join("\n");
        let messages = expected["messages"].as_array().expect("messages");
        for message in &messages[..messages.iter().rposition(|m| m["role"] == "assistant").expect("one") + 1] {
            for key in ["content", "reasoning_content"] {
                assert!(all.contains(message[key].as_str().unwrap_or_default()), "{message}");
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let written = json!({"name": call["function"]["name"], "arguments": call["function"]["arguments"]});
                assert!(calls(row).contains(&written), "{written}");
            }
        }
    }
}

/// Calls as LLaMA-Factory's formatter finds them.
fn calls(row: &Value) -> Vec<Value> {
    let turns = row["conversations"].as_array().expect("turns").iter();
    let texts =
        turns.filter(|turn| turn["from"] == "function_call").map(|turn| turn["value"].as_str().expect("a text"));
    let parse = |text: &str| {
        let inner = text.split_once("<tool_call>").map_or(text, |(_, rest)| rest.trim_end_matches("</tool_call>"));
        let calls: Vec<Value> = serde_json::from_str(inner).expect("calls");
        calls
    };
    texts.flat_map(parse).collect()
}

#[test]
fn a_trajectory_has_numbered_steps_and_each_result_in_the_step_of_its_call() {
    let expected = exported(Dialect::Trl).sft();
    for (row, expected) in exported(Dialect::Atif).sft().iter().zip(&expected) {
        let steps = row["steps"].as_array().expect("steps");
        let messages = expected["messages"].as_array().expect("messages");
        let turns: Vec<&Value> = messages.iter().filter(|m| m["role"] != "tool").collect();
        assert_eq!(steps.len(), turns.len());
        for ((number, step), message) in (1..).zip(steps).zip(turns) {
            assert_eq!(step["step_id"], number);
            assert_eq!(step["message"], message["content"]);
            assert_eq!(step["reasoning_content"], message["reasoning_content"]);
            let ids = |list: &Value, key: &str| -> Vec<Value> {
                list.as_array().into_iter().flatten().map(|one| one[key].clone()).collect()
            };
            let asked = ids(&step["tool_calls"], "tool_call_id");
            assert_eq!(asked, ids(&step["observation"]["results"], "source_call_id"));
            assert_eq!(asked, ids(&message["tool_calls"], "id"));
        }
        assert_eq!(row["session_id"], expected["session_id"]);
    }
}

#[test]
fn pairs_hold_both_sides_in_the_dialects_that_take_whole_ones() {
    let key = key();
    let sessions = || {
        Lake::of([
            scenarios::flipped_session("s1", &task(), Some(&key)),
            scenarios::no_flip_session("s2", &task(), Some(&key), 1),
        ])
    };
    let pair = |dialect| run(&sessions(), Request { dialect, ..signed_request() }).pairs().remove(0);
    let trl = pair(Dialect::Trl);
    let joined = |parts: [&Value; 2]| -> Vec<Value> {
        let list = parts.iter().flat_map(|part| part.as_array().expect("messages").iter());
        list.map(|message| canonical(Dialect::Trl, &masked(message))).collect()
    };
    let canonical_of = |dialect, list: &Value| -> Vec<Value> {
        list.as_array()
            .expect("messages")
            .iter()
            .map(|m| unmasked(canonical(dialect, &masked_as(dialect, m))))
            .collect()
    };
    let swift = pair(Dialect::Swift);
    let whole = |side: &str| joined([&trl["prompt"], &trl[side]]).into_iter().map(unmasked).collect::<Vec<_>>();
    assert_eq!(canonical_of(Dialect::Swift, &swift["messages"]), whole("chosen"));
    assert_eq!(canonical_of(Dialect::Swift, &swift["rejected_messages"]), whole("rejected"));
    assert_eq!(swift["tools"], trl["tools"]);
    assert_eq!(swift["rejected_tools"], trl["tools"]);
    let tinker = pair(Dialect::Tinker);
    let comparison = &tinker["comparison"];
    for (theirs, ours) in [("prompt_conversation", "prompt"), ("completion_A", "chosen"), ("completion_B", "rejected")]
    {
        assert_eq!(Value::Array(canonical_of(Dialect::Tinker, &comparison[theirs])), trl[ours], "{theirs}");
    }
    assert_eq!(tinker["label"], "A");
}

fn masked(message: &Value) -> Value {
    masked_as(Dialect::Trl, message)
}

fn masked_as(dialect: Dialect, message: &Value) -> Value {
    let mut message = message.clone();
    let key = match dialect {
        Dialect::Openai => "weight",
        Dialect::Swift => "loss",
        Dialect::Tinker => "trainable",
        _ => "train",
    };
    assert!(message.get(key).is_none(), "a side has no mask");
    message[key] = true.into();
    message
}

fn unmasked(mut message: Value) -> Value {
    message.as_object_mut().expect("a message").remove("train");
    message
}

/// Two sessions that share everything before their last message, and one that does not.
fn nearly_equal() -> Lake {
    let key = key();
    let session = |id: &str, word: &str, verdict, last: &str| {
        let mut s = SessionBuilder::new(id, &task()).signed(Some(&key));
        s.start().prompt().baseline(Verdict::Fail).message("assistant", word).message("user", "Go on.");
        s.message("assistant", last).grade(verdict, id).end("agent", "flipped");
        s.build()
    };
    Lake::of([
        session("s1", "Hm.", Verdict::Pass, "yes"),
        session("s2", "Hm.", Verdict::Fail, "no"),
        session("s3", "Ah.", Verdict::Fail, "never"),
    ])
}

#[test]
fn one_message_a_side_needs_sides_that_share_all_before_it() {
    for dialect in [Dialect::Axolotl, Dialect::Openai, Dialect::Llamafactory] {
        let done = run(&nearly_equal(), Request { dialect, ..signed_request() });
        let pairs = done.pairs();
        assert_eq!(pairs.len(), 1, "{dialect:?}");
        let (before, chosen, rejected) = match dialect {
            Dialect::Openai => {
                (&pairs[0]["input"]["messages"], &pairs[0]["preferred_output"][0], &pairs[0]["non_preferred_output"][0])
            }
            Dialect::Axolotl => (&pairs[0]["messages"], &pairs[0]["chosen"], &pairs[0]["rejected"]),
            _ => (&pairs[0]["conversations"], &pairs[0]["chosen"], &pairs[0]["rejected"]),
        };
        assert_eq!(before.as_array().expect("messages").len(), 3, "{before}");
        let text = if dialect == Dialect::Llamafactory { "value" } else { "content" };
        assert_eq!((&chosen[text], &rejected[text]), (&json!("yes"), &json!("no")));
        assert_eq!(done.excluded("preference"), [("s3".to_owned(), "no_partner".to_owned())]);
        assert!(done.report.warnings.iter().any(|w| w.contains("one message a side")), "{:?}", done.report.warnings);
    }
    assert_eq!(run(&nearly_equal(), Request { dialect: Dialect::Atif, ..signed_request() }).pairs().len(), 0);
}

#[test]
fn another_prompt_is_refused_where_a_side_answers_what_stands_before_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let lake = nearly_equal();
    let mut request =
        Request { prompt_match: PromptMatch::Task, ..Request::new(Out::Folder(folder.path().join("out"))) };
    request.dialect = Dialect::Axolotl;
    let result = export(&lake.catalog, &Scans::new(), &lake, &request, &|_| (), &AtomicBool::new(false));
    assert!(matches!(result, Err(Error::TaskPromptForOneMessage)));
}

#[test]
fn only_the_last_part_is_trained_where_the_dialect_holds_the_mask() {
    for dialect in ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let lake = Lake::of([rich("s1")]);
        let out = Out::Folder(folder.path().join("out"));
        let request = Request { dialect, train_after_fail: TrainAfterFail::Last, ..Request::new(out) };
        let result = export(&lake.catalog, &Scans::new(), &lake, &request, &|_| (), &AtomicBool::new(false));
        let holds = matches!(dialect, Dialect::Axolotl | Dialect::Openai | Dialect::Swift | Dialect::Tinker);
        assert_eq!(result.is_ok(), holds, "{dialect:?}");
    }
    let lake = Lake::of([rich("s1")]);
    let rows =
        run(&lake, Request { dialect: Dialect::Axolotl, train_after_fail: TrainAfterFail::Last, ..request() }).sft();
    let messages = rows[0]["messages"].as_array().expect("messages");
    let gate = messages.iter().rposition(|m| m["role"] == "user").expect("the gate's words");
    assert!(messages[..gate].iter().all(|m| m["train"] == false));
    assert!(messages[gate..].iter().any(|m| m["train"] == true));
}

#[test]
fn a_thought_alone_has_no_weight_where_reasoning_is_lost() {
    let mut s = SessionBuilder::new("s1", &task());
    s.start().prompt().baseline(Verdict::Fail).thinking("", "Only a thought.").message("user", "So?");
    s.message("assistant", "Fixed.").grade(Verdict::Pass, "d");
    let rows = run(&Lake::of([s.build()]), Request { dialect: Dialect::Openai, ..request() }).sft();
    let weights: Vec<&Value> =
        rows[0]["messages"].as_array().expect("messages").iter().filter_map(|m| m.get("weight")).collect();
    assert_eq!(weights, [&json!(0), &json!(1)]);
}

#[test]
fn a_call_that_llamafactory_would_look_for_in_the_wrong_place_is_left_out() {
    for (text, argument) in
        [("", "echo '<tool_call>x</tool_call>'"), ("See <tool_call>.", "ls"), ("", "<think>no</think>")]
    {
        let mut s = SessionBuilder::new("s1", &task());
        s.start().prompt().baseline(Verdict::Fail).message("assistant", text);
        s.call("Bash", &[("command", argument)], "").message("assistant", "Fixed.").grade(Verdict::Pass, "d");
        let lake = Lake::of([s.build()]);
        let done = run(&lake, Request { dialect: Dialect::Llamafactory, ..request() });
        assert_eq!(done.excluded("sft"), [("s1".to_owned(), "unrenderable".to_owned())], "{text} {argument}");
        assert_eq!(run(&lake, Request { dialect: Dialect::Axolotl, ..request() }).sft().len(), 1);
    }
}
