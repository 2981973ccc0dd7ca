//! What can go wrong with the bytes in the lake.

/// An error of the lake. The source is not repeated in the text.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lake's address is not one.
    #[error("`{0}` is no lake address: {1}")]
    Address(String, String),
    /// There is no lake there.
    #[error("no lake at {0}: there is no lake.json")]
    NoLake(String),
    /// The bucket or the folder that should hold the lake is missing.
    #[error("{0} does not exist")]
    NoParent(String),
    /// A file stands where a folder should.
    #[error("{0} is no folder")]
    NoFolder(String),
    /// The lake was made by a later version of this program.
    #[error("{path} is of version {found}, this binary knows version {known}")]
    Newer {
        /// The object.
        path: String,
        /// Its version.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// A request to the object store failed.
    #[error("{doing} {path}")]
    Store {
        /// What was being done.
        doing: &'static str,
        /// To which object.
        path: String,
        /// Why it failed.
        #[source]
        source: object_store::Error,
    },
    /// A Delta table could not be read or written.
    #[error("{doing} the table {table}")]
    Delta {
        /// What was being done.
        doing: &'static str,
        /// Which table.
        table: String,
        /// Why it failed.
        #[source]
        source: Box<deltalake::DeltaTableError>,
    },
    /// Parquet or Arrow failed.
    #[error("{doing} {what}")]
    Arrow {
        /// What was being done.
        doing: &'static str,
        /// To what.
        what: String,
        /// Why it failed.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Something in the lake is not what it should be.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The object.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// A raw object was purged.
    #[error("{0} was purged from the lake")]
    Purged(String),
    /// The tables are of another parser than this binary's.
    #[error("the tables are of parser {found}, this binary is of parser {ours}: run `trace-lake rebuild`")]
    Parser {
        /// Parser number of the newest generation.
        found: u32,
        /// Ours.
        ours: u32,
    },
    /// A version was asked for that the tables do not have.
    #[error("the tables stand at version {stands}, not at {asked}")]
    Ahead {
        /// The version that was asked for.
        asked: u64,
        /// The version that the tables stand at.
        stands: u64,
    },
    /// A file or folder on this machine.
    #[error("{doing} {path}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: String,
        /// Why it failed.
        #[source]
        source: std::io::Error,
    },
    /// The run was told to stop.
    #[error("stopped")]
    Stopped,
}

/// Result of an operation on the lake.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn store(doing: &'static str, path: impl ToString) -> impl FnOnce(object_store::Error) -> Error {
        let path = path.to_string();
        move |source| Error::Store { doing, path, source }
    }

    pub(crate) fn delta(doing: &'static str, table: impl ToString) -> impl FnOnce(deltalake::DeltaTableError) -> Error {
        let table = table.to_string();
        move |source| Error::Delta { doing, table, source: Box::new(source) }
    }

    pub(crate) fn arrow<E>(doing: &'static str, what: impl ToString) -> impl FnOnce(E) -> Error
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let what = what.to_string();
        move |source| Error::Arrow { doing, what, source: Box::new(source) }
    }
}
