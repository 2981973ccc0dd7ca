//! `trace-lake sync`: moves finished traces from data dirs into the lake.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use lake_store::{Error, Lake};
use lake_sync::{Options, Summary};
use object_store::memory::InMemory;
use serde_json::{Value, json};

use crate::context::Context;
use crate::data_dirs::{self, Found};
use crate::exit::Exit;
use crate::lock::lock;
use crate::out::{self, escape, note};
use crate::progress::Progress;
use crate::settings::Flags;
use crate::store_options::as_options;
use crate::units::{bytes, count, parse_duration, parse_size};

/// Arguments of `sync`.
#[derive(Args, Debug)]
pub(crate) struct SyncArgs {
    /// A collector's data dir, the folder that holds traces/; repeatable, may be a pattern
    #[arg(long, value_name = "DIR")]
    data_dir: Vec<String>,
    /// Name of the source in the log [default: host:absolute data dir]
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// A trace without an end counts as finished when it has not grown for this long [default: 24h]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    idle: Option<Duration>,
    /// Lines up to this are parsed; a longer one is kept in pieces
    #[arg(long, value_name = "SIZE", default_value = "128MiB", value_parser = parse_size)]
    max_line: u64,
    /// Only raw and log; the tables are derived elsewhere
    #[arg(long)]
    no_derive: bool,
    /// Say what would be done, write nothing
    #[arg(long)]
    dry_run: bool,
}

impl SyncArgs {
    /// What they set.
    pub(crate) fn set(&self, flags: &mut Flags) {
        flags.data_dirs.clone_from(&self.data_dir);
        flags.source.clone_from(&self.source);
        flags.idle = self.idle;
    }
}

/// Syncs.
pub(crate) fn run(context: &Context, args: &SyncArgs) -> anyhow::Result<Exit> {
    let address = context.address()?;
    let found = data_dirs::find(&context.env, &context.settings)?;
    let dirs: Vec<String> = found.dirs.iter().map(|dir| dir.path.display().to_string()).collect();
    let lake = lake(context, address, args.dry_run)?;
    let _lock = if args.dry_run { None } else { Some(lock(&context.env, "sync", &lake, &dirs)?) };
    let options = Options {
        data_dirs: found.dirs.clone(),
        host: context.env.host.clone(),
        idle: context.settings.idle.value,
        max_line: usize::try_from(args.max_line).unwrap_or(usize::MAX),
        derive: !args.no_derive,
        dry_run: args.dry_run,
        now_ms: context.env.now_ms,
        cache: cache(context),
    };
    let progress = Progress::bytes(&context.env, if args.dry_run { "looking" } else { "syncing" });
    let summary = lake_sync::sync(&lake, &options, &progress, context.signals.stop())?;
    let seconds = progress.seconds();
    drop(progress);
    let partly =
        summary.rejected > 0 || summary.damaged > 0 || !summary.problems.is_empty() || !found.missing.is_empty();
    let exit = if partly { Exit::Partly } else { Exit::Done };
    if context.json {
        out::json(&as_json(&summary, &found, seconds, args.dry_run, exit)?)?;
    } else {
        say(&summary, seconds, args.dry_run)?;
    }
    complain(&summary, &found);
    Ok(context.signals.exit().unwrap_or(exit))
}

/// The lake, made where it is not there. A dry run that would make one looks at an empty one in memory.
fn lake(context: &Context, address: &str, dry_run: bool) -> anyhow::Result<Lake> {
    let options = as_options(&context.settings.store);
    let lake = match dry_run {
        false => Lake::create(address, &options),
        true => match Lake::open(address, &options) {
            Err(Error::NoLake(_)) => Lake::over(Arc::new(InMemory::new()), address, None, true),
            other => other,
        },
    };
    lake.with_context(|| format!("opening the lake {address}"))
}

fn cache(context: &Context) -> Option<PathBuf> {
    let folder = context.env.state()?.join("cache");
    match std::fs::create_dir_all(&folder) {
        Ok(()) => Some(folder),
        Err(e) => {
            tracing::debug!("no cache in {}: {e}", folder.display());
            None
        }
    }
}

fn as_json(summary: &Summary, found: &Found, seconds: f64, dry_run: bool, exit: Exit) -> anyhow::Result<Value> {
    let mut value = serde_json::to_value(summary)?;
    if let Value::Object(object) = &mut value {
        object.insert("seconds".into(), json!((seconds * 1000.0).round() / 1000.0));
        object.insert("dry_run".into(), json!(dry_run));
        object.insert(
            "missing_data_dirs".into(),
            json!(found.missing.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()),
        );
        object.insert(
            "data_dirs".into(),
            json!(found.dirs.iter().map(|dir| dir.path.display().to_string()).collect::<Vec<_>>()),
        );
        object.insert("exit_code".into(), json!(exit.code()));
    }
    Ok(value)
}

fn say(summary: &Summary, seconds: f64, dry_run: bool) -> anyhow::Result<()> {
    let Summary { found, new, grown, unfinished, unchanged, rejected, .. } = summary;
    out::line(format!(
        "found {found}, new {new}, grown {grown}, unfinished {unfinished}, unchanged {unchanged}, rejected {rejected}"
    ))?;
    let (size, segments) = (bytes(summary.bytes), count(summary.segments, "segment"));
    if dry_run {
        out::line(format!("{size} in {segments} would go into the lake, which stands at version {}", summary.k))?;
        return Ok(());
    }
    if summary.segments == 0 {
        out::line(format!("nothing new; the lake stands at version {} ({seconds:.1} s)", summary.k))?;
    } else {
        out::line(format!("{size} in {segments} went into the lake, version {} ({seconds:.1} s)", summary.k))?;
    }
    if let Some(at) = summary.tables_at.filter(|at| *at < summary.k) {
        out::line(format!("the tables stand at version {at}: `trace-lake derive` brings them up"))?;
    }
    Ok(())
}

/// What somebody should look at, one line each, to stderr.
fn complain(summary: &Summary, found: &Found) {
    for path in &found.missing {
        note(format!("missing: {}", data_dirs::said(path)));
    }
    for problem in &summary.problems {
        note(format!("not read: {}: {}", escape(&problem.path.display().to_string()), escape(&problem.what)));
    }
    for bad in &summary.bad_lines {
        note(format!("rejected: {}:{}: {}", escape(&bad.path.display().to_string()), bad.line, escape(&bad.reason)));
    }
    let told = summary.bad_lines.len() as u64;
    if summary.rejected > told {
        note(format!("rejected: {} more", summary.rejected - told));
    }
    for text in &summary.notes {
        note(format!("note: {}", escape(text)));
    }
    if !summary.problems.is_empty() {
        note(" hint: make these readable and run sync again; the rest is in the lake");
    }
    if summary.rejected > 0 {
        note(" hint: these lines are kept as they are: `trace-lake sql --query rejects`");
    }
}
