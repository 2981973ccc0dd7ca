//! The log: one record a batch, each naming the hash of the one before. Putting a record is the only commit.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{Error, Lake, Result, names};

/// A batch's record: `log/<k>.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The lake's version that this batch makes.
    pub k: u64,
    /// SHA-256 of the record before, hex; null for the first.
    pub prev: Option<String>,
    /// When, RFC 3339 UTC; never before the previous record's.
    pub at: String,
    /// Where the traces came from.
    pub source: String,
    /// The machine that sent them.
    pub host: String,
    /// What the batch holds.
    pub segments: Vec<SegmentRecord>,
}

/// One segment of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRecord {
    /// The session that the file is of.
    pub session_id: String,
    /// Organisation, percent-encoded.
    pub org: String,
    /// Repository, percent-encoded.
    pub repo: String,
    /// `YYYY-MM-DD`.
    pub date: String,
    /// First byte in the file.
    pub offset: u64,
    /// One past the last byte in the file.
    pub end: u64,
    /// Number of the first line, from 1.
    pub first_line: u64,
    /// SHA-256 of the file's bytes `[0, offset)`, hex.
    pub sha256_before: String,
    /// SHA-256 of the file's bytes `[0, end)`, hex.
    pub sha256_end: String,
    /// The raw object.
    pub raw: String,
    /// Its size as stored, bytes.
    pub raw_bytes: u64,
}

impl Record {
    /// `at` in milliseconds since 1970 UTC.
    pub fn at_ms(&self) -> i64 {
        lake_trace::parse_ts(&self.at).unwrap_or(0)
    }
}

/// The last record that is known: the lake's version and that record's hash. An empty lake is at 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tip {
    /// The lake's version.
    pub k: u64,
    /// SHA-256 of record k, hex; empty at 0.
    pub sha256: String,
    /// `at` of record k, milliseconds since 1970 UTC.
    pub at: i64,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Put {
    /// The record stands.
    Committed(Tip),
    /// Another's record stands at that number.
    Taken,
}

fn tip_of(record: &Record, bytes: &[u8]) -> Tip {
    Tip { k: record.k, sha256: hex::encode(Sha256::digest(bytes)), at: record.at_ms() }
}

/// Reads record k; None when it is not there.
///
/// # Errors
/// Those of the store, and [`Error::Damaged`].
pub fn read(lake: &Lake, k: u64) -> Result<Option<(Record, Tip)>> {
    lake.wait(read_async(lake, k))
}

async fn read_async(lake: &Lake, k: u64) -> Result<Option<(Record, Tip)>> {
    let path = names::log_record(k);
    let bytes = match async { lake.store().get(&path).await?.bytes().await }.await {
        Ok(bytes) => bytes,
        Err(object_store::Error::NotFound { .. }) => return Ok(None),
        Err(e) => return Err(Error::store("reading", lake.at(&path))(e)),
    };
    let damaged = |what: String| Error::Damaged { path: lake.at(&path), what };
    let record: Record = serde_json::from_slice(&bytes).map_err(|e| damaged(e.to_string()))?;
    if record.k != k {
        return Err(damaged(format!("it says that it is record {}", record.k)));
    }
    let tip = tip_of(&record, &bytes);
    Ok(Some((record, tip)))
}

/// Hands every record after `from` to `each`, in order, and returns the last. Checks that each names the one before.
///
/// # Errors
/// Those of the store, of `each`, and [`Error::Damaged`] for a chain that does not hold.
pub fn follow(lake: &Lake, from: Tip, mut each: impl FnMut(Record, &Tip) -> Result<()>) -> Result<Tip> {
    const AHEAD: usize = 16;
    // The listing may be late; it only says how far one can read many at a time. What comes after is asked for by name.
    let listed = lake
        .wait(
            lake.store()
                .list_with_offset(Some(&names::log_folder()), &names::log_record(from.k))
                .map_ok(|meta| names::record_number(&meta.location))
                .try_fold(0u64, |last, k| async move { Ok(last.max(k.unwrap_or(0))) }),
        )
        .map_err(Error::store("listing", lake.at(&names::log_folder())))?;
    let mut tip = from;
    let mut take = |record: Record, next: Tip, tip: &mut Tip| -> Result<()> {
        if record.prev.as_deref().unwrap_or("") != tip.sha256 {
            return Err(Error::Damaged {
                path: lake.at(&names::log_record(record.k)),
                what: format!("it does not follow record {}: its `prev` is another hash", tip.k),
            });
        }
        each(record, &next)?;
        *tip = next;
        Ok(())
    };
    if listed > tip.k {
        let numbers = (tip.k + 1)..=listed;
        let mut records = stream::iter(numbers).map(|k| read_async(lake, k)).buffered(AHEAD).boxed();
        while let Some(read) = lake.wait(records.next()) {
            let Some((record, next)) = read? else { break };
            take(record, next, &mut tip)?;
        }
    }
    while let Some((record, next)) = read(lake, tip.k + 1)? {
        take(record, next, &mut tip)?;
    }
    if tip.k < listed {
        // Whoever put a record here would cut off all that follow.
        return Err(Error::Damaged {
            path: lake.at(&names::log_record(tip.k + 1)),
            what: format!("it is missing, though record {listed} is there"),
        });
    }
    Ok(tip)
}

/// Puts the record that follows `tip`, after all that it names has reached the disk.
///
/// # Errors
/// Those of the store. A reply that was lost is no error: what stands there decides.
pub fn put(lake: &Lake, record: &Record) -> Result<Put> {
    let path = names::log_record(record.k);
    let body = serde_json::to_vec(record).map_err(|e| Error::Damaged { path: lake.at(&path), what: e.to_string() })?;
    lake.sync_all()?;
    let ours = tip_of(record, &body);
    let mut wait = Duration::from_millis(50);
    let mut tries = 0;
    loop {
        let reply = lake.wait(lake.store().put_opts(&path, body.clone().into(), PutMode::Create.into()));
        if reply.is_ok() {
            lake.sync_one(&path)?;
            return Ok(Put::Committed(ours));
        }
        // A lost reply, another's record, or no record at all: only reading tells.
        match read(lake, record.k) {
            Ok(Some((_, there))) if there.sha256 == ours.sha256 => {
                lake.sync_one(&path)?;
                return Ok(Put::Committed(ours));
            }
            Ok(Some(_)) => return Ok(Put::Taken),
            Ok(None) | Err(_) if tries < 4 => {
                tries += 1;
                std::thread::sleep(wait);
                wait *= 2;
            }
            Err(e) => return Err(e),
            Ok(None) => {
                return Err(match reply {
                    Err(e) => Error::store("committing", lake.at(&path))(e),
                    Ok(_) => Error::Damaged { path: lake.at(&path), what: "it was put and is gone".into() },
                });
            }
        }
    }
}

/// The newest record's number, asked for by name from `from` on.
///
/// # Errors
/// Those of the store.
pub fn tip(lake: &Lake) -> Result<Tip> {
    let folder = names::log_folder();
    let mut last = lake
        .wait(
            lake.store()
                .list(Some(&folder))
                .map_ok(|meta| names::record_number(&meta.location))
                .try_fold(0u64, |last, k| async move { Ok(last.max(k.unwrap_or(0))) }),
        )
        .map_err(Error::store("listing", lake.at(&folder)))?;
    let mut tip = match read(lake, last)? {
        Some((_, tip)) => tip,
        None => Tip::default(),
    };
    while let Some((_, next)) = read(lake, last + 1)? {
        last += 1;
        tip = next;
    }
    Ok(tip)
}

/// Commit time of a record as the store has it: last modified; on a folder the record's own `at`, which is unprotected.
///
/// # Errors
/// Those of the store.
pub fn committed_at(lake: &Lake, k: u64) -> Result<Option<i64>> {
    let path: Path = names::log_record(k);
    if let Some((record, _)) = read(lake, k)? {
        if lake.is_folder() {
            return Ok(Some(record.at_ms()));
        }
        let meta = lake.wait(lake.store().head(&path)).map_err(Error::store("looking at", lake.at(&path)))?;
        return Ok(Some(meta.last_modified.timestamp_millis()));
    }
    Ok(None)
}
