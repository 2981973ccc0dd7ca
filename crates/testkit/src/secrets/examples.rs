//! The notation of the examples in the secret scan's rule files: `{an:36}` is made up here, the same each time, so that no
//! file has a token in it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// SplitMix64: the same bytes for the same seed, on any machine.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// So many characters of an alphabet.
    pub fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| letters[(self.next() % letters.len() as u64) as usize]).collect()
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

const DIGITS: &str = "0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";

/// Some of the words of seed phrases.
const WORDS: [&str; 48] = [
    "abandon", "bamboo", "cactus", "dolphin", "eagle", "fabric", "galaxy", "habit", "icon", "jacket", "kangaroo",
    "ladder", "machine", "napkin", "oblige", "paddle", "quantum", "rabbit", "saddle", "tackle", "umbrella", "vacant",
    "wagon", "yard", "zebra", "acoustic", "biology", "ceiling", "dentist", "elbow", "ferry", "giraffe", "hockey",
    "inherit", "jungle", "kidney", "lobster", "mimic", "nephew", "orchard", "penalty", "quiz", "rhythm", "spatial",
    "tortoise", "utility", "venture", "wrestle",
];

/// Expands every `{kind:argument}` of an example. What is no kind stays as it is, so that JSON can stand there.
pub fn expand(example: &str, seed: u64) -> String {
    let mut random = Random(seed);
    let mut out = String::new();
    let mut rest = example;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        let made = rest[open..].find('}').and_then(|close| {
            let inside = &rest[open + 1..open + close];
            let (kind, argument) = inside.split_once(':').unwrap_or((inside, ""));
            make(&mut random, kind, argument).map(|made| (made, open + close + 1))
        });
        match made {
            Some((made, end)) => {
                out.push_str(&made);
                rest = &rest[end..];
            }
            None => {
                out.push('{');
                rest = &rest[open + 1..];
            }
        }
    }
    out + rest
}

fn make(random: &mut Random, kind: &str, argument: &str) -> Option<String> {
    let length = argument.parse::<usize>();
    let all = format!("{DIGITS}{UPPER}{LOWER}");
    let alphabet = match kind {
        "an" => all.clone(),
        "hex" => format!("{DIGITS}abcdef"),
        "hexu" => format!("{DIGITS}ABCDEF"),
        "low" => format!("{DIGITS}{LOWER}"),
        "lo" => LOWER.to_owned(),
        "low2" => format!("{LOWER}234567"),
        "django" => format!("{DIGITS}{LOWER}!@#$%^&*(-_=+)"),
        "sym" => format!("{all}!@#%^&*()-_[]{{}}<>~+=,.;:/?|"),
        "let" => format!("{UPPER}{LOWER}"),
        "upd" => format!("{DIGITS}{UPPER}"),
        "dig" => DIGITS[1..].to_owned(),
        "b32" => format!("{UPPER}234567"),
        "b58" => all.replace(['0', 'O', 'I', 'l'], ""),
        "b64" => format!("{all}+/"),
        "b64u" => format!("{all}-_"),
        "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
        "bechl" => "qpzry9x8gf2tvdw0s3jn54khce6mua7l".to_owned(),
        "github" => {
            let body = random.text(&all, 30);
            return Some(format!("{argument}{body}{}", base62(crc32fast::hash(body.as_bytes()))));
        }
        "bip39" => {
            let words: Vec<&str> =
                (0..length.ok()?).map(|_| WORDS[(random.next() % WORDS.len() as u64) as usize]).collect();
            return Some(words.join(" "));
        }
        "uuid" => {
            let mut hex = |length| random.text("0123456789abcdef", length);
            return Some(format!("{}-{}-4{}-a{}-{}", hex(8), hex(4), hex(3), hex(3), hex(12)));
        }
        "jwt" => {
            let header = URL_SAFE_NO_PAD.encode(br#"{"alg":"HS256","typ":"JWT"}"#);
            let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"{}","iat":1700000000}}"#, random.text(&all, 12)));
            return Some(format!("{header}.{claims}.{}", URL_SAFE_NO_PAD.encode(random.bytes(32))));
        }
        "pem" => {
            let body = STANDARD.encode(random.bytes(600));
            let lines: Vec<String> =
                body.as_bytes().chunks(64).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            return Some(format!("-----BEGIN {argument}-----\n{}\n-----END {argument}-----", lines.join("\n")));
        }
        "basic" => return Some(STANDARD.encode(format!("{argument}:{}", random.text(&all, 18)))),
        "b64of64" => return Some(STANDARD.encode(random.bytes(64))),
        _ => return None,
    };
    length.ok().map(|length| random.text(&alphabet, length))
}

fn base62(mut number: u32) -> String {
    let digits: Vec<char> = format!("{DIGITS}{UPPER}{LOWER}").chars().collect();
    let mut out = Vec::new();
    for _ in 0..6 {
        out.push(digits[(number % 62) as usize]);
        number /= 62;
    }
    out.iter().rev().collect()
}

/// A text in base 64, without padding.
pub fn base64(text: &str) -> String {
    STANDARD_NO_PAD.encode(text)
}
