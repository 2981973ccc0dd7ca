//! Exit codes, and errors that say what to do next.

use std::fmt::{Display, Formatter};
use std::process::ExitCode;

/// How a run ended, as a shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; nothing to do counts.
    Done,
    /// Failed; nothing half-written is visible.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// Some inputs could not be read or are malformed; the rest is committed.
    Partly,
    /// `--strict`, and data was excluded or flagged.
    Strict,
    /// The same command on the same lake and data dir is running here.
    Running,
    /// Stopped by SIGINT.
    Interrupted,
    /// Stopped by SIGTERM.
    Terminated,
}

impl Exit {
    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Partly => 3,
            Exit::Strict => 4,
            Exit::Running => 11,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// An error of this program's own, with its exit code and what to do next.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Display for Told {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Told {}

/// Wrong usage or configuration.
pub(crate) fn usage(message: impl Display, hint: impl Display) -> anyhow::Error {
    told(Exit::Usage, message, hint)
}

/// A failure.
pub(crate) fn failed(message: impl Display, hint: impl Display) -> anyhow::Error {
    told(Exit::Failed, message, hint)
}

/// An error with an exit code of its own.
pub(crate) fn told(exit: Exit, message: impl Display, hint: impl Display) -> anyhow::Error {
    Told { exit, message: message.to_string(), hint: Some(hint.to_string()).filter(|h| !h.is_empty()) }.into()
}
