//! What is trained after a FAIL.

use lake_export::{Error, Out, Request, Scans, TrainAfterFail, export};
use lake_testkit::{Task, scenarios};
use std::sync::atomic::AtomicBool;

use crate::lake::{Lake, request, run};

fn trained(after: TrainAfterFail) -> Vec<bool> {
    let task = Task::new("github.com/acme/billing", "bill-1");
    let lake = Lake::of([scenarios::retried_session("s1", &task, None, 2)]);
    let rows = run(&lake, Request { train_after_fail: after, ..request() }).sft();
    let done = |m: &&serde_json::Value| m["content"] == "Done: the empty list is handled.";
    let messages = rows[0]["messages"].as_array().expect("messages").iter();
    messages.filter(done).map(|m| m["train"] == true).collect()
}

#[test]
fn a_claim_that_was_wrong_is_not_trained_but_the_work_is() {
    assert_eq!(trained(TrainAfterFail::Work), [false, false, true]);
    assert_eq!(trained(TrainAfterFail::All), [true, true, true]);
}

#[test]
fn only_the_model_is_trained() {
    let task = Task::new("github.com/acme/billing", "bill-1");
    let rows = run(&Lake::of([scenarios::retried_session("s1", &task, None, 1)]), request()).sft();
    for message in rows[0]["messages"].as_array().expect("messages") {
        assert!(message["role"] == "assistant" || message["train"] == false, "{message}");
    }
    let gate = "The oracle did not pass. Keep working on the task.";
    assert!(rows[0]["messages"].as_array().into_iter().flatten().any(|m| m["role"] == "user" && m["content"] == gate));
}

#[test]
fn training_the_last_part_alone_is_refused_while_nothing_holds_the_mask() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let request = Request { train_after_fail: TrainAfterFail::Last, ..Request::new(Out::Folder(out.clone())) };
    let lake = Lake::default();
    let result = export(&lake.catalog, &Scans::new(), &lake, &request, &|_| (), &AtomicBool::new(false));
    assert!(matches!(result, Err(Error::LastWithoutTemplate)) && !out.exists());
}
