//! The small words: verdict, mode, outcome, how a session ended.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            /// The word as it stands in traces, tables and reports.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value of a word; None for any other word.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words!(
    /// Which run of the oracle a verdict is of.
    Mode {
        /// Before the agent's work.
        Baseline = "baseline",
        /// After it.
        Grade = "grade",
    }
);

words!(
    /// The bit, or that the oracle could not tell.
    Verdict {
        /// The hidden tests passed.
        Pass = "PASS",
        /// They did not.
        Fail = "FAIL",
        /// The oracle could not tell.
        Error = "ERROR",
    }
);

words!(
    /// What a session's verdicts add up to, one for each branch.
    Outcome {
        /// Baseline FAIL and a later grade PASS.
        Flipped = "flipped",
        /// Baseline FAIL, the last grade FAIL, none PASS.
        NoFlip = "no_flip",
        /// Baseline PASS: there was nothing to do.
        NoTask = "no_task",
        /// PASS, but under other tests than the baseline's.
        TestsChanged = "tests_changed",
        /// The oracle could not tell.
        OracleError = "oracle_error",
        /// A task, but no verdict.
        Ungraded = "ungraded",
        /// No task.
        Untracked = "untracked",
        /// Anything else.
        Unproven = "unproven",
    }
);

words!(
    /// What ended a session.
    EndedBy {
        /// The agent stopped.
        Agent = "agent",
        /// It had no attempt left.
        AttemptBudget = "attempt_budget",
        /// The harness stopped it.
        HarnessCap = "harness_cap",
        /// The person did.
        User = "user",
        /// A fault did.
        Error = "error",
        /// No end was written; the file has not grown for a while.
        Sweep = "sweep",
    }
);
