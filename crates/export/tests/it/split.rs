//! Tasks for training and tasks for validation.

use std::collections::BTreeSet;

use lake_export::{Dialect, Request, Split};
use lake_testkit::{Task, scenarios};
use proptest::prelude::*;
use serde_json::Value;

use crate::lake::{Exported, Lake, key, run, signed_request};

fn lake(tasks: usize) -> Lake {
    let key = key();
    Lake::of((0..tasks).flat_map(|n| {
        let task = Task::new("github.com/acme/billing", &format!("bill-{n}"));
        [
            scenarios::flipped_session(&format!("a{n}"), &task, Some(&key)),
            scenarios::flipped_session(&format!("b{n}"), &task, Some(&key)),
            scenarios::no_flip_session(&format!("c{n}"), &task, Some(&key), 1),
        ]
    }))
}

fn split(text: &str) -> Option<Split> {
    Some(Split::parse(text).expect("shares"))
}

fn exported(tasks: usize, shares: &str) -> Exported {
    run(&lake(tasks), Request { split: split(shares), ..signed_request() })
}

fn tasks(done: &Exported, name: &str) -> BTreeSet<String> {
    let path = done.out().join(name);
    let text = if path.exists() { done.text(name) } else { String::new() };
    let task = |line: &str| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        row["task_id"].as_str().expect("a task").to_owned()
    };
    text.lines().map(task).collect()
}

const FILES: [(&str, &str); 2] = [
    ("sft/train-00000-of-00001.jsonl", "sft/validation-00000-of-00001.jsonl"),
    ("preference/train-00000-of-00001.jsonl", "preference/validation-00000-of-00001.jsonl"),
];

#[test]
fn no_task_is_on_both_sides_in_any_set_and_none_moves_as_the_lake_grows() {
    let (small, large) = (exported(12, "0.5/0.5"), exported(30, "0.5/0.5"));
    for (train, validation) in FILES {
        let sides = [&small, &large].map(|done| [tasks(done, train), tasks(done, validation)]);
        for [train, validation] in &sides {
            assert!(train.is_disjoint(validation) && !train.is_empty() && !validation.is_empty());
        }
        let [small, large] = sides;
        assert_eq!(large.iter().map(BTreeSet::len).sum::<usize>(), 30);
        assert!(small[0].is_subset(&large[0]) && small[1].is_subset(&large[1]));
    }
    // The sets agree on what is for validation.
    assert_eq!(tasks(&large, FILES[0].1), tasks(&large, FILES[1].1));
}

#[test]
fn rows_for_validation_are_counted_and_named_in_the_card_and_the_configuration() {
    let done = exported(30, "0.5/0.5");
    for set in ["sft", "preference"] {
        let counts = &done.report.manifest.sets[set];
        let name = format!("{set}/validation-00000-of-00001.jsonl");
        assert_eq!(counts.validation_rows, Some(done.text(&name).lines().count() as u64));
        let files = done.report.manifest.files.iter().filter(|file| file.path.starts_with(set));
        assert_eq!(files.map(|file| file.rows).sum::<u64>(), counts.rows);
        assert!(
            done.text("README.md").contains(&format!("  - split: validation\n    path: {set}/validation-*.jsonl\n"))
        );
    }
    assert!(done.text("trl-sft.yaml").ends_with("dataset_test_split: validation\neval_strategy: epoch\n"));
    for dialect in [Dialect::Axolotl, Dialect::Openai, Dialect::Llamafactory, Dialect::Swift, Dialect::Tinker] {
        let done = run(&lake(30), Request { dialect, split: split("0.5/0.5"), ..signed_request() });
        let beside = done.files().into_iter().filter(|(name, _)| {
            name.starts_with(dialect.as_str()) || name == "dataset_info.json" || name.ends_with(".py")
        });
        let beside: Vec<u8> = beside.flat_map(|(_, bytes)| bytes).collect();
        let beside = String::from_utf8(beside).expect("UTF-8");
        assert!(beside.contains("sft/validation-00000-of-00001.jsonl"), "{beside}");
    }
    let job = run(&lake(30), Request { dialect: Dialect::Openai, split: split("0.5/0.5"), ..signed_request() });
    let job: Value = serde_json::from_str(&job.text("openai-sft.json")).expect("JSON");
    assert!(job["validation_file"].is_string(), "{job}");
}

#[test]
fn without_a_split_nothing_is_for_validation() {
    let done = run(&lake(3), signed_request());
    assert_eq!(done.report.manifest.sets["sft"].validation_rows, None);
    assert!(done.files().iter().all(|(name, _)| !name.contains("validation")));
}

#[test]
fn shares_that_are_no_shares_are_refused() {
    for text in ["", "1", "1/0", "0/1", "0.9/0.2", "0.9/-0.1", "a/b", "0.5/0.5/0", "NaN/NaN", "inf/-inf"] {
        assert_eq!(Split::parse(text), None, "{text}");
    }
    assert_eq!(Split::parse("0.95/0.05").map(Split::shares), Some((0.95, 0.05)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// What is for validation under a small share is for validation under a larger one.
    #[test]
    fn a_larger_share_keeps_what_a_smaller_one_has(percent in 5u32..45) {
        let shares = |percent: u32| format!("{}/{}", 1.0 - f64::from(percent) / 100.0, f64::from(percent) / 100.0);
        let (small, large) = (exported(8, &shares(percent)), exported(8, &shares(percent * 2)));
        prop_assert!(tasks(&small, FILES[0].1).is_subset(&tasks(&large, FILES[0].1)));
    }
}
