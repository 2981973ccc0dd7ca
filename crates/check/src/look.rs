//! One branch: read once, folded once, looked through for secrets and judged.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lake_secrets::RuleSet;
use lake_store::{Branch, CommitTimes, Lake, read_branch};
use lake_trace::{Fold, Line, LineRef, Looked, lines, parse_line};
use lake_verdict::Trust;

use crate::behind::Due;
use crate::judge::{Judging, Verdicts, verdicts};
use crate::secrets::{FirstPass, Found, SecondPass};
use crate::{Error, Options, Result};

/// Branches over this size are in memory one at a time, bytes: memory must not grow with the number of threads.
const LARGE: u64 = 64 << 20;
/// A line that is no event is looked at in pieces of this size, bytes, each with a little of the next one.
const PIECE: usize = 64 << 20;
const OVERLAP: usize = 4096;

/// What became of a branch.
pub(crate) enum Seen {
    Read {
        found: Option<Found>,
        verdicts: Option<Verdicts>,
    },
    /// Its bytes are gone or damaged, and why.
    Unread(String),
}

/// What every branch is looked at with.
pub(crate) struct Looker<'l> {
    lake: &'l Lake,
    options: &'l Options,
    rules: &'static RuleSet,
    times: CommitTimes,
    large: Mutex<()>,
}

impl<'l> Looker<'l> {
    pub(crate) fn new(lake: &'l Lake, options: &'l Options) -> Looker<'l> {
        Looker {
            lake,
            options,
            rules: RuleSet::builtin(),
            times: CommitTimes::new(lake, options.trust.as_ref().is_some_and(Trust::has_compromised)),
            large: Mutex::default(),
        }
    }

    pub(crate) fn look(&self, due: &Due<'_>) -> Result<Seen> {
        let branch = due.branch;
        let is_large = branch.end() > LARGE;
        let _alone = is_large.then(|| self.large.lock().unwrap_or_else(PoisonError::into_inner));
        let bytes = match read_branch(self.lake, branch) {
            Ok(bytes) => bytes,
            Err(error @ (lake_store::Error::Purged(_) | lake_store::Error::Damaged { .. })) => {
                let (id, number) = (&branch.session_id, branch.branch);
                return Ok(Seen::Unread(format!("session {id}, branch {number}: not looked at: {error}")));
            }
            Err(source) => {
                let session_id = branch.session_id.clone();
                return Err(Error::Read { session_id, branch: branch.branch, source });
            }
        };
        let mut fold = Fold::new(None);
        let mut first = due.secrets.is_due().then(|| FirstPass::new(self.rules));
        // Of the lines that can have a flag.
        let mut event_ids = HashMap::new();
        each_line(branch, &bytes, |line, at, is_whole| {
            let mut scratch = String::new();
            if !is_whole {
                fold.reject(at);
                if let Some(first) = &mut first {
                    pieces(line.bytes).for_each(|piece| first.reject(piece, at.line));
                }
                return;
            }
            match fold.line(line.bytes, at, &mut scratch) {
                Looked::Blank => {}
                Looked::Event(event) => {
                    if matches!(event.kind.as_ref(), "session_start" | "oracle_verdict") {
                        event_ids.insert(at.line, event.event_id.clone().into_owned());
                    }
                    if let Some(first) = &mut first {
                        first.event(&event, line.bytes, at.line);
                    }
                }
                Looked::Reject(_) => {
                    if let Some(first) = &mut first {
                        pieces(line.bytes).for_each(|piece| first.reject(piece, at.line));
                    }
                }
            }
        });
        let found = first.map(|first| match first.finish() {
            learnt if learnt.is_nothing() => Found { result: "clean", findings: Vec::new() },
            learnt => {
                let mut second = SecondPass::new(self.rules, self.options, learnt);
                again(branch, &bytes, &mut second);
                second.finish()
            }
        });
        let verdicts = match &self.options.trust {
            Some(trust) if due.signatures.is_due() => {
                let times = self.times.of(branch, fold.verdicts()).map_err(Error::store("reading the log"))?;
                let committed_at = |offset: u64| times.at(branch, offset);
                let ledger = self.options.ledger.as_ref();
                let judging = Judging { trust, ledger, order: due.order, committed_at: &committed_at };
                Some(verdicts(branch, &bytes, &fold, &judging, &event_ids))
            }
            _ => None,
        };
        Ok(Seen::Read { found, verdicts })
    }
}

/// Hands each line to `each`, and whether it is one that is parsed: one that is longer than the longest that is was cut
/// into segments, and stands in `rejects`.
fn each_line<'b>(branch: &Branch, bytes: &'b [u8], mut each: impl FnMut(Line<'b>, LineRef, bool)) {
    for (number, line) in (1..).zip(lines(bytes)) {
        let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
        let next = branch.segments.partition_point(|segment| segment.end <= at.offset);
        let is_whole = branch.segments.get(next).is_none_or(|segment| segment.end >= at.end);
        each(line, at, is_whole);
    }
}

fn again(branch: &Branch, bytes: &[u8], second: &mut SecondPass<'_>) {
    each_line(branch, bytes, |line, at, is_whole| {
        if !second.concerns(line.bytes, at.line) {
            return;
        }
        let mut scratch = String::new();
        let parsed = if is_whole { parse_line(line.bytes, at.line, &mut scratch).ok() } else { None };
        match parsed {
            Some(None) => {}
            Some(Some(event)) => second.event(&event, at, line.bytes),
            None => pieces(line.bytes).for_each(|piece| second.reject(piece, at)),
        }
    });
}

fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).step_by(PIECE).map(|from| &bytes[from..bytes.len().min(from + PIECE + OVERLAP)])
}
