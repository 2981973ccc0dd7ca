//! Rows that wait in a temporary file until it is known which of them are used.
//!
//! A row is a run of frames: length of the message (32 bits, little end first), one byte that tells whose it is and whether
//! the model may learn it, and the message as its dialect opened it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::conversation::Kind;
use crate::{Error, Result};

/// Bytes of a frame before its message.
const HEAD: usize = 5;
/// A piece of a row is put into the file when it has reached this size. One message may make it larger.
const PIECE_BYTES: usize = 1 << 20;
/// How much of the file is read at once.
const READ_BYTES: usize = 256 << 10;

/// What is said of a message beside its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) kind: Kind,
    /// Whether the model may learn it.
    pub(crate) train: bool,
}

impl Note {
    fn byte(self) -> u8 {
        let kind = match self.kind {
            Kind::Context => 0,
            Kind::Assistant => 2,
            Kind::Output => 4,
        };
        kind | u8::from(self.train)
    }

    fn of(byte: u8) -> Note {
        let kind = match byte & !1 {
            0 => Kind::Context,
            2 => Kind::Assistant,
            _ => Kind::Output,
        };
        Note { kind, train: byte & 1 != 0 }
    }
}

/// Where a piece of a row lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    offset: u64,
    bytes: u64,
}

impl Span {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// The file. It has no name: nothing is left of it, however the run ends.
#[derive(Debug)]
pub(crate) struct Spill {
    file: File,
    end: AtomicU64,
}

impl Spill {
    pub(crate) fn create(folder: &Path) -> Result<Spill> {
        let file = tempfile::tempfile_in(folder).map_err(Error::io("creating a temporary file in", folder))?;
        Ok(Spill { file, end: AtomicU64::new(0) })
    }

    /// For a run that writes no folder.
    pub(crate) fn elsewhere() -> Result<Spill> {
        let file = tempfile::tempfile().map_err(Error::io("creating", "a temporary file"))?;
        Ok(Spill { file, end: AtomicU64::new(0) })
    }

    /// Other threads put theirs beside it.
    fn put(&self, frames: &[u8]) -> io::Result<Span> {
        let span =
            Span { offset: self.end.fetch_add(frames.len() as u64, Ordering::Relaxed), bytes: frames.len() as u64 };
        self.file.write_all_at(frames, span.offset)?;
        Ok(span)
    }

    /// The frames of a row, in order.
    pub(crate) fn frames<'f>(&'f self, spans: &'f [Span]) -> Frames<'f> {
        Frames { reader: BufReader::with_capacity(READ_BYTES, Parts { file: &self.file, spans, done: 0 }) }
    }
}

/// Builds a row's frames and puts them into the file piece by piece: a long session is never there twice.
pub(crate) struct RowWriter<'f> {
    spill: &'f Spill,
    piece: String,
    /// Where each message of the piece starts and ends, and what is said of it.
    messages: Vec<(usize, usize, Note)>,
    spans: Vec<Span>,
}

impl<'f> RowWriter<'f> {
    pub(crate) fn new(spill: &'f Spill) -> RowWriter<'f> {
        RowWriter { spill, piece: String::new(), messages: Vec::new(), spans: Vec::new() }
    }

    /// Takes the next message, which `write` appends.
    pub(crate) fn message(&mut self, note: Note, write: impl FnOnce(&mut String)) -> io::Result<()> {
        // Room for the head, which is known when the message is there.
        self.piece.push_str("\0\0\0\0\0");
        let start = self.piece.len();
        write(&mut self.piece);
        self.messages.push((start, self.piece.len(), note));
        if self.piece.len() < PIECE_BYTES { Ok(()) } else { self.put() }
    }

    fn put(&mut self) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.piece).into_bytes();
        for (start, end, note) in self.messages.drain(..) {
            let length = u32::try_from(end - start).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
            bytes[start - HEAD..start - 1].copy_from_slice(&length.to_le_bytes());
            bytes[start - 1] = note.byte();
        }
        self.spans.push(self.spill.put(&bytes)?);
        bytes.clear();
        self.piece = String::from_utf8(bytes).unwrap_or_default();
        Ok(())
    }

    /// Where the row is.
    pub(crate) fn finish(mut self) -> io::Result<Vec<Span>> {
        if !self.piece.is_empty() {
            self.put()?;
        }
        Ok(self.spans)
    }
}

struct Parts<'f> {
    file: &'f File,
    /// What is left of the row.
    spans: &'f [Span],
    /// Bytes of the first of them that were read.
    done: u64,
}

impl Read for Parts<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some((span, rest)) = self.spans.split_first() {
            let left = span.bytes - self.done;
            if left == 0 {
                (self.spans, self.done) = (rest, 0);
                continue;
            }
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = self.file.read_at(&mut buffer[..wanted], span.offset + self.done)?;
            self.done += read as u64;
            return Ok(read);
        }
        Ok(0)
    }
}

/// Reads frames one by one.
pub(crate) struct Frames<'f> {
    reader: BufReader<Parts<'f>>,
}

impl Frames<'_> {
    /// Appends the next message to `out`; None at the row's end. Tells what is said of it.
    pub(crate) fn next_into(&mut self, out: &mut Vec<u8>) -> io::Result<Option<Note>> {
        let mut head = [0; HEAD];
        match self.reader.read_exact(&mut head) {
            Ok(()) => {}
            // Rows end between frames: a shorter head than this is the end.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = u64::from(u32::from_le_bytes([head[0], head[1], head[2], head[3]]));
        let read = (&mut self.reader).take(length).read_to_end(out)?;
        if (read as u64) < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Some(Note::of(head[4])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(train: bool) -> Note {
        Note { kind: if train { Kind::Assistant } else { Kind::Output }, train }
    }

    #[test]
    fn rows_come_back_as_they_were_however_they_were_cut() {
        let folder = tempfile::tempdir().expect("a folder");
        let spill = Spill::create(folder.path()).expect("a file");
        let rows: Vec<Vec<(String, bool)>> = [0, 1, 7, 40]
            .map(|n| {
                // Some messages are longer than a piece, some are empty.
                (0..n).map(|i| ("é".repeat(i * i * 4321 % (PIECE_BYTES * 3 / 4)), i % 2 == 0)).collect()
            })
            .into();
        // Two rows at a time: their pieces lie between each other.
        let spans: Vec<Vec<Span>> = rows
            .chunks(2)
            .flat_map(|two| {
                let mut writers: Vec<_> = two.iter().map(|_| RowWriter::new(&spill)).collect();
                for i in 0..40 {
                    for (writer, row) in writers.iter_mut().zip(two) {
                        let Some((text, train)) = row.get(i) else { continue };
                        writer.message(note(*train), |out| out.push_str(text)).expect("written");
                    }
                }
                writers.into_iter().map(|writer| writer.finish().expect("written")).collect::<Vec<_>>()
            })
            .collect();
        for (row, spans) in rows.iter().zip(&spans) {
            let mut frames = spill.frames(spans);
            let mut out = Vec::new();
            for (text, train) in row {
                out.clear();
                assert_eq!(frames.next_into(&mut out).expect("read"), Some(note(*train)));
                assert!(out == text.as_bytes());
            }
            assert_eq!(frames.next_into(&mut out).expect("read"), None);
        }
    }
}
