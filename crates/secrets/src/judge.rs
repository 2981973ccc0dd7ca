//! Whether a value is random enough, and of the right kind, to be a secret.

use crate::bigrams::SURPRISE;
use crate::standins::starts_with_any;
pub(crate) use crate::standins::{is_placeholder, is_reference, is_sample_token};

/// Counts of the classes of characters in a value.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) lowers: usize,
    pub(crate) uppers: usize,
    pub(crate) digits: usize,
    pub(crate) symbols: usize,
    /// Symbols that names have as well: `_`, `-`, `.`, `/`.
    pub(crate) joiners: usize,
    pub(crate) spaces: usize,
    pub(crate) others: usize,
}

impl Shape {
    pub(crate) fn of(value: &str) -> Self {
        let mut shape = Self::default();
        for byte in value.bytes() {
            shape.joiners += usize::from(matches!(byte, b'_' | b'-' | b'.' | b'/'));
            match byte {
                b'a'..=b'z' => shape.lowers += 1,
                b'A'..=b'Z' => shape.uppers += 1,
                b'0'..=b'9' => shape.digits += 1,
                b' ' | b'\t' | b'\n' | b'\r' => shape.spaces += 1,
                0x21..=0x7e => shape.symbols += 1,
                _ => shape.others += 1,
            }
        }
        shape
    }

    /// Has a digit and a letter.
    pub(crate) fn mixed(self) -> bool {
        self.digits > 0 && self.lowers + self.uppers > 0
    }

    /// How many of lower, upper, digit and symbol there are; what joins the words of a name is no symbol.
    pub(crate) fn classes(self) -> usize {
        [self.lowers, self.uppers, self.digits, self.symbols - self.joiners].iter().filter(|&&count| count > 0).count()
    }
}

/// Shannon entropy of the bytes, in bits a byte.
pub(crate) fn entropy(value: &str) -> f32 {
    let mut counts = [0u32; 256];
    for byte in value.bytes() {
        counts[byte as usize] += 1;
    }
    let total = value.len().max(1) as f32;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = count as f32 / total;
            -share * share.log2()
        })
        .sum()
}

/// Mean surprise of a character after the one before it, in bits, for a reader who expects identifiers:
/// words have 2.5 to 4, hex 3.5 to 5, base 62 from 4.4 at sixteen characters.
pub(crate) fn surprise(value: &str) -> f32 {
    let bytes = value.as_bytes();
    if bytes.len() < 2 {
        return 0.0;
    }
    let total: u32 = bytes.windows(2).map(|pair| step(pair[0], pair[1])).sum();
    total as f32 / 10.0 / (bytes.len() - 1) as f32
}

fn step(a: u8, b: u8) -> u32 {
    match (a.is_ascii_alphabetic(), b.is_ascii_alphabetic()) {
        (true, true) if a.is_ascii_lowercase() && b.is_ascii_uppercase() => 60,
        (true, true) => u32::from(SURPRISE[letter(a)][letter(b)]),
        _ if a.is_ascii_digit() && b.is_ascii_digit() => 33,
        _ if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric() => 50,
        _ => {
            let symbol = if a.is_ascii_alphanumeric() { b } else { a };
            if b"_-./ :".contains(&symbol) { 25 } else { 45 }
        }
    }
}

fn letter(byte: u8) -> usize {
    usize::from(byte.to_ascii_lowercase() - b'a') % 26
}

/// More random than words and identifiers; shorter values have to be more so.
pub(crate) fn is_random(value: &str) -> bool {
    let least = match value.len() {
        0..12 => 4.7,
        12..20 => 4.5,
        _ => 4.4,
    };
    if is_uuid(value) {
        return entropy(value) >= 2.6;
    }
    let hex = is_hexish(value);
    surprise(value) >= if hex { 3.45 } else { least } && entropy(value) >= if hex { 2.8 } else { 3.0 }
}

/// Hex digits, but for a prefix or dashes, and as many digits as hex has.
fn is_hexish(value: &str) -> bool {
    let count = |what: fn(&u8) -> bool| value.as_bytes().iter().filter(|b| what(b)).count();
    value.len() >= 24
        && count(|b| b.is_ascii_hexdigit() || *b == b'-') * 20 >= value.len() * 17
        && count(u8::is_ascii_digit) * 5 >= value.len()
}

/// Letters of both cases, mixed as no name mixes them. Random values without a digit are rare but there.
pub(crate) fn is_random_letters(value: &str, shape: Shape) -> bool {
    shape.uppers > 1 && shape.lowers > 1 && value.len() >= 10 && surprise(value) >= 5.2 && entropy(value) >= 2.8
}

/// A path: three parts or more that are words, or one that starts as a path does.
fn is_path(value: &str) -> bool {
    let bytes = value.as_bytes();
    let rooted = starts_with_any(value, &["/", "./", "../", "~/", "\\\\"])
        || (bytes.len() > 2 && bytes[1] == b':' && matches!(bytes[2], b'\\' | b'/'));
    let parts = value.split(['/', '\\']).count();
    (rooted && parts > 1 && surprise(value) < 4.9) || (parts > 2 && surprise(value) < 4.3)
}

/// Eight, four, four, four, twelve hex digits.
pub(crate) fn is_uuid(value: &str) -> bool {
    let bytes = value.trim_matches(['{', '}']).as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Only hex digits.
pub(crate) fn is_hex(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The value of a password. Quoted ones may have symbols that end an unquoted one.
pub(crate) fn password(value: &str, quoted: bool) -> bool {
    let shape = Shape::of(value);
    if !(8..=128).contains(&value.len()) || shape.spaces > 0 || shape.others > 0 {
        return false;
    }
    if is_reference(value) || is_placeholder(value) || is_path(value) || is_uuid(value) || is_version(value) {
        return false;
    }
    if beside_percents(value) < 7 {
        return false;
    }
    let odd = value.bytes().filter(|b| b"\\|;,<>(){}[]\"'`".contains(b)).count();
    if odd > usize::from(quoted) || !shape.mixed() {
        return odd == 0 && is_random_letters(value, shape);
    }
    if is_hex(value) {
        return value.len() >= 12 && shape.digits > 2 && shape.lowers + shape.uppers > 2 && entropy(value) >= 2.5;
    }
    if has_leet(value) && value.len() >= 9 {
        return entropy(value) >= 2.5 && surprise(value) >= 3.5;
    }
    let marked = value.bytes().any(|b| b"!@#$%^&*?+".contains(&b));
    match shape.classes() {
        // Nothing else has all four.
        4 if marked => entropy(value) >= 2.5 && surprise(value) >= 2.6,
        4 => entropy(value) >= 2.8 && surprise(value) >= 3.9,
        3 if shape.uppers > 0 => entropy(value) >= 2.7 && surprise(value) >= if shape.symbols > 0 { 4.4 } else { 4.6 },
        3 => entropy(value) >= 2.9 && surprise(value) >= 4.5 && shape.digits > 1,
        _ => is_random(value) && shape.digits > 1 && (value.len() >= 10 || surprise(value) >= 5.0),
    }
}

/// Digits in place of letters, twice or more: `c0rrecth0rse`.
fn has_leet(value: &str) -> bool {
    let bytes = value.as_bytes();
    let inside = |at: &usize| {
        b"013457".contains(&bytes[*at])
            && at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphabetic())
            && bytes[at + 1..].iter().find(|b| **b != bytes[*at]).is_some_and(u8::is_ascii_alphabetic)
    };
    value.bytes().all(|b| b.is_ascii_alphanumeric()) && (0..bytes.len()).filter(inside).count() >= 2
}

/// How many bytes there are beside escapes such as `%5B`, which look random and are not.
fn beside_percents(value: &str) -> usize {
    let bytes = value.as_bytes();
    let escapes = bytes.windows(3).filter(|w| w[0] == b'%' && w[1].is_ascii_hexdigit() && w[2].is_ascii_hexdigit());
    value.len() - (3 * escapes.count()).min(value.len())
}

/// The password of a URL: the place says what it is, so less is asked of the value.
pub(crate) fn url_password(value: &str) -> bool {
    let shape = Shape::of(value);
    beside_percents(value) >= 6
        && value.len() <= 256
        && shape.spaces == 0
        && !is_reference(value)
        && !is_placeholder(value)
        && (shape.classes() >= 3
            || (shape.mixed() && surprise(value) >= 4.2)
            || surprise(value) >= 5.0
            || has_leet(value))
        && entropy(value) >= 2.2
        && surprise(value) >= if shape.classes() == 4 { 2.6 } else { 3.5 }
}

/// The value of a token, an API key, a secret: longer and of fewer symbols than a password.
/// `strong`: the name says that it is a secret and nothing else.
pub(crate) fn token(value: &str, strong: bool) -> bool {
    let shape = Shape::of(value);
    let least = if strong { 14 } else { 20 };
    if !(least..=1024).contains(&value.len()) || shape.spaces > 0 || shape.others > 0 {
        return false;
    }
    // The number before a bar is that of the token in the database.
    let after_number = value.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix('|').unwrap_or(value);
    let odd = after_number.bytes().filter(|b| !b.is_ascii_alphanumeric() && !b"_-.+/=~:!@#$%^&*".contains(b)).count();
    if odd > 0 || is_reference(value) || is_placeholder(value) || is_uuid(value) || is_path(value) {
        return false;
    }
    if is_hex(value) {
        // As long as a commit or a digest: only a name that leaves no doubt makes it a secret.
        return strong
            && value.len() >= 32
            && shape.digits > 3
            && shape.lowers + shape.uppers > 3
            && entropy(value) > 2.8;
    }
    // A constant's name.
    if shape.lowers == 0 && shape.digits < 2 && shape.joiners > 0 {
        return false;
    }
    let core = value.trim_end_matches('=');
    (shape.mixed() || is_random_letters(core, shape)) && is_random(core) && has_random_part(core) && !is_version(value)
}

/// A token of twelve or thirteen characters, where the name says that it is one.
pub(crate) fn short_token(value: &str) -> bool {
    let shape = Shape::of(value);
    shape.digits > 1
        && shape.symbols == 0
        && shape.lowers + shape.uppers > 3
        && !is_placeholder(value)
        && !is_version(value)
        && surprise(value) >= 4.7
}

/// Identifiers with numbers in them are surprising on the whole only; a secret has a long part that is.
fn has_random_part(value: &str) -> bool {
    value.split(['.', '_', '-', ':', '/']).any(|part| part.len() >= 8 && surprise(part) >= 4.2 && entropy(part) >= 2.5)
}

/// Numbers and dots, a date, a number with a unit.
fn is_version(value: &str) -> bool {
    let shape = Shape::of(value);
    shape.digits * 2 > value.len() && shape.lowers + shape.uppers <= 2
}
