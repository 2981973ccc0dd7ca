//! Kubernetes manifests of kind Secret: the kind says that the values are secrets, whatever their names are.

use crate::RuleSet;
use crate::core::Found;
use crate::hit::{ceil, floor};
use crate::judge;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::ops::Range;

const RULE: &str = "kubernetes-secret";
/// How far the data may be from the kind, before and after.
const REACH: usize = 4 << 10;

/// Takes the values of `data` near a kind at `at`, whichever comes first.
pub(crate) fn secret(set: &RuleSet, text: &str, at: Range<usize>, found: &mut Found) {
    if text.as_bytes().get(at.end).is_some_and(u8::is_ascii_alphanumeric) {
        return;
    }
    if !found.manifests.allow(&(at.start..at.end + REACH / 8)) {
        return;
    }
    let after = at.end..ceil(text, at.end + REACH);
    let before = floor(text, at.start.saturating_sub(REACH))..at.start;
    // Documents of one stream are apart.
    let apart = "\n---";
    let after = after.start..text[after.clone()].find(apart).map_or(after.end, |end| after.start + end);
    let before = text[before.clone()].rfind(apart).map_or(before.start, |end| before.start + end)..before.end;
    for part in [after, before] {
        let Some(data) = text[part.clone()].find("data") else { continue };
        entries(set, text, part.start + data..part.end, found);
    }
}

/// Each `name: base64` of a part.
fn entries(set: &RuleSet, text: &str, part: Range<usize>, found: &mut Found) {
    let bytes = text.as_bytes();
    for colon in memchr::memchr_iter(b':', &bytes[part.clone()]) {
        let mut start = part.start + colon + 1;
        start += bytes[start..part.end].iter().take(4).take_while(|b| matches!(b, b' ' | b'"')).count();
        let run = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
        let end = start + bytes[start..part.end].iter().take_while(run).count();
        let value = &text[start..end];
        if value.len() < 12 || !value.len().is_multiple_of(4) {
            continue;
        }
        let Ok(inner) = STANDARD.decode(value) else { continue };
        let is_secret = match std::str::from_utf8(&inner) {
            Ok(inner) if !inner.chars().any(char::is_control) => {
                judge::url_password(inner) || judge::password(inner, true) || judge::token(inner, true)
            }
            // A binary value is a key; text of many lines is looked at for itself.
            Ok(_) => false,
            Err(_) => judge::is_random(value),
        };
        if is_secret {
            found.push(set, RULE, text, start..end, value.to_owned());
        }
    }
}
