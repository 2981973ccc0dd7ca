//! At most so many sessions of a task and of a repository.

use std::collections::{BTreeMap, BTreeSet};

use lake_export::Request;
use lake_testkit::{Task, scenarios};

use crate::lake::{Exported, Lake, key, run, signed_request};

/// Of each of `repos` repositories `tasks` tasks, of each task `sessions` sessions.
fn lake(repos: usize, tasks: usize, sessions: usize) -> Lake {
    let key = key();
    let mut all = Vec::new();
    for repo in 0..repos {
        for task in 0..tasks {
            for session in 0..sessions {
                let work = Task::new(&format!("github.com/acme/r{repo}"), &format!("t{task}"));
                all.push(scenarios::flipped_session(&format!("s{repo}-{task}-{session}"), &work, Some(&key)));
            }
        }
    }
    Lake::of(all)
}

fn capped(lake: &Lake, task: Option<usize>, repo: Option<usize>) -> Exported {
    run(lake, Request { max_per_task: task, max_per_repo: repo, preference: false, ..signed_request() })
}

fn ids(done: &Exported) -> BTreeSet<String> {
    done.sft().iter().map(|row| row["session_id"].as_str().expect("an id").to_owned()).collect()
}

fn counts(done: &Exported, keys: &[&str]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for row in done.sft() {
        let key: Vec<&str> = keys.iter().map(|key| row[*key].as_str().expect("a text")).collect();
        *counts.entry(key.join(" ")).or_default() += 1;
    }
    counts
}

#[test]
fn each_task_and_each_repository_has_at_most_its_share_and_the_others_are_listed() {
    let lake = lake(2, 3, 4);
    assert_eq!(capped(&lake, None, None).sft().len(), 24);
    let done = capped(&lake, Some(2), None);
    assert_eq!(counts(&done, &["repo", "task_id"]).into_values().collect::<Vec<_>>(), [2; 6]);
    let done = capped(&lake, None, Some(5));
    assert_eq!(counts(&done, &["repo"]).into_values().collect::<Vec<_>>(), [5; 2]);
    let done = capped(&lake, Some(1), Some(2));
    assert_eq!(counts(&done, &["repo"]).into_values().collect::<Vec<_>>(), [2; 2]);
    assert!(counts(&done, &["repo", "task_id"]).into_values().all(|n| n == 1));
    let excluded = done.excluded("sft");
    assert!(excluded.len() == 20 && excluded.iter().all(|(_, reason)| reason == "filtered"), "{excluded:?}");
    let listed: BTreeSet<String> = excluded.into_iter().map(|(id, _)| id).collect();
    assert!(listed.is_disjoint(&ids(&done)));
}

#[test]
fn what_comes_into_the_lake_changes_little_of_what_is_kept() {
    let (small, large) = (capped(&lake(1, 1, 6), Some(3), None), capped(&lake(1, 1, 7), Some(3), None));
    assert_eq!(ids(&small).len(), 3);
    assert!(ids(&small).intersection(&ids(&large)).count() >= 2);
}
