use lake_query::{Error, Options, session};
use serde_json::json;

use crate::lake::{Strings, ask, empty, lake, options, rows, sources};

const FLAGS: &str = "select session_id, branch, array_to_string(flags, ' ') as flags from sessions order by 1, 2";

#[tokio::test]
async fn a_branch_is_its_newest_segment_and_where_it_came_from_is_its_first() {
    let sql = "select bytes, segments, k, first_k, host, source, recorded_outcome, claimed_outcome, lines \
               from sessions where session_id = 's1' order by branch";
    assert_eq!(
        rows(&lake(), sql).await,
        [
            json!({"bytes": 200, "segments": 2, "k": 3, "first_k": 1, "host": "ha", "source": "ha:/d",
                   "recorded_outcome": "flipped", "claimed_outcome": "flipped", "lines": 20}),
            json!({"bytes": 80, "segments": 1, "k": 2, "first_k": 2, "host": "hb", "source": "hb:/d",
                   "recorded_outcome": "unproven", "lines": 10}),
        ]
    );
}

#[tokio::test]
async fn an_outcome_is_of_this_end_under_the_trust_file_in_force() {
    let sql = "select session_id, branch, outcome, verified, secrets, secret_findings from sessions order by 1, 2";
    assert_eq!(
        rows(&lake(), sql).await,
        [
            json!({"session_id": "s1", "branch": 0, "outcome": "flipped", "verified": true, "secrets": "clean", "secret_findings": 0}),
            json!({"session_id": "s1", "branch": 1, "verified": false}),
            json!({"session_id": "s2", "branch": 0, "outcome": "no_flip", "verified": true, "secrets": "clean", "secret_findings": 0}),
            json!({"session_id": "s3", "branch": 0, "outcome": "flipped", "verified": true, "secrets": "found", "secret_findings": 2}),
            json!({"session_id": "s4", "branch": 0, "verified": false}),
            json!({"session_id": "s5", "branch": 0, "outcome": "unproven", "verified": false}),
        ]
    );
}

#[tokio::test]
async fn without_a_digest_the_newest_check_stands() {
    let query = ask(&Options { rules_digest: None, trust_digest: None, ..options() });
    let sql = "select outcome, secrets, secret_findings from sessions where session_id = 's2'";
    assert_eq!(rows(&query, sql).await, [json!({"outcome": "unproven", "secrets": "found", "secret_findings": 2})]);
}

#[tokio::test]
async fn flags_are_those_of_the_reader_the_signatures_the_scan_and_the_retraction() {
    assert_eq!(
        rows(&lake(), FLAGS).await,
        [
            json!({"session_id": "s1", "branch": 0, "flags": "bad_field clock finished_late"}),
            json!({"session_id": "s1", "branch": 1, "flags": "rewritten"}),
            json!({"session_id": "s2", "branch": 0, "flags": ""}),
            json!({"session_id": "s3", "branch": 0, "flags": "retracted secret"}),
            json!({"session_id": "s4", "branch": 0, "flags": ""}),
            json!({"session_id": "s5", "branch": 0, "flags": "unsigned"}),
        ]
    );
}

#[tokio::test]
async fn only_the_own_source_or_a_listed_one_retracts() {
    let retracted = "select session_id, branch from sessions where retracted order by 1, 2";
    assert_eq!(rows(&lake(), retracted).await, [json!({"session_id": "s3", "branch": 0})]);

    let listed = ask(&Options { corrections_from: vec!["hc:/d".into(), "it's:/d".into()], ..options() });
    assert_eq!(
        rows(&listed, retracted).await,
        [json!({"session_id": "s2", "branch": 0}), json!({"session_id": "s3", "branch": 0})]
    );

    // A listed source retracts every branch.
    let listed = ask(&Options { corrections_from: vec!["hb:/d".into()], ..options() });
    assert_eq!(
        rows(&listed, retracted).await,
        [
            json!({"session_id": "s1", "branch": 0}),
            json!({"session_id": "s1", "branch": 1}),
            json!({"session_id": "s3", "branch": 0})
        ]
    );
}

#[tokio::test]
async fn corrections_say_whether_they_are_in_force() {
    let sql = "select session_id, line, ref_session_id, ref_event_id, action, author, source, in_force \
               from corrections order by 1, 2";
    assert_eq!(
        rows(&lake(), sql).await,
        [
            json!({"session_id": "s1", "line": 15, "ref_session_id": "s1", "action": "retract", "author": "ann", "source": "hb:/d", "in_force": false}),
            json!({"session_id": "s3", "line": 5, "ref_session_id": "s3", "action": "retract", "author": "ann", "source": "ha:/d", "in_force": true}),
            json!({"session_id": "s4", "line": 5, "ref_session_id": "s2", "action": "retract", "author": "ann", "source": "hc:/d", "in_force": false}),
            json!({"session_id": "s4", "line": 6, "action": "retract", "source": "hc:/d", "in_force": false}),
            json!({"session_id": "s5", "line": 5, "ref_session_id": "s5", "ref_event_id": "e", "action": "annotate", "source": "hb:/d", "in_force": false}),
        ]
    );
}

#[tokio::test]
async fn an_earlier_version_is_read_as_it_was() {
    let query = ask(&Options { at: Some(2), ..options() });
    let sql = "select session_id, branch, bytes, k, recorded_outcome, outcome from sessions order by 1, 2";
    assert_eq!(
        rows(&query, sql).await,
        [
            json!({"session_id": "s1", "branch": 0, "bytes": 100, "k": 1, "recorded_outcome": "no_flip", "outcome": "no_flip"}),
            json!({"session_id": "s1", "branch": 1, "bytes": 80, "k": 2, "recorded_outcome": "unproven"}),
            json!({"session_id": "s2", "branch": 0, "bytes": 90, "k": 1, "recorded_outcome": "no_flip", "outcome": "no_flip"}),
            json!({"session_id": "s3", "branch": 0, "bytes": 70, "k": 2, "recorded_outcome": "flipped", "outcome": "flipped"}),
        ]
    );
    let count = |table: &str| {
        format!("select count(*) as n, coalesce(max(line), 0) as last from {table} where session_id = 's1'")
    };
    assert_eq!(rows(&query, &count("events")).await, [json!({"n": 4, "last": 4})]);
    assert_eq!(rows(&query, &count("verdicts")).await, [json!({"n": 2, "last": 9})]);
    assert_eq!(rows(&query, "select count(*) as n from rejects").await, [json!({"n": 0})]);
    assert_eq!(rows(&query, "select count(*) as n from exports").await, [json!({"n": 0})]);
    assert_eq!(rows(&query, "select k from batches order by k").await, [json!({"k": 1}), json!({"k": 2})]);
    let nothing = ask(&Options { at: Some(0), ..options() });
    assert_eq!(rows(&nothing, "select count(*) as n from sessions").await, [json!({"n": 0})]);
}

#[tokio::test]
async fn findings_are_those_of_the_worse_row_and_say_whether_they_are_current() {
    let sql = "select session_id, digest, rule, count(*) as n, bool_and(current) as current from findings \
               where kind = 'secrets' group by 1, 2, 3 order by 1";
    assert_eq!(
        rows(&lake(), sql).await,
        [
            json!({"session_id": "s2", "digest": "rules-1", "rule": "github-token", "n": 2, "current": false}),
            json!({"session_id": "s3", "digest": "rules-2", "rule": "github-token", "n": 2, "current": true}),
        ]
    );
    let sql = "select distinct session_id, array_to_string(exported_to, ' ') as x from findings where kind = 'secrets' order by 1";
    assert_eq!(rows(&lake(), sql).await, [json!({"session_id": "s2"}), json!({"session_id": "s3", "x": "/old"})]);
}

#[tokio::test]
async fn messages_calls_batches_and_hosts() {
    let query = lake();
    assert_eq!(
        rows(&query, "select role, origin, line from messages").await,
        [json!({"role": "user", "origin": "human", "line": 2})]
    );
    assert_eq!(rows(&query, "select count(*) as n from tool_calls").await, [json!({"n": 4})]);
    assert_eq!(
        rows(&query, "select distinct json_get(input, 'command') as command from tool_calls").await,
        [json!({"command": "ls"})]
    );
    assert_eq!(
        rows(&query, "select k, host, sessions, segments, bytes from batches order by k limit 2").await,
        [
            json!({"k": 1, "host": "ha", "sessions": 2, "segments": 2, "bytes": 190}),
            json!({"k": 2, "host": "hb", "sessions": 2, "segments": 2, "bytes": 150}),
        ]
    );
    assert_eq!(
        rows(&query, "select host, last_at, last_k, sessions from hosts order by host").await,
        [
            json!({"host": "ha", "last_at": "2026-08-12T12:00:00Z", "last_k": 2, "sessions": 3}),
            json!({"host": "hb", "last_at": "2026-08-14T12:00:00Z", "last_k": 4, "sessions": 2}),
            json!({"host": "hc", "last_at": "2026-08-14T12:00:00Z", "last_k": 4, "sessions": 1}),
        ]
    );
}

#[tokio::test]
async fn every_kind_of_string_column_gives_the_same_answers() {
    for strings in [Strings::Views, Strings::Large] {
        let query = session(sources(strings), &Options { corrections_from: vec!["hc:/d".into()], ..options() });
        let query = query.expect("a session");
        let plain = ask(&Options { corrections_from: vec!["hc:/d".into()], ..options() });
        for table in ["sessions", "messages", "tool_calls", "corrections", "findings", "batches", "hosts", "events"] {
            let sql = format!("select * from {table} order by 1, 2, 3, 4, 5");
            assert_eq!(rows(&query, &sql).await, rows(&plain, &sql).await, "{table}");
        }
        for saved in lake_query::saved().iter().filter(|saved| saved.name != "sync-lag") {
            assert_eq!(rows(&query, saved.sql).await, rows(&plain, saved.sql).await, "{}", saved.name);
        }
    }
}

#[tokio::test]
async fn a_predicate_chooses_sessions() {
    let query = lake();
    let chosen = |predicate: &'static str| {
        let query = query.clone();
        async move { query.select_where(predicate).await }
    };
    let of = |ids: &[(&str, u32)]| ids.iter().map(|(id, branch)| ((*id).to_owned(), *branch)).collect::<Vec<_>>();
    assert_eq!(chosen("outcome = 'flipped' and not retracted").await.expect("sessions"), of(&[("s1", 0)]));
    assert_eq!(chosen("started_at >= '2026-08-12'").await.expect("sessions"), of(&[("s4", 0), ("s5", 0)]));
    assert_eq!(
        chosen("session_id in (select session_id from tool_calls where status = 'denied') -- why")
            .await
            .expect("sessions"),
        of(&[("s2", 0)])
    );
    for bad in [
        "",
        "true union select 'x', 1",
        "true) or (true",
        "true limit 1",
        "no_column",
        "true; drop table sessions",
        "1 +",
    ] {
        assert!(matches!(chosen(bad).await, Err(Error::Predicate { .. })), "{bad}");
    }
    assert!(empty().select_where("true").await.expect("none").is_empty());
}

#[tokio::test]
async fn what_asks_for_no_check_and_no_retraction_reads_segments_only() {
    let query = lake();
    let plan = |sql: &'static str| {
        let query = query.clone();
        async move {
            let rows = rows(&query, sql).await;
            rows.iter().map(|row| row["plan"].as_str().unwrap_or("").to_owned()).collect::<String>()
        }
    };
    let scans = |plan: &str, table: &str| plan.contains(&format!("TableScan: raw_{table}"));
    for sql in [
        "explain select count(*) from sessions",
        "explain select repo, count(*), sum(bytes) from sessions where harness = 'claude-code' group by repo",
        "explain select session_id, recorded_outcome from sessions order by started_at desc limit 5",
    ] {
        let plan = plan(sql).await;
        assert!(scans(&plan, "segments"), "{plan}");
        assert!(!scans(&plan, "events") && !scans(&plan, "checks"), "{sql}: {plan}");
    }
    let flips = plan("explain select count(*) from sessions where outcome = 'flipped'").await;
    assert!(scans(&flips, "checks") && !scans(&flips, "events"), "{flips}");
    let all = plan("explain select flags from sessions").await;
    assert!(scans(&all, "checks") && scans(&all, "events"), "{all}");
}

#[tokio::test]
async fn a_join_that_multiplies_rows_or_is_asked_for_stays() {
    let query = lake();
    for (right, n) in [
        ("(select session_id from segments group by grouping sets ((session_id), (session_id, branch)))", 14),
        ("(select session_id from segments)", 10),
        ("(select session_id, branch from segments group by session_id, branch)", 8),
        ("(select session_id from segments group by session_id)", 6),
        ("(select session_id, max(k) as k from segments group by session_id having max(k) > 3)", 6),
    ] {
        let sql = format!("select count(*) as n from sessions s left join {right} r on r.session_id = s.session_id");
        assert_eq!(rows(&query, &sql).await, [json!({"n": n})], "{right}");
    }
    let correlated = "select session_id, (select count(*) from checks c where c.result = s.outcome) as n \
                      from sessions s where branch = 0 order by 1";
    let counts: Vec<_> = rows(&query, correlated).await.iter().map(|row| row["n"].clone()).collect();
    assert_eq!(counts, [3, 2, 3, 0, 2]);
}
