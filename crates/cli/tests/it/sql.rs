//! `sql`: formats, saved queries, the guard.

use std::io::Write;
use std::process::Stdio;

use crate::kit::Kit;

#[test]
fn what_changes_anything_is_refused() {
    let kit = Kit::with_demo();
    for sql in [
        "delete from sessions",
        "insert into sessions select * from sessions",
        "create table x as select 1",
        "drop table sessions",
        "copy sessions to 'x.csv'",
        "select * from sessions; select 1",
        "set datafusion.execution.batch_size = 1",
    ] {
        let ran = kit.run(&["sql", sql]).exits(1);
        assert_eq!(ran.out, "", "{sql}");
        ran.says(&["error: ", "hint: "]);
    }
    kit.write("secret.csv", "a\n1\n");
    kit.run(&["sql", "select * from 'secret.csv'"]).exits(1);
    kit.run(&["sql", "select * from 'secret.csv'", "--unsafe"]).exits(0).prints(&["a\n1"]);
    kit.run(&["sql", "select count(*) as n from sessions"]).exits(0).prints(&["n\n11"]);
}

#[test]
fn each_format_is_written() {
    let kit = Kit::with_demo();
    let sql = "select session_id, verdicts, flags from sessions where session_id like 'demo-1%' order by 1 limit 2";
    kit.run(&["sql", sql]).exits(0).prints(&["session_id,verdicts,flags\ndemo-10-secret,"]);
    kit.run(&["sql", sql, "--format", "table"]).exits(0).prints(&["session_id", "demo-10-secret"]);
    let lines = kit.run(&["sql", sql, "--json"]).exits(0).out;
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["flags"], serde_json::json!(["secret"]));
    kit.run(&["sql", sql, "--format", "parquet"]).exits(2).says(&["-o"]);
    kit.run(&["sql", sql, "--format", "parquet", "-o", "x.parquet"]).exits(0);
    assert_eq!(&std::fs::read(kit.path("x.parquet")).expect("a file")[..4], b"PAR1");
    kit.run(&["sql", "select nothing", "-o", "y.csv"]).exits(1);
    assert!(!kit.path("y.csv").exists());
    assert_eq!(
        std::fs::read_dir(kit.folder.path())
            .expect("a folder")
            .flatten()
            .filter(|e| e.file_name().to_string_lossy().starts_with(".trace"))
            .count(),
        0
    );
}

#[test]
fn every_saved_query_runs() {
    let kit = Kit::with_demo();
    let list = kit.run(&["sql", "--list", "--json"]).exits(0).json();
    let queries = list["queries"].as_array().expect("queries");
    assert!(queries.len() >= 8);
    for query in queries {
        let name = query["name"].as_str().expect("a name");
        kit.run(&["sql", "--query", name]).exits(0);
    }
    kit.run(&["sql", "--query", "none"]).exits(2).says(&["no saved query `none`", "flip-rate"]);
}

#[test]
fn in_a_pipe_the_statement_is_read_from_stdin() {
    let kit = Kit::with_demo();
    let mut command = kit.command(&["sql"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
    child.stdin.take().expect("stdin").write_all(b"select 40 + 2 as n\n").expect("a statement");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "n\n42\n");
    kit.sh("$T sql 'select * from events' | head -1").exits(0).prints(&["org,repo"]);
}

#[test]
fn an_older_version_can_be_read() {
    let kit = Kit::with_demo();
    kit.run(&["sql", "select count(*) as n from sessions", "--at", "0"]).exits(0).prints(&["n\n0"]);
    kit.run(&["sql", "select count(*) as n from sessions", "--at", "1"]).exits(0).prints(&["n\n11"]);
    kit.run(&["sql", "select 1", "--at", "9"]).exits(1).says(&["stand at version 1, not at 9"]);
}
