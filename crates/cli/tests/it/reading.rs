//! `status`, `show`, `doctor`, and what a terminal gets to see.

use serde_json::json;

use crate::kit::{Kit, trust_file};

#[test]
fn status_says_what_stands_and_what_is_held_back() {
    let kit = Kit::with_demo();
    let json = kit.run(&["status", "--trust", &trust_file(), "--json"]).exits(0).json();
    assert_eq!(json["k"], 1);
    assert_eq!(json["tables"], json!({"generation": 1, "k": 1, "behind": 0}));
    assert_eq!(json["sessions"], 11);
    assert_eq!(json["verified"], 9);
    assert_eq!(json["outcomes"], json!({"flipped": 7, "no_flip": 3, "untracked": 1}));
    assert_eq!(json["flags"], json!({"secret": 1, "unsigned": 1}));
    assert_eq!(json["sources"][0]["source"], "demo");
    assert_eq!(json["held_back"]["secret"], 1);
    assert_eq!(json["checks"][0]["sessions"], 11);
    kit.run(&["status", "--trust", &trust_file()]).exits(0).prints(&[
        "version   1",
        "demo on ",
        "by outcome: flipped 7, no_flip 3, untracked 1",
        "secrets: 11 done, 0 open",
        "held back no_flip 3",
        "exported  never",
    ]);
}

#[test]
fn status_tells_a_monitor() {
    let kit = Kit::with_demo();
    kit.run(&["status", "--max-age", "1h"]).exits(0);
    kit.run(&["status", "--max-age", "1h", "--source", "demo"]).exits(0);
    kit.run(&["status", "--max-age", "0s"]).exits(1).says(&["too old"]);
    kit.run(&["status", "--max-age", "1h", "--source", "other"]).exits(1).says(&["source other"]);
    kit.run(&["status", "--prometheus", "lake.prom"]).exits(0);
    let text = std::fs::read_to_string(kit.path("lake.prom")).expect("a textfile");
    for part in ["trace_lake_version 1\n", "trace_lake_sessions{outcome=\"untracked\"} 1\n", "source=\"demo\""] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn an_empty_lake_has_a_status_too() {
    let kit = Kit::new();
    kit.write("data/traces/x.jsonl", "");
    kit.run(&["sync", "--lake", "lake", "--data-dir", "data", "--idle", "0s"]).exits(0);
    kit.run(&["status", "--lake", "lake"]).exits(0).prints(&["version   0", "checked   never"]);
    kit.run(&["check", "--lake", "lake"]).exits(0);
    kit.run(&["show", "x", "--lake", "lake"]).exits(1).says(&["no session `x`"]);
}

#[test]
fn show_tells_a_session_with_its_verdicts_and_mask() {
    let kit = Kit::with_demo();
    let json = kit.run(&["show", "demo-02", "--trust", &trust_file(), "--json"]).exits(0).json();
    assert_eq!(json["session_id"], "demo-02-retried");
    let branch = &json["branches"][0];
    assert_eq!(branch["outcome"], "flipped");
    assert_eq!(branch["secrets"], "clean");
    let verdicts = branch["verdicts"].as_array().expect("verdicts");
    assert_eq!(
        verdicts.iter().map(|v| v["verdict"].as_str().unwrap_or("")).collect::<Vec<_>>(),
        ["FAIL", "FAIL", "FAIL", "PASS"]
    );
    assert!(verdicts.iter().all(|v| v["verifies"] == true && v["steps"].as_array().is_some_and(|s| s.len() > 8)));
    assert_eq!(verdicts[3]["deciding"], true);
    let masks: Vec<&str> =
        branch["turns"].as_array().expect("turns").iter().filter_map(|t| t["mask"].as_str()).collect();
    for mask in ["train", "context", "claim"] {
        assert!(masks.contains(&mask), "{masks:?}");
    }
    let text = kit.run(&["show", "demo-02-retried"]).exits(0).out;
    assert!(
        text.contains("signatures not judged") && text.contains("grade 3 PASS: signed, not judged, decides"),
        "{text}"
    );
    let unsigned = kit.run(&["show", "demo-08", "--trust", &trust_file(), "--json"]).exits(0).json();
    assert_eq!(unsigned["branches"][0]["flags"], json!(["unsigned"]), "as the view `sessions` has it");
    kit.run(&["show", "demo-11"]).exits(0).prints(&["line 4: not JSON"]);
    kit.run(&["show", "demo-10", "--trust", &trust_file()]).exits(0).prints(&["found: github-token (line 4)"]);
}

#[test]
fn a_prefix_that_fits_several_sessions_is_refused() {
    let kit = Kit::with_demo();
    kit.run(&["show", "demo-"]).exits(1).says(&["11 sessions start with `demo-`", "demo-01-flipped"]);
    kit.run(&["show", "none"]).exits(1).says(&["no session `none`", "recent-sessions"]);
    kit.run(&["show", "demo-01", "--branch", "7"]).exits(1).says(&["has no branch 7"]);
}

#[test]
fn control_characters_of_a_trace_reach_no_terminal() {
    let kit = Kit::new();
    let line = |kind: &str, rest: &str| {
        format!(r#"{{"v":1,"type":"{kind}","session_id":"esc\u001b[2J","ts":"2026-01-01T00:00:00Z"{rest}}}"#) + "\n"
    };
    let text = line("session_start", r#","repo":"github.com/acme/\u001b[31mred""#)
        + &line("message", r#","role":"user","text":"\u001b]0;title\u0007 \u202e""#)
        + "no json \u{1b}[31m\n"
        + &line("session_end", "");
    kit.write("data/traces/e\u{1b}[1m.jsonl", &text);
    let runs = [
        kit.run(&["sync", "--lake", "lake", "--data-dir", "data", "--idle", "0s"]).exits(3),
        kit.run(&["show", "esc", "--lake", "lake"]).exits(0),
        kit.run(&["status", "--lake", "lake"]).exits(0),
        kit.run(&["check", "--lake", "lake"]).exits(0),
        kit.run(&["show", "\u{1b}[2J", "--lake", "lake"]).exits(1),
        kit.run(&["sql", "select session_id, repo_url from sessions", "--format", "table", "--lake", "lake"]).exits(0),
        kit.run(&["sql", "select '\u{1b}[2J' || nothing", "--lake", "lake"]).exits(1),
    ];
    for ran in runs {
        for text in [&ran.out, &ran.err] {
            assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
        }
    }
}

#[test]
fn doctor_proves_the_store_and_leaves_nothing_behind() {
    let kit = Kit::with_demo();
    kit.run(&["doctor", "--trust", &trust_file()]).exits(0).prints(&["ok   create-if-absent", "ok   clock", "2 keys"]);
    let left = kit.path("lake/doctor").read_dir().map_or(0, Iterator::count);
    assert_eq!(left, 0);
    kit.write("bad.toml", "version = 2\n");
    kit.run(&["doctor", "--trust", "bad.toml"]).exits(1).prints(&["FAIL trust file", "ok   lake"]);
    kit.run(&["doctor", "--lake", "none"]).exits(1).prints(&["FAIL lake: ", "hint: "]);
}
