//! `trace-lake compact`: merges small files without changing a row.

use clap::Args;
use lake_store::Tables;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::lock::lock;
use crate::out;
use crate::units::{bytes, count};

/// Arguments of `compact`.
#[derive(Args, Debug)]
pub(crate) struct CompactArgs {
    /// Say what would be merged, write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Compacts.
pub(crate) fn run(context: &Context, args: &CompactArgs) -> anyhow::Result<Exit> {
    let lake = context.open()?;
    let _lock = if args.dry_run { None } else { Some(lock(&context.env, "compact", &lake, &[])?) };
    if args.dry_run {
        Context::say_behind(&lake, Tables::open(&lake)?.map_or(0, |tables| tables.k()))?;
    }
    let done = lake_store::compact(&lake, args.dry_run, context.signals.stop())?;
    if context.json {
        out::json(&json!({
            "dry_run": args.dry_run,
            "files_before": done.files_before, "files_after": done.files_after,
            "bytes_before": done.bytes_before, "bytes_after": done.bytes_after,
        }))?;
    } else if args.dry_run {
        let files = count(done.files_before, "file");
        out::line(format!("{files} ({}) would be merged", bytes(done.bytes_before)))?;
    } else {
        let (before, after) = (bytes(done.bytes_before), bytes(done.bytes_after));
        let files = count(done.files_before, "file");
        out::line(format!("{files} ({before}) became {} ({after}); the old ones stay", done.files_after))?;
    }
    Ok(Exit::Done)
}
