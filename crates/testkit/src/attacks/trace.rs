//! Traces that are not what the oracle was shown, and lines that it never saw.

use crate::scenarios::{flipped_session, retried_session};
use crate::{Object, sha256_hex};

use super::setting::{Attack, HonestKeys, pass, task, with, with_statement, worked};

/// Changes a session after it was written, where `from` stands first.
fn edited(name: &str, from: &str, to: &str) -> Vec<u8> {
    let bytes = flipped_session(&format!("attack-{name}"), &task(), Some(&HonestKeys::new().trusted));
    let text = String::from_utf8(bytes).expect("what the builder writes is UTF-8");
    assert!(text.contains(from), "no {from} in a session");
    text.replacen(from, to, 1).into_bytes()
}

/// The deciding PASS is bound to the file's first `n` bytes, with their right hash; `n` is made of the file so far.
fn bound_to(name: &str, n: impl FnOnce(&[u8]) -> usize) -> Vec<u8> {
    with(name, |session| {
        let mut statement = pass(session);
        let n = n(session.bytes());
        statement.trace_bytes = Some(n as u64);
        statement.trace_sha256 = Some(sha256_hex(&session.bytes()[..n]));
        session.verdict(&statement, |_| ());
    })
}

/// The end of the `count`-th line.
fn end_of_line(bytes: &[u8], count: usize) -> usize {
    bytes.split_inclusive(|b| *b == b'\n').take(count).map(<[u8]>::len).sum()
}

pub(super) fn attacks() -> Vec<Attack> {
    let removed = {
        let name = "line_removed_after";
        let key = HonestKeys::new().trusted;
        let bytes = retried_session(&format!("attack-{name}"), &task(), Some(&key), 0);
        let fifth = end_of_line(&bytes, 4)..end_of_line(&bytes, 5);
        [&bytes[..fifth.start], &bytes[fifth.end..]].concat()
    };
    let mut all = vec![
        Attack::new(
            "text_edited_after",
            "trace_changed",
            edited("text_edited_after", "I will guard the empty list.", "I will guard the empty li5t."),
        ),
        Attack::new("line_removed_after", "trace_changed", removed),
        Attack::new(
            "line_added_after",
            "trace_changed",
            edited(
                "line_added_after",
                "{\"v\":1,",
                "{\"type\":\"x\",\"session_id\":\"attack-line_added_after\",\"ts\":\"2025-06-02T09:00:00Z\"}\n{\"v\":1,",
            ),
        ),
        Attack::new(
            "prefix_beyond_the_file",
            "trace_changed",
            with_statement("prefix_beyond_the_file", |statement| statement.trace_bytes = Some(1 << 40)),
        ),
        Attack::new("prefix_empty", "trace_unbound", bound_to("prefix_empty", |_| 0)),
        Attack::new("prefix_cuts_a_line", "trace_unbound", bound_to("prefix_cuts_a_line", |bytes| bytes.len() - 3)),
        Attack::new(
            "prefix_before_baseline",
            "trace_unbound",
            bound_to("prefix_before_baseline", |b| end_of_line(b, 2)),
        ),
        Attack::new(
            "prefix_missing",
            "trace_unbound",
            with_statement("prefix_missing", |statement| {
                statement.trace_bytes = None;
                statement.trace_sha256 = None;
            }),
        ),
        Attack::new(
            "prefix_half_missing",
            "trace_unbound",
            with_statement("prefix_half_missing", |statement| statement.trace_sha256 = None),
        ),
    ];
    all.extend(after_the_pass());
    all
}

/// What was added behind an honest PASS costs it nothing, and is in no row.
fn after_the_pass() -> Vec<Attack> {
    let flipped = |name: &'static str, add: &dyn Fn(&mut crate::SessionBuilder)| {
        let mut session = worked(name);
        let statement = pass(&session);
        session.verdict(&statement, |_| ());
        add(&mut session);
        session.end("agent", "flipped");
        Attack { expected_flag: None, ..Attack::new(name, "", session.build()) }
    };
    vec![
        flipped("after_the_pass_a_line", &|session| {
            session.message("assistant", "This was never graded.");
        }),
        flipped("after_the_pass_a_low_seq", &|session| {
            let line = session.line("message", Object::new().text("role", "assistant").text("text", "never graded"));
            let from = line.find("\"seq\":").expect("every line has a seq");
            let to = from + line[from..].find(',').expect("more comes after it");
            session.raw(format!("{}\"seq\":2{}\n", &line[..from], &line[to..]));
        }),
        flipped("after_the_pass_a_forged_fail", &|session| {
            let forged = session.statement(lake_trace::Mode::Grade, lake_trace::Verdict::Fail, "never graded");
            session.verdict(&forged, |record| record.signature = Some("\"forged\"".to_owned()));
        }),
    ]
}
