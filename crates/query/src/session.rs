//! A session over one version of a lake.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::catalog::TableProvider;
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionContext;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::col;
use datafusion::prelude::SessionConfig;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;
use futures::StreamExt;

use crate::{Error, Result, guard, json_get, payload, prune, views, words};

/// The tables that the views stand on: any provider with the columns of [`lake_store::schema`]. One that is missing
/// is an empty table.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// One row an event.
    pub events: Option<Arc<dyn TableProvider>>,
    /// One row a verdict event.
    pub verdicts: Option<Arc<dyn TableProvider>>,
    /// One row a line that is no event.
    pub rejects: Option<Arc<dyn TableProvider>>,
    /// One row a segment of a branch.
    pub segments: Option<Arc<dyn TableProvider>>,
    /// One row a look at a branch.
    pub checks: Option<Arc<dyn TableProvider>>,
    /// One row a row of a training set.
    pub exports: Option<Arc<dyn TableProvider>>,
}

/// What the answers depend on beside the tables.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The lake's version to read; None reads the newest that the tables hold.
    pub at: Option<u64>,
    /// Digest of the secret rules in force; None takes that of the newest check.
    pub rules_digest: Option<String>,
    /// Digest of the trust file in force; None takes that of the newest check.
    pub trust_digest: Option<String>,
    /// Sources that may retract others' sessions.
    pub corrections_from: Vec<String>,
    /// Bytes that operators may hold before they spill to disk; None has no bound.
    pub memory_limit: Option<usize>,
    /// Lets DDL, DML, COPY, SET and files through.
    pub unsafe_sql: bool,
    /// How many partitions are worked on at once; None is one a core.
    pub threads: Option<usize>,
}

/// A session that answers questions.
#[derive(Clone)]
pub struct Query {
    context: SessionContext,
    unsafe_sql: bool,
}

/// Puts the tables and the views over them into a session.
///
/// # Errors
/// A table that has not the columns of its schema; a runtime that cannot be set up.
pub fn session(sources: Sources, options: &Options) -> Result<Query> {
    let mut config = SessionConfig::new().with_information_schema(true);
    if let Some(threads) = options.threads {
        config = config.with_target_partitions(threads.max(1));
    }
    // Few rows of few columns are wanted of rows that are mostly text.
    config.options_mut().execution.parquet.pushdown_filters = true;
    config.options_mut().execution.parquet.reorder_filters = true;

    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = options.memory_limit {
        let five = std::num::NonZeroUsize::MIN.saturating_add(4);
        runtime = runtime.with_memory_pool(Arc::new(TrackConsumersPool::new(FairSpillPool::new(bytes), five)));
    }
    let mut state = SessionStateBuilder::new_with_default_features()
        .with_config(config)
        .with_runtime_env(runtime.build_arc().map_err(Error::run)?)
        .with_optimizer_rule(Arc::new(prune::UnusedLeftJoin));
    if !options.unsafe_sql {
        // The guard refuses what would use them; without them there is nothing to reach.
        state = state.with_table_factories(HashMap::new()).with_file_formats(Vec::new());
    }
    let mut context = SessionContext::new_with_state(state.build());
    for function in [json_get::json_get(), json_get::json_text(), payload::payload(), words::words()] {
        context.register_udf(function);
    }
    views::register(&context, sources, options)?;
    if options.unsafe_sql {
        context = context.enable_url_table();
    }
    Ok(Query { context, unsafe_sql: options.unsafe_sql })
}

impl Query {
    /// The session itself, for whoever has object stores to register or names to complete. It is not guarded.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Runs one statement and streams its answer.
    ///
    /// # Errors
    /// [`Error::Refused`] when the statement does more than ask; [`Error::Plan`] when it is no SQL or names what is
    /// not there; [`Error::Run`] when it fails.
    pub async fn run(&self, sql: &str) -> Result<SendableRecordBatchStream> {
        self.frame(sql).await?.execute_stream().await.map_err(Error::run)
    }

    /// Runs one statement and holds its whole answer.
    ///
    /// # Errors
    /// As [`Query::run`].
    pub async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        self.frame(sql).await?.collect().await.map_err(Error::run)
    }

    /// Runs one statement and hands its batches to `each` as they come: none is held.
    ///
    /// # Errors
    /// As [`Query::run`].
    pub async fn each(&self, sql: &str, mut each: impl FnMut(&RecordBatch)) -> Result<()> {
        let mut batches = self.run(sql).await?;
        while let Some(batch) = batches.next().await {
            each(&batch.map_err(Error::run)?);
        }
        Ok(())
    }

    /// The (session id, branch) of the rows of `sessions` that satisfy a predicate, sorted.
    ///
    /// # Errors
    /// [`Error::Predicate`] when it is not one expression over the columns of `sessions`.
    pub async fn select_where(&self, predicate: &str) -> Result<Vec<(String, u32)>> {
        let bad = |source| Error::Predicate { predicate: predicate.to_owned(), source: Box::new(source) };
        let sql = format!("select session_id, branch from sessions where {}", expression(predicate).map_err(bad)?);
        let frame = match self.frame(&sql).await {
            Err(Error::Plan(source)) => return Err(bad(*source)),
            other => other?,
        };
        let sorted = frame.sort(vec![col("session_id").sort(true, false), col("branch").sort(true, false)]);
        let batches = sorted.map_err(bad)?.collect().await.map_err(Error::run)?;
        let mut chosen = Vec::new();
        for batch in batches {
            let ids = cast(batch.column(0), &DataType::Utf8).map_err(|e| Error::run(e.into()))?;
            let branches = cast(batch.column(1), &DataType::Int64).map_err(|e| Error::run(e.into()))?;
            let (ids, branches) = (ids.as_string::<i32>(), branches.as_primitive::<Int64Type>());
            for row in 0..ids.len() {
                chosen.push((ids.value(row).to_owned(), u32::try_from(branches.value(row)).unwrap_or(0)));
            }
        }
        Ok(chosen)
    }

    async fn frame(&self, sql: &str) -> Result<DataFrame> {
        let statement = guard::one_statement(sql)?;
        if !self.unsafe_sql {
            guard::check_statement(&statement)?;
        }
        let plan = self.context.state().statement_to_plan(statement).await.map_err(Error::plan)?;
        if !self.unsafe_sql {
            guard::check_plan(&plan)?;
        }
        self.context.execute_logical_plan(plan).await.map_err(Error::plan)
    }
}

/// The predicate as one whole expression, written anew: nothing after it, such as a UNION, comes along.
fn expression(predicate: &str) -> datafusion::error::Result<String> {
    let mut parser = Parser::new(&GenericDialect {}).try_with_sql(predicate).map_err(sql_error)?;
    let parsed = parser.parse_expr().map_err(sql_error)?;
    parser.expect_token(&Token::EOF).map_err(sql_error)?;
    Ok(parsed.to_string())
}

fn sql_error(error: datafusion::sql::sqlparser::parser::ParserError) -> datafusion::error::DataFusionError {
    datafusion::error::DataFusionError::SQL(Box::new(error), None)
}
