//! What the command line takes, and how it says no.

use crate::kit::Kit;

#[test]
fn help_and_version_are_data() {
    let kit = Kit::new();
    kit.run(&["--help"]).exits(0).prints(&["sync", "check", "export", "sql", "status", "show", "Exit codes:"]);
    kit.run(&["--version"]).exits(0).prints(&["trace-lake 0."]);
    kit.run(&["sync", "--help"]).exits(0).prints(&["--data-dir", "--idle", "--no-derive", "--dry-run", "--json"]);
}

#[test]
fn wrong_usage_is_2() {
    let kit = Kit::new();
    for args in [
        &["--nonsense"][..],
        &[],
        &["sync", "--idle", "soon"],
        &["sync", "--max-line", "-1"],
        &["export"],
        &["export", "--out", "x", "--since", "yesterday"],
        &["export", "--out", "x", "--dialect", "other"],
        &["status", "--source", "x"],
        &["sql", "select 1", "--query", "tool-mix"],
        &["status", "--memory-limit", "lots"],
        &["status", "--memory-limit", "1KiB"],
        &["sync", "--source", "", "--data-dir", "x", "--lake", "y"],
        &["export", "--out", "x", "--pairs-per-task", "0"],
        &["keys"],
    ] {
        let ran = kit.run(args).exits(2);
        assert_eq!(ran.out, "", "{args:?}");
        assert!(!ran.err.is_empty(), "{args:?}");
    }
}

#[test]
fn a_refused_value_comes_with_what_is_expected() {
    let kit = Kit::new();
    for (args, part) in [
        (&["sync", "--idle", "0"][..], "a number with its unit is expected, such as 24h, 90m, 30s, 2d or 0s"),
        (&["status", "--memory-limit", "1KiB"], "64MiB is the least"),
        (&["export", "--out", "x", "--pairs-per-task", "0"], "no number from 1 on"),
        (&["sync", "--source", " ", "--lake", "y"], "the name of a source is empty"),
    ] {
        kit.run(args).exits(2).says(&[part]);
    }
    kit.write("trace-lake.toml", "memory_limit = \"1MiB\"\n");
    kit.run(&["config"]).exits(2).says(&["trace-lake.toml:1", "64MiB is the least"]);
}

#[test]
fn errors_are_json_too() {
    let kit = Kit::new();
    for (args, code, part) in [
        (&["sync", "--nonsense", "--json"][..], 2, "--nonsense"),
        (&["status", "--json"], 2, "no lake is named"),
        (&["status", "--json", "--lake", "none"], 1, "no lake at"),
        (&["--json", "check", "--lake", "none", "--trust", "none.toml"], 2, "none.toml"),
    ] {
        let ran = kit.run(args).exits(code);
        let json = ran.json();
        assert_eq!(json["error"]["exit_code"], code, "{args:?}");
        assert!(json["error"]["message"].as_str().expect("a message").contains(part), "{json}");
        assert!(!json["error"]["hint"].as_str().expect("a hint").is_empty(), "{json}");
        assert_eq!(ran.err, "", "{args:?}");
    }
}

#[test]
fn completions_and_man_pages_come_from_the_same_definition() {
    let kit = Kit::new();
    for shell in ["bash", "zsh", "fish"] {
        kit.run(&["completions", shell]).exits(0).prints(&["trace-lake", "require-signature", "no-derive"]);
    }
    kit.run(&["man"]).exits(0).prints(&[".TH", "trace\\-lake"]);
    kit.run(&["man", "export"]).exits(0).prints(&["require\\-signature"]);
    kit.run(&["man", "none"]).exits(2).says(&["no command `none`"]);
}

#[test]
fn every_command_answers_in_one_json_object() {
    let kit = Kit::with_demo();
    for args in [
        &["status"][..],
        &["derive"],
        &["derive", "--dry-run"],
        &["rebuild", "--dry-run"],
        &["compact", "--dry-run"],
        &["check", "--dry-run"],
        &["config"],
        &["doctor"],
        &["show", "demo-01"],
        &["sql", "--list"],
        &["export", "--out", "never", "--dry-run"],
        &["sync", "--data-dir", "none"],
    ] {
        let mut whole = args.to_vec();
        whole.push("--json");
        let ran = kit.run(&whole);
        assert!(ran.json().is_object(), "{args:?}");
        assert_eq!(ran.out.lines().count(), 1, "{args:?}");
    }
    assert!(!kit.path("never").exists());
}
