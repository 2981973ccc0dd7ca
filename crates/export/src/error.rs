//! What can go wrong with an export.

use std::path::PathBuf;

/// An error of an export. The source is not repeated in the text. None leaves anything in the output folder's place.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The output folder is there, and `force` was not asked for.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// What is there is not what an export writes, and is not replaced.
    #[error("{} is there already and is no training set", .0.display())]
    NoExport(PathBuf),
    /// Signatures are required, but nothing says whose count.
    #[error("a required signature needs a trust file")]
    NoTrust,
    /// Training only what follows the last FAIL rests on the mask, and nothing holds it in this dialect.
    #[error("training only what follows the last FAIL needs something that holds the mask")]
    LastWithoutTemplate,
    /// A side of one message answers what stands before it, and may not be put behind another prompt.
    #[error("pairs with other prompts need a dialect whose sides are whole conversations")]
    TaskPromptForOneMessage,
    /// The chat template cannot render rows as they are, or not so that a mask holds.
    #[error("the chat template is refused: {0}")]
    ChatTemplate(String),
    /// The tokenizer could not be read.
    #[error("the tokenizer is refused: {0}")]
    Tokenizer(String),
    /// The tools file is not a JSON array of objects.
    #[error("the tools file is refused: {0}")]
    ToolsFile(String),
    /// A session's bytes could not be read, and not because they are gone or damaged.
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
    /// A file or folder on this machine.
    #[error("{doing} {}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The manifest could not be written as JSON.
    #[error("writing the manifest")]
    Manifest(#[source] serde_json::Error),
    /// A thread of the export broke down.
    #[error("a thread of the export broke down")]
    Thread,
    /// The run was told to stop.
    #[error("stopped")]
    Stopped,
}

/// Result of an export.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.into();
        move |source| Error::Io { doing, path, source }
    }
}
