//! `trace-lake keys verify`: one verdict, or all of a trace, step by step.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use lake_trace::{Fold, Hashed, LineRef, lines};
use lake_verdict::{Envelope, Ledger, Statement, Trust, Whole, examine, judge_whole, payload_digest};
use serde_json::{Value, json};

use crate::context::Context;
use crate::envelope_arg::envelope;
use crate::exit::{Exit, usage};
use crate::keys_list::needed;
use crate::out::{self, escape};
use crate::session_view::{VerdictView, verdicts};
use crate::session_words::say_verdict;
use crate::units::parse_when;

/// Arguments of `keys verify`.
#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// An envelope: its JSON, its base64, a line `verdict=…`, a file with one, or `-` for stdin
    #[arg(required_unless_present = "trace")]
    envelope: Option<String>,
    /// Look at how it is bound to this trace too; alone: at every verdict in it
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// When the lake first held it: without that nothing of a compromised key counts
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    at: Option<i64>,
}

/// Explains.
pub(crate) fn run(context: &Context, args: &VerifyArgs) -> anyhow::Result<Exit> {
    let trust = needed(context)?;
    let given = args.envelope.as_deref().map(|given| envelope(context, given)).transpose()?;
    match (given, &args.trace) {
        (given, Some(trace)) => in_trace(context, &trust, given.as_deref(), &context.env.here.join(trace), args.at),
        (Some(given), None) => alone(context, &trust, &given, args.at),
        (None, None) => Err(usage("there is nothing to verify", "give an envelope, or --trace")),
    }
}

fn alone(context: &Context, trust: &Trust, envelope: &str, at: Option<i64>) -> anyhow::Result<Exit> {
    let examined = examine(envelope, trust, at);
    let stands = examined.stands();
    let exit = if stands { Exit::Done } else { Exit::Failed };
    let flag = examined.steps.iter().find_map(|step| step.flag);
    if context.json {
        let steps: Vec<Value> = examined
            .steps
            .iter()
            .map(|step| json!({"name": step.name, "ok": step.ok, "detail": step.detail, "flag": step.flag.map(|f| f.as_str())}))
            .collect();
        out::json(&json!({
            "verifies": stands, "flag": flag.map(|flag| flag.as_str()), "key_id": examined.key_id,
            "payload_digest": examined.payload_digest, "statement": signed(envelope, examined.statement.as_ref()),
            "steps": steps, "exit_code": exit.code(),
        }))?;
        return Ok(exit);
    }
    if let Some(said) = &examined.statement {
        let session = said
            .session_id
            .as_deref()
            .map_or("every session of its task".to_owned(), |id| format!("session {}", escape(id)));
        out::line(format!(
            "{} {} {} of {session}, task {}",
            said.mode,
            said.attempt,
            said.verdict,
            escape(&said.task_id)
        ))?;
        let finished = crate::keys_list::when(said.finished_at);
        out::line(format!("  in {} at {}, finished at {finished}", escape(&said.repo), escape(&said.base_commit)))?;
    }
    for step in &examined.steps {
        let mark = if step.ok { "ok  " } else { "FAIL" };
        out::line(format!("  {mark} {:9} {}", step.name, escape(&step.detail)))?;
    }
    out::line(match flag.filter(|_| !stands) {
        Some(flag) => format!("does not verify [{flag}]"),
        None => "verifies; --trace looks at how it is bound to a trace".to_owned(),
    })?;
    Ok(exit)
}

/// The statement as it was signed; null where no trusted key signed one.
fn signed(envelope: &str, statement: Option<&Statement>) -> Value {
    let payload = statement.and_then(|_| Envelope::parse(envelope).ok()).map(|envelope| envelope.payload);
    payload.and_then(|payload| serde_json::from_slice(&payload).ok()).unwrap_or(Value::Null)
}

fn in_trace(
    context: &Context,
    trust: &Trust,
    envelope: Option<&str>,
    path: &Path,
    at: Option<i64>,
) -> anyhow::Result<Exit> {
    if let Some(text) = envelope.filter(|text| !examine(text, trust, at).stands()) {
        return alone(context, trust, text, at);
    }
    let mut bytes = std::fs::read(path).with_context(|| format!("reading the trace {}", path.display()))?;
    let mut fold = Fold::new(None);
    let mut end = 0;
    for (number, line) in (1..).zip(lines(&bytes)) {
        let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
        fold.line(line.bytes, at, &mut String::new());
        end = line.end;
    }
    // What follows the last newline is no line yet.
    bytes.truncate(end);
    let bytes = Hashed::new(bytes);
    // An envelope that the trace does not hold may still be bound to it: it came too late for the trace.
    let line = envelope.map(|text| format!("{{\"seq\":1,\"envelope\":{}}}", text.replace(['\n', '\r'], " ")));
    let ledger = line.map(|line| Ledger::parse(&line, trust)).transpose()?;
    let digest = envelope.and_then(digest_of);
    let whole = Whole {
        session_id: fold.session_id().unwrap_or_default(),
        branch: 0,
        fold: &fold,
        bytes: &bytes,
        committed_at: &|_| at,
        ledger: ledger.as_ref(),
    };
    let judged = judge_whole(whole, Some(trust), true);
    let all = verdicts(&fold, &judged, true);
    let asked = |view: &&VerdictView| digest.is_none() || view.payload_digest == digest;
    let shown: Vec<&VerdictView> = all.iter().filter(asked).collect();
    let verifies = !shown.is_empty() && shown.iter().all(|view| view.verifies == Some(true));
    let exit = if verifies { Exit::Done } else { Exit::Failed };
    if context.json {
        let flags: Vec<&str> = judged.flags.iter().map(|(flag, ..)| flag.as_str()).collect();
        out::json(&json!({
            "verifies": verifies, "verdicts": shown, "outcome": judged.outcome.as_str(), "flags": flags,
            "graded_end": judged.pass.as_ref().or(judged.negative.as_ref()).map(|evidence| evidence.prefix_end),
            "exit_code": exit.code(),
        }))?;
        return Ok(exit);
    }
    for view in &shown {
        say_verdict(view)?;
    }
    for (_, missing) in &judged.missing {
        out::line(format!("  does not fit this trace: {}", escape(missing)))?;
    }
    if shown.is_empty() && judged.missing.is_empty() {
        out::line("no verdict of this trace is asked for")?;
    }
    out::line(format!("session {}: {}", escape(fold.session_id().unwrap_or("without an id")), judged.outcome))?;
    Ok(exit)
}

fn digest_of(envelope: &str) -> Option<String> {
    Envelope::parse(envelope).ok().map(|envelope| payload_digest(&envelope.payload))
}
