//! Merges a partition's small files into few, without changing a row.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::{Array, AsArray, RecordBatch};
use deltalake::kernel::{Action, Add, Remove};
use deltalake::protocol::{DeltaOperation, SaveMode};

use crate::parquet_file::{self, PARTITIONS, ParquetFile, file_schema};
use crate::tables::{Tables, for_each_file};
use crate::{Lake, Result, delta, names, schema};

/// Files up to this are merged, bytes.
const SMALL: i64 = 64 << 20;
/// Level of zstd for files that stay.
const LEVEL: i32 = 3;

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Files that were merged.
    pub files_before: u64,
    /// Files that they became.
    pub files_after: u64,
    /// Bytes of the files that were merged.
    pub bytes_before: u64,
    /// Bytes of the files that they became.
    pub bytes_after: u64,
}

/// Merges the small files of each partition of each derived table. The old files stay where they are.
///
/// # Errors
/// Those of the store. What was committed before an error stays.
pub fn compact(lake: &Lake, dry_run: bool, stop: &AtomicBool) -> Result<Compacted> {
    let mut done = Compacted::default();
    let Some(mut tables) = Tables::open(lake)? else { return Ok(done) };
    for (i, name) in schema::TABLES.iter().enumerate() {
        let folder = names::table(tables.generation, name);
        let mut partitions: BTreeMap<(String, String), Vec<Add>> = BTreeMap::new();
        for add in delta::files(&tables.tables[i])? {
            let value = |key: &str| add.partition_values.get(key).cloned().flatten().unwrap_or_default();
            if add.size <= SMALL {
                partitions.entry((value("org"), value("date"))).or_default().push(add);
            }
        }
        for ((org, date), mut adds) in partitions {
            if stop.load(Ordering::Relaxed) {
                return Err(crate::Error::Stopped);
            }
            if adds.len() < 2 {
                continue;
            }
            // By time, then name: a session's later segments stay after its earlier ones.
            adds.sort_by(|a, b| (a.modification_time, &a.path).cmp(&(b.modification_time, &b.path)));
            let size = |adds: &[Add]| adds.iter().map(|a| u64::try_from(a.size).unwrap_or(0)).sum::<u64>();
            let (files_before, bytes_before) = (adds.len() as u64, size(&adds));
            if dry_run {
                done.files_before += files_before;
                done.bytes_before += bytes_before;
                continue;
            }
            let merged = merge(lake, &folder, name, (&org, &date), adds.clone())?;
            let (files_after, bytes_after) = (merged.len() as u64, size(&merged));
            // Another compaction may have merged them first: then its files stand, and ours are no part of anything.
            if replace(lake, &mut tables, i, adds, merged)? == delta::Committed::Yes {
                done.files_before += files_before;
                done.bytes_before += bytes_before;
                done.files_after += files_after;
                done.bytes_after += bytes_after;
            }
        }
    }
    lake.sync_all()?;
    Ok(done)
}

fn merge(lake: &Lake, folder: &str, name: &str, place: (&str, &str), adds: Vec<Add>) -> Result<Vec<Add>> {
    let schema = file_schema(&schema::of(name));
    let mut file = ParquetFile::new(Arc::clone(&schema), LEVEL);
    let mut merged = Vec::new();
    let mut last: Option<String> = None;
    for_each_file(lake, folder, adds, None, |_, batch| {
        let (first, end) = edges(batch);
        // A file ends between two sessions.
        if file.is_full()
            && last != first
            && let Some(encoded) = file.finish()?
        {
            merged.push(parquet_file::put(lake, folder, Some(place), encoded, false)?);
        }
        last = end;
        file.write(batch)
    })?;
    if let Some(encoded) = file.finish()? {
        merged.push(parquet_file::put(lake, folder, Some(place), encoded, false)?);
    }
    Ok(merged)
}

/// The first and the last session of a batch.
fn edges(batch: &RecordBatch) -> (Option<String>, Option<String>) {
    let Some(ids) = batch.column_by_name("session_id").and_then(|c| c.as_string_opt::<i32>()) else {
        return (None, None);
    };
    let value = |i: usize| (i < ids.len()).then(|| ids.value(i).to_owned());
    (value(0), ids.len().checked_sub(1).and_then(value))
}

fn replace(lake: &Lake, tables: &mut Tables, i: usize, old: Vec<Add>, new: Vec<Add>) -> Result<delta::Committed> {
    lake.sync_all()?;
    let paths: Vec<String> = old.iter().map(|add| add.path.clone()).collect();
    let now = chrono::Utc::now().timestamp_millis();
    let mut actions: Vec<Action> = old
        .into_iter()
        .map(|add| {
            Action::Remove(Remove {
                path: add.path,
                data_change: false,
                deletion_timestamp: Some(now),
                extended_file_metadata: Some(true),
                partition_values: Some(add.partition_values),
                size: Some(add.size),
                ..Remove::default()
            })
        })
        .collect();
    actions.extend(new.into_iter().map(Action::Add));
    let operation = DeltaOperation::Write {
        mode: SaveMode::Append,
        partition_by: Some(PARTITIONS.iter().map(|p| (*p).to_owned()).collect()),
        predicate: None,
    };
    lake.wait(delta::replace(&mut tables.tables[i], &paths, actions, operation))
}
