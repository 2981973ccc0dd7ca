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
        &["export", "--out", "red", "--on-secret", "redact"],
    ] {
        let ran = kit.run(args);
        assert!(!ran.out.contains(&token) && !ran.err.contains(&token), "{args:?}");
    }
    let rows = std::fs::read_to_string(kit.path("red/sft/train-00000-of-00001.jsonl")).expect("rows");
    assert!(rows.contains("<SECRET:github-token:1>") && !rows.contains(&token));
}
