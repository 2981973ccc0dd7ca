//! Ways to cheat that fit into one trace file, each with what catches it.

mod graded;
mod identity;
mod scalar;
mod setting;
mod signatures;
mod stripped;
mod trace;

use crate::trust_toml;

pub use setting::{Attack, HonestKeys};
pub use stripped::{Stripped, ledger_of, stripped};

/// All of them. Every file is of its own session; `others` are honest sessions that none of this may cost anything.
pub fn attacks() -> Vec<Attack> {
    let mut all = signatures::attacks();
    all.extend(identity::attacks());
    all.extend(trace::attacks());
    all.extend(graded::attacks());
    all
}

/// The trust file to judge them with; signatures are required.
pub fn attack_trust() -> String {
    let keys = HonestKeys::new();
    let window = |until| (Some("2025-01-01T00:00:00Z"), until);
    let entry = |key: &crate::OracleKey, repo: &str, (from, until): (Option<&str>, Option<&str>)| {
        key.trust_entry().repos(&[repo]).window(from, until)
    };
    let (acme, open) = ("github.com/acme/*", window(None));
    trust_toml(&[
        entry(&keys.trusted, acme, open),
        entry(&keys.other_scope, "github.com/globex/*", open),
        entry(&keys.expired, acme, window(Some("2025-03-01T00:00:00Z"))),
        entry(&keys.superseded, acme, open).superseded("2025-05-01T00:00:00Z"),
        entry(&keys.compromised, acme, open).compromised("2025-06-10T00:00:00Z", "2025-05-20T00:00:00Z"),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use lake_trace::Outcome;
    use lake_verdict::{Trust, VerdictFlag};

    use super::*;
    use crate::{judge_file, judge_file_with};

    #[test]
    fn each_attack_is_caught_by_the_flag_that_it_names() {
        let trust = Trust::parse(&attack_trust()).expect("a trust file");
        let mut names = HashSet::new();
        for attack in attacks() {
            assert!(names.insert(attack.name), "{} twice", attack.name);
            let judged = judge_file(&attack.bytes, Some(&trust), true);
            let flags: Vec<&str> = judged.flags.iter().map(|(flag, ..)| flag.as_str()).collect();
            match attack.expected_flag {
                Some(flag) => {
                    assert!(VerdictFlag::parse(flag).is_some(), "{}: no flag {flag}", attack.name);
                    assert_eq!(flags.first(), Some(&flag), "{}: {flags:?} {:?}", attack.name, judged.records);
                }
                None => assert!(flags.is_empty() && judged.outcome == Outcome::Flipped, "{}: {flags:?}", attack.name),
            }
        }
        assert!(names.len() > 45, "{} attacks", names.len());
    }

    #[test]
    fn what_was_stripped_is_seen_with_the_ledger_alone() {
        let trust = Trust::parse(&attack_trust()).expect("a trust file");
        for one in stripped() {
            let alone = judge_file(&one.bytes, Some(&trust), true);
            assert!(alone.pass.is_none() && !alone.has(VerdictFlag::VerdictMissing), "{}", one.name);
            let ledger = lake_verdict::Ledger::parse(&one.ledger, &trust).expect("a ledger");
            let judged = judge_file_with(&one.bytes, Some(&trust), true, Some(&ledger));
            assert!(judged.has(VerdictFlag::VerdictMissing), "{}: {:?}", one.name, judged.flags);
            assert_eq!((judged.pass.is_some(), judged.negative), (one.flips, None), "{}", one.name);
        }
    }

    #[test]
    fn the_sessions_beside_an_attack_are_honest() {
        let trust = Trust::parse(&attack_trust()).expect("a trust file");
        for attack in attacks() {
            for (id, bytes) in &attack.others {
                let judged = judge_file(bytes, Some(&trust), true);
                assert!(judged.outcome == Outcome::Flipped && judged.flags.is_empty(), "{}: {id}", attack.name);
            }
        }
    }

    #[test]
    fn what_follows_a_pass_is_outside_its_evidence() {
        let trust = Trust::parse(&attack_trust()).expect("a trust file");
        for attack in attacks().iter().filter(|attack| attack.name.starts_with("after_the_pass")) {
            let pass = judge_file(&attack.bytes, Some(&trust), true).pass.expect("it flipped");
            let evidence = &attack.bytes[..usize::try_from(pass.prefix_end).expect("a small file")];
            assert!(!String::from_utf8_lossy(evidence).contains("never graded"), "{}", attack.name);
        }
    }
}
