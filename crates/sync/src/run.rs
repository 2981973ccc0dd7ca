//! The pass over all data dirs: find, take, commit, derive.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lake_store::log::{self, Put};
use lake_store::{
    BatchMeta, Error, Heads, Lake, Prepared, Record, Result, SegmentRecord, Tables, Tip, heads, keep_heads,
};

use crate::batch::{Became, Context, Done, Item, Taken, byte_permits, request_permits, take_all};
use crate::cache::Cache;
use crate::find::{self, Found};
use crate::{DataDir, Options, Problem, Progress, Summary};

/// A batch holds at most this many segments,
const SEGMENTS: usize = 4096;
/// and at most these bytes of traces.
const BYTES: u64 = 1 << 30;
/// Bytes of traces that one thread takes at a time.
const TASK: u64 = 16 << 20;
/// A file that changed this recently may change again without another time stamp, milliseconds.
const SETTLED_MS: i64 = 2000;

/// Moves what is finished into the lake. Running it again takes what is new.
///
/// # Errors
/// Those of the store; [`Error::Stopped`]. What is wrong with one file is a [`Problem`], not an error.
pub fn sync(lake: &Lake, options: &Options, progress: &dyn Progress, stop: &AtomicBool) -> Result<Summary> {
    let mut run = Run { lake, options, progress, stop, summary: Summary::default(), tables: None, tip: Tip::default() };
    for dir in &options.data_dirs {
        run.data_dir(dir)?;
    }
    run.finish()
}

struct Run<'a> {
    lake: &'a Lake,
    options: &'a Options,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    summary: Summary,
    tables: Option<Tables>,
    tip: Tip,
}

impl<'a> Run<'a> {
    fn data_dir(&mut self, dir: &DataDir) -> Result<()> {
        if !dir.path.join("traces").is_dir() {
            let what = if dir.path.is_dir() { "has no folder `traces`" } else { "does not exist" };
            self.summary.problems.push(Problem { path: dir.path.clone(), what: what.into() });
            return Ok(());
        }
        let mut cache = Cache::open(self.options.cache.as_deref(), self.lake, &dir.source)?;
        let files = find::files(&dir.path, &mut self.summary.problems);
        self.summary.found += files.len() as u64;
        let there: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        cache.keep(|path| there.contains(path));
        let (known, changed): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| cache.has(&file.path, &file.stamp));
        self.summary.unchanged += known.len() as u64;
        self.progress.more(changed.iter().map(|file| file.stamp.size).sum());
        let found = find::peek(changed, self.options.max_line, &mut self.summary.problems);
        let sessions: HashSet<String> = found.iter().map(|f| f.session_id.clone()).collect();
        let (mut heads, tip) = heads(self.lake, Some(&sessions))?;
        self.tip = tip;
        if self.options.derive && !self.options.dry_run && !found.is_empty() {
            self.tables = match Tables::open_to_derive(self.lake) {
                Ok(tables) => Some(tables),
                // Told at the end; the raw log does not wait for it.
                Err(Error::Parser { .. }) => None,
                Err(e) => return Err(e),
            };
        }
        for round in rounds(found) {
            let (fresh, later): (Vec<Item>, Vec<Item>) = round
                .into_iter()
                .map(|found| Item { heads: heads.of(&found.session_id).to_vec(), found })
                // What is larger than a batch is cut over several, and its rows are made from the log.
                .partition(|item| item.heads.is_empty() && item.found.stamp.size <= BYTES);
            self.batches(dir, fresh, true, &mut heads, &sessions, &mut cache)?;
            self.batches(dir, later, false, &mut heads, &sessions, &mut cache)?;
        }
        if !self.options.dry_run {
            cache.save(&self.tip);
        }
        Ok(())
    }

    fn batches(
        &mut self,
        dir: &DataDir,
        mut items: Vec<Item>,
        rows: bool,
        heads: &mut Heads,
        sessions: &HashSet<String>,
        cache: &mut Cache,
    ) -> Result<()> {
        // In order of partition, so that few files are open at a time.
        items.sort_by(|a, b| {
            let key = |i: &Item| (i.found.place.date.clone(), i.found.place.org.clone());
            key(a).cmp(&key(b)).then_with(|| a.found.path.cmp(&b.found.path))
        });
        let mut rest = items.into_iter().peekable();
        let mut before: Option<Batch> = None;
        loop {
            let mut next: Vec<Item> = Vec::new();
            let mut size = 0;
            while let Some(item) = rest
                .next_if(|item| next.is_empty() || (next.len() < SEGMENTS / 2 && size + item.found.stamp.size <= BYTES))
            {
                size += item.found.stamp.size;
                next.push(item);
            }
            if next.is_empty() && before.is_none() {
                return Ok(());
            }
            // A commit waits for the disk: meanwhile the next batch is taken. They have no session in common.
            let plan = (!next.is_empty() && !self.is_stopped()).then(|| self.plan(dir, rows));
            let left = plan.is_none() && !next.is_empty();
            let (taken, committed) = thread::scope(|scope| {
                let taking = plan.map(|plan| scope.spawn(move || plan.take(next)));
                let committed = match before.take() {
                    Some(batch) => self.commit_batch(dir, batch, heads, sessions, cache),
                    None => Ok(()),
                };
                (taking.map(thread::ScopedJoinHandle::join), committed)
            });
            committed?;
            if left {
                return Err(Error::Stopped);
            }
            before = match taken {
                None => None,
                Some(Ok(batch)) => Some(batch?),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
            };
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// How the next batch is taken. The one before it may not be committed yet: where its rows are, those of this one
    /// will fit behind them.
    fn plan(&self, dir: &DataDir, rows: bool) -> Plan<'a> {
        let at = self.options.now_ms.max(self.tip.at);
        let tables = self.tables.as_ref().filter(|t| rows && t.k() == self.tip.k);
        Plan {
            lake: self.lake,
            options: self.options,
            progress: self.progress,
            stop: self.stop,
            batch: BatchMeta { k: 0, at, source: dir.source.clone(), host: self.options.host.clone() },
            generation: tables.map(Tables::generation),
        }
    }

    fn commit_batch(
        &mut self,
        dir: &DataDir,
        batch: Batch,
        heads: &mut Heads,
        sessions: &HashSet<String>,
        cache: &mut Cache,
    ) -> Result<()> {
        let Batch { items, at, done: Done { taken, prepared } } = batch;
        let segments: Vec<SegmentRecord> = taken.iter().flat_map(|t| t.segments.iter().cloned()).collect();
        if !segments.is_empty() {
            self.commit(dir, segments, prepared, at, heads, sessions)?;
        }
        for one in taken {
            self.count(one, &items, cache);
        }
        if !self.options.dry_run {
            cache.save(&self.tip);
        }
        Ok(())
    }

    fn count(&mut self, one: Taken, items: &[Item], cache: &mut Cache) {
        let Found { path, stamp, .. } = &items[one.item].found;
        let summary = &mut self.summary;
        match one.became {
            Became::New => summary.new += 1,
            Became::Grown => summary.grown += 1,
            Became::Unchanged => summary.unchanged += 1,
            Became::Unfinished => summary.unfinished += 1,
            Became::Left => {}
        }
        let whole = matches!(one.became, Became::New | Became::Grown | Became::Unchanged) && one.problem.is_none();
        let changed_ms = i64::try_from(stamp.changed / 1_000_000).unwrap_or(i64::MAX);
        if whole && !self.options.dry_run && self.options.now_ms.saturating_sub(changed_ms) > SETTLED_MS {
            cache.add(path.clone(), stamp.clone());
        }
        summary.segments += one.segments.len() as u64;
        summary.bytes += one.bytes;
        summary.rejected += one.rejected;
        let room = 100usize.saturating_sub(summary.bad_lines.len());
        summary.bad_lines.extend(one.bad.into_iter().take(room));
        summary.problems.extend(one.problem);
    }

    /// Commits segments as the next record (as several, where one cannot hold them), and their rows where they fit.
    fn commit(
        &mut self,
        dir: &DataDir,
        segments: Vec<SegmentRecord>,
        mut prepared: Option<Prepared>,
        planned_at: i64,
        heads: &mut Heads,
        sessions: &HashSet<String>,
    ) -> Result<()> {
        let parts = split(segments);
        if parts.len() > 1 {
            prepared = None;
        }
        for segments in parts {
            let ours: HashSet<&str> = segments.iter().map(|s| s.session_id.as_str()).collect();
            let mut record = Record {
                k: 0,
                prev: None,
                at: String::new(),
                source: dir.source.clone(),
                host: self.options.host.clone(),
                segments: segments.clone(),
            };
            let tip = loop {
                let at = self.options.now_ms.max(self.tip.at);
                if at != planned_at {
                    prepared = None;
                }
                record.k = self.tip.k + 1;
                record.prev = (self.tip.k > 0).then(|| self.tip.sha256.clone());
                record.at = lake_trace::format_ms(at);
                match log::put(self.lake, &record)? {
                    Put::Committed(tip) => break tip,
                    Put::Taken => {
                        self.tip = log::follow(self.lake, self.tip.clone(), |theirs, _| {
                            if theirs.segments.iter().any(|s| ours.contains(s.session_id.as_str())) {
                                prepared = None;
                            }
                            heads.take(&theirs, Some(sessions));
                            Ok(())
                        })?;
                    }
                }
            };
            heads.take(&record, Some(sessions));
            let k = tip.k;
            self.tip = tip;
            self.summary.batches.push(k);
            keep_heads(self.lake, k)?;
            self.rows(prepared.take(), k)?;
        }
        Ok(())
    }

    /// Commits the rows that were made on the way, where the tables stand just before them.
    fn rows(&mut self, prepared: Option<Prepared>, k: u64) -> Result<()> {
        let (Some(mut prepared), Some(tables)) = (prepared, self.tables.as_mut()) else { return Ok(()) };
        if tables.k() + 1 != k {
            return Ok(());
        }
        prepared.set_batch(k);
        if let Err(error) = tables.commit(self.lake, prepared, k) {
            // The batch stands; what is missing of its rows is derived from the log at the end.
            tracing::warn!(%error, k, "rows were not committed on the way");
            self.tables = None;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Summary> {
        if self.options.dry_run {
            self.summary.k = log::tip(self.lake)?.k;
            return Ok(self.summary);
        }
        if self.options.derive {
            match lake_store::derive(self.lake, self.stop, &|_| {}) {
                Ok(derived) => {
                    self.summary.tables_at = Some(derived.to);
                    self.summary.notes.extend(derived.notes);
                    self.summary.damaged = derived.damaged;
                }
                Err(e @ Error::Parser { .. }) => {
                    self.summary.problems.push(Problem { path: self.lake.address().into(), what: e.to_string() });
                }
                Err(e) => return Err(e),
            }
        }
        self.summary.k = match self.summary.tables_at {
            Some(k) => k.max(self.tip.k),
            None => log::tip(self.lake)?.k,
        };
        Ok(self.summary)
    }
}

/// What a batch is taken with.
struct Plan<'a> {
    lake: &'a Lake,
    options: &'a Options,
    progress: &'a dyn Progress,
    stop: &'a AtomicBool,
    batch: BatchMeta,
    /// Generation to make rows for.
    generation: Option<u32>,
}

/// Files that were taken and are not committed yet.
struct Batch {
    items: Vec<Item>,
    /// The time that their rows were made for, milliseconds.
    at: i64,
    done: Done,
}

impl Plan<'_> {
    fn take(self, items: Vec<Item>) -> Result<Batch> {
        let at = self.batch.at;
        let context = Context {
            lake: self.lake,
            options: self.options,
            batch: self.batch,
            generation: self.generation,
            progress: self.progress,
            stop: self.stop,
            bytes: byte_permits(),
            requests: request_permits(),
            large: Mutex::new(()),
        };
        let done = take_all(&context, &items, tasks(&items))?;
        Ok(Batch { items, at, done })
    }
}

/// Files of one session after one another: the first file of each, then the second of each, …
fn rounds(found: Vec<Found>) -> Vec<Vec<Found>> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut rounds: Vec<Vec<Found>> = Vec::new();
    for file in found {
        let round = seen.entry(file.session_id.clone()).or_default();
        if rounds.len() <= *round {
            rounds.push(Vec::new());
        }
        rounds[*round].push(file);
        *round += 1;
    }
    rounds
}

/// Runs of items of one partition, so large that a thread is busy for a while.
fn tasks(items: &[Item]) -> Vec<Vec<usize>> {
    let mut tasks: Vec<Vec<usize>> = Vec::new();
    let mut size = 0;
    let mut here = None;
    for (i, item) in items.iter().enumerate() {
        let partition = (&item.found.place.date, &item.found.place.org);
        match tasks.last_mut() {
            Some(task) if size < TASK && here == Some(partition) => task.push(i),
            _ => {
                tasks.push(vec![i]);
                size = 0;
                here = Some(partition);
            }
        }
        size += item.found.stamp.size;
    }
    tasks
}

/// Runs of segments that one record holds.
fn split(segments: Vec<SegmentRecord>) -> Vec<Vec<SegmentRecord>> {
    let mut parts: Vec<Vec<SegmentRecord>> = Vec::new();
    let mut size = 0;
    for segment in segments {
        let length = segment.end - segment.offset;
        match parts.last_mut() {
            Some(part) if part.len() < SEGMENTS && size + length <= BYTES => part.push(segment),
            _ => {
                parts.push(vec![segment]);
                size = 0;
            }
        }
        size += length;
    }
    parts
}
