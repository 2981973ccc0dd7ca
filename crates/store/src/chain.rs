//! The bytes of a branch as pieces of raw objects, and what their hashes are at given lengths.

use lake_trace::Hashed;
use sha2::{Digest, Sha256};

use crate::{Branch, Error, Lake, Result, Segment, raw};

/// Bytes `[offset, end)` of a branch: a part of a raw object.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) segment: Segment,
    pub(crate) sha256_before: String,
}

impl Piece {
    pub(crate) fn read(&self, lake: &Lake) -> Result<Vec<u8>> {
        read_segment(lake, &self.segment)
    }

    /// Its part from `offset` on.
    pub(crate) fn from(&self, offset: u64, sha256_before: &str) -> Piece {
        let mut part = self.clone();
        part.segment.offset = offset;
        sha256_before.clone_into(&mut part.sha256_before);
        part
    }

    /// Its part up to `end`.
    pub(crate) fn until(&self, end: u64, sha256_end: &str) -> Piece {
        let mut part = self.clone();
        part.segment.end = end;
        sha256_end.clone_into(&mut part.segment.sha256_end);
        part
    }
}

/// The bytes of one segment; their length is what the catalog says, else the object is damaged.
pub(crate) fn read_segment(lake: &Lake, segment: &Segment) -> Result<Vec<u8>> {
    let mut bytes = raw::read(lake, &segment.raw)?;
    let skip = usize::try_from(segment.offset - segment.raw_offset).unwrap_or(usize::MAX);
    let take = usize::try_from(segment.end - segment.offset).unwrap_or(usize::MAX);
    if bytes.len() < skip.saturating_add(take) {
        return Err(Error::Damaged {
            path: segment.raw.clone(),
            what: format!("{} bytes, not {}", bytes.len(), skip.saturating_add(take)),
        });
    }
    bytes.truncate(skip + take);
    if skip > 0 {
        bytes.drain(..skip);
    }
    Ok(bytes)
}

/// SHA-256, hex, of the first n bytes for each n in `stops` (rising). A stop past the end is left out.
pub(crate) fn hashes_at(lake: &Lake, pieces: &[Piece], stops: &[u64]) -> Result<Vec<(u64, String)>> {
    let mut found = Vec::new();
    let mut hash = Sha256::new();
    let mut stops = stops.iter().copied().peekable();
    let mut at = 0u64;
    while stops.next_if_eq(&0).is_some() {
        found.push((0, hex::encode(Sha256::new().finalize())));
    }
    for piece in pieces {
        if stops.peek().is_none() {
            break;
        }
        let bytes = piece.read(lake)?;
        let mut done = 0usize;
        while let Some(stop) = stops.next_if(|s| *s <= at + bytes.len() as u64) {
            let upto = usize::try_from(stop - at).unwrap_or(usize::MAX);
            hash.update(&bytes[done..upto]);
            done = upto;
            found.push((stop, hex::encode(hash.clone().finalize())));
        }
        hash.update(&bytes[done..]);
        at += bytes.len() as u64;
    }
    Ok(found)
}

/// All bytes of a branch, checked against the hash that the catalog names.
///
/// # Errors
/// [`Error::Purged`], [`Error::Damaged`], and those of the store.
pub fn read_branch(lake: &Lake, branch: &Branch) -> Result<Hashed> {
    let mut whole = Vec::new();
    for segment in &branch.segments {
        let bytes = read_segment(lake, segment)?;
        if whole.is_empty() {
            whole = bytes;
        } else {
            whole.extend_from_slice(&bytes);
        }
    }
    let whole = Hashed::new(whole);
    if hex::encode(whole.sha256()) != branch.sha256() {
        return Err(Error::Damaged {
            path: format!("session {}, branch {}", branch.session_id, branch.branch),
            what: "its raw objects do not have the hash that the tables name".into(),
        });
    }
    Ok(whole)
}
