//! `trace-lake rebuild`: makes the tables anew from raw and log.

use clap::Args;
use lake_store::Tables;
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::lock::lock;
use crate::out;
use crate::progress::Progress;
use crate::units::count;

/// Arguments of `rebuild`.
#[derive(Args, Debug)]
pub(crate) struct RebuildArgs {
    /// Say which generation would be made, write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Rebuilds.
pub(crate) fn run(context: &Context, args: &RebuildArgs) -> anyhow::Result<Exit> {
    let lake = context.open()?;
    if args.dry_run {
        let (next, stands) = Tables::open(&lake)?.map_or((1, 0), |tables| (tables.generation() + 1, tables.k()));
        let k = stands + Context::say_behind(&lake, stands)?;
        if context.json {
            out::json(&json!({"dry_run": true, "generation": next, "to": k}))?;
        } else {
            out::line(format!("generation {next} would be made from {} of the log", count(k, "batch record")))?;
        }
        return Ok(Exit::Done);
    }
    let _lock = lock(&context.env, "rebuild", &lake, &[])?;
    let progress = Progress::bytes(&context.env, "rebuilding");
    let (generation, derived) = lake_store::rebuild(&lake, context.signals.stop(), &|bytes| progress.add_done(bytes))?;
    drop(progress);
    if context.json {
        out::json(&json!({
            "generation": generation, "to": derived.to, "segments": derived.segments, "notes": derived.notes, "damaged": derived.damaged,
        }))?;
    } else {
        let segments = count(derived.segments, "segment");
        out::line(format!("generation {generation} stands at version {}, {segments}", derived.to))?;
        for text in &derived.notes {
            out::note(out::escape(text));
        }
    }
    Ok(if derived.damaged > 0 { Exit::Partly } else { Exit::Done })
}
