//! Writes rows of `checks`, many in a commit.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lake_store::{CheckRow, Checks, Lake};

use crate::{Error, Result};

/// Rows are written once they are this long together, bytes.
const MOST: usize = 64 << 20;

/// Takes rows from many threads. Each row is whole in one commit; what was not flushed is lost and looked at again.
pub(crate) struct Writer<'l> {
    lake: &'l Lake,
    dry_run: bool,
    pending: Mutex<Pending>,
}

struct Pending {
    checks: Checks,
    rows: Vec<CheckRow>,
    bytes: usize,
    written: u64,
    /// Of what was written.
    kinds: BTreeSet<String>,
}

impl<'l> Writer<'l> {
    pub(crate) fn new(lake: &'l Lake, checks: Checks, dry_run: bool) -> Writer<'l> {
        let pending = Pending { checks, rows: Vec::new(), bytes: 0, written: 0, kinds: BTreeSet::new() };
        Writer { lake, dry_run, pending: Mutex::new(pending) }
    }

    pub(crate) fn add(&self, row: CheckRow) -> Result<()> {
        if self.dry_run {
            return Ok(());
        }
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.bytes += size(&row);
        if !pending.kinds.contains(&row.kind) {
            pending.kinds.insert(row.kind.clone());
        }
        pending.rows.push(row);
        // The others wait: memory is bounded by it.
        if pending.bytes > MOST { self.write(&mut pending) } else { Ok(()) }
    }

    /// Writes what is left.
    pub(crate) fn flush(&self) -> Result<()> {
        self.write(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether rows of this kind were given to it, to be written.
    pub(crate) fn wrote(&self, kind: &str) -> bool {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).kinds.contains(kind)
    }

    /// Rows that were written so far, without those that another run wrote meanwhile.
    pub(crate) fn written(&self) -> u64 {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    fn write(&self, pending: &mut Pending) -> Result<()> {
        let mut rows = std::mem::take(&mut pending.rows);
        pending.bytes = 0;
        rows.sort_by(|a, b| (&a.session_id, a.branch, &a.kind).cmp(&(&b.session_id, b.branch, &b.kind)));
        if !rows.is_empty() {
            pending.written += pending.checks.append(self.lake, rows).map_err(Error::store("writing checks"))?;
        }
        Ok(())
    }
}

fn size(row: &CheckRow) -> usize {
    let text = |parts: &[&String]| parts.iter().map(|part| part.len() + size_of::<String>()).sum::<usize>();
    let findings = row.findings.iter();
    let findings =
        findings.map(|f| text(&[&f.rule, &f.severity, &f.event_id, &f.field, &f.fingerprint, &f.detail]) + 24);
    size_of::<CheckRow>() + text(&[&row.session_id, &row.kind, &row.digest, &row.result]) + findings.sum::<usize>()
}
