//! What the tables take from a segment: only what they have not.

use std::collections::HashMap;

use lake_trace::{Flags, Place};

use crate::chain::{Piece, hashes_at};
use crate::log::SegmentRecord;
use crate::{BatchMeta, Branch, BranchWriter, Error, Lake, Result, Segment, Sink};

/// What became of a segment.
pub(crate) enum Told {
    /// Its rows were made.
    Rows,
    /// The tables have it already.
    Nothing,
    /// It could not be taken; a person should know.
    Note(String),
    /// So because an object is damaged: it is an input that could not be read.
    Damaged(String),
}

/// A branch and, once its bytes were read, the writer that stands at its head.
struct Live {
    place: Place,
    branch: u32,
    flags: Flags,
    pieces: Vec<Piece>,
    writer: Option<BranchWriter>,
}

impl Live {
    fn head(&self) -> (u64, &str) {
        self.pieces.last().map_or((0, ""), |p| (p.segment.end, p.segment.sha256_end.as_str()))
    }

    fn has(&self, end: u64, sha: &str) -> bool {
        self.pieces.iter().any(|p| p.segment.end == end && p.segment.sha256_end == sha)
    }
}

/// All branches of one session while its segments come in.
pub(crate) struct Session {
    id: String,
    branches: Vec<Live>,
}

impl Session {
    pub(crate) fn new(id: &str, existing: Vec<Branch>) -> Session {
        let branches = existing.into_iter().map(|b| Live::from_catalog(&b)).collect();
        Session { id: id.to_owned(), branches }
    }

    /// Takes the next segment of the log.
    pub(crate) fn take(
        &mut self,
        lake: &Lake,
        batch: &BatchMeta,
        record: &SegmentRecord,
        sink: &mut Sink,
    ) -> Result<Told> {
        match self.try_take(lake, batch, record, sink) {
            Err(Error::Purged(what)) => {
                Ok(Told::Note(format!("session {}: {what} was purged; its rows are left out", self.id)))
            }
            // Nothing of this segment was taken yet: a piece is read, and whole, before a row of it is made.
            Err(Error::Damaged { path, what }) => Ok(Told::Damaged(format!(
                "session {}: {path} is damaged: {what}; its rows are left out until it is restored and the tables are \
                 rebuilt",
                self.id
            ))),
            other => other,
        }
    }

    fn try_take(&mut self, lake: &Lake, batch: &BatchMeta, record: &SegmentRecord, sink: &mut Sink) -> Result<Told> {
        if self.branches.iter().any(|b| b.has(record.end, &record.sha256_end)) {
            return Ok(Told::Nothing);
        }
        let new = piece_of(record, batch);
        let place = Place { org: record.org.clone(), repo: record.repo.clone(), date: record.date.clone() };
        // The common case: a new session, or one that grew.
        let before = (record.offset, record.sha256_before.as_str());
        if let Some(i) = self.branches.iter().position(|b| b.head() == before) {
            return self.extend(lake, i, vec![new], sink);
        }
        if self.branches.is_empty() && record.offset == 0 {
            return self.begin(lake, place, vec![new], Flags::default(), sink);
        }
        // Otherwise its whole bytes decide, from the first one on.
        let Some(mut pieces) = self.before(lake, record)? else {
            return Ok(Told::Note(format!(
                "session {}: the bytes before {} are not in the lake; {} is left out",
                self.id, record.offset, record.raw
            )));
        };
        let shares = !pieces.is_empty();
        let place = if shares { self.branches[0].place.clone() } else { place };
        pieces.push(new);
        if let Some((i, rest)) = self.longest_head(lake, &pieces)? {
            return if rest.is_empty() { Ok(Told::Nothing) } else { self.extend(lake, i, rest, sink) };
        }
        for branch in &self.branches {
            let (end, _) = branch.head();
            if end > record.end && hash_at(lake, &branch.pieces, record.end)? == Some(record.sha256_end.clone()) {
                return Ok(Told::Nothing);
            }
        }
        let same = shares || self.same_first_line(lake, &pieces)?;
        let flags = if self.branches.is_empty() { Flags::default() } else { BranchWriter::flag_for(same) };
        self.begin(lake, place, pieces, flags, sink)
    }

    fn extend(&mut self, lake: &Lake, i: usize, new: Vec<Piece>, sink: &mut Sink) -> Result<Told> {
        let live = &mut self.branches[i];
        let mut writer = match live.writer.take() {
            Some(writer) => writer,
            None => {
                let mut writer = BranchWriter::new(&self.id, live.branch, live.place.clone(), live.flags);
                for piece in &live.pieces {
                    writer.replay(&piece.read(lake)?)?;
                }
                writer
            }
        };
        for piece in new {
            write(lake, &mut writer, &piece, sink)?;
            live.pieces.push(piece);
        }
        live.writer = Some(writer);
        Ok(Told::Rows)
    }

    fn begin(&mut self, lake: &Lake, place: Place, pieces: Vec<Piece>, flags: Flags, sink: &mut Sink) -> Result<Told> {
        let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
        let mut writer = BranchWriter::new(&self.id, number, place.clone(), flags);
        let mut live = Live { place, branch: number, flags, pieces: Vec::new(), writer: None };
        for piece in pieces {
            if let Err(e) = write(lake, &mut writer, &piece, sink) {
                // The pieces before it have their rows, and so the branch its number.
                if !live.pieces.is_empty() {
                    self.branches.push(live);
                }
                return Err(e);
            }
            live.pieces.push(piece);
        }
        live.writer = Some(writer);
        self.branches.push(live);
        Ok(Told::Rows)
    }

    /// Pieces that hold the bytes before a segment; None when the lake does not have them.
    fn before(&self, lake: &Lake, record: &SegmentRecord) -> Result<Option<Vec<Piece>>> {
        if record.offset == 0 {
            return Ok(Some(Vec::new()));
        }
        let (at, sha) = (record.offset, record.sha256_before.as_str());
        for branch in &self.branches {
            let known = branch.has(at, sha)
                || (branch.head().0 > at && hash_at(lake, &branch.pieces, at)?.as_deref() == Some(sha));
            if known {
                return Ok(Some(until(&branch.pieces, at, sha)));
            }
        }
        Ok(None)
    }

    /// The branch whose whole bytes are a prefix of these (the longest one), and the pieces after it.
    fn longest_head(&self, lake: &Lake, pieces: &[Piece]) -> Result<Option<(usize, Vec<Piece>)>> {
        let end = pieces.last().map_or(0, |p| p.segment.end);
        let mut heads: Vec<u64> = self.branches.iter().map(|b| b.head().0).filter(|h| *h <= end).collect();
        heads.sort_unstable();
        heads.dedup();
        if heads.is_empty() {
            return Ok(None);
        }
        let hashes: HashMap<u64, String> = hashes_at(lake, pieces, &heads)?.into_iter().collect();
        let best = self
            .branches
            .iter()
            .enumerate()
            .filter(|(_, b)| hashes.get(&b.head().0).is_some_and(|sha| sha == b.head().1))
            .max_by_key(|(_, b)| b.head().0);
        Ok(best.map(|(i, b)| (i, after(pieces, b.head().0, b.head().1))))
    }

    /// Whether the first branch begins with the same line.
    fn same_first_line(&self, lake: &Lake, pieces: &[Piece]) -> Result<bool> {
        let (Some(ours), Some(first)) = (pieces.first(), self.branches.first().and_then(|b| b.pieces.first())) else {
            return Ok(false);
        };
        let line = |bytes: Vec<u8>| bytes.split(|b| *b == b'\n').next().map(<[u8]>::to_vec);
        Ok(line(ours.read(lake)?) == line(first.read(lake)?))
    }
}

fn write(lake: &Lake, writer: &mut BranchWriter, piece: &Piece, sink: &mut Sink) -> Result<()> {
    let bytes = piece.read(lake)?;
    let batch = BatchMeta {
        k: piece.segment.k,
        at: piece.segment.at,
        source: piece.segment.source.clone(),
        host: piece.segment.host.clone(),
    };
    let mut segment = piece.segment.clone();
    segment.first_line = writer.next_line();
    writer.take(segment, &piece.sha256_before, &bytes, &batch, sink)?;
    Ok(())
}

fn piece_of(record: &SegmentRecord, batch: &BatchMeta) -> Piece {
    Piece {
        segment: Segment {
            offset: record.offset,
            end: record.end,
            first_line: record.first_line,
            next_line: 0,
            sha256_end: record.sha256_end.clone(),
            raw: record.raw.clone(),
            raw_offset: record.offset,
            raw_bytes: record.raw_bytes,
            k: batch.k,
            at: batch.at,
            source: batch.source.clone(),
            host: batch.host.clone(),
        },
        sha256_before: record.sha256_before.clone(),
    }
}

impl Live {
    fn from_catalog(branch: &Branch) -> Live {
        let mut before = String::from(crate::EMPTY_SHA256);
        let pieces = branch
            .segments
            .iter()
            .map(|segment| {
                let piece = Piece { segment: segment.clone(), sha256_before: before.clone() };
                before.clone_from(&segment.sha256_end);
                piece
            })
            .collect();
        let flags = if branch.branch == 0 {
            Flags::default()
        } else {
            BranchWriter::flag_for(branch.flags.iter().any(|f| f == "rewritten"))
        };
        Live { place: branch.place.clone(), branch: branch.branch, flags, pieces, writer: None }
    }
}

/// The pieces up to byte `end`, whose hash is known.
fn until(pieces: &[Piece], end: u64, sha: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    for piece in pieces {
        if piece.segment.end <= end {
            out.push(piece.clone());
        } else {
            if piece.segment.offset < end {
                out.push(piece.until(end, sha));
            }
            break;
        }
    }
    out
}

/// The pieces from byte `from` on, whose hash is known.
fn after(pieces: &[Piece], from: u64, sha: &str) -> Vec<Piece> {
    pieces
        .iter()
        .filter(|p| p.segment.end > from)
        .map(|p| if p.segment.offset >= from { p.clone() } else { p.from(from, sha) })
        .collect()
}

fn hash_at(lake: &Lake, pieces: &[Piece], at: u64) -> Result<Option<String>> {
    Ok(hashes_at(lake, pieces, &[at])?.pop().map(|(_, sha)| sha))
}
