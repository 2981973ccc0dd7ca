//! Turns the bytes of one branch, segment by segment, into rows.

use lake_trace::{Flag, Flags, Fold, LineRef, Looked, Place, Reject, lines};

use crate::rows::Owner;
use crate::segment_rows::SegmentRow;
use crate::{Branch, Result, Segment, Sink};

/// Where a segment came from.
#[derive(Clone, Debug, Default)]
pub struct BatchMeta {
    /// The lake's version; 0 where it is not known yet.
    pub k: u64,
    /// When, milliseconds since 1970 UTC.
    pub at: i64,
    /// Where the traces came from.
    pub source: String,
    /// The machine.
    pub host: String,
}

/// A line that is no event: what a person is told at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
}

/// The lines of a segment that are no events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BadLines {
    /// How many there are.
    pub count: u64,
    /// The first 100 of them.
    pub first: Vec<BadLine>,
}

/// A branch that is being written.
pub struct BranchWriter {
    session_id: String,
    branch: u32,
    place: Place,
    fold: Fold,
    next_line: u64,
    end: u64,
    /// Start of a line that is too long to be parsed and has not ended yet.
    open: Option<u64>,
    flags: Flags,
}

impl BranchWriter {
    /// A branch without a line. `flags` are those of the branch itself (`rewritten`, `mixed_session`).
    pub fn new(session_id: &str, branch: u32, place: Place, flags: Flags) -> BranchWriter {
        BranchWriter {
            session_id: session_id.to_owned(),
            branch,
            place,
            fold: Fold::new(None),
            next_line: 1,
            end: 0,
            open: None,
            flags,
        }
    }

    /// Passes bytes whose rows the tables have already.
    ///
    /// # Errors
    /// None of its own; rows are not made.
    pub fn replay(&mut self, bytes: &[u8]) -> Result<()> {
        self.walk(bytes, "", None, &mut BadLines::default())
    }

    /// Takes the bytes of the next segment and makes its rows. Returns the lines that are no events.
    ///
    /// # Errors
    /// Those of the store and of Parquet.
    pub fn take(
        &mut self,
        segment: Segment,
        sha256_before: &str,
        bytes: &[u8],
        batch: &BatchMeta,
        sink: &mut Sink,
    ) -> Result<BadLines> {
        let mut bad = BadLines::default();
        self.fold.set_batch(Some(batch.at));
        let raw = segment.raw.clone();
        self.walk(bytes, &raw, Some(sink), &mut bad)?;
        self.row(segment, sha256_before, batch, sink);
        Ok(bad)
    }

    /// Number of the line that comes next.
    pub fn next_line(&self) -> u64 {
        self.next_line
    }

    fn walk(&mut self, bytes: &[u8], raw: &str, mut sink: Option<&mut Sink>, bad: &mut BadLines) -> Result<()> {
        let base = self.end;
        self.end += bytes.len() as u64;
        let mut from = 0;
        if let Some(start) = self.open {
            let Some(newline) = memchr::memchr(b'\n', bytes) else { return Ok(()) };
            from = newline + 1;
            let at = LineRef { line: self.next_line, offset: start, end: base + from as u64 };
            self.open = None;
            self.next_line += 1;
            self.fold.reject(at);
            let why = Reject::TooLong(at.end - at.offset);
            self.reject(raw, at, None, &why, &mut sink, bad)?;
        }
        let mut scratch = String::new();
        let mut passed = from;
        for line in lines(&bytes[from..]) {
            let at = LineRef {
                line: self.next_line,
                offset: base + (from + line.start) as u64,
                end: base + (from + line.end) as u64,
            };
            self.next_line += 1;
            passed = from + line.end;
            let looked = self.fold.line(line.bytes, at, &mut scratch);
            match looked {
                Looked::Blank => {}
                Looked::Event(event) => {
                    if let Some(sink) = sink.as_deref_mut() {
                        let owner = Owner { repo: &self.place.repo, session_id: &self.session_id, branch: self.branch };
                        sink.event(&self.place, owner, &event, at)?;
                    }
                }
                Looked::Reject(why) => self.reject(raw, at, Some(line.bytes), &why, &mut sink, bad)?,
            }
        }
        if passed < bytes.len() {
            self.open = Some(base + passed as u64);
        }
        Ok(())
    }

    fn reject(
        &self,
        raw: &str,
        at: LineRef,
        bytes: Option<&[u8]>,
        why: &Reject,
        sink: &mut Option<&mut Sink>,
        bad: &mut BadLines,
    ) -> Result<()> {
        bad.count += 1;
        if bad.first.len() < 100 {
            bad.first.push(BadLine { line: at.line, reason: why.to_string() });
        }
        let Some(sink) = sink.as_deref_mut() else { return Ok(()) };
        let owner = Owner { repo: &self.place.repo, session_id: &self.session_id, branch: self.branch };
        sink.reject(&self.place, owner, raw, at, bytes, why)
    }

    fn row(&mut self, mut segment: Segment, sha256_before: &str, batch: &BatchMeta, sink: &mut Sink) {
        let summary = self.fold.summary();
        let recorded = self.fold.recorded_outcome(lake_verdict::recorded_outcome);
        segment.next_line = self.next_line;
        segment.k = batch.k;
        segment.at = batch.at;
        segment.source.clone_from(&batch.source);
        segment.host.clone_from(&batch.host);
        let branch = Branch {
            session_id: self.session_id.clone(),
            branch: self.branch,
            place: self.place.clone(),
            segments: Vec::new(),
            source: None,
            host: None,
            harness: summary.start.harness,
            version: summary.start.version,
            model: summary.start.model,
            task_id: summary.start.task_id,
            base_commit: summary.start.base_commit,
            repo_url: summary.repo_url,
            started_at: summary.started_at,
            ended_at: summary.ended_at,
            ended_by: summary.ended_by,
            recorded_outcome: Some(recorded.as_str().to_owned()),
            counts: summary.counts,
            flags: Vec::new(),
        };
        sink.segment(SegmentRow {
            branch,
            segment,
            sha256_before: sha256_before.to_owned(),
            start_diff_sha256: summary.start.start_diff_sha256,
            claimed_outcome: summary.claimed_outcome,
            attempts: summary.attempts,
            flags: summary.flags.union(self.flags),
        });
    }

    /// The flag of a branch whose first line is, or is not, that of the session's first branch.
    pub(crate) fn flag_for(same_first_line: bool) -> Flags {
        let mut flags = Flags::default();
        flags.set(if same_first_line { Flag::Rewritten } else { Flag::MixedSession });
        flags
    }
}
