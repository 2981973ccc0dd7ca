//! A lake whose objects went missing or changed: told before anything is put on top.

use std::path::PathBuf;

use crate::kit::{Kit, demo_dir, trust_file};
use crate::rows::files;

/// Three nights: the demo, one more trace, and one more after that.
fn lake() -> Kit {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    let data = kit.data_dir("data");
    let night = |name: &str| {
        let text = std::fs::read_to_string(data.join("traces/demo-01-flipped.jsonl")).expect("a trace");
        kit.write(&format!("data/traces/{name}.jsonl"), &text.replace("demo-01-flipped", name));
    };
    kit.run(&["sync", "--data-dir", "data", "--idle", "0s"]).exits(3);
    for name in ["second", "third"] {
        night(name);
        kit.run(&["sync", "--data-dir", "data", "--idle", "0s"]).exits(0).prints(&["new 1"]);
    }
    night("fourth");
    kit
}

fn record(kit: &Kit, k: u64) -> PathBuf {
    kit.path(&format!("lake/log/{k:020}.json"))
}

#[test]
fn no_batch_is_put_where_a_record_is_missing() {
    let kit = lake();
    for k in [1, 2, 3] {
        let aside = kit.path("aside");
        std::fs::rename(record(&kit, k), &aside).expect("a record");
        // With its cache and without, as a new host has none.
        for home in ["home", "other"] {
            let kept = kit.text(home);
            let mut command = kit.command(&["sync", "--data-dir", "data", "--idle", "0s"]);
            let output = command.env("HOME", kept).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(1), "{k}: {said}");
            assert!(said.contains(&format!("{k:020}.json")) && said.contains("missing"), "{k}: {said}");
        }
        if k == 3 {
            kit.run(&["check"]).exits(1).says(&["missing, though the tables stand at version 3"]);
        }
        assert!(!record(&kit, k).exists() && !record(&kit, 4).exists());
        std::fs::rename(&aside, record(&kit, k)).expect("the record is back");
    }
    kit.run(&["sync", "--data-dir", "data", "--idle", "0s"]).exits(0).prints(&["new 1"]);
    kit.run(&["sql", "select count(*) as n from sessions"]).exits(0).prints(&["14"]);
}

#[test]
fn an_export_that_met_a_damaged_session_is_partly_done() {
    let kit = Kit::with_demo();
    let object = files(&kit.path("lake/raw")).into_keys().next().expect("a raw object");
    std::fs::write(kit.path("lake/raw").join(object), "no frame of zstd").expect("written");
    let export = ["export", "--trust", &trust_file(), "--out", "out"];
    kit.run(&export).exits(3).says(&["because their bytes are damaged"]);
}

#[test]
fn sql_and_dry_runs_say_how_far_the_tables_are_behind() {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    kit.run(&["sync", "--data-dir", &demo_dir(), "--idle", "0s", "--no-derive"]).exits(3);
    kit.run(&["sql", "select count(*) as n from sessions"]).exits(0).prints(&["0"]).says(&["1 behind the log"]);
    for dry in ["compact", "rebuild"] {
        kit.run(&[dry, "--dry-run"]).exits(0).says(&["1 behind the log"]);
    }
    kit.run(&["derive"]).exits(0);
    let ran = kit.run(&["sql", "select count(*) as n from sessions"]).exits(0);
    assert!(ran.prints(&["11"]).err.is_empty());
}
