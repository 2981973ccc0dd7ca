//! Reads one JSON value.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Str, Value};
use crate::Reject;

/// Nesting up to this depth is read.
const MAX_DEPTH: usize = 127;
/// Objects with more members than this look their keys up in a table.
const FEW_KEYS: usize = 24;

/// What the reader had to change so that a value could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// A lone surrogate became U+FFFD, or a number over all bounds became null.
    pub repaired: bool,
    /// An object had a key twice; the last value stands at the first one's place.
    pub duplicate_key: bool,
}

/// Reads `text`, which must hold exactly one JSON value and white space. All strings are decoded.
///
/// # Errors
/// [`Reject::NotJson`] with the byte, [`Reject::TooDeep`].
pub fn parse<'a>(text: &'a str, notes: &mut Notes) -> Result<Value<'a>, Reject> {
    parse_fields(text, notes, |_| false, "").map(|(value, _)| value)
}

/// As [`parse`]; where the value is an object, also the source text of its member `source`'s value.
/// In the values of the members that `keep` names, strings with escapes stay as they were written, where they can.
///
/// # Errors
/// As [`parse`].
pub fn parse_fields<'a>(
    text: &'a str,
    notes: &mut Notes,
    keep: fn(&str) -> bool,
    source: &str,
) -> Result<(Value<'a>, Option<&'a str>), Reject> {
    let mut reader =
        Reader { text, bytes: text.as_bytes(), at: 0, notes, spanned: source, span: None, keeps: keep, keep: false };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < reader.bytes.len() {
        return Err(reader.fault("more after the value"));
    }
    Ok((value, reader.span))
}

struct Reader<'a, 'n> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    notes: &'n mut Notes,
    /// Name of the outermost object's member whose source text is wanted, and that text.
    spanned: &'n str,
    span: Option<&'a str>,
    /// Names of the outermost object's members whose strings may stay as they were written.
    keeps: fn(&str) -> bool,
    /// Inside one of them.
    keep: bool,
}

impl<'a> Reader<'a, '_> {
    fn fault(&self, what: &'static str) -> Reject {
        Reject::NotJson { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn word(&mut self, word: &'static str, value: Value<'a>) -> Result<Value<'a>, Reject> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.fault("no JSON value"))
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value<'a>, Reject> {
        match self.peek() {
            Some(b'"') => self.text().map(Value::Str),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(0) => Err(self.fault("a NUL")),
            Some(_) => Err(self.fault("no JSON value")),
            None => Err(self.fault("the line ends inside a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value<'a>, Reject> {
        if depth >= MAX_DEPTH {
            return Err(Reject::TooDeep);
        }
        self.at += 1;
        let mut members: Vec<(Cow<'a, str>, Value<'a>)> = Vec::new();
        let mut index: HashMap<Cow<'a, str>, usize> = HashMap::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Obj(members));
        }
        members.reserve(if depth == 0 { 16 } else { 4 });
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.fault("no key"));
            }
            let key = self.string()?;
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.fault("no colon after a key"));
            }
            self.at += 1;
            self.space();
            let from = self.at;
            if depth == 0 {
                self.keep = (self.keeps)(&key);
            }
            let value = self.value(depth + 1)?;
            if depth == 0 && key == self.spanned {
                // Of a key that comes twice the last value counts.
                self.span = Some(&self.text[from..self.at]);
            }
            let earlier = if members.len() <= FEW_KEYS {
                members.iter().position(|(k, _)| *k == key)
            } else {
                if index.is_empty() {
                    index = members.iter().enumerate().map(|(i, (k, _))| (k.clone(), i)).collect();
                }
                let found = index.get(&key).copied();
                if found.is_none() {
                    index.insert(key.clone(), members.len());
                }
                found
            };
            if let Some(i) = earlier {
                self.notes.duplicate_key = true;
                members[i].1 = value;
            } else {
                members.push((key, value));
            }
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Obj(members));
                }
                Some(_) => return Err(self.fault("neither comma nor brace after a member")),
                None => return Err(self.fault("the line ends inside an object")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value<'a>, Reject> {
        if depth >= MAX_DEPTH {
            return Err(Reject::TooDeep);
        }
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Arr(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Arr(items));
                }
                Some(_) => return Err(self.fault("neither comma nor bracket after an item")),
                None => return Err(self.fault("the line ends inside an array")),
            }
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Value<'a>, Reject> {
        let from = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (zero && whole > 1) {
            return Err(self.fault("not a number"));
        }
        let mut large = whole > 300;
        if self.peek() == Some(b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.fault("not a number"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.fault("not a number"));
            }
            large = true;
        }
        let text = &self.text[from..self.at];
        if large && text.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.notes.repaired = true;
            return Ok(Value::Null);
        }
        Ok(Value::Num(text))
    }

    /// A string, decoded.
    fn string(&mut self) -> Result<Cow<'a, str>, Reject> {
        match self.written() {
            Some(Str::Plain(text)) => Ok(text),
            Some(escaped @ Str::Escaped(_)) => Ok(escaped.into_decoded()),
            None => self.repaired(),
        }
    }

    /// A string; one that is wanted as it was written is left so where it can be.
    fn text(&mut self) -> Result<Str<'a>, Reject> {
        match self.written() {
            Some(text) if self.keep => Ok(text),
            Some(text) => Ok(Str::Plain(text.into_decoded())),
            None => self.repaired().map(Str::Plain),
        }
    }

    /// The string that begins here if it is written as [`super::write_str`] would; None leaves the place as it is.
    fn written(&mut self) -> Option<Str<'a>> {
        let from = self.at + 1;
        let mut at = from;
        let mut escapes = false;
        loop {
            at += memchr::memchr2(b'"', b'\\', self.bytes.get(at..)?)?;
            if self.bytes[at] == b'"' {
                break;
            }
            escapes = true;
            at += match self.bytes.get(at + 1)? {
                b'n' | b't' | b'"' | b'\\' | b'r' | b'b' | b'f' => 2,
                b'u' if super::text::is_nameless_control(self.bytes.get(at + 2..at + 6)?) => 6,
                _ => return None,
            };
        }
        // A fold, not a search: it runs on whole vectors.
        if self.bytes[from..at].iter().fold(255u8, |low, b| low.min(*b)) < 0x20 {
            return None;
        }
        self.at = at + 1;
        let source = &self.text[from..at];
        Some(if escapes { Str::Escaped(source) } else { Str::Plain(Cow::Borrowed(source)) })
    }

    /// A string with an escape that is not ours, or with a fault.
    fn repaired(&mut self) -> Result<Cow<'a, str>, Reject> {
        self.at += 1;
        let from = self.at;
        let Some(run) = self.plain()? else {
            return self.escaped(from);
        };
        Ok(Cow::Borrowed(run))
    }

    /// Up to the closing quote, which is passed; None when an escape comes first, with `at` on its backslash.
    fn plain(&mut self) -> Result<Option<&'a str>, Reject> {
        let from = self.at;
        let Some(length) = memchr::memchr2(b'"', b'\\', &self.bytes[from..]) else {
            self.at = self.bytes.len();
            return Err(self.fault("the line ends inside a string"));
        };
        // A fold, not a search: it runs on whole vectors.
        if self.bytes[from..from + length].iter().fold(255u8, |low, b| low.min(*b)) < 0x20 {
            self.at += self.bytes[from..].iter().position(|b| *b < 0x20).unwrap_or(0);
            return Err(self.fault("a control character inside a string"));
        }
        self.at = from + length;
        if self.bytes[self.at] == b'\\' {
            return Ok(None);
        }
        self.at += 1;
        Ok(Some(&self.text[from..from + length]))
    }

    fn escaped(&mut self, from: usize) -> Result<Cow<'a, str>, Reject> {
        let mut out = String::with_capacity((self.at - from) * 2 + 32);
        out.push_str(&self.text[from..self.at]);
        loop {
            // `at` is on a backslash.
            self.at += 1;
            let escape = self.peek().ok_or_else(|| self.fault("the line ends inside a string"))?;
            self.at += 1;
            match escape {
                b'n' => out.push('\n'),
                b't' => out.push('\t'),
                b'"' => out.push('"'),
                b'\\' => out.push('\\'),
                b'/' => out.push('/'),
                b'r' => out.push('\r'),
                b'b' => out.push('\u{8}'),
                b'f' => out.push('\u{c}'),
                b'u' => {
                    let c = self.unicode()?;
                    out.push(c);
                }
                _ => {
                    self.at -= 1;
                    return Err(self.fault("no such escape"));
                }
            }
            let start = self.at;
            match self.plain()? {
                Some(run) => {
                    out.push_str(run);
                    return Ok(Cow::Owned(out));
                }
                None => out.push_str(&self.text[start..self.at]),
            }
        }
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        let digits = self.bytes.get(at..at + 4)?;
        digits.iter().try_fold(0u32, |n, d| Some(n * 16 + char::from(*d).to_digit(16)?))
    }

    /// After `\u`. A surrogate without its other half becomes U+FFFD.
    fn unicode(&mut self) -> Result<char, Reject> {
        let first = self.hex4(self.at).ok_or_else(|| self.fault("no four hex digits after \\u"))?;
        self.at += 4;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        if first < 0xDC00
            && self.bytes.get(self.at..self.at + 2) == Some(b"\\u")
            && let Some(second @ 0xDC00..=0xDFFF) = self.hex4(self.at + 2)
        {
            self.at += 6;
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        self.notes.repaired = true;
        Ok(char::REPLACEMENT_CHARACTER)
    }
}
