//! Whole sessions of the usual shapes.

use lake_trace::Verdict;

use crate::{Object, OracleKey, SessionBuilder, Task};

/// The work of an agent before it is graded: it looks, edits and says that it is done. `round` tells one try from the
/// next.
pub fn work(session: &mut SessionBuilder, round: u64) {
    let edit = format!("    return sum(items or [{round}])");
    session
        .message("assistant", "Let me look at the code first.")
        .call("Bash", &[("command", "grep -rn total src")], "src/total.py:4:def total(items):")
        .call("Read", &[("file_path", "src/total.py")], "def total(items):\n    return sum(items)\n")
        .thinking("I will guard the empty list.", "An empty list gives None further up, not an error here.")
        .call_with(
            "Edit",
            Object::new()
                .text("file_path", "src/total.py")
                .text("old_string", "    return sum(items)")
                .text("new_string", &edit),
            |fields| fields.text("output", "The file was updated.").text("status", "ok"),
        )
        .call_with("Bash", Object::new().text("command", "pytest -q"), |fields| {
            fields.text("output", "2 passed in 0.03s").text("status", "ok")
        })
        .message("assistant", "Done: the empty list is handled.");
}

/// The text of the diff that a round of a session leaves.
pub fn diff_of(session_id: &str, round: u64) -> String {
    format!(
        "--- a/src/total.py\n+++ b/src/total.py\n@@ -1 +1 @@\n-return sum(items)\n+return sum(items or [{round}]) # {session_id}\n"
    )
}

/// A start, a prompt and a baseline FAIL, then one round of work for each verdict, with the gate's message after each
/// that is no PASS and is not the last. The session is not ended.
pub fn graded(session_id: &str, task: &Task, key: Option<&OracleKey>, verdicts: &[Verdict]) -> SessionBuilder {
    let mut session = SessionBuilder::new(session_id, task).signed(key);
    session.start().prompt().baseline(Verdict::Fail);
    rounds(&mut session, verdicts);
    session
}

/// One round of work for each verdict, as in [`graded`].
pub fn rounds(session: &mut SessionBuilder, verdicts: &[Verdict]) {
    for (round, verdict) in (1..).zip(verdicts) {
        work(session, round);
        let diff = diff_of(session.session_id(), round);
        session.grade(*verdict, &diff);
        if *verdict != Verdict::Pass && round < verdicts.len() as u64 {
            session.gate();
        }
    }
}

/// A session that passes at the first try. Without a key it is unsigned.
pub fn flipped_session(session_id: &str, task: &Task, key: Option<&OracleKey>) -> Vec<u8> {
    retried_session(session_id, task, key, 0)
}

/// A session that passes after `fails` FAILs, each followed by the gate's message.
pub fn retried_session(session_id: &str, task: &Task, key: Option<&OracleKey>, fails: usize) -> Vec<u8> {
    let mut verdicts = vec![Verdict::Fail; fails];
    verdicts.push(Verdict::Pass);
    let mut session = graded(session_id, task, key, &verdicts);
    session.end("agent", "flipped");
    session.build()
}

/// A session that FAILs `fails` times and stops.
pub fn no_flip_session(session_id: &str, task: &Task, key: Option<&OracleKey>, fails: usize) -> Vec<u8> {
    let mut session = graded(session_id, task, key, &vec![Verdict::Fail; fails]);
    session.end("agent", "no_flip");
    session.build()
}

/// A session that works without a task and without verdicts.
pub fn untracked_session(session_id: &str, repo: &str) -> Vec<u8> {
    let mut session = SessionBuilder::new(session_id, &Task::untracked(repo));
    session.start().message("user", "What does this repository do?");
    work(&mut session, 1);
    session.end("user", "untracked");
    session.build()
}
