//! The oracle's side: what it says after a run, and what it keeps of a session so that no gate supplies the chain.

use chrono::{DateTime, Utc};
use lake_trace::{Mode, Verdict};

use crate::{EMPTY_SHA256, Statement, StatementError};

/// What an oracle run found, and what the gate passed. Nothing in it is believed about earlier runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which run.
    pub mode: Mode,
    /// The bit.
    pub verdict: Verdict,
    /// The session; None makes a baseline that a task's sessions share.
    pub session_id: Option<String>,
    /// The task.
    pub task_id: String,
    /// Canonical remote, `host/org/name`, from the oracle's own table.
    pub repo: String,
    /// The commit that the work started from, hex.
    pub base_commit: String,
    /// Hash over the hidden tests, their lists and the image.
    pub tests_hash: String,
    /// SHA-256 (lower-case hex) and length in bytes of the trace when the oracle was asked.
    pub trace: Option<(String, u64)>,
    /// Random.
    pub run_id: String,
    /// The oracle's own clock.
    pub finished_at: DateTime<Utc>,
    /// The oracle's name.
    pub oracle: String,
    /// SHA-256 of the diff that was graded, lower-case hex; of nothing for a baseline.
    pub diff_sha256: String,
}

/// What an oracle keeps of a session: where its chain stands, and what its first run pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The session.
    pub session_id: String,
    /// The task of its first run.
    pub task_id: String,
    /// The repository of its first run.
    pub repo: String,
    /// The base of its first run.
    pub base_commit: String,
    /// The attempt that comes next.
    pub next: u64,
    /// Digest of the payload that it began with.
    pub start: String,
    /// Digest of the last payload.
    pub prev: String,
    /// Whether a baseline said PASS or FAIL.
    pub has_baseline: bool,
}

/// Why an oracle does not sign.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OracleError {
    /// A session stays at what its first run was for.
    #[error("session {session_id} was started for {what} {was}, not {now}")]
    Pinned {
        /// The session.
        session_id: String,
        /// `task`, `repository` or `base`.
        what: &'static str,
        /// As the first run had it.
        was: String,
        /// As this run has it.
        now: String,
    },
    /// A grade is one of a session.
    #[error("a grade needs a session")]
    NoSession,
    /// The first run of a session is a baseline.
    #[error("session {0} has no baseline yet")]
    NoBaseline(String),
    /// Only one that could not tell is run again.
    #[error("session {0} has its baseline already")]
    Baseline(String),
    /// A baseline is of the untouched checkout.
    #[error("a baseline is of the empty diff, and this one is not empty")]
    Diff,
    /// What a session is started from is a baseline without a session.
    #[error("that is no shared baseline: {0}")]
    NotShared(&'static str),
    /// The session has runs that do not come from that baseline.
    #[error("session {0} did not start from that baseline")]
    OtherStart(String),
    /// Something in it no reader would take.
    #[error("the verdict would be malformed")]
    Malformed(#[source] StatementError),
}

/// What the oracle says of a run: attempt and `prev` come from what it kept.
///
/// # Errors
/// See [`OracleError`]. Nothing was signed then.
pub fn statement(kept: Option<&Kept>, run: Run) -> Result<Statement, OracleError> {
    if run.mode == Mode::Baseline && run.diff_sha256 != EMPTY_SHA256 {
        return Err(OracleError::Diff);
    }
    match (&run.session_id, run.mode, kept) {
        (None, Mode::Grade, _) => return Err(OracleError::NoSession),
        (Some(id), Mode::Grade, kept) if !kept.is_some_and(|k| k.has_baseline) => {
            return Err(OracleError::NoBaseline(id.clone()));
        }
        (Some(id), Mode::Baseline, Some(kept)) if kept.has_baseline => return Err(OracleError::Baseline(id.clone())),
        _ => {}
    }
    if let Some(kept) = kept {
        pinned(kept, &run.task_id, &run.repo, &run.base_commit)?;
    }
    let (trace_sha256, trace_bytes) = run.session_id.as_ref().and(run.trace).unzip();
    let statement = Statement {
        mode: run.mode,
        verdict: run.verdict,
        session_id: run.session_id,
        attempt: kept.map_or(0, |kept| kept.next),
        task_id: run.task_id,
        repo: run.repo,
        base_commit: run.base_commit,
        tests_hash: run.tests_hash,
        trace_sha256,
        trace_bytes,
        prev: kept.map(|kept| kept.prev.clone()),
        run_id: run.run_id,
        finished_at: run.finished_at,
        oracle: run.oracle,
        diff_sha256: run.diff_sha256,
    };
    Statement::parse_strict(&statement.to_payload()).map_err(OracleError::Malformed)
}

fn pinned(kept: &Kept, task_id: &str, repo: &str, base_commit: &str) -> Result<(), OracleError> {
    let facts = [("task", kept.task_id.as_str(), task_id), ("base", &kept.base_commit, base_commit)];
    let other = facts.into_iter().find(|(_, was, now)| was != now);
    let moved = (kept.repo.to_lowercase() != repo.to_lowercase()).then_some(("repository", kept.repo.as_str(), repo));
    match other.or(moved) {
        None => Ok(()),
        Some((what, was, now)) => Err(OracleError::Pinned {
            session_id: kept.session_id.clone(),
            what,
            was: was.to_owned(),
            now: now.to_owned(),
        }),
    }
}

/// What is kept of a session after a statement whose payload has this digest; None for a shared baseline, which is of
/// none.
pub fn kept_after(before: Option<&Kept>, statement: &Statement, digest: String) -> Option<Kept> {
    let session_id = statement.session_id.clone()?;
    let decides = statement.mode == Mode::Baseline && statement.verdict != Verdict::Error;
    Some(Kept {
        session_id,
        task_id: statement.task_id.clone(),
        repo: statement.repo.clone(),
        base_commit: statement.base_commit.clone(),
        next: statement.attempt.saturating_add(1),
        start: before.map_or_else(|| digest.clone(), |kept| kept.start.clone()),
        prev: digest,
        has_baseline: decides || before.is_some_and(|kept| kept.has_baseline),
    })
}

/// Starts a session from a shared baseline whose payload has this digest, or finds that it started from it already: one
/// that is resumed may ask again.
///
/// # Errors
/// [`OracleError::NotShared`], and [`OracleError::OtherStart`] for a session that started otherwise.
pub fn start_from(
    kept: Option<&Kept>,
    session_id: &str,
    shared: &Statement,
    digest: String,
) -> Result<Kept, OracleError> {
    if shared.mode != Mode::Baseline {
        return Err(OracleError::NotShared("it is a grade"));
    }
    if !shared.is_shared() {
        return Err(OracleError::NotShared("it is of one session"));
    }
    if shared.attempt != 0 || shared.prev.is_some() {
        return Err(OracleError::NotShared("it is not the start of a chain"));
    }
    if let Some(kept) = kept {
        let same = kept.start == digest;
        return if same { Ok(kept.clone()) } else { Err(OracleError::OtherStart(session_id.to_owned())) };
    }
    Ok(Kept {
        session_id: session_id.to_owned(),
        task_id: shared.task_id.clone(),
        repo: shared.repo.clone(),
        base_commit: shared.base_commit.clone(),
        next: 1,
        start: digest.clone(),
        prev: digest,
        has_baseline: shared.verdict != Verdict::Error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload_digest;

    fn digest(statement: &Statement) -> String {
        payload_digest(&statement.to_payload())
    }

    fn run(mode: Mode, verdict: Verdict) -> Run {
        Run {
            mode,
            verdict,
            session_id: Some("s".into()),
            task_id: "t".into(),
            repo: "github.com/acme/billing".into(),
            base_commit: "ab".into(),
            tests_hash: "h".into(),
            trace: Some(("0".repeat(64), 7)),
            run_id: "r".into(),
            finished_at: DateTime::UNIX_EPOCH,
            oracle: "o".into(),
            diff_sha256: EMPTY_SHA256.into(),
        }
    }

    #[test]
    fn the_chain_is_the_oracles_own() {
        let mut kept = None;
        let mut prev = None;
        for (i, (mode, verdict)) in [
            (Mode::Baseline, Verdict::Error),
            (Mode::Baseline, Verdict::Fail),
            (Mode::Grade, Verdict::Fail),
            (Mode::Grade, Verdict::Pass),
        ]
        .into_iter()
        .enumerate()
        {
            let said = statement(kept.as_ref(), run(mode, verdict)).expect("a statement");
            assert_eq!((said.attempt, said.prev.as_ref()), (i as u64, prev.as_ref()));
            kept = kept_after(kept.as_ref(), &said, digest(&said));
            prev = Some(digest(&said));
        }
        let again = statement(kept.as_ref(), run(Mode::Baseline, Verdict::Fail));
        assert_eq!(again, Err(OracleError::Baseline("s".into())));
    }

    #[test]
    fn what_the_first_run_was_for_stays() {
        let first = statement(None, run(Mode::Baseline, Verdict::Fail)).expect("a statement");
        let kept = kept_after(None, &first, digest(&first)).expect("a session");
        for (what, change) in [
            ("task", (|r| r.task_id = "easier".into()) as fn(&mut Run)),
            ("repository", |r| r.repo = "github.com/acme/other".into()),
            ("base", |r| r.base_commit = "cd".into()),
        ] {
            let mut other = run(Mode::Grade, Verdict::Pass);
            change(&mut other);
            let error = statement(Some(&kept), other).expect_err(what);
            assert!(matches!(error, OracleError::Pinned { what: w, .. } if w == what));
        }
        let mut same = run(Mode::Grade, Verdict::Pass);
        same.repo = "GitHub.com/Acme/Billing".into();
        assert!(statement(Some(&kept), same).is_ok());
    }

    #[test]
    fn what_no_reader_would_take_is_not_signed() {
        for change in [
            (|r| r.session_id = None) as fn(&mut Run),
            |r| r.base_commit = "main".into(),
            |r| r.run_id = String::new(),
            |r| r.session_id = Some("other".into()),
        ] {
            let mut bad = run(Mode::Grade, Verdict::Pass);
            change(&mut bad);
            assert!(statement(None, bad).is_err());
        }
        let worked = Run { diff_sha256: "1".repeat(64), ..run(Mode::Baseline, Verdict::Fail) };
        assert_eq!(statement(None, worked), Err(OracleError::Diff));
        let long = Run { task_id: "t".repeat(17 * 1024), ..run(Mode::Baseline, Verdict::Fail) };
        assert!(matches!(statement(None, long), Err(OracleError::Malformed(StatementError::TooLong(_)))));
    }

    #[test]
    fn a_session_starts_from_a_shared_baseline_once() {
        let shared = Run { session_id: None, ..run(Mode::Baseline, Verdict::Fail) };
        let shared = statement(None, shared).expect("a statement");
        assert_eq!((shared.trace_bytes, shared.attempt, shared.prev.as_ref()), (None, 0, None));
        assert_eq!(kept_after(None, &shared, digest(&shared)), None);
        let kept = start_from(None, "s", &shared, digest(&shared)).expect("started");
        let grade = statement(Some(&kept), run(Mode::Grade, Verdict::Pass)).expect("a grade");
        assert_eq!((grade.attempt, grade.prev.as_deref()), (1, Some(kept.prev.as_str())));
        let after = kept_after(Some(&kept), &grade, digest(&grade)).expect("a session");
        // One that is resumed asks again, and its chain stands where it stood.
        assert_eq!(start_from(Some(&after), "s", &shared, digest(&shared)), Ok(after.clone()));
        let other = start_from(Some(&after), "s", &shared, digest(&grade));
        assert_eq!(other, Err(OracleError::OtherStart("s".into())));
        assert!(matches!(start_from(None, "s", &grade, digest(&grade)), Err(OracleError::NotShared(_))));
    }
}
