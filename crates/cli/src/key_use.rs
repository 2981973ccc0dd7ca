//! What a key touched: the sessions with a verdict that it signed, the rows and the exports that rest on it.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use lake_trace::format_ms;
use lake_verdict::{Trust, TrustedKey, VerifyingKey, examine, key_id, write_public_key};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::lake_sql::LakeSql;

/// All that a key touched.
#[derive(Debug, Default, Serialize)]
pub(crate) struct KeyUse {
    /// By session and branch.
    pub(crate) sessions: Vec<TouchedSession>,
    /// By export, set and row.
    pub(crate) rows: Vec<TouchedRow>,
    /// The newest first.
    pub(crate) exports: Vec<TouchedExport>,
}

/// A branch with verdicts that the key signed.
#[derive(Debug, Serialize)]
pub(crate) struct TouchedSession {
    pub(crate) session_id: String,
    pub(crate) branch: u32,
    /// Lines of those verdicts.
    pub(crate) lines: Vec<u64>,
}

/// A row of a training set that the key proves.
#[derive(Debug, Serialize)]
pub(crate) struct TouchedRow {
    pub(crate) manifest_sha256: String,
    pub(crate) set: String,
    pub(crate) row: u64,
    pub(crate) session_id: String,
    pub(crate) branch: u64,
}

/// An export with such a row.
#[derive(Debug, Serialize)]
pub(crate) struct TouchedExport {
    pub(crate) manifest_sha256: String,
    pub(crate) out: String,
    pub(crate) at: String,
    pub(crate) k: u64,
    pub(crate) rows: u64,
}

/// A verdict record's signature, where it stands.
pub(crate) struct Signed<'r> {
    pub(crate) session_id: &'r str,
    pub(crate) branch: u32,
    pub(crate) line: u64,
    pub(crate) signature: &'r str,
}

/// Hands every signature in the lake to `each`. They stream by: none is held.
pub(crate) fn each_signature(
    context: &Context,
    asked: &LakeSql,
    mut each: impl FnMut(Signed<'_>) + Send,
) -> anyhow::Result<()> {
    let sql = "select session_id, signature, cast(branch as bigint) as branch, line from verdicts \
               where signature is not null";
    asked.wait(context, asked.query.each(sql, |batch| of_batch(batch, &mut each)))
}

fn of_batch(batch: &RecordBatch, each: &mut impl FnMut(Signed<'_>)) {
    // Engines differ in how they hold a text; what it says is the same.
    let text = |i: usize| cast(batch.column(i), &DataType::Utf8).ok();
    let (Some(sessions), Some(signatures)) = (text(0), text(1)) else { return };
    let (sessions, signatures) = (sessions.as_string::<i32>(), signatures.as_string::<i32>());
    let number = |column: usize, i: usize| {
        let column = batch.column(column).as_primitive_opt::<Int64Type>();
        column.and_then(|column| u64::try_from(column.value(i)).ok()).unwrap_or(0)
    };
    for i in (0..batch.num_rows()).filter(|i| signatures.is_valid(*i)) {
        each(Signed {
            session_id: sessions.value(i),
            branch: u32::try_from(number(2, i)).unwrap_or(u32::MAX),
            line: number(3, i),
            signature: signatures.value(i),
        });
    }
}

/// Looks through a lake. Who named the key in an envelope does not matter: what it verifies does.
pub(crate) fn key_use(context: &Context, asked: &LakeSql, key: &TrustedKey) -> anyhow::Result<KeyUse> {
    let only = only(&key.key)?;
    let mut found: std::collections::BTreeMap<(String, u32), Vec<u64>> = std::collections::BTreeMap::new();
    each_signature(context, asked, |signed| {
        if examine(signed.signature, &only, None).key_id.is_some() {
            found.entry((signed.session_id.to_owned(), signed.branch)).or_default().push(signed.line);
        }
    })?;
    let touched = |((session_id, branch), mut lines): ((String, u32), Vec<u64>)| {
        lines.sort_unstable();
        TouchedSession { session_id, branch, lines }
    };
    // An id is `sha256:` and hex: there is nothing to escape in it.
    let of_key = format!("from exports where array_has(key_ids, '{}')", key.id);
    let rows = asked.rows(
        context,
        &format!(
            "select manifest_sha256, \"set\", row, session_id, cast(branch as bigint) as branch {of_key} \
             group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5"
        ),
    )?;
    let exports = asked.rows(
        context,
        &format!(
            "select manifest_sha256, out, max(k) as k, count(distinct concat(\"set\", cast(row as varchar))) as rows, \
             cast(max(at) as bigint) / 1000 as at {of_key} group by 1, 2 order by at desc, 1, 2"
        ),
    )?;
    let text =
        |row: &Map<String, Value>, key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |row: &Map<String, Value>, key: &str| row.get(key).and_then(Value::as_u64).unwrap_or(0);
    Ok(KeyUse {
        sessions: found.into_iter().map(touched).collect(),
        rows: rows
            .iter()
            .map(|row| TouchedRow {
                manifest_sha256: text(row, "manifest_sha256"),
                set: text(row, "set"),
                row: number(row, "row"),
                session_id: text(row, "session_id"),
                branch: number(row, "branch"),
            })
            .collect(),
        exports: exports
            .iter()
            .map(|row| TouchedExport {
                manifest_sha256: text(row, "manifest_sha256"),
                out: text(row, "out"),
                at: format_ms(row.get("at").and_then(Value::as_i64).unwrap_or(0)),
                k: number(row, "k"),
                rows: number(row, "rows"),
            })
            .collect(),
    })
}

/// A trust file of this key alone, for everything and always.
fn only(key: &VerifyingKey) -> anyhow::Result<Trust> {
    let (id, pem) = (key_id(key), write_public_key(key));
    Ok(Trust::parse(&format!(
        "version = 1\n[[keys]]\nid = \"{id}\"\npublic_key = \"\"\"\n{pem}\"\"\"\noracle = \"any\"\n"
    ))?)
}
