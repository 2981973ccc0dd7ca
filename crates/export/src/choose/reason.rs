//! Why a session is not in a set.

use lake_trace::Outcome;
use lake_verdict::VerdictFlag;

/// Why a session is not in a set, by the words of `exclusions.jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// Somebody who may do so took it back.
    Retracted,
    /// What is wrong with its evidence.
    Flag(VerdictFlag),
    /// It is not what the set is made of.
    Outcome(Outcome),
    /// It goes on from another session.
    Fork,
    /// A line inside what was graded is no event.
    Reject,
    /// A field that a row needs is of another kind.
    Unrenderable,
    /// A value that the model would learn was cut.
    Truncated,
    /// A secret is in what would be a row.
    Secret,
    /// Nothing in it may be learned.
    NothingTrained,
    /// It has more tokens than fit.
    TooLong,
    /// A person helped after the prompt.
    HumanHelp,
    /// There are enough of its task or its repository.
    Filtered,
    /// There is nothing to pair it with.
    NoPartner,
    /// Its bytes were erased from the lake.
    Purged,
    /// Its bytes are not those that were received.
    Damaged,
}

impl Reason {
    /// The word as it stands in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Flag(flag) => flag.as_str(),
            Reason::Outcome(outcome) => outcome.as_str(),
            Reason::Retracted => "retracted",
            Reason::Fork => "fork",
            Reason::Reject => "reject",
            Reason::Unrenderable => "unrenderable",
            Reason::Truncated => "truncated",
            Reason::Secret => "secret",
            Reason::NothingTrained => "nothing_trained",
            Reason::TooLong => "too_long",
            Reason::HumanHelp => "human_help",
            Reason::Filtered => "filtered",
            Reason::NoPartner => "no_partner",
            Reason::Purged => "purged",
            Reason::Damaged => "damaged",
        }
    }
}
