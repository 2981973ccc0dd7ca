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

#[test]
fn a_host_that_only_adds_tells_a_log_that_is_older_than_it_was() {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    let data = kit.data_dir("data");
    let sync = ["sync", "--data-dir", "data", "--idle", "0s", "--no-derive"];
    kit.run(&sync).exits(3).prints(&["version 1"]);
    let trace = std::fs::read_to_string(data.join("traces/demo-01-flipped.jsonl")).expect("a trace");
    let night = |name: &str| {
        kit.write(&format!("data/traces/{name}.jsonl"), &trace.replace("demo-01-flipped", name));
    };
    night("second");
    kit.run(&sync).exits(0).prints(&["new 1", "version 2"]);
    let newest = std::fs::read(record(&kit, 2)).expect("a record");
    // From a backup of the night before; there are no tables that it could be compared with.
    std::fs::remove_file(record(&kit, 2)).expect("removed");
    night("third");
    for dry in [&[][..], &["--dry-run"]] {
        kit.run(&[&sync[..], dry].concat())
            .exits(1)
            .says(&["00002.json is damaged: it is missing, though this machine saw it", "hint: "]);
    }
    assert!(!record(&kit, 2).exists());
    // Another host, which saw nothing, puts its own there.
    kit.write("theirs/traces/other.jsonl", &trace.replace("demo-01-flipped", "other"));
    let mut other = kit.command(&["sync", "--data-dir", "theirs", "--idle", "0s", "--no-derive"]);
    assert!(other.env("HOME", kit.text("elsewhere")).output().expect("it runs").status.success());
    kit.run(&sync).exits(1).says(&["is another than the one that this machine saw"]);
    std::fs::write(record(&kit, 2), newest).expect("restored");
    kit.run(&sync).exits(0).prints(&["new 1", "version 3"]);
    // Meant to be so: without the cache everything is read again, and what is missing goes in.
    std::fs::remove_file(record(&kit, 3)).expect("removed");
    std::fs::remove_dir_all(kit.path("home/.local/state/trace-lake/cache")).expect("the cache");
    kit.run(&sync).exits(0).prints(&["new 1", "unchanged 12"]);
    kit.run(&["derive"]).exits(0);
    kit.run(&["sql", "select count(*) as n from sessions"]).exits(0).prints(&["13"]);
}

#[test]
fn one_damaged_object_keeps_no_other_out_of_the_tables() {
    let kit = Kit::with_demo();
    let object = files(&kit.path("lake/raw")).into_keys().find(|path| path.contains("demo-01")).expect("a raw object");
    let path = kit.path("lake/raw").join(&object);
    let whole = std::fs::read(&path).expect("an object");
    std::fs::write(&path, "no frame of zstd").expect("written");
    let said = ["session demo-01-flipped", object.as_str(), "is damaged", "its rows are left out"];
    kit.run(&["rebuild"]).exits(3).prints(&["generation 2 stands at version 1, 10 segments"]).says(&said);
    kit.run(&["sql", "select count(*) as n from sessions"]).exits(0).prints(&["10"]);
    std::fs::write(&path, &whole).expect("restored");
    kit.run(&["rebuild"]).exits(0).prints(&["generation 3 stands at version 1, 11 segments"]);
    // So does each command that derives.
    let nights: [&[&str]; 4] = [&["derive"], &["check"], &["export", "--out", "out"], &["sync", "--data-dir", "empty"]];
    kit.write("empty/traces/none.txt", "");
    for night in nights {
        let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
        kit.write("empty/traces/none.txt", "");
        kit.run(&["sync", "--data-dir", &demo_dir(), "--idle", "0s", "--no-derive"]).exits(3);
        let object = files(&kit.path("lake/raw")).into_keys().find(|path| path.contains("demo-01")).expect("an object");
        std::fs::write(kit.path("lake/raw").join(&object), &whole[..whole.len() / 2]).expect("written");
        kit.run(night).exits(3).says(&["session demo-01-flipped", "is damaged"]);
        kit.run(&["sql", "select count(*) as n from sessions"]).exits(0).prints(&["10"]);
    }
}

#[test]
fn sql_names_a_generation_file_or_a_record_that_is_damaged() {
    let kit = Kit::with_demo();
    kit.run(&["rebuild"]).exits(0);
    let ask = ["sql", "select count(*) as n from sessions"];
    let sound = std::fs::read(kit.path("lake/tables/g0002.json")).expect("a file");
    for (name, body) in [("g0002", "half a {"), ("g0007", "{}"), ("g0007", "{\"parser\":1,\"k\":1}")] {
        let path = kit.path(&format!("lake/tables/{name}.json"));
        std::fs::write(&path, body).expect("written");
        for command in [&ask[..], &["status"], &["show", "demo-01"]] {
            kit.run(command).exits(1).says(&[&format!("tables/{name}.json is damaged"), "hint: "]);
        }
        if name == "g0002" {
            std::fs::write(&path, &sound).expect("restored")
        } else {
            std::fs::remove_file(&path).expect("removed")
        }
    }
    kit.run(&ask).exits(0).prints(&["11"]);
    let whole = std::fs::read(record(&kit, 1)).expect("a record");
    std::fs::write(record(&kit, 1), &whole[..whole.len() / 2]).expect("written");
    kit.run(&ask).exits(1).says(&["00001.json is damaged"]);
    std::fs::remove_file(record(&kit, 1)).expect("removed");
    kit.run(&ask).exits(1).says(&["00001.json is damaged: it is missing, though the tables stand at version 1"]);
}
