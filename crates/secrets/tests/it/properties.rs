//! Properties of any text.

use crate::made_up::examples::expand;
use lake_secrets::{RuleSet, SessionScan, redact, scan};
use proptest::prelude::*;

const PIECES: [&str; 26] = [
    "{github:ghp_}",
    "AKIA{b32:16}",
    "password=",
    "\"password\": \"",
    "\"",
    "{an:20}",
    "P@ss-w0rd!#2026",
    "\n",
    "\\n",
    "\\\"",
    "token: ",
    "\x1b[31m",
    "\x1b[0m",
    "{b64:48}",
    "https://u:{an:16}@h/",
    "-----BEGIN PRIVATE KEY-----\n",
    "{b64:64}\n",
    "+",
    "  12\t",
    "é",
    "日本",
    "%3D",
    "{hex:40}",
    "<SECRET:github-token:1>",
    "\\\n",
    "{jwt}",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => (0..PIECES.len(), any::<u64>()).prop_map(|(at, seed)| expand(PIECES[at], seed)),
        1 => any::<String>(),
        1 => "[ -~\n]{0,30}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

fn placeholder(hit: &lake_secrets::Hit) -> String {
    format!("<SECRET:{}:1>", hit.rule)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn redact_then_scan_is_empty(text in text(), cut: bool) {
        let rules = RuleSet::builtin();
        let hits = scan(rules, &text, cut);
        let mut end = 0;
        for hit in &hits {
            prop_assert!(hit.start >= end && hit.start < hit.end);
            prop_assert!(text.is_char_boundary(hit.start) && text.is_char_boundary(hit.end));
            end = hit.end;
        }
        let clean = redact(&text, &hits, placeholder);
        let again = scan(rules, &clean, cut);
        prop_assert!(again.is_empty(), "{:?}\n{:?}\n{:?}", text, clean, again);
        prop_assert_eq!(redact(&clean, &again, placeholder), clean);
    }

    #[test]
    fn no_text_panics(bytes in prop::collection::vec(any::<u8>(), 0..400), cut: bool) {
        let text = String::from_utf8_lossy(&bytes);
        scan(RuleSet::builtin(), &text, cut);
    }

    #[test]
    fn a_redacted_session_is_clean(texts in prop::collection::vec(text(), 1..5)) {
        let rules = RuleSet::builtin();
        let mut session = SessionScan::new(rules);
        for text in &texts {
            session.feed(text, Some(1), false);
        }
        if let Some(known) = session.finish() {
            for text in &texts {
                let hits = known.locate(rules, text, false);
                prop_assert_eq!(&hits, &known.locate(rules, text, false));
                let clean = redact(text, &hits, |hit| known.placeholder(hit));
                let again = known.locate(rules, &clean, false);
                prop_assert!(again.is_empty(), "{:?}\n{:?}\n{:?}", text, clean, again);
            }
        }
    }
}
