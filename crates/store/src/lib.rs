//! Everything about the bytes in the lake: raw log, tables, derive, compact, read a session.

mod catalog;
mod checks;
mod error;
pub mod schema;

pub use catalog::{Branch, Catalog, Segment};
pub use checks::{CheckRow, ExportRow, Finding};
pub use error::{Error, Result};
