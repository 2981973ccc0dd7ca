//! The views, each planned once: a table of the session is a plan over the providers, never a name that SQL could
//! reach around.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::datasource::ViewTable;
use datafusion::datasource::empty::EmptyTable;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SessionContext;
use futures::FutureExt;
use lake_store::schema;

use crate::{Error, Options, Result, Sources};

/// Name, SQL, and whether users see it; each stands only on those before it.
const VIEWS: [(&str, &str, bool); 13] = [
    ("weighed_checks", include_str!("views/weighed_checks.sql"), false),
    ("newest_run", include_str!("views/newest_run.sql"), false),
    ("standing", include_str!("views/standing.sql"), false),
    ("branches", include_str!("views/branches.sql"), false),
    ("messages", include_str!("views/messages.sql"), true),
    ("tool_calls", include_str!("views/tool_calls.sql"), true),
    ("corrections", include_str!("views/corrections.sql"), true),
    ("retractions", include_str!("views/retractions.sql"), false),
    ("sessions", include_str!("views/sessions.sql"), true),
    ("findings", include_str!("views/findings.sql"), true),
    ("held_back", include_str!("views/held_back.sql"), true),
    ("batches", include_str!("views/batches.sql"), true),
    ("hosts", include_str!("views/hosts.sql"), true),
];

/// Registers the tables, up to the version asked for, and the views over them.
pub(crate) fn register(context: &SessionContext, sources: Sources, options: &Options) -> Result<()> {
    let raw = [
        ("raw_segments", sources.segments, schema::segments()),
        ("raw_events", sources.events, schema::events()),
        ("raw_verdicts", sources.verdicts, schema::verdicts()),
        ("raw_rejects", sources.rejects, schema::rejects()),
        ("raw_checks", sources.checks, schema::checks()),
        ("raw_exports", sources.exports, schema::exports()),
    ];
    let names: Vec<&'static str> = raw.iter().map(|(name, _, _)| *name).collect();
    for (raw_name, provider, schema) in raw {
        let provider = provider.unwrap_or_else(|| Arc::new(EmptyTable::new(Arc::clone(&schema))));
        context.register_table(raw_name, provider).map_err(Error::view(raw_name))?;
        let name = raw_name.trim_start_matches("raw_");
        view(context, raw_name, name, &table_sql(raw_name, &schema, options.at))?;
    }
    for (name, sql, _) in &VIEWS {
        let sql = sql.replace("{in_force}", &in_force(options)).replace("{listed}", &listed(options));
        let sql = sql.replace("{ledger}", LEDGER);
        view(context, name, name, &sql)?;
    }
    // What was planned keeps the providers; the names are gone.
    let hidden = VIEWS.iter().filter(|(_, _, seen)| !seen).map(|(name, _, _)| *name);
    for name in names.into_iter().chain(hidden) {
        context.deregister_table(name).map_err(Error::view(name))?;
    }
    Ok(())
}

fn view(context: &SessionContext, shown: &'static str, name: &str, sql: &str) -> Result<()> {
    // Planning waits for nothing: every table is in the session's memory.
    let plan = context
        .state()
        .create_logical_plan(sql)
        .now_or_never()
        .unwrap_or_else(|| Err(DataFusionError::Internal("planning a view waited".to_owned())))
        .map_err(Error::view(shown))?;
    let table: Arc<dyn TableProvider> = Arc::new(ViewTable::new(plan, None));
    context.register_table(name, table).map_err(Error::view(shown))?;
    Ok(())
}

/// The table's columns by name and in our order, and of its rows those that version `at` had.
fn table_sql(raw_name: &str, schema: &SchemaRef, at: Option<u64>) -> String {
    let columns: Vec<String> = schema.fields().iter().map(|field| format!("t.\"{}\"", field.name())).collect();
    let select = format!("select {} from {raw_name} t", columns.join(", "));
    match (raw_name, at) {
        ("raw_segments" | "raw_exports", Some(k)) => format!("{select} where t.k <= {k}"),
        ("raw_events" | "raw_verdicts" | "raw_rejects", Some(k)) => format!(
            "{select} join (select session_id, branch, max(next_line) as past from raw_segments where k <= {k} \
             group by session_id, branch) b on b.session_id = t.session_id and b.branch = t.branch \
             where t.line < b.past"
        ),
        _ => select,
    }
}

/// Which checks may stand: those under the digests in force, where they are known.
fn in_force(options: &Options) -> String {
    let of = |kind: &str, digest: &Option<String>| {
        digest
            .as_ref()
            .map_or("true".to_owned(), |digest| format!("(kind <> '{kind}' or digest = {})", literal(digest)))
    };
    // With a ledger a session's row says so behind the digest of the trust file.
    let signatures = options.trust_digest.as_ref().map_or("true".to_owned(), |digest| {
        let listed = literal(&format!("{digest}{LEDGER}"));
        format!("(kind <> 'signatures' or digest = {} or starts_with(digest, {listed}))", literal(digest))
    });
    format!("{} and {signatures}", of("secrets", &options.rules_digest))
}

/// What stands between the digests of a trust file and of what a ledger lists of a session.
const LEDGER: &str = "+ledger:";

/// Whether a source may retract others' sessions.
fn listed(options: &Options) -> String {
    if options.corrections_from.is_empty() {
        return "false".to_owned();
    }
    let sources: Vec<String> = options.corrections_from.iter().map(|source| literal(source)).collect();
    format!("coalesce(s.source in ({}), false)", sources.join(", "))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
