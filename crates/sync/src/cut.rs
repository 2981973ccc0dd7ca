//! Reads a file in segments: whole lines, with the hash of all bytes up to each end.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use sha2::{Digest, Sha256};

/// A segment is at most this long, bytes; a longer line stands alone.
pub(crate) const SEGMENT: usize = 64 << 20;
const READ: usize = 1 << 20;

/// One run of whole lines.
pub(crate) struct Cut {
    pub(crate) offset: u64,
    pub(crate) end: u64,
    pub(crate) first_line: u64,
    pub(crate) sha256_before: String,
    pub(crate) sha256_end: String,
    pub(crate) bytes: Vec<u8>,
}

/// Cuts a file from a byte on.
pub(crate) struct Cutter {
    file: File,
    /// Bytes of the file that were there when it was looked at; what was added since is for the next run.
    size: u64,
    max_line: usize,
    hash: Sha256,
    offset: u64,
    line: u64,
    buffer: Vec<u8>,
    /// Bytes at the start of the buffer that hold no newline.
    searched: usize,
    eof: bool,
    /// Inside a line that is too long to be parsed.
    long: bool,
}

impl Cutter {
    pub(crate) fn new(file: File, size: u64, max_line: usize) -> Cutter {
        Cutter {
            file,
            size,
            max_line: max_line.max(SEGMENT),
            hash: Sha256::new(),
            offset: 0,
            line: 1,
            buffer: Vec::new(),
            searched: 0,
            eof: false,
            long: false,
        }
    }

    /// Passes the longest of the known heads that the file begins with, and returns its end; 0 where none fits.
    /// `heads` are ends and hashes (hex) of `[0, end)`.
    pub(crate) fn skip_known(&mut self, heads: &[(u64, String)]) -> std::io::Result<u64> {
        let mut stops: Vec<&(u64, String)> = heads.iter().filter(|(end, _)| *end <= self.size && *end > 0).collect();
        stops.sort();
        let mut hash = Sha256::new();
        let (mut at, mut lines) = (0u64, 1u64);
        let mut best = (0u64, Sha256::new(), 1u64);
        let mut buffer = vec![0; READ];
        for (end, sha) in stops {
            while at < *end {
                let want = usize::try_from(*end - at).unwrap_or(READ).min(READ);
                let got = self.file.read(&mut buffer[..want])?;
                if got == 0 {
                    break;
                }
                hash.update(&buffer[..got]);
                lines += memchr::memchr_iter(b'\n', &buffer[..got]).count() as u64;
                at += got as u64;
            }
            if at < *end {
                break;
            }
            if hex::encode(hash.clone().finalize()) == *sha {
                best = (*end, hash.clone(), lines);
            }
        }
        (self.offset, self.hash, self.line) = best;
        self.file.seek(SeekFrom::Start(self.offset))?;
        Ok(self.offset)
    }

    fn fill(&mut self) -> std::io::Result<()> {
        let have = self.offset + self.buffer.len() as u64;
        let left = self.size.saturating_sub(have);
        // The first read takes a small file whole.
        let step = if self.buffer.is_empty() { left.min(SEGMENT as u64) } else { left.min(READ as u64 * 4) };
        if step == 0 {
            self.eof = true;
            return Ok(());
        }
        let before = self.buffer.len();
        self.buffer.reserve(usize::try_from(step).unwrap_or(READ));
        let got = (&mut self.file).take(step).read_to_end(&mut self.buffer)?;
        if self.buffer.len() == before || got == 0 {
            // It was cut while it was read.
            self.eof = true;
        }
        Ok(())
    }

    /// The next segment; None when no whole line is left.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<Cut>> {
        loop {
            while self.buffer.len() < SEGMENT && !self.eof {
                self.fill()?;
            }
            let upto = self.buffer.len().min(SEGMENT);
            if self.long {
                // Pieces of a line that is too long: up to and with its newline.
                return match memchr::memchr(b'\n', &self.buffer[..upto]) {
                    Some(newline) => {
                        self.long = false;
                        Ok(Some(self.take(newline + 1)))
                    }
                    None if upto == SEGMENT => Ok(Some(self.take(SEGMENT))),
                    None => Ok(None),
                };
            }
            if let Some(newline) = memchr::memrchr(b'\n', &self.buffer[..upto]) {
                return Ok(Some(self.take(newline + 1)));
            }
            if self.eof && self.buffer.len() <= SEGMENT {
                return Ok(None);
            }
            // One line is longer than a segment: it stands alone, or comes in pieces.
            self.searched = self.searched.max(upto);
            match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                Some(newline) if self.searched + newline < self.max_line => {
                    let end = self.searched + newline + 1;
                    return Ok(Some(self.take(end)));
                }
                None if self.buffer.len() <= self.max_line => {
                    self.searched = self.buffer.len();
                    if self.eof {
                        return Ok(None);
                    }
                    self.fill()?;
                }
                _ => {
                    // Without a newline ahead it is not a line yet, however long it is.
                    if !self.newline_ahead()? {
                        return Ok(None);
                    }
                    self.long = true;
                }
            }
        }
    }

    /// Whether a newline follows what is in the buffer, or is in it.
    fn newline_ahead(&mut self) -> std::io::Result<bool> {
        if memchr::memchr(b'\n', &self.buffer).is_some() {
            return Ok(true);
        }
        let back = self.file.stream_position()?;
        let mut left = self.size.saturating_sub(self.offset + self.buffer.len() as u64);
        let mut buffer = vec![0; READ];
        let mut found = false;
        while left > 0 && !found {
            let want = usize::try_from(left).unwrap_or(READ).min(READ);
            let got = self.file.read(&mut buffer[..want])?;
            if got == 0 {
                break;
            }
            found = memchr::memchr(b'\n', &buffer[..got]).is_some();
            left -= got as u64;
        }
        self.file.seek(SeekFrom::Start(back))?;
        Ok(found)
    }

    fn take(&mut self, length: usize) -> Cut {
        let rest = self.buffer.split_off(length);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        let sha256_before = hex::encode(self.hash.clone().finalize());
        self.hash.update(&bytes);
        let offset = self.offset;
        let first_line = self.line;
        self.offset += bytes.len() as u64;
        self.line += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        Cut {
            offset,
            end: self.offset,
            first_line,
            sha256_before,
            sha256_end: hex::encode(self.hash.clone().finalize()),
            bytes,
        }
    }
}

/// Whether a file holds a `session_end` of the session itself in some whole line. Reads it in pieces.
pub(crate) fn has_end(file: File, size: u64, max_line: usize) -> std::io::Result<bool> {
    let mut cutter = Cutter::new(file, size, max_line);
    while let Some(cut) = cutter.next()? {
        if bytes_have_end(&cut.bytes) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether some whole line without `agent_id` is a `session_end`.
pub(crate) fn bytes_have_end(bytes: &[u8]) -> bool {
    let finder = memchr::memmem::Finder::new(b"session_end");
    // From the end: that is where it nearly always is.
    let mut upto = bytes.len();
    while let Some(newline) = memchr::memrchr(b'\n', &bytes[..upto]) {
        let start = memchr::memrchr(b'\n', &bytes[..newline]).map_or(0, |n| n + 1);
        let line = &bytes[start..newline];
        if finder.find(line).is_some() {
            let mut scratch = String::new();
            if let Ok(Some(event)) = lake_trace::parse_line(line, 1, &mut scratch)
                && event.kind == "session_end"
                && event.agent_id.is_none()
            {
                return true;
            }
        }
        upto = newline.min(start);
        if start == 0 {
            break;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn cuts(bytes: &[u8], max_line: usize) -> Vec<Cut> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let mut cutter = Cutter::new(file.reopen().expect("opened"), bytes.len() as u64, max_line);
        let mut all = Vec::new();
        while let Some(cut) = cutter.next().expect("read") {
            all.push(cut);
        }
        all
    }

    #[test]
    fn segments_are_whole_lines_and_join_to_the_file() {
        let bytes = b"one\ntwo\n\nthree\npart".to_vec();
        let all = cuts(&bytes, 1 << 27);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].offset, all[0].end, all[0].first_line), (0, 15, 1));
        assert_eq!(all[0].sha256_end, hex::encode(Sha256::digest(&bytes[..15])));
    }

    #[test]
    fn a_line_longer_than_a_segment_stands_alone() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', SEGMENT + 10));
        bytes.extend(b"\nlast\n");
        let all = cuts(&bytes, 1 << 27);
        let ends: Vec<u64> = all.iter().map(|c| c.end).collect();
        assert_eq!(ends, [6, 6 + SEGMENT as u64 + 11, bytes.len() as u64]);
        assert_eq!(all.iter().map(|c| c.first_line).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(all[2].sha256_end, hex::encode(Sha256::digest(&bytes)));
    }

    #[test]
    fn a_line_that_is_too_long_comes_in_pieces_once_it_has_ended() {
        let mut bytes = b"first\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', 3 * SEGMENT));
        assert_eq!(cuts(&bytes, SEGMENT).len(), 1, "without its newline it is not a line yet");
        bytes.extend(b"\nlast\n");
        let all = cuts(&bytes, SEGMENT);
        assert_eq!(all.iter().map(|c| c.bytes.len()).sum::<usize>(), bytes.len());
        assert!(all.len() >= 5 && all.iter().all(|c| c.bytes.len() <= SEGMENT));
        assert_eq!(all.last().map(|c| c.first_line), Some(3));
    }

    #[test]
    fn only_an_end_of_the_session_itself_ends_it() {
        let line = |agent: &str| {
            format!("{{\"type\":\"session_end\",\"session_id\":\"s\",\"ts\":\"2026-01-01T00:00:00Z\"{agent}}}\n")
        };
        assert!(bytes_have_end(line("").as_bytes()));
        assert!(!bytes_have_end(line(",\"agent_id\":\"a\"").as_bytes()));
        assert!(bytes_have_end(format!("{}{{\"more\":1}}\n", line("")).as_bytes()));
        assert!(!bytes_have_end(line("").trim_end().as_bytes()));
        assert!(!bytes_have_end(b"{\"text\":\"session_end\"}\n\n"));
    }
}
