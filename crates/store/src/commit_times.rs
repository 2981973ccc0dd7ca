//! When the store took the batches that first held verdicts: what a compromised key's are held against.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use lake_trace::{LineRef, VerdictRecord};

use crate::{Branch, Lake, Result, Segment, log};

/// Commit times of batches, each asked for once. A record's own `at` may be written by the thief, so on a bucket it is
/// the store's last-modified that counts.
#[derive(Debug)]
pub struct CommitTimes {
    lake: Lake,
    protected: bool,
    known: Mutex<HashMap<u64, Option<i64>>>,
}

/// Those of one branch's verdicts.
#[derive(Clone, Debug, Default)]
pub struct Committed(Option<HashMap<u64, Option<i64>>>);

impl CommitTimes {
    /// `needed`: whether some key is compromised. Else, and on a folder, the records' own times do, which cost nothing.
    pub fn new(lake: &Lake, needed: bool) -> CommitTimes {
        CommitTimes { lake: lake.clone(), protected: needed && !lake.is_folder(), known: Mutex::default() }
    }

    /// The times of the batches that first held the lines of these verdicts.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of(&self, branch: &Branch, verdicts: &[(LineRef, VerdictRecord)]) -> Result<Committed> {
        if !self.protected {
            return Ok(Committed(None));
        }
        let mut out = HashMap::new();
        for (at, _) in verdicts {
            let mut segments = branch.segments.iter();
            if let Some(segment) = segments.find(|s| (s.offset..s.end).contains(&at.offset)) {
                out.insert(at.offset, self.of_segment(segment)?);
            }
        }
        Ok(Committed(Some(out)))
    }

    /// When the batch of a segment was committed, milliseconds since 1970 UTC.
    ///
    /// # Errors
    /// Those of the store.
    pub fn of_segment(&self, segment: &Segment) -> Result<Option<i64>> {
        if !self.protected {
            return Ok(Some(segment.at));
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&segment.k).copied();
        if let Some(time) = known {
            return Ok(time);
        }
        let time = log::committed_at(&self.lake, segment.k)?;
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(segment.k, time);
        Ok(time)
    }
}

impl Committed {
    /// When the batch that first held the verdict at this offset was committed, milliseconds since 1970 UTC.
    pub fn at(&self, branch: &Branch, offset: u64) -> Option<i64> {
        match &self.0 {
            Some(times) => times.get(&offset).copied().flatten(),
            None => branch.committed_at(offset),
        }
    }
}
