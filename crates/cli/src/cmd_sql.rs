//! `trace-lake sql`: ad hoc, read-only SQL.

use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use lake_query::{Format, saved, saved_query};
use serde_json::json;

use crate::context::Context;
use crate::exit::{Exit, usage};
use crate::lake_sql::{self, LakeSql};
use crate::outside::refuse_lake;
use crate::{out, prompt};

/// Arguments of `sql`.
#[derive(Args, Debug)]
pub(crate) struct SqlArgs {
    /// One statement; without it a prompt at a terminal, else stdin is read
    #[arg(conflicts_with_all = ["query", "list"])]
    sql: Option<String>,
    /// Run a saved query
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    query: Option<String>,
    /// List the saved queries
    #[arg(long)]
    list: bool,
    /// How the answer is written [default: table at a terminal, else csv]
    #[arg(long, value_enum)]
    format: Option<FormatArg>,
    /// Write the answer to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The lake as of this version
    #[arg(long, value_name = "K")]
    at: Option<u64>,
    /// Let DDL, COPY and files through
    #[arg(long = "unsafe")]
    unsafe_sql: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormatArg {
    Table,
    Csv,
    Json,
    Parquet,
}

impl FormatArg {
    fn format(self) -> Format {
        match self {
            FormatArg::Table => Format::Table,
            FormatArg::Csv => Format::Csv,
            FormatArg::Json => Format::Json,
            FormatArg::Parquet => Format::Parquet,
        }
    }
}

/// Asks.
pub(crate) fn run(context: &Context, args: &SqlArgs) -> anyhow::Result<Exit> {
    if args.list {
        return list(context);
    }
    let to_terminal = context.env.stdout_terminal && args.output.is_none();
    let format = match args.format.map(FormatArg::format) {
        Some(format) => format,
        None if context.json => Format::Json,
        None if to_terminal => Format::Table,
        None => Format::Csv,
    };
    if format == Format::Parquet && args.output.is_none() {
        return Err(usage("parquet is no text", "name a file with -o"));
    }
    if context.json && format != Format::Json && args.output.is_none() {
        return Err(usage("--json and --format contradict each other", "leave one out, or name a file with -o"));
    }
    let given = match (&args.sql, &args.query) {
        (Some(sql), _) => Some(sql.clone()),
        (None, Some(name)) => Some(named(name)?.to_owned()),
        (None, None) if context.env.stdin_terminal && args.output.is_none() => None,
        (None, None) => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).context("reading SQL from stdin")?;
            Some(text)
        }
    };
    let lake = context.open()?;
    if let Some(path) = &args.output {
        refuse_lake(&lake, &context.env.here.join(path), "-o")?;
    }
    let asked = lake_sql::open(context, lake, args.at, args.unsafe_sql)?;
    Context::say_behind(&asked.lake, asked.tables_at)?;
    match given {
        Some(sql) => {
            answer(context, &asked, &sql, format, args.output.as_deref())?;
            Ok(Exit::Done)
        }
        None => prompt::run(context, &asked, format),
    }
}

fn list(context: &Context) -> anyhow::Result<Exit> {
    if context.json {
        let all: Vec<_> =
            saved().iter().map(|q| json!({"name": q.name, "question": q.question, "sql": q.sql})).collect();
        out::json(&json!({"queries": all}))?;
    } else {
        for query in saved() {
            out::line(format!("{:20} {}", query.name, query.question))?;
        }
    }
    Ok(Exit::Done)
}

fn named(name: &str) -> anyhow::Result<&'static str> {
    let names = || saved().iter().map(|q| q.name).collect::<Vec<_>>().join(", ");
    let query = saved_query(name);
    query
        .map(|q| q.sql)
        .ok_or_else(|| usage(format!("there is no saved query `{name}`"), format!("there are {}", names())))
}

/// Runs one statement and writes its answer. A file appears once it is whole.
pub(crate) fn answer(
    context: &Context,
    asked: &LakeSql,
    sql: &str,
    format: Format,
    output: Option<&Path>,
) -> anyhow::Result<()> {
    let Some(path) = output else {
        let mut stdout = BufWriter::new(io::stdout());
        // A stream of JSON lines that breaks off is told by the exit code.
        asked.wait(context, run_into(asked, sql, format, &mut stdout))?;
        stdout.flush()?;
        return Ok(());
    };
    let path = context.env.here.join(path);
    let folder = path.parent().unwrap_or(Path::new("."));
    let writing = || format!("writing {}", path.display());
    let mut file = tempfile::Builder::new().prefix(".trace-lake-").tempfile_in(folder).with_context(writing)?;
    let rows = asked.wait(context, run_into(asked, sql, format, &mut file))?;
    crate::prometheus::readable(&file).with_context(writing)?;
    file.persist(&path).map_err(|e| e.error).with_context(writing)?;
    if context.json {
        out::json(&json!({"rows": rows, "output": path, "format": format.as_str()}))?;
    }
    Ok(())
}

async fn run_into(asked: &LakeSql, sql: &str, format: Format, out: &mut (dyn Write + Send)) -> lake_query::Result<u64> {
    lake_query::write(asked.query.run(sql).await?, format, out).await
}
