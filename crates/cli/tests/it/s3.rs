//! A lake in an S3 bucket, with endpoint and credentials given as people give them. The server is one that
//! `TRACE_LAKE_TEST_S3` names: an emulator that lets anybody in.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use lake_store::StoreOptions;

use crate::asked::asked;
use crate::kit::{Kit, Ran, demo_dir, trust_file};
use crate::rows::{files, rows, rows_at, same};

#[track_caller]
fn endpoint() -> Option<String> {
    asked("TRACE_LAKE_TEST_S3", "S3 endpoint")
}

/// A new bucket with this name and a random end.
fn bucket(endpoint: &str, name: &str) -> String {
    let name = format!("{name}-{}-{}", std::process::id(), Instant::now().elapsed().subsec_nanos());
    let host = endpoint.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).expect("the S3 server listens");
    let request = format!("PUT /{name} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    name
}

fn with_env(kit: Kit, endpoint: &str) -> Kit {
    kit.var("AWS_ACCESS_KEY_ID", "key")
        .var("AWS_SECRET_ACCESS_KEY", "hush")
        .var("AWS_REGION", "us-east-1")
        .var("AWS_ENDPOINT_URL", endpoint)
}

fn options(endpoint: &str) -> StoreOptions {
    let all = [
        ("aws_access_key_id", "key"),
        ("aws_secret_access_key", "hush"),
        ("aws_region", "us-east-1"),
        ("aws_endpoint", endpoint),
        ("allow_http", "true"),
    ];
    all.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The whole way, as into a folder; the lake is named by environment or configuration.
fn goes_the_whole_way(kit: &Kit, lake: &str, endpoint: &str) {
    let folder = Kit::with_demo();
    let dir = demo_dir();
    let sync = ["sync", "--data-dir", &dir, "--source", "demo", "--idle", "0s"];
    kit.run(&[&sync[..], &["--dry-run"]].concat()).exits(3).prints(&["would go into the lake"]);
    kit.run(&["status"]).exits(1).says(&["no lake at"]);
    kit.run(&sync).exits(3).prints(&["found 11, new 11"]);
    kit.run(&sync).exits(0).prints(&["new 0"]);
    std::fs::remove_dir_all(kit.path("home/.local")).expect("a state folder");
    kit.run(&sync).exits(0).prints(&["new 0"]);
    kit.run(&["check", "--trust", &trust_file()]).exits(0).prints(&["flipped 7, no_flip 3"]);
    kit.run(&["check", "--trust", &trust_file()]).exits(0).prints(&["0 rows written"]);
    let expected = rows(&folder.path("lake"));
    same("a bucket", &expected, &rows_at(lake, &options(endpoint)));
    for kit in [kit, &folder] {
        let ran = kit.run(&["export", "--out", "out", "--require-signature", "--trust", &trust_file()]).exits(0);
        ran.prints(&["sft: 4 rows", "preference: 2 rows"]);
    }
    let sets = |kit: &Kit| {
        let mut sets = files(&kit.path("out"));
        // It names the record, and that holds when it was.
        sets.remove("manifest.json");
        sets
    };
    assert!(sets(kit) == sets(&folder));
    for sql in [
        "select session_id, outcome, flags from sessions order by 1",
        "select count(*) as n, sum(length(output)) as l from events",
        "select \"set\", row, session_id from exports order by 1, 2",
        "select session_id, kind, result from checks order by 1, 2",
    ] {
        assert_eq!(kit.run(&["sql", sql]).exits(0).out, folder.run(&["sql", sql]).exits(0).out, "{sql}");
    }
    let status = kit.run(&["status", "--json", "--trust", &trust_file()]).exits(0).json();
    assert_eq!(
        (status["k"].as_u64(), status["sessions"].as_u64(), status["verified"].as_u64()),
        (Some(1), Some(11), Some(9))
    );
    kit.run(&["show", "demo-01"]).exits(0).prints(&["demo-01-flipped"]);
    kit.run(&["doctor"]).exits(0).prints(&["ok   create-if-absent", "ok   lake"]);
    kit.run(&["rebuild"]).exits(0).prints(&["generation 2 stands at version 1"]);
    kit.run(&["compact"]).exits(0);
    same("a bucket after rebuild and compact", &expected, &rows_at(lake, &options(endpoint)));
}

#[test]
fn by_environment_variables() {
    let Some(endpoint) = endpoint() else { return };
    let lake = format!("s3://{}/some/lake", bucket(&endpoint, "env"));
    let kit = with_env(Kit::new(), &endpoint).var("AWS_ALLOW_HTTP", "true").var("TRACE_LAKE_URL", &lake);
    goes_the_whole_way(&kit, &lake, &endpoint);
}

#[test]
fn by_the_configuration_file() {
    let Some(endpoint) = endpoint() else { return };
    let lake = format!("s3://{}", bucket(&endpoint, "file"));
    let kit = Kit::new();
    kit.write(
        "trace-lake.toml",
        &format!(
            "lake = '{lake}'\n[store]\naws_access_key_id = 'key'\naws_secret_access_key = 'hush'\n\
             aws_region = 'us-east-1'\naws_endpoint = '{endpoint}'\n"
        ),
    );
    goes_the_whole_way(&kit, &lake, &endpoint);
}

#[test]
fn by_an_aws_profile() {
    let Some(endpoint) = endpoint() else { return };
    let lake = format!("s3://{}/lake", bucket(&endpoint, "profile"));
    let kit = Kit::new().var("AWS_PROFILE", "work").var("TRACE_LAKE_URL", &lake);
    kit.write("home/.aws/credentials", "[work]\naws_access_key_id = key\naws_secret_access_key = hush\n");
    kit.write("home/.aws/config", &format!("[profile work]\nregion = us-east-1\nendpoint_url = {endpoint}\n"));
    goes_the_whole_way(&kit, &lake, &endpoint);
}

#[test]
fn two_syncs_at_once_into_a_bucket_lose_and_double_nothing() {
    let Some(endpoint) = endpoint() else { return };
    let bucket = bucket(&endpoint, "once");
    let expected = rows(&Kit::with_demo().path("lake"));
    for round in 0..3 {
        let lake = format!("s3://{bucket}/{round}");
        let kit = with_env(Kit::new(), &endpoint).var("TRACE_LAKE_URL", &lake);
        let start = |state: &str| {
            let mut command = kit.command(&["sync", "--data-dir", &demo_dir(), "--source", "demo", "--idle", "0s"]);
            command.env("XDG_STATE_HOME", kit.path(state)).spawn().expect("the binary runs")
        };
        for child in [start("a"), start("b")] {
            let output = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 3)), "{:?}: {said}", output.status);
        }
        kit.run(&["derive"]).exits(0);
        same(&format!("round {round}"), &expected, &rows_at(&lake, &options(&endpoint)));
        kit.run(&["check", "--lake", &lake]).exits(0);
    }
}

#[test]
fn checks_of_a_bucket_are_those_of_a_folder() {
    let Some(endpoint) = endpoint() else { return };
    // The findings carry fingerprints under a key of the lake: all but those are the same.
    let lake = format!("s3://{}/lake", bucket(&endpoint, "checks"));
    let kit = with_env(Kit::new(), &endpoint);
    kit.run(&["sync", "--lake", &lake, "--data-dir", &demo_dir(), "--idle", "0s"]).exits(3);
    kit.run(&["check", "--lake", &lake, "--trust", &trust_file()]).exits(0);
    let sql = "select session_id, branch, kind, rule, line, field from findings order by 1, 2, 3, 4, 5";
    let found = kit.run(&["sql", "--lake", &lake, sql]).exits(0).out;
    assert_eq!(found, Kit::with_demo().run(&["sql", sql]).exits(0).out);
    assert!(found.contains("github-token"), "{found}");
}

#[test]
fn a_missing_bucket_is_named() {
    let Some(endpoint) = endpoint() else { return };
    let kit = with_env(Kit::new(), &endpoint);
    for args in [
        &["sync", "--data-dir", &demo_dir()][..],
        &["status"],
        &["check"],
        &["export", "--out", "out"],
        &["sql", "select 1"],
    ] {
        let ran = kit.run(&[args, &["--lake", "s3://nobody-made-this/lake"]].concat()).exits(1);
        ran.says(&["s3://nobody-made-this/lake does not exist", "make the folder or bucket first"]);
    }
    assert!(!kit.path("out").exists());
}

/// Fails soon, with words and a hint, and names no secret.
#[track_caller]
fn fails_soon(kit: &Kit, parts: &[&str]) -> Ran {
    let start = Instant::now();
    let ran = kit.run(&["status", "--lake", "s3://bucket/lake"]).exits(1).says(parts).says(&["hint: "]);
    assert!(start.elapsed() < Duration::from_secs(60), "it took {:?}", start.elapsed());
    assert!(!ran.err.contains("hush"), "{}", ran.err);
    ran
}

#[test]
fn an_endpoint_where_nobody_listens_is_told_soon() {
    // Bound and let go: nobody listens there now.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
    let kit = with_env(Kit::new(), &format!("http://127.0.0.1:{port}"));
    fails_soon(&kit, &["opening the lake s3://bucket/lake", "Connection refused", "AWS_ENDPOINT_URL"]);
}

#[test]
fn a_store_that_never_answers_is_told_soon() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", silent.local_addr().expect("its address"));
    std::thread::scope(|scope| {
        let by_key = with_env(Kit::new(), &address);
        scope.spawn(move || fails_soon(&by_key, &["did not answer in 30 s", "AWS_ENDPOINT_URL"]));
        // Without credentials it is this machine's role that is asked for.
        let by_role = Kit::new().var("AWS_METADATA_ENDPOINT", &address).var("AWS_ENDPOINT_URL", &address);
        scope.spawn(move || fails_soon(&by_role.var("AWS_REGION", "us-east-1"), &["no credentials are named", "role"]));
    });
}

/// Answers everything so.
fn answers(with: &'static str) -> String {
    let server = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = server.local_addr().expect("its address");
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            let mut request = [0; 8192];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(with.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn credentials_that_are_refused_are_told_as_such() {
    let address = answers(
        "HTTP/1.1 403 Forbidden\r\nContent-Length: 107\r\nConnection: close\r\n\r\n\
         <Error><Code>InvalidAccessKeyId</Code><Message>The key you provided does not exist.</Message></Error>      ",
    );
    fails_soon(&with_env(Kit::new(), &address), &["InvalidAccessKeyId", "check the credentials", "AWS_PROFILE"]);
    let none = Kit::new().var("AWS_METADATA_ENDPOINT", &address).var("AWS_ENDPOINT_URL", &address);
    fails_soon(&none.var("AWS_REGION", "us-east-1"), &["check the credentials", "AWS_ACCESS_KEY_ID"]);
}

#[test]
fn an_endpoint_that_is_no_s3_is_told_soon() {
    let address = answers("HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<html>hi</html>");
    let ran = with_env(Kit::new(), &address).run(&["status", "--lake", "s3://bucket/lake"]).exits(1);
    ran.says(&["lake.json"]);
}
