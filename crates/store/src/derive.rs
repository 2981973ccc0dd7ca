//! Brings the tables up to the log: records strictly in order, several a commit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::log::{self, Record, SegmentRecord};
use crate::session::{Session, Told};
use crate::sink::{Prepared, Sink};
use crate::tables::{self, Tables};
use crate::{BatchMeta, Error, Lake, Result, Tip};

/// Segments that one commit takes, unless a single record has more.
const SEGMENTS: usize = 4096;
/// Length of the bytes that one commit takes.
const BYTES: u64 = 1 << 30;
/// Length of the bytes that one thread takes at a time.
const TASK: u64 = 16 << 20;
/// How often it gives way to another that derives the same records.
const ATTEMPTS: u32 = 20;

/// What a derive did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived {
    /// The lake's version that the tables stood at before.
    pub from: u64,
    /// And after.
    pub to: u64,
    /// Rows that were added to `segments`.
    pub segments: u64,
    /// What a person should know: purged and damaged objects, segments whose bytes before them are missing.
    pub notes: Vec<String>,
    /// Segments that were left out because an object is damaged; each has a note.
    pub damaged: u64,
}

/// What was left out of a commit.
#[derive(Default)]
struct Left {
    notes: Vec<String>,
    damaged: u64,
}

/// What is known while it runs: length of the bytes that were looked at since the last call.
pub type OnBytes<'a> = &'a (dyn Fn(u64) + Sync);

/// Derives what is behind, up to the log's end.
///
/// # Errors
/// Those of the store; [`Error::Parser`]; [`Error::Stopped`] between two commits.
pub fn derive(lake: &Lake, stop: &AtomicBool, on_bytes: OnBytes<'_>) -> Result<Derived> {
    let mut tables = Tables::open_to_derive(lake)?;
    derive_into(lake, &mut tables, stop, on_bytes)
}

/// Makes the tables anew as the next generation, which is read once it is whole. Returns its number.
///
/// # Errors
/// As [`derive()`]. A run that was cut short is carried on by the next.
pub fn rebuild(lake: &Lake, stop: &AtomicBool, on_bytes: OnBytes<'_>) -> Result<(u32, Derived)> {
    let next = tables::newest(lake)?.unwrap_or(0) + 1;
    let next = tables::claim(lake, next)?;
    let mut fresh = Tables::open_generation(lake, next)?;
    let derived = derive_into(lake, &mut fresh, stop, on_bytes)?;
    tables::announce(lake, next, fresh.k())?;
    Ok((next, derived))
}

fn derive_into(lake: &Lake, tables: &mut Tables, stop: &AtomicBool, on_bytes: OnBytes<'_>) -> Result<Derived> {
    let mut done = Derived { from: tables.k, to: tables.k, ..Derived::default() };
    let mut attempts = 0;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let from = start(lake, tables.k)?;
        let pending = tables.pending(lake)?;
        let records = next_records(lake, from, pending)?;
        let Some(last) = records.last().map(|r| r.k) else {
            done.to = tables.k;
            return Ok(done);
        };
        let (prepared, left) = prepare(lake, tables, &records, stop, on_bytes)?;
        let rows = prepared.segments.len() as u64;
        match tables.commit(lake, prepared, last) {
            Ok(true) => {
                done.segments += rows;
                done.notes.extend(left.notes);
                done.damaged += left.damaged;
                attempts = 0;
            }
            Ok(false) => {
                *tables = Tables::open_generation(lake, tables.generation)?;
            }
            // Another may have committed a range that ends elsewhere: look again, and go on from there.
            Err(e) if attempts < ATTEMPTS => {
                attempts += 1;
                let before = tables.k;
                *tables = Tables::open_generation(lake, tables.generation).map_err(|_| e)?;
                tracing::debug!(before, now = tables.k, "another derives the same records");
            }
            Err(e) => return Err(e),
        }
    }
}

/// The tip at version k: what the record after it must name.
fn start(lake: &Lake, k: u64) -> Result<Tip> {
    if k == 0 {
        return Ok(Tip::default());
    }
    let missing = || Error::Damaged { path: format!("log/{k:020}.json"), what: "it is gone".into() };
    log::read(lake, k)?.map(|(_, tip)| tip).ok_or_else(missing)
}

/// The next records that one commit takes; up to `pending` and no further where a commit was cut short there.
fn next_records(lake: &Lake, from: Tip, pending: Option<u64>) -> Result<Vec<Record>> {
    let mut records: Vec<Record> = Vec::new();
    let mut tip = from;
    let (mut segments, mut bytes) = (0usize, 0u64);
    while pending.is_none_or(|last| tip.k < last) {
        let Some((record, next)) = log::read(lake, tip.k + 1)? else { break };
        if record.prev.as_deref().unwrap_or("") != tip.sha256 {
            return Err(Error::Damaged {
                path: format!("log/{:020}.json", record.k),
                what: format!("it does not follow record {}: its `prev` is another hash", tip.k),
            });
        }
        segments += record.segments.len();
        bytes += record.segments.iter().map(|s| s.end - s.offset).sum::<u64>();
        let full = pending.is_none() && !records.is_empty() && (segments > SEGMENTS || bytes > BYTES);
        if full {
            break;
        }
        records.push(record);
        tip = next;
    }
    Ok(records)
}

struct Work {
    session: Session,
    segments: Vec<(Arc<BatchMeta>, SegmentRecord)>,
}

impl Work {
    fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, s)| s.end - s.offset).sum()
    }
}

fn prepare(
    lake: &Lake,
    tables: &Tables,
    records: &[Record],
    stop: &AtomicBool,
    on_bytes: OnBytes<'_>,
) -> Result<(Prepared, Left)> {
    let mut by_session: BTreeMap<&str, Vec<(Arc<BatchMeta>, SegmentRecord)>> = BTreeMap::new();
    for record in records {
        let batch = Arc::new(BatchMeta {
            k: record.k,
            at: record.at_ms(),
            source: record.source.clone(),
            host: record.host.clone(),
        });
        for segment in &record.segments {
            by_session.entry(&segment.session_id).or_default().push((Arc::clone(&batch), segment.clone()));
        }
    }
    let sessions: HashSet<String> = by_session.keys().map(|s| (*s).to_owned()).collect();
    let mut existing: HashMap<String, Vec<crate::Branch>> = HashMap::new();
    if tables.k > 0 {
        for branch in tables.branches(lake, Some(&sessions), None)? {
            existing.entry(branch.session_id.clone()).or_default().push(branch);
        }
    }
    let mut work: Vec<Work> = by_session
        .into_iter()
        .map(|(id, segments)| Work { session: Session::new(id, existing.remove(id).unwrap_or_default()), segments })
        .collect();
    // In order of partition, so that few files are open at a time.
    let key = |w: &Work| {
        let (_, s) = &w.segments[0];
        (s.date.clone(), s.org.clone(), s.session_id.clone())
    };
    work.sort_by_cached_key(key);
    let mut tasks: Vec<Vec<Work>> = Vec::new();
    let mut size = 0;
    let mut partition = None;
    for one in work {
        let here = Some((one.segments[0].1.date.clone(), one.segments[0].1.org.clone()));
        if tasks.is_empty() || size > TASK || partition != here {
            tasks.push(Vec::new());
            size = 0;
            partition = here;
        }
        size += one.bytes();
        if let Some(task) = tasks.last_mut() {
            task.push(one);
        }
    }
    let generation = tables.generation;
    let done: Vec<Result<(Prepared, Left)>> = tasks
        .into_par_iter()
        .map(|task| {
            let mut sink = Sink::new(lake, generation);
            let mut left = Left::default();
            for mut one in task {
                for (batch, segment) in one.segments {
                    if stop.load(Ordering::Relaxed) {
                        return Err(Error::Stopped);
                    }
                    let length = segment.end - segment.offset;
                    match one.session.take(lake, &batch, &segment, &mut sink)? {
                        Told::Rows | Told::Nothing => {}
                        Told::Note(note) => left.notes.push(note),
                        Told::Damaged(note) => {
                            left.notes.push(note);
                            left.damaged += 1;
                        }
                    }
                    on_bytes(length);
                }
            }
            Ok((sink.finish()?, left))
        })
        .collect();
    let mut prepared = Prepared::default();
    let mut left = Left::default();
    for one in done {
        let (part, told) = one?;
        prepared.merge(part);
        left.notes.extend(told.notes);
        left.damaged += told.damaged;
    }
    Ok((prepared, left))
}
