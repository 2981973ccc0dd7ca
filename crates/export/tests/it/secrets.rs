//! Secrets.

use lake_export::{Allow, OnSecret, Request, Scan, Scans};
use lake_secrets::AllowList;
use lake_testkit::{Object, SessionBuilder, Task};
use lake_trace::Verdict;

use crate::lake::{Lake, request, run, run_with};

/// Made up, in the form of a vendor's token.
fn secret() -> String {
    format!("{}{}", "AKIA", "Q3EGRWYZ5KX7MPLN")
}

fn session(work: impl FnOnce(&mut SessionBuilder)) -> Lake {
    let mut session = SessionBuilder::new("s1", &Task::new("github.com/acme/billing", "bill-1"));
    session.start().prompt().baseline(Verdict::Fail).message("assistant", "first");
    work(&mut session);
    session.message("assistant", "done").grade(Verdict::Pass, "diff");
    Lake::of([session.build()])
}

type Write = fn(&mut SessionBuilder);

const PLACES: [Write; 6] = [
    |s| {
        s.message("user", &format!("use {} please", secret()));
    },
    |s| {
        s.thinking("ok", &format!("the id is {}", secret()));
    },
    |s| {
        s.call("Bash", &[("command", &format!("aws --id {}", secret()))], "ok");
    },
    |s| {
        s.call("Bash", &[(&secret(), "x")], "ok");
    },
    |s| {
        s.call("Bash", &[], &format!("id = {}\n", secret()));
    },
    |s| {
        let output = format!("{{\"deep\": [\"{}\"]}}", secret());
        s.call_with("Bash", Object::new(), |f| f.raw("output", &output));
    },
];

#[test]
fn a_secret_anywhere_in_a_row_keeps_the_session_out() {
    for (i, place) in PLACES.iter().enumerate() {
        let done = run(&session(place), request());
        assert_eq!(done.excluded("sft"), [("s1".to_owned(), "secret".to_owned())], "place {i}");
        assert_eq!(done.excluded("preference"), [("s1".to_owned(), "secret".to_owned())], "place {i}");
    }
}

#[test]
fn a_redacted_row_holds_no_secret_and_does_not_train_what_was_changed() {
    for (i, place) in PLACES.iter().enumerate() {
        let done = run(&session(place), Request { on_secret: OnSecret::Redact, ..request() });
        assert_eq!(done.sft().len(), 1, "place {i}");
        for (name, bytes) in done.files() {
            assert!(!String::from_utf8_lossy(&bytes).contains(&secret()), "place {i}, {name}");
        }
        let messages = done.sft()[0]["messages"].as_array().expect("messages").clone();
        let changed: Vec<_> = messages.iter().filter(|m| m.to_string().contains("<SECRET:")).collect();
        assert!(!changed.is_empty() && changed.iter().all(|m| m["train"] == false), "place {i}: {changed:?}");
        assert!(messages.iter().any(|m| m["train"] == true));
    }
}

#[test]
fn what_lies_outside_the_row_does_not_keep_it_out() {
    let mut session = SessionBuilder::new("s1", &Task::new("github.com/acme/billing", "bill-1"));
    session.start().prompt().baseline(Verdict::Fail).message("assistant", "done").grade(Verdict::Pass, "diff");
    session.message("assistant", &secret());
    assert_eq!(run(&Lake::of([session.build()]), request()).sft().len(), 1);
}

#[test]
fn a_clean_check_of_the_whole_branch_saves_the_scan_and_no_other_does() {
    let lake = session(PLACES[0]);
    let end = lake.catalog.branches[0].end();
    let rows = |end: u64, clean: bool| {
        let scans = Scans::from([(("s1".to_owned(), 0), Scan { end, clean })]);
        run_with(&lake, &scans, request()).sft().len()
    };
    assert_eq!(rows(end, true), 1);
    assert_eq!(rows(end - 1, true), 0);
    assert_eq!(rows(end, false), 0);
}

#[test]
fn metadata_is_scanned_whatever_was_checked() {
    let mut session = SessionBuilder::new("s1", &Task::new("github.com/acme/billing", "bill-1")).model(&secret());
    session.start().prompt().baseline(Verdict::Fail).message("assistant", "done").grade(Verdict::Pass, "diff");
    let lake = Lake::of([session.build()]);
    let scans = Scans::from([(("s1".to_owned(), 0), Scan { end: lake.catalog.branches[0].end(), clean: true })]);
    for on_secret in [OnSecret::Exclude, OnSecret::Redact] {
        let done = run_with(&lake, &scans, Request { on_secret, ..request() });
        assert_eq!(done.excluded("sft"), [("s1".to_owned(), "secret".to_owned())]);
    }
}

#[test]
fn what_somebody_allowed_passes_and_the_manifest_says_so() {
    let text = format!("[[allow]]\nliteral = '{}'\nreason = 'made up'\nexpires = 2030-01-01\n", secret());
    let list = AllowList::parse(&text).expect("an allow list");
    let allow = Some(Allow { list, fingerprint_key: Vec::new(), now_unix_seconds: 1_780_000_000 });
    let done = run(&session(PLACES[0]), Request { allow, ..request() });
    assert_eq!(done.sft().len(), 1);
    assert!(done.report.manifest.allow_digest.is_some());
}

#[test]
fn a_secret_in_a_tools_file_is_an_error() {
    let tools = Some(format!("[{{\"type\": \"function\", \"note\": \"{}\"}}]", secret()));
    let folder = tempfile::tempdir().expect("a folder");
    let out = lake_export::Out::Folder(folder.path().join("out"));
    let request = Request { tools, out, ..request() };
    let lake = session(|_| ());
    let stop = std::sync::atomic::AtomicBool::new(false);
    let result = lake_export::export(&lake.catalog, &Scans::new(), &lake, &request, &|_| (), &stop);
    assert!(matches!(result, Err(lake_export::Error::ToolsFile(_))));
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
}
