//! `export --verify`: whether a folder holds what its manifest says, and whether the lake gives it again.

use crate::kit::{Kit, demo_dir, trust_file};

fn exported(flags: &[&str]) -> Kit {
    let kit = Kit::with_demo();
    let trust = trust_file();
    let words = [&["export", "--out", "out", "--require-signature", "--trust", &trust], flags].concat();
    kit.run(&words).exits(0);
    kit
}

fn verify(kit: &Kit) -> crate::kit::Ran {
    kit.run(&["export", "--verify", "out", "--trust", &trust_file()])
}

#[test]
fn an_export_is_made_again_with_the_same_bytes_whatever_was_asked_for() {
    let runs: [&[&str]; 5] = [
        &[],
        &["--dialect", "swift", "--split", "0.5/0.5", "--sets", "sft", "--max-per-task", "1", "--max-per-repo", "9"],
        &["--repo", "github.com/acme/billing", "--since", "2025-01-01", "--until", "2030-01-01", "--where", "true"],
        &["--on-secret", "redact", "--pairs-per-task", "3", "--pair-strategy", "random", "--max-length-ratio", "2.5"],
        &["--dialect", "atif", "--on-truncated-output", "exclude"],
    ];
    for flags in runs {
        let kit = exported(flags);
        verify(&kit).exits(0).prints(&["the same bytes"]);
    }
}

#[test]
fn what_came_into_the_lake_since_does_not_count_and_nothing_is_noted() {
    let kit = exported(&[]);
    let rows = |kit: &Kit| kit.run(&["sql", "--json", "select count(*) as n from exports"]).exits(0).out;
    let before = rows(&kit);
    let dir = kit.data_dir("more");
    std::fs::write(
        dir.join("traces/more.jsonl"),
        std::fs::read_to_string(format!("{}/traces/demo-09-untracked.jsonl", demo_dir()))
            .expect("a trace")
            .replace("demo-09-untracked", "more"),
    )
    .expect("a trace");
    kit.run(&["sync", "--data-dir", "more", "--idle", "0s"]);
    verify(&kit).exits(0).prints(&["the same bytes"]);
    assert_eq!(rows(&kit), before);
}

#[test]
fn a_file_that_was_changed_or_is_gone_is_named() {
    let kit = exported(&[]);
    let rows = kit.path("out/sft/train-00000-of-00001.jsonl");
    let text = std::fs::read_to_string(&rows).expect("rows");
    std::fs::write(&rows, text.replacen("\"train\":false", "\"train\":true", 1)).expect("written");
    std::fs::remove_file(kit.path("out/README.md")).expect("removed");
    let ran = verify(&kit).exits(1);
    assert!(ran.out.contains("sft/train-00000-of-00001.jsonl: in the folder differs, made again same"), "{}", ran.out);
    assert!(ran.out.contains("README.md: in the folder missing, made again same"), "{}", ran.out);
    assert!(ran.out.contains("not the same"), "{}", ran.out);
    let json = kit.run(&["export", "--verify", "out", "--json", "--trust", &trust_file()]).exits(1).json();
    assert_eq!((&json["same"], &json["exit_code"]), (&false.into(), &1.into()));
}

#[test]
fn another_trust_file_is_told() {
    let kit = exported(&[]);
    let trust = std::fs::read_to_string(trust_file()).expect("a trust file");
    kit.write("other.toml", &format!("{trust}\n# another one\n"));
    let ran = kit.run(&["export", "--verify", "out", "--trust", "other.toml"]).exits(1);
    assert!(ran.err.contains("not as then: signatures was"), "{}", ran.err);
    kit.run(&["export", "--verify", "out"]).exits(2).says(&["--trust"]);
}

#[test]
fn what_the_manifest_decides_cannot_be_asked_for_beside_it() {
    let kit = exported(&[]);
    for flags in
        [&["--repo", "github.com/acme/billing"][..], &["--out", "elsewhere"], &["--split", "0.5/0.5"], &["--dry-run"]]
    {
        kit.run(&[&["export", "--verify", "out"], flags].concat()).exits(2);
    }
    kit.run(&["export"]).exits(2);
}

#[test]
fn a_folder_that_is_no_export_is_refused() {
    let kit = Kit::with_demo();
    kit.run(&["export", "--verify", "nowhere"]).exits(1).says(&["manifest.json"]);
    std::fs::create_dir(kit.path("odd")).expect("a folder");
    for text in ["", "{}", "[1]", "{\"request\":{\"dialect\":\"nothing\"}}"] {
        kit.write("odd/manifest.json", text);
        kit.run(&["export", "--verify", "odd"]).exits(2).says(&["no manifest"]);
    }
}

#[test]
fn files_that_the_manifest_names_by_their_hashes_have_to_be_named() {
    let tools = "[{\"type\":\"function\",\"function\":{\"name\":\"Bash\"}}]";
    let kit = Kit::with_demo();
    kit.write("tools.json", tools);
    kit.run(&["export", "--out", "out", "--tools", "tools.json"]).exits(0);
    kit.run(&["export", "--verify", "out"]).exits(2).says(&["--tools"]);
    kit.run(&["export", "--verify", "out", "--tools", "tools.json"]).exits(0).prints(&["the same bytes"]);
    kit.write("tools.json", &tools.replace("Bash", "Shell"));
    kit.run(&["export", "--verify", "out", "--tools", "tools.json"]).exits(1);
}
