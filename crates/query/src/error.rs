//! What can go wrong with a question.

use datafusion::error::DataFusionError;

/// An error of a query. The source is not repeated in the text.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The statement does more than ask.
    #[error("SQL here is read-only, and {what}: only one query, EXPLAIN, SHOW or DESCRIBE runs without --unsafe")]
    Refused {
        /// What it would do, as a clause: `DELETE is refused`.
        what: String,
    },
    /// There is no statement, or more than one.
    #[error("one SQL statement is expected, not {0}")]
    Statements(usize),
    /// The text is no SQL, or names something that is not there.
    #[error("this SQL cannot be planned")]
    Plan(#[source] Box<DataFusionError>),
    /// The predicate of `--where` is none.
    #[error("`{predicate}` is no predicate over the view sessions")]
    Predicate {
        /// As it was given.
        predicate: String,
        /// What is wrong with it.
        #[source]
        source: Box<DataFusionError>,
    },
    /// A table of the lake has not the columns that the views stand on.
    #[error("the view {view} cannot be made of the lake's tables")]
    View {
        /// The view.
        view: &'static str,
        /// What is wrong with it.
        #[source]
        source: Box<DataFusionError>,
    },
    /// It was planned, and failed when it ran.
    #[error("running the query")]
    Run(#[source] Box<DataFusionError>),
    /// The answer could not be put into the format that was asked for.
    #[error("writing the answer as {format}")]
    Encode {
        /// `table`, `csv`, `json` or `parquet`.
        format: &'static str,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The answer could not be written.
    #[error("writing the answer")]
    Write(#[source] std::io::Error),
}

/// Result of a question.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn plan(source: DataFusionError) -> Error {
        Error::Plan(Box::new(source))
    }

    pub(crate) fn run(source: DataFusionError) -> Error {
        Error::Run(Box::new(source))
    }

    pub(crate) fn view(view: &'static str) -> impl FnOnce(DataFusionError) -> Error {
        move |source| Error::View { view, source: Box::new(source) }
    }
}
