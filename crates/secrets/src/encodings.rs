//! Runs of base 64 and hex that decode to a text, and gzip inside them.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use std::io::Read as _;
use std::ops::Range;

/// No vendor's token is shorter than sixteen bytes; in base 64 those are more than this.
const LEAST_BASE64: usize = 20;
const LEAST_HEX: usize = 32;
/// Longer runs are looked at this far.
const MOST: usize = 1 << 20;
/// What a compressed value may grow to.
const INFLATED: u64 = 1 << 20;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, LENIENT);

/// Bit 0: base 64, either alphabet. Bit 1: hex.
const CLASS: [u8; 256] = {
    let mut class = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphanumeric() || b == b'+' || b == b'/' || b == b'-' || b == b'_' {
            class[byte] |= 1;
        }
        if b.is_ascii_hexdigit() {
            class[byte] |= 2;
        }
        byte += 1;
    }
    class
};

fn is_run(byte: u8) -> bool {
    CLASS[byte as usize] & 1 != 0
}

/// Each run that decodes to a text, with the text.
pub(crate) fn decoded(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    // A run of LEAST_BASE64 has a byte at a multiple of its length: the others need no look.
    let mut probe = LEAST_BASE64 - 1;
    while probe < bytes.len() {
        if !(is_run(bytes[probe]) && is_amid(bytes, probe)) {
            probe += LEAST_BASE64;
            continue;
        }
        let back = bytes[..=probe].iter().rev().take(MOST).take_while(|&&b| is_run(b)).count();
        let start = probe + 1 - back;
        let end = run_end(bytes, probe);
        if end - start >= LEAST_BASE64 {
            run(text, start..end, &mut found);
        }
        probe = end.max(probe) + LEAST_BASE64;
    }
    found
}

/// Whether so many bytes before it, or after it, as make up the rest of the least run seem to be of it. Some of them are
/// looked at, without a branch for each: most words end sooner.
fn is_amid(bytes: &[u8], probe: usize) -> bool {
    const SIDE: usize = LEAST_BASE64 / 2;
    let before = probe.checked_sub(SIDE).map(|from| &bytes[from..probe]);
    let after = bytes.get(probe + 1..=probe + SIDE);
    let class = |side: Option<&[u8]>, picks: [usize; 4]| {
        side.map_or(0, |side| picks.iter().fold(1, |all, &pick| all & CLASS[side[pick] as usize]))
    };
    class(before, [0, 3, 6, 8]) | class(after, [1, 3, 6, 9]) != 0
}

/// The end of a run that may go on over lines of one length, as `base64` and `openssl` print.
fn run_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + bytes[at..].iter().take(MOST).take_while(|&&b| is_run(b)).count();
    let mut line = end - at;
    loop {
        let newline = if bytes[end..].starts_with(b"\r\n") { 2 } else { usize::from(bytes.get(end) == Some(&b'\n')) };
        if newline == 0 || line < 40 || end - at > MOST {
            return end;
        }
        let next = bytes[end + newline..].iter().take(MOST).take_while(|&&b| is_run(b)).count();
        if next == 0 {
            return end;
        }
        end += newline + next;
        line = next;
    }
}

fn run(text: &str, span: Range<usize>, found: &mut Vec<(Range<usize>, String)>) {
    let bytes = &text.as_bytes()[span.clone()];
    if bytes.len() >= LEAST_HEX && bytes.iter().all(|&b| CLASS[b as usize] & 2 != 0) {
        if let Some(inner) = hex::decode(&bytes[..bytes.len() & !1]).ok().and_then(readable) {
            found.push((span, inner));
        }
        return;
    }
    // A path, a key or a name may stand before the value without a break that base 64 does not have.
    let starts = std::iter::once(0).chain(
        bytes.iter().enumerate().filter(|(_, b)| matches!(b, b'/' | b'-' | b'_' | b'+')).map(|(at, _)| at + 1).take(6),
    );
    for from in starts {
        let rest = &bytes[from..];
        if rest.len() < LEAST_BASE64 {
            return;
        }
        if let Some(inner) = looks_encoded(rest).then(|| base64_text(rest)).flatten() {
            let padding = text.as_bytes()[span.end..].iter().take(2).take_while(|&&b| b == b'=').count();
            found.push((span.start + from..span.end + padding, inner));
            return;
        }
    }
}

/// The first bytes are text, or gzip's own. Random values are not, but once in thousands.
fn looks_encoded(run: &[u8]) -> bool {
    if run.starts_with(b"H4sI") {
        return true;
    }
    let mut head = [0u8; 12];
    let head_run = &run[..16];
    // A path has few upper case letters; a text in base 64 has many.
    let uppers = head_run.iter().filter(|b| b.is_ascii_uppercase()).count();
    if uppers < 2 || uppers == 16 {
        return false;
    }
    if memchr::memchr2(b'\n', b'\r', head_run).is_some() {
        return false;
    }
    let url = memchr::memchr2(b'-', b'_', head_run).is_some();
    let engine = if url { &URL_SAFE } else { &STANDARD };
    engine.decode_slice(head_run, &mut head).is_ok()
        && head.iter().filter(|&&b| !(b.is_ascii_graphic() || matches!(b, b' ' | b'\n' | b'\t' | b'\r' | 0x1b))).count()
            == 0
}

fn base64_text(run: &[u8]) -> Option<String> {
    let mut joined: Vec<u8> = run.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    if joined.len() % 4 == 1 {
        joined.pop();
    }
    let url = memchr::memchr2(b'-', b'_', &joined).is_some();
    let engine = if url { &URL_SAFE } else { &STANDARD };
    engine.decode(&joined).ok().and_then(readable)
}

/// The bytes as a text; what is compressed is decompressed first.
fn readable(bytes: Vec<u8>) -> Option<String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut inner = Vec::new();
        let mut reader = flate2::read::GzDecoder::new(bytes.as_slice()).take(INFLATED);
        // A stream that ends early still has its beginning.
        let _ended = reader.read_to_end(&mut inner);
        return (!inner.is_empty()).then(|| String::from_utf8_lossy(&inner).into_owned());
    }
    let odd = bytes.iter().filter(|&&b| b < 0x20 && !matches!(b, b'\n' | b'\r' | b'\t' | 0x1b)).count();
    (odd * 20 <= bytes.len()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
