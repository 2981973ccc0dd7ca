//! A generation of the derived tables: found, made, committed to, read.

use std::collections::{BTreeMap, HashSet};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
use bytes::Bytes;
use deltalake::DeltaTable;
use deltalake::kernel::Add;
use futures::{StreamExt, stream};
use lake_trace::{Counts, Place};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde::{Deserialize, Serialize};

use crate::parquet_file::{self, PARTITIONS, ParquetFile, file_schema};
use crate::segment_rows::{self, SegmentRow};
use crate::sink::Prepared;
use crate::{Branch, Error, Lake, Result, Segment, delta, log, names, schema};

/// Number of the parser that makes the rows: raised when the same bytes would give other rows.
pub const PARSER: u32 = 1;
/// Requests to the store under way at once.
const AT_ONCE: usize = 16;

#[derive(Serialize, Deserialize)]
struct GenerationFile {
    parser: u32,
    k: u64,
}

/// The derived tables of one generation, open.
pub struct Tables {
    pub(crate) generation: u32,
    pub(crate) tables: [DeltaTable; 4],
    /// The lake's version that they stand at: that of `segments`, which is committed last.
    pub(crate) k: u64,
}

/// The newest generation; None before the first derive.
pub(crate) fn newest(lake: &Lake) -> Result<Option<u32>> {
    let folder = Path::from("tables");
    let listed = lake
        .wait(lake.store().list_with_delimiter(Some(&folder)))
        .map_err(Error::store("listing", lake.at(&folder)))?;
    Ok(listed.objects.iter().filter_map(|meta| names::generation_number(&meta.location)).max())
}

/// Says that a generation is whole up to `k`, or for the first one that it begins.
pub(crate) fn announce(lake: &Lake, generation: u32, k: u64) -> Result<()> {
    let path = names::generation(generation);
    let body = serde_json::to_vec(&GenerationFile { parser: PARSER, k }).unwrap_or_default();
    match lake.wait(lake.store().put_opts(&path, body.into(), PutMode::Create.into())) {
        Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => lake.sync_one(&path),
        Err(e) if lake.get(&path)?.is_none() => Err(Error::store("writing", lake.at(&path))(e)),
        Err(_) => Ok(()),
    }
}

/// The first generation from `next` on that no other parser has begun.
pub(crate) fn claim(lake: &Lake, next: u32) -> Result<u32> {
    for generation in next.. {
        let path = Path::from(format!("tables/g{generation:04}/parser.json"));
        let body = serde_json::to_vec(&PARSER).unwrap_or_default();
        match lake.wait(lake.store().put_opts(&path, body.into(), PutMode::Create.into())) {
            Ok(_) => return Ok(generation),
            Err(e) => match lake.get(&path)? {
                Some(there) if serde_json::from_slice::<u32>(&there).ok() == Some(PARSER) => return Ok(generation),
                Some(_) => {}
                None => return Err(Error::store("writing", lake.at(&path))(e)),
            },
        }
    }
    Ok(next)
}

fn parser_of(lake: &Lake, generation: u32) -> Result<u32> {
    let path = names::generation(generation);
    let damaged = |what: String| Error::Damaged { path: lake.at(&path), what };
    let bytes = lake.get(&path)?.ok_or_else(|| damaged("it is gone".into()))?;
    Ok(serde_json::from_slice::<GenerationFile>(&bytes).map_err(|e| damaged(e.to_string()))?.parser)
}

impl Tables {
    /// The newest generation to read from; None before the first derive.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(lake: &Lake) -> Result<Option<Tables>> {
        let Some(generation) = newest(lake)? else { return Ok(None) };
        // Rows of another parser are read all the same; a file that is damaged says nothing of what stands behind it.
        parser_of(lake, generation)?;
        let opened = all_four(lake, |name| async move { delta::open(lake, &names::table(generation, name)).await })?;
        let Some(tables) = opened.into_iter().collect::<Option<Vec<_>>>().and_then(|t| t.try_into().ok()) else {
            // The first one is announced before its tables are made, any other once they are whole.
            if generation == 1 {
                return Ok(None);
            }
            let path = lake.at(&names::generation(generation));
            return Err(Error::Damaged { path, what: "the tables that it announces are not all there".into() });
        };
        let tables = Self::whole(lake, generation, tables)?;
        tables.has_record(lake)?;
        Ok(Some(tables))
    }

    /// The newest generation to derive into; the first one is made where there is none.
    ///
    /// # Errors
    /// [`Error::Parser`] when another parser made it, and those of the store.
    pub fn open_to_derive(lake: &Lake) -> Result<Tables> {
        let generation = match newest(lake)? {
            Some(n) => n,
            None => {
                announce(lake, 1, 0)?;
                1
            }
        };
        let found = parser_of(lake, generation)?;
        if found != PARSER {
            return Err(Error::Parser { found, ours: PARSER });
        }
        let tables = Self::open_generation(lake, generation)?;
        tables.has_record(lake)?;
        Ok(tables)
    }

    /// Records come before their rows. Without the one that the tables stand at the log is older than they are, and the next
    /// batch would take a number that they have passed: its rows would never come.
    fn has_record(&self, lake: &Lake) -> Result<()> {
        if self.k == 0 || log::read(lake, self.k)?.is_some() {
            return Ok(());
        }
        Err(Error::Damaged {
            path: lake.at(&names::log_record(self.k)),
            what: format!("it is missing, though the tables stand at version {}", self.k),
        })
    }

    pub(crate) fn open_generation(lake: &Lake, generation: u32) -> Result<Tables> {
        let opened = all_four(lake, |name| async move {
            let folder = names::table(generation, name);
            delta::open_or_create(lake, &folder, &schema::of(name), &PARTITIONS).await
        })?;
        let tables = opened.try_into().map_err(|_| Error::NoLake(lake.address().into()))?;
        Self::whole(lake, generation, tables)
    }

    fn whole(lake: &Lake, generation: u32, tables: [DeltaTable; 4]) -> Result<Tables> {
        let k = lake.wait(delta::version_in(&tables[3]))?.unwrap_or(0);
        Ok(Tables { generation, tables, k })
    }

    /// The lake's version that the tables stand at.
    pub fn k(&self) -> u64 {
        self.k
    }

    /// Number of the generation.
    pub fn generation(&self) -> u32 {
        self.generation
    }

    /// One of the derived tables by name.
    pub fn table(&self, name: &str) -> Option<&DeltaTable> {
        schema::TABLES.iter().position(|n| *n == name).map(|i| &self.tables[i])
    }

    /// The version that a commit cut short has put into some tables but not into `segments`; it is finished first.
    pub(crate) fn pending(&self, lake: &Lake) -> Result<Option<u64>> {
        let mut pending = None;
        for table in &self.tables[..3] {
            let k = lake.wait(delta::version_in(table))?.unwrap_or(0);
            if k > self.k {
                pending = Some(pending.map_or(k, |p: u64| p.min(k)));
            }
        }
        Ok(pending)
    }

    /// Commits what was prepared as version `k`, `segments` last. False when another did it.
    ///
    /// # Errors
    /// Those of the store; some of the tables may have it then, and a derive finishes the rest.
    pub fn commit(&mut self, lake: &Lake, prepared: Prepared, k: u64) -> Result<bool> {
        let Prepared { events, verdicts, rejects, segments } = prepared;
        let mut by_partition: BTreeMap<(&str, &str), Vec<&SegmentRow>> = BTreeMap::new();
        for row in &segments {
            let place = &row.branch.place;
            by_partition.entry((&place.org, &place.date)).or_default().push(row);
        }
        let folder = names::table(self.generation, "segments");
        let mut last = Vec::new();
        for ((org, date), rows) in by_partition {
            let mut file = ParquetFile::new(file_schema(&schema::segments()), 1);
            file.write(&segment_rows::segments(&rows)?)?;
            if let Some(encoded) = file.finish()? {
                last.push(parquet_file::put(lake, &folder, Some((org, date)), encoded, true)?);
            }
        }
        // Files before the log entries that name them.
        lake.sync_all()?;
        let mut ours = true;
        for (table, adds) in self.tables.iter_mut().zip([events, verdicts, rejects, last]) {
            let done = lake.wait(delta::append_as(table, adds, k, &PARTITIONS))?;
            ours = done == delta::Committed::Yes;
        }
        lake.sync_all()?;
        self.k = self.k.max(k);
        Ok(ours)
    }

    /// Hands over the rows of a derived table, batch by batch; organisation and date stand in the log, not in them.
    ///
    /// # Errors
    /// Those of the store and of Parquet.
    pub fn scan(&self, lake: &Lake, name: &str, mut each: impl FnMut(&RecordBatch)) -> Result<()> {
        let Some(table) = self.table(name) else { return Ok(()) };
        for_each_file(lake, &names::table(self.generation, name), delta::files(table)?, None, |_, batch| {
            each(batch);
            Ok(())
        })
    }

    /// The branches in the tables, sorted by session and branch; with `only`, those of these sessions.
    ///
    /// # Errors
    /// Those of the store and of Parquet.
    pub fn branches(&self, lake: &Lake, only: Option<&HashSet<String>>, at: Option<u64>) -> Result<Vec<Branch>> {
        let folder = names::table(self.generation, "segments");
        let mut found: BTreeMap<(String, u32), Vec<(Segment, Branch)>> = BTreeMap::new();
        for_each_file(lake, &folder, delta::files(&self.tables[3])?, None, |add, batch| {
            read_segments(add, batch, only, at, &mut found);
            Ok(())
        })?;
        Ok(found.into_values().filter_map(join).collect())
    }
}

/// The segments of one branch in order; its summary is that of the last one.
fn join(mut rows: Vec<(Segment, Branch)>) -> Option<Branch> {
    rows.sort_by_key(|(segment, _)| segment.end);
    let (first, _) = rows.first()?;
    let (source, host) = (Some(first.source.clone()), Some(first.host.clone()));
    // Not collected: that would keep the room of the rows, and there is a branch for each session of the lake.
    let mut segments = Vec::with_capacity(rows.len());
    let mut newest = None;
    for (segment, branch) in rows {
        segments.push(segment);
        newest = Some(branch);
    }
    Some(Branch { source, host, segments, ..newest? })
}

/// Does the same for each derived table at once, and waits for all of them: one that is dropped on the way, because another
/// failed, makes the Delta kernel panic.
fn all_four<T, F: Future<Output = Result<T>>>(lake: &Lake, one: impl Fn(&'static str) -> F) -> Result<Vec<T>> {
    let done: Vec<Result<T>> = lake.wait(futures::future::join_all(schema::TABLES.map(one)));
    done.into_iter().collect()
}

/// Reads a table's files one after the other (some ahead) and hands over their batches.
pub(crate) fn for_each_file(
    lake: &Lake,
    folder: &str,
    files: Vec<Add>,
    columns: Option<&[&str]>,
    mut each: impl FnMut(&Add, &RecordBatch) -> Result<()>,
) -> Result<()> {
    let mut bodies = stream::iter(files)
        .map(|add| async move {
            let path = Path::from(format!("{folder}/{}", add.path));
            let body = async { lake.store().get(&path).await?.bytes().await }.await;
            body.map(|body| (add, body)).map_err(Error::store("reading", lake.at(&path)))
        })
        .buffered(AT_ONCE)
        .boxed();
    while let Some(read) = lake.wait(bodies.next()) {
        let (add, body) = read?;
        for batch in batches(body, columns, &add.path)? {
            each(&add, &batch)?;
        }
    }
    Ok(())
}

fn batches(body: Bytes, columns: Option<&[&str]>, name: &str) -> Result<Vec<RecordBatch>> {
    let fail = |e| Error::arrow("reading", name)(e);
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(body).map_err(fail)?;
    if let Some(columns) = columns {
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        builder = builder.with_projection(mask);
    }
    builder.build().map_err(fail)?.collect::<std::result::Result<Vec<_>, _>>().map_err(Error::arrow("reading", name))
}

fn read_segments(
    add: &Add,
    batch: &RecordBatch,
    only: Option<&HashSet<String>>,
    at: Option<u64>,
    found: &mut BTreeMap<(String, u32), Vec<(Segment, Branch)>>,
) {
    let partition = |name: &str| add.partition_values.get(name).cloned().flatten().unwrap_or_default();
    let (org, date) = (partition("org"), partition("date"));
    let text = |name: &str, i: usize| -> Option<String> {
        let column = batch.column_by_name(name)?.as_string_opt::<i32>()?;
        column.is_valid(i).then(|| column.value(i).to_owned())
    };
    let whole = |name: &str, i: usize| -> u64 {
        let column = batch.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
        column.filter(|c| c.is_valid(i)).and_then(|c| u64::try_from(c.value(i)).ok()).unwrap_or(0)
    };
    let time = |name: &str, i: usize| -> Option<i64> {
        let column = batch.column_by_name(name)?.as_primitive_opt::<TimestampMicrosecondType>()?;
        column.is_valid(i).then(|| column.value(i) / 1000)
    };
    for i in 0..batch.num_rows() {
        let Some(session_id) = text("session_id", i) else { continue };
        if only.is_some_and(|only| !only.contains(&session_id)) || at.is_some_and(|at| whole("k", i) > at) {
            continue;
        }
        let branch = batch
            .column_by_name("branch")
            .and_then(|c| c.as_primitive_opt::<Int32Type>())
            .and_then(|c| u32::try_from(c.value(i)).ok())
            .unwrap_or(0);
        let flags = batch
            .column_by_name("flags")
            .and_then(|c| c.as_list_opt::<i32>())
            .map(|list| list.value(i))
            .and_then(|one| Some(one.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned).collect::<Vec<_>>()))
            .unwrap_or_default();
        let segment = Segment {
            offset: whole("offset", i),
            end: whole("end", i),
            first_line: whole("first_line", i),
            next_line: whole("next_line", i),
            sha256_end: text("sha256_end", i).unwrap_or_default(),
            raw: text("raw", i).unwrap_or_default(),
            raw_offset: whole("raw_offset", i),
            raw_bytes: whole("raw_bytes", i),
            k: whole("k", i),
            at: time("at", i).unwrap_or(0),
            source: text("source", i).unwrap_or_default(),
            host: text("host", i).unwrap_or_default(),
        };
        let row = Branch {
            session_id: session_id.clone(),
            branch,
            place: Place { org: org.clone(), repo: text("repo", i).unwrap_or_default(), date: date.clone() },
            segments: Vec::new(),
            source: None,
            host: None,
            harness: text("harness", i),
            version: text("version", i),
            model: text("model", i),
            task_id: text("task_id", i),
            base_commit: text("base_commit", i),
            repo_url: text("repo_url", i),
            started_at: time("started_at", i),
            ended_at: time("ended_at", i),
            ended_by: text("ended_by", i),
            recorded_outcome: text("recorded_outcome", i),
            counts: Counts {
                lines: whole("lines", i),
                events: whole("events", i),
                rejects: whole("rejects", i),
                messages: whole("messages", i),
                tool_calls: whole("tool_calls", i),
                verdicts: whole("verdicts", i),
            },
            flags,
        };
        // Nearly every branch has one segment.
        found.entry((session_id, branch)).or_insert_with(|| Vec::with_capacity(1)).push((segment, row));
    }
}
