//! What a cheat brings into a lake: nothing into its sets, and nothing out of them that is another's.

use std::collections::{BTreeMap, HashMap};

use lake_export::{OnSecret, Request};
use lake_testkit::attacks::{attack_trust, attacks, ledger_of, stripped};
use lake_testkit::{Object, SessionBuilder, Task, scenarios};
use lake_trace::Verdict;
use lake_verdict::{Ledger, Trust};
use serde_json::Value;

use crate::lake::{Exported, Lake, key, request, run};

fn task() -> Task {
    Task::new("github.com/acme/billing", "bill-1")
}

fn asked() -> Request {
    let trust = Trust::parse(&attack_trust()).expect("a trust file");
    Request { trust: Some(trust), require_signature: true, on_secret: OnSecret::Exclude, ..request() }
}

fn with_ledger(text: &str) -> Request {
    let request = asked();
    let ledger = request.trust.as_ref().map(|trust| Ledger::parse(text, trust).expect("a ledger"));
    Request { ledger, ..request }
}

/// Rows by session, but for the number of the branch: which of two equal files came first is no matter of content.
fn by_session(done: &Exported) -> BTreeMap<String, Value> {
    let mut rows = BTreeMap::new();
    for mut row in done.sft() {
        let mut metadata: Value = serde_json::from_str(row["metadata"].as_str().expect("text")).expect("JSON");
        metadata.as_object_mut().expect("an object").remove("branch");
        row["metadata"] = metadata;
        let id = row["session_id"].as_str().expect("an id").to_owned();
        assert!(rows.insert(id.clone(), row).is_none(), "{id} has two rows");
    }
    rows
}

#[test]
fn no_attack_is_in_a_set_and_each_is_listed_with_its_flag_and_step() {
    let all = attacks();
    let mut lake = Lake::default();
    let mut honest: Vec<&str> = Vec::new();
    for attack in &all {
        lake.add("laptop", attack.bytes.clone());
        for (id, bytes) in &attack.others {
            honest.push(id);
            lake.add("laptop", bytes.clone());
        }
    }
    let done = run(&lake, asked());
    let rows = by_session(&done);
    let listed: HashMap<(String, String), Value> = done
        .exclusions()
        .into_iter()
        .map(|line| ((line["set"].to_string(), line["session_id"].as_str().expect("an id").to_owned()), line))
        .collect();
    for attack in &all {
        let Some(flag) = attack.expected_flag else {
            let row = rows.get(&attack.session_id).unwrap_or_else(|| panic!("{} lost its row", attack.name));
            assert!(!row.to_string().contains("never graded"), "{}", attack.name);
            continue;
        };
        for set in ["\"sft\"", "\"preference\""] {
            let line = listed.get(&(set.to_owned(), attack.session_id.clone()));
            let line = line.unwrap_or_else(|| panic!("{} is in {set}", attack.name));
            assert_eq!(line["reason"], flag, "{} {line}", attack.name);
            assert!(line["flags"].as_array().is_some_and(|flags| flags.contains(&flag.into())), "{line}");
            assert!(line["step"].as_str().is_some_and(|step| !step.is_empty()), "{line}");
        }
        assert!(!rows.contains_key(&attack.session_id), "{}", attack.name);
    }
    for id in honest {
        assert!(rows.contains_key(id), "{id} lost its row");
    }
}

/// The lines of a file, without one that holds a text.
fn without(bytes: &[u8], text: &str) -> Vec<u8> {
    let kept = String::from_utf8_lossy(bytes);
    kept.split_inclusive('\n').filter(|line| !line.contains(text)).collect::<String>().into_bytes()
}

fn with_more(bytes: &[u8], more: impl FnOnce(&mut SessionBuilder), id: &str) -> Vec<u8> {
    let mut session = SessionBuilder::new(id, &task());
    more(&mut session);
    [bytes, &session.build()].concat()
}

/// What others do with honest sessions: a name, and files of their own source.
fn hostile(flip: &[u8], retried: &[u8], negative: &[u8]) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let renamed = |bytes: &[u8], from: &str, to: &str| text(bytes).replace(from, to).into_bytes();
    let edited = |bytes: &[u8]| text(bytes).replacen("guard the empty list", "guard the empty li5t", 1).into_bytes();
    let cut = |bytes: &[u8], lines: usize| -> Vec<u8> {
        text(bytes).split_inclusive('\n').take(lines).collect::<String>().into_bytes()
    };
    let unsigned_fail = {
        // Claims that the honest diff failed, and the honest run as its own.
        let mut session = SessionBuilder::new("liar", &task());
        session.start().prompt().baseline(Verdict::Fail);
        let mut record = lake_testkit::record_of(&SessionBuilder::new("flip", &task()).statement(
            lake_trace::Mode::Grade,
            Verdict::Fail,
            &scenarios::diff_of("flip", 1),
        ));
        record.signature = None;
        session.record(&record).end("agent", "no_flip");
        session.build()
    };
    let retraction = {
        let mut session = SessionBuilder::new("enemy", &task());
        for id in ["flip", "retried", "negative"] {
            session.correct(id, "retract", "I do not like it");
        }
        session.build()
    };
    vec![
        ("copies", vec![flip.to_vec(), retried.to_vec(), negative.to_vec()]),
        ("copies twice", vec![flip.to_vec(), flip.to_vec(), retried.to_vec(), retried.to_vec()]),
        ("edited copies", vec![edited(flip), edited(retried), edited(negative)]),
        ("starts of them", vec![cut(flip, 5), cut(retried, 9), cut(retried, 14)]),
        ("copies without the PASS", vec![without(flip, "\"PASS\""), without(retried, "\"PASS\"")]),
        ("copies without verdicts", vec![without(flip, "oracle_verdict"), without(retried, "oracle_verdict")]),
        (
            "copies that go on",
            vec![with_more(
                flip,
                |s| {
                    s.message("assistant", "never graded");
                },
                "flip",
            )],
        ),
        (
            "copies that take themselves back",
            vec![
                with_more(
                    flip,
                    |s| {
                        s.correct("flip", "retract", "no");
                    },
                    "flip",
                ),
                with_more(
                    retried,
                    |s| {
                        s.correct("retried", "retract", "no");
                    },
                    "retried",
                ),
            ],
        ),
        ("retractions by another", vec![retraction]),
        (
            "thieves",
            vec![
                renamed(flip, "\"session_id\":\"flip\"", "\"session_id\":\"thief-1\""),
                renamed(retried, "\"session_id\":\"retried\"", "\"session_id\":\"thief-2\""),
            ],
        ),
        ("an unsigned FAIL", vec![unsigned_fail]),
        (
            "rejects and nonsense",
            vec![
                with_more(
                    b"{broken\n",
                    |s| {
                        s.start();
                    },
                    "flip",
                ),
                {
                    let mut session = SessionBuilder::new("retried", &task());
                    session.event("session_start", Object::new().text("task_id", "easier")).raw("\n\n[]\n");
                    session.build()
                },
            ],
        ),
    ]
}

#[test]
fn nothing_that_others_do_changes_what_an_honest_session_yields() {
    let key = key();
    let flip = scenarios::flipped_session("flip", &task(), Some(&key));
    let retried = scenarios::retried_session("retried", &task(), Some(&key), 2);
    let negative = scenarios::no_flip_session("negative", &task(), Some(&key), 2);
    let ledger = ledger_of(&[&flip, &retried, &negative]);
    for ledger in [None, Some(&ledger)] {
        let request = || ledger.map_or_else(asked, |text| with_ledger(text));
        let add = |lake: &mut Lake| {
            for bytes in [&flip, &retried, &negative] {
                lake.add("laptop", bytes.clone());
            }
        };
        let mut alone = Lake::default();
        add(&mut alone);
        let alone = run(&alone, request());
        let honest = by_session(&alone);
        assert_eq!(honest.keys().collect::<Vec<_>>(), ["flip", "retried"]);
        assert_eq!(alone.pairs().len(), 1);
        for (what, files) in hostile(&flip, &retried, &negative) {
            for first in [false, true] {
                let mut lake = Lake::default();
                if !first {
                    add(&mut lake);
                }
                files.iter().for_each(|file| lake.add("enemy", file.clone()));
                if first {
                    add(&mut lake);
                }
                let done = run(&lake, request());
                let now = by_session(&done);
                for (id, row) in &honest {
                    assert_eq!(now.get(id), Some(row), "{what}, first {first}, ledger {}: {id}", ledger.is_some());
                }
                assert_eq!(now.len(), honest.len(), "{what}, first {first}: {:?}", now.keys());
                assert_eq!(done.pairs().len(), 1, "{what}, first {first}: {:?}", done.excluded("preference"));
                assert_eq!(done.pairs()[0]["rejected_session_id"], "negative");
            }
        }
    }
}

#[test]
fn what_was_stripped_is_in_no_set_but_where_the_ledger_brings_it_back() {
    for one in stripped() {
        let lake = Lake::of([one.bytes.clone()]);
        let alone = run(&lake, asked());
        assert!(alone.sft().is_empty(), "{}", one.name);
        let done = run(&lake, with_ledger(&one.ledger));
        let rows = by_session(&done);
        assert_eq!(rows.contains_key(&one.session_id), one.flips, "{}: {:?}", one.name, done.exclusions());
        let listed = done.exclusions().into_iter().find(|line| line["set"] == "preference").expect("listed");
        assert!(listed["flags"].to_string().contains("verdict_missing"), "{}: {listed}", one.name);
        if one.name == "pass_and_work_stripped" {
            assert_eq!((&listed["reason"], &listed["step"]), (&"verdict_missing".into(), &"ledger".into()), "{listed}");
        }
    }
}

#[test]
fn what_was_claimed_before_a_fail_that_only_the_ledger_has_is_not_trained() {
    let one = stripped().into_iter().find(|one| one.name == "fail_not_written").expect("it is one of them");
    let done = run(&Lake::of([one.bytes]), with_ledger(&one.ledger));
    let row = &done.sft()[0];
    let claims: Vec<_> = row["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|m| m["content"].as_str().is_some_and(|text| text.starts_with("Done")))
        .map(|m| m["train"].clone())
        .collect();
    assert_eq!(claims, [Value::Bool(false)]);
}

#[test]
fn negatives_are_proven_where_the_ledger_lists_them() {
    let key = key();
    let flip = scenarios::flipped_session("flip", &task(), Some(&key));
    let negative = scenarios::no_flip_session("negative", &task(), Some(&key), 2);
    let lake = Lake::of([flip.clone(), negative.clone()]);
    let said = |request: Request| {
        let done = run(&lake, request);
        assert_eq!(done.pairs().len(), 1);
        let manifest: Value = serde_json::from_str(&done.text("manifest.json")).expect("JSON");
        let card = done.text("README.md");
        assert_eq!(card.contains("Negatives are proven"), manifest["negatives"] == "proven");
        (
            manifest["negatives"].as_str().expect("a word").to_owned(),
            manifest["signatures"]["ledger_digest"].is_string(),
        )
    };
    assert_eq!(said(asked()), ("unproven".to_owned(), false));
    assert_eq!(said(with_ledger(&ledger_of(&[&flip, &negative]))), ("proven".to_owned(), true));
    // Another oracle's ledger says nothing of this one's sessions.
    assert_eq!(said(with_ledger(&ledger_of(&[&flip]))), ("unproven".to_owned(), true));
}

#[test]
fn a_compromised_keys_verdict_is_held_against_the_time_of_the_store() {
    let key = key();
    let mut lake = Lake::of([scenarios::flipped_session("flip", &task(), Some(&key))]);
    // The batch says that it is from before the theft; the store took it later.
    let stolen = key.trust_entry().compromised("2027-01-01T00:00:00Z", "2026-07-01T00:00:00Z");
    let trust = Trust::parse(&lake_testkit::trust_toml(&[stolen])).expect("a trust file");
    let request = || Request { trust: Some(trust.clone()), require_signature: true, ..request() };
    assert_eq!(run(&lake, request()).sft().len(), 1);
    lake.taken_at = Some(1_790_000_000_000);
    let done = run(&lake, request());
    assert_eq!(done.excluded("sft"), [("flip".to_owned(), "key_revoked".to_owned())]);
}
