//! What the log knows of sessions: how far each was taken, without reading its history.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader, Read, Write};

use futures::TryStreamExt;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode};
use serde::{Deserialize, Serialize};

use crate::log::{self, Record, Tip};
use crate::{Error, Lake, Result, names};

/// A heads file follows each record of a number that this divides.
const EVERY: u64 = 256;

/// For each session the ends that the log has: a file that ends, or goes on, at one of them is known up to there.
#[derive(Clone, Debug, Default)]
pub struct Heads(BTreeMap<String, Vec<(u64, String)>>);

#[derive(Serialize, Deserialize)]
struct Line {
    session_id: String,
    heads: Vec<(u64, String)>,
}

#[derive(Serialize, Deserialize)]
struct First {
    tip: Tip,
}

impl Heads {
    /// Ends and hashes of `[0, end)` of a session, hex; empty for one that the log does not have.
    pub fn of(&self, session_id: &str) -> &[(u64, String)] {
        self.0.get(session_id).map_or(&[], Vec::as_slice)
    }

    /// Whether the log has the session.
    pub fn has(&self, session_id: &str) -> bool {
        self.0.contains_key(session_id)
    }

    /// Takes what a record brings; with `only`, for these sessions.
    pub fn take(&mut self, record: &Record, only: Option<&HashSet<String>>) {
        for segment in &record.segments {
            if only.is_some_and(|only| !only.contains(&segment.session_id)) {
                continue;
            }
            let heads = self.0.entry(segment.session_id.clone()).or_default();
            let head = (segment.end, segment.sha256_end.clone());
            if !heads.contains(&head) {
                heads.push(head);
            }
        }
    }
}

/// The heads of these sessions (all, with None) and the log's tip.
///
/// # Errors
/// Those of the store, and [`Error::Damaged`] for a log that is no chain.
pub fn heads(lake: &Lake, only: Option<&HashSet<String>>) -> Result<(Heads, Tip)> {
    let (mut heads, tip) = match newest(lake)? {
        Some(path) => read(lake, &path, only)?,
        None => (Heads::default(), Tip::default()),
    };
    let tip = log::follow(lake, tip, |record, _| {
        heads.take(&record, only);
        Ok(())
    })?;
    Ok((heads, tip))
}

/// After record k was committed: where k asks for it, puts the heads of all branches beside it.
///
/// # Errors
/// Those of the store.
pub fn keep_heads(lake: &Lake, k: u64) -> Result<()> {
    if k == 0 || !k.is_multiple_of(EVERY) {
        return Ok(());
    }
    let (mut heads, mut tip) = match newest(lake)? {
        Some(path) => read(lake, &path, None)?,
        None => (Heads::default(), Tip::default()),
    };
    while tip.k < k {
        let Some((record, next)) = log::read(lake, tip.k + 1)? else { return Ok(()) };
        heads.take(&record, None);
        tip = next;
    }
    if tip.k != k {
        return Ok(());
    }
    let path = names::log_heads(k);
    let fail = |source| Error::Io { doing: "compressing", path: lake.at(&path), source };
    let mut out = zstd::Encoder::new(Vec::new(), 1).map_err(fail)?;
    let mut line = |value: serde_json::Result<Vec<u8>>| -> std::io::Result<()> {
        out.write_all(&value?)?;
        out.write_all(b"\n")
    };
    line(serde_json::to_vec(&First { tip })).map_err(fail)?;
    for (session_id, heads) in heads.0 {
        line(serde_json::to_vec(&Line { session_id, heads })).map_err(fail)?;
    }
    let body = out.finish().map_err(fail)?;
    match lake.wait(lake.store().put_opts(&path, body.into(), PutMode::Create.into())) {
        Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
        Err(e) => Err(Error::store("writing", lake.at(&path))(e)),
    }
}

fn newest(lake: &Lake) -> Result<Option<Path>> {
    let folder = names::log_folder();
    lake.wait(lake.store().list(Some(&folder)).try_fold(None, |best: Option<Path>, meta| async move {
        let is_heads = meta.location.as_ref().ends_with(".heads.json.zst");
        Ok(if is_heads && best.as_ref().is_none_or(|b| *b < meta.location) { Some(meta.location) } else { best })
    }))
    .map_err(Error::store("listing", lake.at(&folder)))
}

fn read(lake: &Lake, path: &Path, only: Option<&HashSet<String>>) -> Result<(Heads, Tip)> {
    let damaged = |what: String| Error::Damaged { path: lake.at(path), what };
    let body = lake.wait(async { lake.store().get(path).await?.bytes().await });
    let body = body.map_err(Error::store("reading", lake.at(path)))?;
    let decoder = zstd::Decoder::new(body.as_ref()).map_err(|e| damaged(e.to_string()))?;
    let mut lines = BufReader::new(decoder.take(u64::MAX)).lines();
    let first = lines.next().ok_or_else(|| damaged("it is empty".into()))?.map_err(|e| damaged(e.to_string()))?;
    let First { tip } = serde_json::from_str(&first).map_err(|e| damaged(e.to_string()))?;
    let mut heads = Heads::default();
    for line in lines {
        let line = line.map_err(|e| damaged(e.to_string()))?;
        let Line { session_id, heads: ends } = serde_json::from_str(&line).map_err(|e| damaged(e.to_string()))?;
        if only.is_none_or(|only| only.contains(&session_id)) {
            heads.0.insert(session_id, ends);
        }
    }
    Ok((heads, tip))
}
