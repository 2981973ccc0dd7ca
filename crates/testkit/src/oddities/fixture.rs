//! The form of a fixture, and the session that most of them disturb.

use lake_trace::Verdict;

use crate::scenarios::rounds;
use crate::{OracleKey, SessionBuilder, Task};

/// One oddity: what lies in a data dir, and what a reader says of it.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// A name, fit for a file.
    pub name: &'static str,
    /// What happens with it.
    pub note: &'static str,
    /// Files by their path in the data dir.
    pub files: Vec<(String, Vec<u8>)>,
    /// What lies there at the next run, whole: empty when nothing changes.
    pub later: Vec<(String, Vec<u8>)>,
    /// Lines of `files` that are no events.
    pub rejects: usize,
    /// Flags of the events of `files` that stand in their own bytes, sorted.
    pub flags: Vec<&'static str>,
    /// Flags that only the lake can tell, of branches 1, 2, …
    pub branch_flags: Vec<&'static str>,
    /// Branches of the session that the lake holds in the end.
    pub branches: usize,
}

impl Fixture {
    /// One file, named after its session, that is read as it is.
    pub(super) fn one(name: &'static str, note: &'static str, bytes: Vec<u8>) -> Fixture {
        Fixture {
            name,
            note,
            files: vec![(path_of(name), bytes)],
            later: Vec::new(),
            rejects: 0,
            flags: Vec::new(),
            branch_flags: Vec::new(),
            branches: 1,
        }
    }

    pub(super) fn rejects(mut self, rejects: usize) -> Fixture {
        self.rejects = rejects;
        self
    }

    pub(super) fn flags(mut self, flags: &[&'static str]) -> Fixture {
        self.flags = flags.to_vec();
        self
    }

    pub(super) fn branches(mut self, branches: usize, flags: &[&'static str]) -> Fixture {
        self.branches = branches;
        self.branch_flags = flags.to_vec();
        self
    }

    pub(super) fn file(mut self, path: &str, bytes: Vec<u8>) -> Fixture {
        self.files.push((path.to_owned(), bytes));
        self
    }

    pub(super) fn later(mut self, bytes: Vec<u8>) -> Fixture {
        self.later = vec![(path_of(self.name), bytes)];
        self
    }
}

/// Where the file of a fixture's session lies. The session's id is `odd-` and the fixture's name.
pub(super) fn path_of(name: &str) -> String {
    format!("traces/odd-{name}.jsonl")
}

pub(super) fn task() -> Task {
    Task::new("github.com/acme/billing", "billing-7")
}

pub(super) fn key() -> OracleKey {
    OracleKey::from_seed(1)
}

/// A start and a prompt.
pub(super) fn begun(name: &str) -> SessionBuilder {
    let mut session = SessionBuilder::new(&format!("odd-{name}"), &task()).signed(Some(&key()));
    session.start().prompt();
    session
}

/// A baseline FAIL, work, a PASS and the end.
pub(super) fn finish(session: &mut SessionBuilder) {
    session.baseline(Verdict::Fail);
    rounds(session, &[Verdict::Pass]);
    session.end("agent", "flipped");
}

/// A flipped session, signed and bound, with something odd between its prompt and its baseline.
pub(super) fn session(name: &str, odd: impl FnOnce(&mut SessionBuilder)) -> Vec<u8> {
    let mut session = begun(name);
    odd(&mut session);
    finish(&mut session);
    session.build()
}
