//! Seams of lines: colours, gutters, diff markers, joined literals and wraps.

use crate::pem::escape_length;
use crate::view::Seam;

/// A run of characters around the end of a line that may be one token is at least this long.
const LEAST: usize = 12;
/// And is looked at no further than this.
const MOST: usize = 96;

/// Everything that a terminal, a viewer, a diff or a programmer put into a token. Ascending, not overlapping.
pub(crate) fn seams(text: &str) -> Vec<Seam> {
    let bytes = text.as_bytes();
    let mut seams: Vec<Seam> = Vec::new();
    colours(bytes, &mut seams);
    let coloured = seams.len();
    wraps(bytes, &mut seams);
    joins(bytes, &mut seams);
    if seams.len() > coloured {
        seams.sort_by_key(|seam| (seam.span.start, seam.span.end));
        let mut end = 0;
        seams.retain(|seam| {
            let apart = seam.span.start >= end;
            if apart {
                end = seam.span.end;
            }
            apart
        });
    }
    seams.retain(|seam| text.is_char_boundary(seam.span.start) && text.is_char_boundary(seam.span.end));
    seams
}

fn colours(bytes: &[u8], seams: &mut Vec<Seam>) {
    let mut at = 0;
    // A NUL between characters is what is left of a text in UTF-16.
    while let Some(found) = memchr::memchr2(0x1b, 0, &bytes[at..]) {
        let start = at + found;
        at = start + if bytes[start] == 0 { 1 } else { escape_length(&bytes[start..]) };
        seams.push(Seam { span: start..at, with: None, guess: false });
    }
}

/// Ends of lines inside a token: after a backslash, or where a terminal or an editor wrapped.
fn wraps(bytes: &[u8], seams: &mut Vec<Seam>) {
    let mut line = 0;
    // How long the last line was, when it was taken for one that goes on: a wrapped line is full.
    let mut full = 0;
    for end in memchr::memchr_iter(b'\n', bytes) {
        let before = if end > line && bytes[end - 1] == b'\r' { end - 1 } else { end };
        let this = line;
        line = end + 1;
        let width = std::mem::take(&mut full);
        // Most lines end in something that no token has: they cost no more than this.
        if before == this || line >= bytes.len() || !(is_token(bytes[before - 1]) || bytes[before - 1] == b'\\') {
            continue;
        }
        if is_blank(bytes[line]) && bytes[this] != bytes[line] {
            continue;
        }
        let gutter = gutter(bytes, line);
        let content = if gutter > 0 && self::gutter(bytes, this) > 0 { line + gutter } else { line };
        let Some(&next) = bytes.get(content) else { continue };
        if bytes[before - 1] == b'\\' {
            if next.is_ascii_graphic() && before >= 2 && bytes[before - 2].is_ascii_graphic() {
                seams.push(Seam { span: before - 1..content, with: None, guess: false });
            }
        } else if is_token(next)
            // A bullet, a heading.
            && bytes.get(content + 1).is_none_or(|&b| !is_blank(b))
            && is_token(bytes[before - 1])
            && before - this >= width
            && may_be_one(&bytes[this..before], &bytes[content..])
            && is_no_longer(&bytes[line..], end - this)
        {
            full = before - this;
            seams.push(Seam { span: before..content, with: None, guess: true });
        }
    }
}

/// The line at the start of `rest` has no more than `width` bytes, give or take a character of several.
fn is_no_longer(rest: &[u8], width: usize) -> bool {
    rest.len() <= width + 3 || memchr::memchr(b'\n', &rest[..width + 3]).is_some()
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(byte, b'(' | b')' | b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b'|' | b'\\')
}

/// Two halves of a token together are long and have a digit, a quote, an equals sign, or letters of both cases; or they are the armour of a key.
fn may_be_one(before: &[u8], after: &[u8]) -> bool {
    if before.starts_with(b"-----") || before.ends_with(b"-----") {
        return true;
    }
    let run = |byte: &&u8| byte.is_ascii_graphic();
    let left = before.iter().rev().take(MOST).take_while(run);
    let right = after.iter().take(MOST).take_while(run);
    let (mut length, mut digits, mut uppers, mut lowers) = (0, 0, 0, 0);
    for byte in left.chain(right) {
        length += 1;
        digits += usize::from(byte.is_ascii_digit() || matches!(byte, b'"' | b'\'' | b'='));
        uppers += usize::from(byte.is_ascii_uppercase());
        lowers += usize::from(byte.is_ascii_lowercase());
        if length >= LEAST && (digits > 0 || (uppers > 2 && lowers > 2)) {
            return true;
        }
    }
    false
}

/// What a viewer or a diff put at the start of lines that follow each other, for what is told by whole lines.
pub(crate) fn gutters(text: &str) -> Vec<Seam> {
    let bytes = text.as_bytes();
    let mut seams: Vec<Seam> = Vec::new();
    let mut last: Option<Seam> = None;
    let mut line = 0;
    while line < bytes.len() {
        // A list or a comment has these at its start as well.
        let length = if matches!(bytes[line], b'#' | b'|' | b'>') { 0 } else { gutter(bytes, line) };
        let seam = (length > 0).then(|| Seam { span: line..line + length, with: None, guess: false });
        if let (Some(before), Some(this)) = (&last, &seam) {
            if seams.last() != Some(before) {
                seams.push(before.clone());
            }
            seams.push(this.clone());
        }
        last = seam;
        line = memchr::memchr(b'\n', &bytes[line..]).map_or(bytes.len(), |end| line + end + 1);
    }
    seams.retain(|seam| text.is_char_boundary(seam.span.end));
    seams
}

/// `src/a.rs:12:`, as grep prints.
fn place(rest: &[u8]) -> usize {
    const PATH: [bool; 256] = {
        let mut is_path = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            let b = byte as u8;
            is_path[byte] = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/' | b'-');
            byte += 1;
        }
        is_path
    };
    let path = rest.iter().take(160).take_while(|&&b| PATH[b as usize]).count();
    if path == 0 || rest.get(path) != Some(&b':') {
        return 0;
    }
    let digits = rest[path + 1..].iter().take(8).take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 && rest.get(path + 1 + digits) == Some(&b':') { path + digits + 2 } else { 0 }
}

/// Length of what a viewer or a diff puts at the start of a line: `  12→`, `12:`, `12|`, `+`, `-`, `> `, `| `.
fn gutter(bytes: &[u8], line: usize) -> usize {
    let rest = &bytes[line..bytes.len().min(line + 24)];
    let blanks = rest.iter().take_while(|&&b| b == b' ').count();
    let digits = rest[blanks..].iter().take(8).take_while(|b| b.is_ascii_digit()).count();
    if digits > 0 {
        let after = &rest[blanks + digits..];
        let mark = match after.first() {
            Some(b'\t' | b':' | b'|' | b'-') => 1,
            Some(0xe2) if after.starts_with("→".as_bytes()) || after.starts_with("│".as_bytes()) => 3,
            Some(b' ') if after.starts_with(b" | ") => 3,
            Some(b' ') if after.starts_with("│".as_bytes()) => 4,
            _ => 0,
        };
        if mark > 0 {
            let marked = blanks + digits + mark;
            let space = usize::from(rest.get(marked) == Some(&b' ') && mark != 1);
            return marked + space;
        }
        return place(&bytes[line..]);
    }
    match (blanks, rest.get(blanks)) {
        (0, Some(b'+' | b'-')) => 1,
        (0, Some(b)) if b.is_ascii_alphanumeric() || *b == b'.' || *b == b'/' => place(&bytes[line..]),
        (_, Some(b'>' | b'|' | b'#')) if rest.get(blanks + 1) == Some(&b' ') => blanks + 2,
        _ => 0,
    }
}

/// `"abc" + "def"`, `'abc' . 'def'`, and literals on lines after each other.
fn joins(bytes: &[u8], seams: &mut Vec<Seam>) {
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\'', &bytes[at..]) {
        let start = at + found;
        at = start + 1;
        // Most quotes are followed by something that rules a join out.
        let Some(&next) = bytes.get(at) else { break };
        if !matches!(next, b' ' | b'+' | b'\n' | b'\r' | b'.' | b'\\') || start == 0 || !is_token(bytes[start - 1]) {
            continue;
        }
        if let Some(end) = join(bytes, start) {
            seams.push(Seam { span: start..end, with: None, guess: false });
            at = end;
        }
    }
}

/// One past the opening quote of the literal that is joined to the one closing at `start`.
fn join(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes[start];
    let end = bytes.len().min(start + 160);
    let mut at = start + 1;
    let (mut operator, mut newline) = (false, false);
    while at < end {
        match bytes[at] {
            b' ' | b'\t' | b'\r' => at += 1,
            b'\n' => {
                newline = true;
                at += 1;
                at += gutter(bytes, at).min(end.saturating_sub(at));
            }
            b'\\' if newline || matches!(bytes.get(at + 1), Some(b'\n' | b'\r')) => at += 1,
            b'+' | b'.' if !operator => {
                operator = true;
                at += 1;
            }
            byte if byte == quote && (operator || newline) => {
                return bytes.get(at + 1).is_some_and(|&b| is_token(b) && b != quote).then_some(at + 1);
            }
            _ => return None,
        }
    }
    None
}
