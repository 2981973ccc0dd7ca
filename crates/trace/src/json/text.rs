//! A string of a JSON text that need not be decoded to be passed on.

use std::borrow::Cow;

use super::write_str;

/// A string of a JSON text.
///
/// Most of a trace is long text with a newline in each line. Where it is only passed on, as a JSON string again,
/// its source is copied as it stands.
#[derive(Clone, Debug)]
pub enum Str<'a> {
    /// Decoded.
    Plain(Cow<'a, str>),
    /// Its source between the quotes, with one escape or more, each of them as [`write_str`] writes it.
    Escaped(&'a str),
}

/// Whether four hex digits after `\u` are how [`write_str`] writes a control character: lower case, and none of those
/// that have an escape of their own.
pub(super) fn is_nameless_control(digits: &[u8]) -> bool {
    matches!(digits, [b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f'] | [b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f'])
}

impl<'a> Str<'a> {
    /// The text, borrowed where it can be.
    pub fn decode(&self) -> Cow<'_, str> {
        match self {
            Str::Plain(text) => Cow::Borrowed(text),
            Str::Escaped(source) => Cow::Owned(decoded(source)),
        }
    }

    /// The text.
    pub fn into_decoded(self) -> Cow<'a, str> {
        match self {
            Str::Plain(text) => text,
            Str::Escaped(source) => Cow::Owned(decoded(source)),
        }
    }

    /// The text, in `buffer` where it has to be decoded.
    pub fn decode_in<'b>(&'b self, buffer: &'b mut String) -> &'b str {
        match self {
            Str::Plain(text) => text,
            Str::Escaped(source) => {
                buffer.clear();
                decode_into(source, buffer);
                buffer
            }
        }
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        match self {
            Str::Plain(text) => text.len(),
            Str::Escaped(source) => {
                let mut length = source.len();
                let mut rest = source.as_bytes();
                while let Some(at) = memchr::memchr(b'\\', rest) {
                    let escape = if rest[at + 1] == b'u' { 6 } else { 2 };
                    length -= escape - 1;
                    rest = &rest[at + escape..];
                }
                length
            }
        }
    }

    /// Whether it is the empty text.
    pub fn is_empty(&self) -> bool {
        // What has an escape has a character.
        matches!(self, Str::Plain(text) if text.is_empty())
    }

    /// Appends it as a JSON string.
    pub fn write(&self, out: &mut String) {
        match self {
            Str::Plain(text) => write_str(out, text),
            Str::Escaped(source) => {
                out.reserve(source.len() + 2);
                out.push('"');
                out.push_str(source);
                out.push('"');
            }
        }
    }
}

fn decoded(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    decode_into(source, &mut out);
    out
}

fn decode_into(source: &str, out: &mut String) {
    out.reserve(source.len());
    let mut rest = source;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let (c, escape) = match rest.as_bytes()[at + 1] {
            b'n' => ('\n', 2),
            b't' => ('\t', 2),
            b'r' => ('\r', 2),
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'u' => (char::from(u8::from_str_radix(&rest[at + 4..at + 6], 16).unwrap_or(0)), 6),
            // A quote or a backslash.
            other => (char::from(other), 2),
        };
        out.push(c);
        rest = &rest[at + escape..];
    }
    out.push_str(rest);
}

impl Default for Str<'_> {
    fn default() -> Self {
        Str::Plain(Cow::Borrowed(""))
    }
}

impl<'a> From<&'a str> for Str<'a> {
    fn from(text: &'a str) -> Self {
        Str::Plain(Cow::Borrowed(text))
    }
}

impl From<String> for Str<'_> {
    fn from(text: String) -> Self {
        Str::Plain(Cow::Owned(text))
    }
}

impl<'a> From<Cow<'a, str>> for Str<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        Str::Plain(text)
    }
}

/// By what they say.
impl PartialEq for Str<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            // There is one way to write a text.
            (Str::Escaped(a), Str::Escaped(b)) => a == b,
            _ => self.decode() == other.decode(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Notes, Value, parse, parse_fields};
    use super::*;

    fn kept(value: &str) -> Str<'_> {
        let text = value;
        let (value, _) = parse_fields(text, &mut Notes::default(), |key| key == "k", "").expect("JSON");
        match value {
            Value::Obj(mut members) => match members.remove(0).1 {
                Value::Str(text) => text,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    proptest! {
        #[test]
        fn a_text_passes_as_it_was_written_and_says_what_it_said(text in "[\\x00-\\x7fé😀]{0,40}") {
            let mut json = String::from("{\"k\":");
            write_str(&mut json, &text);
            json.push('}');
            let kept = kept(&json);
            prop_assert_eq!(kept.decode(), text.as_str());
            prop_assert_eq!(kept.len(), text.len());
            prop_assert_eq!(kept.is_empty(), text.is_empty());
            let mut buffer = String::from("old");
            prop_assert_eq!(kept.decode_in(&mut buffer), text.as_str());
            let mut again = String::from("{\"k\":");
            kept.write(&mut again);
            again.push('}');
            prop_assert_eq!(again, json);
        }

        /// However a text is escaped, one text comes out as the same bytes.
        #[test]
        fn another_way_to_write_a_text_is_not_passed_on(choices in prop::collection::vec((any::<u8>(), 0u8..3), 0..30)) {
            let mut json = String::from("{\"k\":\"");
            let mut text = String::new();
            for (byte, way) in choices {
                let c = char::from(byte);
                text.push(c);
                match way {
                    0 => json.push_str(&format!("\\u{:04x}", u32::from(c))),
                    1 => json.push_str(&format!("\\u{:04X}", u32::from(c))),
                    _ if c == '/' => json.push_str("\\/"),
                    _ => {
                        let mut one = String::new();
                        write_str(&mut one, &c.to_string());
                        json.push_str(&one[1..one.len() - 1]);
                    }
                }
            }
            json.push_str("\"}");
            let kept = kept(&json);
            prop_assert_eq!(kept.decode(), text.as_str());
            let (mut written, mut plain) = (String::new(), String::new());
            kept.write(&mut written);
            write_str(&mut plain, &text);
            prop_assert_eq!(written, plain);
            let mut notes = Notes::default();
            let eager = parse(&json, &mut notes).expect("JSON");
            prop_assert_eq!(eager.get("k"), Some(&Value::Str(text.into())));
        }
    }
}
