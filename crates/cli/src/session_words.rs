//! A session as a person reads it.

use std::io;

use serde_json::Value;

use crate::out::{self, escape, escape_block};
use crate::session_view::{BranchView, Mask, TurnView, VerdictView};
use crate::units::{bytes, count};

/// Lines of a tool's output that are shown unless all are asked for.
const LINES: usize = 12;
/// Characters of one line that are shown unless all are asked for.
const WIDTH: usize = 400;

/// Prints a branch.
pub(crate) fn say(session_id: &str, view: &BranchView, full: bool) -> io::Result<()> {
    out::line(format!("session {} branch {}", escape(session_id), view.branch))?;
    for key in ["repo", "task_id", "base_commit", "harness", "version", "model", "started_at", "ended_at", "ended_by"] {
        if let Some(text) = view.header.get(key).and_then(Value::as_str) {
            out::line(format!("  {key:12} {}", escape(text)))?;
        }
    }
    let said = |key: &str| view.header.get(key).and_then(Value::as_str).map(escape).unwrap_or_else(|| "-".into());
    let size = view.header.get("bytes").and_then(Value::as_u64).unwrap_or(0);
    let segments = view.header.get("segments").and_then(Value::as_u64).unwrap_or(0);
    out::line(format!(
        "  {:12} {} on {}, {} in {}",
        "source",
        said("source"),
        said("host"),
        bytes(size),
        count(segments, "segment")
    ))?;
    let by = if view.judged { "judged by the trust file" } else { "as recorded, signatures not judged" };
    out::line(format!("  {:12} {} ({by})", "outcome", view.outcome))?;
    if let Some(end) = view.graded_end {
        out::line(format!("  {:12} the first {end} bytes", "graded"))?;
    }
    let flags = if view.flags.is_empty() { "none".to_owned() } else { view.flags.join(", ") };
    out::line(format!("  {:12} {}", "flags", escape(&flags)))?;
    out::line(format!("  {:12} {}", "secrets", escape(&view.secrets)))?;
    for reject in &view.rejects {
        out::line(format!("  {:12} line {}: {}", "reject", reject.line, escape(&reject.reason)))?;
    }
    out::line("verdicts")?;
    for verdict in &view.verdicts {
        say_verdict(verdict)?;
    }
    if view.verdicts.is_empty() {
        out::line("  none")?;
    }
    for missing in &view.missing {
        out::line(format!("  missing: {}", escape(missing)))?;
    }
    out::line("turns")?;
    for turn in &view.turns {
        say_turn(turn, full)?;
    }
    Ok(())
}

/// One verdict, and each look at it.
pub(crate) fn say_verdict(verdict: &VerdictView) -> io::Result<()> {
    let word = |text: &Option<String>| text.as_deref().map_or_else(|| "?".to_owned(), escape);
    let attempt = verdict.attempt.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let (mode, bit) = (word(&verdict.mode), word(&verdict.verdict));
    let stands = match (verdict.signed, verdict.verifies) {
        (false, _) => "unsigned",
        (true, None) => "signed, not judged",
        (true, Some(true)) => "verifies",
        (true, Some(false)) => "does not verify",
    };
    let place = match verdict.ledger_seq {
        Some(seq) => format!("ledger {seq}"),
        None => format!("line {}", verdict.line),
    };
    let deciding = if verdict.deciding { ", decides" } else { "" };
    let flag = verdict.flag.map_or_else(String::new, |flag| format!(" [{flag}]"));
    out::line(format!("  {place}: {mode} {attempt} {bit}: {stands}{flag}{deciding}"))?;
    for step in &verdict.steps {
        let mark = if step.ok { "ok  " } else { "FAIL" };
        out::line(format!("      {mark} {:9} {}", step.name, escape(&step.detail)))?;
    }
    Ok(())
}

fn say_turn(turn: &TurnView, full: bool) -> io::Result<()> {
    let mask = match turn.mask {
        Mask::Train => "train",
        Mask::Context => "context",
        Mask::Claim => "claim, not trained",
        Mask::Out => "in no row",
    };
    let who = match (&turn.tool, &turn.role) {
        (Some(tool), _) => format!("call {}", escape(tool)),
        (None, Some(role)) => escape(role),
        (None, None) => escape(&turn.kind),
    };
    let status = turn.status.as_deref().map_or_else(String::new, |status| format!(" {}", escape(status)));
    let agent = turn.agent_id.as_deref().map_or_else(String::new, |agent| format!(" of agent {}", escape(agent)));
    out::line(format!("#{} {who}{status}{agent} ({mask}, line {}, {})", turn.seq, turn.line, turn.ts))?;
    for (title, text, whole) in [
        ("thinking", &turn.thinking, full),
        ("", &turn.text, true),
        ("input", &turn.input, full),
        ("output", &turn.output, full),
    ] {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            block(title, text, whole)?;
        }
    }
    Ok(())
}

fn block(title: &str, text: &str, full: bool) -> io::Result<()> {
    if !title.is_empty() {
        out::line(format!("    {title}:"))?;
    }
    let shown = if full { usize::MAX } else { LINES };
    let safe = escape_block(text);
    for line in safe.lines().take(shown) {
        match line.char_indices().nth(WIDTH).filter(|_| !full) {
            Some((cut, _)) => out::line(format!("    | {}…", &line[..cut]))?,
            None => out::line(format!("    | {line}"))?,
        }
    }
    let left = safe.lines().count().saturating_sub(shown);
    if left > 0 {
        out::line(format!("    | … {} more (--full)", count(left as u64, "line")))?;
    }
    Ok(())
}
