//! Opens the lake's tables for questions: the one place that knows both the store and the SQL surface.

use std::future::Future;

use anyhow::Context as _;
use arrow::array::RecordBatch;
use lake_query::{Options, Query, Sources};
use lake_store::{Lake, Tables, checks_table, exports_table};
use serde_json::{Map, Value};

use crate::context::Context;

/// What the process takes beside the query's own operators, bytes.
const BASE: u64 = 160 << 20;
/// Never less than this for the operators, bytes.
const LEAST: u64 = 64 << 20;

/// A lake to ask.
pub(crate) struct LakeSql {
    pub(crate) lake: Lake,
    pub(crate) query: Query,
    /// The version that the tables stand at; 0 before the first derive.
    pub(crate) tables_at: u64,
    /// Their generation.
    pub(crate) generation: Option<u32>,
}

/// Opens all tables as they are. Writes nothing.
pub(crate) fn open(context: &Context, lake: Lake, at: Option<u64>, unsafe_sql: bool) -> anyhow::Result<LakeSql> {
    let trust = context.trust()?;
    let tables = Tables::open(&lake)?;
    let tables_at = tables.as_ref().map_or(0, Tables::k);
    if let Some(asked) = at.filter(|at| *at > tables_at) {
        return Err(lake_store::Error::Ahead { asked, stands: tables_at }.into());
    }
    let (checks, exports) = (checks_table(&lake)?, exports_table(&lake)?);
    let of = |name: &str| tables.as_ref().and_then(|tables| tables.table(name));
    let opened = [of("events"), of("verdicts"), of("rejects"), of("segments"), checks.as_ref(), exports.as_ref()];
    let providers = lake.runtime().block_on(async {
        let mut providers = Vec::new();
        for table in opened {
            providers.push(match table {
                Some(table) => Some(table.table_provider().await?),
                None => None,
            });
        }
        anyhow::Ok(providers)
    });
    let mut providers = providers.context("opening the tables of the lake")?.into_iter();
    let mut next = || providers.next().flatten();
    let sources = Sources {
        events: next(),
        verdicts: next(),
        rejects: next(),
        segments: next(),
        checks: next(),
        exports: next(),
    };
    let memory = context.settings.memory_limit.value.saturating_sub(BASE).max(LEAST);
    let options = Options {
        at,
        rules_digest: Some(context.secrets_digest()?),
        trust_digest: trust.map(|trust| trust.digest().to_owned()),
        corrections_from: context.settings.corrections_from.value.clone(),
        memory_limit: usize::try_from(memory).ok(),
        unsafe_sql,
        threads: None,
    };
    let query = lake_query::session(sources, &options)?;
    for table in opened.into_iter().flatten() {
        table.update_datafusion_session(&query.context().state()).context("reaching the tables of the lake")?;
    }
    let generation = tables.as_ref().map(Tables::generation);
    Ok(LakeSql { lake, query, tables_at, generation })
}

impl LakeSql {
    /// Waits for an answer, or for a signal.
    pub(crate) fn wait<T>(
        &self,
        context: &Context,
        work: impl Future<Output = lake_query::Result<T>>,
    ) -> anyhow::Result<T> {
        tracing::info!("asking");
        let answer = self.lake.runtime().block_on(async {
            tokio::select! {
                answer = work => Some(answer),
                () = context.signals.stopped() => None,
            }
        });
        match answer {
            Some(answer) => Ok(answer?),
            None => context.check_stop().and_then(|()| anyhow::bail!("stopped")),
        }
    }

    /// All rows of a small answer, as JSON objects in the order of its columns.
    pub(crate) fn rows(&self, context: &Context, sql: &str) -> anyhow::Result<Vec<Map<String, Value>>> {
        let batches = self.wait(context, self.query.collect(sql))?;
        rows_of(&batches)
    }
}

fn rows_of(batches: &[RecordBatch]) -> anyhow::Result<Vec<Map<String, Value>>> {
    let mut writer = arrow::json::WriterBuilder::new()
        .with_explicit_nulls(true)
        .build::<_, arrow::json::writer::JsonArray>(Vec::new());
    writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
    writer.finish()?;
    let bytes = writer.into_inner();
    if bytes.is_empty() {
        return Ok(Vec::new());
    }
    Ok(serde_json::from_slice(&bytes)?)
}
