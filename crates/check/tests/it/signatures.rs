//! Signatures: outcomes, and the flags beside them.

use lake_testkit::attacks::{attack_trust, attacks, ledger_of, stripped};
use lake_testkit::scenarios::{diff_of, flipped_session, graded, work};
use lake_testkit::{OracleKey, Task, demo_sessions, demo_trust, trust_toml};
use lake_trace::Verdict;

use crate::lake::{TestLake, options, told};

fn task() -> Task {
    Task::new("github.com/acme/billing", "t")
}

#[test]
fn the_demo_sessions_have_the_outcomes_that_their_names_say() {
    let sessions: Vec<Vec<u8>> = demo_sessions().into_iter().map(|(_, bytes)| bytes).collect();
    let lake = TestLake::of(&sessions);
    let options = options(Some(&demo_trust()));
    let report = lake.check(&options);
    let one = |id: &str, outcome: &str, flags: &[&str]| {
        (id.to_owned(), outcome.to_owned(), flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(
        told(&lake.signatures(&options)),
        [
            one("demo-01-flipped", "flipped", &[]),
            one("demo-02-retried", "flipped", &[]),
            one("demo-03-flipped", "flipped", &[]),
            one("demo-04-flipped", "flipped", &[]),
            one("demo-05-no-flip", "no_flip", &[]),
            one("demo-06-no-flip", "no_flip", &[]),
            one("demo-07-no-flip", "no_flip", &[]),
            // No key covers its repository: nobody asks for a signature, but that it has none is told.
            one("demo-08-unsigned", "flipped", &["unsigned"]),
            one("demo-09-untracked", "untracked", &[]),
            one("demo-10-secret", "flipped", &[]),
            one("demo-11-malformed", "flipped", &[]),
        ]
    );
    assert_eq!(report.flags.into_iter().collect::<Vec<_>>(), [("unsigned".to_owned(), 1)]);
}

#[test]
fn a_key_that_nobody_trusts_and_a_wrong_signature_are_told_with_step_and_line() {
    let [ours, other] = [OracleKey::from_seed(1), OracleKey::from_seed(2)];
    let trusted = flipped_session("s-1", &task(), Some(&ours));
    let foreign = flipped_session("s-2", &task(), Some(&other));
    let lake = TestLake::of([&trusted, &foreign]);
    let options = options(Some(&trust_toml(&[ours.trust_entry()])));
    lake.check(&options);
    let rows = lake.signatures(&options);
    assert_eq!(rows[0].result, "flipped");
    assert_eq!(rows[0].findings, Vec::new());
    assert_eq!(rows[1].result, "unproven");
    let finding = &rows[1].findings[0];
    assert_eq!((finding.rule.as_str(), finding.field.as_str()), ("untrusted_key", "signature"));
    assert_eq!(finding.detail, "by none of the trusted keys");
    assert!(finding.line > 0 && !finding.event_id.is_empty(), "{finding:?}");
}

#[test]
fn an_altered_signature_is_a_bad_one() {
    let key = OracleKey::from_seed(1);
    let bytes = flipped_session("s-1", &task(), Some(&key));
    let text = String::from_utf8(bytes).expect("UTF-8");
    let at = text.find("\"sig\":\"").expect("a signature") + 7;
    let other = if text[at..].starts_with('A') { "B" } else { "A" };
    let altered = format!("{}{other}{}", &text[..at], &text[at + 1..]).into_bytes();
    let lake = TestLake::of([&altered]);
    let options = options(Some(&trust_toml(&[key.trust_entry()])));
    lake.check(&options);
    let told = told(&lake.signatures(&options));
    assert_eq!(told[0].1, "unproven");
    assert!(told[0].2.contains(&"bad_signature".to_owned()), "{told:?}");
}

#[test]
fn a_pass_on_a_diff_that_failed_in_another_session_is_flaky() {
    let key = OracleKey::from_seed(1);
    let mut failed = graded("s-1", &task(), Some(&key), &[]);
    work(&mut failed, 1);
    failed.grade(Verdict::Fail, &diff_of("shared", 1)).end("agent", "no_flip");
    let mut passed = graded("s-2", &task(), Some(&key), &[]);
    work(&mut passed, 1);
    passed.grade(Verdict::Pass, &diff_of("shared", 1)).end("agent", "flipped");
    let lake = TestLake::of([&failed.build(), &passed.build()]);
    let options = options(Some(&trust_toml(&[key.trust_entry()])));
    lake.check(&options);
    let told = told(&lake.signatures(&options));
    assert_eq!((told[0].1.as_str(), told[0].2.len()), ("no_flip", 0));
    assert_eq!((told[1].1.as_str(), told[1].2.as_slice()), ("flipped", &["flaky".to_owned()][..]));
}

#[test]
fn of_two_branches_that_use_a_run_the_later_one_is_told_also_when_it_comes_later() {
    let key = OracleKey::from_seed(1);
    let bytes = flipped_session("s-1", &task(), Some(&key));
    // Lines after the PASS are not graded: the copy still verifies.
    let end = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').expect("lines") + 1;
    let copy =
        [&bytes[..end], b"{\"type\":\"note\",\"session_id\":\"s-1\",\"ts\":\"2025-06-02T09:00:00Z\"}\n"].concat();
    let mut lake = TestLake::of([&bytes]);
    let options = options(Some(&trust_toml(&[key.trust_entry()])));
    lake.check(&options);
    lake.batch(&[(&copy, 0)]);
    let report = lake.check(&options);
    assert_eq!((report.looked_at_signatures, report.looked_at_secrets), (2, 1));
    let rows = lake.signatures(&options);
    assert_eq!(rows.len(), 2, "the first branch's row says the same still");
    assert_eq!((rows[0].branch, rows[0].findings.len()), (0, 0));
    assert_eq!((rows[1].branch, rows[1].findings[0].rule.as_str()), (1, "replayed_run"));
}

#[test]
fn each_attack_has_its_flag_with_step_and_detail() {
    let all = attacks();
    let files = all.iter().flat_map(|attack| std::iter::once(&attack.bytes).chain(attack.others.iter().map(|o| &o.1)));
    let lake = TestLake::of(files);
    let options = options(Some(&attack_trust()));
    lake.check(&options);
    let rows = lake.signatures(&options);
    for attack in &all {
        let row = rows.iter().find(|row| row.session_id == attack.session_id).expect("a row");
        match attack.expected_flag {
            None => assert!(row.result == "flipped" && row.findings.is_empty(), "{}: {row:?}", attack.name),
            Some(flag) => {
                let finding = row.findings.iter().find(|finding| finding.rule == flag);
                let finding = finding.unwrap_or_else(|| panic!("{}: {row:?}", attack.name));
                assert!(!finding.field.is_empty(), "{}: {finding:?}", attack.name);
            }
        }
        for (id, _) in &attack.others {
            let row = rows.iter().find(|row| row.session_id == *id).expect("a row");
            assert!(row.result == "flipped" && row.findings.is_empty(), "{id} beside {}: {row:?}", attack.name);
        }
    }
}

#[test]
fn a_ledger_is_judged_by_and_a_session_is_looked_at_again_when_its_own_part_grows() {
    let honest = flipped_session("s-whole", &task(), Some(&OracleKey::from_seed(1)));
    for one in stripped() {
        let lake = TestLake::of([&one.bytes, &honest]);
        let trust = attack_trust();
        let mut options = options(Some(&trust));
        assert_eq!(lake.check(&options).looked_at_signatures, 2);
        assert_eq!(lake.check(&options).already, 2);
        let trust = options.trust.clone().expect("a trust file");
        let ledger = |text: &str| Some(lake_verdict::Ledger::parse(text, &trust).expect("a ledger"));
        options.ledger = ledger(&one.ledger);
        assert_eq!(lake.check(&options).looked_at_signatures, 1, "{}", one.name);
        assert_eq!(lake.check(&options).looked_at_signatures, 0, "{}", one.name);
        let digest = lake_check::signatures_digest(&trust, options.ledger.as_ref(), &one.session_id);
        let row = lake.rows("signatures", &digest).pop().expect("a row");
        let missing = row.findings.iter().find(|finding| finding.rule == "verdict_missing").expect(one.name);
        assert_eq!(missing.field, "ledger");
        assert!(missing.detail.contains("stands in the ledger only"), "{}: {missing:?}", one.name);
        assert_eq!(row.result == "flipped", one.flips, "{}", one.name);
        // Verdicts of another session are added: of this one nothing is new.
        let grown: String = [ledger_of(&[&honest]), one.ledger]
            .concat()
            .lines()
            .enumerate()
            .map(|(i, line)| format!("{{\"seq\":{i},{}\n", &line[line.find("\"envelope\"").expect("an envelope")..]))
            .collect();
        options.ledger = ledger(&grown);
        assert_eq!(lake.check(&options).looked_at_signatures, 1, "{}: the other session alone", one.name);
    }
}
