//! `sync` from outside: what it finds, says, and leaves alone.

use std::fs::OpenOptions;
use std::io::Write;

use crate::kit::{Kit, copy, demo_dir};

const LAKE: [&str; 2] = ["--lake", "lake"];

fn sync(kit: &Kit, args: &[&str]) -> crate::kit::Ran {
    let mut whole = vec!["sync", "--idle", "0s"];
    whole.extend(LAKE);
    whole.extend(args);
    kit.run(&whole)
}

#[test]
fn rejects_give_3_only_in_the_run_that_meets_them() {
    let kit = Kit::new();
    let dir = kit.data_dir("data").display().to_string();
    let ran = sync(&kit, &["--data-dir", &dir]).exits(3).prints(&["found 11, new 11", "rejected 1"]);
    ran.says(&["demo-11-malformed.jsonl:4: not JSON"]);
    sync(&kit, &["--data-dir", &dir]).exits(0).prints(&["new 0", "unchanged 11", "nothing new"]);
    // Without its cache too.
    std::fs::remove_dir_all(kit.path("home/.local")).expect("the state folder was there");
    sync(&kit, &["--data-dir", &dir]).exits(0).prints(&["new 0"]);
}

#[test]
fn a_trace_that_grew_is_one_more_segment_of_the_same_session() {
    let kit = Kit::new();
    let dir = kit.data_dir("data").display().to_string();
    sync(&kit, &["--data-dir", &dir]).exits(3);
    let trace = kit.path("data/traces/demo-01-flipped.jsonl");
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let last = text.lines().last().expect("a line").replace("\"seq\":", "\"was_seq\":");
    let mut file = OpenOptions::new().append(true).open(&trace).expect("a trace");
    writeln!(file, "{last}").expect("a line more");
    let json = sync(&kit, &["--data-dir", &dir, "--json"]).exits(0).json();
    assert_eq!((json["grown"].as_u64(), json["segments"].as_u64()), (Some(1), Some(1)));
    let rows = kit.run(&[
        "sql",
        "--lake",
        "lake",
        "select (select count(*) from segments) as a, (select count(*) from sessions) as b",
    ]);
    rows.exits(0).prints(&["12,11"]);
}

#[test]
fn a_copy_from_another_place_adds_no_row() {
    let kit = Kit::new();
    let dir = kit.data_dir("data").display().to_string();
    let other = kit.data_dir("other").display().to_string();
    sync(&kit, &["--data-dir", &dir]).exits(3);
    let count = "select count(*) from segments";
    let before = kit.run(&["sql", "--lake", "lake", count]).exits(0).out;
    sync(&kit, &["--data-dir", &other, "--source", "other"]);
    assert_eq!(kit.run(&["sql", "--lake", "lake", count]).exits(0).out, before);
}

#[test]
fn patterns_stand_for_every_data_dir_that_they_match() {
    let kit = Kit::new();
    kit.data_dir("many/a");
    kit.data_dir("many/b");
    kit.write("many/c/not-traces", "");
    let pattern = kit.text("many/*");
    let json = sync(&kit, &["--data-dir", &pattern, "--json"]).exits(3).json();
    assert_eq!(json["data_dirs"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["found"], 22);
}

#[test]
fn a_missing_data_dir_is_no_empty_success() {
    let kit = Kit::new();
    kit.write("bare/state/x", "");
    let dir = kit.data_dir("data").display().to_string();
    std::fs::remove_file(kit.path("data/traces/demo-11-malformed.jsonl")).expect("it was there");
    sync(&kit, &["--data-dir", "none"]).exits(1).says(&["none does not exist", "hint:"]);
    sync(&kit, &["--data-dir", "bare"]).exits(1).says(&["bare has no traces/"]);
    assert!(!kit.path("lake").exists());
    let ran =
        sync(&kit, &["--data-dir", "none", "--data-dir", &dir]).exits(3).says(&["missing: ", "none does not exist"]);
    ran.prints(&["found 10, new 10"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let kit = Kit::new();
    let dir = demo_dir();
    sync(&kit, &["--data-dir", &dir, "--dry-run"]).exits(3).prints(&["found 11, new 11", "would go into the lake"]);
    assert!(!kit.path("lake").exists());
    assert!(!kit.path("home/.local/state/trace-lake/cache").read_dir().is_ok_and(|mut d| d.next().is_some()));
}

#[test]
fn a_host_without_derive_leaves_the_tables_to_the_central_job() {
    let kit = Kit::new();
    sync(&kit, &["--data-dir", &demo_dir(), "--no-derive"]).exits(3);
    assert!(!kit.path("lake/tables").exists());
    kit.run(&["status", "--lake", "lake"]).exits(0).prints(&[
        "version   1",
        "1 batch record behind",
        "fixtures/demo/data-dir",
    ]);
    kit.run(&["sql", "--lake", "lake", "select count(*) as n from sessions"]).exits(0).prints(&["n\n0"]);
    kit.run(&["derive", "--lake", "lake"]).exits(0).prints(&["from version 0 to 1"]);
    kit.run(&["sql", "--lake", "lake", "select count(*) as n from sessions"]).exits(0).prints(&["n\n11"]);
}

#[test]
fn without_a_home_everything_works() {
    let kit = Kit::new().without("HOME").var("TRACE_LAKE_LOG", "debug");
    sync(&kit, &["--data-dir", &demo_dir()]).exits(3).prints(&["new 11"]).says(&["no lock"]);
    kit.run(&["check", "--lake", "lake"]).exits(0);
    kit.run(&["status", "--lake", "lake"]).exits(0);
    kit.run(&["doctor", "--lake", "lake"]).exits(0).prints(&["neither XDG_STATE_HOME nor HOME is set"]);
    let kit = Kit::new();
    kit.write("file", "no folder");
    let kit = {
        let home = kit.text("file");
        kit.var("HOME", &home)
    };
    sync(&kit, &["--data-dir", &demo_dir()]).exits(3);
}

#[test]
fn an_existing_folder_becomes_a_lake() {
    let kit = Kit::new();
    std::fs::create_dir(kit.path("lake")).expect("a folder");
    sync(&kit, &["--data-dir", &demo_dir()]).exits(3);
    let url = format!("file://{}", kit.text("lake"));
    kit.run(&["status", "--lake", &url]).exits(0).prints(&["version   1"]);
    copy(&kit.path("lake"), &kit.path("moved"));
    kit.run(&["status", "--lake", "moved"]).exits(0).prints(&["version   1"]);
}
