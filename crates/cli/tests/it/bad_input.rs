//! What is in the way, and what was not meant so.

use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use crate::kit::{Kit, demo_dir, trust_file};
use crate::rows::{rows, same};

fn sync(kit: &Kit, lake: &str, dir: &str, args: &[&str]) -> crate::kit::Ran {
    kit.run(&[&["sync", "--lake", lake, "--data-dir", dir, "--source", "demo", "--idle", "0s"], args].concat())
}

#[test]
fn a_file_where_a_folder_should_be() {
    let kit = Kit::new();
    kit.write("file", "no folder");
    kit.run(&["status", "--lake", "file"]).exits(1).says(&["file is no folder", "hint: "]);
    sync(&kit, "file", &demo_dir(), &[]).exits(1).says(&["file is no folder", "hint: "]);
    sync(&kit, "file/lake", &demo_dir(), &[]).exits(1).says(&["file is no folder"]);
    sync(&kit, "lake", "file", &[]).exits(1).says(&["no data dir: ", "file is no folder"]);
    assert!(!kit.path("lake").exists());
    let kit = Kit::with_demo();
    kit.write("file", "mine");
    kit.run(&["export", "--out", "file"]).exits(1).says(&["file is there already"]);
    kit.run(&["export", "--out", "file/out"]).exits(1).says(&["file", "error: "]);
    assert_eq!(std::fs::read_to_string(kit.path("file")).expect("it is still there"), "mine");
}

#[test]
fn a_lake_of_a_later_version_is_left_alone() {
    let kit = Kit::with_demo();
    kit.write("lake/lake.json", r#"{"id":"x","version":2,"more":true}"#);
    let before = crate::rows::files(&kit.path("lake"));
    let dir = demo_dir();
    for args in [&["status"][..], &["sync", "--data-dir", &dir], &["check"], &["export", "--out", "out"], &["rebuild"]]
    {
        kit.run(args)
            .exits(1)
            .says(&["lake.json is of version 2, this binary knows version 1", "hint: take a trace-lake"]);
    }
    assert!(before == crate::rows::files(&kit.path("lake")));
}

#[test]
fn a_trust_file_is_refused_with_its_name_and_place() {
    let kit = Kit::with_demo();
    let good = std::fs::read_to_string(trust_file()).expect("a trust file");
    let key = good.lines().find(|line| line.starts_with("MC")).expect("a key");
    let cases = [
        ("trust-1.toml", "version = 1\n[[keys]]\nid = [\n".to_owned(), &["trust-1.toml, line 3"][..]),
        ("trust-2.toml", good.replace(key, "AAAA"), &["trust-2.toml", "key 1"]),
        // The point of order 1: it would verify what anybody signed.
        (
            "trust-3.toml",
            good.replace(key, &format!("MCowBQYDK2VwAyEA{}=", "AQ".to_owned() + &"A".repeat(41))),
            &["trust-3.toml", "key 1"],
        ),
        ("trust-4.toml", good.replace("version = 1", "version = 9"), &["trust-4.toml", "version"]),
        ("trust-5.toml", good.clone() + &good.replace("version = 1\n", ""), &["trust-5.toml", "key 3"]),
        ("trust-6.toml", String::new(), &["trust-6.toml", "version"]),
    ];
    for (name, text, parts) in cases {
        kit.write(name, &text);
        for command in [&["check"][..], &["export", "--out", "out"], &["status"], &["show", "demo-01"]] {
            kit.run(&[command, &["--trust", name]].concat()).exits(2).says(parts).says(&["hint: "]);
        }
    }
    kit.run(&["check", "--trust", "."]).exits(2).says(&["trust file", "hint: "]);
    assert!(!kit.path("out").exists());
    // Nothing was judged meanwhile.
    let trusts = kit.run(&["sql", "select count(distinct digest) as n from checks where kind = 'signatures'"]).exits(0);
    trusts.prints(&["n\n1\n"]);
}

#[test]
fn a_data_dir_whose_name_is_no_text_is_told_where_a_pattern_passes_over_it() {
    use std::os::unix::ffi::OsStrExt;
    let kit = Kit::new();
    kit.data_dir("all/one");
    let odd = std::ffi::OsStr::from_bytes(b"two-\xff");
    std::fs::create_dir_all(kit.path("all").join(odd).join("traces")).expect("folders");
    std::fs::create_dir_all(kit.path("all").join(std::ffi::OsStr::from_bytes(b"no-\xfe"))).expect("a folder");
    let ran = sync(&kit, "lake", "all/*", &[]).exits(3).prints(&["found 11"]);
    ran.says(&["missing: ", "all/two-", "is no UTF-8, and no pattern matches it"]);
    std::fs::remove_dir_all(kit.path("all/one")).expect("removed");
    sync(&kit, "lake", "all/*", &[]).exits(1).says(&["is no UTF-8"]);
}

#[test]
fn links_that_lead_round_or_nowhere_block_no_trace() {
    let kit = Kit::new();
    let dir = kit.data_dir("data");
    std::fs::remove_file(dir.join("traces/demo-11-malformed.jsonl")).expect("it was there");
    symlink("../traces", dir.join("traces/round")).expect("a link");
    symlink("self", dir.join("traces/self")).expect("a link");
    symlink("nowhere", dir.join("traces/gone.jsonl")).expect("a link");
    let ran = sync(&kit, "lake", "data", &[]).exits(3).prints(&["found 10, new 10"]);
    ran.says(&["not read: ", "traces/round", "traces/self", "traces/gone.jsonl", "hint: "]);
    for link in ["round", "self", "gone.jsonl"] {
        std::fs::remove_file(dir.join("traces").join(link)).expect("a link");
    }
    // A link to a data dir elsewhere is a data dir.
    symlink("data", kit.path("linked")).expect("a link");
    sync(&kit, "lake", "linked", &[]).exits(0).prints(&["new 0"]);
}

#[test]
fn links_that_lead_out_of_a_data_dir_bring_nothing_into_the_lake() {
    let kit = Kit::new();
    let dir = kit.data_dir("data");
    std::fs::remove_file(dir.join("traces/demo-11-malformed.jsonl")).expect("it was there");
    kit.write("private/key.jsonl", "-----BEGIN PRIVATE KEY-----\nnobody may see this\n");
    symlink(kit.path("private/key.jsonl"), dir.join("traces/key.jsonl")).expect("a link");
    symlink("../../private", dir.join("traces/more")).expect("a link");
    // What stays within is read, by whatever way.
    std::fs::create_dir(dir.join("kept")).expect("a folder");
    std::fs::rename(dir.join("traces/demo-01-flipped.jsonl"), dir.join("kept/demo-01-flipped.jsonl")).expect("moved");
    symlink("../kept/demo-01-flipped.jsonl", dir.join("traces/linked.jsonl")).expect("a link");
    let ran = sync(&kit, "lake", "data", &[]).exits(3).prints(&["found 10, new 10", "rejected 0"]);
    ran.says(&["traces/key.jsonl: is a link that leads out of the data dir", "traces/more: is a link that leads out"]);
    let sql = "select count(*) as n from sessions union all select count(*) from rejects";
    kit.run(&["sql", "--lake", "lake", sql]).exits(0).prints(&["10", "0"]);
    // The folder of the traces itself, too; the data dir may be anywhere.
    std::fs::create_dir(kit.path("other")).expect("a folder");
    symlink("../private", kit.path("other/traces")).expect("a link");
    sync(&kit, "lake", "other", &[]).exits(3).prints(&["found 0"]).says(&["other/traces: is a link that leads out"]);
    std::fs::remove_file(dir.join("traces/key.jsonl")).expect("a link");
    std::fs::remove_file(dir.join("traces/more")).expect("a link");
    symlink("data", kit.path("linked")).expect("a link");
    sync(&kit, "lake", "linked", &[]).exits(0).prints(&["new 0"]);
}

#[test]
fn one_within_the_other_neither_feeds_on_itself() {
    let kit = Kit::new();
    let expected = {
        sync(&kit, "plain", &demo_dir(), &[]).exits(3);
        rows(&kit.path("plain"))
    };
    kit.data_dir("lake/data");
    kit.data_dir("data");
    for (lake, dir) in [("lake", "lake/data"), ("data/traces/lake", "data"), ("data/lake", "data")] {
        sync(&kit, lake, dir, &[]).exits(3).prints(&["found 11, new 11"]);
        sync(&kit, lake, dir, &[]).exits(0).prints(&["found 11, new 0"]);
        same(&format!("{dir} into {lake}"), &expected, &rows(&kit.path(lake)));
    }
}

#[test]
fn names_that_are_no_utf_8_are_taken_and_told() {
    let kit = Kit::new();
    let dir = kit.data_dir("data");
    let odd = std::ffi::OsString::from_vec(b"caf\xe9.jsonl".to_vec());
    std::fs::rename(dir.join("traces/demo-11-malformed.jsonl"), dir.join("traces").join(&odd)).expect("a new name");
    let json = sync(&kit, "lake", "data", &["--json"]).exits(3).json();
    assert_eq!(
        (json["found"].as_u64(), json["new"].as_u64(), json["rejected"].as_u64()),
        (Some(11), Some(11), Some(1))
    );
    assert!(json["bad_lines"][0]["path"].as_str().is_some_and(|path| path.ends_with("caf\u{fffd}.jsonl")), "{json}");
    sync(&kit, "lake", "data", &[]).exits(0).prints(&["new 0"]);
    sync(&kit, "plain", &demo_dir(), &[]).exits(3);
    same("odd names", &rows(&kit.path("plain")), &rows(&kit.path("lake")));
}

#[test]
fn a_lake_that_may_only_be_read_is_read_and_nothing_else() {
    let kit = Kit::with_demo();
    let before = crate::rows::files(&kit.path("lake"));
    kit.data_dir("more");
    std::fs::write(kit.path("more/traces/new.jsonl"), NEW).expect("a trace");
    // Another user, who may look and not write; where this user is not root, a mode that says so.
    kit.sh("chmod -R a+rX,u+w . && chmod a+rwx . && if [ $(id -u) != 0 ]; then chmod -R a-w lake; fi").exits(0);
    let reader = "if [ $(id -u) = 0 ]; then P='setpriv --reuid 65534 --regid 65534 --clear-groups'; fi; export HOME=/nonexistent; $P $T";
    for command in [
        "status",
        "sql 'select 1'",
        "show demo-01",
        "check",
        "check --dry-run",
        "derive",
        "sync --data-dir more --idle 0s --dry-run",
    ] {
        let ran = kit.sh(&format!("{reader} {command}"));
        assert!(matches!(ran.code, 0 | 3), "{command}: {}\n{}", ran.code, ran.err);
    }
    for command in
        ["sync --data-dir more --idle 0s", "check --trust /dev/stdin <trust.toml", "rebuild", "export --out out"]
    {
        std::fs::copy(trust_file(), kit.path("trust.toml")).expect("a trust file");
        let text = std::fs::read_to_string(kit.path("trust.toml")).expect("a trust file");
        kit.write("trust.toml", &(text + "# another digest\n"));
        kit.sh("chmod a+r trust.toml").exits(0);
        kit.sh(&format!("{reader} {command}")).exits(1).says(&["error: ", "ermission denied", "hint: "]);
    }
    assert!(before == crate::rows::files(&kit.path("lake")));
    kit.sh("chmod -R u+w lake").exits(0);
}

const NEW: &str = "{\"type\":\"note\",\"session_id\":\"new\",\"ts\":\"2026-01-01T00:00:00Z\"}\n";

#[test]
fn ctrl_c_stops_a_sync_and_a_rerun_carries_on() {
    let dirs = Kit::new();
    let mut line = String::new();
    for n in 0..12 {
        let dir = dirs.data_dir(&format!("data/{n:02}"));
        for (name, bytes) in crate::rows::files(&dir.join("traces")) {
            let text = String::from_utf8_lossy(&bytes).replace("\"session_id\":\"", &format!("\"session_id\":\"n{n}-"));
            std::fs::write(dir.join("traces").join(name), text).expect("a trace");
        }
    }
    let pattern = dirs.text("data/*");
    let undisturbed = Kit::new();
    let start = Instant::now();
    sync(&undisturbed, "lake", &pattern, &[]).exits(3);
    let took = start.elapsed();
    let expected = rows(&undisturbed.path("lake"));
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let kit = Kit::new();
        let mut command =
            kit.command(&["sync", "--lake", "lake", "--data-dir", &pattern, "--source", "demo", "--idle", "0s"]);
        let mut child = command.spawn().expect("it runs");
        let mut said = BufReader::new(child.stderr.take().expect("stderr"));
        line.clear();
        said.read_line(&mut line).expect("a line");
        assert!(line.contains("syncing"), "{line}");
        std::thread::sleep(took.mul_f64(0.3).max(Duration::from_millis(50)));
        kit.sh(&format!("kill -{signal} {}", child.id())).exits(0);
        assert_eq!(child.wait().expect("it ends").code(), Some(code));
        let rest: Vec<String> = said.lines().map_while(Result::ok).collect();
        assert!(
            rest.iter().any(|l| l.contains("stopped")) && rest.iter().any(|l| l.contains("hint: run it again")),
            "{rest:?}"
        );
        let found = kit.run(&["sql", "--lake", "lake", "select count(*) as n from batches"]).exits(0).out;
        assert_ne!(found, "n\n12\n", "it was stopped before the end");
        let ran = sync(&kit, "lake", &pattern, &[]);
        assert!(matches!(ran.code, 0 | 3), "{}", ran.err);
        same(signal, &expected, &rows(&kit.path("lake")));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let kit = Kit::with_demo();
    for command in [
        "sql 'select * from events'",
        "status",
        "show demo-02 --full",
        "config",
        "--help",
        "export --help",
        "man",
        "completions bash",
        "sql --list",
    ] {
        let ran = kit.sh(&format!("{{ $T {command}; echo $? >&2; }} | true"));
        assert_eq!(ran.err.trim(), "0", "{command}");
    }
    // More than a pipe holds, in each form, of which the reader takes one line.
    for format in ["csv", "json", "table"] {
        let sql = "select a.ext, b.text from events a cross join events b";
        let ran = kit.sh(&format!("{{ $T sql --format {format} '{sql}'; echo $? >&2; }} | head -n 1"));
        assert_eq!(ran.err.trim(), "0", "{format}");
    }
}
