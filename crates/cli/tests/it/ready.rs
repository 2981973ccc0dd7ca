//! What `status` and `held_back` say beforehand, beside what an export then does.

use std::collections::BTreeMap;

use lake_testkit::attacks::{attack_trust, attacks};
use lake_testkit::oddities::oddities;
use lake_testkit::scenarios::{diff_of, work};
use lake_testkit::{DataDir, Object, OracleKey, SessionBuilder, Task, made_up_github_token, trust_toml};
use lake_trace::Verdict;
use serde_json::Value;

use crate::kit::{Kit, demo_dir, trust_file};

type Reasons = BTreeMap<(String, u64), String>;

/// Reasons that only the bytes give: `ready` beforehand, and left out all the same.
const SEEN_BY_EXPORT_ALONE: [&str; 3] = ["truncated", "unrenderable", "nothing_trained"];

fn reasons(lines: &str) -> Reasons {
    let row = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let text = |key: &str| row[key].as_str().expect("text").to_owned();
        ((text("session_id"), row["branch"].as_u64().expect("a number")), text("reason"))
    };
    lines.lines().map(row).collect()
}

fn held_back(kit: &Kit, trust: &str) -> Reasons {
    let sql = "select session_id, branch, reason from held_back";
    reasons(&kit.run(&["sql", sql, "--format", "json", "--trust", trust]).exits(0).out)
}

/// Holds what was said beforehand to what the export does, and returns both.
#[track_caller]
fn compared(kit: &Kit, trust: &str) -> (Reasons, Reasons) {
    kit.run(&["check", "--trust", trust]).exits(0);
    let before = held_back(kit, trust);
    let status = kit.run(&["status", "--json", "--trust", trust]).exits(0).json();
    kit.run(&["export", "--out", "out", "--sets", "sft", "--require-signature", "--trust", trust]).exits(0);
    let export = reasons(&std::fs::read_to_string(kit.path("out/exclusions.jsonl")).expect("exclusions"));
    let mut used = 0;
    for (session, said) in &before {
        let did = export.get(session).map_or("used", String::as_str);
        used += u64::from(did == "used");
        match said.as_str() {
            "ready" => {
                assert!(did == "used" || SEEN_BY_EXPORT_ALONE.contains(&did), "{session:?}: ready, and then {did}")
            }
            said => assert_eq!(said, did, "{session:?}"),
        }
    }
    assert!(export.keys().all(|session| before.contains_key(session)));
    let ready = before.values().filter(|said| *said == "ready").count() as u64;
    assert!(ready >= used);
    assert_eq!(status["ready"].as_u64(), Some(ready), "{status}");
    assert_eq!(
        status["held_back"].as_object().map(|all| all.values().filter_map(Value::as_u64).sum::<u64>()),
        Some(before.len() as u64 - ready)
    );
    // What was used waits for no export any more.
    assert!(held_back(kit, trust).keys().all(|session| export.contains_key(session)));
    (before, export)
}

fn lake_of(files: &[(String, Vec<u8>)], trust: &str) -> (Kit, String) {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    DataDir::at(kit.path("data")).write_all(files);
    kit.write("trust.toml", trust);
    let code = kit.run(&["sync", "--data-dir", "data", "--source", "s", "--idle", "0s"]).code;
    assert!([0, 3].contains(&code), "{code}");
    let trust = kit.text("trust.toml");
    (kit, trust)
}

#[test]
fn the_demo_is_held_back_as_an_export_leaves_it_out() {
    let kit = Kit::with_demo();
    kit.run(&["status", "--trust", &trust_file()]).exits(0).prints(&[
        "held back no_flip 3, reject 1, secret 1, unsigned 1, untracked 1",
        "ready     at most 4 sessions for the next",
    ]);
    let (before, _) = compared(&kit, &trust_file());
    assert_eq!(before.values().filter(|said| *said == "ready").count(), 4);
    kit.run(&["status", "--trust", &trust_file()])
        .exits(0)
        .prints(&["ready     no session for the next supervised set"]);
    // Nobody has looked: an export would.
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    kit.run(&["sync", "--data-dir", &demo_dir(), "--idle", "0s"]).exits(3);
    kit.run(&["status"]).exits(0).prints(&[
        "signatures not looked at 7",
        "no session for the next",
        ", 7 sessions not looked at",
    ]);
}

#[test]
fn attacks_are_held_back_as_an_export_leaves_them_out() {
    let files: Vec<(String, Vec<u8>)> = attacks()
        .into_iter()
        .flat_map(|attack| [(attack.session_id, attack.bytes)].into_iter().chain(attack.others))
        .map(|(id, bytes)| (format!("traces/{id}.jsonl"), bytes))
        .collect();
    let (kit, trust) = lake_of(&files, &attack_trust());
    let (before, _) = compared(&kit, &trust);
    assert!(before.values().filter(|said| *said == "ready").count() > 5);
}

#[test]
fn odd_files_are_held_back_as_an_export_leaves_them_out() {
    // A folder each, in one lake.
    let placed = |name: &str, files: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        let into = |path: String| path.replacen("traces/", &format!("traces/{name}/"), 1);
        files.into_iter().map(|(path, bytes)| (into(path), bytes)).collect()
    };
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for fixture in oddities() {
        first.extend(placed(fixture.name, fixture.files));
        later.extend(placed(fixture.name, fixture.later));
    }
    let (kit, trust) = lake_of(&first, &trust_toml(&[OracleKey::from_seed(1).trust_entry()]));
    DataDir::at(kit.path("data")).write_all(&later);
    kit.run(&["sync", "--data-dir", "data", "--source", "s", "--idle", "0s"]);
    compared(&kit, &trust);
}

#[test]
fn only_what_was_graded_holds_a_session_back() {
    let key = OracleKey::from_seed(1);
    let token = made_up_github_token();
    let leak = |session: &mut SessionBuilder| {
        session.call("Bash", &[("command", "env")], &format!("TOKEN={token}"));
    };
    let mut files = Vec::new();
    let mut session = |id: &str,
                       key: Option<&OracleKey>,
                       before: &dyn Fn(&mut SessionBuilder),
                       after: &dyn Fn(&mut SessionBuilder)| {
        // A task each: nothing here is about what sessions do to each other.
        let mut session = SessionBuilder::new(id, &Task::new("github.com/acme/billing", id)).signed(key);
        session.start().prompt().baseline(Verdict::Fail);
        before(&mut session);
        session.grade(Verdict::Pass, &diff_of(id, 1));
        after(&mut session);
        session.end("agent", "flipped");
        files.push((format!("traces/{id}.jsonl"), session.build()));
    };
    let nothing = |_: &mut SessionBuilder| {};
    let works = |session: &mut SessionBuilder| work(session, 1);
    let signed = Some(&key);
    session("plain", signed, &works, &nothing);
    session("unsigned", None, &works, &nothing);
    session(
        "leak-before",
        signed,
        &|s| {
            works(s);
            leak(s)
        },
        &nothing,
    );
    session("leak-after", signed, &works, &leak);
    session(
        "leak-by-an-agent",
        signed,
        &|s| {
            works(s);
            s.set_agent(Some("a"));
            leak(s);
            s.set_agent(None);
        },
        &nothing,
    );
    session(
        "leak-in-no-row",
        signed,
        &|s| {
            works(s);
            s.event("note", Object::new().text("said", &token));
        },
        &nothing,
    );
    session(
        "leak-twice",
        signed,
        &|s| {
            works(s);
            leak(s)
        },
        &leak,
    );
    session(
        "reject-before",
        signed,
        &|s| {
            works(s);
            s.raw("{\"type\":\n");
        },
        &nothing,
    );
    session("reject-after", signed, &works, &|s| {
        s.raw("{\"type\":\n");
    });
    session(
        "fork",
        signed,
        &|s| {
            let fields = s.start_fields("fork");
            s.event("session_start", fields);
            works(s);
        },
        &nothing,
    );
    session("fork-after", signed, &works, &|s| {
        let fields = s.start_fields("fork");
        s.event("session_start", fields);
    });
    session("nothing-trained", signed, &nothing, &nothing);
    session(
        "cut",
        signed,
        &|s| {
            works(s);
            s.event(
                "message",
                Object::new()
                    .text("role", "assistant")
                    .text("text", "half")
                    .raw("ext", "{\"truncated\":{\"text\":9999}}"),
            );
        },
        &nothing,
    );
    let (kit, trust) = lake_of(&files, &trust_toml(&[key.trust_entry()]));
    let (before, export) = compared(&kit, &trust);
    let held: Vec<(&str, &str)> = before
        .iter()
        .filter(|(_, said)| *said != "ready")
        .map(|((id, _), said)| (id.as_str(), said.as_str()))
        .collect();
    assert_eq!(
        held,
        [
            ("fork", "fork"),
            ("leak-before", "secret"),
            ("leak-twice", "secret"),
            ("reject-before", "reject"),
            ("unsigned", "unsigned")
        ]
    );
    let alone: Vec<&str> =
        export.keys().filter(|session| before[*session] == "ready").map(|(id, _)| id.as_str()).collect();
    assert!(alone.contains(&"nothing-trained"), "{alone:?}");
}
