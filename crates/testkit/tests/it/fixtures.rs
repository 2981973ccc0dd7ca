//! The committed fixtures.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lake_testkit::fixture_files;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn files_under(dir: &Path, root: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(dir).unwrap_or_else(|error| panic!("cannot list {}: {error}", dir.display())) {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            files_under(&path, root, into);
        } else {
            let name = path.strip_prefix(root).expect("a path under the root").to_str().expect("a UTF-8 name");
            into.insert(name.to_owned(), fs::read(&path).expect("a fixture can be read"));
        }
    }
}

#[test]
fn the_committed_fixtures_are_what_the_code_makes() {
    let mut committed = BTreeMap::new();
    for made in ["demo", "oddities"] {
        files_under(&root().join(made), &root(), &mut committed);
    }
    let made: BTreeMap<String, Vec<u8>> = fixture_files().into_iter().collect();
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&committed), names(&made), "run `make fixtures`");
    for (name, bytes) in &made {
        assert!(committed.get(name) == Some(bytes), "{name} differs: run `make fixtures`");
    }
}

#[test]
fn the_same_fixtures_are_made_each_time() {
    assert!(fixture_files() == fixture_files());
}
