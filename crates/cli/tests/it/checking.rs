//! Checks that follow one another, and what a view makes of them.

use std::thread;

use lake_testkit::{OracleKey, trust_toml};

use crate::kit::{Kit, demo_dir, trust_file};

/// A trust file that trusts nobody who signed the demo.
fn strangers(kit: &Kit) -> String {
    kit.write("strangers.toml", &trust_toml(&[OracleKey::from_seed(9).trust_entry()]));
    kit.text("strangers.toml")
}

fn flipped(kit: &Kit) -> u64 {
    kit.run(&["status", "--json"]).exits(0).json()["outcomes"]["flipped"].as_u64().unwrap_or(0)
}

fn rows(kit: &Kit) -> String {
    kit.run(&["sql", "select count(*) from checks"]).exits(0).out
}

#[test]
fn without_a_trust_file_views_go_by_the_one_that_the_last_check_was_run_with() {
    let kit = Kit::with_demo();
    let theirs = strangers(&kit);
    let outcomes = "select session_id, outcome from sessions order by 1";
    let ours = kit.run(&["sql", outcomes]).exits(0).out;
    assert!(flipped(&kit) > 0);
    kit.run(&["check", "--trust", &theirs]).exits(0);
    assert_eq!(flipped(&kit), 0);
    // Everything was judged by this one before.
    let again = kit.run(&["check", "--trust", &trust_file(), "--json"]).exits(0).json();
    assert_eq!((again["looked_at_signatures"].as_u64(), again["rows"].as_u64()), (Some(0), Some(0)));
    assert_eq!(kit.run(&["sql", outcomes]).exits(0).out, ours);
    let findings = "select count(*) from findings where kind = 'signatures' and current and rule = 'untrusted_key'";
    assert_eq!(kit.run(&["sql", findings]).exits(0).out, kit.run(&["sql", findings, "--trust", &trust_file()]).out);
    // Whoever names a trust file is told by that one.
    assert_eq!(kit.run(&["status", "--json", "--trust", &theirs]).exits(0).json()["outcomes"].get("flipped"), None);
    // And back, and again: a mark where the newest changes, and no row where nothing does.
    let before = rows(&kit);
    kit.run(&["check", "--trust", &trust_file()]).exits(0);
    kit.run(&["check", "--trust", &trust_file()]).exits(0);
    kit.run(&["check"]).exits(0);
    assert_eq!(rows(&kit), before);
    kit.run(&["check", "--trust", &theirs]).exits(0);
    assert_eq!(flipped(&kit), 0);
    assert_ne!(rows(&kit), before);
    let checked = kit.run(&["status", "--json"]).exits(0).json()["checks"].clone();
    assert_eq!(checked.as_array().map(Vec::len), Some(2), "{checked}");
}

#[test]
fn strict_gives_4_as_long_as_something_flagged_is_in_the_lake() {
    let kit = Kit::with_demo();
    let again = kit.run(&["check", "--trust", &trust_file(), "--strict", "--json"]).exits(4).json();
    assert_eq!((again["looked_at_secrets"].as_u64(), again["with_secrets_before"].as_u64()), (Some(0), Some(1)));
    assert!(again["flagged_before"].as_u64() > Some(0), "{again}");
    kit.run(&["check", "--trust", &trust_file(), "--strict"]).exits(4).prints(&["found before: secrets in 1 session"]);
    kit.run(&["check", "--strict", "--dry-run"]).exits(4);
    kit.run(&["check", "--trust", &trust_file()]).exits(0);
    // What other rules or another trust file said does not count, nor what is not asked: here nothing has a flag.
    let clean = Kit::new();
    let traces = clean.data_dir("clean").join("traces");
    let keep = |name: &str| name.contains("flipped");
    for entry in std::fs::read_dir(&traces).expect("traces") {
        let path = entry.expect("an entry").path();
        if !path.file_name().is_some_and(|name| keep(&name.to_string_lossy())) {
            std::fs::remove_file(path).expect("removed");
        }
    }
    let clean = clean.var("TRACE_LAKE_URL", "lake");
    clean.run(&["sync", "--data-dir", "clean", "--idle", "0s"]).exits(0);
    clean.run(&["check", "--trust", &trust_file(), "--strict"]).exits(0);
    clean.run(&["check", "--trust", &trust_file(), "--strict"]).exits(0);
    let theirs = strangers(&clean);
    clean.run(&["check", "--trust", &theirs, "--strict"]).exits(4);
    clean.run(&["check", "--trust", &theirs, "--strict"]).exits(4);
    clean.run(&["check", "--trust", &trust_file(), "--strict"]).exits(0);
}

#[test]
fn checks_that_run_at_once_write_each_row_once() {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    kit.run(&["sync", "--data-dir", &demo_dir(), "--source", "demo", "--idle", "0s"]).exits(3);
    let trust = trust_file();
    let written: u64 = thread::scope(|scope| {
        // Each has a state folder of its own, as on another machine.
        let one = |n: u32| {
            let mut command = kit.command(&["check", "--trust", &trust, "--json"]);
            command.env("XDG_STATE_HOME", kit.path(&format!("state-{n}")));
            let said = command.output().expect("the binary runs");
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
            let report: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
            report["rows"].as_u64().expect("a number")
        };
        let all: Vec<_> = (0..3).map(|n| scope.spawn(move || one(n))).collect();
        all.into_iter().map(|one| one.join().expect("no panic")).sum()
    });
    let sql = "select count(*) as n from checks union all \
               select count(*) from (select distinct session_id, branch, \"end\", kind, digest from checks)";
    assert_eq!(kit.run(&["sql", sql]).exits(0).out, format!("n\n{written}\n{written}\n"));
}
