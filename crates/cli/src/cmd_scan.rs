//! `trace-lake scan`: looks for secrets in any text or JSON lines, no lake needed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};

use clap::Args;
use lake_check::{LooseFinding, Options, look_through};
use lake_secrets::{AllowList, RuleSet};
use serde_json::{Value, json};

use crate::cmd_check::listed;
use crate::context::{Context, stopped};
use crate::exit::{Exit, failed, usage};
use crate::out::{self, escape, note};
use crate::progress::Progress;
use crate::sarif;
use crate::units::count;

/// What stands for the standard input.
const STDIN: &str = "-";
/// More of the standard input than this is kept in a file without a name until the end, bytes.
const IN_MEMORY: usize = 64 << 20;

/// Arguments of `scan`.
#[derive(Args, Debug)]
pub(crate) struct ScanArgs {
    /// Texts or JSON lines, traces among them; `-` or nothing reads the standard input
    #[arg(value_name = "FILE")]
    files: Vec<String>,
    /// One SARIF 2.1.0 document instead of JSON lines
    #[arg(long)]
    sarif: bool,
    /// Exit with 4 when anything was found
    #[arg(long)]
    strict: bool,
}

/// Scans.
pub(crate) fn run(context: &Context, args: &ScanArgs) -> anyhow::Result<Exit> {
    let files = match args.files.as_slice() {
        [] if io::stdin().is_terminal() => {
            return Err(usage("nothing to scan", "name files, or `-` for the standard input"));
        }
        [] => vec![STDIN.to_owned()],
        files => files.to_vec(),
    };
    if files.iter().filter(|file| *file == STDIN).count() > 1 {
        return Err(usage("`-` is named twice", "the standard input can be read once"));
    }
    let options = Options {
        ledger: None,
        trust: None,
        allow: context.allow()?.unwrap_or_else(AllowList::empty),
        fingerprint_key: fingerprint_key(context)?,
        now_ms: context.env.now_ms,
        dry_run: true,
    };
    let progress = Progress::bytes(&context.env, "scanning");
    let mut results = Vec::new();
    let mut by_rule: BTreeMap<String, u64> = BTreeMap::new();
    let (mut unread, mut allowed) = (0, 0);
    for file in &files {
        let mut each = |found: LooseFinding| -> anyhow::Result<()> {
            *by_rule.entry(found.finding.rule.clone()).or_default() += 1;
            if args.sarif {
                results.push(sarif::result(file, &found));
                return Ok(());
            }
            out::json(&line(file, &found)).map_err(Into::into)
        };
        let looked = open(file)
            .map_err(anyhow::Error::from)
            .and_then(|mut source| look_through(&mut source, &options, &progress, context.signals.stop(), &mut each));
        match looked {
            Ok(looked) => allowed += looked.allowed,
            Err(error) if out::is_broken_pipe(&error) => return Err(error),
            Err(error) => {
                unread += 1;
                note(format!("trace-lake: reading {}: {}", escape(file), escape(&format!("{error:#}"))));
            }
        }
        if let Some(exit) = context.signals.exit() {
            return Err(stopped(exit));
        }
    }
    drop(progress);
    if args.sarif {
        out::json(&sarif::document(RuleSet::builtin(), results))?;
    }
    let found: u64 = by_rule.values().sum();
    note(listed(&format!("{}, let pass {allowed}; by rule: ", count(found, "finding")), &by_rule));
    if unread == files.len() {
        let what = if unread == 1 { "the input" } else { "none of the inputs" };
        let verb = if unread == 1 { "could not be read" } else { "could be read" };
        return Err(failed(format!("{what} {verb}"), "check the paths, and that this user may read them"));
    }
    Ok(match (unread > 0, args.strict && found > 0) {
        (true, _) => Exit::Partly,
        (false, true) => Exit::Strict,
        (false, false) => Exit::Done,
    })
}

/// The lake's own when one is named by a flag, so that fingerprints are those of its findings; else one of this run,
/// with which nobody can test a guess.
fn fingerprint_key(context: &Context) -> anyhow::Result<Vec<u8>> {
    if context.settings.lake.as_ref().is_some_and(|lake| lake.origin == crate::settings::Origin::Flag("lake")) {
        return Ok(Context::fingerprint_key(&context.open()?));
    }
    Ok(uuid::Uuid::new_v4().as_bytes().to_vec())
}

/// What is read twice.
trait Source: Read + Seek {}
impl<T: Read + Seek> Source for T {}

fn open(file: &str) -> io::Result<Box<dyn Source>> {
    if file == STDIN {
        return spooled(&mut io::stdin().lock());
    }
    let mut opened = File::open(file)?;
    if opened.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder; name the files in it"));
    }
    // A pipe cannot be read twice.
    if opened.stream_position().is_err() { spooled(&mut opened) } else { Ok(Box::new(opened)) }
}

fn spooled(from: &mut impl Read) -> io::Result<Box<dyn Source>> {
    let mut kept = tempfile::spooled_tempfile(IN_MEMORY);
    io::copy(from, &mut kept)?;
    kept.flush()?;
    kept.seek(SeekFrom::Start(0))?;
    Ok(Box::new(kept))
}

/// One finding as a line; the value of the secret is nowhere in it.
fn line(file: &str, found: &LooseFinding) -> Value {
    let at = &found.finding;
    json!({
        "file": file,
        "line": at.line,
        "session_id": found.session_id,
        "event_id": Some(&at.event_id).filter(|id| !id.is_empty()),
        "field": at.field,
        "start": at.start,
        "end": at.end,
        "rule": at.rule,
        "severity": at.severity,
        "fingerprint": at.fingerprint,
        "rules": RuleSet::builtin().digest(),
    })
}
