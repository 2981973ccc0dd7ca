//! A session is scanned whole.

use crate::made_up::examples::{base64, expand};
use lake_secrets::{RuleSet, SessionScan, fingerprint, redact, scan};

fn redacted(texts: &[(&str, Option<u64>)]) -> Vec<String> {
    let rules = RuleSet::builtin();
    let mut session = SessionScan::new(rules);
    for (text, turn) in texts {
        session.feed(text, *turn, false);
    }
    let known = session.finish().unwrap();
    let clean: Vec<String> = texts
        .iter()
        .map(|(text, _)| {
            let hits = known.locate(rules, text, false);
            let clean = redact(text, &hits, |hit| known.placeholder(hit));
            assert!(known.locate(rules, &clean, false).is_empty(), "{clean}");
            assert!(scan(rules, &clean, false).is_empty(), "{clean}");
            clean
        })
        .collect();
    let mut again = SessionScan::new(rules);
    for (text, (_, turn)) in clean.iter().zip(texts) {
        again.feed(text, *turn, false);
    }
    assert!(again.finish().is_none(), "{clean:?}");
    clean
}

#[test]
fn nothing_found_needs_no_second_pass() {
    let mut session = SessionScan::new(RuleSet::builtin());
    assert!(session.feed("cargo test", Some(1), false).is_empty());
    assert!(session.finish().is_none());
}

#[test]
fn a_value_is_a_secret_before_and_after_it_was_found() {
    let value = expand("{an:18}", 1);
    let texts = [
        format!("what is {value}?"),
        format!("DB_PASSWORD={value}"),
        format!("sent {}", base64(&format!("ab{value}cd"))),
        format!("hex {}", hex::encode(&value)),
    ];
    let texts: Vec<(&str, Option<u64>)> = texts.iter().map(|text| (text.as_str(), None)).collect();
    let clean = redacted(&texts);
    assert_eq!(clean[0], "what is <SECRET:generic-secret:1>?");
    assert_eq!(clean[1], "DB_PASSWORD=<SECRET:generic-secret:1>");
    assert_eq!(clean[2], "sent <SECRET:generic-secret:1>");
    assert_eq!(clean[3], "hex <SECRET:generic-secret:1>");
}

#[test]
fn placeholders_are_numbered_within_their_rule() {
    let text = expand("{github:ghp_} AKIA{b32:16} {github:gho_}", 9);
    let clean = redacted(&[(&text, None), (&text, None)]);
    assert_eq!(clean[0], "<SECRET:github-token:1> <SECRET:aws-access-key-id:1> <SECRET:github-token:2>");
    assert_eq!(clean[0], clean[1]);
}

#[test]
fn a_secret_split_over_messages_of_a_turn() {
    let token = expand("{github:ghp_}", 4);
    for cuts in [vec![2], vec![10], vec![39], vec![10, 20], vec![5, 10, 20, 30]] {
        let mut parts = vec!["I use "];
        let mut texts = Vec::new();
        let mut at = 0;
        for &cut in cuts.iter().chain([&token.len()]) {
            texts.push(format!("{}{}", parts.pop().unwrap_or_default(), &token[at..cut]));
            at = cut;
        }
        let last = texts.len() - 1;
        texts[last].push_str(" here");
        let texts: Vec<(&str, Option<u64>)> = texts.iter().map(|text| (text.as_str(), Some(7))).collect();
        let clean = redacted(&texts);
        assert_eq!(clean[0], "I use <SECRET:github-token:1>", "{cuts:?}");
        assert_eq!(clean[last], "<SECRET:github-token:1> here", "{cuts:?}");
        let apart: Vec<_> = texts.iter().enumerate().map(|(turn, (text, _))| (*text, Some(turn as u64))).collect();
        let mut session = SessionScan::new(RuleSet::builtin());
        for (text, turn) in &apart {
            session.feed(text, *turn, false);
        }
        assert!(session.finish().is_none(), "other turns do not touch");
    }
}

#[test]
fn a_private_key_split_over_messages_is_gone_from_each() {
    let pem = expand("{pem:RSA PRIVATE KEY}", 4);
    let parts: Vec<(&str, Option<u64>)> =
        vec![(&pem[..200], Some(1)), (&pem[200..500], Some(1)), (&pem[500..], Some(1))];
    for clean in redacted(&parts) {
        assert!(clean.len() < 40, "{clean}");
    }
}

#[test]
fn fingerprints_depend_on_the_key() {
    assert_ne!(fingerprint(b"a", "secret"), fingerprint(b"b", "secret"));
    assert_eq!(fingerprint(b"a", "secret"), fingerprint(b"a", "secret"));
}
