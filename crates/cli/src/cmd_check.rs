//! `trace-lake check`: scans for secrets and verifies signatures of what is new.

use std::collections::BTreeMap;

use clap::Args;
use lake_check::{Options, Report};
use serde_json::{Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::ledger_arg::LedgerArgs;
use crate::lock::lock;
use crate::out::{self, escape, note};
use crate::progress::Progress;
use crate::units::{bytes, count};

/// Findings that are said at a terminal; `sql` has them all.
const SAID: usize = 20;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Exit with 4 when anything in the lake was found or flagged, in this run or before
    #[arg(long)]
    strict: bool,
    /// Look at everything, write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    ledger: LedgerArgs,
}

/// Checks.
pub(crate) fn run(context: &Context, args: &CheckArgs) -> anyhow::Result<Exit> {
    let trust = context.trust()?;
    let ledger = args.ledger.read(context, trust.as_ref())?;
    let lake = context.open()?;
    let options = Options { trust, ledger, dry_run: args.dry_run, ..context.check_options(&lake)? };
    let _lock = if args.dry_run { None } else { Some(lock(&context.env, "check", &lake, &[])?) };
    let progress = Progress::bytes(&context.env, "checking");
    let report = lake_check::check(&lake, &options, &progress, context.signals.stop())?;
    let seconds = progress.seconds();
    drop(progress);
    let found = report.with_secrets > 0 || !report.flags.is_empty();
    let flagged = found || report.with_secrets_before > 0 || report.flagged_before > 0;
    let exit = match (report.unread > 0 || report.damaged > 0, args.strict && flagged) {
        (true, _) => Exit::Partly,
        (false, true) => Exit::Strict,
        (false, false) => Exit::Done,
    };
    if context.json {
        let mut value = serde_json::to_value(&report)?;
        if let Value::Object(object) = &mut value {
            object.insert("seconds".into(), json!((seconds * 1000.0).round() / 1000.0));
            object.insert("dry_run".into(), json!(args.dry_run));
            object.insert("signatures_judged".into(), json!(options.trust.is_some()));
            object.insert("exit_code".into(), json!(exit.code()));
        }
        out::json(&value)?;
    } else {
        say(&report, seconds, options.trust.is_some(), args.dry_run)?;
    }
    for text in &report.notes {
        note(format!("note: {}", escape(text)));
    }
    Ok(exit)
}

fn say(report: &Report, seconds: f64, judged: bool, dry_run: bool) -> anyhow::Result<()> {
    let looked = count(report.looked_at_secrets, "session");
    out::line(format!(
        "secrets: looked at {looked}, found in {}, let pass in {}",
        report.with_secrets, report.allowed
    ))?;
    out::line(listed("  by rule: ", &report.findings_by_rule))?;
    if judged {
        out::line(format!("signatures: judged {}", count(report.looked_at_signatures, "session")))?;
        out::line(listed("  by outcome: ", &report.outcomes))?;
        out::line(listed("  by flag: ", &report.flags))?;
    } else {
        out::line("signatures: not judged, no trust file is named (--trust)")?;
    }
    if report.with_secrets_before > 0 || report.flagged_before > 0 {
        let flags = if judged { format!(", flags in {}", report.flagged_before) } else { String::new() };
        out::line(format!("found before: secrets in {}{flags}", count(report.with_secrets_before, "session")))?;
    }
    for found in report.secrets.iter().take(SAID) {
        let (finding, branch) = (&found.finding, found.branch);
        let session = escape(&found.session_id);
        let (field, rule) = (escape(&finding.field), escape(&finding.rule));
        out::line(format!("  {session} branch {branch} line {}: {rule} in {field}", finding.line))?;
    }
    let total: u64 = report.findings_by_rule.values().sum();
    if total > SAID as u64 {
        out::line("  all of them: trace-lake sql \"select * from findings where current\"")?;
    }
    let verb = if dry_run { "would be written" } else { "written" };
    out::line(format!(
        "{} {verb} ({}, {seconds:.1} s), {} had theirs; version {}",
        count(report.rows, "row"),
        bytes(report.bytes),
        report.already,
        report.k
    ))?;
    if report.behind > 0 {
        out::line(format!("the tables are {} behind the log", count(report.behind, "batch record")))?;
    }
    Ok(())
}

/// `a 3, b 1`, the most frequent first.
pub(crate) fn listed(title: &str, counts: &BTreeMap<String, u64>) -> String {
    let mut all: Vec<(&String, &u64)> = counts.iter().collect();
    all.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let words: Vec<String> = all.iter().map(|(word, n)| format!("{} {n}", escape(word))).collect();
    format!("{title}{}", if words.is_empty() { "none".to_owned() } else { words.join(", ") })
}
