//! Reads and appends `checks` and `exports`, the two tables that stand outside the generations.

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, SchemaRef, TimestampMicrosecondType};
use deltalake::DeltaTable;
use deltalake::kernel::Action;
use std::sync::Arc;

use crate::parquet_file::{self, ParquetFile};
use crate::rows::{int, times, words};
use crate::tables::for_each_file;
use crate::{CheckRow, Error, ExportRow, Finding, Lake, Result, delta, schema};

const CHECKS: &str = "checks";
const EXPORTS: &str = "exports";

/// The table of checks; None before the first one.
///
/// # Errors
/// Those of the store.
pub fn checks_table(lake: &Lake) -> Result<Option<DeltaTable>> {
    lake.wait(delta::open(lake, CHECKS))
}

/// The table of exports; None before the first one.
///
/// # Errors
/// Those of the store.
pub fn exports_table(lake: &Lake) -> Result<Option<DeltaTable>> {
    lake.wait(delta::open(lake, EXPORTS))
}

fn append(lake: &Lake, folder: &str, schema: &SchemaRef, batch: &RecordBatch) -> Result<()> {
    if batch.num_rows() == 0 {
        return Ok(());
    }
    let mut file = ParquetFile::new(Arc::clone(schema), 1);
    file.write(batch)?;
    let Some(encoded) = file.finish()? else { return Ok(()) };
    let mut table = lake.wait(delta::open_or_create(lake, folder, schema, &[]))?;
    let add = parquet_file::put(lake, folder, None, encoded, true)?;
    lake.sync_all()?;
    lake.wait(delta::append(&mut table, vec![Action::Add(add)], delta::append_operation()))?;
    lake.sync_all()
}

/// Appends rows of `checks`, all in one commit.
///
/// # Errors
/// Those of the store.
pub fn append_checks(lake: &Lake, rows: &[CheckRow]) -> Result<()> {
    let schema = schema::checks();
    let mut at = times();
    rows.iter().for_each(|r| at.append_value(r.at.saturating_mul(1000)));
    let all: Vec<&Finding> = rows.iter().flat_map(|r| &r.findings).collect();
    let text =
        |get: fn(&Finding) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(all.iter().map(|f| get(f)))) };
    let whole = |get: fn(&Finding) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(all.iter().map(|f| int(get(f)))))
    };
    let members: Vec<ArrayRef> = vec![
        text(|f| &f.rule),
        text(|f| &f.severity),
        whole(|f| f.line),
        text(|f| &f.event_id),
        text(|f| &f.field),
        whole(|f| f.start),
        whole(|f| f.end),
        text(|f| &f.fingerprint),
        text(|f| &f.detail),
    ];
    let fail = |e| Error::arrow("building", CHECKS)(e);
    let structs = StructArray::try_new(schema::finding(), members, None).map_err(fail)?;
    let element = Arc::new(Field::new("element", DataType::Struct(schema::finding()), true));
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|r| r.findings.len()));
    let findings = ListArray::try_new(element, offsets, Arc::new(structs), None).map_err(fail)?;
    let strings =
        |get: fn(&CheckRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(get))) };
    let columns: Vec<ArrayRef> = vec![
        strings(|r| &r.session_id),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| i32::try_from(r.branch).unwrap_or(i32::MAX)))),
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| int(r.end)))),
        strings(|r| &r.kind),
        strings(|r| &r.digest),
        strings(|r| &r.result),
        Arc::new(at.finish()),
        Arc::new(findings),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(fail)?;
    append(lake, CHECKS, &schema, &batch)
}

/// Appends rows of `exports`, all in one commit.
///
/// # Errors
/// Those of the store.
pub fn append_exports(lake: &Lake, rows: &[ExportRow]) -> Result<()> {
    let schema = schema::exports();
    let mut at = times();
    rows.iter().for_each(|r| at.append_value(r.at.saturating_mul(1000)));
    let mut keys = words();
    for row in rows {
        row.key_ids.iter().for_each(|k| keys.values().append_value(k));
        keys.append(true);
    }
    let strings =
        |get: fn(&ExportRow) -> &str| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(get))) };
    let whole = |get: fn(&ExportRow) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| int(get(r)))))
    };
    let columns: Vec<ArrayRef> = vec![
        strings(|r| &r.manifest_sha256),
        Arc::new(at.finish()),
        strings(|r| &r.out),
        whole(|r| r.k),
        strings(|r| &r.set),
        whole(|r| r.row),
        strings(|r| &r.session_id),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| i32::try_from(r.branch).unwrap_or(i32::MAX)))),
        whole(|r| r.end),
        Arc::new(keys.finish()),
        Arc::new(StringArray::from_iter(rows.iter().map(|r| r.rules_digest.as_deref()))),
    ];
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(|e| Error::arrow("building", EXPORTS)(e))?;
    append(lake, EXPORTS, &schema, &batch)
}

/// All rows of `checks` of one kind and digest.
///
/// # Errors
/// Those of the store.
pub fn read_checks(lake: &Lake, kind: &str, digest: &str) -> Result<Vec<CheckRow>> {
    read_checks_by(lake, kind, |_, of_row| of_row == digest)
}

/// The rows of `checks` of one kind whose session and digest are wanted.
///
/// # Errors
/// Those of the store.
pub fn read_checks_by(lake: &Lake, kind: &str, wanted: impl Fn(&str, &str) -> bool) -> Result<Vec<CheckRow>> {
    let Some(table) = checks_table(lake)? else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for_each_file(lake, CHECKS, delta::files(&table)?, None, |_, batch| {
        read_rows(batch, kind, &wanted, &mut rows);
        Ok(())
    })?;
    Ok(rows)
}

fn read_rows(batch: &RecordBatch, kind: &str, wanted: &dyn Fn(&str, &str) -> bool, rows: &mut Vec<CheckRow>) {
    let text = |name: &str, i: usize| -> String {
        let column = batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
        column.filter(|c| c.is_valid(i)).map(|c| c.value(i).to_owned()).unwrap_or_default()
    };
    for i in 0..batch.num_rows() {
        if text("kind", i) != kind {
            continue;
        }
        let (session_id, digest) = (text("session_id", i), text("digest", i));
        if !wanted(&session_id, &digest) {
            continue;
        }
        let branch = batch.column_by_name("branch").and_then(|c| c.as_primitive_opt::<Int32Type>());
        let end = batch.column_by_name("end").and_then(|c| c.as_primitive_opt::<Int64Type>());
        let at = batch.column_by_name("at").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>());
        let findings = batch.column_by_name("findings").and_then(|c| c.as_list_opt::<i32>());
        rows.push(CheckRow {
            session_id,
            branch: branch.and_then(|c| u32::try_from(c.value(i)).ok()).unwrap_or(0),
            end: end.and_then(|c| u64::try_from(c.value(i)).ok()).unwrap_or(0),
            kind: kind.to_owned(),
            digest,
            result: text("result", i),
            at: at.map_or(0, |c| c.value(i) / 1000),
            findings: findings.map(|list| findings_of(&list.value(i))).unwrap_or_default(),
        });
    }
}

fn findings_of(one: &ArrayRef) -> Vec<Finding> {
    let Some(structs) = one.as_struct_opt() else { return Vec::new() };
    let text = |name: &str, i: usize| -> String {
        let column = structs.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
        column.filter(|c| c.is_valid(i)).map(|c| c.value(i).to_owned()).unwrap_or_default()
    };
    let whole = |name: &str, i: usize| -> u64 {
        let column = structs.column_by_name(name).and_then(|c| c.as_primitive_opt::<Int64Type>());
        column.and_then(|c| u64::try_from(c.value(i)).ok()).unwrap_or(0)
    };
    (0..structs.len())
        .map(|i| Finding {
            rule: text("rule", i),
            severity: text("severity", i),
            line: whole("line", i),
            event_id: text("event_id", i),
            field: text("field", i),
            start: whole("start", i),
            end: whole("end", i),
            fingerprint: text("fingerprint", i),
            detail: text("detail", i),
        })
        .collect()
}
