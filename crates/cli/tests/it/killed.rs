//! SIGKILL at any moment, then a rerun: the rows are those of a run that nobody disturbed.

use std::path::Path;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use lake_testkit::OracleKey;
use lake_testkit::made::{Corpus, MadeOptions, write_with};
use tempfile::TempDir;

use crate::chance::Chance;
use crate::kit::{Kit, copy, demo_dir};
use crate::rows::{self, Rows, checks, count, files, rows, same};

/// Three nights of a machine: data dirs come, traces grow, one is rewritten, one has a bad line.
fn nights() -> &'static Path {
    static NIGHTS: OnceLock<TempDir> = OnceLock::new();
    NIGHTS.get_or_init(|| {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| temp.path().join(name);
        made(&at("1/a"), 1);
        copy(Path::new(&demo_dir()), &at("1/demo"));
        copy(&at("1"), &at("2"));
        made(&at("2/b"), 2);
        let mut traces: Vec<_> = std::fs::read_dir(at("2/a/traces")).expect("a folder").flatten().collect();
        traces.sort_by_key(std::fs::DirEntry::path);
        for trace in traces.iter().step_by(2) {
            let mut text = std::fs::read_to_string(trace.path()).expect("a trace");
            let last = text.lines().last().expect("a line").replace("\"seq\":", "\"was_seq\":");
            text.push_str(&last);
            text.push('\n');
            std::fs::write(trace.path(), text).expect("a trace");
        }
        let trace = traces[1].path();
        let text = std::fs::read_to_string(&trace).expect("a trace");
        std::fs::write(&trace, text.replace("fail", "FAIL").replace("fix", "FIX")).expect("a trace");
        copy(&at("2"), &at("3"));
        made(&at("3/c"), 3);
        temp
    });
    NIGHTS.get().expect("it was just made").path()
}

fn made(dir: &Path, seed: u64) {
    let keys = vec![OracleKey::from_seed(1)];
    let trust = dir.with_extension("trust");
    std::fs::create_dir_all(dir).expect("a folder");
    let options = MadeOptions { bytes: 250_000, seed, keys, trust: Some(trust) };
    write_with(dir, &options, &Corpus::embedded()).expect("made traces");
}

fn trust() -> String {
    nights().join("1/a.trust").display().to_string()
}

fn night(n: usize) -> String {
    nights().join(format!("{n}/*")).display().to_string()
}

fn sync(kit: &Kit, n: usize, derive: bool) {
    let mut args = vec!["sync", "--lake", "lake", "--source", "night", "--idle", "0s", "--data-dir"];
    let dirs = night(n);
    args.push(&dirs);
    if !derive {
        args.push("--no-derive");
    }
    let ran = kit.run(&args);
    assert!(matches!(ran.code, 0 | 3), "{}: {}", ran.code, ran.err);
}

/// Starts it and kills it then. Says whether it was still running.
fn kill(kit: &Kit, args: &[&str], then: Duration) -> bool {
    let mut command = kit.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    std::thread::sleep(then);
    let _ = child.kill();
    child.wait().expect("it ended").code().is_none()
}

/// The lake of three whole nights; its rows and the number of its files after each.
fn undisturbed() -> &'static (Kit, Vec<Rows>, Vec<usize>) {
    static LAKE: OnceLock<(Kit, Vec<Rows>, Vec<usize>)> = OnceLock::new();
    LAKE.get_or_init(|| {
        let kit = Kit::new();
        let (mut after, mut files) = (Vec::new(), Vec::new());
        for n in 1..=3 {
            sync(&kit, n, true);
            after.push(rows(&kit.path("lake")));
            files.push(count(&kit.path("lake")));
        }
        assert!(after[0]["events"].len() > 300 && after[2]["segments"].len() > after[1]["segments"].len());
        (kit, after, files)
    })
}

/// Starts it, and kills it once so many files stand in the lake, or a moment later. Says whether it was still running.
fn kill_at(kit: &Kit, args: &[&str], files: usize, later: Duration) -> bool {
    let mut command = kit.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    while count(&kit.path("lake")) < files && child.try_wait().expect("it runs").is_none() {
        std::thread::sleep(Duration::from_micros(300));
    }
    std::thread::sleep(later);
    let _ = child.kill();
    child.wait().expect("it ended").code().is_none()
}

#[test]
fn a_sync_that_is_killed_at_any_moment_loses_and_doubles_nothing() {
    let (_, expected, whole) = undisturbed();
    let mut chance = Chance(7);
    let (mut tries, mut kills, mut uncommitted, mut behind) = (0, 0, 0, 0);
    for round in 0..4 {
        let kit = Kit::new();
        for n in 1..=3 {
            let dirs = night(n);
            for _ in 0..2 {
                let mut args = vec!["sync", "--lake", "lake", "--source", "night", "--idle", "0s", "--data-dir", &dirs];
                // Some leave the tables to the run after them.
                if chance.next().is_multiple_of(4) {
                    args.push("--no-derive");
                }
                let (there, all) = (count(&kit.path("lake")), whole[n - 1]);
                let at = there + 1 + usize::try_from(chance.next()).unwrap_or(0) % all.saturating_sub(there).max(1);
                tries += 1;
                kills += u32::from(kill_at(&kit, &args, at, chance.before(Duration::from_millis(8))));
                let (versions, objects) = rows::behind(&kit.path("lake"));
                behind += u32::from(versions > 0);
                uncommitted += u32::from(objects > 0);
            }
            // One night of some lakes is left without tables.
            let derives = n != 2 || round % 2 == 0;
            sync(&kit, n, derives);
            if derives {
                same(&format!("round {round}, night {n}"), &expected[n - 1], &rows(&kit.path("lake")));
            }
        }
        // And nothing more comes of another run.
        let json =
            kit.run(&["sync", "--lake", "lake", "--data-dir", &night(3), "--idle", "0s", "--json"]).exits(0).json();
        assert_eq!(
            (json["new"].as_u64(), json["grown"].as_u64(), json["segments"].as_u64()),
            (Some(0), Some(0), Some(0))
        );
    }
    // It would prove nothing if all runs had ended before, or had not begun.
    let seen =
        format!("{kills} of {tries} killed, {uncommitted} with raw objects of no batch, {behind} with tables behind");
    assert!(kills * 2 >= tries && uncommitted >= 2 && behind >= 2, "{seen}");
}

/// A copy of the undisturbed lake, in a home of its own.
fn lake() -> Kit {
    let kit = Kit::new();
    copy(&undisturbed().0.path("lake"), &kit.path("lake"));
    kit
}

#[test]
fn a_check_that_is_killed_leaves_whole_rows_and_a_rerun_adds_what_is_missing() {
    let trust = trust();
    let check = ["check", "--lake", "lake", "--trust", &trust];
    let kit = lake();
    let start = Instant::now();
    kit.run(&check).exits(0);
    let took = start.elapsed();
    let expected = checks(&kit);
    assert!(expected.len() > 30);
    let (mut chance, mut kills) = (Chance(11), 0);
    for round in 0..4 {
        let kit = lake();
        for _ in 0..2 {
            kills += u32::from(kill(&kit, &check, chance.before(took)));
        }
        kit.run(&check).exits(0);
        assert_eq!(checks(&kit), expected, "round {round}");
        kit.run(&check).exits(0).prints(&["looked at 0 sessions"]);
    }
    assert!(kills >= 4, "{kills} of 8 killed");
}

#[test]
fn an_export_that_is_killed_shows_all_or_nothing() {
    let trust = trust();
    let export = ["export", "--lake", "lake", "--out", "out", "--require-signature", "--trust", &trust];
    let kit = lake();
    let start = Instant::now();
    kit.run(&export).exits(0);
    let took = start.elapsed();
    let expected = files(&kit.path("out"));
    assert!(expected["sft/train-00000-of-00001.jsonl"].len() > 1000);
    let (mut chance, mut kills) = (Chance(13), 0);
    let kit = lake();
    for round in 0..10 {
        kills += u32::from(kill(&kit, &export, chance.before(took)));
        let whole = kit.path("out").exists();
        if !whole {
            kit.run(&export).exits(0);
        }
        assert!(files(&kit.path("out")) == expected, "round {round}, whole when it was killed: {whole}");
        std::fs::remove_dir_all(kit.path("out")).expect("it was there");
        // What a killed run leaves behind is out of sight.
        for left in std::fs::read_dir(kit.folder.path()).expect("a folder").flatten() {
            let name = left.file_name().into_string().expect("a name");
            assert!(matches!(name.as_str(), "home" | "lake") || name.starts_with(".out.part-"), "{name}");
        }
    }
    assert!(kills >= 5, "{kills} of 10 killed");
    // However often a set was noted, it is the same set.
    let sql = "select count(distinct manifest_sha256) as m, count(distinct \"set\" || row) as n from exports";
    let lines = |text: &[u8]| text.iter().filter(|b| **b == b'\n').count();
    let all =
        lines(&expected["sft/train-00000-of-00001.jsonl"]) + lines(&expected["preference/train-00000-of-00001.jsonl"]);
    kit.run(&["sql", "--lake", "lake", sql]).exits(0).prints(&[&format!("m,n\n1,{all}\n")]);
}

#[test]
fn a_compact_or_rebuild_that_is_killed_changes_no_row() {
    let (_, expected, _) = undisturbed();
    let expected = &expected[2];
    for (command, seed) in [("compact", 17), ("rebuild", 19)] {
        let kit = lake();
        let start = Instant::now();
        let ran = kit.run(&[command, "--lake", "lake"]).exits(0);
        let took = start.elapsed();
        assert!(!ran.out.starts_with("0 files"), "{}", ran.out);
        same(command, expected, &rows(&kit.path("lake")));
        let (mut chance, mut kills) = (Chance(seed), 0);
        for round in 0..4 {
            let kit = lake();
            kills += u32::from(kill(&kit, &[command, "--lake", "lake"], chance.before(took.mul_f64(0.8))));
            same(&format!("{command} killed, round {round}"), expected, &rows(&kit.path("lake")));
            kit.run(&[command, "--lake", "lake"]).exits(0);
            same(&format!("{command} again, round {round}"), expected, &rows(&kit.path("lake")));
        }
        assert!(kills >= 2, "{command}: {kills} of 4 killed");
    }
}
