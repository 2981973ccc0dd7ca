//! The ways in which a trace writes a secret down.

use super::examples::base64;

/// A name, and how a text looks in it.
pub type Disguise = (&'static str, fn(&str) -> String);

/// Each keeps the whole text. Two of the names have several forms: all of them count.
pub const DISGUISES: [Disguise; 13] = [
    ("JSON once", json),
    ("JSON twice", |text| json(&json(text))),
    ("cat -n", |text| each_line(text, |at, line| format!("{:6}\t{line}\n", at + 1))),
    ("cat -n, arrows", |text| each_line(text, |at, line| format!("{:5}→{line}\n", at + 1))),
    ("grep -n", |text| each_line(text, |at, line| format!("src/a.rs:{}:{line}\n", at + 1))),
    ("diff", |text| each_line(text, |_, line| format!("+{line}\n"))),
    ("ANSI around", |text| each_line(text, |_, line| format!("\x1b[32m{line}\x1b[0m\n"))),
    ("ANSI inside", |text| {
        let parts: Vec<_> = text.as_bytes().chunks(9).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        parts.join("\x1b[0m\x1b[1;31m")
    }),
    ("wrap at 40", |text| fold(text, 40, "\n")),
    ("wrap at 64", |text| fold(text, 64, "\n")),
    ("wrap at 80, prose", |text| {
        fold(&format!("so I ran it with what the user gave me in the chat: {text}"), 80, "\n")
    }),
    ("wrap with backslash", |text| fold(text, 48, "\\\n")),
    ("base64", base64),
];

/// The text in so many pieces of one length, as streamed messages have it.
pub fn pieces(text: &str, count: usize) -> Vec<String> {
    let length = text.len().div_ceil(count.max(1)).max(1);
    text.as_bytes().chunks(length).map(|part| String::from_utf8_lossy(part).into_owned()).collect()
}

fn json(text: &str) -> String {
    let mut out = String::from("{\"content\":\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out + "\"}"
}

fn each_line(text: &str, change: impl Fn(usize, &str) -> String) -> String {
    text.lines().enumerate().map(|(at, line)| change(at, line)).collect()
}

fn fold(text: &str, width: usize, with: &str) -> String {
    let chunks = |line: &str| {
        let parts: Vec<_> =
            line.as_bytes().chunks(width).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        parts.join(with)
    };
    text.lines().map(chunks).collect::<Vec<_>>().join("\n")
}
