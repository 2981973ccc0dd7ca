//! A disk that fills up, early or late in a run: it fails in words, and with room again it ends as if nothing had been.

use crate::asked::skip;
use crate::kit::{Kit, demo_dir, trust_file};
use crate::rows::{checks, files, rows, same};

/// Room that is left when a run begins, KiB.
const ROOM: [u32; 5] = [0, 12, 48, 110, 220];

/// Runs `command` on a small disk once for each room. `$N` is the room, `$L` the lake; the folder `base` is the lake that it
/// finds, if there is one. Afterwards `code-N` and `said-N` tell of the run on the full disk, `lake-N` is the lake after it,
/// and `left-N` what stood beside the lake; `again-N` and `after-N` are the code of the rerun and the lake then. At `least` so
/// many of the runs fail.
#[track_caller]
fn on_a_full_disk(kit: &Kit, command: &str, least: u32) -> bool {
    std::fs::create_dir(kit.path("small")).expect("a folder");
    let mount = "mount -t tmpfs -o size=8m none small";
    if kit.sh(&format!("unshare -m sh -c '{mount}'")).code != 0 {
        skip("this user may not mount a small disk");
        return false;
    }
    let rooms = ROOM.map(|n| n.to_string()).join(" ");
    kit.write(
        "script.sh",
        &format!(
            "set -eu\n{mount}\nL=small/lake\nfor N in {rooms}; do\n\
             rm -rf small/* small/.[a-z]*\n[ ! -d base ] || cp -a base $L\n\
             head -c 100000000 /dev/zero >small/filler 2>/dev/null || true\ntruncate -s -$((N * 1024)) small/filler\n\
             code=0; {command} >said-$N 2>&1 || code=$?; echo $code >code-$N\n\
             [ ! -d $L ] || cp -a $L lake-$N\nls -A small >left-$N\nrm small/filler\n\
             code=0; {command} >then-$N 2>&1 || code=$?; echo $code >again-$N\n\
             [ ! -d $L ] || cp -a $L after-$N\n[ ! -d small/out ] || cp -a small/out out-$N\ndone\n"
        ),
    );
    kit.sh("unshare -m sh script.sh").exits(0);
    let mut failed = 0;
    for n in ROOM {
        let code = read(kit, &format!("code-{n}"));
        let said = read(kit, &format!("said-{n}"));
        assert!(matches!(code.as_str(), "0" | "1" | "3"), "{n} KiB: {code}: {said}");
        if code == "1" {
            failed += 1;
            for part in ["error: ", "No space left on device", "hint: ", "the disk is full"] {
                assert!(said.contains(part), "{n} KiB: no `{part}`: {said}");
            }
            assert!(!said.contains("panicked"), "{n} KiB: {said}");
        }
        let again = read(kit, &format!("again-{n}"));
        assert!(matches!(again.as_str(), "0" | "3"), "{n} KiB: {again}: {}", read(kit, &format!("then-{n}")));
    }
    assert_eq!(read(kit, "code-0"), "1");
    assert!(failed >= least, "{failed} runs met the end of the disk");
    true
}

fn read(kit: &Kit, name: &str) -> String {
    let text = std::fs::read(kit.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    String::from_utf8_lossy(&text).trim().to_owned()
}

/// A home with the demo synced into `base`.
fn with_base() -> Kit {
    let kit = Kit::new();
    kit.run(&["sync", "--lake", "base", "--data-dir", &demo_dir(), "--source", "demo", "--idle", "0s"]).exits(3);
    kit
}

#[test]
fn under_a_sync() {
    let kit = Kit::new();
    if !on_a_full_disk(&kit, &format!("$T sync --lake $L --data-dir {} --source demo --idle 0s", demo_dir()), 2) {
        return;
    }
    let expected = rows(&with_base().path("base"));
    for n in ROOM {
        same(&format!("{n} KiB"), &expected, &rows(&kit.path(&format!("after-{n}"))));
        // What a failed run left is a lake too: of all sessions, or of none.
        if kit.path(&format!("lake-{n}/lake.json")).exists() {
            let sessions = rows(&kit.path(&format!("lake-{n}")))["segments"].len();
            assert!(matches!(sessions, 0 | 11), "{n} KiB: {sessions}");
        }
    }
}

#[test]
fn under_a_check() {
    let kit = with_base();
    if !on_a_full_disk(&kit, &format!("$T check --lake $L --trust {}", trust_file()), 2) {
        return;
    }
    let of = |name: String| {
        let (from, to) = (kit.path(&name), kit.path("lake"));
        std::fs::rename(from, &to).expect("a lake");
        let found = checks(&kit);
        std::fs::remove_dir_all(to).expect("it was just there");
        found
    };
    let expected = of("after-0".into());
    assert_eq!(expected.len(), 22);
    for n in ROOM {
        let found = of(format!("lake-{n}"));
        let whole = read(&kit, &format!("code-{n}")) == "0";
        assert!(found.iter().all(|row| expected.contains(row)) && (!whole || found == expected), "{n} KiB: {found:?}");
        if n != 0 {
            assert_eq!(of(format!("after-{n}")), expected, "{n} KiB");
        }
    }
}

#[test]
fn under_an_export() {
    let kit = with_base();
    let trust = trust_file();
    // The lake has room: it is the output that has none.
    if !on_a_full_disk(&kit, &format!("$T export --lake base --out small/out --force --trust {trust}"), 2) {
        return;
    }
    kit.run(&["export", "--lake", "base", "--out", "out", "--trust", &trust]).exits(0);
    let expected = files(&kit.path("out"));
    for n in ROOM {
        if read(&kit, &format!("code-{n}")) == "1" {
            assert_eq!(read(&kit, &format!("left-{n}")), "filler\nlake", "{n} KiB");
        }
        assert!(files(&kit.path(&format!("out-{n}"))) == expected, "{n} KiB");
    }
}

/// Neither while the disk was full nor after there was room.
#[track_caller]
fn no_row_changed(kit: &Kit) {
    let expected = rows(&kit.path("base"));
    for n in ROOM {
        same(&format!("{n} KiB, full"), &expected, &rows(&kit.path(&format!("lake-{n}"))));
        same(&format!("{n} KiB"), &expected, &rows(&kit.path(&format!("after-{n}"))));
    }
}

#[test]
fn under_a_rebuild() {
    let kit = with_base();
    if !on_a_full_disk(&kit, "$T rebuild --lake $L", 2) {
        return;
    }
    no_row_changed(&kit);
}

#[test]
fn under_a_compact() {
    let kit = with_base();
    let one = kit.data_dir("one");
    for (n, name) in ["01", "02", "03"].into_iter().enumerate() {
        let file = std::fs::read_dir(one.join("traces")).expect("a folder").flatten().map(|e| e.path());
        let file = file
            .into_iter()
            .find(|path| path.display().to_string().contains(&format!("demo-{name}")))
            .expect("a trace");
        let mut text = std::fs::read_to_string(&file).expect("a trace");
        text.push_str(&text.lines().last().expect("a line").replace("\"seq\":", &format!("\"seq_{n}\":")));
        text.push('\n');
        std::fs::write(&file, text).expect("a trace");
        kit.run(&["sync", "--lake", "base", "--data-dir", "one", "--source", "demo", "--idle", "0s"]).exits(0);
    }
    if !on_a_full_disk(&kit, "$T compact --lake $L", 2) {
        return;
    }
    no_row_changed(&kit);
}

#[test]
fn a_set_that_the_lake_cannot_note_is_told() {
    let kit = with_base();
    let command = format!("$T export --lake $L --out set-$N --force --trust {}", trust_file());
    if !on_a_full_disk(&kit, &command, 1) {
        return;
    }
    assert!(read(&kit, "said-0").contains("but the lake could not note it"), "{}", read(&kit, "said-0"));
    let sql = "select \"set\", count(distinct row) as n from exports group by 1 order by 1";
    for n in ROOM {
        let lake = kit.text(&format!("after-{n}"));
        kit.run(&["sql", "--lake", &lake, sql]).exits(0).prints(&["preference,2\nsft,5\n"]);
    }
}
