//! What real trace files do, one fixture each.

use lake_store::{Branch, Lake, catalog, rebuild};
use lake_testkit::DataDir;
use lake_testkit::oddities::{Fixture, huge_line, oddities};

use crate::support::{memory, options, quiet, rows, run, same};

fn branches(lake: &Lake) -> Vec<Branch> {
    catalog(lake, None).unwrap().branches
}

/// Syncs a fixture, then what lies there later, and returns the lake.
fn taken(fixture: &Fixture) -> Lake {
    let (lake, _) = memory();
    let dir = DataDir::temp();
    dir.write_all(&fixture.files);
    let first = run(&lake, &options(&[dir.path()]));
    assert_eq!(first.rejected, fixture.rejects as u64, "{}: rejected", fixture.name);
    assert_eq!(first.problems, [], "{}: problems", fixture.name);
    assert_eq!(rows(&lake)["rejects"].len(), fixture.rejects, "{}: rows of rejects", fixture.name);
    if !fixture.later.is_empty() {
        for (path, _) in &fixture.files {
            dir.remove(path);
        }
        dir.write_all(&fixture.later);
        run(&lake, &options(&[dir.path()]));
    }
    lake
}

#[test]
fn each_oddity_ends_in_the_branches_that_it_should() {
    for fixture in oddities() {
        let lake = taken(&fixture);
        let found = branches(&lake);
        assert_eq!(found.len(), fixture.branches, "{}: branches", fixture.name);
        for branch in found.iter().filter(|b| b.branch > 0) {
            for flag in &fixture.branch_flags {
                assert!(branch.flags.iter().any(|f| f == flag), "{}: {flag} in {:?}", fixture.name, branch.flags);
            }
        }
    }
}

#[test]
fn syncing_an_oddity_again_from_the_same_place_or_another_adds_nothing() {
    for fixture in oddities() {
        let lake = taken(&fixture);
        let before = rows(&lake);
        let last = if fixture.later.is_empty() { &fixture.files } else { &fixture.later };
        let copy = DataDir::temp();
        copy.write_all(last);
        let again = run(&lake, &options(&[copy.path()]));
        assert_eq!((again.new, again.grown), (0, 0), "{}", fixture.name);
        assert_eq!(again.batches, [] as [u64; 0], "{}", fixture.name);
        same(fixture.name, &before, &rows(&lake));
    }
}

#[test]
fn a_rebuild_gives_the_same_rows() {
    for fixture in oddities() {
        let lake = taken(&fixture);
        let before = rows(&lake);
        let (generation, _) = rebuild(&lake, &quiet(), &|_| {}).unwrap();
        assert_eq!(generation, 2, "{}", fixture.name);
        same(fixture.name, &before, &rows(&lake));
    }
}

#[test]
fn all_oddities_in_one_data_dir_do_not_block_each_other() {
    let (lake, _) = memory();
    let dir = DataDir::temp();
    let mut rejects = 0;
    for fixture in oddities() {
        for (path, bytes) in &fixture.files {
            // Each in a folder of its own: sub-folders are walked.
            let rest = path.strip_prefix("traces/").map(|p| format!("traces/{}/{p}", fixture.name));
            dir.write(&rest.unwrap_or_else(|| path.clone()), bytes);
        }
        rejects += fixture.rejects;
    }
    let summary = run(&lake, &options(&[dir.path()]));
    assert_eq!(summary.problems, []);
    assert_eq!(rows(&lake)["rejects"].len(), rejects);
}

#[test]
fn a_name_that_is_percent_encoded_stands_in_the_path_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let lake = lake_store::Lake::create(home.path().join("lake").to_str().unwrap(), &Default::default()).unwrap();
    let dir = DataDir::temp();
    dir.write_all(&oddities().into_iter().find(|f| f.name == "org_override").unwrap().files);
    run(&lake, &options(&[dir.path()]));
    let branch = branches(&lake).remove(0);
    assert_eq!(branch.place.org, "Acme%20Works");
    assert!(branch.segments[0].raw.starts_with("raw/org=Acme%20Works/repo=billing/"), "{}", branch.segments[0].raw);
    assert!(home.path().join("lake").join(&branch.segments[0].raw).is_file());
    assert!(lake_store::read_branch(&lake, &branch).is_ok());
}

#[test]
fn an_unfinished_trace_waits_until_it_ends_or_idles() {
    let (lake, _) = memory();
    let dir = DataDir::temp();
    let bytes = lake_testkit::scenarios::untracked_session("s", "github.com/acme/billing");
    let last = bytes[..bytes.len() - 1].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    let path = dir.session("s", &bytes[..last]);
    let mut waits = options(&[dir.path()]);
    waits.idle = std::time::Duration::from_secs(86_400);
    waits.now_ms = now_ms();
    let first = run(&lake, &waits);
    assert_eq!((first.found, first.unfinished, first.new), (1, 1, 0));
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(run(&lake, &waits).new, 1);
    let idle = dir.session("t", &lake_testkit::scenarios::untracked_session("t", "github.com/acme/billing")[..last]);
    assert_eq!(run(&lake, &waits).unfinished, 1);
    waits.now_ms += 2 * 86_400_000;
    assert_eq!(run(&lake, &waits).new, 1);
    let swept = branches(&lake).into_iter().find(|b| b.session_id == "t").unwrap();
    assert_eq!(swept.ended_by.as_deref(), Some("sweep"));
    assert!(idle.is_file());
}

fn now_ms() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[test]
fn a_huge_line_is_read_and_its_values_are_cut_with_length_and_hash() {
    let fixture = huge_line(24 << 20);
    let lake = taken(&fixture);
    let events = &rows(&lake)["events"];
    let cut: Vec<&String> = events.iter().filter(|row| row.contains("_cut_bytes")).collect();
    assert_eq!(cut.len(), 1);
    assert!(cut[0].contains("_cut_sha256") && cut[0].contains("flags=[cut") && cut[0].len() < 18 << 20);
    let branch = &branches(&lake)[0];
    let whole = lake_store::read_branch(&lake, branch).unwrap();
    assert_eq!(*whole, fixture.files[0].1, "the raw log has the whole");
}

#[test]
fn a_line_longer_than_any_that_is_parsed_is_kept_in_pieces_and_is_one_reject() {
    let (lake, _) = memory();
    let dir = DataDir::temp();
    let bytes = lake_testkit::scenarios::untracked_session("s", "github.com/acme/billing");
    let first = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    let mut whole = bytes[..first].to_vec();
    whole.extend(std::iter::repeat_n(b'x', 150 << 20));
    whole.push(b'\n');
    whole.extend(&bytes[first..]);
    dir.session("s", &whole);
    let mut small = options(&[dir.path()]);
    small.max_line = 64 << 20;
    run(&lake, &small);
    let tables = rows(&lake);
    assert_eq!(tables["rejects"].len(), 1);
    assert!(tables["rejects"][0].contains("line=2 ") && tables["rejects"][0].contains("length=157286401"));
    assert!(tables["segments"].len() >= 3);
    assert!(lake_store::read_branch(&lake, &branches(&lake)[0]).unwrap()[..] == whole);
    rebuild(&lake, &quiet(), &|_| {}).unwrap();
    same("rebuilt", &tables, &rows(&lake));
}
