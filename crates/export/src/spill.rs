//! Rows that wait in a temporary file until it is known which of them are used.
//!
//! A row is a run of frames: length of the message (32 bits, little end first), one byte that tells whether the model may
//! learn it, and the message as its dialect opened it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Result};

/// Bytes of a frame before its message.
const HEAD: usize = 5;
/// How much of the file is read at once.
const READ_BYTES: usize = 256 << 10;

/// Where a row lies in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    offset: u64,
    bytes: u64,
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

    /// Keeps a row's frames. Rows of other threads go on beside it.
    pub(crate) fn put(&self, frames: &[u8]) -> io::Result<Span> {
        let span =
            Span { offset: self.end.fetch_add(frames.len() as u64, Ordering::Relaxed), bytes: frames.len() as u64 };
        self.file.write_all_at(frames, span.offset)?;
        Ok(span)
    }

    /// The frames of a row, in order.
    pub(crate) fn frames(&self, span: Span) -> Frames<'_> {
        let part = Part { file: &self.file, at: span.offset, end: span.offset + span.bytes };
        Frames { reader: BufReader::with_capacity(READ_BYTES, part) }
    }
}

/// Starts a frame at the end of `row`; [`finish_row`] fills in its head.
pub(crate) fn start_frame(row: &mut String) -> usize {
    row.push_str("\0\0\0\0\0");
    row.len()
}

/// Where a frame's message lies in the row that is being built, and whether the model may learn it.
pub(crate) type Frame = (usize, usize, bool);

/// The bytes of a row that was built with [`start_frame`]: heads are set in place.
pub(crate) fn finish_row(row: String, frames: &[Frame]) -> io::Result<Vec<u8>> {
    let mut bytes = row.into_bytes();
    for (start, end, train) in frames {
        let length = u32::try_from(end - start).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        bytes[start - HEAD..start - 1].copy_from_slice(&length.to_le_bytes());
        bytes[start - 1] = u8::from(*train);
    }
    Ok(bytes)
}

struct Part<'f> {
    file: &'f File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let read = self.file.read_at(&mut buffer[..wanted], self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Reads frames one by one.
pub(crate) struct Frames<'f> {
    reader: BufReader<Part<'f>>,
}

impl Frames<'_> {
    /// Appends the next message to `out`; None at the row's end. Tells whether the model may learn it.
    pub(crate) fn next_into(&mut self, out: &mut Vec<u8>) -> io::Result<Option<bool>> {
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
        Ok(Some(head[4] != 0))
    }
}
