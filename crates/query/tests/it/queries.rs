use std::collections::BTreeSet;

use lake_query::{saved, saved_query};
use serde_json::{Value, json};

use crate::lake::{empty, lake, rows};

async fn answer(name: &str) -> Vec<Value> {
    rows(&lake(), saved_query(name).expect("a saved query").sql).await
}

#[test]
fn every_file_is_built_in_and_says_its_question() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../queries");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("queries/")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let built_in: BTreeSet<String> = saved().iter().map(|query| format!("{}.sql", query.name)).collect();
    assert_eq!(files, built_in);
    for query in saved() {
        assert!(query.question.ends_with('?') && query.sql.contains(query.question), "{}", query.name);
    }
    assert!(saved_query("nothing").is_none());
}

#[tokio::test]
async fn each_runs_on_an_empty_lake() {
    for query in saved() {
        assert!(rows(&empty(), query.sql).await.is_empty(), "{}", query.name);
    }
    for view in
        ["sessions", "messages", "tool_calls", "findings", "corrections", "held_back", "batches", "hosts", "exports"]
    {
        assert!(rows(&empty(), &format!("select * from {view}")).await.is_empty(), "{view}");
    }
}

#[tokio::test]
async fn flip_rate() {
    let repo = "github.com/acme/billing";
    assert_eq!(
        answer("flip-rate").await,
        [
            json!({"repo_url": repo, "week": "2026-08-10", "sessions": 1, "flipped": 1, "not_flipped": 0, "flip_rate": 1.0,
                   "proven_flipped": 0}),
            json!({"repo_url": repo, "week": "2026-08-03", "sessions": 3, "flipped": 1, "not_flipped": 1, "flip_rate": 0.5,
                   "proven_flipped": 1, "proven_flip_rate": 0.5}),
        ]
    );
}

#[tokio::test]
async fn attempts_to_flip() {
    assert_eq!(
        answer("attempts-to-flip").await,
        [json!({"attempts": 2, "sessions": 1, "share": 1.0, "flipped_by_then": 1})]
    );
}

#[tokio::test]
async fn verdicts_by_task() {
    let repo = "github.com/acme/billing";
    assert_eq!(
        answer("verdicts-by-task").await,
        [
            json!({"repo_url": repo, "task_id": "t1", "sessions": 3, "baselines": 3, "pass": 2, "fail": 2, "error": 0,
                   "unsigned": 2, "last_at": "2026-08-03T10:30:00Z"}),
            json!({"repo_url": repo, "task_id": "t2", "sessions": 1, "baselines": 1, "pass": 1, "fail": 0, "error": 0,
                   "unsigned": 0, "last_at": "2026-08-03T10:30:00Z"}),
        ]
    );
}

#[tokio::test]
async fn tasks_with_pair() {
    assert_eq!(
        answer("tasks-with-pair").await,
        [json!({"repo_url": "github.com/acme/billing", "task_id": "t1", "base_commit": "abc", "flipped": 1,
                "negatives": 1, "all_verified": true})]
    );
}

#[tokio::test]
async fn secrets_by_rule() {
    assert_eq!(
        answer("secrets-by-rule").await,
        [
            json!({"rule": "github-token", "severity": "critical", "findings": 2, "secrets": 1, "sessions": 1, "repos": 1,
                "for_example": "s3"})
        ]
    );
}

#[tokio::test]
async fn tainted_exports() {
    assert_eq!(
        answer("tainted-exports").await,
        [
            json!({"manifest_sha256": "m0", "out": "/old", "set": "preference", "rows": 1, "sessions": 1, "for_example": "s3"})
        ]
    );
}

#[tokio::test]
async fn unverified_sessions() {
    let repo = "github.com/acme/billing";
    assert_eq!(
        answer("unverified-sessions").await,
        [
            json!({"session_id": "s5", "branch": 0, "repo_url": repo, "task_id": "t1", "recorded_outcome": "flipped",
                   "outcome": "unproven", "why": "unsigned", "flags": "unsigned"}),
            json!({"session_id": "s1", "branch": 1, "repo_url": repo, "task_id": "t1", "recorded_outcome": "unproven",
                   "why": "not looked at", "flags": "rewritten"}),
        ]
    );
}

#[tokio::test]
async fn sync_lag() {
    let lag = answer("sync-lag").await;
    let of = |name: &str| lag.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("host"), ["ha", "hb", "hc"]);
    assert_eq!(of("sessions"), [3, 2, 1]);
    // s1 ends on the 3rd at 11:00 and its last batch is of the 13th, 12:00.
    assert_eq!(of("longest_lag_hours"), [json!(241.0), json!(217.0), json!(null)]);
    assert_eq!(of("median_lag_hours"), [json!(169.0), json!(133.0), json!(null)]);
    assert!(of("hours_ago").iter().all(Value::is_number));
}

#[tokio::test]
async fn tool_mix() {
    assert_eq!(
        answer("tool-mix").await,
        [
            json!({"tool": "Bash", "calls": 3, "share": 0.75, "sessions": 2, "error_rate": 0.333, "denied": 1, "median_ms": 20.0}),
            json!({"tool": "Edit", "calls": 1, "share": 0.25, "sessions": 1, "error_rate": 0.0, "denied": 0, "median_ms": 5.0}),
        ]
    );
}

#[tokio::test]
async fn recent_sessions() {
    let recent = answer("recent-sessions").await;
    let ids: Vec<&str> = recent.iter().filter_map(|row| row["session_id"].as_str()).collect();
    assert_eq!(ids, ["s4", "s5", "s3", "s2", "s1", "s1"]);
    assert_eq!(recent[2]["flags"], "retracted secret");
}

#[tokio::test]
async fn rejects() {
    assert_eq!(
        answer("rejects").await,
        [
            json!({"reason": "not a JSON object", "lines": 1, "sessions": 1, "bytes": 7, "host": "hc", "in_file": "raw/s4"})
        ]
    );
}

#[tokio::test]
async fn held_back() {
    assert_eq!(
        answer("held-back").await,
        [
            json!({"reason": "no_flip", "sessions": 1, "for_example": "s2"}),
            json!({"reason": "retracted", "sessions": 1, "for_example": "s3"}),
            json!({"reason": "unproven", "sessions": 1, "for_example": "s1"}),
            json!({"reason": "unsigned", "sessions": 1, "for_example": "s5"}),
            json!({"reason": "untracked", "sessions": 1, "for_example": "s4"}),
        ]
    );
}
