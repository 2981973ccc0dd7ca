//! `--ledger`: what the oracle wrote down, beside what the lake holds.

use serde_json::{Value, json};

use crate::kit::{Kit, trust_file};
use crate::oracle::{Session, envelope, oracle};

const COMMON: [&str; 4] = ["--lake", "lake", "--trust", "trust.toml"];
const LEDGER: [&str; 2] = ["--ledger", "state/ledger.jsonl"];

fn with(command: &[&'static str], ledger: bool) -> Vec<&'static str> {
    let mut args = command.to_vec();
    args.extend(COMMON);
    args.extend(LEDGER.iter().filter(|_| ledger));
    args
}

/// `late`: its PASS never reached the trace. `stripped`: its host took every verdict out. `gone`: it never came. `whole`:
/// nothing is missing.
fn lake(kit: &Kit) {
    oracle(kit);
    let mut late = Session::start(kit, "late");
    late.graded("baseline", "1");
    late.work();
    envelope(&late.asks("grade", "0", &[]).exits(0));
    late.event(json!({"type": "oracle_verdict", "mode": "grade", "verdict": "ERROR", "signature": null}));
    late.end();
    let mut stripped = Session::start(kit, "stripped");
    stripped.graded("baseline", "1");
    stripped.work();
    stripped.graded("grade", "0");
    stripped.end();
    let text = String::from_utf8(stripped.bytes()).expect("UTF-8");
    let kept: String = text.split_inclusive('\n').filter(|line| !line.contains("oracle_verdict")).collect();
    std::fs::write(stripped.path(), kept).expect("a trace");
    let mut gone = Session::start(kit, "gone");
    gone.graded("baseline", "1");
    std::fs::remove_file(gone.path()).expect("gone");
    let mut whole = Session::start(kit, "whole");
    whole.graded("baseline", "1");
    whole.work();
    whole.graded("grade", "0");
    whole.end();
    kit.run(&["sync", "--lake", "lake", "--data-dir", "data", "--idle", "0s"]).exits(0);
}

#[test]
fn status_lists_what_is_missing_and_each_session_that_was_stripped_whole() {
    let kit = Kit::new();
    lake(&kit);
    let json = kit.run(&[&with(&["status"], true)[..], &["--json"]].concat()).exits(0).json();
    let gaps = &json["ledger"];
    assert_eq!((&gaps["verdicts"], &gaps["sessions"], &gaps["unused"]), (&7.into(), &4.into(), &0.into()));
    let stripped: Vec<_> = gaps["stripped"]
        .as_array()
        .expect("sessions")
        .iter()
        .map(|s| (s["session_id"].as_str().expect("an id"), s["verdicts"].as_u64(), s["in_lake"].as_bool()))
        .collect();
    assert_eq!(stripped, [("gone", Some(1), Some(false)), ("stripped", Some(2), Some(true))]);
    let missing = gaps["missing"].as_array().expect("verdicts");
    assert_eq!(missing.len(), 4);
    let late = missing.iter().find(|one| one["session_id"] == "late").expect("the PASS");
    assert_eq!((&late["mode"], &late["attempt"], &late["verdict"]), (&"grade".into(), &1.into(), &"PASS".into()));
    kit.run(&with(&["status"], true)).exits(0).prints(&[
        "7 verdicts of 4 sessions, 4 missing in the lake",
        "stripped gone: 1 verdict",
        "the lake lacks the whole session",
        "the lake has it without any",
        "missing  late: grade 1 PASS",
    ]);
    kit.run(&[&with(&["status"], true)[..], &["--prometheus", "lake.prom"]].concat()).exits(0);
    let prom = std::fs::read_to_string(kit.path("lake.prom")).expect("a textfile");
    assert!(prom.contains("ledger_missing_verdicts 4\n") && prom.contains("ledger_stripped_sessions 2\n"), "{prom}");
    let alone = kit.run(&[&with(&["status"], false)[..], &["--json"]].concat()).exits(0).json();
    assert_eq!(alone.get("ledger"), None);
}

#[test]
fn check_sql_show_and_export_know_what_the_ledger_brings() {
    let kit = Kit::new();
    lake(&kit);
    let outcome = |id: &str| {
        let sql = format!("select outcome, flags, verified from sessions where session_id = '{id}'");
        let mut args = vec!["sql", "--json", &sql];
        args.extend(COMMON);
        let row = kit.run(&args).exits(0).json();
        (row["outcome"].as_str().expect("an outcome").to_owned(), row["flags"].to_string())
    };
    kit.run(&with(&["check"], false)).exits(0);
    assert_eq!(outcome("late"), ("oracle_error".to_owned(), "[]".to_owned()));
    kit.run(&with(&["check"], true)).exits(0).prints(&["judged 3 sessions", "verdict_missing 2"]);
    assert_eq!(outcome("late"), ("flipped".to_owned(), "[\"verdict_missing\"]".to_owned()));
    assert_eq!(outcome("whole"), ("flipped".to_owned(), "[]".to_owned()));
    // Its baseline was graded on what is still there; what came after was bound to lines that are gone.
    assert_eq!(outcome("stripped"), ("unproven".to_owned(), "[\"verdict_missing\"]".to_owned()));
    // What knew less, and comes later, changes nothing.
    kit.run(&with(&["check"], false)).exits(0);
    assert_eq!(outcome("late").0, "flipped");
    kit.run(&with(&["check"], true)).exits(0).prints(&["judged 0 sessions"]);

    let shown = kit.run(&[&with(&["show"], true)[..], &["late"]].concat()).exits(0);
    shown.prints(&[
        "flipped (judged by the trust file)",
        "line 3: baseline 0 FAIL: verifies",
        "ledger 2: grade 1 PASS: verifies [verdict_missing], decides",
        "FAIL ledger    grade 1 PASS, run ",
        "ok   trace     the first",
    ]);
    kit.run(&[&with(&["show"], true)[..], &["stripped"]].concat()).exits(0).prints(&["missing: grade 1 PASS"]);
    let export = |out: &'static str, ledger| {
        kit.run(&[&with(&["export", "--require-signature", "--out", out], ledger)[..], &["--json"]].concat())
            .exits(0)
            .json()
    };
    let (alone, json) = (export("alone", false), export("out", true));
    assert_eq!((&alone["sets"]["sft"]["rows"], &json["sets"]["sft"]["rows"]), (&1.into(), &2.into()));
    assert_eq!((&alone["negatives"], &json["negatives"]), (&"unproven".into(), &"proven".into()));
    assert!(json["signatures"]["ledger_digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:")));
    let text = std::fs::read_to_string(kit.path("out/exclusions.jsonl")).expect("a list");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let stripped = lines.iter().find(|line| line["session_id"] == "stripped" && line["set"] == "sft").expect("listed");
    assert_eq!(stripped["flags"], json!(["verdict_missing"]));
}

#[test]
fn a_ledger_is_a_file_or_a_url_and_needs_a_trust_file() {
    let kit = Kit::new();
    lake(&kit);
    let url = format!("file://{}", kit.text("state/ledger.jsonl"));
    let json = |ledger: &[&str]| {
        let args = [&with(&["status"], false)[..], ledger, &["--json"]].concat();
        kit.run(&args).exits(0).json()["ledger"]["verdicts"].clone()
    };
    assert_eq!(json(&["--ledger", &url]), 7);
    // Two oracles have two; the same one twice adds nothing.
    assert_eq!(json(&["--ledger", &url, "--ledger", "state/ledger.jsonl"]), 7);
    for command in [&["check"][..], &["status"], &["export", "--out", "out"], &["show", "late"]] {
        let args = [command, &["--lake", "lake"], &LEDGER].concat();
        kit.run(&args).exits(2).says(&["--ledger needs a trust file", "--trust"]);
    }
    let args = |ledger: &'static str| [&with(&["check"], false)[..], &["--ledger", ledger]].concat();
    kit.run(&args("none.jsonl")).exits(2).says(&["none.jsonl"]);
    kit.run(&args("file:///none.jsonl")).exits(1).says(&["file:///none.jsonl"]);
    assert!(!kit.path("out").exists());
}

#[test]
fn a_ledger_with_a_gap_or_a_change_is_refused_with_its_line() {
    let kit = Kit::new();
    lake(&kit);
    let text = std::fs::read_to_string(kit.path("state/ledger.jsonl")).expect("a ledger");
    let lines: Vec<&str> = text.lines().collect();
    let without_third: String = [&lines[..2], &lines[3..]].concat().iter().map(|line| format!("{line}\n")).collect();
    for (name, changed, parts) in [
        ("gap", without_third, &["line 3 has seq 4 where 3 is next", "hint: "][..]),
        ("change", text.replacen("\"sig\":\"", "\"sig\":\"AAAA", 1), &["line 1", "malformed"]),
        ("nonsense", format!("{text}nonsense\n"), &["line 8"]),
    ] {
        kit.write("bad.jsonl", &changed);
        let args = [&with(&["check"], false)[..], &["--ledger", "bad.jsonl"]].concat();
        let ran = kit.run(&args).exits(2).says(parts);
        assert!(ran.err.contains("bad.jsonl"), "{name}: {}", ran.err);
    }
    // An oracle writes while it is copied.
    kit.write("cut.jsonl", &text[..text.len() - 40]);
    let args = [&with(&["status"], false)[..], &["--ledger", "cut.jsonl"]].concat();
    kit.run(&args).exits(0).says(&["half a line"]).prints(&["6 verdicts"]);
    // Keys that are not trusted are told, and count for nothing.
    let args = ["status", "--lake", "lake", "--trust", &trust_file(), "--ledger", "state/ledger.jsonl"];
    kit.run(&args)
        .exits(0)
        .says(&["7 verdicts of the ledger count for nothing", "untrusted_key"])
        .prints(&["0 verdicts"]);
}
