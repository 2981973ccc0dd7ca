use lake_query::{Error, Options};

use crate::lake::{ask, empty, lake, options, rows};

#[tokio::test]
async fn what_changes_anything_is_refused_and_said_so() {
    let query = lake();
    for (sql, verb) in [
        ("delete from sessions", "DELETE"),
        ("DELETE FROM segments WHERE true", "DELETE"),
        ("update segments set k = 1", "UPDATE"),
        ("insert into events select * from events", "INSERT"),
        ("truncate table events", "TRUNCATE"),
        ("create table t as select 1", "CREATE"),
        ("create view t as select 1", "CREATE"),
        ("create external table t stored as csv location '/etc/passwd'", "CREATE EXTERNAL TABLE"),
        ("create schema x", "CREATE"),
        ("create function f(int) returns int return $1", "CREATE"),
        ("drop table sessions", "DROP"),
        ("alter table segments add column x int", "ALTER"),
        ("copy (select 1) to '/tmp/x.csv'", "COPY"),
        ("copy segments to '/tmp/x.parquet' stored as parquet", "COPY"),
        ("set datafusion.execution.batch_size = 1", "SET"),
        ("reset datafusion.execution.batch_size", "RESET"),
        ("begin", "BEGIN"),
        ("prepare p as select 1", "PREPARE"),
        ("execute p", "EXECUTE"),
        ("explain delete from segments", "DELETE"),
        ("explain analyze insert into events select * from events", "INSERT"),
        ("explain copy (select 1) to '/tmp/x.csv'", "COPY"),
        ("select 1 as a into t", "SELECT INTO"),
        ("with x as (select 1) insert into events select * from events", "INSERT"),
    ] {
        match query.run(sql).await.map(|_| ()) {
            Err(error @ Error::Refused { .. }) => {
                let text = error.to_string();
                assert!(text.contains("read-only") && text.contains(verb), "{sql}: {text}");
            }
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn files_are_out_of_reach() {
    let query = lake();
    for sql in [
        "select * from '/etc/passwd'",
        "select * from \"/etc/passwd\"",
        "select * from 'file:///etc/passwd'",
        "select * from read_csv('/etc/passwd')",
        "select * from read_parquet('/tmp/x.parquet')",
        "select * from parquet_metadata('/tmp/x.parquet')",
        "select * from raw_events",
        "select * from standing",
    ] {
        assert!(matches!(query.run(sql).await.map(|_| ()), Err(Error::Plan(_) | Error::Refused { .. })), "{sql}");
    }
}

#[tokio::test]
async fn questions_go_through() {
    let query = lake();
    for sql in [
        "select 1;",
        "with s as (select * from sessions) select count(*) from s",
        "(select 1) union all select 2",
        "values (1), (2)",
        "explain select * from sessions",
        "explain analyze select count(*) from sessions",
        "show tables",
        "show columns from sessions",
        "show datafusion.execution.batch_size",
        "describe sessions",
        "select * from information_schema.columns where table_name = 'sessions'",
        "select * from generate_series(1, 3)",
    ] {
        assert!(!rows(&query, sql).await.is_empty(), "{sql}");
    }
    let shown =
        rows(&query, "select table_name from information_schema.tables where table_schema = 'public' order by 1").await;
    let shown: Vec<&str> = shown.iter().filter_map(|row| row["table_name"].as_str()).collect();
    assert_eq!(
        shown,
        [
            "batches",
            "checks",
            "corrections",
            "events",
            "exports",
            "findings",
            "held_back",
            "hosts",
            "messages",
            "rejects",
            "segments",
            "sessions",
            "tool_calls",
            "verdicts"
        ]
    );
}

#[tokio::test]
async fn exactly_one_statement_is_taken() {
    for (sql, n) in
        [("", 0), ("  ; ", 0), ("-- nothing", 0), ("select 1; select 2", 2), ("select 1; drop table events", 2)]
    {
        assert!(matches!(lake().run(sql).await.map(|_| ()), Err(Error::Statements(m)) if m == n), "{sql}");
    }
    assert!(matches!(lake().run("selekt 1").await.map(|_| ()), Err(Error::Plan(_))));
    assert!(matches!(empty().run("select x from sessions").await.map(|_| ()), Err(Error::Plan(_))));
}

#[tokio::test]
async fn unsafe_sql_lifts_the_guard() {
    let query = ask(&Options { unsafe_sql: true, ..options() });
    query.collect("create table t as select session_id from sessions").await.expect("a table");
    assert_eq!(rows(&query, "select count(*) as n from t").await, [serde_json::json!({"n": 6})]);
    let path = std::env::temp_dir().join(format!("lake-query-{}.csv", std::process::id()));
    let path = path.to_str().expect("UTF-8");
    query.collect(&format!("copy (select * from t) to '{path}'")).await.expect("a copy");
    assert_eq!(rows(&query, &format!("select count(*) as n from '{path}'")).await, [serde_json::json!({"n": 6})]);
    std::fs::remove_file(path).expect("the copy");
}

#[tokio::test]
async fn a_memory_limit_leaves_answers_as_they_are() {
    let query = ask(&Options { memory_limit: Some(64 << 20), threads: Some(1), ..options() });
    assert_eq!(rows(&query, "select count(*) as n from sessions where retracted").await, [serde_json::json!({"n": 1})]);
}
