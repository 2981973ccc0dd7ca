//! `trace-lake doctor`: is everything there that the nightly job needs?

use anyhow::{Context as _, bail};
use clap::Args;
use lake_store::{Lake, Tables, log};
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutMode};
use serde::Serialize;

use crate::context::Context;
use crate::data_dirs;
use crate::exit::{Exit, failed};
use crate::out::{self, escape};
use crate::report::{classify, words};
use crate::units::count;

/// A store's clock may differ from ours by this, seconds.
const CLOCK: i64 = 60;

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Leave out what has to write a scratch object
    #[arg(long)]
    dry_run: bool,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Looked {
    name: &'static str,
    ok: bool,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// Looks at everything, whatever fails on the way.
pub(crate) fn run(context: &Context, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let mut all = Vec::new();
    let mut look = |name, found: anyhow::Result<String>| {
        let looked = match found {
            Ok(detail) => Looked { name, ok: true, detail, hint: None },
            Err(error) => Looked { name, ok: false, detail: words(&error), hint: classify(&error).1 },
        };
        let ok = looked.ok;
        all.push(looked);
        ok
    };
    // Wrong ones were refused before any command ran.
    look("configuration", Ok(files(context)));
    look("data dirs", dirs(context));
    look("trust file", trust(context));
    look("allow list", allow(context));
    look("state folder", state(context));
    let mut lake = None;
    let opened = context.open().and_then(|opened| {
        let said = stands(&opened)?;
        lake = Some(opened);
        Ok(said)
    });
    look("lake", opened);
    if let Some(lake) = lake.filter(|_| !args.dry_run) {
        let mut late = None;
        look("create-if-absent", scratch(&lake, &mut late));
        if let Some(store_ms) = late {
            look("clock", clock(store_ms));
        }
    }
    let ok = all.iter().all(|looked| looked.ok);
    let exit = if ok { Exit::Done } else { Exit::Failed };
    if context.json {
        out::json(&serde_json::json!({"ok": ok, "checks": all, "exit_code": exit.code()}))?;
        return Ok(exit);
    }
    for Looked { name, ok, detail, hint } in &all {
        let mark = if *ok { "ok  " } else { "FAIL" };
        out::line(format!("{mark} {name}: {}", escape(detail)))?;
        if let Some(hint) = hint {
            out::line(format!("     hint: {}", escape(hint)))?;
        }
    }
    Ok(exit)
}

fn files(context: &Context) -> String {
    let files: Vec<String> = context.settings.files.iter().map(|path| path.display().to_string()).collect();
    if files.is_empty() { "no configuration file".into() } else { files.join(", ") }
}

/// The central job has none, so that is no fault unless some were named.
fn dirs(context: &Context) -> anyhow::Result<String> {
    match data_dirs::find(&context.env, &context.settings) {
        Ok(found) if found.missing.is_empty() => Ok(count(found.dirs.len() as u64, "data dir")),
        Ok(found) => bail!("{}", found.missing.iter().map(|p| data_dirs::said(p)).collect::<Vec<_>>().join("; ")),
        Err(error) if context.settings.data_dirs.is_some() => Err(error),
        Err(_) => Ok("none here; that is right for a machine that only checks and exports".into()),
    }
}

fn trust(context: &Context) -> anyhow::Result<String> {
    let Some(trust) = context.trust()? else {
        return Ok("none named; signatures are not judged".into());
    };
    Ok(format!("{}, {}", count(trust.keys().len() as u64, "key"), trust.digest()))
}

fn allow(context: &Context) -> anyhow::Result<String> {
    Ok(context.allow()?.map_or_else(|| "none named".into(), |list| list.digest().to_owned()))
}

fn state(context: &Context) -> anyhow::Result<String> {
    let Some(folder) = context.env.state() else {
        return Ok("none: neither XDG_STATE_HOME nor HOME is set; syncs read every file each time".into());
    };
    let made = std::fs::create_dir_all(&folder).and_then(|()| tempfile::tempfile_in(&folder).map(drop));
    Ok(match made {
        Ok(()) => folder.display().to_string(),
        Err(e) => format!("{} cannot be written to ({e}); syncs read every file each time", folder.display()),
    })
}

fn stands(lake: &Lake) -> anyhow::Result<String> {
    let k = log::tip(lake)?.k;
    match Tables::open(lake).map_err(anyhow::Error::from) {
        Ok(tables) => Ok(format!("{} at version {k}, tables at {}", lake.address(), tables.map_or(0, |t| t.k()))),
        // A host that only syncs has no need of them, and no right to them.
        Err(error) if is_denied(&error) => {
            Ok(format!("{} at version {k}; its tables may not be read here: `sync --no-derive`", lake.address()))
        }
        Err(error) => Err(error),
    }
}

/// The Delta kernel hands on the words of a store's refusal, not the refusal.
fn is_denied(error: &anyhow::Error) -> bool {
    words(error).contains("lacked the necessary privileges")
}

/// Puts one object twice: the second put must be refused. What it put, it removes.
fn scratch(lake: &Lake, store_ms: &mut Option<i64>) -> anyhow::Result<String> {
    let path = Path::from(format!("doctor/{}", uuid::Uuid::new_v4()));
    let store = lake.store();
    lake.runtime().block_on(async {
        let put = || store.put_opts(&path, "scratch".into(), PutMode::Create.into());
        match put().await {
            Ok(_) => {}
            Err(object_store::Error::PermissionDenied { .. }) => {
                return Err(failed(
                    format!("this user may not create {path} in the lake"),
                    "a host that only syncs needs no such right: --dry-run leaves this out",
                ));
            }
            Err(e) => return Err(e).with_context(|| format!("creating {path} in the lake")),
        }
        let second = put().await;
        *store_ms = store.head(&path).await.ok().map(|meta| meta.last_modified.timestamp_millis());
        let removed = store.delete(&path).await;
        match second {
            Err(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }) => {}
            Err(e) => return Err(e).with_context(|| format!("creating {path} a second time")),
            Ok(_) => bail!("the store put {path} over one that was there: two syncs at once would lose batches on it"),
        }
        match removed {
            Ok(()) => Ok("the store refuses a second put".into()),
            // A host needs no right to delete.
            Err(e) => Ok(format!("the store refuses a second put ({path} could not be removed: {e})")),
        }
    })
}

fn clock(store_ms: i64) -> anyhow::Result<String> {
    let off = (chrono::Utc::now().timestamp_millis() - store_ms) / 1000;
    if off.abs() > CLOCK {
        bail!("this machine's clock and the store's differ by {off} s: set this machine's clock");
    }
    Ok(format!("within {} s of the store's", off.abs().max(1)))
}
