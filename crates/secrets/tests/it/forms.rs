//! Every rule's examples, written in every way that a trace writes them.

use crate::made_up::disguises::{DISGUISES, pieces};
use crate::made_up::examples::expand;
use lake_secrets::{RuleSet, SessionScan, scan};

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
    assert!(examples.len() > 4000, "{}", examples.len());
    let mut poor = Vec::new();
    for (name, form) in DISGUISES {
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
    for count in [2, 3, 4, 5] {
        let lost: Vec<_> = examples
            .iter()
            .filter(|(_, text)| {
                let mut session = SessionScan::new(RuleSet::builtin());
                for part in pieces(text, count) {
                    session.feed(&part, Some(1), false);
                }
                session.finish().is_none()
            })
            .collect();
        assert!(lost.len() * 100 <= examples.len(), "{count} pieces: {} of {}: {lost:?}", lost.len(), examples.len());
    }
}
