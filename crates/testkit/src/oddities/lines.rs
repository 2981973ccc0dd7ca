//! Lines that are not events, and lines that are only after a repair.

use super::fixture::{Fixture, session};
use crate::{Object, SessionBuilder};

/// Fields of a message whose text is JSON source.
fn said(text: &str) -> Object {
    Object::new().text("role", "assistant").raw("text", text)
}

/// A raw line that is an event but for what `json` adds after the envelope.
fn with(session: &mut SessionBuilder, kind: &str, json: &str) -> String {
    let line = session.line(kind, Object::new());
    format!("{},{json}}}\n", &line[..line.len() - 1])
}

/// A message line of exactly `bytes` bytes, newline left out.
///
/// # Panics
/// Below some 400 bytes, which the envelope needs.
pub fn huge_line(bytes: usize) -> Fixture {
    let name = "huge_line";
    let made = session(name, |s| {
        let empty = s.clone().line("message", said("\"\"")).len();
        let text = "a long line \u{e9} ".repeat(bytes / 15 + 1);
        let mut cut = bytes.checked_sub(empty).expect("a huge line is longer than an envelope");
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let padding = "x".repeat(bytes - empty - cut);
        s.event("message", said(&format!("\"{}{padding}\"", &text[..cut])));
    });
    Fixture::one(
        name,
        "A line of any length is read within the memory bound; columns are cut, raw has the whole.",
        made,
    )
}

fn deep(total: usize) -> String {
    format!("{}{}", "[".repeat(total - 1), "]".repeat(total - 1))
}

pub(super) fn fixtures() -> Vec<Fixture> {
    let reject = |name, note, count, line: &[u8]| {
        Fixture::one(
            name,
            note,
            session(name, |s| {
                s.raw(line);
            }),
        )
        .rejects(count)
    };
    let repaired = |name, note, odd: &dyn Fn(&mut SessionBuilder)| {
        Fixture::one(name, note, session(name, |s| odd(s))).flags(&["repaired"])
    };
    vec![
        reject(
            "not_json",
            "A line that is not JSON is one reject; the rest goes on.",
            1,
            b"Traceback (most recent):\n",
        ),
        reject("cut_json", "A line that a crash cut, with a newline after it.", 1, b"{\"v\":1,\"type\":\"mess\n"),
        reject("nuls", "NULs where a block was never written.", 1, &[[0u8; 64].as_slice(), b"\n"].concat()),
        reject("array_line", "JSON, but no object.", 1, b"[1,2]\n"),
        reject("control_character", "A raw tab inside a string is not JSON.", 1, b"{\"type\":\"a\tb\"}\n"),
        reject(
            "conflict_markers",
            "Three lines of a merge conflict: three rejects.",
            3,
            b"<<<<<<< HEAD\n=======\n>>>>>>> main\n",
        ),
        Fixture::one(
            "two_objects",
            "Two events on one line: no JSON value, kept as one reject.",
            session("two_objects", |s| {
                let (first, second) = (s.line("message", said("\"one\"")), s.line("message", said("\"two\"")));
                s.raw(format!("{first}{second}\n"));
            }),
        )
        .rejects(1),
        Fixture::one(
            "nul_inside",
            "A NUL inside a string is a control character: a reject.",
            session("nul_inside", |s| {
                let line = s.line("message", said("\"one\""));
                s.raw(line.replace("one", "o\0e") + "\n");
            }),
        )
        .rejects(1),
        Fixture::one(
            "nan",
            "NaN is not JSON.",
            session("nan", |s| {
                let line = with(s, "tool_call", r#""tool":"Bash","input":{},"output":NaN"#);
                s.raw(line);
            }),
        )
        .rejects(1),
        Fixture::one(
            "nesting_128",
            "Nested deeper than 127: a reject.",
            session("nesting_128", |s| {
                s.event("tool_call", Object::new().text("tool", "Bash").raw("output", &deep(128)));
            }),
        )
        .rejects(1),
        Fixture::one(
            "nesting_127",
            "Nested to 127: read.",
            session("nesting_127", |s| {
                s.event("tool_call", Object::new().text("tool", "Bash").raw("output", &deep(127)));
            }),
        ),
        repaired("lone_surrogate", "A lone surrogate becomes U+FFFD.", &|s| {
            s.event("message", said(r#""half of \ud83d a face, and \udc00 too""#));
        }),
        repaired("invalid_utf8", "Bytes that are not UTF-8 become U+FFFD.", &|s| {
            let line = s.line("message", said("\"caf?\""));
            let bytes: Vec<u8> = line.bytes().map(|b| if b == b'?' { 0xE9 } else { b }).chain([b'\n']).collect();
            s.raw(bytes);
        }),
        repaired("bom", "A byte order mark before an object is dropped.", &|s| {
            let line = s.line("message", said("\"after the mark\""));
            s.raw(format!("\u{FEFF}{line}\n"));
        }),
        repaired("crlf", "Lines that end in CR LF lose the CR.", &|s| {
            for text in ["\"one\"", "\"two\""] {
                let line = s.line("message", said(text));
                s.raw(format!("{line}\r\n"));
            }
        }),
        repaired("infinite_number", "`1e999` becomes null; other numbers keep their text.", &|s| {
            s.event(
                "tool_call",
                Object::new()
                    .text("tool", "Bash")
                    .raw("output", r#"{"far":1e999,"exact":1.10,"large":12345678901234567890}"#),
            );
        }),
        Fixture::one(
            "duplicate_keys",
            "Of a key that stands twice the last one wins.",
            session("duplicate_keys", |s| {
                s.event("message", said("\"first\"").text("text", "last"));
            }),
        )
        .flags(&["duplicate_key"]),
        Fixture::one(
            "same_bytes_twice",
            "The same line twice: both kept, the second never rendered.",
            session("same_bytes_twice", |s| {
                let line = s.line("message", said("\"once is enough\"")) + "\n";
                s.raw(&line).raw(&line);
            }),
        )
        .flags(&["duplicate_event"]),
        Fixture::one(
            "blank_lines",
            "Blank lines are no lines.",
            session("blank_lines", |s| {
                s.raw("\n  \n\t\r\n");
            }),
        ),
        huge_line(1 << 20),
    ]
}
