//! Two runs at once that know nothing of each other.

use std::path::Path;
use std::process::{Child, Stdio};

use lake_testkit::OracleKey;
use lake_testkit::made::{Corpus, MadeOptions, write_with};

use crate::chance::Chance;
use crate::kit::{Kit, copy, demo_dir};
use crate::rows::{checks, files, rows, same};

/// Two data dirs, `data/one` and `data/two`: each has sessions of its own, and some are in both.
fn data() -> tempfile::TempDir {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let made = |name: &str, seed: u64| {
        let dir = temp.path().join(name);
        std::fs::create_dir_all(&dir).expect("a folder");
        let trust = Some(temp.path().join("trust.toml"));
        let options = MadeOptions { bytes: 200_000, seed, keys: vec![OracleKey::from_seed(1)], trust };
        write_with(&dir, &options, &Corpus::embedded()).expect("made traces");
    };
    made("one", 1);
    made("two", 2);
    made("both", 3);
    for name in ["one", "two"] {
        copy(&temp.path().join("both/traces"), &temp.path().join(name).join("traces"));
        copy(Path::new(&demo_dir()), &temp.path().join(name));
    }
    temp
}

/// A run with a state folder of its own: no lock and no cache is shared.
fn start(kit: &Kit, name: &str, args: &[&str]) -> Child {
    let mut command = kit.command(args);
    command.env("XDG_STATE_HOME", kit.path(name)).stdout(Stdio::null());
    command.spawn().expect("the binary runs")
}

#[track_caller]
fn ends(child: Child, codes: &[i32]) {
    let output = child.wait_with_output().expect("it ends");
    let code = output.status.code().unwrap_or(-1);
    assert!(codes.contains(&code), "{code}: {}", String::from_utf8_lossy(&output.stderr));
}

fn sync(dir: &str) -> [&str; 9] {
    // One source and one host: which of the two was first must not show.
    ["sync", "--lake", "lake", "--source", "night", "--idle", "0s", "--data-dir", dir]
}

#[test]
fn two_syncs_at_once_lose_and_double_nothing() {
    let data = data();
    let dir = |name: &str| data.path().join(name).display().to_string();
    let mut chance = Chance(23);
    for (what, first, second) in [("one data dir", dir("one"), dir("one")), ("two data dirs", dir("one"), dir("two"))] {
        let kit = Kit::new();
        ends(start(&kit, "a", &sync(&first)), &[3]);
        ends(start(&kit, "b", &sync(&second)), &[0]);
        let expected = rows(&kit.path("lake"));
        assert!(expected["events"].len() > 300, "{}", expected["events"].len());
        for round in 0..4 {
            let kit = Kit::new();
            let one = start(&kit, "a", &sync(&first));
            std::thread::sleep(chance.before(std::time::Duration::from_millis(120)));
            let two = start(&kit, "b", &sync(&second));
            ends(one, &[0, 3]);
            ends(two, &[0, 3]);
            // Whoever lost a race left its rows to a derive.
            kit.run(&["derive", "--lake", "lake"]).exits(0);
            same(&format!("{what}, round {round}"), &expected, &rows(&kit.path("lake")));
            let json = kit.run(&[&sync(&second)[..], &["--json"]].concat()).exits(0).json();
            assert_eq!((json["new"].as_u64(), json["grown"].as_u64()), (Some(0), Some(0)));
        }
    }
}

#[test]
fn compactions_at_once_change_no_row() {
    let data = data();
    let dir = |name: &str| data.path().join(name).display().to_string();
    let kit = Kit::new();
    ends(start(&kit, "a", &sync(&dir("one"))), &[3]);
    ends(start(&kit, "a", &sync(&dir("two"))), &[0]);
    let before = rows(&kit.path("lake"));
    let all: Vec<_> = ["a", "b", "c"].map(|home| start(&kit, home, &["compact", "--lake", "lake"])).into();
    for child in all {
        ends(child, &[0]);
    }
    same("after three compactions", &before, &rows(&kit.path("lake")));
}

#[test]
fn check_export_and_compact_at_once_with_a_sync_see_whole_sessions() {
    let data = data();
    let dir = |name: &str| data.path().join(name).display().to_string();
    let trust = data.path().join("trust.toml").display().to_string();
    let kit = Kit::new();
    let (one, two) = (dir("one"), dir("two"));
    ends(start(&kit, "a", &sync(&one)), &[3]);
    let first = start(&kit, "a", &sync(&two));
    let check = start(&kit, "a", &["check", "--lake", "lake", "--trust", &trust]);
    let again = start(&kit, "b", &["check", "--lake", "lake", "--trust", &trust]);
    let export = start(&kit, "a", &["export", "--lake", "lake", "--out", "out", "--trust", &trust]);
    let compact = start(&kit, "a", &["compact", "--lake", "lake"]);
    ends(first, &[0, 3]);
    for child in [check, again, export, compact] {
        ends(child, &[0]);
    }
    kit.run(&["derive", "--lake", "lake"]).exits(0);
    kit.run(&["check", "--lake", "lake", "--trust", &trust]).exits(0);

    let alone = Kit::new();
    ends(start(&alone, "a", &sync(&one)), &[3]);
    ends(start(&alone, "a", &sync(&two)), &[0]);
    same("after all", &rows(&alone.path("lake")), &rows(&kit.path("lake")));
    alone.run(&["check", "--lake", "lake", "--trust", &trust]).exits(0);
    // Two checks may have looked at the same; they found the same.
    let mut found = checks(&kit);
    found.dedup();
    assert_eq!(found, checks(&alone));
    // The set is of one version of the lake, and can be made again.
    let k = kit.run(&["sql", "--lake", "lake", "select max(k) as k from exports"]).exits(0).out;
    let k = k.lines().nth(1).expect("a row").to_owned();
    kit.run(&["export", "--lake", "lake", "--out", "again", "--trust", &trust, "--at", &k]).exits(0);
    assert!(files(&kit.path("out")) == files(&kit.path("again")), "at version {k}");
}
