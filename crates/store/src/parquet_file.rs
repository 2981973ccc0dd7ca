//! Encodes rows of one table and partition as Parquet in memory, and says what Delta wants to know of the file.

use std::sync::Arc;

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use bytes::Bytes;
use deltalake::kernel::Add;
use object_store::PutMode;
use object_store::path::Path;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use crate::{Error, Lake, Result, delta, names};

/// Columns that the derived tables are partitioned by: they stand in the Delta log, not in the files.
pub(crate) const PARTITIONS: [&str; 2] = ["org", "date"];
/// A row group is closed when it takes this much memory, bytes.
const ROW_GROUP: usize = 48 << 20;
/// A file is closed when it is this large, bytes.
const FILE: usize = 128 << 20;
/// Columns with one value a row, or long ones: a dictionary would only cost.
const NO_DICTIONARY: [&str; 17] = [
    "text",
    "thinking",
    "input",
    "output",
    "ext",
    "event_id",
    "call_id",
    "ts",
    "seq",
    "line",
    "duration_ms",
    "signature",
    "bytes",
    "sha256_before",
    "sha256_end",
    "raw",
    "run_id",
];
/// Columns with statistics. All others have none: they would copy text into the Delta log.
const STATISTICS: [&str; 7] = ["session_id", "branch", "ts", "line", "type", "tool", "k"];

fn properties(level: i32) -> Result<WriterProperties> {
    let zstd = ZstdLevel::try_new(level).map_err(Error::arrow("setting up", "a Parquet writer"))?;
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(zstd))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_created_by("trace-lake".into())
        .set_max_row_group_row_count(None)
        .set_write_batch_size(256)
        .set_data_page_size_limit(1 << 20);
    for column in NO_DICTIONARY {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(column), false);
    }
    for column in ["ts", "seq", "line"] {
        builder = builder.set_column_encoding(ColumnPath::from(column), Encoding::DELTA_BINARY_PACKED);
    }
    for column in STATISTICS {
        builder = builder.set_column_statistics_enabled(ColumnPath::from(column), EnabledStatistics::Chunk);
    }
    Ok(builder.build())
}

/// The columns of a file of the table: all but the partitions.
pub(crate) fn file_schema(table: &SchemaRef) -> SchemaRef {
    let fields: Vec<_> = table.fields().iter().filter(|f| !PARTITIONS.contains(&f.name().as_str())).cloned().collect();
    Arc::new(Schema::new(fields))
}

/// One file that is being written.
pub(crate) struct ParquetFile {
    schema: SchemaRef,
    level: i32,
    writer: Option<ArrowWriter<Vec<u8>>>,
    rows: usize,
    sessions: Option<(String, String)>,
}

/// A file that is whole.
pub(crate) struct Encoded {
    pub(crate) body: Bytes,
    pub(crate) stats: String,
}

impl ParquetFile {
    /// `schema` is the file's, partitions left out.
    pub(crate) fn new(schema: SchemaRef, level: i32) -> ParquetFile {
        ParquetFile { schema, level, writer: None, rows: 0, sessions: None }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let fail = Error::arrow("encoding", "a table");
        if self.writer.is_none() {
            let new = ArrowWriter::try_new(Vec::new(), Arc::clone(&self.schema), Some(properties(self.level)?))
                .map_err(Error::arrow("setting up", "a Parquet writer"))?;
            self.writer = Some(new);
        }
        let Some(writer) = self.writer.as_mut() else { return Ok(()) };
        writer.write(batch).map_err(fail)?;
        if writer.in_progress_size() > ROW_GROUP {
            writer.flush().map_err(Error::arrow("encoding", "a table"))?;
        }
        self.rows += batch.num_rows();
        if let Some(ids) = batch.column_by_name("session_id").and_then(|c| c.as_string_opt::<i32>()) {
            for i in 0..ids.len() {
                let id = ids.value(i);
                match &mut self.sessions {
                    None => self.sessions = Some((id.to_owned(), id.to_owned())),
                    Some((low, _)) if id < low.as_str() => id.clone_into(low),
                    Some((_, high)) if id > high.as_str() => id.clone_into(high),
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// Whether it is large enough to be closed.
    pub(crate) fn is_full(&self) -> bool {
        self.writer.as_ref().is_some_and(|w| w.bytes_written() + w.in_progress_size() > FILE)
    }

    /// Closes it; None when it has no row. Another may be begun with the same value.
    pub(crate) fn finish(&mut self) -> Result<Option<Encoded>> {
        let Some(writer) = self.writer.take() else { return Ok(None) };
        let body = writer.into_inner().map_err(Error::arrow("encoding", "a table"))?;
        let mut stats = serde_json::json!({ "numRecords": self.rows });
        if let Some((low, high)) = self.sessions.take() {
            stats["minValues"] = serde_json::json!({ "session_id": low });
            stats["maxValues"] = serde_json::json!({ "session_id": high });
            stats["nullCount"] = serde_json::json!({ "session_id": 0 });
        }
        self.rows = 0;
        Ok(Some(Encoded { body: body.into(), stats: stats.to_string() }))
    }
}

/// Puts a file into a table's folder and returns the action that makes it part of the table. Until that is committed
/// the file is no part of anything.
pub(crate) fn put(
    lake: &Lake,
    folder: &str,
    org_date: Option<(&str, &str)>,
    file: Encoded,
    data_change: bool,
) -> Result<Add> {
    let (name, partition) = match org_date {
        Some((org, date)) => (names::data_file(org, date), vec![("org", org), ("date", date)]),
        None => (format!("part-{}.zstd.parquet", uuid::Uuid::new_v4().simple()), Vec::new()),
    };
    let path = Path::from(format!("{folder}/{name}"));
    let size = file.body.len();
    let mut tries = 0;
    loop {
        let put = lake.store().put_opts(&path, file.body.clone().into(), PutMode::Overwrite.into());
        match lake.wait(put) {
            Ok(_) => break,
            // The name is random and ours alone: doing it again is safe.
            Err(_) if tries == 0 => tries += 1,
            Err(e) => return Err(Error::store("writing", lake.at(&path))(e)),
        }
    }
    Ok(delta::add(name, size, &partition, file.stats, data_change))
}
