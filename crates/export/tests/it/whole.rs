//! The output as a whole: the same bytes each time, all or nothing, and rows that hold what they promise.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

use lake_export::{Error, Out, Request, Scans, export};
use lake_testkit::{Object, SessionBuilder, Task, scenarios};
use lake_trace::Verdict;
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::lake::{Lake, key, request, run, signed_request};

fn lake() -> Lake {
    let key = key();
    let tasks = [Task::new("github.com/acme/billing", "b"), Task::new("github.com/acme/app", "a")];
    let sessions = (0..12).map(|n| {
        let task = &tasks[n % 2];
        match n % 3 {
            0 => scenarios::no_flip_session(&format!("s{n}"), task, Some(&key), 1),
            n_fails => scenarios::retried_session(&format!("s{n}"), task, Some(&key), n_fails - 1),
        }
    });
    Lake::of(sessions)
}

fn on_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool").install(run)
}

#[test]
fn neither_threads_nor_the_order_of_branches_change_a_byte() {
    let lake = lake();
    let one = on_threads(1, || run(&lake, signed_request()).files());
    let two = on_threads(2, || run(&lake, signed_request()).files());
    assert!(one == two);
    let mut shuffled = lake;
    shuffled.catalog.branches.reverse();
    shuffled.catalog.branches.swap(2, 7);
    assert!(one == run(&shuffled, signed_request()).files());
    let names: Vec<&str> = one.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        "README.md",
        "exclusions.jsonl",
        "manifest.json",
        "preference/train-00000-of-00001.jsonl",
        "sft/train-00000-of-00001.jsonl",
        "trl-dpo.yaml",
        "trl-sft.yaml",
    ];
    assert_eq!(names, expected);
}

#[test]
fn the_manifest_names_every_file_and_its_hash() {
    let done = run(&lake(), signed_request());
    let manifest = &done.report.manifest;
    let files: Vec<_> = done.files().into_iter().filter(|(name, _)| name != "manifest.json").collect();
    assert_eq!(manifest.files.len(), files.len());
    for (entry, (name, bytes)) in manifest.files.iter().zip(&files) {
        assert_eq!((&entry.path, &entry.sha256), (name, &hex::encode(Sha256::digest(bytes))));
        assert_eq!(entry.bytes, bytes.len() as u64);
        let lines = bytes.iter().filter(|b| **b == b'\n').count() as u64;
        assert_eq!(entry.rows, if name.contains("train-") { lines } else { 0 });
    }
    assert_eq!(done.report.manifest_sha256, hex::encode(Sha256::digest(done.text("manifest.json"))));
}

#[test]
fn rows_are_sorted_and_the_first_has_a_call() {
    let mut silent = SessionBuilder::new("a0", &Task::new("github.com/acme/aaa", "a"));
    silent.start().prompt().baseline(Verdict::Fail).message("assistant", "done").grade(Verdict::Pass, "d");
    let mut lake = lake();
    lake.add("laptop", silent.build());
    let rows = run(&lake, request()).sft();
    assert!(rows[0]["messages"].to_string().contains("tool_calls"));
    assert_eq!(rows[1]["session_id"], "a0");
    let key = |row: &Value| (row["repo"].to_string(), row["task_id"].to_string(), row["session_id"].to_string());
    let keys: Vec<_> = rows[1..].iter().map(key).collect();
    assert!(keys[1..].is_sorted());
}

#[test]
fn an_existing_folder_is_refused_or_replaced_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    std::fs::create_dir(&out).expect("a folder");
    std::fs::write(out.join("mine"), "precious").expect("a file");
    let go = |force: bool| {
        let request = Request { out: Out::Folder(out.clone()), force, ..signed_request() };
        let lake = lake();
        export(&lake.catalog, &Scans::new(), &lake, &request, &|_| (), &AtomicBool::new(false))
    };
    assert!(matches!(go(false), Err(Error::Exists(_))) && out.join("mine").exists());
    assert!(matches!(go(true), Err(Error::NoExport(_))) && out.join("mine").exists());
    std::fs::remove_file(out.join("mine")).expect("an empty folder");
    assert!(go(true).is_ok() && out.join("manifest.json").exists());
    std::fs::write(out.join("left"), "over").expect("a file");
    assert!(go(true).is_ok() && !out.join("left").exists() && out.join("manifest.json").exists());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
}

#[test]
fn a_stop_leaves_nothing_behind() {
    let lake = lake();
    for stop_at in [0, 3, 12, 14] {
        let folder = tempfile::tempdir().expect("a folder");
        let request = Request { out: Out::Folder(folder.path().join("deep/out")), ..signed_request() };
        let stop = AtomicBool::new(stop_at == 0);
        let seen = std::sync::atomic::AtomicU64::new(0);
        let progress = |_| {
            if seen.fetch_add(1, Ordering::Relaxed) + 1 == stop_at {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let result = export(&lake.catalog, &Scans::new(), &lake, &request, &progress, &stop);
        assert!(matches!(result, Err(Error::Stopped)), "{stop_at}");
        assert_eq!(std::fs::read_dir(folder.path().join("deep")).expect("a folder").count(), 0);
    }
}

#[test]
fn a_dry_run_counts_the_same_and_writes_nothing() {
    let lake = lake();
    let wet = run(&lake, signed_request()).report;
    let dry = run(&lake, Request { dry_run: true, ..signed_request() }).report;
    assert_eq!(dry.rows, wet.rows);
    assert!(dry.manifest.files.is_empty() && dry.manifest.sets["sft"].used == wet.manifest.sets["sft"].used);
}

#[test]
fn an_empty_lake_gives_an_empty_set_that_says_so() {
    let done = run(&Lake::default(), request());
    assert!(done.report.warnings.iter().any(|w| w.contains("no rows")));
    assert_eq!(done.files().len(), 3);
}

#[test]
fn required_signatures_need_a_trust_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = Out::Folder(folder.path().join("out"));
    let request = Request { require_signature: true, out, ..request() };
    let lake = Lake::default();
    let result = export(&lake.catalog, &Scans::new(), &lake, &request, &|_| (), &AtomicBool::new(false));
    assert!(matches!(result, Err(Error::NoTrust)));
}

/// Every tool message answers a call of the assistant message before it, every call is answered, and nothing is null.
pub(crate) fn assert_well_formed(row: &Value, has_mask: bool, columns: &[&str]) {
    for (key, value) in row.as_object().expect("an object") {
        assert!(!value.is_null(), "{key}");
    }
    let messages: Vec<&Value> = columns.iter().flat_map(|c| row[*c].as_array().expect("messages")).collect();
    let mut open: Vec<&str> = Vec::new();
    for message in messages {
        for (key, value) in message.as_object().expect("an object") {
            assert!(!value.is_null(), "{key}");
        }
        assert_eq!(message.get("train").is_some(), has_mask);
        if message["role"] == "tool" {
            assert!(!open.is_empty(), "an answer to nothing");
            assert_eq!(open.remove(0), message["tool_call_id"]);
        } else {
            assert!(open.is_empty(), "{open:?} were not answered");
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            open = calls.map(|call| call["id"].as_str().expect("an id")).collect();
        }
    }
    assert!(open.is_empty(), "{open:?} were not answered");
}

/// One event of any kind.
fn event() -> impl Strategy<Value = (u8, u8, u8, bool)> {
    (0u8..9, 0u8..3, 0u8..4, any::<bool>())
}

fn write(session: &mut SessionBuilder, (kind, response, shape, odd): (u8, u8, u8, bool)) {
    match kind {
        0 => {
            session.message("user", if odd { "" } else { "hm" });
        }
        1 => {
            session.message("assistant", if odd { "" } else { "text" });
        }
        2 => {
            session.thinking(if odd { "" } else { "text" }, "thought");
        }
        3 => {
            session.grade(Verdict::Fail, &format!("diff {shape}"));
        }
        4 => {
            session.set_agent(odd.then_some("sub"));
        }
        _ => {
            let output = ["null", "\"text\"", "{\"a\":null}", "[]"][usize::from(shape)];
            let fields = Object::new().text("tool", if odd { "Bash" } else { "Read" }).raw("input", "{\"k\":null}");
            let fields = fields.raw("output", output).text("status", if shape == 3 { "denied" } else { "ok" });
            let fields = if odd { fields.text("call_id", &format!("c{kind}{shape}{response}")) } else { fields };
            let fields = if response > 0 { fields.text("response_id", &format!("r{response}")) } else { fields };
            session.event("tool_call", fields);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn whatever_the_events_rows_are_well_formed_and_everyone_is_accounted_for(
        sessions in proptest::collection::vec((proptest::collection::vec(event(), 0..30), any::<bool>()), 1..5)
    ) {
        let task = Task::new("github.com/acme/billing", "bill-1");
        let sessions = sessions.into_iter().enumerate().map(|(n, (events, passes))| {
            let mut session = SessionBuilder::new(&format!("s{n}"), &task);
            session.start().prompt().baseline(Verdict::Fail);
            events.into_iter().for_each(|e| write(&mut session, e));
            session.set_agent(None);
            session.grade(if passes { Verdict::Pass } else { Verdict::Fail }, &format!("last {n}")).end("agent", "?");
            session.build()
        });
        let done = run(&Lake::of(sessions.collect::<Vec<_>>()), request());
        done.sft().iter().for_each(|row| assert_well_formed(row, true, &["messages"]));
        for row in done.pairs() {
            assert_well_formed(&row, false, &["prompt", "chosen"]);
            assert_well_formed(&row, false, &["prompt", "rejected"]);
        }
        for (set, counts) in &done.report.manifest.sets {
            prop_assert_eq!(counts.used + counts.excluded.values().sum::<u64>(), counts.selected);
            let listed = done.excluded(set);
            let distinct: HashSet<_> = listed.iter().map(|(session, _)| session).collect();
            prop_assert_eq!(distinct.len(), listed.len());
        }
    }
}
