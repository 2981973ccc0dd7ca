//! One answer, one format.

use std::io::{self, Write};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use futures::StreamExt;

use super::cells::flat;
use super::table::Table;
use crate::{Error, Result};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For a person at a terminal: aligned, long values cut, control characters escaped.
    Table,
    /// With a header; lists and structs as JSON.
    Csv,
    /// One object a line, every column in each.
    Json,
    /// One file.
    Parquet,
}

impl Format {
    /// The format of a name; None for any other word.
    pub fn parse(word: &str) -> Option<Format> {
        [Format::Table, Format::Csv, Format::Json, Format::Parquet].into_iter().find(|f| f.as_str() == word)
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Parquet => "parquet",
        }
    }
}

/// Bytes of a row group that are held before they are written.
const ROW_GROUP: usize = 32 << 20;

/// Writes an answer, batch by batch, and says how many rows it had.
///
/// # Errors
/// [`Error::Run`] when the query fails on the way: what was written until then stands. [`Error::Write`] when `out`
/// takes no more.
pub async fn write(stream: SendableRecordBatchStream, format: Format, out: &mut (dyn Write + Send)) -> Result<u64> {
    let mut watched = Watched { out, failed: None };
    let written = write_all(stream, format, &mut watched).await;
    // Some formats make a text of the cause; whoever reads `… | head` went away, and that is no error.
    match (written, watched.failed) {
        (Err(_), Some(source)) => Err(Error::Write(source)),
        (written, _) => written,
    }
}

async fn write_all(mut stream: SendableRecordBatchStream, format: Format, out: &mut (dyn Write + Send)) -> Result<u64> {
    let mut sink = Sink::new(format, stream.schema(), out)?;
    let mut rows = 0;
    while let Some(batch) = stream.next().await {
        let batch = batch.map_err(Error::run)?;
        rows += batch.num_rows() as u64;
        sink.put(&batch)?;
    }
    sink.finish()?;
    Ok(rows)
}

/// Remembers why what it writes to took no more.
struct Watched<'a> {
    out: &'a mut (dyn Write + Send),
    failed: Option<io::Error>,
}

impl Watched<'_> {
    fn keep<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|e| {
            let again = io::Error::new(e.kind(), e.to_string());
            if e.kind() != io::ErrorKind::Interrupted {
                self.failed.get_or_insert(e);
            }
            again
        })
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.keep(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.keep(done)
    }
}

enum Sink<'a> {
    Table(Box<Table<'a>>),
    Csv(Box<csv::Writer<&'a mut (dyn Write + Send)>>),
    Json(Box<json::LineDelimitedWriter<&'a mut (dyn Write + Send)>>),
    Parquet(Box<ArrowWriter<&'a mut (dyn Write + Send)>>),
}

impl<'a> Sink<'a> {
    fn new(format: Format, schema: SchemaRef, out: &'a mut (dyn Write + Send)) -> Result<Sink<'a>> {
        Ok(match format {
            Format::Table => Sink::Table(Box::new(Table::new(schema, out))),
            Format::Csv => {
                let mut writer = csv::Writer::new(out);
                // The header stands there even when no row does.
                let header = flat(&RecordBatch::new_empty(schema)).map_err(|e| arrow("csv", e))?;
                writer.write(&header).map_err(|e| arrow("csv", e))?;
                Sink::Csv(Box::new(writer))
            }
            Format::Json => {
                let builder = json::WriterBuilder::new().with_explicit_nulls(true);
                Sink::Json(Box::new(builder.build(out)))
            }
            Format::Parquet => {
                let level = ZstdLevel::try_new(3).map_err(parquet)?;
                let properties = WriterProperties::builder().set_compression(Compression::ZSTD(level)).build();
                Sink::Parquet(Box::new(
                    ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties)).map_err(parquet)?,
                ))
            }
        })
    }

    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Sink::Table(table) => table.put(batch),
            Sink::Csv(writer) => flat(batch).and_then(|batch| writer.write(&batch)).map_err(|e| arrow("csv", e)),
            Sink::Json(writer) => writer.write(batch).map_err(|e| arrow("json", e)),
            Sink::Parquet(writer) => {
                writer.write(batch).map_err(parquet)?;
                if writer.in_progress_size() > ROW_GROUP {
                    writer.flush().map_err(parquet)?;
                }
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<()> {
        match self {
            Sink::Table(table) => table.finish(),
            Sink::Csv(writer) => writer.into_inner().flush().map_err(Error::Write),
            Sink::Json(mut writer) => {
                writer.finish().map_err(|e| arrow("json", e))?;
                writer.into_inner().flush().map_err(Error::Write)
            }
            Sink::Parquet(writer) => writer.into_inner().map_err(parquet)?.flush().map_err(Error::Write),
        }
    }
}

/// A reader that went away is told apart from a value that has no form in the format.
pub(super) fn arrow(format: &'static str, error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) => Error::Write(source),
        other => Error::Encode { format, source: Box::new(other) },
    }
}

fn parquet(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(io) => Error::Write(*io),
            Err(source) => Error::Encode { format: "parquet", source },
        },
        other => Error::Encode { format: "parquet", source: Box::new(other) },
    }
}
