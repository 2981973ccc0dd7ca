//! Folds the lines of one branch of a session, in file order, into what is said of the session as a whole.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::quality::RandomState;

use crate::{
    Correction, EndedBy, Event, Flag, Flags, Outcome, Place, Reject, SessionEnd, SessionStart, VerdictRecord,
    canonical_repo, date_of_ms, org_and_repo, parse_line,
};

/// A day: a time stamp further than this after its batch is in the future.
const DAY_MS: i64 = 86_400_000;

/// Where a line is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineRef {
    /// Its number in the file, from 1.
    pub line: u64,
    /// Its first byte in the file.
    pub offset: u64,
    /// One past its newline.
    pub end: u64,
}

/// What became of a line.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly every line is an event; a box would cost one allocation each")]
pub enum Looked<'a> {
    /// Nothing but white space.
    Blank,
    /// An event.
    Event(Event<'a>),
    /// Not an event, and why.
    Reject(Reject),
}

/// How much of each kind a branch holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines, blank ones left out.
    pub lines: u64,
    /// Lines that are events.
    pub events: u64,
    /// Lines that are not.
    pub rejects: u64,
    /// Messages.
    pub messages: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Verdict records.
    pub verdicts: u64,
}

/// What is said of a branch up to a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// The first `session_start`.
    pub start: SessionStart,
    /// Its canonical remote.
    pub repo_url: Option<String>,
    /// Time of the first event, milliseconds.
    pub started_at: Option<i64>,
    /// Time of the last `session_end`, else of the last event, milliseconds.
    pub ended_at: Option<i64>,
    /// What ended it; `sweep` without an end.
    pub ended_by: Option<String>,
    /// The gate's claim: never evidence.
    pub claimed_outcome: Option<String>,
    /// Grades among the verdict records.
    pub attempts: u64,
    /// How much of each kind.
    pub counts: Counts,
    /// What was noticed about any of its lines.
    pub flags: Flags,
}

/// State after some lines of a branch.
#[derive(Clone, Debug, Default)]
pub struct Fold {
    session_id: Option<String>,
    batch_ms: Option<i64>,
    seen: HashSet<u64, RandomState>,
    hash: RandomState,
    latest: HashMap<String, i64>,
    start: Option<(LineRef, SessionStart, i64)>,
    first_ts: Option<i64>,
    last_ts: Option<i64>,
    end: Option<(SessionEnd, i64)>,
    verdicts: Vec<(LineRef, VerdictRecord)>,
    corrections: Vec<(LineRef, Correction)>,
    first_reject: Option<LineRef>,
    counts: Counts,
    flags: Flags,
}

impl Fold {
    /// A fold of no lines. `batch_ms` is the time of the batch that brings them (milliseconds), against which a time in
    /// the future is told; None looks at order alone.
    pub fn new(batch_ms: Option<i64>) -> Fold {
        Fold { batch_ms, ..Fold::default() }
    }

    /// The time of the batch that brings the lines to come.
    pub fn set_batch(&mut self, batch_ms: Option<i64>) {
        self.batch_ms = batch_ms;
    }

    /// Takes the next line, newline left out.
    pub fn line<'a>(&mut self, bytes: &'a [u8], at: LineRef, scratch: &'a mut String) -> Looked<'a> {
        let mut event = match parse_line(bytes, at.line, scratch) {
            Ok(None) => return Looked::Blank,
            Ok(Some(event)) => event,
            Err(reject) => {
                self.reject(at);
                return Looked::Reject(reject);
            }
        };
        self.counts.lines += 1;
        self.counts.events += 1;
        if self.session_id.is_none() {
            self.session_id = Some(event.session_id.clone().into_owned());
        }
        let own = self.session_id.as_deref() == Some(event.session_id.as_ref());
        if !own {
            event.flags.set(Flag::MixedSession);
        }
        let first_time = self.seen.insert(self.hash.hash_one(bytes));
        if !first_time {
            event.flags.set(Flag::DuplicateEvent);
        }
        let agent = event.agent_id.as_deref().unwrap_or_default();
        let late = self.batch_ms.is_some_and(|batch| event.ts > batch.saturating_add(DAY_MS));
        match self.latest.get_mut(agent) {
            Some(latest) if event.ts < *latest => event.flags.set(Flag::Clock),
            Some(latest) => *latest = event.ts,
            None => {
                self.latest.insert(agent.to_owned(), event.ts);
            }
        }
        if late {
            event.flags.set(Flag::Clock);
        }
        self.first_ts.get_or_insert(event.ts);
        self.last_ts = Some(event.ts);
        if first_time {
            self.note(&event, at, own);
        }
        self.flags = self.flags.union(event.flags);
        Looked::Event(event)
    }

    /// A line that is not an event was passed.
    pub fn reject(&mut self, at: LineRef) {
        self.counts.lines += 1;
        self.counts.rejects += 1;
        self.first_reject.get_or_insert(at);
    }

    fn note(&mut self, event: &Event<'_>, at: LineRef, own: bool) {
        match event.kind.as_ref() {
            "message" => self.counts.messages += 1,
            "tool_call" => self.counts.tool_calls += 1,
            "session_start" if own && self.start.is_none() => {
                self.start = event.session_start().map(|start| (at, start, event.ts));
            }
            // A sub-agent's end is not the session's.
            "session_end" if own && event.agent_id.is_none() => {
                self.end = event.session_end().map(|end| (end, event.ts));
            }
            "oracle_verdict" => {
                self.counts.verdicts += 1;
                self.verdicts.extend(event.verdict_record().map(|record| (at, record)));
            }
            "correction" => self.corrections.extend(Correction::of(event).map(|c| (at, c))),
            _ => {}
        }
    }

    /// The session of the first good line.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Whether some line without `agent_id` is a `session_end`.
    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The first `session_start` of the session's own, and where it is.
    pub fn start(&self) -> Option<(LineRef, &SessionStart)> {
        self.start.as_ref().map(|(at, start, _)| (*at, start))
    }

    /// The verdict records in file order; of equal lines the first.
    pub fn verdicts(&self) -> &[(LineRef, VerdictRecord)] {
        &self.verdicts
    }

    /// The corrections in file order.
    pub fn corrections(&self) -> &[(LineRef, Correction)] {
        &self.corrections
    }

    /// The first line that is not an event.
    pub fn first_reject(&self) -> Option<LineRef> {
        self.first_reject
    }

    /// Where the branch belongs: its first `session_start`'s remote and date; without one the date of its first event.
    pub fn place(&self) -> Place {
        match &self.start {
            Some((_, start, ts)) => {
                let (org, repo) = org_and_repo(start.repo.as_deref(), start.org.as_deref());
                Place { org, repo, date: date_of_ms(*ts) }
            }
            None => {
                let (org, repo) = org_and_repo(None, None);
                Place { org, repo, date: date_of_ms(self.first_ts.unwrap_or(0)) }
            }
        }
    }

    /// What is said of the branch so far.
    pub fn summary(&self) -> Summary {
        let start = self.start.as_ref().map(|(_, start, _)| start.clone()).unwrap_or_default();
        let (end, ended_at) = match &self.end {
            Some((end, ts)) => (end.clone(), Some(*ts)),
            None => (
                SessionEnd { ended_by: Some(EndedBy::Sweep.as_str().to_owned()), ..SessionEnd::default() },
                self.last_ts,
            ),
        };
        Summary {
            repo_url: start.repo.as_deref().map(canonical_repo),
            start,
            started_at: self.start.as_ref().map(|(_, _, ts)| *ts).or(self.first_ts),
            ended_at,
            ended_by: end.ended_by,
            claimed_outcome: end.outcome,
            attempts: self.verdicts.iter().filter(|(_, r)| r.mode.as_deref() == Some("grade")).count() as u64,
            counts: self.counts,
            flags: self.flags,
        }
    }

    /// The outcome that the records claim, signatures not looked at. `flip` folds verdict records by the rules of a flip.
    pub fn recorded_outcome(&self, flip: impl Fn(Option<&str>, &[(LineRef, VerdictRecord)]) -> Outcome) -> Outcome {
        flip(self.start.as_ref().and_then(|(_, s, _)| s.task_id.as_deref()), &self.verdicts)
    }
}
