//! Every rule's examples, written in every way that a trace writes them.

use crate::generate::{base64, expand};
use lake_secrets::{RuleSet, SessionScan, scan};

fn each_line(text: &str, change: impl Fn(usize, &str) -> String) -> String {
    text.lines().enumerate().map(|(at, line)| change(at, line)).collect()
}

fn fold(text: &str, width: usize) -> String {
    fold_with(text, width, "\n")
}

fn fold_with(text: &str, width: usize, with: &str) -> String {
    let chunks = |line: &str| {
        let parts: Vec<_> =
            line.as_bytes().chunks(width).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        parts.join(with)
    };
    text.lines().map(chunks).collect::<Vec<_>>().join("\n")
}

type Form = (&'static str, fn(&str) -> String);

fn json(text: &str) -> String {
    serde_json::json!({ "content": text }).to_string()
}

const FORMS: [Form; 13] = [
    ("json once", json),
    ("json twice", |text| json(&json(text))),
    ("cat -n", |text| each_line(text, |at, line| format!("{:6}\t{line}\n", at + 1))),
    ("grep -n", |text| each_line(text, |at, line| format!("src/a.rs:{}:{line}\n", at + 1))),
    ("arrows", |text| each_line(text, |at, line| format!("{:5}→{line}\n", at + 1))),
    ("diff", |text| each_line(text, |_, line| format!("+{line}\n"))),
    ("ansi lines", |text| each_line(text, |_, line| format!("\x1b[32m{line}\x1b[0m\n"))),
    ("ansi inside", |text| {
        let parts: Vec<_> = text.as_bytes().chunks(9).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
        parts.join("\x1b[0m\x1b[1;31m")
    }),
    ("wrap 40", |text| fold(text, 40)),
    ("wrap 64", |text| fold(text, 64)),
    ("wrap 80 of prose", |text| fold(&format!("so I ran it with what the user gave me in the chat: {text}"), 80)),
    ("backslash", |text| fold_with(text, 48, "\\\n")),
    ("base64", base64),
];

fn examples() -> Vec<(&'static str, String)> {
    let rules = RuleSet::builtin().rules();
    let each = |rule: &'static lake_secrets::Rule| {
        rule.examples.iter().flat_map(move |example| (0..4).map(move |seed| (rule.id, expand(example, seed * 31 + 7))))
    };
    let found = |(_, text): &(&str, String)| !scan(RuleSet::builtin(), text, false).is_empty();
    rules.iter().flat_map(each).filter(found).collect()
}

#[test]
fn at_least_99_in_100_are_kept_in_each_form() {
    let examples = examples();
    assert!(examples.len() > 800, "{}", examples.len());
    let mut poor = Vec::new();
    for (name, form) in FORMS {
        let lost: Vec<_> =
            examples.iter().filter(|(_, text)| scan(RuleSet::builtin(), &form(text), false).is_empty()).collect();
        if lost.len() * 100 > examples.len() {
            let ids: Vec<_> = lost.iter().map(|(id, _)| *id).collect();
            poor.push(format!("{name}: {} of {}, {ids:?}, {:?}", lost.len(), examples.len(), lost[0].1));
        }
    }
    assert!(poor.is_empty(), "{}", poor.join("\n"));
}

#[test]
fn at_least_99_in_100_are_found_over_deltas() {
    let examples = examples();
    for pieces in [2, 3, 5] {
        let lost: Vec<_> = examples
            .iter()
            .filter(|(_, text)| {
                let mut session = SessionScan::new(RuleSet::builtin());
                for part in text.as_bytes().chunks(text.len().div_ceil(pieces)) {
                    session.feed(&String::from_utf8_lossy(part), Some(1), false);
                }
                session.finish().is_none()
            })
            .collect();
        assert!(lost.len() * 100 <= examples.len(), "{pieces} pieces: {} of {}: {lost:?}", lost.len(), examples.len());
    }
}
