//! What goes wrong, and when; and the log of all calls.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use object_store::path::Path;
use object_store::{Error, Result};

/// What becomes of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails, and nothing was done.
    Fail,
    /// It is done, and then fails: the reply was lost.
    FailAfter,
    /// It is done after this long.
    Delay(Duration),
    /// It fails, and so does every later one: a crash before this call.
    Kill,
}

/// Which call it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A whole object was put.
    Put,
    /// A multipart upload was begun.
    PutMultipart,
    /// One part of an upload.
    PutPart,
    /// The upload's end: only now the object is there.
    Complete,
    /// The upload was given up.
    Abort,
    /// An object, or a range of it, was read.
    Get,
    /// Several ranges of one object were read.
    GetRanges,
    /// An object's metadata was read.
    Head,
    /// One object was deleted.
    Delete,
    /// Everything under a prefix was listed.
    List,
    /// One level was listed.
    ListWithDelimiter,
    /// An object was copied; the path is the target.
    Copy,
    /// An object was renamed; the path is the target.
    Rename,
}

impl Op {
    /// Whether the call can make an object.
    pub fn writes(self) -> bool {
        matches!(self, Op::Put | Op::Complete | Op::Copy | Op::Rename)
    }
}

/// One call that reached the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number, from 1.
    pub n: u64,
    /// What was asked.
    pub op: Op,
    /// Of which object or prefix; empty is the root.
    pub path: Path,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {} ({:?} {})", self.n, self.op, self.path)
    }
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Call>,
    plan: HashMap<u64, Fault>,
    killed_from: Option<u64>,
    late: u64,
    /// Number of the call that put an object last.
    put_at: HashMap<Path, u64>,
}

/// The plan of what goes wrong, and the log of calls. Clones share both, and so do all stores made with them: a test
/// counts the calls of an undisturbed run first, and then walks the fault over them.
///
/// Calls that run in parallel are numbered in the order in which they arrive.
#[derive(Clone, Debug, Default)]
pub struct Faults(Arc<Mutex<State>>);

impl Faults {
    /// Nothing goes wrong; calls are counted.
    pub fn none() -> Faults {
        Faults::default()
    }

    /// `fault` at the `n`-th call, from 1.
    pub fn at(n: u64, fault: Fault) -> Faults {
        let faults = Faults::none();
        faults.plan(n, fault);
        faults
    }

    /// Adds `fault` at the `n`-th call, from 1.
    pub fn plan(&self, n: u64, fault: Fault) {
        let mut state = self.state();
        if fault == Fault::Kill {
            state.killed_from = Some(state.killed_from.map_or(n, |from| from.min(n)));
        } else {
            state.plan.insert(n, fault);
        }
    }

    /// From now on listings leave out objects that were put within the last `calls` calls.
    pub fn list_late(&self, calls: u64) {
        self.state().late = calls;
    }

    /// The store works again: the plan is dropped, the log stays.
    pub fn heal(&self) {
        let mut state = self.state();
        state.plan.clear();
        state.killed_from = None;
        state.late = 0;
    }

    /// How many calls there were.
    pub fn count(&self) -> u64 {
        self.state().calls.len() as u64
    }

    /// All calls so far, in order.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// The calls as text, one a line: for a failed assertion's message.
    pub fn log(&self) -> String {
        self.state().calls.iter().map(|call| format!("{call}\n")).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked while it held the lock has already failed; its log is still worth reading.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, and says what becomes of it.
    pub(super) fn enter(&self, op: Op, path: &Path) -> (Call, Option<Fault>) {
        let mut state = self.state();
        let n = state.calls.len() as u64 + 1;
        let call = Call { n, op, path: path.clone() };
        state.calls.push(call.clone());
        let killed = state.killed_from.is_some_and(|from| n >= from);
        let fault = if killed { Some(Fault::Kill) } else { state.plan.get(&n).copied() };
        (call, fault)
    }

    /// Whether listings are late at all.
    pub(super) fn is_late(&self) -> bool {
        self.state().late > 0
    }

    /// Whether a listing by `call` does not show the object yet.
    pub(super) fn hides(&self, path: &Path, call: &Call) -> bool {
        let state = self.state();
        state.late > 0 && state.put_at.get(path).is_some_and(|put| call.n.saturating_sub(*put) <= state.late)
    }

    /// Runs `work` as one call, with whatever fault is planned for it.
    pub(super) async fn around<R>(&self, op: Op, path: &Path, work: impl Future<Output = Result<R>>) -> Result<R> {
        let (call, fault) = self.enter(op, path);
        self.around_call(&call, fault, work).await
    }

    /// As [`Faults::around`], for a call that was counted before.
    pub(super) async fn around_call<R>(
        &self,
        call: &Call,
        fault: Option<Fault>,
        work: impl Future<Output = Result<R>>,
    ) -> Result<R> {
        before(call, fault).await?;
        let done = work.await?;
        if call.op.writes() {
            self.state().put_at.insert(call.path.clone(), call.n);
        }
        after(call, fault)?;
        Ok(done)
    }
}

/// What goes wrong before a call is done.
pub(super) async fn before(call: &Call, fault: Option<Fault>) -> Result<()> {
    match fault {
        Some(Fault::Fail) => Err(error(call, "made to fail, nothing was done")),
        Some(Fault::Kill) => Err(error(call, "the process is as good as dead, nothing was done")),
        Some(Fault::Delay(long)) => {
            tokio::time::sleep(long).await;
            Ok(())
        }
        Some(Fault::FailAfter) | None => Ok(()),
    }
}

/// What goes wrong once it is done.
pub(super) fn after(call: &Call, fault: Option<Fault>) -> Result<()> {
    if fault == Some(Fault::FailAfter) { Err(error(call, "done, but the reply was lost")) } else { Ok(()) }
}

fn error(call: &Call, what: &str) -> Error {
    Error::Generic { store: "faulty", source: format!("{call}: {what}").into() }
}
