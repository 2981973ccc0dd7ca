//! `trace-lake keys sign`: what an oracle's runner calls after a run.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::DateTime;
use clap::{Args, ValueEnum};
use lake_trace::{Mode, Verdict};
use lake_verdict::{
    EMPTY_SHA256, Envelope, Kept, Run, SigningKey, Statement, Trust, examine, kept_after, key_id, payload_digest,
    start_from, statement, write_public_key,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::context::Context;
use crate::envelope_arg::envelope;
use crate::exit::{Exit, failed, usage};
use crate::key_files::read_private;
use crate::oracle_state::OracleState;
use crate::out::{self, note};
use crate::remotes::repo_of;

/// Arguments of `keys sign`.
#[derive(Args, Debug)]
#[command(after_help = "\
What the gate passes stands in the environment: ORACLE_SESSION_ID (none: a baseline that a task's sessions share),
ORACLE_TRACE_SHA256 and ORACLE_TRACE_BYTES (the trace when the oracle was asked). Attempt, chain, repository and the
session's task and base come from --state. One line goes to stdout: verdict=<base64 of the envelope>.")]
pub(crate) struct SignArgs {
    /// Which run it was
    #[arg(long, value_enum, required_unless_present = "baseline")]
    mode: Option<ModeArg>,
    /// The task
    #[arg(long, value_name = "ID", required_unless_present = "baseline")]
    task: Option<String>,
    /// The commit that the work started from
    #[arg(long, value_name = "COMMIT", required_unless_present = "baseline")]
    base: Option<String>,
    /// The copy of the diff that was graded; a baseline has none, or an empty one
    #[arg(long, value_name = "FILE")]
    diff: Option<PathBuf>,
    /// SHA-256 of the remote's URL, which `remotes.toml` of the state folder knows
    #[arg(long, value_name = "HEX", required_unless_present = "baseline")]
    remote_sha256: Option<String>,
    /// Hash over the hidden tests, both lists of paths and the image's digest
    #[arg(long, value_name = "HASH", required_unless_present = "baseline")]
    tests_hash: Option<String>,
    /// How the tests ended: 0 is PASS, 1 FAIL, any other ERROR
    #[arg(long, value_name = "N", required_unless_present = "baseline", allow_negative_numbers = true)]
    exit_status: Option<i64>,
    /// The private key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The oracle's name, that of the trust entry
    #[arg(long, value_name = "NAME")]
    oracle: String,
    /// The folder of the oracle's state and ledger
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Start the session from this shared baseline; without --mode nothing else is signed
    #[arg(long, value_name = "ENVELOPE")]
    baseline: Option<String>,
    /// Say what would be signed, sign and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeArg {
    Baseline,
    Grade,
}

/// Signs.
pub(crate) fn run(context: &Context, args: &SignArgs) -> anyhow::Result<Exit> {
    let folder = context.env.here.join(&args.state);
    let key = read_private(&context.env.here.join(&args.key))?;
    let session_id = context.env.get("ORACLE_SESSION_ID").map(str::to_owned);
    let mut state = OracleState::open(&folder, args.dry_run)?;
    let mut kept = match &session_id {
        Some(id) => state.session(id)?,
        None => None,
    };
    if let Some(given) = &args.baseline {
        let shared = envelope(context, given)?;
        let started = started(context, &shared, session_id.as_deref(), kept.as_ref(), &key, &args.oracle)?;
        if args.mode.is_none() {
            if !args.dry_run {
                state.keep(&started)?;
            }
            say(context, &shared, None, args.dry_run)?;
            return Ok(Exit::Done);
        }
        kept = Some(started);
    }
    let asked = asked(context, args, session_id, &folder)?;
    let said = statement(kept.as_ref(), asked).map_err(|error| {
        let text = crate::report::words(&anyhow::Error::from(error));
        failed(text, "nothing was signed; `trace-lake keys sign --help` says what each run needs")
    })?;
    let payload = said.to_payload();
    if args.dry_run {
        let text = String::from_utf8_lossy(&payload).into_owned();
        if context.json {
            out::json(&json!({"statement": serde_json::from_str::<Value>(&text)?, "dry_run": true}))?;
        } else {
            out::line(text)?;
        }
        return Ok(Exit::Done);
    }
    let signed = lake_verdict::sign(&key, &payload);
    let after = kept_after(kept.as_ref(), &said, payload_digest(&payload));
    let seq = state.append(&signed, after.as_ref())?;
    say(context, &signed, Some((seq, &said)), false)?;
    Ok(Exit::Done)
}

/// What the runner and the gate say of the run.
fn asked(context: &Context, args: &SignArgs, session_id: Option<String>, folder: &Path) -> anyhow::Result<Run> {
    let missing = |flag: &str| usage(format!("--mode needs {flag}"), "`trace-lake keys sign --help` lists them");
    let text = |given: &Option<String>, flag: &str| given.clone().ok_or_else(|| missing(flag));
    let mode = match args.mode.ok_or_else(|| missing("--mode"))? {
        ModeArg::Baseline => Mode::Baseline,
        ModeArg::Grade => Mode::Grade,
    };
    let diff_sha256 = match (&args.diff, mode) {
        (Some(path), _) => digest_of(&context.env.here.join(path))?,
        (None, Mode::Baseline) => EMPTY_SHA256.to_owned(),
        (None, Mode::Grade) => return Err(missing("--diff")),
    };
    let remote = sha256_of(&text(&args.remote_sha256, "--remote-sha256")?, "--remote-sha256")?;
    let trace = trace(context)?;
    if session_id.is_some() && mode == Mode::Grade && trace.is_none() {
        note("warning: the gate passed no ORACLE_TRACE_SHA256 and ORACLE_TRACE_BYTES: this verdict proves no flip");
    }
    Ok(Run {
        mode,
        verdict: match args.exit_status.ok_or_else(|| missing("--exit-status"))? {
            0 => Verdict::Pass,
            1 => Verdict::Fail,
            _ => Verdict::Error,
        },
        session_id,
        task_id: text(&args.task, "--task")?,
        repo: repo_of(folder, &remote)?,
        base_commit: text(&args.base, "--base")?,
        tests_hash: text(&args.tests_hash, "--tests-hash")?,
        trace,
        run_id: uuid::Uuid::new_v4().to_string(),
        finished_at: DateTime::from_timestamp_millis(context.env.now_ms).unwrap_or_default(),
        oracle: args.oracle.clone(),
        diff_sha256,
    })
}

fn trace(context: &Context) -> anyhow::Result<Option<(String, u64)>> {
    let hint = "the gate passes both, or neither";
    match (context.env.get("ORACLE_TRACE_SHA256"), context.env.get("ORACLE_TRACE_BYTES")) {
        (None, None) => Ok(None),
        (Some(hash), Some(bytes)) => {
            let bytes = bytes.parse().map_err(|_| usage("ORACLE_TRACE_BYTES is no number of bytes", hint))?;
            Ok(Some((sha256_of(hash, "ORACLE_TRACE_SHA256")?, bytes)))
        }
        _ => Err(usage("only one of ORACLE_TRACE_SHA256 and ORACLE_TRACE_BYTES is set", hint)),
    }
}

fn sha256_of(text: &str, name: &str) -> anyhow::Result<String> {
    let hash = text.strip_prefix("sha256:").unwrap_or(text).to_lowercase();
    if hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Ok(hash);
    }
    Err(usage(format!("{name} is no SHA-256"), "it is 64 hexadecimal digits"))
}

fn digest_of(path: &Path) -> anyhow::Result<String> {
    let reading = || format!("reading the diff {}", path.display());
    let mut hash = Sha256::new();
    let mut file = std::fs::File::open(path).with_context(reading)?;
    std::io::copy(&mut file, &mut hash).with_context(reading)?;
    Ok(hex::encode(hash.finalize()))
}

/// The session as it starts from a shared baseline, which a trusted key or this one must have signed.
fn started(
    context: &Context,
    shared: &str,
    session_id: Option<&str>,
    kept: Option<&Kept>,
    key: &SigningKey,
    oracle: &str,
) -> anyhow::Result<Kept> {
    let Some(session_id) = session_id else {
        return Err(usage("--baseline starts a session, and ORACLE_SESSION_ID names none", "the gate passes it"));
    };
    let mut examined = examine(shared, &own(key, oracle)?, None);
    if let Some(trust) = context.trust()?.filter(|_| !examined.stands()) {
        examined = examine(shared, &trust, None);
    }
    let refused = examined.steps.iter().find(|step| step.flag.is_some());
    if let Some(step) = refused {
        return Err(failed(
            format!("the shared baseline is refused at {}: {}", step.name, step.detail),
            "it must be signed by this --key, or by a key of --trust",
        ));
    }
    let payload = Envelope::parse(shared).map(|envelope| envelope.payload).unwrap_or_default();
    let said = Statement::parse_strict(&payload).context("reading the shared baseline")?;
    start_from(kept, session_id, &said, payload_digest(&payload))
        .map_err(|error| failed(error, "a session starts from one baseline, its own or a shared one"))
}

/// A trust file of this key alone.
fn own(key: &SigningKey, oracle: &str) -> anyhow::Result<Trust> {
    let public = key.verifying_key();
    let oracle = toml_edit::Value::from(oracle);
    let text = format!(
        "version = 1\n[[keys]]\nid = \"{}\"\npublic_key = \"\"\"\n{}\"\"\"\noracle = {oracle}\n",
        key_id(&public),
        write_public_key(&public)
    );
    Trust::parse(&text).map_err(|error| usage(error, "--oracle is a name"))
}

fn say(context: &Context, envelope: &str, signed: Option<(u64, &Statement)>, dry_run: bool) -> anyhow::Result<()> {
    let verdict = STANDARD.encode(envelope);
    if !context.json {
        out::line(format!("verdict={verdict}"))?;
        return Ok(());
    }
    let (seq, said) = signed.unzip();
    out::json(&json!({
        "verdict": verdict, "seq": seq, "attempt": said.map(|s| s.attempt), "run_id": said.map(|s| &s.run_id),
        "mode": said.map(|s| s.mode.as_str()), "says": said.map(|s| s.verdict.as_str()), "dry_run": dry_run,
    }))?;
    Ok(())
}
