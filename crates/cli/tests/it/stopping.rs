//! Locks and signals.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::kit::{Kit, demo_dir};

#[test]
fn the_same_command_on_the_same_lake_and_data_dir_runs_once() {
    let kit = Kit::new();
    let other = kit.data_dir("other").display().to_string();
    let sync = |dir: &str| kit.run(&["sync", "--lake", "lake", "--data-dir", dir, "--idle", "0s"]);
    sync(&demo_dir()).exits(3);
    let state = kit.path("home/.local/state/trace-lake");
    let locks = || -> Vec<_> {
        let all = std::fs::read_dir(&state).expect("the state folder").flatten().map(|e| e.path());
        all.filter(|path| path.extension().is_some_and(|e| e == "lock")).collect()
    };
    let [path] = locks().try_into().expect("one lock");
    let held = File::open(&path).expect("the lock's file");
    held.try_lock().expect("nobody holds it");
    sync(&demo_dir()).exits(11).says(&["is running here already", "hint: "]);
    // However its address is written, it is the same lake.
    let url = format!("file://{}", kit.text("lake"));
    for lake in ["./lake", "lake/", &url] {
        kit.run(&["sync", "--lake", lake, "--data-dir", &demo_dir(), "--idle", "0s"]).exits(11);
    }
    let json = kit.run(&["sync", "--lake", "lake", "--data-dir", &demo_dir(), "--json"]).exits(11).json();
    assert_eq!(json["error"]["exit_code"], 11);
    // Other data dirs, other commands, dry runs go beside it.
    assert_ne!(sync(&other).code, 11);
    kit.run(&["derive", "--lake", "lake"]).exits(0);
    kit.run(&["sync", "--lake", "lake", "--data-dir", &demo_dir(), "--idle", "0s", "--dry-run"]).exits(0);
    drop(held);
    sync(&demo_dir()).exits(0);
}

#[test]
fn a_signal_stops_a_query_with_its_own_exit_code() {
    let kit = Kit::with_demo();
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        // A join that would take hours.
        let sql = "select sum(a.line * b.line * c.line * d.line * e.line * f.line) \
                   from events a, events b, events c, events d, events e, events f";
        let mut command = kit.command(&["sql", sql]);
        command.env("TRACE_LAKE_LOG", "trace_lake=info").stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let mut first = String::new();
        let stderr = child.stderr.take().expect("stderr");
        BufReader::new(stderr).read_line(&mut first).expect("a line");
        assert!(first.contains("asking"), "{first}");
        kit.sh(&format!("kill -{signal} {}", child.id())).exits(0);
        let status = child.wait().expect("it ends");
        assert_eq!(status.code(), Some(code), "{signal}");
    }
}
