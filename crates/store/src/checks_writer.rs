//! The table of checks for whoever adds to it, beside others that do the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use deltalake::DeltaTable;
use deltalake::kernel::{Action, Add};

use crate::checks_io::{CHECKS, encode_checks, read_rows};
use crate::tables::for_each_file;
use crate::{CheckRow, Lake, Result, checks_table, delta, parquet_file, schema};

/// The table of checks as one run last saw it.
pub struct Checks {
    table: Option<DeltaTable>,
    /// Files whose rows it knows.
    seen: HashSet<String>,
}

/// What the table says of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindRows {
    /// The rows that were wanted.
    pub rows: Vec<CheckRow>,
    /// When the newest row or mark under our digests was written, milliseconds since 1970 UTC.
    pub at: Option<i64>,
    /// When the newest row or mark under any other digest was.
    pub others_at: Option<i64>,
}

impl KindRows {
    /// When a run under this digest leaves a mark, so that it is told to be the newest: None where a row says so already.
    ///
    /// `wrote` is when this run wrote rows of the kind, if it did. A mark is later than all that it stands above,
    /// whatever the clocks of two machines say.
    pub fn mark_at(&self, wrote: Option<i64>, now: i64) -> Option<i64> {
        let others = self.others_at?;
        let ours = self.at.max(wrote);
        ours.is_none_or(|ours| ours <= others).then(|| now.max(others.saturating_add(1)))
    }
}

impl Checks {
    /// Opens the table; before the first check there is none, and it is empty.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(lake: &Lake) -> Result<Checks> {
        let table = checks_table(lake)?;
        let files = table.as_ref().map(delta::files).transpose()?.unwrap_or_default();
        Ok(Checks { table, seen: files.into_iter().map(|add| add.path).collect() })
    }

    /// All that it says of one kind, as it was opened: the rows whose session and digest are wanted, and when the newest row
    /// under our digests was written, and under others.
    ///
    /// # Errors
    /// Those of the store.
    pub fn read(
        &self,
        lake: &Lake,
        kind: &str,
        ours: impl Fn(&str) -> bool,
        wanted: impl Fn(&str, &str) -> bool,
    ) -> Result<KindRows> {
        let mut found = KindRows::default();
        let Some(table) = &self.table else { return Ok(found) };
        let files = delta::files(table)?.into_iter().filter(|add| self.seen.contains(&add.path)).collect();
        for_each_file(lake, CHECKS, files, None, |_, batch| {
            read_rows(batch, |row| {
                if row.kind != kind {
                    return false;
                }
                let newest = if ours(row.digest) { &mut found.at } else { &mut found.others_at };
                *newest = (*newest).max(Some(row.at));
                wanted(row.session_id, row.digest)
            })
            .filter(|row| !row.is_mark())
            .for_each(|row| found.rows.push(row));
            Ok(())
        })?;
        Ok(found)
    }

    /// Appends rows, all in one commit, without those that another run has written since; returns how many it wrote.
    ///
    /// A row of another that says something else of the same key does not stand in the way: of two the worse counts.
    ///
    /// # Errors
    /// Those of the store.
    pub fn append(&mut self, lake: &Lake, mut rows: Vec<CheckRow>) -> Result<u64> {
        let schema = schema::checks();
        let mut table = match self.table.take() {
            Some(mut table) => {
                lake.wait(delta::update(&mut table))?;
                table
            }
            None => lake.wait(delta::open_or_create(lake, CHECKS, &schema, &[]))?,
        };
        let mut file: Option<Add> = None;
        loop {
            let new: Vec<Add> =
                delta::files(&table)?.into_iter().filter(|add| !self.seen.contains(&add.path)).collect();
            self.seen.extend(new.iter().map(|add| add.path.clone()));
            let stands = file.as_ref().is_some_and(|file| new.iter().any(|add| add.path == file.path));
            let before = rows.len();
            if !stands {
                drop_known(lake, new, &mut rows)?;
            }
            if stands || rows.is_empty() {
                self.table = Some(table);
                return Ok(if stands { before as u64 } else { 0 });
            }
            let add = match file.take().filter(|_| rows.len() == before) {
                Some(add) => add,
                None => {
                    let Some(encoded) = encode_checks(&rows)? else { return Ok(0) };
                    parquet_file::put(lake, CHECKS, None, encoded, true)?
                }
            };
            lake.sync_all()?;
            let done = lake.wait(delta::append_to_newest(&mut table, vec![Action::Add(add.clone())]))?;
            if done == delta::Committed::Yes {
                lake.sync_all()?;
                self.seen.insert(add.path);
                self.table = Some(table);
                return Ok(rows.len() as u64);
            }
            file = Some(add);
        }
    }
}

/// Takes from `rows` those that stand in these files.
fn drop_known(lake: &Lake, files: Vec<Add>, rows: &mut Vec<CheckRow>) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let wanted: BTreeSet<(String, String)> = rows.iter().map(|row| (row.kind.clone(), row.digest.clone())).collect();
    let key = |row: &CheckRow| (row.session_id.clone(), row.branch, row.end, row.kind.clone(), row.digest.clone());
    let mut known: HashMap<_, Vec<CheckRow>> = HashMap::new();
    for_each_file(lake, CHECKS, files, None, |_, batch| {
        read_rows(batch, |row| wanted.contains(&(row.kind.to_owned(), row.digest.to_owned())))
            .for_each(|row| known.entry(key(&row)).or_default().push(row));
        Ok(())
    })?;
    rows.retain(|row| {
        let theirs = known.get(&key(row)).into_iter().flatten();
        !theirs.into_iter().any(|there| there.result == row.result && there.findings == row.findings)
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StoreOptions;

    fn row(session_id: &str, result: &str) -> CheckRow {
        CheckRow {
            session_id: session_id.to_owned(),
            branch: 0,
            end: 10,
            kind: "secrets".to_owned(),
            digest: "d".to_owned(),
            result: result.to_owned(),
            at: 1000,
            findings: Vec::new(),
        }
    }

    fn lake(folder: &tempfile::TempDir) -> Lake {
        Lake::create(&folder.path().join("lake").display().to_string(), &StoreOptions::default()).expect("a lake")
    }

    #[test]
    fn what_another_wrote_meanwhile_is_not_written_again_unless_it_says_something_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let lake = lake(&folder);
        let open = || Checks::open(&lake).expect("the table");
        let (mut first, mut second) = (open(), open());
        assert_eq!(first.append(&lake, vec![row("a", "clean"), row("b", "clean")]).expect("rows"), 2);
        let theirs = vec![row("a", "clean"), row("b", "found"), row("c", "clean")];
        assert_eq!(second.append(&lake, theirs).expect("rows"), 2);
        let mut rows = open().read(&lake, "secrets", |d| d == "d", |_, d| d == "d").expect("read").rows;
        rows.sort_by(|a, b| (&a.session_id, &a.result).cmp(&(&b.session_id, &b.result)));
        let told: Vec<_> = rows.iter().map(|row| (row.session_id.as_str(), row.result.as_str())).collect();
        assert_eq!(told, [("a", "clean"), ("b", "clean"), ("b", "found"), ("c", "clean")]);
        assert_eq!(second.append(&lake, Vec::new()).expect("nothing"), 0);
    }

    #[test]
    fn many_writers_of_the_same_rows_write_them_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let lake = lake(&folder);
        for round in 0..4 {
            let start = std::sync::Barrier::new(4);
            let rows: Vec<CheckRow> = (0..5).map(|i| row(&format!("s{round}-{i}"), "clean")).collect();
            let written: u64 = std::thread::scope(|scope| {
                let one = || {
                    let mut checks = Checks::open(&lake).expect("the table");
                    start.wait();
                    checks.append(&lake, rows.clone()).expect("a commit")
                };
                let all: Vec<_> = (0..4).map(|_| scope.spawn(one)).collect();
                all.into_iter().map(|one| one.join().expect("no panic")).sum()
            });
            assert_eq!(written, 5, "round {round}");
        }
        let rows = Checks::open(&lake)
            .expect("the table")
            .read(&lake, "secrets", |d| d == "d", |_, d| d == "d")
            .expect("read")
            .rows;
        assert_eq!(rows.len(), 20);
    }

    #[test]
    fn a_mark_is_left_only_where_another_digest_would_be_taken_for_the_newest() {
        let said = |at, others_at| KindRows { rows: Vec::new(), at, others_at };
        assert_eq!(said(None, None).mark_at(None, 50), None);
        assert_eq!(said(Some(20), Some(10)).mark_at(None, 50), None);
        assert_eq!(said(Some(10), Some(20)).mark_at(None, 50), Some(50));
        assert_eq!(said(Some(10), Some(20)).mark_at(Some(50), 50), None);
        // The other machine's clock is ahead.
        assert_eq!(said(Some(10), Some(70)).mark_at(Some(50), 50), Some(71));
        assert_eq!(said(Some(20), Some(20)).mark_at(None, 10), Some(21));
    }
}
