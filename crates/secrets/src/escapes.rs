//! Seams of escapes: a string inside a string (JSON, a program's literal), an HTML text, a URL's percent signs.

use crate::view::Seam;

/// The escapes of one level. None when every one of them is of a kind that the rules read through by themselves
/// (`\n`, `\"`) and the text is no JSON.
pub(crate) fn backslashes(text: &str) -> Vec<Seam> {
    let bytes = text.as_bytes();
    let nested = text.trim_start().starts_with(['{', '[', '"']);
    let mut seams = Vec::new();
    let mut telling = false;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let start = at + found;
        at = start + 1;
        let Some((length, with)) = escape(&bytes[start..]) else { continue };
        telling |= matches!(bytes[at], b'/' | b'u' | b'x' | b'\\' | b'0' | b'e');
        seams.push(Seam { span: start..start + length, with: Some(with), guess: false });
        at = start + length;
    }
    if nested || telling { seams } else { Vec::new() }
}

fn escape(rest: &[u8]) -> Option<(usize, char)> {
    let code = |digits: &[u8], radix| {
        std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u32::from_str_radix(digits, radix).ok())
            .and_then(char::from_u32)
    };
    match rest.get(1)? {
        b'n' => Some((2, '\n')),
        b't' => Some((2, '\t')),
        b'r' => Some((2, '\r')),
        b'e' => Some((2, '\x1b')),
        b'"' => Some((2, '"')),
        b'\'' => Some((2, '\'')),
        b'/' => Some((2, '/')),
        b'\\' => Some((2, '\\')),
        b'u' => code(rest.get(2..6)?, 16).map(|with| (6, with)),
        b'x' => code(rest.get(2..4)?, 16).filter(char::is_ascii).map(|with| (4, with)),
        b'0' => code(rest.get(1..4)?, 8).filter(char::is_ascii).map(|with| (4, with)),
        _ => None,
    }
}

/// `&quot;` and the like.
pub(crate) fn entities(text: &str) -> Vec<Seam> {
    let bytes = text.as_bytes();
    let names: [(&[u8], char); 9] = [
        (b"&quot;", '"'),
        (b"&amp;", '&'),
        (b"&#39;", '\''),
        (b"&#x27;", '\''),
        (b"&lt;", '<'),
        (b"&gt;", '>'),
        (b"&#34;", '"'),
        (b"&#x2F;", '/'),
        (b"&#43;", '+'),
    ];
    let mut seams = Vec::new();
    for start in memchr::memchr_iter(b'&', bytes) {
        let rest = &bytes[start..];
        if let Some((name, with)) = names.iter().find(|(name, _)| rest.starts_with(name)) {
            seams.push(Seam { span: start..start + name.len(), with: Some(*with), guess: false });
        }
    }
    seams
}

/// `%3D` and the like, ASCII only: a secret has nothing else.
pub(crate) fn percents(text: &str) -> Vec<Seam> {
    let bytes = text.as_bytes();
    let mut seams = Vec::new();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'%', &bytes[at..]) {
        let start = at + found;
        at = start + 1;
        let Some(digits) = bytes.get(start + 1..start + 3) else { break };
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            continue;
        }
        let code = std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        if let Some(code) = code.filter(|code| (0x20..0x7f).contains(code) || *code == b'\n') {
            seams.push(Seam { span: start..start + 3, with: Some(char::from(code)), guess: false });
            at = start + 3;
        }
    }
    seams
}
