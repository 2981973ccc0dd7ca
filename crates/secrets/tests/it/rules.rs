//! Every example of every rule.

use crate::made_up::examples::expand;
use lake_secrets::{RuleSet, redact, scan};

fn seed(id: &str, number: usize) -> u64 {
    id.bytes().fold(number as u64, |seed, byte| seed.wrapping_mul(1_000_003).wrapping_add(u64::from(byte)))
}

#[test]
fn examples_are_found_by_their_rule() {
    let rules = RuleSet::builtin();
    let mut missed = Vec::new();
    for rule in rules.rules() {
        for (number, example) in rule.examples.iter().enumerate() {
            for more in 0..4 {
                let text = expand(example, seed(rule.id, number) + more);
                let hits = scan(rules, &text, false);
                if !hits.iter().any(|hit| hit.rule == rule.id) {
                    let other: Vec<_> = hits.iter().map(|hit| hit.rule).collect();
                    missed.push(format!("{}: {text} {other:?}", rule.id));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{} missed\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn counter_examples_are_left_alone() {
    let rules = RuleSet::builtin();
    let mut wrong = Vec::new();
    for rule in rules.rules() {
        for (number, example) in rule.counter_examples.iter().enumerate() {
            let text = expand(example, seed(rule.id, number));
            for hit in scan(rules, &text, false) {
                wrong.push(format!("{}: {} in {text}", rule.id, hit.rule));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_rule_has_examples_and_a_source() {
    let rules = RuleSet::builtin();
    assert!(rules.rules().len() >= 250, "{}", rules.rules().len());
    rules.verify().unwrap();
    for rule in rules.rules() {
        assert!(rule.source.starts_with("https://"), "{}", rule.id);
        assert!(!rule.description.is_empty(), "{}", rule.id);
        // These two stand for forms whose examples the generator cannot make.
        let exempt = ["jwe", "twitter-token"].contains(&rule.id);
        assert!(exempt || !rule.examples.is_empty(), "{}", rule.id);
    }
    assert!(rules.digest().starts_with("sha256:"));
}

#[test]
fn redacted_examples_have_no_secret() {
    let rules = RuleSet::builtin();
    for rule in rules.rules() {
        for (number, example) in rule.examples.iter().enumerate() {
            let text = expand(example, seed(rule.id, number));
            let hits = scan(rules, &text, false);
            let clean = redact(&text, &hits, |hit| format!("<SECRET:{}:1>", hit.rule));
            assert_eq!(scan(rules, &clean, false), [], "{text}\n{clean}");
        }
    }
}
