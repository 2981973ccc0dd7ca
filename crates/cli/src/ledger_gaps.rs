//! What an oracle's ledger lists and the lake lacks.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use lake_verdict::{Envelope, Ledger, payload_digest};
use serde::Serialize;

use crate::context::Context;
use crate::key_use::each_signature;
use crate::keys_list::when;
use crate::lake_sql::LakeSql;

/// How a ledger and a lake stand to each other.
#[derive(Debug, Serialize)]
pub(crate) struct Gaps {
    /// Verdicts in the ledger that count.
    pub(crate) verdicts: u64,
    /// Sessions that they are of.
    pub(crate) sessions: u64,
    /// Lines of the ledger that do not count: by keys that are not trusted, or may not say that.
    pub(crate) unused: u64,
    /// Verdicts that the lake has in no branch of their session, in the order of the sessions.
    pub(crate) missing: Vec<MissingVerdict>,
    /// Sessions of which the lake has no verdict at all.
    pub(crate) stripped: Vec<StrippedSession>,
}

/// A verdict that the lake lacks.
#[derive(Debug, Serialize)]
pub(crate) struct MissingVerdict {
    pub(crate) session_id: String,
    pub(crate) seq: u64,
    pub(crate) mode: String,
    pub(crate) attempt: u64,
    pub(crate) verdict: String,
    pub(crate) run_id: String,
    pub(crate) finished_at: String,
}

/// A session that lost all its verdicts, or never came.
#[derive(Debug, Serialize)]
pub(crate) struct StrippedSession {
    pub(crate) session_id: String,
    /// Its verdicts in the ledger.
    pub(crate) verdicts: u64,
    /// Whether the lake has the session without them.
    pub(crate) in_lake: bool,
    /// When the last of them finished.
    pub(crate) finished_at: String,
}

/// Compares them. An envelope counts as held by its payload, whatever its signature is worth: that is for `check` to say.
pub(crate) fn gaps(context: &Context, asked: &LakeSql, ledger: &Ledger) -> anyhow::Result<Gaps> {
    let mut held: HashSet<(String, String)> = HashSet::new();
    each_signature(context, asked, |signed| {
        let Ok(envelope) = Envelope::parse(signed.signature) else { return };
        let digest = payload_digest(&envelope.payload);
        if ledger.lists(&digest) {
            held.insert((signed.session_id.to_owned(), digest));
        }
    })?;
    let ids: BTreeSet<&str> = ledger.sessions().collect();
    let mut missing = Vec::new();
    let mut stripped: BTreeMap<&str, StrippedSession> = BTreeMap::new();
    for id in &ids {
        let (mut count, mut lacks, mut last) = (0, 0, None);
        for entry in ledger.of_session(id) {
            let said = &entry.statement;
            (count, last) = (count + 1, last.max(Some(said.finished_at)));
            if held.contains(&((*id).to_owned(), entry.digest.clone())) {
                continue;
            }
            lacks += 1;
            missing.push(MissingVerdict {
                session_id: (*id).to_owned(),
                seq: entry.seq,
                mode: said.mode.to_string(),
                attempt: said.attempt,
                verdict: said.verdict.to_string(),
                run_id: said.run_id.clone(),
                finished_at: when(said.finished_at),
            });
        }
        if lacks == count {
            let finished_at = last.map(when).unwrap_or_default();
            let session_id = (*id).to_owned();
            stripped.insert(id, StrippedSession { session_id, verdicts: count, in_lake: false, finished_at });
        }
    }
    let sql = "select distinct session_id from segments";
    let seen = asked.query.each(sql, |batch| {
        let Ok(column) = cast(batch.column(0), &DataType::Utf8) else { return };
        for id in column.as_string::<i32>().iter().flatten() {
            if let Some(session) = stripped.get_mut(id) {
                session.in_lake = true;
            }
        }
    });
    asked.wait(context, seen)?;
    Ok(Gaps {
        verdicts: ledger.entries().len() as u64,
        sessions: ids.len() as u64,
        unused: ledger.unused().len() as u64,
        missing,
        stripped: stripped.into_values().collect(),
    })
}
