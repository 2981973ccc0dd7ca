//! Private keys in armour (RFC 7468, OpenSSH, PGP): a header and a body in base 64.

use crate::RuleSet;
use crate::core::Found;
use crate::judge;

/// No key is longer, with gutters and escapes.
const LONGEST: usize = 64 << 10;
/// A key of 256 bits in the shortest of the formats.
const LEAST_BODY: usize = 40;
const RULE: &str = "private-key";

/// Looks at an armour header at `start`. Whatever stands between the lines of the body (line numbers, diff markers,
/// escapes, quotes, colours, blanks) is skipped, so that no view is needed.
pub(crate) fn private_key(set: &RuleSet, text: &str, start: usize, found: &mut Found) {
    let bytes = &text.as_bytes()[..text.len().min(start + LONGEST)];
    let Some(body_start) = header(&bytes[start..]).map(|length| start + length) else { return };
    let mut walk = Walk { bytes, at: body_start, end: body_start, body: String::new() };
    walk.run();
    if walk.body.len() >= LEAST_BODY && judge::entropy(&walk.body) >= 3.5 {
        let (end, body) = (walk.end, walk.body);
        found.push(set, RULE, text, start..end, body);
    }
}

/// Length of `-----BEGIN … PRIVATE KEY …-----`, which a narrow terminal may have wrapped.
fn header(bytes: &[u8]) -> Option<usize> {
    let open = b"-----BEGIN ".len();
    let mut label = Vec::with_capacity(64);
    let mut dashes = 0;
    for (at, &byte) in bytes.iter().enumerate().take(96).skip(open) {
        match byte {
            b'-' => dashes += 1,
            b'\n' | b'\r' | b'\\' => continue,
            b'A'..=b'Z' | b'0'..=b'9' | b' ' if dashes == 0 => label.push(byte),
            _ => return None,
        }
        if dashes == 5 {
            return memchr::memmem::find(&label, b"PRIVATE KEY").map(|_| at + 1);
        }
    }
    None
}

struct Walk<'t> {
    bytes: &'t [u8],
    at: usize,
    end: usize,
    body: String,
}

impl Walk<'_> {
    fn run(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"-----END") {
                let close = memchr::memmem::find(&rest[8..rest.len().min(80)], b"-----");
                self.end = self.at + close.map_or(8, |close| 8 + close + 5);
                return;
            }
            if rest.starts_with(b"-----BEGIN") {
                return;
            }
            match byte {
                0x1b => self.at += escape_length(rest),
                b'\\' => self.at += escaped(rest),
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'=' => {
                    if !self.chunk() {
                        return;
                    }
                }
                b'+' if rest.len() > 1 && is_base64(rest[1]) && !self.at_line_start() => {
                    if !self.chunk() {
                        return;
                    }
                }
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b',' | b'|' | b'>' | b'-' | b'#' | b'*' | b'+' | b'`'
                | b':' => self.at += 1,
                // The arrow of a line-number gutter and the like.
                0x80.. => self.at += 1,
                _ => return,
            }
        }
    }

    /// Whether more of a body, or its end, follows within what may stand between two lines.
    fn goes_on(&self) -> bool {
        let after = &self.bytes[self.at..(self.at + 64).min(self.bytes.len())];
        let mut rest = after;
        for _ in 0..3 {
            if memchr::memmem::find(&rest[..rest.len().min(24)], b"-----").is_some() {
                return true;
            }
            let skip = rest.iter().take_while(|&&b| !is_base64(b)).count();
            let run = rest[skip..].iter().take_while(|&&b| is_base64(b)).count();
            if run >= 16 {
                return skip < 24;
            }
            if run > 6 {
                return false;
            }
            rest = &rest[skip + run..];
        }
        false
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || matches!(self.bytes[self.at - 1], b'\n')
    }

    /// Takes one run of base 64; false at something that is no part of a key.
    fn chunk(&mut self) -> bool {
        let start = self.at;
        let length = self.bytes[start..].iter().take_while(|&&byte| is_base64(byte)).count();
        let run = &self.bytes[start..start + length];
        self.at = start + length;
        let number = length <= 6 && run.iter().all(u8::is_ascii_digit);
        if length >= 16 {
            self.body.push_str(&String::from_utf8_lossy(run));
            self.end = self.at;
            return true;
        }
        if self.body.is_empty() && self.bytes.get(self.at).is_some_and(|b| matches!(b, b':' | b'-')) {
            // `Proc-Type: 4,ENCRYPTED`, `DEK-Info: …`, `Comment: …` up to the end of the line.
            let rest = &self.bytes[self.at..];
            let line = rest.iter().take(120).position(|&b| b == b'\n').or_else(|| memchr::memmem::find(rest, b"\\n"));
            self.at += line.unwrap_or(rest.len().min(120));
            return true;
        }
        if number {
            return true;
        }
        // The last line of the body is as short as it happens to be, and so is the rest of a wrapped line.
        if !self.body.is_empty() && (self.goes_on() || self.bytes.len() - self.at < 4) {
            self.body.push_str(&String::from_utf8_lossy(run));
            self.end = self.at;
            return true;
        }
        length <= 2 && self.body.is_empty()
    }
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Backslashes with what they escape: `\n`, `\\n`, `\"`, a backslash at the end of a line.
fn escaped(rest: &[u8]) -> usize {
    let slashes = rest.iter().take_while(|&&byte| byte == b'\\').count();
    match rest.get(slashes) {
        Some(b'n' | b'r' | b't' | b'"' | b'\'') => slashes + 1,
        _ => slashes,
    }
}

/// Length of an ANSI escape sequence at the start of `rest`, which begins with ESC.
pub(crate) fn escape_length(rest: &[u8]) -> usize {
    match rest.get(1) {
        Some(b'[') => {
            let parameters = rest[2..].iter().take(64).take_while(|b| (0x20..0x40).contains(*b)).count();
            let last = rest.get(2 + parameters).is_some_and(|b| (0x40..0x7f).contains(b));
            2 + parameters + usize::from(last)
        }
        Some(b']') => {
            let body = rest[2..].iter().take(512).position(|&b| b == 0x07 || b == 0x1b);
            match body {
                Some(length) if rest[2 + length] == 0x07 => length + 3,
                Some(length) if rest.get(3 + length) == Some(&b'\\') => length + 4,
                _ => 2,
            }
        }
        Some(b'(' | b')') if rest.len() > 2 && rest[2].is_ascii() => 3,
        Some(b'=' | b'>' | b'M' | b'7' | b'8' | b'c') => 2,
        _ => 1,
    }
}
