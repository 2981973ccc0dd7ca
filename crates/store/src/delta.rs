//! Delta tables: opened, made, appended to. The tables' address inside the process is `lake://…`, whatever the store.

use std::collections::{HashMap, HashSet};

use arrow::datatypes::SchemaRef;
use deltalake::kernel::engine::arrow_conversion::TryFromArrow;
use deltalake::kernel::transaction::{CommitBuilder, CommitProperties};
use deltalake::kernel::{Action, Add, Transaction};
use deltalake::logstore::{LogStoreRef, StorageConfig, default_logstore};
use deltalake::operations::create::CreateBuilder;
use deltalake::protocol::{DeltaOperation, SaveMode};
use deltalake::{DeltaTable, DeltaTableError};
use object_store::prefix::PrefixStore;
use std::sync::Arc;
use url::Url;

use crate::{Error, Lake, Result};

/// Name under which the tables' transactions stand.
const APP: &str = "trace-lake";
/// Other writers of the same table that a commit gives way to before it fails.
const RETRIES: usize = 100;

/// What became of a commit to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Committed {
    /// It stands.
    Yes,
    /// Another did this or a later version; nothing was written.
    ByAnother,
}

fn log_store(lake: &Lake, folder: &str) -> Result<LogStoreRef> {
    let url =
        Url::parse(&format!("lake://lake/{folder}/")).map_err(|e| Error::Address(folder.into(), e.to_string()))?;
    let prefixed = Arc::new(PrefixStore::new(Arc::clone(lake.store()), folder));
    Ok(default_logstore(prefixed, Arc::clone(lake.store()), &url, &StorageConfig::default()))
}

/// Opens the table in a folder of the lake; None when there is none yet.
pub(crate) async fn open(lake: &Lake, folder: &str) -> Result<Option<DeltaTable>> {
    let mut table = DeltaTable::new(log_store(lake, folder)?);
    match table.load().await {
        Ok(()) => Ok(Some(table)),
        Err(DeltaTableError::NotATable(_) | DeltaTableError::InvalidTableLocation(_)) => Ok(None),
        Err(e) => {
            // A missing log is told in more than one way; an error of the store is not "no table".
            if matches!(table.verify_deltatable_existence().await, Ok(false)) {
                return Ok(None);
            }
            Err(Error::delta("opening", folder)(e))
        }
    }
}

/// Opens the table, or makes it, append-only.
pub(crate) async fn open_or_create(
    lake: &Lake,
    folder: &str,
    schema: &SchemaRef,
    partitions: &[&str],
) -> Result<DeltaTable> {
    if let Some(table) = open(lake, folder).await? {
        return Ok(table);
    }
    let fields = schema
        .fields()
        .iter()
        .map(|f| deltalake::kernel::StructField::try_from_arrow(f.as_ref()))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Error::arrow("describing", folder))?;
    let made = CreateBuilder::new()
        .with_log_store(log_store(lake, folder)?)
        .with_columns(fields)
        .with_partition_columns(partitions.iter().copied())
        .with_configuration([
            ("delta.appendOnly", Some("true")),
            // Nothing in the lake is deleted, old log entries of a table neither.
            ("delta.enableExpiredLogCleanup", Some("false")),
            ("delta.checkpointInterval", Some("32")),
        ])
        .with_save_mode(SaveMode::Ignore)
        // With a retry the loser of a race would write the metadata a second time, as version 1, and every writer that
        // is under way would fail on that.
        .with_commit_properties(CommitProperties::default().with_max_retries(0))
        .await;
    match made {
        Ok(table) => Ok(table),
        // Another made it at the same time, or the reply was lost.
        Err(e) => open(lake, folder).await?.ok_or_else(|| Error::delta("making", folder)(e)),
    }
}

/// The newest version of the lake that is in the table; None when no transaction was set.
pub(crate) async fn version_in(table: &DeltaTable) -> Result<Option<u64>> {
    let url = table.table_url().path().to_owned();
    let state = table.snapshot().map_err(Error::delta("reading", &url))?;
    let version =
        state.transaction_version(table.log_store().as_ref(), APP).await.map_err(Error::delta("reading", &url))?;
    Ok(version.and_then(|v| u64::try_from(v).ok()))
}

fn operation(partitions: &[&str]) -> DeltaOperation {
    DeltaOperation::Write {
        mode: SaveMode::Append,
        partition_by: (!partitions.is_empty()).then(|| partitions.iter().map(|p| (*p).to_owned()).collect()),
        predicate: None,
    }
}

/// Appends files as version `k` of the lake, once: the transaction id is looked at before and set with the commit.
pub(crate) async fn append_as(
    table: &mut DeltaTable,
    adds: Vec<Add>,
    k: u64,
    partitions: &[&str],
) -> Result<Committed> {
    let url = table.table_url().path().to_owned();
    let fail = |e| Error::delta("committing to", &url)(e);
    if version_in(table).await?.is_some_and(|there| there >= k) {
        return Ok(Committed::ByAnother);
    }
    let version = i64::try_from(k).unwrap_or(i64::MAX);
    let properties = CommitProperties::default()
        .with_max_retries(RETRIES)
        .with_cleanup_expired_logs(Some(false))
        .with_application_transaction(Transaction::new(APP, version));
    let result = commit(table, adds.into_iter().map(Action::Add).collect(), properties, operation(partitions)).await;
    match result {
        Ok(()) => Ok(Committed::Yes),
        Err(e) => {
            // Ours with a lost reply, another's, or neither: the table itself tells.
            table.update_state().await.map_err(fail)?;
            if version_in(table).await?.is_some_and(|there| there >= k) {
                return Ok(Committed::ByAnother);
            }
            Err(fail(e))
        }
    }
}

/// Appends files.
pub(crate) async fn append(table: &mut DeltaTable, actions: Vec<Action>, operation: DeltaOperation) -> Result<()> {
    let url = table.table_url().path().to_owned();
    let properties = CommitProperties::default().with_max_retries(RETRIES).with_cleanup_expired_logs(Some(false));
    commit(table, actions, properties, operation).await.map_err(Error::delta("committing to", &url))
}

/// Takes in what others have committed since.
pub(crate) async fn update(table: &mut DeltaTable) -> Result<()> {
    let url = table.table_url().path().to_owned();
    table.update_state().await.map_err(Error::delta("reading", &url))
}

/// Appends files right after the version that `table` knows. Where another's commit stands there, nothing is done but to
/// take that in: what is to be written may hang on it.
pub(crate) async fn append_to_newest(table: &mut DeltaTable, actions: Vec<Action>) -> Result<Committed> {
    let url = table.table_url().path().to_owned();
    let version = table.version();
    let properties = CommitProperties::default().with_max_retries(0).with_cleanup_expired_logs(Some(false));
    let Err(e) = commit(table, actions, properties, append_operation()).await else { return Ok(Committed::Yes) };
    update(table).await?;
    // Another's commit, or our own with a lost reply, is worth a second look; a store that fails is not.
    if table.version() == version { Err(Error::delta("committing to", &url)(e)) } else { Ok(Committed::ByAnother) }
}

/// Replaces files by others that hold the same rows, where all of them are still in the table; else another replaced
/// some first, and nothing is done.
///
/// Delta's own check of conflicts lets two writers remove the same file, so each try is made against the newest version
/// alone, and what it removes is looked up there before.
pub(crate) async fn replace(
    table: &mut DeltaTable,
    old: &[String],
    actions: Vec<Action>,
    operation: DeltaOperation,
) -> Result<Committed> {
    let url = table.table_url().path().to_owned();
    let mut failed: Option<(DeltaTableError, _)> = None;
    let mut tries = 0;
    loop {
        table.update_state().await.map_err(Error::delta("reading", &url))?;
        // Only another's commit, or our own with a lost reply, is worth a second look; a store that fails is not.
        if let Some((e, version)) = failed.take()
            && (table.version() == version || tries == RETRIES)
        {
            return Err(Error::delta("committing to", &url)(e));
        }
        let version = table.version();
        let there: HashSet<String> = files(table)?.into_iter().map(|add| add.path).collect();
        if !old.iter().all(|path| there.contains(path)) {
            return Ok(Committed::ByAnother);
        }
        let properties = CommitProperties::default().with_max_retries(0).with_cleanup_expired_logs(Some(false));
        match commit(table, actions.clone(), properties, operation.clone()).await {
            Ok(()) => return Ok(Committed::Yes),
            Err(e) => {
                failed = Some((e, version));
                tries += 1;
            }
        }
    }
}

pub(crate) fn append_operation() -> DeltaOperation {
    operation(&[])
}

async fn commit(
    table: &mut DeltaTable,
    actions: Vec<Action>,
    properties: CommitProperties,
    operation: DeltaOperation,
) -> std::result::Result<(), DeltaTableError> {
    let log_store = table.log_store();
    let finalized = {
        let snapshot = table.snapshot()?.snapshot();
        CommitBuilder::from(properties).with_actions(actions).build(Some(snapshot), log_store, operation).await?
    };
    table.state = Some(finalized.snapshot());
    Ok(())
}

/// The files that a table holds now.
pub(crate) fn files(table: &DeltaTable) -> Result<Vec<Add>> {
    let url = table.table_url().path().to_owned();
    let state = table.snapshot().map_err(Error::delta("reading", &url))?;
    #[expect(deprecated, reason = "the action itself is what a reader and a compaction need of a file")]
    let files = state.log_data().iter().map(|file| file.add_action()).collect();
    Ok(files)
}

/// A data file's action.
pub(crate) fn add(path: String, size: usize, partition: &[(&str, &str)], stats: String, data_change: bool) -> Add {
    let partition_values: HashMap<String, Option<String>> =
        partition.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect();
    Add {
        path,
        partition_values,
        size: i64::try_from(size).unwrap_or(i64::MAX),
        modification_time: chrono::Utc::now().timestamp_millis(),
        data_change,
        stats: Some(stats),
        ..Add::default()
    }
}

#[cfg(test)]
mod tests {
    use deltalake::kernel::Remove;

    use super::*;
    use crate::StoreOptions;

    fn lake(folder: &tempfile::TempDir) -> (Lake, String) {
        let address = folder.path().join("lake").display().to_string();
        (Lake::create(&address, &StoreOptions::default()).expect("a lake"), address)
    }

    #[test]
    fn what_another_replaced_is_not_replaced_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lake, _) = lake(&folder);
        let schema = crate::schema::checks();
        let open = || lake.wait(open_or_create(&lake, "checks", &schema, &[])).expect("the table");
        let file = |name: &str| add(name.to_owned(), 1, &[], "{\"numRecords\":1}".into(), true);
        let mut first = open();
        let old = ["a.parquet", "b.parquet"].map(str::to_owned);
        let adds = old.iter().map(|name| Action::Add(file(name))).collect();
        lake.wait(append(&mut first, adds, append_operation())).expect("two files");
        // Both looked at the table before either replaced anything.
        let mut second = open();
        let replace_by = |table: &mut DeltaTable, name: &str| {
            let gone =
                |path: &String| Action::Remove(Remove { path: path.clone(), data_change: false, ..Remove::default() });
            let actions = old.iter().map(gone).chain([Action::Add(file(name))]).collect();
            lake.wait(replace(table, &old, actions, append_operation())).expect("a commit")
        };
        assert_eq!(replace_by(&mut first, "first.parquet"), Committed::Yes);
        assert_eq!(replace_by(&mut second, "second.parquet"), Committed::ByAnother);
        let left: Vec<String> = files(&open()).expect("files").into_iter().map(|add| add.path).collect();
        assert_eq!(left, ["first.parquet"]);
    }

    #[test]
    fn a_table_that_many_make_at_once_is_made_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let (lake, address) = lake(&folder);
        for round in 0..8 {
            let table = format!("checks-{round}");
            let start = std::sync::Barrier::new(4);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        start.wait();
                        lake.wait(open_or_create(&lake, &table, &crate::schema::checks(), &[])).expect("the table");
                    });
                }
            });
            let log = std::fs::read_dir(format!("{address}/{table}/_delta_log")).expect("its log");
            let versions = log.flatten().filter(|e| e.path().extension().is_some_and(|x| x == "json")).count();
            assert_eq!(versions, 1, "round {round}");
        }
    }
}
