//! Writes compact JSON, keys in source order.

use super::Value;

/// Appends a string as JSON: quotes, backslashes and control characters escaped, all else as it is.
pub fn write_str(out: &mut String, s: &str) {
    out.reserve(s.len() + 2);
    out.push('"');
    let bytes = s.as_bytes();
    let mut from = 0;
    let mut at = 0;
    while let Some(b) = bytes.get(at) {
        // Most of a text needs no escape, and a block without one is told by whole vectors.
        if !ESCAPED[usize::from(*b)] {
            at += 1;
            while let Some(block) = bytes.get(at..at + 16)
                && !block.iter().fold(false, |any, b| any | (*b < 0x20) | (*b == b'"') | (*b == b'\\'))
            {
                at += 16;
            }
            continue;
        }
        out.push_str(&s[from..at]);
        at += 1;
        from = at;
        match b {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.push_str("\\u00");
                out.push(char::from(HEX[usize::from(b >> 4)]));
                out.push(char::from(HEX[usize::from(b & 15)]));
            }
        }
    }
    out.push_str(&s[from..]);
    out.push('"');
}

/// Bytes that cannot stand in a JSON string as they are.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut b = 0;
    while b < 0x20 {
        escaped[b] = true;
        b += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped
};

/// Appends a value as compact JSON. Numbers keep their source text.
pub fn write_value(out: &mut String, value: &Value<'_>) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Num(text) => out.push_str(text),
        Value::Str(text) => text.write(out),
        Value::Arr(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Obj(members) => {
            out.push('{');
            for (i, (key, item)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_str(out, key);
                out.push(':');
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Notes, parse};
    use super::*;
    use crate::Reject;
    use proptest::prelude::*;

    fn round(text: &str) -> (String, Notes) {
        let mut notes = Notes::default();
        let value = parse(text, &mut notes).expect("JSON");
        let mut out = String::new();
        write_value(&mut out, &value);
        (out, notes)
    }

    #[test]
    fn numbers_keep_their_text_and_key_order_stays() {
        let text = r#"{"z":1.10,"a":12345678901234567890123,"m":[-0,1e5,true,null,"x"]}"#;
        assert_eq!(round(text), (text.to_owned(), Notes::default()));
    }

    #[test]
    fn what_cannot_be_kept_is_replaced_and_told() {
        assert_eq!(round(r#""a\ud800b""#), ("\"a\u{fffd}b\"".into(), Notes { repaired: true, duplicate_key: false }));
        assert_eq!(round(r#""\ud83d\ude00""#).0, "\"😀\"");
        assert_eq!(round("1e999"), ("null".into(), Notes { repaired: true, duplicate_key: false }));
        assert_eq!(
            round(r#"{"a":1,"b":2,"a":3}"#),
            (r#"{"a":3,"b":2}"#.into(), Notes { repaired: false, duplicate_key: true })
        );
    }

    #[test]
    fn a_key_that_comes_twice_is_told_in_large_objects_too() {
        let members: Vec<String> = (0..100).map(|i| format!("\"k{i}\":{i}")).collect();
        assert!(!round(&format!("{{{}}}", members.join(","))).1.duplicate_key);
        for twice in ["k3", "k99"] {
            assert!(round(&format!("{{{},\"{twice}\":0}}", members.join(","))).1.duplicate_key);
        }
    }

    #[test]
    fn what_is_not_one_json_value_is_refused() {
        for bad in [
            "",
            "{",
            "[1,",
            "{\"a\"}",
            "{\"a\":}",
            "nul",
            "01",
            "1.",
            "1e",
            "-",
            "\"a",
            "\"\\x\"",
            "\"\\u12\"",
            "{} {}",
            "NaN",
            "{\"a\":NaN}",
            "\u{0}",
            "\"a\u{1}\"",
            "<<<<<<< HEAD",
            "[1,]",
            "{,}",
            "'a'",
            "Infinity",
        ] {
            assert!(matches!(parse(bad, &mut Notes::default()), Err(Reject::NotJson { .. })), "{bad}");
        }
    }

    #[test]
    fn nesting_is_read_to_127_and_no_deeper() {
        let nest = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(parse(&nest(127), &mut Notes::default()).is_ok());
        assert_eq!(parse(&nest(128), &mut Notes::default()), Err(Reject::TooDeep));
        assert_eq!(parse(&nest(100_000), &mut Notes::default()), Err(Reject::TooDeep));
    }

    proptest! {
        #[test]
        fn strings_come_back_as_they_were(s in any::<String>()) {
            let mut text = String::new();
            write_str(&mut text, &s);
            let mut notes = Notes::default();
            let value = parse(&text, &mut notes).expect("JSON");
            prop_assert_eq!(value.as_str(), Some(s.as_str()));
            prop_assert_eq!(notes, Notes::default());
        }

        #[test]
        fn no_input_makes_the_reader_panic(s in "[\\[\\]{}\",:0-9eE+.\\\\untrfals \\-]{0,60}") {
            let ours = parse(&s, &mut Notes::default()).is_ok();
            let theirs = serde_json::from_str::<serde_json::Value>(&s);
            // Ours takes all that serde_json takes; it also takes lone surrogates and numbers over all bounds.
            if theirs.is_ok() { prop_assert!(ours); }
        }
    }
}
