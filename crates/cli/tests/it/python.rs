//! Other engines read the same lake, and the loader of the trainers reads the same sets. Python is the one that
//! `TRACE_LAKE_TEST_PYTHON` names.

use std::process::Command;

use serde_json::Value;

use crate::asked::asked;
use crate::kit::{Kit, copy, demo_dir, real, trust_file};
use crate::rows::{rows, same};

const ENGINES: &str = include_str!("python/engines.py");
const LOADS: &str = include_str!("python/loads.py");
const DIALECTS: &str = include_str!("python/dialects.py");

/// Runs a script in the kit's home, without a network to fall back on, and reads the JSON that it prints.
pub(crate) fn python(kit: &Kit, python: &str, script: &str, args: &[&str]) -> Value {
    let mut command = Command::new(python);
    kit.dress(&mut command);
    command.env("HF_HOME", kit.path("hf")).env("HF_HUB_OFFLINE", "1").env("HF_DATASETS_OFFLINE", "1");
    let output = command.arg("-c").arg(script).args(args).output().expect("python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", output.status);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{said}", String::from_utf8_lossy(&output.stdout)))
}

/// What `sql` says of each table, in the form in which the script prints it.
fn ours(kit: &Kit, columns: &[(&str, &str)]) -> Value {
    let mut all = serde_json::Map::new();
    for (table, expressions) in columns {
        let sql = format!("select {expressions} from {table}");
        let row = kit.run(&["sql", "--json", &sql]).exits(0).json();
        let row = row.as_object().expect("a row");
        all.insert((*table).to_owned(), row.values().cloned().collect());
    }
    Value::Object(all)
}

/// Table, and what is counted in it: in words that every engine takes.
const COUNTED: [(&str, &str); 6] = [
    (
        "events",
        "count(*) as n0, count(distinct session_id) as n1, sum(length(text)) as n2, sum(length(output)) as n3, \
         sum(length(input)) as n4, count(distinct \"type\") as n5, count(tool) as n6, sum(line) as n7, count(distinct ts) as n8",
    ),
    (
        "segments",
        "count(*) as n0, count(distinct session_id) as n1, sum(\"end\") as n2, sum(events) as n3, count(distinct raw) as n4",
    ),
    ("verdicts", "count(*) as n0, count(distinct session_id) as n1, sum(line) as n2, sum(length(verdict)) as n3"),
    ("rejects", "count(*) as n0, count(distinct session_id) as n1, sum(line) as n2, sum(length(reason)) as n3"),
    ("checks", "count(*) as n0, count(distinct session_id) as n1, sum(\"end\") as n2, count(distinct digest) as n3"),
    ("exports", "count(*) as n0, count(distinct session_id) as n1, sum(row) as n2, count(distinct \"set\") as n3"),
];

fn engines_agree(kit: &Kit, interpreter: &str, generation: &str) -> Value {
    let counted: Vec<String> = COUNTED.iter().map(|(table, sql)| format!("{table}\t{sql}")).collect();
    let lake = kit.text("lake");
    let theirs = python(kit, interpreter, ENGINES, &[&lake, generation, &counted.join("\n")]);
    let ours = ours(kit, &COUNTED);
    for engine in ["deltalake", "duckdb"] {
        assert_eq!(theirs[engine], ours, "{engine}");
    }
    ours
}

#[test]
fn deltalake_and_duckdb_see_what_sql_sees_before_and_after_compact() {
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = Kit::new();
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    // In several commits, so that there is something to merge.
    let dir = kit.data_dir("data");
    let away = kit.path("away");
    copy(&dir.join("traces"), &away);
    for part in [["01", "02", "11"], ["03", "04", "05"], ["06", "07", "08"]] {
        for file in std::fs::read_dir(dir.join("traces")).expect("a folder").flatten() {
            std::fs::remove_file(file.path()).expect("a trace");
        }
        for file in std::fs::read_dir(&away).expect("a folder").flatten() {
            let name = file.file_name().into_string().expect("a name");
            if part.iter().any(|n| name.starts_with(&format!("demo-{n}"))) {
                std::fs::copy(file.path(), dir.join("traces").join(name)).expect("a copy");
            }
        }
        let ran = kit.run(&["sync", "--data-dir", "data", "--idle", "0s"]);
        assert!(matches!(ran.code, 0 | 3), "{}", ran.err);
    }
    kit.run(&["sync", "--data-dir", &demo_dir(), "--idle", "0s"]).exits(0).prints(&["new 2"]);
    kit.run(&["check", "--trust", &trust_file()]).exits(0);
    kit.run(&["export", "--out", "out", "--trust", &trust_file()]).exits(0);
    let before = engines_agree(&kit, &interpreter, "g0001");
    assert_eq!((before["events"][1].as_u64(), before["rejects"][0].as_u64()), (Some(11), Some(1)));
    let expected = rows(&kit.path("lake"));
    let json = kit.run(&["compact", "--json"]).exits(0).json();
    assert!(json["files_before"].as_u64() > json["files_after"].as_u64(), "{json}");
    assert_eq!(engines_agree(&kit, &interpreter, "g0001"), before);
    same("compact", &expected, &rows(&kit.path("lake")));
    kit.run(&["rebuild"]).exits(0);
    assert_eq!(engines_agree(&kit, &interpreter, "g0002"), before);
}

#[test]
fn engines_agree_on_real_traces() {
    let Some(real) = real() else { return };
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = Kit::new();
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    kit.run(&["sync", "--data-dir", &real.data_dir, "--idle", "0s"]).exits(0);
    kit.run(&["check", "--trust", &real.trust]).exits(0);
    kit.run(&["export", "--out", "out", "--trust", &real.trust]).exits(0);
    let before = engines_agree(&kit, &interpreter, "g0001");
    kit.run(&["compact"]).exits(0);
    assert_eq!(engines_agree(&kit, &interpreter, "g0001"), before);
}

fn loads(kit: &Kit, interpreter: &str, sft: u64, preference: u64) {
    let loaded = python(kit, interpreter, LOADS, &[&kit.text("out")]);
    assert_eq!(loaded, serde_json::json!({"sft": sft, "preference": preference}));
}

#[test]
fn datasets_loads_both_sets_as_they_were_written() {
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = Kit::with_demo();
    kit.run(&["export", "--out", "out", "--require-signature", "--trust", &trust_file()]).exits(0);
    loads(&kit, &interpreter, 4, 2);
}

#[test]
fn datasets_loads_real_sets() {
    let Some(real) = real() else { return };
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = Kit::new();
    kit.run(&["sync", "--lake", "lake", "--data-dir", &real.data_dir, "--idle", "0s"]).exits(0);
    kit.run(&["export", "--lake", "lake", "--out", "out", "--require-signature", "--trust", &real.trust]).exits(0);
    loads(&kit, &interpreter, 9, 1);
}

/// Dialects whose rows are loaded as tables; a trajectory is not.
const TABLES: [&str; 6] = ["trl", "axolotl", "openai", "llamafactory", "swift", "tinker"];

fn every_dialect_loads(kit: &Kit, trust: &str, sft: u64, pairs: u64) {
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    // More of them, with other versions of `datasets`.
    let others = std::env::var("TRACE_LAKE_TEST_LOADERS").unwrap_or_default();
    for dialect in TABLES {
        let out = format!("sets/{dialect}");
        kit.run(&[
            "export",
            "--lake",
            "lake",
            "--out",
            &out,
            "--require-signature",
            "--trust",
            trust,
            "--dialect",
            dialect,
        ])
        .exits(0);
    }
    for interpreter in std::iter::once(interpreter.as_str()).chain(others.split(':').filter(|path| !path.is_empty())) {
        let args: Vec<String> = std::iter::once(kit.text("sets")).chain(TABLES.map(str::to_owned)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let loaded = python(kit, interpreter, DIALECTS, &args);
        for dialect in TABLES.iter().filter(|dialect| **dialect != "trl" || loaded.get("trl/sft").is_some()) {
            assert_eq!(loaded[format!("{dialect}/sft")], sft, "{interpreter}: {loaded}");
        }
        for dialect in ["swift", "tinker"] {
            assert_eq!(loaded[format!("{dialect}/preference")], pairs, "{interpreter}: {loaded}");
        }
    }
}

#[test]
fn datasets_loads_every_dialect_as_it_was_written() {
    every_dialect_loads(&Kit::with_demo(), &trust_file(), 4, 2);
}

#[test]
fn datasets_loads_every_dialect_of_real_sets() {
    let Some(real) = real() else { return };
    let kit = Kit::new();
    kit.run(&["sync", "--lake", "lake", "--data-dir", &real.data_dir, "--idle", "0s"]).exits(0);
    every_dialect_loads(&kit, &real.trust, 9, 1);
}
