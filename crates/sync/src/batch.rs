//! Takes files of a batch: cuts, compresses and uploads them, and makes their rows on the way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use lake_store::{BatchMeta, BranchWriter, Lake, Prepared, Segment, SegmentRecord, Sink, raw};
use lake_trace::{Flags, Place};
use rayon::prelude::*;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use crate::cut::{Cut, Cutter, bytes_have_end, has_end};
use crate::find::{self, Found};
use crate::{BadLine, Options, Problem, Progress};

/// Bytes of raw objects that are on their way to the store at once.
const IN_FLIGHT: usize = 64 << 20;
/// Requests that are on their way at once.
const REQUESTS: usize = 32;
/// Segments from this size on are taken one at a time, bytes.
const LARGE: u64 = 8 << 20;

/// What is the same for all files of a batch.
pub(crate) struct Context<'a> {
    pub(crate) lake: &'a Lake,
    pub(crate) options: &'a Options,
    pub(crate) batch: BatchMeta,
    /// Generation to make rows for; None leaves them to a later derive.
    pub(crate) generation: Option<u32>,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) bytes: Arc<Semaphore>,
    pub(crate) requests: Arc<Semaphore>,
    pub(crate) large: Mutex<()>,
}

/// Permits of the semaphore over bytes: one a KiB.
pub(crate) fn byte_permits() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(IN_FLIGHT >> 10))
}

pub(crate) fn request_permits() -> Arc<Semaphore> {
    Arc::new(Semaphore::new(REQUESTS))
}

/// How a file came to be in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Became {
    /// The lake did not have the session, or has another version of it.
    New,
    /// It begins with what the lake has.
    Grown,
    /// The lake has all of it.
    Unchanged,
    /// It has not ended yet.
    Unfinished,
    /// It could not be read, or the run was told to stop before it.
    Left,
}

/// A file and what the log knows of its session.
pub(crate) struct Item {
    pub(crate) found: Found,
    pub(crate) heads: Vec<(u64, String)>,
}

/// What became of one file.
pub(crate) struct Taken {
    pub(crate) item: usize,
    pub(crate) became: Became,
    pub(crate) segments: Vec<SegmentRecord>,
    pub(crate) bytes: u64,
    pub(crate) rejected: u64,
    pub(crate) bad: Vec<BadLine>,
    pub(crate) problem: Option<Problem>,
    /// Nothing was written, but would have been.
    dry: bool,
}

/// What became of a task's files; `prepared` is None where their rows could not be made on the way.
pub(crate) struct Done {
    pub(crate) taken: Vec<Taken>,
    pub(crate) prepared: Option<Prepared>,
}

/// Takes the files of some tasks, each task on one thread.
pub(crate) fn take_all(context: &Context<'_>, items: &[Item], tasks: Vec<Vec<usize>>) -> lake_store::Result<Done> {
    let parts: Vec<lake_store::Result<Done>> =
        tasks.into_par_iter().with_max_len(1).map(|task| take_task(context, items, &task)).collect();
    let mut done = Done { taken: Vec::new(), prepared: context.generation.map(|_| Prepared::default()) };
    for part in parts {
        let part = part?;
        done.taken.extend(part.taken);
        done.prepared = match (done.prepared, part.prepared) {
            (Some(mut all), Some(one)) => {
                all.merge(one);
                Some(all)
            }
            _ => None,
        };
    }
    Ok(done)
}

struct Upload {
    expected: String,
    task: JoinHandle<lake_store::Result<String>>,
    /// Position of its file among those taken, and of its segment in it.
    at: (usize, usize),
}

fn take_task(context: &Context<'_>, items: &[Item], task: &[usize]) -> lake_store::Result<Done> {
    let mut sink = context.generation.map(|generation| Sink::new(context.lake, generation));
    let mut uploads = Vec::new();
    let mut taken: Vec<Taken> = Vec::new();
    let mut as_expected = true;
    for &item in task {
        if context.stop.load(Ordering::Relaxed) {
            break;
        }
        let file = &items[item];
        let mut one = Taken {
            item,
            became: Became::Left,
            segments: Vec::new(),
            bytes: 0,
            rejected: 0,
            bad: Vec::new(),
            problem: None,
            dry: false,
        };
        let read = take_file(context, file, &mut one, &mut sink, &mut uploads, taken.len(), &mut as_expected);
        context.progress.done(file.found.stamp.size);
        match read {
            Ok(()) => {}
            Err(Fault::Lake(e)) => return Err(e),
            Err(Fault::File(e)) => {
                let path = file.found.path.clone();
                one.problem = Some(Problem { path, what: format!("could not be read: {e}") });
                // Segments before the fault are whole and stay; the rest comes with the next run.
                if one.segments.is_empty() {
                    one.became = Became::Left;
                }
            }
        }
        taken.push(one);
    }
    for upload in uploads {
        let path = context
            .lake
            .runtime()
            .block_on(upload.task)
            .map_err(|e| lake_store::Error::Damaged { path: upload.expected.clone(), what: e.to_string() })??;
        if path != upload.expected {
            as_expected = false;
            taken[upload.at.0].segments[upload.at.1].raw = path;
        }
    }
    let prepared = match sink {
        Some(sink) if as_expected => Some(sink.finish()?),
        _ => None,
    };
    Ok(Done { taken, prepared })
}

enum Fault {
    Lake(lake_store::Error),
    File(std::io::Error),
}

impl From<lake_store::Error> for Fault {
    fn from(e: lake_store::Error) -> Fault {
        Fault::Lake(e)
    }
}

impl From<std::io::Error> for Fault {
    fn from(e: std::io::Error) -> Fault {
        Fault::File(e)
    }
}

fn take_file(
    context: &Context<'_>,
    file: &Item,
    one: &mut Taken,
    sink: &mut Option<Sink>,
    uploads: &mut Vec<Upload>,
    position: usize,
    as_expected: &mut bool,
) -> Result<(), Fault> {
    let Found { path, inside, stamp, .. } = &file.found;
    let idle_ms = i64::try_from(context.options.idle.as_millis()).unwrap_or(i64::MAX);
    // Without a wait everything is finished, whatever the two clocks say.
    let idle = idle_ms == 0 || context.options.now_ms.saturating_sub(stamp.modified_ms()) >= idle_ms;
    let small = stamp.size <= crate::cut::SEGMENT as u64;
    // A large file is looked through before anything of it is uploaded; a small one is in memory anyway.
    if !idle && !small && !has_end(inside.open()?, stamp.size, context.options.max_line)? {
        one.became = Became::Unfinished;
        return Ok(());
    }
    let mut cutter = Cutter::new(inside.open()?, stamp.size, context.options.max_line);
    let known = if file.heads.is_empty() { 0 } else { cutter.skip_known(&file.heads)? };
    let _alone = (stamp.size > LARGE).then(|| context.large.lock().unwrap_or_else(PoisonError::into_inner));
    let mut writer: Option<BranchWriter> = None;
    let mut place: Option<(String, Place)> = None;
    while let Some(cut) = cutter.next()? {
        if !idle && small && one.segments.is_empty() && known == 0 && !one.dry && !bytes_have_end(&cut.bytes) {
            one.became = Became::Unfinished;
            return Ok(());
        }
        if small && known == 0 && cut.bytes.iter().all(u8::is_ascii_whitespace) {
            // Blank lines are no lines: there is no session to speak of.
            one.became = Became::Unchanged;
            return Ok(());
        }
        let (session_id, place) = match &place {
            Some((session_id, place)) => (session_id.clone(), place.clone()),
            None => {
                let found = where_it_belongs(file, known, &cut)?;
                place = Some(found.clone());
                found
            }
        };
        one.became = if known > 0 { Became::Grown } else { Became::New };
        one.bytes += cut.bytes.len() as u64;
        if context.options.dry_run {
            count_rejects(one, path, &cut);
            one.dry = true;
            continue;
        }
        if session_id != file.found.session_id {
            // It was rewritten since it was looked at: what the log knows of the session was not asked for.
            *as_expected = false;
        }
        let (record, upload) = send(context, &session_id, &place, &cut, (position, one.segments.len()))?;
        uploads.push(upload);
        if let (Some(sink), 0) = (sink.as_mut(), known) {
            let writer = writer.get_or_insert_with(|| BranchWriter::new(&session_id, 0, place, Flags::default()));
            let segment = Segment {
                offset: cut.offset,
                end: cut.end,
                first_line: cut.first_line,
                sha256_end: cut.sha256_end.clone(),
                raw: record.raw.clone(),
                raw_offset: cut.offset,
                raw_bytes: record.raw_bytes,
                ..Segment::default()
            };
            let bad = writer.take(segment, &cut.sha256_before, &cut.bytes, &context.batch, sink)?;
            note(one, path, bad);
        } else {
            count_rejects(one, path, &cut);
        }
        one.segments.push(record);
    }
    if one.segments.is_empty() && !one.dry {
        one.became = if known > 0 || stamp.size == 0 { Became::Unchanged } else { Became::Unfinished };
    }
    Ok(())
}

/// Session and place of a file, from its first segment; the place of one that grew from its first bytes.
fn where_it_belongs(file: &Item, known: u64, cut: &Cut) -> Result<(String, Place), Fault> {
    if known > 0 {
        return Ok((file.found.session_id.clone(), file.found.place.clone()));
    }
    let fold = find::fold(&cut.bytes, true);
    let session_id = fold.session_id().map_or_else(|| find::name_of(&file.found.path), str::to_owned);
    Ok((session_id, fold.place()))
}

fn note(one: &mut Taken, path: &std::path::Path, bad: lake_store::BadLines) {
    one.rejected += bad.count;
    let told = bad.first.into_iter().map(|b| BadLine { path: path.to_owned(), line: b.line, reason: b.reason });
    one.bad.extend(told.take(100));
}

/// The bad lines of a segment whose rows are made later.
fn count_rejects(one: &mut Taken, path: &std::path::Path, cut: &Cut) {
    let mut scratch = String::new();
    for (i, line) in lake_trace::lines(&cut.bytes).enumerate() {
        let number = cut.first_line + i as u64;
        if let Err(reason) = lake_trace::parse_line(line.bytes, number, &mut scratch) {
            one.rejected += 1;
            if one.bad.len() < 100 {
                one.bad.push(BadLine { path: path.to_owned(), line: number, reason: reason.to_string() });
            }
        }
    }
}

/// Compresses a segment and starts its upload; waits where too much is under way.
fn send(
    context: &Context<'_>,
    session_id: &str,
    place: &Place,
    cut: &Cut,
    at: (usize, usize),
) -> Result<(SegmentRecord, Upload), Fault> {
    let body = Bytes::from(raw::compress(&cut.bytes)?);
    let raw_bytes = body.len() as u64;
    let expected = raw::name(place, session_id, cut.end, &cut.sha256_end);
    let permits = u32::try_from((body.len() >> 10).clamp(1, IN_FLIGHT >> 10)).unwrap_or(1);
    let runtime = context.lake.runtime();
    let closed = |_| lake_store::Error::Stopped;
    let bytes = runtime.block_on(Arc::clone(&context.bytes).acquire_many_owned(permits)).map_err(closed)?;
    let request = runtime.block_on(Arc::clone(&context.requests).acquire_owned()).map_err(closed)?;
    let (lake, place, session, end, sha) =
        (context.lake.clone(), place.clone(), session_id.to_owned(), cut.end, cut.sha256_end.clone());
    let record = SegmentRecord {
        session_id: session.clone(),
        org: place.org.clone(),
        repo: place.repo.clone(),
        date: place.date.clone(),
        offset: cut.offset,
        end,
        first_line: cut.first_line,
        sha256_before: cut.sha256_before.clone(),
        sha256_end: sha.clone(),
        raw: expected.clone(),
        raw_bytes,
    };
    let task = runtime.spawn(async move {
        let put = raw::put(&lake, &place, &session, end, &sha, body).await;
        drop((bytes, request));
        put
    });
    Ok((record, Upload { expected, task, at }))
}
