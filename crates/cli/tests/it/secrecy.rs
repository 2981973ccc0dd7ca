//! Nothing of the environment's secrets, and nothing of a found secret, is said.

use crate::kit::{Kit, demo_dir};

#[test]
fn no_secret_of_the_environment_is_said() {
    let mut kit = Kit::with_demo();
    for name in [
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_CLIENT_SECRET",
        "ANTHROPIC_API_KEY",
    ] {
        kit = kit.var(name, "hush-hush-value");
    }
    kit = kit.var("TRACE_LAKE_LOG", "trace");
    for args in [
        &["config"][..],
        &["config", "--json"],
        &["doctor"],
        &["status"],
        &["sql", "select 1"],
        &["export", "--out", "out"],
        &["sync", "--data-dir", &demo_dir(), "--idle", "0s"],
    ] {
        let ran = kit.run(args);
        assert!(!ran.out.contains("hush-hush") && !ran.err.contains("hush-hush"), "{args:?}\n{}\n{}", ran.out, ran.err);
    }
    let manifest = std::fs::read_to_string(kit.path("out/manifest.json")).expect("a manifest");
    assert!(!manifest.contains("hush-hush"));
}

#[test]
fn a_found_secret_is_named_by_rule_and_never_by_value() {
    let kit = Kit::with_demo();
    let trace = std::fs::read_to_string(format!("{}/traces/demo-10-secret.jsonl", demo_dir())).expect("a trace");
    let at = trace.find("ghp_").expect("the demo's token");
    let token: String = trace[at..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    assert!(token.len() > 20);
    for args in [
        &["sql", "select * from findings"][..],
        &["sql", "select * from checks"],
        &["check", "--dry-run", "--json"],
        &["status"],
        &["show", "demo-10-secret", "--full"],
        &["show", "demo-10-secret", "--json"],
        &["export", "--out", "red", "--on-secret", "redact"],
    ] {
        let ran = kit.run(args);
        assert!(!ran.out.contains(&token) && !ran.err.contains(&token), "{args:?}");
    }
    let rows = std::fs::read_to_string(kit.path("red/sft/train-00000-of-00001.jsonl")).expect("rows");
    assert!(rows.contains("<SECRET:github-token:1>") && !rows.contains(&token));
}

#[test]
fn show_puts_placeholders_unless_it_is_asked_for_more() {
    let kit = Kit::with_demo();
    let shown = kit.run(&["show", "demo-10-secret"]).exits(0).prints(&["GITHUB_TOKEN=<SECRET:github-token:1>"]);
    shown.says(&["1 secret hidden here; --reveal shows them"]);
    let json = kit.run(&["show", "demo-10-secret", "--json"]).exits(0).json();
    assert_eq!(json["hidden_secrets"], 1);
    let all = kit.run(&["show", "demo-10-secret", "--reveal"]).exits(0).prints(&["GITHUB_TOKEN=ghp_"]);
    assert!(all.err.is_empty(), "{}", all.err);
    // What is let pass is shown.
    let allow = format!(
        "[[allow]]\nliteral = '{}'\nreason = 'opens nothing'\nexpires = 2099-01-01\n",
        lake_testkit::made_up_github_token()
    );
    kit.write("allow.toml", &allow);
    kit.run(&["show", "demo-10-secret", "--allow", "allow.toml"]).exits(0).prints(&["GITHUB_TOKEN=ghp_"]);
}

#[test]
fn a_session_id_that_is_a_secret_stands_in_no_file_of_an_export_and_is_not_shown() {
    let kit = Kit::new().var("TRACE_LAKE_URL", "lake");
    let token = lake_testkit::made_up_github_token();
    let trace = std::fs::read_to_string(format!("{}/traces/demo-01-flipped.jsonl", demo_dir())).expect("a trace");
    kit.write("data/traces/a.jsonl", &trace.replace("demo-01-flipped", &format!("run-{token}")));
    kit.run(&["sync", "--data-dir", "data", "--idle", "0s"]).exits(0);
    let export = kit.run(&["export", "--out", "out"]).exits(0);
    assert!(!export.out.contains(&token) && !export.err.contains(&token));
    export.says(&["1 session ids hold a secret"]);
    for (name, bytes) in crate::rows::files(&kit.path("out")) {
        assert!(!String::from_utf8_lossy(&bytes).contains(&token), "{name}");
    }
    let exclusions = std::fs::read_to_string(kit.path("out/exclusions.jsonl")).expect("exclusions");
    assert_eq!(exclusions.matches("\"run-<SECRET:github-token:1>\"").count(), 2, "{exclusions}");
    let shown = kit.run(&["show", "run-"]).exits(0).prints(&["session run-<SECRET:github-token:1>"]);
    assert!(!shown.out.contains(&token));
}

#[test]
fn nothing_that_is_written_out_lands_in_the_lake() {
    let kit = Kit::with_demo();
    let before = crate::rows::files(&kit.path("lake"));
    std::os::unix::fs::symlink("lake", kit.path("link")).expect("a link");
    for place in ["lake/lake.json", "lake/log/new.csv", "link/lake.json", "lake/../lake/lake.json"] {
        kit.run(&["sql", "select 1", "-o", place]).exits(1).says(&["lies in the lake", "beside the lake with -o"]);
        kit.run(&["status", "--prometheus", place]).exits(1).says(&["lies in the lake", "with --prometheus"]);
    }
    assert!(before == crate::rows::files(&kit.path("lake")));
    kit.run(&["sql", "select 1", "-o", "out.csv"]).exits(0);
    kit.run(&["status", "--prometheus", "out.prom"]).exits(0);
}
