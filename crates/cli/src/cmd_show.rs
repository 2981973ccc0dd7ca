//! `trace-lake show SESSION`: one session as a person reads it.

use clap::Args;
use lake_check::Veil;
use lake_store::{Branch, catalog, read_branch, read_checks};
use serde_json::json;

use crate::context::Context;
use crate::exit::{Exit, failed};
use crate::ledger_arg::LedgerArgs;
use crate::out::{self, escape, note};
use crate::session_veil::hide;
use crate::session_view::view;
use crate::session_words::say;
use crate::units::count;

/// Sessions that are named when a prefix fits several.
const NAMED: usize = 8;

/// Arguments of `show`.
#[derive(Args, Debug)]
pub(crate) struct ShowArgs {
    /// The session's id, or the start of it if no other session's starts so
    session: String,
    /// Only this branch of it
    #[arg(long, value_name = "N")]
    branch: Option<u32>,
    /// Whole inputs and outputs
    #[arg(long)]
    full: bool,
    /// Show what the secret rules find, too, in place of placeholders
    #[arg(long)]
    reveal: bool,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Shows.
pub(crate) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Exit> {
    let trust = context.trust()?;
    let ledger = args.ledger.read(context, trust.as_ref())?;
    let lake = context.open()?;
    let catalog = catalog(&lake, None)?;
    let behind = Context::say_behind(&lake, catalog.k)?;
    let session_id = find(&catalog.branches, &args.session)?;
    let secrets = read_checks(&lake, "secrets", &context.secrets_digest()?)?;
    let options = context.check_options(&lake)?;
    let (mut views, mut hidden, mut shown) = (Vec::new(), 0, session_id.clone());
    for branch in catalog.branches.iter().filter(|b| b.session_id == session_id) {
        if args.branch.is_none_or(|wanted| wanted == branch.branch) {
            let mut one = view(&lake, branch, trust.as_ref(), ledger.as_ref(), &secrets)?;
            if !args.reveal {
                let bytes = read_branch(&lake, branch)?;
                let mut veil = Veil::over(&bytes, &options);
                hidden += hide(&mut one, &mut veil);
                veil.hide(&mut shown, "/session_id", &mut hidden);
            }
            views.push(one);
        }
    }
    if views.is_empty() {
        let wanted = args.branch.unwrap_or(0);
        return Err(failed(format!("session {} has no branch {wanted}", escape(&shown)), "leave --branch out"));
    }
    if context.json {
        out::json(&json!({
            "session_id": shown, "k": catalog.k, "behind": behind, "hidden_secrets": hidden, "branches": views
        }))?;
        return Ok(Exit::Done);
    }
    for (i, one) in views.iter().enumerate() {
        if i > 0 {
            out::line("")?;
        }
        say(&shown, one, args.full)?;
    }
    if hidden > 0 {
        note(format!("note: {} hidden here; --reveal shows them", count(hidden, "secret")));
    }
    Ok(Exit::Done)
}

fn find(branches: &[Branch], wanted: &str) -> anyhow::Result<String> {
    if branches.iter().any(|b| b.session_id == wanted) {
        return Ok(wanted.to_owned());
    }
    let mut ids: Vec<&str> =
        branches.iter().map(|b| b.session_id.as_str()).filter(|id| id.starts_with(wanted)).collect();
    ids.dedup();
    match ids.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(failed(
            format!("no session `{}` is in the lake's tables", escape(wanted)),
            "`trace-lake sql --query recent-sessions` lists the newest",
        )),
        many => {
            let named: Vec<String> = many.iter().take(NAMED).map(|id| escape(id)).collect();
            let message = format!("{} sessions start with `{}`", many.len(), escape(wanted));
            Err(failed(message, format!("they are {}", named.join(", "))))
        }
    }
}
