//! `check` and `export` from outside.

use serde_json::Value;

use crate::kit::{Kit, demo_dir, trust_file};

fn lines(kit: &Kit, name: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(kit.path(name)).expect("a file");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn the_sets_hold_what_is_proven_and_say_what_is_left_out() {
    let kit = Kit::with_demo();
    let ran = kit.run(&["export", "--out", "out", "--require-signature", "--trust", &trust_file()]).exits(0);
    ran.prints(&[
        "sft: 4 rows, 4 used of 11 sessions selected",
        "unsigned 1",
        "preference: 2 rows",
        "manifest sha256 ",
    ]);
    assert_eq!(lines(&kit, "out/sft/train-00000-of-00001.jsonl").len(), 4);
    assert_eq!(lines(&kit, "out/preference/train-00000-of-00001.jsonl").len(), 2);
    assert_eq!(lines(&kit, "out/exclusions.jsonl").iter().filter(|l| l["set"] == "sft").count(), 7);
    let noted =
        kit.run(&["sql", "select \"set\", count(distinct row) as n from exports group by 1 order by 1"]).exits(0);
    assert_eq!(noted.out, "set,n\npreference,2\nsft,4\n");
    kit.run(&["status"]).exits(0).prints(&["sft: 4 rows of version 1 in "]);
    // The same lake, flags and binary: the same bytes.
    kit.run(&["export", "--out", "again", "--require-signature", "--trust", &trust_file()]).exits(0);
    let read = |name: &str| std::fs::read(kit.path(name)).expect("a manifest");
    assert_eq!(read("out/manifest.json"), read("again/manifest.json"));
}

#[test]
fn export_refuses_what_it_should() {
    let kit = Kit::with_demo();
    kit.run(&["export", "--out", "out", "--require-signature"]).exits(2).says(&["needs a trust file", "--trust"]);
    kit.run(&["export", "--out", "out", "--train-after-fail", "last"]).exits(2);
    kit.run(&["export", "--out", "s3://bucket/x"]).exits(2).says(&["is no folder"]);
    kit.run(&["export", "--out", "out", "--where", "nonsense = 1"]).exits(1).says(&["nonsense"]);
    kit.run(&["export", "--out", "out", "--since", "2026-01-02", "--until", "2026-01-01"]).exits(2);
    kit.run(&["export", "--out", "out", "--at", "7"]).exits(1).says(&["stand at version 1, not at 7"]);
    assert!(!kit.path("out").exists());
    kit.write("out/mine", "precious");
    kit.run(&["export", "--out", "out"]).exits(1).says(&["is there already", "--force"]);
    assert!(kit.path("out/mine").exists());
    kit.run(&["export", "--out", "out", "--force"]).exits(1).says(&["is no training set"]);
    assert!(kit.path("out/mine").exists());
    kit.run(&["export", "--out", "set"]).exits(0);
    kit.write("set/left", "over");
    kit.run(&["export", "--out", "set", "--force"]).exits(0);
    assert!(!kit.path("set/left").exists());
    // What is in the lake is never replaced, and no set stands in it.
    for out in ["lake", "./lake/../lake", ".", "lake/raw", "lake/new/set"] {
        kit.run(&["export", "--out", out, "--force"]).exits(1).says(&["the lake", "hint: "]);
    }
    kit.run(&["export", "--out", "last"]).exits(0);
}

#[test]
fn sessions_can_be_chosen() {
    let kit = Kit::with_demo();
    let used = |args: &[&str]| {
        let mut whole = vec!["export", "--out", "none", "--dry-run", "--json"];
        whole.extend(args);
        let json = kit.run(&whole).exits(0).json();
        (json["sets"]["sft"]["selected"].clone(), json["sets"]["sft"]["rows"].clone())
    };
    assert_eq!(used(&[]).0, 11);
    assert_eq!(used(&["--where", "session_id like 'demo-01%'"]), (1.into(), 1.into()));
    assert_eq!(used(&["--repo", "https://github.com/Acme/Web.git"]).0, 2);
    assert_eq!(used(&["--since", "2030-01-01"]).0, 0);
    assert_eq!(used(&["--until", "2030-01-01"]).0, 11);
    let json = kit.run(&["export", "--out", "none", "--dry-run", "--json", "--sets", "sft"]).exits(0).json();
    assert!(json["sets"].get("preference").is_none());
    assert!(!kit.path("none").exists());
}

#[test]
fn strict_says_4() {
    let kit = Kit::with_demo();
    kit.run(&["export", "--out", "out", "--strict"]).exits(4);
    kit.run(&["export", "--out", "one", "--strict", "--sets", "sft", "--where", "session_id = 'demo-01-flipped'"])
        .exits(0);
    // Nothing is looked at again, and what was found is there still.
    kit.run(&["check", "--strict"]).exits(4);
    kit.run(&["rebuild"]).exits(0).prints(&["generation 2 stands at version 1, 11 segments"]);
    kit.write("allow.toml", "[[allow]]\nliteral = 'x-not-there'\nreason = 'another digest'\nexpires = 2099-01-01\n");
    kit.run(&["check", "--strict", "--allow", "allow.toml"]).exits(4).prints(&["github-token 1"]);
}

#[test]
fn check_and_export_derive_what_is_behind() {
    let kit = Kit::new();
    kit.run(&["sync", "--lake", "lake", "--data-dir", &demo_dir(), "--idle", "0s", "--no-derive"]).exits(3);
    kit.run(&["check", "--lake", "lake", "--dry-run"]).exits(0).prints(&["1 batch record behind"]);
    kit.run(&["export", "--lake", "lake", "--out", "dry", "--dry-run"]).exits(0).says(&["stand at version 0 of 1"]);
    kit.run(&["export", "--lake", "lake", "--out", "out"]).exits(0).prints(&["sft: 5 rows"]);
    kit.run(&["check", "--lake", "lake"]).exits(0).prints(&["looked at 11 sessions", "not judged"]);
    kit.run(&["check", "--lake", "lake"]).exits(0).prints(&["looked at 0 sessions", "11 had theirs"]);
}

#[test]
fn a_choice_by_what_no_check_has_looked_at_is_warned_of() {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    kit.run(&["sync", "--data-dir", &demo_dir(), "--idle", "0s"]).exits(3);
    let chosen = |name: &str, predicate: &str| kit.run(&["export", "--out", name, "--where", predicate]).exits(0);
    chosen("a", "outcome = 'flipped'").says(&[
        "11 sessions not judged by a check",
        "`outcome`",
        "`trace-lake check` first",
    ]);
    chosen("b", "secrets = 'clean'").says(&["11 sessions not scanned by a check"]);
    assert!(!chosen("c", "recorded_outcome = 'flipped'").err.contains("by a check"));
    kit.run(&["check", "--trust", &trust_file()]).exits(0);
    assert!(!chosen("d", "outcome = 'flipped' and secrets = 'clean'").err.contains("by a check"));
}

#[test]
fn the_folder_that_it_runs_in_is_no_output() {
    let kit = Kit::with_demo();
    std::fs::create_dir(kit.path("empty")).expect("a folder");
    let mut command = kit.command(&["export", "--out", ".", "--force"]);
    let ran = command.current_dir(kit.path("empty")).output().expect("it runs");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("the folder that this runs in") && said.contains("hint: "), "{said}");
    assert!(kit.path("empty").is_dir());
}

#[test]
fn what_killed_exports_left_is_removed_by_the_next_to_the_same_place() {
    let kit = Kit::with_demo();
    let hour = std::time::Duration::from_secs(3600);
    let left = |name: &str, age: std::time::Duration| {
        std::fs::create_dir(kit.path(name)).expect("a folder");
        kit.write(&format!("{name}/sft"), "half a row");
        let folder = std::fs::File::open(kit.path(name)).expect("a folder");
        folder.set_modified(std::time::SystemTime::now() - age).expect("a time");
        folder
    };
    drop(left(".out.part-dead", hour));
    let alive = left(".out.part-alive", hour);
    alive.lock().expect("a lock");
    drop(left(".out.part-young", std::time::Duration::ZERO));
    drop(left(".other.part-dead", hour));
    drop(left(".out.part-aside", hour));
    kit.write(".out.part-aside/old/manifest.json", "what stood in the place before");
    std::fs::File::open(kit.path(".out.part-aside"))
        .and_then(|folder| folder.set_modified(std::time::SystemTime::now() - hour))
        .expect("a time");
    kit.run(&["export", "--out", "out"]).exits(0);
    let there = [".out.part-dead", ".out.part-alive", ".out.part-young", ".other.part-dead", ".out.part-aside"];
    assert_eq!(there.map(|name| kit.path(name).exists()), [false, true, true, true, true]);
}

#[test]
fn a_set_that_holds_a_session_in_which_a_secret_is_known_only_now_is_named() {
    let kit = Kit::with_demo();
    kit.run(&["export", "--out", "out", "--require-signature", "--trust", &trust_file()]).exits(0);
    let clean = kit.run(&["status", "--json"]).exits(0).json();
    assert!(clean["exports"].as_array().expect("exports").iter().all(|export| export["tainted"] == 0), "{clean}");
    let traces = kit.data_dir("data").join("traces");
    let of_one =
        |path: &std::path::Path| std::fs::read_to_string(path).is_ok_and(|text| text.contains("demo-01-flipped"));
    let all = std::fs::read_dir(traces).expect("traces").map(|entry| entry.expect("an entry").path());
    let path = all.into_iter().find(|path| of_one(path)).expect("the session");
    let line = format!(
        "{{\"type\":\"note\",\"session_id\":\"demo-01-flipped\",\"ts\":\"2025-06-03T10:00:00Z\",\"text\":\"{}\"}}\n",
        lake_testkit::made_up_github_token()
    );
    let mut bytes = std::fs::read(&path).expect("the trace");
    bytes.extend_from_slice(line.as_bytes());
    std::fs::write(&path, bytes).expect("the trace");
    let data = kit.text("data");
    kit.run(&["sync", "--data-dir", &data, "--source", "demo", "--idle", "0s"]);
    kit.run(&["check", "--trust", &trust_file()]).exits(0);
    kit.run(&["status"]).exits(0).prints(&["TAINTED sft: 1 row of sessions"]);
    let json = kit.run(&["status", "--json"]).exits(0).json();
    let sft = json["exports"].as_array().expect("exports").iter().find(|export| export["set"] == "sft").expect("sft");
    assert_eq!(sft["tainted"], 1);
    kit.run(&[
        "sql",
        "select distinct exported_to is not null as x from findings where current and session_id = 'demo-01-flipped'",
    ])
    .exits(0)
    .prints(&["true"]);
    kit.run(&["sql", "--query", "tainted-exports"]).exits(0).prints(&["demo-01-flipped"]);
}

#[test]
fn a_dry_run_says_what_each_step_left_and_whom_it_dropped() {
    let kit = Kit::with_demo();
    let args = ["export", "--out", "out", "--require-signature", "--trust", &trust_file(), "--dry-run"];
    kit.run(&args).exits(0).prints(&[
        "funnel: found 11 → graded 10 (-untracked 1) → flipped 7 (-no_flip 3) → verified 5 (-reject 1, -unsigned 1) → clean 4 (-secret 1) → \
         fits 4 → exported 4",
        "→ fits 7 → exported 4 (-no_partner 3)",
    ]);
    let json = kit.run(&[&args[..], &["--json"]].concat()).exits(0).json();
    for set in ["sft", "preference"] {
        let steps = json["funnel"][set].as_array().expect("steps");
        let dropped = |step: &serde_json::Value| -> u64 {
            step["dropped"].as_object().expect("reasons").values().filter_map(serde_json::Value::as_u64).sum()
        };
        assert_eq!(json["sets"][set]["selected"], 11);
        assert_eq!(
            11 - steps.iter().map(dropped).sum::<u64>(),
            steps.last().expect("a step")["left"].as_u64().expect("a count")
        );
        assert_eq!(steps.last().expect("a step")["left"], json["sets"][set]["used"]);
    }
}
