//! What there is to say of a lake's standing, gathered from the log and the tables.

use std::collections::BTreeMap;

use lake_store::{Lake, Tip, log};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::context::Context;
use crate::lake_sql::LakeSql;
use crate::ledger_gaps::Gaps;
use crate::prometheus::Metrics;

/// A lake's standing.
#[derive(Debug, Serialize)]
pub(crate) struct Facts {
    pub(crate) lake: String,
    pub(crate) id: String,
    /// The log's version.
    pub(crate) k: u64,
    /// When the newest batch was committed, milliseconds since 1970 UTC.
    pub(crate) at_ms: Option<i64>,
    pub(crate) tables: TablesAt,
    pub(crate) sources: Vec<SourceAt>,
    pub(crate) sessions: u64,
    pub(crate) verified: u64,
    pub(crate) outcomes: BTreeMap<String, u64>,
    pub(crate) flags: BTreeMap<String, u64>,
    pub(crate) checks: Vec<CheckAt>,
    /// Sessions that are in no supervised set, by the reason that an export with `--require-signature` would give, as
    /// far as the tables tell.
    pub(crate) held_back: BTreeMap<String, u64>,
    /// Sessions that were looked at, and that such an export would take at most.
    pub(crate) ready: u64,
    pub(crate) exports: Vec<ExportAt>,
    /// What a ledger lists and the lake lacks; absent where none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger: Option<Gaps>,
}

/// Where the tables stand.
#[derive(Debug, Serialize)]
pub(crate) struct TablesAt {
    pub(crate) generation: Option<u32>,
    pub(crate) k: u64,
    pub(crate) behind: u64,
}

/// The newest batch of a source.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceAt {
    pub(crate) source: String,
    pub(crate) host: String,
    pub(crate) at_ms: i64,
    pub(crate) k: u64,
}

/// The newest check of a kind, and how many sessions stand checked as they are now.
#[derive(Debug, Serialize)]
pub(crate) struct CheckAt {
    pub(crate) kind: String,
    pub(crate) at_ms: i64,
    pub(crate) sessions: u64,
}

/// One export.
#[derive(Debug, Serialize)]
pub(crate) struct ExportAt {
    pub(crate) at_ms: i64,
    pub(crate) out: String,
    pub(crate) k: u64,
    pub(crate) set: String,
    pub(crate) rows: u64,
    pub(crate) manifest_sha256: String,
    /// Rows of sessions in which a secret is known only now.
    pub(crate) tainted: u64,
}

const MS: &str = "cast(max(at) as bigint) / 1000";

/// Gathers all. Reads tables and the tail of the log, writes nothing.
pub(crate) fn gather(context: &Context, asked: &LakeSql) -> anyhow::Result<Facts> {
    let lake = &asked.lake;
    let ask = |sql: &str| asked.rows(context, sql);
    let tip = log::tip(lake)?;
    let totals = ask("select count(*) as n, count(*) filter (where verified) as v from sessions")?;
    let mut held_back = held_back(context, asked)?;
    let ready = held_back.remove("ready").unwrap_or(0);
    let total = |key: &str| totals.first().map_or(0, |row| number(row, key));
    Ok(Facts {
        lake: lake.address().to_owned(),
        id: lake.id().to_owned(),
        k: tip.k,
        at_ms: (tip.k > 0).then_some(tip.at),
        tables: TablesAt {
            generation: asked.generation,
            k: asked.tables_at,
            behind: tip.k.saturating_sub(asked.tables_at),
        },
        sources: sources(context, asked)?,
        sessions: total("n"),
        verified: total("v"),
        outcomes: counts(&ask(
            "select coalesce(outcome, recorded_outcome, 'unknown') as name, count(*) as n from sessions group by 1",
        )?),
        flags: counts(&ask(
            "select flag as name, count(*) as n from (select unnest(flags) as flag from sessions) group by 1",
        )?),
        checks: checks(&ask(&format!(
            "select kind, {MS} as at, (select count(*) from sessions where outcome is not null) as judged, \
             (select count(*) from sessions where secrets is not null) as scanned from checks group by kind order by kind"
        ))?),
        held_back,
        ready,
        exports: exports(
            &tainted(context, asked)?,
            &ask(&format!(
                "select manifest_sha256, max(out) as out, max(k) as k, \"set\", count(distinct row) as rows, {MS} as at \
             from exports group by manifest_sha256, \"set\", at order by at desc, \"set\""
            ))?,
        ),
        ledger: None,
    })
}

/// Why sessions are in no supervised set; `ready` for those that the next export may take.
fn held_back(context: &Context, asked: &LakeSql) -> anyhow::Result<BTreeMap<String, u64>> {
    let Some(query) = lake_query::saved_query("held-back") else { return Ok(BTreeMap::new()) };
    let rows = asked.rows(context, query.sql)?;
    Ok(rows.iter().map(|row| (text(row, "reason"), number(row, "sessions"))).collect())
}

/// From the tables up to where they stand, from the log after that.
fn sources(context: &Context, asked: &LakeSql) -> anyhow::Result<Vec<SourceAt>> {
    let rows = asked.rows(
        context,
        &format!("select source, host, max(k) as k, {MS} as at from batches group by source, host order by 1, 2"),
    )?;
    let mut all: BTreeMap<(String, String), SourceAt> = BTreeMap::new();
    for row in &rows {
        let one = SourceAt {
            source: text(row, "source"),
            host: text(row, "host"),
            at_ms: whole(row, "at"),
            k: number(row, "k"),
        };
        all.insert((one.source.clone(), one.host.clone()), one);
    }
    let from = match log::read(&asked.lake, asked.tables_at)? {
        Some((_, tip)) => tip,
        None => Tip::default(),
    };
    log::follow(&asked.lake, from, |record, _| {
        let (source, host, at_ms, k) = (record.source.clone(), record.host.clone(), record.at_ms(), record.k);
        all.insert((source.clone(), host.clone()), SourceAt { source, host, at_ms, k });
        Ok(())
    })?;
    Ok(all.into_values().collect())
}

/// The newest batch of a source, or of any, that is not older than `since`. Records only get younger, so the log is read
/// back no further than that.
pub(crate) fn newest_since(lake: &Lake, source: Option<&str>, since: i64) -> anyhow::Result<Option<i64>> {
    let mut k = log::tip(lake)?.k;
    while let Some((record, _)) = log::read(lake, k)? {
        let at = record.at_ms();
        if at < since {
            break;
        }
        if source.is_none_or(|source| source == record.source) {
            return Ok(Some(at));
        }
        k = k.saturating_sub(1);
    }
    Ok(None)
}

fn checks(rows: &[Map<String, Value>]) -> Vec<CheckAt> {
    let one = |row: &Map<String, Value>| {
        let kind = text(row, "kind");
        let sessions = number(row, if kind == "secrets" { "scanned" } else { "judged" });
        CheckAt { kind, at_ms: whole(row, "at"), sessions }
    };
    rows.iter().map(one).collect()
}

/// Rows that hold a secret as is known only now, by manifest and set.
fn tainted(context: &Context, asked: &LakeSql) -> anyhow::Result<BTreeMap<(String, String), u64>> {
    let Some(query) = lake_query::saved_query("tainted-exports") else { return Ok(BTreeMap::new()) };
    let rows = asked.rows(context, query.sql)?;
    Ok(rows.iter().map(|row| ((text(row, "manifest_sha256"), text(row, "set")), number(row, "rows"))).collect())
}

fn exports(tainted: &BTreeMap<(String, String), u64>, rows: &[Map<String, Value>]) -> Vec<ExportAt> {
    let one = |row: &Map<String, Value>| ExportAt {
        at_ms: whole(row, "at"),
        out: text(row, "out"),
        k: number(row, "k"),
        set: text(row, "set"),
        rows: number(row, "rows"),
        manifest_sha256: text(row, "manifest_sha256"),
        tainted: tainted.get(&(text(row, "manifest_sha256"), text(row, "set"))).copied().unwrap_or(0),
    };
    rows.iter().map(one).collect()
}

fn counts(rows: &[Map<String, Value>]) -> BTreeMap<String, u64> {
    rows.iter().map(|row| (text(row, "name"), number(row, "n"))).collect()
}

fn text(row: &Map<String, Value>, key: &str) -> String {
    row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(row: &Map<String, Value>, key: &str) -> u64 {
    row.get(key).and_then(Value::as_u64).unwrap_or(0)
}

fn whole(row: &Map<String, Value>, key: &str) -> i64 {
    row.get(key).and_then(Value::as_i64).unwrap_or(0)
}

/// The same for a monitor.
pub(crate) fn metrics(facts: &Facts, now_ms: i64) -> Metrics {
    let mut out = Metrics::default();
    let seconds = |ms: i64| ms as f64 / 1000.0;
    out.gauge("version", "Batches in the log.", &[], facts.k as f64);
    out.gauge("tables_version", "Version that the tables stand at.", &[], facts.tables.k as f64);
    if let Some(at) = facts.at_ms {
        out.gauge("newest_batch_timestamp_seconds", "When the newest batch was committed.", &[], seconds(at));
    }
    for one in &facts.sources {
        let labels = [("source", one.source.as_str()), ("host", one.host.as_str())];
        let help = "When the newest batch of a source was committed.";
        out.gauge("source_newest_batch_timestamp_seconds", help, &labels, seconds(one.at_ms));
    }
    for (outcome, n) in &facts.outcomes {
        out.gauge("sessions", "Sessions by outcome.", &[("outcome", outcome)], *n as f64);
    }
    for (flag, n) in &facts.flags {
        out.gauge("flagged_sessions", "Sessions by flag.", &[("flag", flag)], *n as f64);
    }
    for (reason, n) in &facts.held_back {
        out.gauge("held_back_sessions", "Sessions in no supervised set, by reason.", &[("reason", reason)], *n as f64);
    }
    out.gauge(
        "ready_sessions",
        "The most sessions that the next export with --require-signature would add.",
        &[],
        facts.ready as f64,
    );
    for check in &facts.checks {
        let help = "When a check last wrote a row.";
        out.gauge("newest_check_timestamp_seconds", help, &[("kind", &check.kind)], seconds(check.at_ms));
    }
    if let Some(at) = facts.exports.iter().map(|export| export.at_ms).max() {
        out.gauge("newest_export_timestamp_seconds", "When the newest export was noted.", &[], seconds(at));
    }
    if let Some(gaps) = &facts.ledger {
        let (missing, stripped) = (gaps.missing.len() as f64, gaps.stripped.len() as f64);
        out.gauge("ledger_missing_verdicts", "Verdicts of the ledger that the lake lacks.", &[], missing);
        out.gauge("ledger_stripped_sessions", "Sessions of which the lake has no verdict.", &[], stripped);
    }
    let tainted: u64 = facts.exports.iter().map(|export| export.tainted).sum();
    let help = "Rows of training sets of sessions in which a secret is known only now.";
    out.gauge("tainted_export_rows", help, &[], tainted as f64);
    out.gauge("status_timestamp_seconds", "When this file was written.", &[], seconds(now_ms));
    out
}
