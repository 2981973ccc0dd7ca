//! Assignments, flags, headers and URLs: the place says that a value is a secret, the value that it is a real one.

use crate::RuleSet;
use crate::core::Found;
use crate::judge;
use crate::names::{self, Kind};
use std::ops::Range;

const RULE: &str = "generic-secret";
const COOKIE: &str = "session-cookie";
const URL: &str = "url-credentials";
/// A name is no longer, on each side of its keyword.
const NAME: usize = 64;
/// A value is no longer.
const VALUE: usize = 1024;

/// Judges the assignment whose name has a keyword at `at`.
pub(crate) fn assignment(set: &RuleSet, text: &str, at: Range<usize>, found: &mut Found) {
    let bytes = text.as_bytes();
    if found.nested.are_spent(at.start) {
        return;
    }
    // What follows the name decides most candidates, at the price of one byte.
    let mut right = at.end;
    while right < bytes.len() && right - at.end < NAME && is_name(bytes[right]) {
        right += 1;
    }
    let Some(value) = value_after(bytes, at.start, right) else { return };
    let mut left = at.start;
    while left > 0 && at.start - left < NAME && is_name(bytes[left - 1]) {
        left -= 1;
    }
    if left > 0 && bytes[left - 1] == b'\\' && matches!(bytes[left], b'n' | b't' | b'r') {
        left += 1;
    }
    if found.last_name == Some(left) {
        return;
    }
    let flag = is_flag(bytes, left);
    let style = if value.style == Style::Flag && !flag { Style::Prose } else { value.style };
    let Ok(name) = std::str::from_utf8(&bytes[left..right]) else { return };
    if !found.nested.allow(&(left..value.span.end)) {
        return;
    }
    let Some(kind) = names::classify(name) else { return };
    found.last_name = Some(left);
    if kind == Kind::Cookie {
        return cookies(set, text, value.span, found);
    }
    let (Some(span), quoted) = (without_scheme(bytes, value.span), value.quoted) else { return };
    let Some(secret) = text.get(span.clone()) else { return };
    let place = Place { style, quoted, flag, said: is_said(bytes, left), sure: names::is_sure(name) };
    let query = left.checked_sub(1).is_some_and(|before| matches!(bytes[before], b'?' | b'&'));
    let real = match kind {
        Kind::Password if style == Style::Prose => is_line(bytes, left, span.end) && judge::password(secret, quoted),
        Kind::Password => judge::password(secret, quoted),
        // A secret that a person chose.
        Kind::Strong if style != Style::Prose && secret.len() < 24 && judge::Shape::of(secret).classes() == 4 => {
            judge::password(secret, quoted)
        }
        Kind::Strong | Kind::Weak => is_token(secret, kind == Kind::Strong, &place),
        Kind::Key if place.said || flag => is_token(secret, true, &place),
        // In a query, `key` is the name of nothing else.
        Kind::Key => {
            style != Style::Prose
                && (quoted || query)
                && secret.len() >= 24
                && judge::token(secret, false)
                && judge::Shape::of(secret).classes() >= 3
        }
        Kind::Cookie => false,
    };
    if real {
        let secret = secret.to_owned();
        found.push(set, RULE, text, span, secret);
    }
}

/// What stands around a value.
struct Place {
    style: Style,
    quoted: bool,
    /// The name is that of a flag on a command line.
    flag: bool,
    /// `api key`, `access token`: two words say what one would not.
    said: bool,
    /// The name is that of a credential, not of something that is called so.
    sure: bool,
}

fn is_token(secret: &str, strong: bool, place: &Place) -> bool {
    let sure = place.sure || place.said || place.flag;
    let strong = strong || sure;
    if judge::is_uuid(secret) {
        return sure && (place.style != Style::Prose || place.quoted) && judge::is_random(secret);
    }
    if judge::is_hex(secret) {
        let least = if place.quoted || sure { 32 } else { 40 };
        return (strong || place.quoted) && secret.len() >= least && judge::token(secret, true);
    }
    if place.style == Style::Prose {
        let shape = judge::Shape::of(secret);
        return judge::token(secret, strong)
            && secret.len() >= 20
            && shape.digits > 1
            && (shape.classes() >= 3 || sure || place.quoted);
    }
    if sure && (12..14).contains(&secret.len()) {
        return judge::short_token(secret);
    }
    judge::token(secret, strong) && (strong || secret.len() >= 20)
}

/// Whether a name and its value are a line of their own, as in many configuration files: `requirepass value`.
fn is_line(bytes: &[u8], left: usize, end: usize) -> bool {
    let before = bytes[..left].iter().rev().take(64).find(|&&b| !is_blank(b));
    before.is_none_or(|&b| b == b'\n') && bytes.get(end).is_none_or(|b| matches!(b, b'\n' | b'\r'))
}

/// Whether the word before the name makes it the name of a secret.
fn is_said(bytes: &[u8], left: usize) -> bool {
    let before = &bytes[left.saturating_sub(8)..left];
    ["api", "access", "auth", "secret", "private", "bearer", "API", "Access", "Auth"]
        .iter()
        .any(|word| before.strip_suffix(b" ").is_some_and(|before| before.ends_with(word.as_bytes())))
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Style {
    /// `name = value`, `"name": "value"`, `<name>value</name>`, `f("name", "value")`.
    Assigned,
    /// `--name value`, `name value` in a netrc file.
    Flag,
    /// `token - value`, `the api key value`: less sure.
    Prose,
}

struct Value {
    span: Range<usize>,
    quoted: bool,
    style: Style,
}

fn skip(bytes: &[u8], mut at: usize, most: usize, what: impl Fn(u8) -> bool) -> usize {
    let end = bytes.len().min(at + most);
    while at < end && what(bytes[at]) {
        at += 1;
    }
    at
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Backslashes and one quote at `at`; how long they are, and the quote.
fn quote_at(bytes: &[u8], at: usize) -> Option<(usize, u8)> {
    let slashes = skip(bytes, at, 8, |b| b == b'\\') - at;
    let &quote = bytes.get(at + slashes)?;
    is_quote(quote).then_some((slashes + 1, quote))
}

/// Reads the operator and the value after a name that ends at `right`.
fn value_after(bytes: &[u8], name: usize, right: usize) -> Option<Value> {
    let mut at = right;
    let closing = quote_at(bytes, at);
    if let Some((length, _)) = closing {
        at += length;
    }
    at = skip(bytes, at, 2, |b| b == b']' || b == b')');
    let blank = at;
    at = skip(bytes, at, 24, is_blank);
    match *bytes.get(at)? {
        b'?' | b'|' | b'+' if bytes.get(at + 1) == Some(&b'=') => value_at(bytes, at + 2, Style::Assigned),
        b'|' if closing.is_none() && at == blank && bytes.get(at + 1) != Some(&b'|') => {
            value_at(bytes, at + 1, Style::Prose)
        }
        b'-' if at > blank && bytes.get(at + 1).is_some_and(|&b| is_blank(b)) => value_at(bytes, at + 1, Style::Prose),
        b'=' => {
            at = skip(bytes, at, 3, |b| matches!(b, b'=' | b'>' | b'~'));
            value_at(bytes, at, Style::Assigned)
        }
        b':' => {
            let colons = skip(bytes, at, 4, |b| b == b':');
            if colons > at + 1 && bytes.get(colons) != Some(&b'=') {
                return None;
            }
            at = colons;
            if bytes.get(at) == Some(&b'=') {
                at += 1;
            }
            let value = typed(bytes, at).or_else(|| value_at(bytes, at, Style::Assigned))?;
            // `name: Type = …`
            let after = skip(bytes, value.span.end, 4, is_blank);
            (value.quoted || bytes.get(after) != Some(&b'=')).then_some(value)
        }
        b'>' if bytes[..name].iter().rev().take(NAME).any(|&b| b == b'<') => value_at(bytes, at + 1, Style::Assigned),
        b'(' if closing.is_none() && quote_at(bytes, at + 1).is_some() => value_at(bytes, at + 1, Style::Assigned),
        b',' | b'\n' | b'\r' | b'\\' if closing.is_some() || bytes[at] != b',' => neighbour(bytes, at).or_else(|| {
            let at = skip(bytes, at + 1, 16, is_blank);
            (closing.is_some() && bytes[right..at].contains(&b',') && quote_at(bytes, at).is_some())
                .then(|| value_at(bytes, at, Style::Assigned))?
        }),
        b'v' | b'V' if closing.is_some() => neighbour(bytes, at),
        b'i' if at > blank && bytes[at..].starts_with(b"is ") => {
            let value = value_at(bytes, at + 3, Style::Assigned)?;
            // In prose, a value is marked as one.
            value.quoted.then_some(value)
        }
        b'f' if at > blank && bytes[at..].starts_with(b"for ") => {
            let line = &bytes[at..bytes.len().min(at + 60)];
            let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
            let is = memchr::memmem::find(line, b" is ")?;
            let value = value_at(bytes, at + is + 4, Style::Assigned)?;
            value.quoted.then_some(value)
        }
        _ if at > blank && closing.is_none() => value_at(bytes, at, Style::Flag),
        _ => None,
    }
}

/// `: type = "value"`.
fn typed(bytes: &[u8], at: usize) -> Option<Value> {
    let end = skip(bytes, at, 48, |b| b.is_ascii_alphanumeric() || b" _&<>'[].:|?*,".contains(&b));
    (bytes.get(end) == Some(&b'=') && end > at + 1).then(|| {
        let at = skip(bytes, end + 1, 8, is_blank);
        quote_at(bytes, at).and_then(|_| value_at(bytes, at, Style::Assigned))
    })?
}

/// The `value` that belongs to a `name` or `key`: on the next line, or further on in the same one.
fn neighbour(bytes: &[u8], at: usize) -> Option<Value> {
    let at = skip(bytes, at, 80, |b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b'|' | b'+' | b'-'));
    let at = at + quote_at(bytes, at).map_or(0, |(length, _)| length);
    if !bytes.get(at..at + 5)?.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let at = at + 5;
    let at = at + quote_at(bytes, at).map_or(0, |(length, _)| length);
    let at = skip(bytes, at, 8, is_blank);
    matches!(bytes.get(at), Some(b':' | b'=')).then(|| value_at(bytes, at + 1, Style::Assigned))?
}

/// The value that begins at or soon after `at`.
fn value_at(bytes: &[u8], at: usize, style: Style) -> Option<Value> {
    let mut at = skip(bytes, at, 24, is_blank);
    let wrapped = [&b"String::from("[..], b"new String(", b"SecretStr(", b"SecretString::new(", b"Some(", b"str("];
    for opening in wrapped {
        if bytes[at..].starts_with(opening) {
            at += opening.len();
        }
    }
    let letters = skip(bytes, at, 2, |b| b"bruf@L".contains(&b));
    if letters > at && quote_at(bytes, letters).is_some() {
        at = letters;
    }
    if let Some((length, quote)) = quote_at(bytes, at) {
        let slashes = length - 1;
        let mut start = at + length;
        if slashes == 0 {
            start = skip(bytes, start, 2, |b| b == quote);
        }
        let end = closing_quote(bytes, start, slashes, quote)?;
        return (end > start).then_some(Value { span: start..end, quoted: true, style });
    }
    let start = at;
    // `12|…`: a number of the database, then the token.
    let number = skip(bytes, start, 8, |b| b.is_ascii_digit());
    let numbered = if number > start && bytes.get(number) == Some(&b'|') { number + 1 } else { start };
    let end = skip(bytes, numbered, VALUE, |b| {
        b.is_ascii_graphic()
            && !matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'<' | b'>' | b'|' | b'\\' | b'&')
    });
    // A `&` separates in a query only; elsewhere it is part of a password.
    (end >= start + 5).then_some(Value { span: start..end, quoted: false, style })
}

/// The quote that closes: after as many backslashes as the opening one, on the same line.
fn closing_quote(bytes: &[u8], start: usize, slashes: usize, quote: u8) -> Option<usize> {
    let line = &bytes[start..bytes.len().min(start + VALUE)];
    for found in memchr::memchr2_iter(quote, b'\n', line) {
        if line[found] == b'\n' {
            return None;
        }
        let before = line[..found].iter().rev().take_while(|&&b| b == b'\\').count();
        if before <= slashes {
            return Some(start + found - before);
        }
    }
    None
}

/// `--name`, or a netrc entry: a name followed by a blank is a name nowhere else.
fn is_flag(bytes: &[u8], left: usize) -> bool {
    if bytes[left..].starts_with(b"-") {
        return true;
    }
    let before = &bytes[left.saturating_sub(160)..left];
    let netrc = |word: &[u8]| memchr::memmem::find(before, word).is_some();
    netrc(b"login ") && (netrc(b"machine ") || netrc(b"default"))
}

/// The value without `Bearer` and the like; none for `Basic`, which has its own rule.
fn without_scheme(bytes: &[u8], span: Range<usize>) -> Option<Range<usize>> {
    let value = &bytes[span.clone()];
    let is = |scheme: &[u8]| value.len() >= scheme.len() && value[..scheme.len()].eq_ignore_ascii_case(scheme);
    if is(b"basic") {
        return None;
    }
    for scheme in [&b"bearer"[..], b"token", b"apikey", b"api-key", b"sso-key"] {
        if is(scheme) && (value.len() == scheme.len() || is_blank(value[scheme.len()])) {
            let start = skip(bytes, span.start + scheme.len(), 4, is_blank);
            let end = skip(bytes, start, VALUE, |b| b.is_ascii_graphic() && !b"\"'`,;)}]<>\\".contains(&b));
            return Some(start..end);
        }
    }
    Some(span)
}

/// The values of a `Cookie` or `Set-Cookie` header that are as random as a session's id.
fn cookies(set: &RuleSet, text: &str, value: Range<usize>, found: &mut Found) {
    let bytes = text.as_bytes();
    let end = skip(bytes, value.start, 4 * VALUE, |b| b != b'\n' && b != b'"' && b != b'\'' && b != b'\\');
    let mut at = value.start;
    for pair in bytes[value.start..end].split(|&b| b == b';') {
        let span = at..at + pair.len();
        at = span.end + 1;
        let Some(equals) = memchr::memchr(b'=', pair) else { continue };
        let span = span.start + equals + 1..span.end;
        if let Some(secret) = text.get(span.clone()).filter(|secret| judge::token(secret, true)) {
            let secret = secret.to_owned();
            found.push(set, COOKIE, text, span, secret);
        }
    }
}

/// The user's part of a URL: a password, or a token in place of a user.
pub(crate) fn url(set: &RuleSet, text: &str, at: Range<usize>, found: &mut Found) {
    let bytes = text.as_bytes();
    let start = at.end;
    let end = skip(bytes, start, 400, |b| b > 0x20 && b < 0x7f && !b"/?#\"'<>`(){}|,\\".contains(&b));
    let Some(host) = memchr::memrchr(b'@', &bytes[start..end]) else { return };
    let user = &bytes[start..start + host];
    let (span, least) = match memchr::memchr(b':', user) {
        Some(colon) => (start + colon + 1..start + host, 0),
        None => (start..start + host, 20),
    };
    let Some(secret) = text.get(span.clone()) else { return };
    let real = if least == 0 { judge::url_password(secret) } else { judge::token(secret, true) };
    if real && secret.len() >= least {
        let secret = secret.to_owned();
        found.push(set, URL, text, span, secret);
    }
}
