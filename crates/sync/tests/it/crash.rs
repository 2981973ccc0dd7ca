//! A fault at every call of a sync, one run each; then a rerun. The rows are those of an undisturbed run.

use std::sync::atomic::AtomicBool;

use lake_sync::sync;
use lake_testkit::DataDir;
use lake_testkit::scenarios::untracked_session;
use lake_testkit::store::{Fault, Faults};

use crate::support::{faulty, memory, options, quiet, rows, run, same};

/// Two nights: some sessions, one of which grows, one is rewritten, and a new one comes.
fn first_night() -> DataDir {
    let dir = DataDir::temp();
    for id in ["a", "b", "c"] {
        dir.session(id, &untracked_session(id, "github.com/acme/billing"));
    }
    dir.session("d", b"not json\n{\"type\":\"note\",\"session_id\":\"d\",\"ts\":\"2026-01-01T00:00:00Z\"}\n");
    dir
}

fn second_night(dir: &DataDir) {
    dir.append("traces/a.jsonl", b"{\"type\":\"note\",\"session_id\":\"a\",\"ts\":\"2026-01-01T00:00:00Z\"}\n");
    let rewritten = String::from_utf8(untracked_session("b", "github.com/acme/billing")).unwrap();
    dir.session("b", rewritten.replace("look", "LOOK").replace("the", "THE").as_bytes());
    dir.session("e", &untracked_session("e", "github.com/acme/shop"));
}

fn walk(name: &str, fault: Fault) {
    let (undisturbed, _) = memory();
    let dir = first_night();
    let later = first_night();
    second_night(&later);
    run(&undisturbed, &options(&[dir.path()]));
    let after_first = rows(&undisturbed);
    let mut second = options(&[later.path()]);
    // The same source: it is the same data dir a night later.
    second.data_dirs[0].source = format!("here:{}", dir.path().display());
    run(&undisturbed, &second);
    let after_second = rows(&undisturbed);

    // The first night.
    let (_, store) = memory();
    let faults = Faults::none();
    sync(&faulty(&store, &faults).unwrap(), &options(&[dir.path()]), &(), &quiet()).unwrap();
    let calls = faults.count();
    assert!(calls > 20, "{calls} calls");
    let mut failed = 0;
    for n in 1..=calls {
        let (lake, store) = memory();
        let faults = Faults::at(n, fault);
        let outcome =
            faulty(&store, &faults).and_then(|lake| sync(&lake, &options(&[dir.path()]), &(), &AtomicBool::new(false)));
        failed += u64::from(outcome.is_err());
        run(&lake, &options(&[dir.path()]));
        same(&format!("{name} at call {n} of the first night ({})", faults.log()), &after_first, &rows(&lake));
        // And nothing more comes of another run.
        run(&lake, &options(&[dir.path()]));
        same(&format!("{name} at call {n}, a third run"), &after_first, &rows(&lake));
    }
    if fault == Fault::Kill {
        assert!(failed > calls / 2, "a crash was seen {failed} times of {calls}");
    }

    // The second.
    let (lake, store) = memory();
    run(&lake, &options(&[dir.path()]));
    let faults = Faults::none();
    sync(&faulty(&store, &faults).unwrap(), &second, &(), &quiet()).unwrap();
    for n in 1..=faults.count() {
        let (lake, store) = memory();
        run(&lake, &options(&[dir.path()]));
        let faults = Faults::at(n, fault);
        let _ = faulty(&store, &faults).and_then(|lake| sync(&lake, &second, &(), &AtomicBool::new(false)));
        run(&lake, &second);
        same(&format!("{name} at call {n} of the second night ({})", faults.log()), &after_second, &rows(&lake));
    }
}

#[test]
fn a_crash_before_any_call_then_a_rerun() {
    walk("crash", Fault::Kill);
}

#[test]
fn any_one_call_fails_then_a_rerun() {
    walk("failure", Fault::Fail);
}

#[test]
fn any_one_reply_is_lost_then_a_rerun() {
    walk("lost reply", Fault::FailAfter);
}

#[test]
fn a_store_that_lists_late_loses_and_doubles_nothing() {
    let (undisturbed, _) = memory();
    let dir = first_night();
    run(&undisturbed, &options(&[dir.path()]));
    let (lake, store) = memory();
    let faults = Faults::none();
    faults.list_late(6);
    let late = faulty(&store, &faults).unwrap();
    for _ in 0..3 {
        let _ = sync(&late, &options(&[dir.path()]), &(), &quiet());
    }
    run(&lake, &options(&[dir.path()]));
    same("late listings", &rows(&undisturbed), &rows(&lake));
}
