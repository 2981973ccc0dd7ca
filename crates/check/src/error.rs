//! What can stop a check.

/// An error of the check. What is wrong with a single session is none: it is told in the report.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lake could not be read from or written to.
    #[error("{doing}")]
    Store {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        #[source]
        source: lake_store::Error,
    },
    /// The bytes of a session could not be read.
    #[error("reading session {session_id}, branch {branch}")]
    Read {
        /// The session.
        session_id: String,
        /// Its branch.
        branch: u32,
        /// Why it failed.
        #[source]
        source: lake_store::Error,
    },
    /// The run was told to stop. What was looked at until then has its rows.
    #[error("stopped")]
    Stopped,
}

/// Result of a check.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn store(doing: &'static str) -> impl FnOnce(lake_store::Error) -> Error {
        move |source| match source {
            lake_store::Error::Stopped => Error::Stopped,
            source => Error::Store { doing, source },
        }
    }
}
