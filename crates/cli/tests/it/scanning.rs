//! `scan`: any text, no lake.

use std::io::Write;
use std::process::{Command, Stdio};

use lake_testkit::made_up_github_token;
use serde_json::Value;

use crate::kit::Kit;

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The binary with something on its standard input.
fn piped(kit: &Kit, args: &[&str], input: &[u8]) -> (i32, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trace-lake"))
        .args(args)
        .env_clear()
        .env("HOME", kit.path("home"))
        .current_dir(kit.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary");
    child.stdin.take().expect("its input").write_all(input).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_text_and_a_trace_are_scanned_without_a_lake() {
    let kit = Kit::new();
    let token = made_up_github_token();
    kit.write("a.txt", &format!("first\nexport T={token}\n"));
    kit.write(
        "b.jsonl",
        &format!(
            "{{\"type\":\"message\",\"session_id\":\"s\",\"event_id\":\"e\",\"ts\":\"2025-06-02T09:00:00Z\",\"text\":\"it is {token}\"}}\n\
             {{\"config\":{{\"password\":\"k8!Zt5Qw9xLm\"}}}}\nno JSON: {token}\n"
        ),
    );
    let ran = kit.run(&["scan", "a.txt", "b.jsonl"]).exits(0);
    assert!(!ran.out.contains(&token) && !ran.out.contains("k8!Zt5Qw9xLm"), "{}", ran.out);
    let found = lines(&ran.out);
    let places: Vec<(&str, u64, &str, u64, u64)> = found
        .iter()
        .map(|f| {
            let number = |name: &str| f[name].as_u64().expect("a number");
            let text = |name: &str| f[name].as_str().expect("a text");
            (text("file"), number("line"), text("field"), number("start"), number("end"))
        })
        .collect();
    let length = token.len() as u64;
    assert_eq!(places[0], ("a.txt", 2, "", 15, 15 + length));
    assert_eq!(places[1], ("b.jsonl", 1, "/text", 6, 6 + length));
    assert_eq!((places[2].0, places[2].1), ("b.jsonl", 2));
    assert_eq!((places[3].0, places[3].1, places[3].2), ("b.jsonl", 3, ""));
    assert_eq!(places.len(), 4);
    assert_eq!((found[1]["session_id"].as_str(), found[1]["event_id"].as_str()), (Some("s"), Some("e")));
    assert_eq!(found[0]["rule"], "github-token");
    assert_eq!(found[0]["severity"], "critical");
    assert!(found[0]["rules"].as_str().is_some_and(|rules| rules.starts_with("sha256:")));
    assert_eq!(found[0]["fingerprint"], found[1]["fingerprint"]);
    kit.run(&["scan", "--strict", "a.txt"]).exits(4);
    kit.run(&["scan", "--strict", "home/../Cargo.toml"]).exits(1);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_scanned() {
    let kit = Kit::new();
    kit.write("a.txt", &format!("{}\n", made_up_github_token()));
    let ran = kit.run(&["scan", "--strict", "none.txt", "a.txt"]).exits(3).says(&["none.txt"]);
    assert_eq!(lines(&ran.out).len(), 1);
    kit.run(&["scan", "none.txt"]).exits(1).says(&["none.txt", "could not be read"]);
    kit.run(&["scan", "home"]).exits(1).says(&["folder"]);
    kit.run(&["scan", "-", "-"]).exits(2).says(&["twice"]);
    let error = kit.run(&["--json", "scan", "none.txt"]).exits(1).json();
    assert_eq!(error["error"]["exit_code"], 1);
}

#[test]
fn bytes_of_any_kind_on_the_standard_input() {
    let kit = Kit::new();
    let token = made_up_github_token();
    let mut binary: Vec<u8> = (0..=255u8).cycle().take(70_000).collect();
    binary.push(b'\n');
    binary.extend_from_slice(token.as_bytes());
    binary.extend((0..=255u8).cycle().take(5000));
    let wide: Vec<u8> = format!("key: {token}\r\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    // Longer than the pieces that a text is looked at in, without an end of a line.
    let long = format!("{} {token} {}", "=".repeat(3 << 20), "ab ".repeat(1 << 20));
    for (input, start) in [(binary, None), (wide, Some(5)), (long.into_bytes(), Some((3 << 20) + 1))] {
        let (code, out) = piped(&kit, &["scan", "-"], &input);
        let found = lines(&out);
        assert_eq!((code, found.len()), (0, 1), "{out}");
        assert_eq!(found[0]["file"], "-");
        if let Some(start) = start {
            assert_eq!(found[0]["start"], start);
        }
    }
    assert_eq!(piped(&kit, &["scan"], b"nothing"), (0, String::new()));
    assert_eq!(piped(&kit, &["scan", "--strict"], token.as_bytes()).0, 4);
}

#[test]
fn a_value_is_a_secret_in_the_whole_of_a_file() {
    let kit = Kit::new();
    kit.write("a.txt", "before: Zt5Qw9xLmK2v7\nDB_PASSWORD=Zt5Qw9xLmK2v7\n");
    let found = lines(&kit.run(&["scan", "a.txt"]).exits(0).out);
    assert_eq!(found.iter().map(|f| f["line"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
}

#[test]
fn the_allow_list_lets_pass() {
    let kit = Kit::new();
    let token = made_up_github_token();
    kit.write("a.txt", &token);
    let expired = format!("[[allow]]\nliteral='{token}'\nreason='opens nothing'\nexpires=2001-01-01\n");
    kit.write("expired.toml", &expired);
    kit.write("allow.toml", &expired.replace("2001", "2999"));
    kit.run(&["scan", "--strict", "--allow", "expired.toml", "a.txt"]).exits(4);
    let ran = kit.run(&["scan", "--strict", "--allow", "allow.toml", "a.txt"]).exits(0).says(&["let pass 1"]);
    assert_eq!(ran.out, "");
    kit.run(&["scan", "--allow", "none.toml", "a.txt"]).exits(2).says(&["none.toml"]);
}

#[test]
fn sarif_is_one_document() {
    let kit = Kit::new();
    let token = made_up_github_token();
    kit.write("a b.txt", &format!("x\n{token}\n"));
    let ran = kit.run(&["scan", "--sarif", "--strict", "a b.txt"]).exits(4);
    assert!(!ran.out.contains(&token));
    let document = ran.json();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["rules"][0]["id"], "github-token");
    let result = &run["results"][0];
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b.txt");
    assert_eq!((&place["region"]["startLine"], &place["region"]["byteOffset"]), (&2.into(), &2.into()));
    assert_eq!((&result["ruleId"], &result["level"]), (&"github-token".into(), &"error".into()));
    kit.write("clean.txt", "nothing");
    let clean = kit.run(&["scan", "--sarif", "--strict", "clean.txt"]).exits(0).json();
    assert_eq!(clean["runs"][0]["results"], Value::Array(Vec::new()));
}
