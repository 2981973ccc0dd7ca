//! Whole lines of a run of bytes.

/// One line without its newline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Where it starts, bytes from the start of the run.
    pub start: usize,
    /// Where the next one starts: one past the newline.
    pub end: usize,
    /// Its bytes, newline left out.
    pub bytes: &'a [u8],
}

impl Line<'_> {
    /// Whether nothing but white space is on it: such a line is no line to anyone.
    pub fn is_blank(&self) -> bool {
        self.bytes.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r'))
    }
}

/// The whole lines of `bytes`, in order. What follows the last newline is not a line yet and is left out.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    memchr::memchr_iter(b'\n', bytes).map(move |at| {
        let line = Line { start, end: at + 1, bytes: &bytes[start..at] };
        start = at + 1;
        line
    })
}
