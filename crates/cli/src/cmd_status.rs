//! `trace-lake status`: what is in the lake, when it was last synced and checked, what is held back and why.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use lake_trace::format_ms;
use serde_json::{Value, json};

use crate::cmd_check::listed;
use crate::context::Context;
use crate::exit::Exit;
use crate::lake_sql;
use crate::ledger_arg::LedgerArgs;
use crate::ledger_gaps::{Gaps, gaps};
use crate::out::{self, escape, note};
use crate::outside::refuse_lake;
use crate::status_facts::{Facts, gather, metrics, newest_since};
use crate::units::{age, count, duration, parse_duration};

/// Exports that are said at a terminal.
const SAID: usize = 6;
/// Sessions and verdicts that a ledger lists and the lake lacks, said at a terminal.
const SAID_MISSING: usize = 20;

/// Arguments of `status`.
#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// Exit with 1 when the newest batch is older, such as 36h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    max_age: Option<Duration>,
    /// Only batches of this source count for --max-age
    #[arg(long, value_name = "NAME", requires = "max_age")]
    source: Option<String>,
    /// Write a textfile for the Prometheus node exporter too
    #[arg(long, value_name = "FILE")]
    prometheus: Option<PathBuf>,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Says how the lake stands.
pub(crate) fn run(context: &Context, args: &StatusArgs) -> anyhow::Result<Exit> {
    let trust = context.trust()?;
    let ledger = args.ledger.read(context, trust.as_ref())?;
    let lake = context.open()?;
    if let Some(path) = &args.prometheus {
        refuse_lake(&lake, &context.env.here.join(path), "--prometheus")?;
    }
    let asked = lake_sql::open(context, lake, None, false)?;
    let mut facts = gather(context, &asked)?;
    facts.ledger = ledger.map(|ledger| gaps(context, &asked, &ledger)).transpose()?;
    let now = context.env.now_ms;
    let late = match args.max_age {
        None => None,
        Some(max) => {
            let since = now.saturating_sub(i64::try_from(max.as_millis()).unwrap_or(i64::MAX));
            newest_since(&asked.lake, args.source.as_deref(), since)?.is_none().then_some(max)
        }
    };
    if let Some(path) = &args.prometheus {
        metrics(&facts, now).write(&context.env.here.join(path))?;
    }
    let exit = if late.is_some() { Exit::Failed } else { Exit::Done };
    if context.json {
        let mut value = serde_json::to_value(&facts)?;
        if let Value::Object(object) = &mut value {
            object.insert("too_old".into(), json!(late.is_some()));
            object.insert("exit_code".into(), json!(exit.code()));
        }
        out::json(&value)?;
    } else {
        say(&facts, now)?;
    }
    if let Some(max) = late {
        let whose = args.source.as_ref().map_or("any source".to_owned(), |s| format!("source {}", escape(s)));
        note(format!("too old: there is no batch of {whose} within {}", duration(max)));
    }
    Ok(exit)
}

fn say(facts: &Facts, now: i64) -> anyhow::Result<()> {
    let when = |ms: i64| format!("{} ({})", format_ms(ms), age(now - ms));
    out::line(format!("lake      {} ({})", escape(&facts.lake), facts.id))?;
    match facts.at_ms {
        Some(at) => out::line(format!("version   {}, committed {}", facts.k, when(at)))?,
        None => out::line("version   0, nothing was synced yet")?,
    }
    let tables = &facts.tables;
    let generation = tables.generation.map_or("none yet".to_owned(), |g| format!("generation {g}"));
    if tables.behind == 0 {
        out::line(format!("tables    {generation}, at version {}", tables.k))?;
    } else {
        let behind = count(tables.behind, "batch record");
        out::line(format!("tables    {generation}, at version {}, {behind} behind: `trace-lake derive`", tables.k))?;
    }
    out::line("synced")?;
    for one in &facts.sources {
        let (source, host) = (escape(&one.source), escape(&one.host));
        out::line(format!("  {source} on {host}: version {}, {}", one.k, when(one.at_ms)))?;
    }
    out::line(format!("sessions  {}, outcome verified in {}", facts.sessions, facts.verified))?;
    out::line(listed("  by outcome: ", &facts.outcomes))?;
    out::line(listed("  by flag: ", &facts.flags))?;
    if facts.checks.is_empty() {
        out::line("checked   never: `trace-lake check`")?;
    } else {
        out::line("checked")?;
        for check in &facts.checks {
            let (kind, done) = (escape(&check.kind), check.sessions);
            let open = facts.sessions.saturating_sub(done);
            out::line(format!("  {kind}: {done} done, {open} open, last {}", when(check.at_ms)))?;
        }
    }
    if let Some(gaps) = &facts.ledger {
        say_gaps(gaps)?;
    }
    out::line(listed("held back ", &facts.held_back))?;
    let most =
        if facts.ready == 0 { "no session".to_owned() } else { format!("at most {}", count(facts.ready, "session")) };
    let open: u64 =
        ["signatures not looked at", "secrets not looked at"].iter().filter_map(|r| facts.held_back.get(*r)).sum();
    let open = if open == 0 { String::new() } else { format!(", {} not looked at", count(open, "session")) };
    out::line(format!("ready     {most} for the next supervised set with --require-signature{open}"))?;
    if facts.exports.is_empty() {
        out::line("exported  never")?;
    } else {
        out::line("exported")?;
        for export in facts.exports.iter().take(SAID) {
            let (rows, set) = (count(export.rows, "row"), escape(&export.set));
            let out = escape(&export.out);
            out::line(format!("  {set}: {rows} of version {} in {out}, {}", export.k, when(export.at_ms)))?;
        }
        for export in facts.exports.iter().filter(|export| export.tainted > 0) {
            let (rows, out) = (count(export.tainted, "row"), escape(&export.out));
            out::line(format!(
                "  TAINTED {}: {rows} of sessions in which a secret is known only now, in {out} (manifest {})",
                escape(&export.set),
                escape(&export.manifest_sha256)
            ))?;
        }
        if facts.exports.len() > SAID {
            out::line(format!("  and {} more: trace-lake sql \"select * from exports\"", facts.exports.len() - SAID))?;
        }
    }
    Ok(())
}

fn say_gaps(gaps: &Gaps) -> anyhow::Result<()> {
    let (verdicts, sessions) = (count(gaps.verdicts, "verdict"), count(gaps.sessions, "session"));
    out::line(format!("ledger    {verdicts} of {sessions}, {} missing in the lake", gaps.missing.len()))?;
    if gaps.unused > 0 {
        out::line(format!("  {} count for nothing: their keys may not say that", count(gaps.unused, "line")))?;
    }
    for session in gaps.stripped.iter().take(SAID_MISSING) {
        let lake = if session.in_lake { "the lake has it without any" } else { "the lake lacks the whole session" };
        let (id, verdicts) = (escape(&session.session_id), count(session.verdicts, "verdict"));
        out::line(format!("  stripped {id}: {verdicts}, last {}; {lake}", session.finished_at))?;
    }
    let stripped = |id: &str| gaps.stripped.iter().any(|session| session.session_id == id);
    let single: Vec<_> = gaps.missing.iter().filter(|missing| !stripped(&missing.session_id)).collect();
    for missing in single.iter().take(SAID_MISSING) {
        let (id, run) = (escape(&missing.session_id), escape(&missing.run_id));
        let (mode, attempt, verdict) = (&missing.mode, missing.attempt, &missing.verdict);
        out::line(format!("  missing  {id}: {mode} {attempt} {verdict}, run {run}, finished {}", missing.finished_at))?;
    }
    let more = gaps.stripped.len().saturating_sub(SAID_MISSING) + single.len().saturating_sub(SAID_MISSING);
    if more > 0 {
        out::line(format!("  and {more} more: --json has them all"))?;
    }
    Ok(())
}
