//! All rows of a lake as text, to compare two lakes.

use std::collections::BTreeMap;
use std::path::Path;

use arrow::util::display::{ArrayFormatter, FormatOptions};
use lake_store::{Lake, StoreOptions, Tables, log};
use serde_json::Value;

use crate::kit::Kit;

/// Columns that say when and in which batch a row came, not what it is.
const WHEN: [&str; 2] = ["k", "at"];

pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// All rows of the derived tables in a folder, sorted.
pub(crate) fn rows(lake: &Path) -> Rows {
    rows_at(&lake.display().to_string(), &StoreOptions::new())
}

/// All rows of the derived tables, sorted, without the columns that say when.
pub(crate) fn rows_at(address: &str, options: &StoreOptions) -> Rows {
    let lake = Lake::open(address, options).expect("a lake");
    let tables = Tables::open(&lake).expect("tables that can be opened");
    let mut all = Rows::new();
    for name in lake_store::schema::TABLES {
        let mut rows = Vec::new();
        if let Some(tables) = &tables {
            tables.scan(&lake, name, |batch| texts(batch, &mut rows)).expect("a table that can be read");
        }
        rows.sort();
        all.insert(name.to_owned(), rows);
    }
    all
}

fn texts(batch: &arrow::record_batch::RecordBatch, rows: &mut Vec<String>) {
    let options = FormatOptions::default().with_null("∅");
    let schema = batch.schema();
    let named = schema.fields().iter().zip(batch.columns()).filter(|(field, _)| !WHEN.contains(&field.name().as_str()));
    let columns: Vec<_> = named
        .map(|(field, column)| (field.name(), ArrayFormatter::try_new(column, &options).expect("a column")))
        .collect();
    for i in 0..batch.num_rows() {
        let row: Vec<String> = columns.iter().map(|(name, column)| format!("{name}={}", column.value(i))).collect();
        rows.push(row.join(" | "));
    }
}

/// What was looked at and found, without when, and without the fingerprints, whose key is the lake's own.
pub(crate) fn checks(kit: &Kit) -> Vec<String> {
    let sql = "select session_id, branch, \"end\", kind, digest, result, findings from checks";
    let text = kit.run(&["sql", "--lake", "lake", "--json", sql]).exits(0).out;
    let without = |line: &str| {
        let mut row: Value = serde_json::from_str(line).expect("a row is JSON");
        for finding in row["findings"].as_array_mut().into_iter().flatten() {
            finding["fingerprint"] = Value::Null;
        }
        row.to_string()
    };
    let mut rows: Vec<String> = text.lines().map(without).collect();
    rows.sort();
    rows
}

/// How far a lake is: versions that its tables are behind, and raw objects that no batch holds yet.
pub(crate) fn behind(lake: &Path) -> (u64, usize) {
    let Ok(open) = Lake::open(&lake.display().to_string(), &StoreOptions::new()) else { return (0, 0) };
    let tip = log::tip(&open).expect("a log").k;
    let stands = Tables::open(&open).expect("tables that can be opened").map_or(0, |tables| tables.k());
    let mut committed = 0;
    for k in 1..=tip {
        committed += log::read(&open, k).expect("a log").map_or(0, |(record, _)| record.segments.len());
    }
    (tip - stands, count(&lake.join("raw")).saturating_sub(committed))
}

/// Files below a folder, those that are being written too.
pub(crate) fn count(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| if entry.file_type().is_ok_and(|t| t.is_dir()) { count(&entry.path()) } else { 1 }).sum()
}

/// Compares two lakes' rows, and says which differ first.
#[track_caller]
pub(crate) fn same(what: &str, expected: &Rows, found: &Rows) {
    for (name, rows) in expected {
        let other = &found[name];
        for (a, b) in rows.iter().zip(other) {
            assert_eq!(a, b, "{what}: a row of {name}");
        }
        assert_eq!(rows.len(), other.len(), "{what}: number of rows of {name}");
    }
}

/// The files of a folder by path, with their bytes.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let name = entry.strip_prefix(folder).expect("below it").display().to_string();
                all.insert(name, std::fs::read(&entry).expect("a file"));
            }
        }
    }
    all
}
