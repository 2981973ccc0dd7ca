//! A lake in memory or in a folder, a pass over a data dir, and all rows as text.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use lake_store::{Lake, Tables};
use lake_sync::{DataDir, Options, Summary, sync};
use lake_testkit::store::{Faults, FaultyStore};
use object_store::ObjectStore;
use object_store::memory::InMemory;

/// Columns that say when and in which batch a row came, not what it is.
const WHEN: [&str; 2] = ["k", "at"];

pub(crate) const NOW: i64 = 1_790_000_000_000;

pub(crate) fn options(dirs: &[&Path]) -> Options {
    Options {
        data_dirs: dirs
            .iter()
            .map(|path| DataDir { path: (*path).to_owned(), source: format!("here:{}", path.display()) })
            .collect(),
        host: "here".into(),
        idle: Duration::ZERO,
        max_line: 128 << 20,
        derive: true,
        dry_run: false,
        now_ms: NOW,
        cache: None,
    }
}

pub(crate) fn memory() -> (Lake, Arc<InMemory>) {
    let store = Arc::new(InMemory::new());
    (over(store.clone()), store)
}

pub(crate) fn over(store: Arc<dyn ObjectStore>) -> Lake {
    Lake::over(store, "memory:///", None, true).unwrap()
}

/// The same objects behind a store with faults.
pub(crate) fn faulty(store: &Arc<InMemory>, faults: &Faults) -> lake_store::Result<Lake> {
    let store: Arc<dyn ObjectStore> = Arc::clone(store) as _;
    Lake::over(Arc::new(FaultyStore::new(store, faults.clone())), "memory:///", None, true)
}

pub(crate) fn run(lake: &Lake, options: &Options) -> Summary {
    sync(lake, options, &(), &AtomicBool::new(false)).unwrap()
}

pub(crate) fn quiet() -> AtomicBool {
    AtomicBool::new(false)
}

/// All rows of all derived tables as text, sorted, without the columns that say when.
pub(crate) fn rows(lake: &Lake) -> BTreeMap<&'static str, Vec<String>> {
    let mut all = BTreeMap::new();
    let tables = Tables::open(lake).unwrap();
    for name in lake_store::schema::TABLES {
        let mut rows = Vec::new();
        if let Some(tables) = &tables {
            tables
                .scan(lake, name, |batch| {
                    let schema = batch.schema();
                    let options = FormatOptions::default().with_null("∅");
                    let columns: Vec<(String, ArrayFormatter<'_>)> = schema
                        .fields()
                        .iter()
                        .zip(batch.columns())
                        .filter(|(field, _)| !WHEN.contains(&field.name().as_str()))
                        .map(|(field, column)| {
                            (field.name().clone(), ArrayFormatter::try_new(column, &options).unwrap())
                        })
                        .collect();
                    for i in 0..batch.num_rows() {
                        let row: Vec<String> =
                            columns.iter().map(|(name, column)| format!("{name}={}", column.value(i))).collect();
                        rows.push(row.join(" | "));
                    }
                })
                .unwrap();
        }
        rows.sort();
        all.insert(name, rows);
    }
    all
}

/// Compares two lakes' rows and says which differ first.
#[track_caller]
pub(crate) fn same(what: &str, a: &BTreeMap<&'static str, Vec<String>>, b: &BTreeMap<&'static str, Vec<String>>) {
    for (name, rows) in a {
        let other = &b[name];
        assert_eq!(rows.len(), other.len(), "{what}: number of rows of {name}");
        for (x, y) in rows.iter().zip(other) {
            assert_eq!(x, y, "{what}: a row of {name}");
        }
    }
}
