//! What a value must be, beyond its pattern: checksums and structures that vendors publish.

use crate::judge;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde::Deserialize;

/// A test of a captured value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// GitHub and npm: the last six of base 62 are the CRC-32 of the thirty before them.
    Crc32Base62,
    /// Header and payload are JSON objects, and the header names an algorithm that signs.
    Jwt,
    /// AWS access key ids are base 32 after the prefix: no 0, 1, 8, 9. The documents' examples are none.
    AwsKeyId,
    /// Base64 of 64 bytes, as Azure storage and Cosmos keys are.
    Base64Of64,
    /// `user:password` in base64.
    BasicAuth,
    /// More random than words and identifiers are.
    Random,
    /// Has a digit and a letter, or letters as random ones are.
    Mixed,
    /// Has a digit, an upper and a lower case letter, or letters as random ones are.
    Mixed3,
    /// Is no word, placeholder or reference, as [`judge::password`] says.
    Password,
    /// Is no word that stands in for a value.
    NotPlaceholder,
    /// As many words as a seed phrase has, and none that the list of words lacks and a sentence has.
    SeedPhrase,
}

/// Whether the check is of a checksum or a structure, not of how random a value is.
pub(crate) fn is_structure(check: Check) -> bool {
    matches!(check, Check::Crc32Base62 | Check::Jwt | Check::AwsKeyId | Check::Base64Of64 | Check::BasicAuth)
}

/// Whether `value` passes `check`.
pub(crate) fn passes(check: Check, value: &str) -> bool {
    match check {
        Check::Crc32Base62 => crc32_base62(value),
        Check::Jwt => jwt(value),
        Check::AwsKeyId => aws_key_id(value),
        Check::Base64Of64 => STANDARD.decode(value).is_ok_and(|bytes| bytes.len() == 64),
        Check::BasicAuth => basic_auth(value),
        Check::Random => judge::is_random(value),
        Check::Mixed => {
            let shape = judge::Shape::of(value);
            shape.mixed() || judge::is_random_letters(value, shape)
        }
        Check::Mixed3 => {
            let shape = judge::Shape::of(value);
            shape.digits > 0 && shape.uppers > 0 && shape.lowers > 0 || judge::is_random_letters(value, shape)
        }
        Check::Password => judge::password(value, true),
        Check::NotPlaceholder => !judge::is_placeholder(value),
        Check::SeedPhrase => seed_phrase(value),
    }
}

/// <https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/>
fn crc32_base62(token: &str) -> bool {
    let Some((_, body)) = token.rsplit_once('_') else { return false };
    if body.len() < 7 || !body.is_ascii() {
        return false;
    }
    let (payload, sum) = body.split_at(body.len() - 6);
    base62(crc32fast::hash(payload.as_bytes())) == sum
}

/// Six digits of base 62, `0-9A-Za-z`, the first one first.
pub(crate) fn base62(mut number: u32) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    digits.iter().map(|&digit| char::from(digit)).collect()
}

/// RFC 7519: an unsigned token (`alg: none`) opens nothing.
fn jwt(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(header), Some(_payload)) = (parts.next(), parts.next()) else { return false };
    // The last characters of an unpadded part may be cut off by a view; the object is read as far as it goes.
    let whole = header.trim_end_matches('=');
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(whole).or_else(|_| STANDARD_NO_PAD.decode(whole)) else {
        return false;
    };
    match serde_json::from_slice::<serde_json::Value>(&bytes) {
        Ok(serde_json::Value::Object(fields)) => {
            fields.get("alg").and_then(|alg| alg.as_str()).is_some_and(|alg| !alg.eq_ignore_ascii_case("none"))
        }
        _ => false,
    }
}

/// <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html>
fn aws_key_id(id: &str) -> bool {
    !id.contains("EXAMPLE")
        && id.get(4..).is_some_and(|rest| {
            rest.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'2'..=b'7')) && judge::entropy(rest) > 2.5
        })
}

/// <https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki>
fn seed_phrase(value: &str) -> bool {
    const OF_SENTENCES: [&str; 16] = [
        "the", "and", "are", "with", "from", "for", "not", "was", "here", "which", "word", "phrase", "mnemonic", "its",
        "will", "has",
    ];
    let words: Vec<&str> = value.split(' ').collect();
    matches!(words.len(), 12 | 15 | 18 | 21 | 24)
        && !words.iter().any(|word| OF_SENTENCES.contains(word))
        && words.iter().collect::<std::collections::HashSet<_>>().len() * 2 > words.len()
}

/// RFC 7617.
fn basic_auth(value: &str) -> bool {
    let Ok(bytes) = STANDARD.decode(value).or_else(|_| STANDARD_NO_PAD.decode(value)) else { return false };
    let Ok(text) = std::str::from_utf8(&bytes) else { return false };
    match text.split_once(':') {
        Some((user, password)) => {
            !text.chars().any(char::is_control)
                && (user.len() + password.len()) >= 8
                && (judge::url_password(password) || judge::url_password(user))
        }
        None => false,
    }
}
