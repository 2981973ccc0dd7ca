//! The nightly job from end to end, on the demo and on real runs.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::kit::{Kit, copy, demo_dir, real, trust_file};
use crate::rows::{files, rows, same};

struct Job {
    data_dir: String,
    trust: String,
    sessions: u64,
    rejects: u64,
    outcomes: Value,
    /// Sessions that the supervised set holds,
    supervised: u64,
    /// and pairs of the preference set.
    pairs: u64,
    /// Verdicts without a signature.
    unsigned: u64,
}

fn demo() -> Job {
    Job {
        data_dir: demo_dir(),
        trust: trust_file(),
        sessions: 11,
        rejects: 1,
        outcomes: json!({"flipped": 7, "no_flip": 3, "untracked": 1}),
        supervised: 4,
        pairs: 2,
        unsigned: 2,
    }
}

fn real_runs() -> Option<Job> {
    let real = real()?;
    let outcomes = json!({"flipped": 9, "no_flip": 18});
    let (data_dir, trust) = (real.data_dir, real.trust);
    Some(Job { data_dir, trust, sessions: 27, rejects: 0, outcomes, supervised: 9, pairs: 1, unsigned: 0 })
}

/// A home with a copy of the data dir, and the lake after a first sync.
fn synced(job: &Job) -> Kit {
    let kit = Kit::new();
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    copy(Path::new(&job.data_dir), &kit.path("data"));
    let json = sync(&kit, &[]).exits(if job.rejects > 0 { 3 } else { 0 }).json();
    assert_eq!(json["found"], job.sessions);
    assert_eq!(json["new"], job.sessions);
    assert_eq!(json["rejected"], job.rejects);
    assert_eq!(json["problems"], json!([]));
    kit
}

fn sync(kit: &Kit, args: &[&str]) -> crate::kit::Ran {
    let data = kit.text("data");
    let mut whole = vec!["sync", "--idle", "0s", "--json"];
    if args.is_empty() {
        whole.extend(["--data-dir", &data]);
    }
    whole.extend(args);
    kit.run(&whole)
}

#[track_caller]
fn one(kit: &Kit, sql: &str) -> u64 {
    let text = kit.run(&["sql", sql]).exits(0).out;
    text.lines().nth(1).and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{sql}: {text}"))
}

fn takes_and_proves(job: &Job) {
    let kit = synced(job);
    assert_eq!(one(&kit, "select count(*) from sessions"), job.sessions);
    assert_eq!(one(&kit, "select count(*) from rejects"), job.rejects);
    let json = kit.run(&["check", "--trust", &job.trust, "--json"]).exits(0).json();
    assert_eq!(json["outcomes"], job.outcomes);
    // Each verdict of each session, step by step.
    let ids = kit.run(&["sql", "select session_id from sessions order by 1"]).exits(0).out;
    let (mut verifies, mut unsigned) = (0, 0);
    for id in ids.lines().skip(1) {
        let shown = kit.run(&["show", id, "--trust", &job.trust, "--json"]).exits(0).json();
        for verdict in
            shown["branches"].as_array().into_iter().flatten().filter_map(|b| b["verdicts"].as_array()).flatten()
        {
            match verdict["verifies"].as_bool() {
                Some(true) => verifies += 1,
                _ if verdict["signed"] == false || verdict["verifies"].is_null() => unsigned += 1,
                _ => panic!("{id}: {verdict}"),
            }
        }
    }
    assert_eq!(unsigned, job.unsigned);
    assert_eq!(verifies + unsigned, one(&kit, "select count(*) from verdicts"));
    let json =
        kit.run(&["export", "--out", "out", "--require-signature", "--trust", &job.trust, "--json"]).exits(0).json();
    assert_eq!(
        (&json["sets"]["sft"]["rows"], &json["sets"]["preference"]["rows"]),
        (&job.supervised.into(), &job.pairs.into())
    );
    for set in ["sft", "preference"] {
        let counts = &json["sets"][set];
        let left_out: u64 = counts["excluded"].as_object().expect("reasons").values().filter_map(Value::as_u64).sum();
        assert_eq!(counts["used"].as_u64().map(|n| n + left_out), Some(job.sessions), "{set}: {counts}");
        let text = files(&kit.path("out"))[&format!("{set}/train-00000-of-00001.jsonl")].clone();
        assert_eq!(Some(text.iter().filter(|b| **b == b'\n').count() as u64), counts["rows"].as_u64(), "{set}");
    }
    // Every file is what the manifest says it is.
    let manifest: Value = serde_json::from_slice(&files(&kit.path("out"))["manifest.json"]).expect("JSON");
    for file in manifest["files"].as_array().expect("files") {
        let bytes = &files(&kit.path("out"))[file["path"].as_str().expect("a path")];
        assert_eq!(file["sha256"], lake_testkit::sha256_hex(bytes), "{file}");
    }
    assert_eq!(manifest["files"].as_array().map(Vec::len), Some(files(&kit.path("out")).len() - 1));
}

fn grows_by_what_is_new(job: &Job) {
    let kit = synced(job);
    sync(&kit, &[]).exits(0);
    let again = sync(&kit, &[]).exits(0).json();
    assert_eq!(
        (&again["new"], &again["grown"], &again["segments"], &again["k"]),
        (&json!(0), &json!(0), &json!(0), &json!(1))
    );
    let before = rows(&kit.path("lake"));
    // A copy from another place, as another source and from a home that knows nothing.
    copy(&kit.path("data"), &kit.path("elsewhere"));
    let elsewhere = kit.text("elsewhere");
    std::fs::remove_dir_all(kit.path("home/.local")).expect("a state folder");
    sync(&kit, &["--data-dir", &elsewhere, "--source", "another"]).exits(0);
    same("a copy", &before, &rows(&kit.path("lake")));
    // A line more.
    let traces = files(&kit.path("data/traces"));
    let (name, bytes) = traces.iter().next().expect("a trace");
    let last = String::from_utf8_lossy(bytes).lines().last().expect("a line").replace("\"seq\":", "\"was_seq\":");
    let mut file = OpenOptions::new().append(true).open(kit.path("data/traces").join(name)).expect("a trace");
    writeln!(file, "{last}").expect("a line more");
    let json = sync(&kit, &[]).exits(0).json();
    assert_eq!((&json["grown"], &json["segments"], &json["new"]), (&json!(1), &json!(1), &json!(0)));
    assert_eq!(one(&kit, "select count(*) from segments"), job.sessions + 1);
    assert_eq!(one(&kit, "select count(*) from sessions"), job.sessions);
    assert_eq!(one(&kit, "select count(*) from events"), before["events"].len() as u64 + 1);
    let before = rows(&kit.path("lake"));
    let rebuilt = kit.run(&["rebuild"]).exits(0);
    rebuilt.prints(&[&format!("generation 2 stands at version 2, {} segments", job.sessions + 1)]);
    same("rebuild", &before, &rows(&kit.path("lake")));
    assert!(kit.path("lake/tables/g0001/events").is_dir() && kit.path("lake/tables/g0002/events").is_dir());
}

fn is_only_added_to(job: &Job) {
    let kit = synced(job);
    kit.run(&["check", "--trust", &job.trust]).exits(0);
    kit.run(&["export", "--out", "out", "--trust", &job.trust]).exits(0);
    kit.run(&["sql", "delete from sessions"]).exits(1).says(&["error: "]);
    assert_eq!(one(&kit, "select count(*) from sessions"), job.sessions);
    let mut tables = vec![kit.path("lake/checks"), kit.path("lake/exports")];
    tables.extend(["events", "segments", "verdicts", "rejects"].map(|t| kit.path("lake/tables/g0001").join(t)));
    for table in tables {
        let first = table.join("_delta_log/00000000000000000000.json");
        let text = std::fs::read_to_string(&first).unwrap_or_else(|e| panic!("{}: {e}", first.display()));
        assert!(text.contains("\"delta.appendOnly\":\"true\""), "{}: {text}", first.display());
        // And no later commit takes it back.
        for (name, bytes) in files(&table.join("_delta_log")).iter().filter(|(name, _)| name.ends_with(".json")) {
            assert!(!String::from_utf8_lossy(bytes).contains("\"delta.appendOnly\":\"false\""), "{name}");
        }
    }
}

#[test]
fn the_demo_is_taken_and_proven() {
    takes_and_proves(&demo());
}

#[test]
fn the_demo_grows_by_what_is_new() {
    grows_by_what_is_new(&demo());
}

#[test]
fn a_lake_of_the_demo_is_only_added_to() {
    is_only_added_to(&demo());
}

#[test]
fn real_runs_are_taken_and_proven() {
    let Some(job) = real_runs() else { return };
    takes_and_proves(&job);
}

#[test]
fn real_runs_grow_by_what_is_new() {
    let Some(job) = real_runs() else { return };
    grows_by_what_is_new(&job);
}

#[test]
fn a_lake_of_real_runs_is_only_added_to() {
    let Some(job) = real_runs() else { return };
    is_only_added_to(&job);
}
