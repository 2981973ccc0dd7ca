//! `trace-lake derive`: brings the tables up to the log.

use clap::Args;
use lake_store::{Tables, log};
use serde_json::json;

use crate::context::Context;
use crate::exit::Exit;
use crate::lock::lock;
use crate::out;
use crate::progress::Progress;
use crate::units::count;

/// Arguments of `derive`.
#[derive(Args, Debug)]
pub(crate) struct DeriveArgs {
    /// Say how far behind the tables are, write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Derives.
pub(crate) fn run(context: &Context, args: &DeriveArgs) -> anyhow::Result<Exit> {
    let lake = context.open()?;
    if args.dry_run {
        let stands = Tables::open(&lake)?.map_or(0, |tables| tables.k());
        let k = log::tip(&lake)?.k;
        if context.json {
            out::json(&json!({"dry_run": true, "from": stands, "to": k, "behind": k - stands.min(k)}))?;
        } else {
            out::line(format!("the tables stand at version {stands} of {k}"))?;
        }
        return Ok(Exit::Done);
    }
    let _lock = lock(&context.env, "derive", &lake, &[])?;
    let progress = Progress::bytes(&context.env, "deriving");
    let derived = lake_store::derive(&lake, context.signals.stop(), &|bytes| progress.add_done(bytes))?;
    drop(progress);
    if context.json {
        let told = json!({"from": derived.from, "to": derived.to, "segments": derived.segments, "notes": derived.notes, "damaged": derived.damaged});
        out::json(&told)?;
    } else {
        let segments = count(derived.segments, "segment");
        out::line(format!("tables from version {} to {}, {segments} added", derived.from, derived.to))?;
        for text in &derived.notes {
            out::note(out::escape(text));
        }
    }
    Ok(if derived.damaged > 0 { Exit::Partly } else { Exit::Done })
}
