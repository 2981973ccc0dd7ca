//! Reads and appends `checks` and `exports`, the two tables that stand outside the generations.

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, SchemaRef, TimestampMicrosecondType};
use deltalake::DeltaTable;
use deltalake::kernel::Action;
use std::sync::Arc;

use crate::parquet_file::{self, Encoded, ParquetFile};
use crate::rows::{int, times, words};
use crate::tables::for_each_file;
use crate::{CheckRow, Error, ExportRow, Finding, Lake, Result, delta, schema};

pub(crate) const CHECKS: &str = "checks";
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

fn encode(schema: &SchemaRef, batch: &RecordBatch) -> Result<Option<Encoded>> {
    if batch.num_rows() == 0 {
        return Ok(None);
    }
    let mut file = ParquetFile::new(Arc::clone(schema), 1);
    file.write(batch)?;
    file.finish()
}

fn append(lake: &Lake, folder: &str, schema: &SchemaRef, batch: &RecordBatch) -> Result<()> {
    let Some(encoded) = encode(schema, batch)? else { return Ok(()) };
    let mut table = lake.wait(delta::open_or_create(lake, folder, schema, &[]))?;
    let add = parquet_file::put(lake, folder, None, encoded, true)?;
    lake.sync_all()?;
    lake.wait(delta::append(&mut table, vec![Action::Add(add)], delta::append_operation()))?;
    lake.sync_all()
}

/// Rows of `checks` as a file; None for no rows.
pub(crate) fn encode_checks(rows: &[CheckRow]) -> Result<Option<Encoded>> {
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
    encode(&schema, &batch)
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

/// All rows of `checks` of one kind and digest; a run's mark is none.
///
/// # Errors
/// Those of the store.
pub fn read_checks(lake: &Lake, kind: &str, digest: &str) -> Result<Vec<CheckRow>> {
    let Some(table) = checks_table(lake)? else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for_each_file(lake, CHECKS, delta::files(&table)?, None, |_, batch| {
        let wanted = |row: RowHead<'_>| row.kind == kind && row.digest == digest;
        rows.extend(read_rows(batch, wanted).filter(|row| !row.is_mark()));
        Ok(())
    })?;
    Ok(rows)
}

/// What a row of `checks` is about.
#[derive(Clone, Copy)]
pub(crate) struct RowHead<'b> {
    pub(crate) session_id: &'b str,
    pub(crate) kind: &'b str,
    pub(crate) digest: &'b str,
    /// Milliseconds since 1970 UTC.
    pub(crate) at: i64,
}

/// The rows of a batch that are wanted.
pub(crate) fn read_rows<'b>(
    batch: &'b RecordBatch,
    mut wanted: impl FnMut(RowHead<'b>) -> bool + 'b,
) -> impl Iterator<Item = CheckRow> + 'b {
    let strings = |name: &str| batch.column_by_name(name).and_then(|c| c.as_string_opt::<i32>());
    let text = |column: Option<&'b StringArray>, i: usize| -> &'b str {
        column.filter(|c| c.is_valid(i)).map_or("", |c| c.value(i))
    };
    let (ids, kinds, digests, results) = (strings("session_id"), strings("kind"), strings("digest"), strings("result"));
    let branch = batch.column_by_name("branch").and_then(|c| c.as_primitive_opt::<Int32Type>());
    let end = batch.column_by_name("end").and_then(|c| c.as_primitive_opt::<Int64Type>());
    let at = batch.column_by_name("at").and_then(|c| c.as_primitive_opt::<TimestampMicrosecondType>());
    let findings = batch.column_by_name("findings").and_then(|c| c.as_list_opt::<i32>());
    (0..batch.num_rows()).filter_map(move |i| {
        let at = at.map_or(0, |c| c.value(i) / 1000);
        let head = RowHead { session_id: text(ids, i), kind: text(kinds, i), digest: text(digests, i), at };
        wanted(head).then(|| CheckRow {
            session_id: head.session_id.to_owned(),
            branch: branch.and_then(|c| u32::try_from(c.value(i)).ok()).unwrap_or(0),
            end: end.and_then(|c| u64::try_from(c.value(i)).ok()).unwrap_or(0),
            kind: head.kind.to_owned(),
            digest: head.digest.to_owned(),
            result: text(results, i).to_owned(),
            at,
            findings: findings.map(|list| findings_of(&list.value(i))).unwrap_or_default(),
        })
    })
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
