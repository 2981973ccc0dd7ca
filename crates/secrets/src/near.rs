//! A value near a vendor's name: many vendors publish no prefix, but a name and a value of one form go together.

use crate::core::{Found, ends_token, is_secret, starts_token};
use crate::{Rule, RuleSet};
use std::ops::Range;

/// The rest of the identifier that the name is part of.
const NAME: usize = 48;
/// How far after that a value may begin.
const REACH: usize = 64;
/// No value is shorter.
const LEAST: usize = 12;
/// More runs of characters between a name and its value are prose.
const RUNS: usize = 10;
/// A name this short is a name only when it is a word of its own.
const SHORT: usize = 6;

/// Words that say that what comes is a secret, in lower case.
const HINTS: [&[u8]; 12] =
    [b"key", b"tok", b"secret", b"pass", b"pwd", b"auth", b"cred", b"api", b"bearer", b"sign", b"webhook", b"sid"];

/// Takes the first run of characters after the name at `at` that the rule's pattern matches, when an operator leads to
/// it or a word between says what it is.
pub(crate) fn confirm(set: &RuleSet, rule: &Rule, number: usize, text: &str, at: Range<usize>, found: &mut Found) {
    let bytes = text.as_bytes();
    if at.len() < SHORT && !is_word(bytes, &at) {
        return;
    }
    let name = at.end + bytes[at.end..].iter().take(NAME).take_while(|&&b| is_name(b)).count();
    let end = bytes.len().min(name + REACH);
    let mut from = name;
    let mut tried = false;
    for _ in 0..RUNS {
        while from < end && !is_value(bytes[from]) {
            from += 1;
        }
        if from >= end {
            return;
        }
        let length = bytes[from..].iter().take(4096).take_while(|&&b| is_value(b)).count();
        if length >= LEAST {
            // After `:` or `=` inside the run there may be the value as well.
            let run = &bytes[from..from + length];
            let later = run.iter().enumerate().filter(|(_, b)| matches!(b, b'=' | b':')).map(|(at, _)| at + 1).take(3);
            for skip in std::iter::once(0).chain(later) {
                if matches!(bytes.get(from + skip), None | Some(b'=' | b':'))
                    || !leads(bytes, at.start, name, from + skip)
                {
                    continue;
                }
                if !tried && (found.is_known(rule.id, at.start) || !found.allow(set, number, bytes, at.start)) {
                    return;
                }
                tried = true;
                if take(set, rule, text, from + skip, found) {
                    return;
                }
            }
        }
        from += length;
    }
}

fn take(set: &RuleSet, rule: &Rule, text: &str, from: usize, found: &mut Found) -> bool {
    let bytes = text.as_bytes();
    let Some(pattern) = rule.pattern.as_ref().and_then(|pattern| pattern.get()) else { return false };
    let window = &bytes[from..bytes.len().min(from + rule.window)];
    let Some(captures) = pattern.captures(window) else { return false };
    let Some(secret) = captures.iter().skip(1).flatten().next().or(captures.get(0)) else { return false };
    let span = from + secret.start()..from + secret.end();
    if !starts_token(bytes, span.start) || !ends_token(bytes, span.end) {
        return false;
    }
    let value = String::from_utf8_lossy(&bytes[span.clone()]).into_owned();
    let is_secret = is_secret(rule, &value);
    if is_secret {
        found.push(set, rule.id, text, span, value);
    }
    is_secret
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=~.%:|$!@".contains(&byte)
}

/// Whether what stands between a name and a value makes one the other's: an operator and nothing else, or a hint.
fn leads(bytes: &[u8], start: usize, name: usize, value: usize) -> bool {
    let between = &bytes[name..value];
    if between.iter().filter(|&&b| b == b'\n').count() > 1 {
        return false;
    }
    let plain = between.iter().all(|b| b" \t\"'`:=>,()[]\\".contains(b));
    let operator = between.iter().any(|b| matches!(b, b'=' | b':' | b'>' | b','));
    plain && operator || has_hint(&bytes[start..value])
}

fn has_hint(between: &[u8]) -> bool {
    HINTS.iter().any(|hint| between.windows(hint.len()).any(|window| window.eq_ignore_ascii_case(hint)))
}

/// Whether a short name is no part of a longer word: `lob` of `lobKey` and `LOB_KEY`, not of `lobster`.
fn is_word(bytes: &[u8], at: &Range<usize>) -> bool {
    let first = bytes[at.start];
    let last = bytes[at.end - 1];
    let before = at.start.checked_sub(1).map(|before| bytes[before]).filter(u8::is_ascii_alphabetic);
    let after = bytes.get(at.end).copied().filter(u8::is_ascii_alphabetic);
    let apart_before = before.is_none_or(|b| b.is_ascii_lowercase() && first.is_ascii_uppercase());
    let apart_after = after.is_none_or(|b| b.is_ascii_uppercase() && last.is_ascii_lowercase());
    (apart_before || starts_token(bytes, at.start)) && apart_after
}
