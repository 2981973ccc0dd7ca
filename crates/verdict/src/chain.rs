//! The chain of a session's verdicts: attempts without a gap, each naming the one before, no run twice.

use std::collections::HashSet;

use crate::examine::{Step, short};
use crate::{Statement, VerdictFlag};

/// The chain up to some record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chain {
    next: u64,
    last: Option<String>,
    shared: Option<String>,
    runs: HashSet<String>,
    broken: bool,
}

impl Chain {
    /// Digest of the verdict that the next one has to name; None at the start. None at all where nothing can follow.
    pub(crate) fn open_end(&self) -> Option<Option<&str>> {
        (!self.broken).then_some(self.last.as_deref())
    }

    /// A record that does not count stands here: what comes after it cannot be told to follow.
    pub(crate) fn cut(&mut self) {
        self.broken = true;
    }

    /// Takes the next statement, whose payload has this digest.
    pub(crate) fn link(&mut self, statement: &Statement, digest: &str) -> Vec<Step> {
        if self.broken {
            let detail = "not looked at: a record before it does not count".to_owned();
            return vec![Step { name: "chain", ok: false, detail, flag: None }];
        }
        // A session that is resumed may show its task's baseline once more; it says nothing new.
        if self.shared.as_deref() == Some(digest) {
            return vec![Step::good("chain", "the shared baseline once more")];
        }
        let run = short(&statement.run_id);
        if self.runs.contains(&statement.run_id) {
            self.cut();
            return vec![Step::bad("run", VerdictFlag::ReplayedRun, format!("run {run} was used before"))];
        }
        let fresh = Step::good("run", format!("run {run} is used once"));
        let gap = if statement.attempt != self.next {
            Some(format!("attempt {} where {} is next", statement.attempt, self.next))
        } else if statement.prev != self.last {
            Some("`prev` does not name the verdict before it".to_owned())
        } else {
            None
        };
        if let Some(detail) = gap {
            self.cut();
            return vec![fresh, Step::bad("chain", VerdictFlag::ChainGap, detail)];
        }
        self.runs.insert(statement.run_id.clone());
        self.next += 1;
        self.last = Some(digest.to_owned());
        if statement.is_shared() {
            self.shared = Some(digest.to_owned());
        }
        vec![fresh, Step::good("chain", format!("attempt {} follows", statement.attempt))]
    }
}
