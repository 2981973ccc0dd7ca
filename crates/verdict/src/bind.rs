//! What binds a statement to the trace that it stands in.

use lake_trace::{LineRef, VerdictRecord, canonical_repo};

use crate::examine::{Step, short};
use crate::{Case, Statement, VerdictFlag};

/// Session, repository, task and base are the trace's own: those of its first `session_start`.
pub(crate) fn identity(case: &Case<'_>, statement: &Statement) -> Vec<Step> {
    let start = case.start.map(|(_, start)| start);
    let own_repo = start.and_then(|s| s.repo.as_deref()).map(canonical_repo);
    let own_task = start.and_then(|s| s.task_id.as_deref());
    let own_base = start.and_then(|s| s.base_commit.as_deref());
    let repo = statement.repo.to_lowercase();
    let step = |name, flag, signed: &str, own: Option<&str>| {
        if own == Some(signed) {
            return Step::good(name, short(signed));
        }
        let own = own.map_or_else(|| "none".to_owned(), short);
        Step::bad(name, flag, format!("signed for {}, the trace's own is {own}", short(signed)))
    };
    vec![
        match &statement.session_id {
            Some(id) => step("session", VerdictFlag::WrongSession, id, Some(case.session_id)),
            None => Step::good("session", "shared by every session of the task"),
        },
        step("repo", VerdictFlag::WrongRepo, &repo, own_repo.as_deref()),
        step("task", VerdictFlag::WrongTask, &statement.task_id, own_task),
        step("base", VerdictFlag::WrongBase, &statement.base_commit, own_base),
    ]
}

/// The event says what the payload says. A field that the event leaves out is not equal.
pub(crate) fn fields(record: &VerdictRecord, statement: &Statement) -> Step {
    let texts = [
        ("mode", record.mode.as_deref(), statement.mode.as_str()),
        ("verdict", record.verdict.as_deref(), statement.verdict.as_str()),
        ("task_id", record.task_id.as_deref(), &statement.task_id),
        ("base_commit", record.base_commit.as_deref(), &statement.base_commit),
        ("diff_sha256", record.diff_sha256.as_deref(), &statement.diff_sha256),
        ("tests_hash", record.tests_hash.as_deref(), &statement.tests_hash),
        ("run_id", record.run_id.as_deref(), &statement.run_id),
    ];
    let mut wrong: Vec<&str> = texts.iter().filter(|(_, event, signed)| *event != Some(*signed)).map(|t| t.0).collect();
    if record.attempt != Some(statement.attempt) {
        wrong.push("attempt");
    }
    if wrong.is_empty() {
        return Step::good("fields", "the event says what was signed");
    }
    Step::bad("fields", VerdictFlag::FieldMismatch, format!("event and payload differ in {}", wrong.join(", ")))
}

/// The trace's first bytes are those that the oracle was shown. Nothing for a statement without the pair.
///
/// `at` is the verdict's own line, `before` the end of the previous signed verdict's.
pub(crate) fn trace(case: &Case<'_>, statement: &Statement, at: LineRef, before: Option<u64>) -> Vec<Step> {
    let unbound = |detail: String| Step::bad("trace", VerdictFlag::TraceUnbound, detail);
    let changed = |detail: String| Step::bad("trace", VerdictFlag::TraceChanged, detail);
    let (sha256, n) = match (&statement.trace_sha256, statement.trace_bytes) {
        (None, None) => return Vec::new(),
        (Some(sha256), Some(n)) => (sha256, n),
        _ => return vec![unbound("only one of `trace_bytes` and `trace_sha256` is there".to_owned())],
    };
    if n == 0 {
        return vec![unbound("the prefix is empty".to_owned())];
    }
    if n > case.len {
        return vec![changed(format!("{n} bytes were graded, the trace has {}", case.len))];
    }
    // Both are told: an edit that moves lines also makes the prefix end in the wrong place.
    let mut steps = Vec::new();
    match (case.prefix_sha256)(n) {
        Some(hash) if hex::encode(hash) == *sha256 => {}
        Some(_) => steps.push(changed(format!("the first {n} bytes are not those that were graded"))),
        None => steps.push(changed(format!("the first {n} bytes cannot be read"))),
    }
    if !(case.ends_line)(n) {
        steps.push(unbound(format!("the prefix of {n} bytes does not end with a line")));
    } else if n > at.offset {
        steps.push(unbound(format!("the prefix of {n} bytes goes past the verdict's own line at {}", at.offset)));
    } else if case.start.is_none_or(|(start, _)| start.end > n) {
        steps.push(unbound(format!("the prefix of {n} bytes does not hold the session's start")));
    } else if before.is_some_and(|end| end > n) {
        steps.push(unbound(format!("the prefix of {n} bytes does not hold the previous verdict")));
    }
    if steps.is_empty() {
        steps.push(Step::good("trace", format!("the first {n} bytes are those that were graded")));
    }
    steps
}
