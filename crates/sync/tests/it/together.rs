//! Many at once, and from many places: one set of rows.

use std::sync::Arc;

use lake_store::{catalog, derive, log};
use lake_testkit::DataDir;
use lake_testkit::scenarios::untracked_session;

use crate::support::{memory, options, over, quiet, rows, run, same};

fn dir_of(ids: &[&str]) -> DataDir {
    let dir = DataDir::temp();
    for id in ids {
        dir.session(id, &untracked_session(id, "github.com/acme/billing"));
    }
    dir
}

#[test]
fn two_syncs_at_once_lose_and_double_nothing() {
    let (alone, _) = memory();
    let shared = dir_of(&["a", "b", "c", "d", "e"]);
    let other = dir_of(&["c", "d", "x", "y"]);
    for dir in [&shared, &other] {
        run(&alone, &options(&[dir.path()]));
    }
    for round in 0..6 {
        let (lake, store) = memory();
        std::thread::scope(|scope| {
            for dir in [&shared, &shared, &other] {
                let store = Arc::clone(&store);
                scope.spawn(move || {
                    let lake = over(store);
                    let mut mine = options(&[dir.path()]);
                    mine.data_dirs[0].source = "one".into();
                    run(&lake, &mine);
                });
            }
        });
        derive(&lake, &quiet(), &|_| {}).unwrap();
        let strip = |lake| {
            let mut all = rows(lake);
            for row in all.values_mut().flatten() {
                // Which of the two was first is nobody's business.
                if let Some(at) = row.find(" | source=") {
                    let end = row[at + 3..].find(" | ").map_or(row.len(), |n| at + 3 + n);
                    row.replace_range(at..end, "");
                }
            }
            all
        };
        same(&format!("round {round}"), &strip(&alone), &strip(&lake));
    }
}

#[test]
fn a_copy_from_another_place_is_not_one_row_more() {
    let (lake, _) = memory();
    run(&lake, &options(&[dir_of(&["a", "b"]).path()]));
    let before = rows(&lake);
    let again = run(&lake, &options(&[dir_of(&["a", "b"]).path()]));
    assert_eq!((again.unchanged, again.new), (2, 0));
    same("a copy", &before, &rows(&lake));
}

#[test]
fn prefixes_and_extensions_from_two_hosts_are_one_branch() {
    let whole = untracked_session("s", "github.com/acme/billing");
    let ends: Vec<usize> = whole.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i + 1).collect();
    let upto = |n: usize| &whole[..ends[n]];
    let last = ends.len() - 1;
    // Each order of arrival of four versions of one file, seen by hosts that know nothing of each other's files.
    for order in [[0, 1, 2, last], [last, 0, 1, 2], [1, 0, last, 2], [2, last, 1, 0], [1, 2, 0, last]] {
        let (lake, _) = memory();
        for n in order {
            let dir = DataDir::temp();
            dir.session("s", upto(n));
            run(&lake, &options(&[dir.path()]));
        }
        let branches = catalog(&lake, None).unwrap().branches;
        assert_eq!(branches.len(), 1, "{order:?}");
        assert_eq!(branches[0].end(), whole.len() as u64, "{order:?}");
        assert_eq!(rows(&lake)["events"].len(), ends.len(), "{order:?}");
    }
}

#[test]
fn two_hosts_that_extend_the_same_head_differently_make_two_branches() {
    let base = untracked_session("s", "github.com/acme/billing");
    let mut one = base.clone();
    one.extend(b"{\"type\":\"note\",\"session_id\":\"s\",\"ts\":\"2026-01-01T00:00:00Z\",\"x\":1}\n");
    let mut two = base.clone();
    two.extend(b"{\"type\":\"note\",\"session_id\":\"s\",\"ts\":\"2026-01-01T00:00:00Z\",\"x\":2}\n");
    let mut three = two.clone();
    three.extend(b"{\"type\":\"note\",\"session_id\":\"s\",\"ts\":\"2026-01-01T00:00:00Z\",\"x\":3}\n");
    let (lake, _) = memory();
    for bytes in [&base, &one, &two, &three] {
        let dir = DataDir::temp();
        dir.session("s", bytes);
        run(&lake, &options(&[dir.path()]));
    }
    let branches = catalog(&lake, None).unwrap().branches;
    assert_eq!(
        branches.iter().map(lake_store::Branch::end).collect::<Vec<_>>(),
        [one.len() as u64, three.len() as u64]
    );
    assert!(branches[1].flags.contains(&"rewritten".to_owned()));
    for (branch, bytes) in branches.iter().zip([&one, &three]) {
        assert_eq!(&lake_store::read_branch(&lake, branch).unwrap()[..], bytes);
    }
}

#[test]
fn a_laptop_only_adds_to_raw_and_log_and_the_central_job_derives() {
    let (lake, store) = memory();
    let dir = dir_of(&["a", "b"]);
    let mut laptop = options(&[dir.path()]);
    laptop.derive = false;
    let summary = run(&lake, &laptop);
    assert_eq!((summary.new, summary.tables_at, summary.k), (2, None, 1));
    assert!(rows(&lake)["segments"].is_empty());
    let derived = derive(&over(store), &quiet(), &|_| {}).unwrap();
    assert_eq!((derived.from, derived.to, derived.segments), (0, 1, 2));
    let (direct, _) = memory();
    run(&direct, &options(&[dir.path()]));
    same("derived later", &rows(&direct), &rows(&lake));
}

#[test]
fn one_more_line_is_one_more_segment_of_the_same_session() {
    let (lake, _) = memory();
    let dir = dir_of(&["a", "b"]);
    run(&lake, &options(&[dir.path()]));
    dir.append("traces/a.jsonl", b"{\"type\":\"note\",\"session_id\":\"a\",\"ts\":\"2026-01-01T00:00:00Z\"}\n");
    let summary = run(&lake, &options(&[dir.path()]));
    assert_eq!((summary.grown, summary.segments, summary.new), (1, 1, 0));
    assert_eq!(rows(&lake)["segments"].len(), 3);
    assert_eq!(catalog(&lake, None).unwrap().branches.len(), 2);
    assert_eq!(catalog(&lake, Some(1)).unwrap().branches[0].segments.len(), 1, "as of the first version");
}

#[test]
fn the_log_is_a_chain_that_a_reader_checks() {
    let (lake, store) = memory();
    let dir = dir_of(&["a"]);
    run(&lake, &options(&[dir.path()]));
    dir.session("b", &untracked_session("b", "github.com/acme/billing"));
    run(&lake, &options(&[dir.path()]));
    assert_eq!(log::tip(&lake).unwrap().k, 2);
    let (first, tip) = log::read(&lake, 1).unwrap().unwrap();
    let (second, _) = log::read(&lake, 2).unwrap().unwrap();
    assert_eq!((first.prev, second.prev), (None, Some(tip.sha256)));
    // A record that was changed breaks the chain, and the reader says where.
    let mut forged = log::read(&lake, 1).unwrap().unwrap().0;
    forged.host = "elsewhere".into();
    let path = object_store::path::Path::from("log/00000000000000000001.json");
    let put = object_store::ObjectStoreExt::put(store.as_ref(), &path, serde_json::to_vec(&forged).unwrap().into());
    lake.runtime().block_on(put).unwrap();
    let error = lake_store::rebuild(&lake, &quiet(), &|_| {}).unwrap_err().to_string();
    assert!(error.contains("does not follow"), "{error}");
}
