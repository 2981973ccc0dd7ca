//! Looks through a text that is in no lake: lines of JSON, traces among them, or anything else.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicBool, Ordering};

use lake_secrets::RuleSet;
use lake_store::Finding;
use lake_trace::json::{Notes, Value, parse};
use lake_trace::{LineRef, parse_line};

use crate::secrets::{FirstPass, SecondPass};
use crate::{Options, Progress};

/// A longer line is no JSON to anyone here, bytes: it is looked at in pieces, as other text is.
const LONGEST: usize = 32 << 20;
/// Text is looked at in pieces of this size, bytes.
const PIECE: usize = 2 << 20;
/// And each has this much of the one before and after; no secret is longer.
const MARGIN: usize = 64 << 10;

/// One finding in a text that is in no lake.
#[derive(Clone, Debug)]
pub struct LooseFinding {
    /// What and where: `line` from 1. In a line of JSON, `field` is a pointer (RFC 6901) and `start`, `end` are bytes in
    /// the decoded value; elsewhere `field` is empty and they are bytes in the text.
    pub finding: Finding,
    /// The session that the line names, if it is an event of a trace.
    pub session_id: Option<String>,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Length of the text, bytes.
    pub bytes: u64,
    /// Findings that the allow list lets pass.
    pub allowed: u64,
    /// Whether the run was told to stop before the end.
    pub stopped: bool,
}

/// Looks through a text and hands each finding to `each`, in order. The text is one session: what is a secret once in
/// it is one everywhere in it. So it is read a second time from its start, if anything was found.
///
/// Memory is bounded by the longest line of JSON (32 MiB), not by the text. Bytes that are no UTF-8 are read as if they
/// were U+FFFD, but for text in UTF-16, whose characters are taken for what they are; `start` and `end` then count bytes
/// of what was read so. Progress counts the bytes of the first reading.
///
/// # Errors
/// Of the reader, and of `each`.
pub fn look_through<R: Read + Seek, E: From<std::io::Error>>(
    source: &mut R,
    options: &Options,
    progress: &dyn Progress,
    stop: &AtomicBool,
    each: &mut dyn FnMut(LooseFinding) -> Result<(), E>,
) -> Result<Looked, E> {
    let rules = RuleSet::builtin();
    let mut looked = Looked::default();
    let mut first = FirstPass::new(rules);
    let start = source.stream_position()?;
    // Lines in brackets that are none of JSON.
    let mut no_json: HashSet<u64> = HashSet::new();
    looked.stopped = pieces(source, stop, &mut |piece| {
        progress.done(piece.bytes());
        looked.bytes += piece.bytes();
        match &piece {
            Piece::Line(bytes, line) => {
                let mut scratch = String::new();
                if let Ok(Some(event)) = parse_line(bytes, *line, &mut scratch) {
                    first.event(&event, bytes, *line);
                } else if let Some(value) = value_of(bytes) {
                    first.value(&value, *line);
                } else {
                    looked.bytes -= piece.bytes();
                    no_json.insert(*line);
                    return Ok(false);
                }
            }
            Piece::Text { text, .. } => first.reject(text.as_bytes(), 0),
        }
        Ok::<bool, E>(true)
    })?;
    let learnt = first.finish();
    if learnt.is_nothing() || looked.stopped {
        return Ok(looked);
    }
    source.seek(SeekFrom::Start(start))?;
    let mut second = SecondPass::new(rules, options, learnt);
    looked.stopped = pieces(source, stop, &mut |piece| {
        let mut session_id = None;
        let mut base = 0;
        match &piece {
            Piece::Line(bytes, line) => {
                if !second.concerns(bytes, *line) {
                    return Ok(!no_json.contains(line));
                }
                let mut scratch = String::new();
                if let Ok(Some(event)) = parse_line(bytes, *line, &mut scratch) {
                    let at = LineRef { line: *line, offset: 0, end: bytes.len() as u64 };
                    second.event(&event, at, bytes);
                    session_id = Some(event.session_id.into_owned());
                } else if let Some(value) = value_of(bytes) {
                    second.value(&value, *line);
                } else {
                    return Ok(false);
                }
            }
            Piece::Text { text, own, offset, line } => {
                base = *offset;
                let (mut at, mut number) = (0, *line);
                second.piece(text, own.clone(), |hit| {
                    number += text.as_bytes()[at..hit.start].iter().filter(|b| **b == b'\n').count() as u64;
                    at = hit.start;
                    number
                });
            }
        }
        let (findings, allowed) = second.take();
        looked.allowed += allowed;
        for finding in findings {
            let finding = Finding { start: base + finding.start, end: base + finding.end, ..finding };
            each(LooseFinding { finding, session_id: session_id.clone() })?;
        }
        Ok::<bool, E>(true)
    })?;
    Ok(looked)
}

/// A part of a text.
enum Piece<'b> {
    /// A whole line that begins as JSON does, without its newline, and its number.
    Line(&'b [u8], u64),
    /// Something else: `own` is what no other piece has, `offset` and `line` are where `text` begins.
    Text { text: &'b str, own: std::ops::Range<usize>, offset: u64, line: u64 },
}

impl Piece<'_> {
    fn bytes(&self) -> u64 {
        match self {
            Piece::Line(bytes, _) => bytes.len() as u64 + 1,
            Piece::Text { own, .. } => own.len() as u64,
        }
    }
}

/// The value on a line, if it is one of JSON; not one with a key twice, of which a value would be lost.
fn value_of(bytes: &[u8]) -> Option<Value<'_>> {
    let mut notes = Notes::default();
    let value = parse(std::str::from_utf8(bytes).ok()?, &mut notes).ok()?;
    (!notes.duplicate_key).then_some(value)
}

/// Hands each piece to `each`, which says of a line whether it is one of JSON: where it is not, it is part of the text
/// around it. True when it was told to stop.
fn pieces<E: From<std::io::Error>>(
    source: &mut impl Read,
    stop: &AtomicBool,
    each: &mut impl FnMut(Piece<'_>) -> Result<bool, E>,
) -> Result<bool, E> {
    let mut reader = BufReader::with_capacity(1 << 20, source);
    let mut text = Pending { bytes: Vec::new(), own: 0, offset: 0, line: 1, wide: Wide::of(reader.fill_buf()?) };
    let mut line = Vec::new();
    let (mut number, mut offset) = (1u64, 0u64);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(true);
        }
        line.clear();
        let starts = reader.fill_buf()?.iter().find(|b| !b.is_ascii_whitespace()).copied();
        let may_be_json = matches!(starts, Some(b'{' | b'[')) && text.wide == Wide::No;
        let most = if may_be_json { LONGEST } else { PIECE };
        let read = reader.by_ref().take(most as u64).read_until(b'\n', &mut line)?;
        if read == 0 {
            text.flush(true, each)?;
            return Ok(false);
        }
        let is_whole = line.last() == Some(&b'\n') || read < most;
        let end = line.len() - usize::from(line.last() == Some(&b'\n'));
        let mut is_json = false;
        if may_be_json && is_whole && is_bracketed(&line) {
            // What stands before it comes first.
            text.flush(true, each)?;
            is_json = each(Piece::Line(&line[..end], number))?;
            if is_json {
                text.restart(offset + read as u64, number + 1);
            }
        }
        if !is_json {
            text.bytes.extend_from_slice(&line);
            while text.bytes.len() >= PIECE + 2 * MARGIN {
                text.flush(false, each)?;
            }
        }
        offset += read as u64;
        number += u64::from(line.last() == Some(&b'\n'));
    }
}

/// Whether a line may be one object or array of JSON, by its ends.
fn is_bracketed(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    matches!((line.first(), line.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}

/// Two bytes a character, as some systems write: low byte first or last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wide {
    No,
    Little,
    Big,
}

impl Wide {
    fn of(head: &[u8]) -> Wide {
        let head = &head[..head.len().min(4096) & !1];
        let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count();
        let most = head.len() / 2;
        match head {
            [0xff, 0xfe, ..] => Wide::Little,
            [0xfe, 0xff, ..] => Wide::Big,
            _ if most >= 8 && zeros(1) * 10 > most * 8 && zeros(0) * 10 < most => Wide::Little,
            _ if most >= 8 && zeros(0) * 10 > most * 8 && zeros(1) * 10 < most => Wide::Big,
            _ => Wide::No,
        }
    }

    fn text(self, bytes: &[u8]) -> String {
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair.get(1).copied().unwrap_or(0)];
            if self == Wide::Big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        match self {
            Wide::No => String::from_utf8_lossy(bytes).into_owned(),
            _ => char::decode_utf16(bytes.chunks(2).map(unit)).map(|c| c.unwrap_or('\u{fffd}')).collect(),
        }
    }
}

/// Text that is not handed on yet.
struct Pending {
    bytes: Vec<u8>,
    /// Where what no other piece had begins.
    own: usize,
    offset: u64,
    line: u64,
    wide: Wide,
}

impl Pending {
    fn restart(&mut self, offset: u64, line: u64) {
        self.bytes.clear();
        (self.own, self.offset, self.line) = (0, offset, line);
    }

    fn flush<E>(&mut self, last: bool, each: &mut impl FnMut(Piece<'_>) -> Result<bool, E>) -> Result<(), E> {
        if self.bytes.len() <= self.own {
            return Ok(());
        }
        let size = if last { self.bytes.len() } else { self.bytes.len().min(PIECE + 2 * MARGIN) };
        // Between characters, of both widths.
        let mut own = if last { size } else { (size - MARGIN) & !1 };
        let mut size = if last { size } else { size & !1 };
        if self.wide == Wide::No {
            own = boundary(&self.bytes, own);
            size = boundary(&self.bytes, size);
        }
        let before = self.wide.text(&self.bytes[..self.own]).len();
        let within = self.wide.text(&self.bytes[self.own..own]).len();
        let text = self.wide.text(&self.bytes[..size]);
        each(Piece::Text { text: &text, own: before..before + within, offset: self.offset, line: self.line })?;
        let mut drop = own.saturating_sub(MARGIN) & !1;
        if self.wide == Wide::No {
            drop = boundary(&self.bytes, drop);
        }
        let dropped = self.wide.text(&self.bytes[..drop]);
        self.offset += dropped.len() as u64;
        self.line += dropped.bytes().filter(|b| *b == b'\n').count() as u64;
        self.bytes.drain(..drop);
        self.own = own - drop;
        Ok(())
    }
}

/// The start of the character at `at`, if there is one.
fn boundary(bytes: &[u8], at: usize) -> usize {
    let back = |by: usize| at.checked_sub(by).filter(|at| bytes.get(*at).is_none_or(|b| b & 0xc0 != 0x80));
    (0..4).find_map(back).unwrap_or(at)
}
