//! `export --verify DIR`: makes the sets of a folder again, by its manifest, and compares the bytes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::Context as _;
use clap::Parser;
use lake_export::FileEntry;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cmd_export::make;
use crate::context::Context;
use crate::exit::{Exit, usage};
use crate::export_args::{ExportArgs, request};
use crate::out::{self, escape, note};

/// The flags that a manifest stands for.
#[derive(Parser)]
struct Flags {
    #[command(flatten)]
    args: ExportArgs,
}

/// What became of a file.
struct Compared {
    path: String,
    /// What stands in the folder, against the manifest.
    in_folder: &'static str,
    /// What was made again, against the manifest.
    made_again: &'static str,
}

impl Compared {
    fn is_same(&self) -> bool {
        self.in_folder == SAME && self.made_again == SAME
    }
}

const SAME: &str = "same";
const DIFFERS: &str = "differs";
const MISSING: &str = "missing";

/// Verifies. Exits with 1 where the bytes are not the same.
pub(crate) fn run(context: &Context, args: &ExportArgs, folder: &Path) -> anyhow::Result<Exit> {
    let path = folder.join("manifest.json");
    let bytes = fs::read(&path).with_context(|| format!("reading the manifest {}", path.display()))?;
    let manifest: Value = serde_json::from_slice(&bytes).map_err(|error| no_manifest(&path, &error))?;
    let again = tempfile::tempdir().context("creating a temporary folder")?;
    let flags = flags(&manifest, args, again.path()).ok_or_else(|| no_manifest(&path, &"a field is missing"))?;
    let flags = Flags::try_parse_from(flags).map_err(|error| no_manifest(&path, &error.kind()))?.args;
    let out = again.path().join("sets");
    needs(&manifest, args)?;
    let mut request = request(context, &flags, &out)?;
    if manifest["signatures"]["judged"] == "no" {
        // A trust file of the configuration was not in force then.
        (request.trust, request.ledger) = (None, None);
    } else if request.trust.is_none() {
        return Err(usage("these sets were made with a trust file", "name it with --trust"));
    }
    request.corrections_from = texts(&manifest["request"]["corrections_from"]);
    let lake = context.open()?;
    let left_out = context.derive_behind(&lake, true)?;
    let report = make(context, &lake, flags.at, request)?;
    let made = serde_json::to_value(&report.manifest)?;
    let because = because(&manifest, &made);
    let compared = compare(&manifest, &report.manifest.files, folder)?;
    let is_same = compared.iter().all(Compared::is_same) && because.is_empty();
    let exit = match (is_same, left_out > 0) {
        (false, _) => Exit::Failed,
        (true, true) => Exit::Partly,
        (true, false) => Exit::Done,
    };
    if context.json {
        let files = compared
            .iter()
            .map(|file| json!({"path": file.path, "in_folder": file.in_folder, "made_again": file.made_again}));
        out::json(&json!({
            "folder": folder.display().to_string(),
            "k": manifest["lake"]["k"],
            "same": is_same,
            "other": because,
            "files": files.collect::<Vec<_>>(),
            "exit_code": exit.code(),
        }))?;
        return Ok(exit);
    }
    for file in compared.iter().filter(|file| !file.is_same()) {
        let name = escape(&file.path);
        out::line(format!("{name}: in the folder {}, made again {}", file.in_folder, file.made_again))?;
    }
    for what in &because {
        note(format!("not as then: {what}"));
    }
    let (files, k) = (compared.len(), &manifest["lake"]["k"]);
    let word = if is_same { "the same bytes" } else { "not the same" };
    out::line(format!("{word}: {files} files of version {k} in {}", escape(&folder.display().to_string())))?;
    Ok(exit)
}

fn no_manifest(path: &Path, why: &dyn std::fmt::Display) -> anyhow::Error {
    let message = format!("{} is no manifest that this version can read: {why}", path.display());
    usage(message, "name the folder of an export with --verify")
}

/// The words of a command line that asks for what the manifest says, into `again`; files as this run names them.
fn flags(manifest: &Value, args: &ExportArgs, again: &Path) -> Option<Vec<OsString>> {
    let asked = &manifest["request"];
    let text = |key: &str| asked[key].as_str().map(str::to_owned);
    let number = |value: &Value| value.is_number().then(|| value.to_string());
    let mut words: Vec<OsString> = vec!["export".into(), "--out".into(), again.join("sets").into()];
    let mut flag = |name: &str, value: String| words.extend([name.into(), value.into()]);
    flag("--dialect", text("dialect")?);
    flag("--sets", texts(&asked["sets"]).join(","));
    flag("--on-secret", text("on_secret")?);
    flag("--train-after-fail", text("train_after_fail")?);
    flag("--on-truncated-output", text("on_truncated_output")?);
    flag("--pair-strategy", text("pair_strategy")?);
    flag("--prompt-match", text("prompt_match")?);
    flag("--pairs-per-task", number(&asked["pairs_per_task"])?);
    flag("--at", number(&manifest["lake"]["k"])?);
    for (name, key) in [("--since", "since"), ("--until", "until"), ("--where", "where")] {
        if let Some(value) = text(key) {
            flag(name, value);
        }
    }
    for (name, key) in [("--repo", "repos"), ("--org", "orgs"), ("--model", "models")] {
        texts(&asked[key]).into_iter().for_each(|value| flag(name, value));
    }
    if let Some(ratio) = number(&asked["max_length_ratio"]) {
        flag("--max-length-ratio", ratio);
    }
    for (name, key) in [("--max-per-task", "max_per_task"), ("--max-per-repo", "max_per_repo")] {
        if let Some(most) = number(&asked[key]) {
            flag(name, most);
        }
    }
    if let Some((train, validation)) = number(&asked["split"]["train"]).zip(number(&asked["split"]["validation"])) {
        flag("--split", format!("{train}/{validation}"));
    }
    if let Some(most) = number(&asked["tokens"]["max_tokens"]) {
        flag("--max-tokens", most);
        flag("--on-too-long", asked["tokens"]["on_too_long"].as_str()?.to_owned());
    }
    if asked["require_signature"].as_bool()? {
        words.push("--require-signature".into());
    }
    words.extend(args.ledger.words());
    if asked["tokens"].is_object() {
        words.extend(args.tokens.words());
    }
    if let Some(tools) = args.tools.as_ref().filter(|_| asked["tools_sha256"].is_string()) {
        words.extend(["--tools".into(), tools.into()]);
    }
    Some(words)
}

/// What a manifest names by its hash alone has to be named here.
fn needs(manifest: &Value, args: &ExportArgs) -> anyhow::Result<()> {
    let asked = &manifest["request"];
    if asked["tools_sha256"].is_string() && args.tools.is_none() {
        return Err(usage("these sets were made with a tools file", "name it with --tools"));
    }
    if asked["tokens"].is_object() && args.tokens.words().is_empty() {
        let hint = "name them with --tokenizer and --chat-template";
        return Err(usage("these sets were made with a tokenizer and a chat template", hint));
    }
    Ok(())
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// What is not as it was then, but for counts and files.
fn because(then: &Value, now: &Value) -> Vec<String> {
    let shown = |value: &Value| if value.is_null() { "none".to_owned() } else { escape(&value.to_string()) };
    let keys: BTreeSet<&String> =
        then.as_object().into_iter().chain(now.as_object()).flatten().map(|(key, _)| key).collect();
    let differ = keys.into_iter().filter(|key| !matches!(key.as_str(), "files" | "sets") && then[*key] != now[*key]);
    differ.map(|key| format!("{key} was {}, is {}", shown(&then[key]), shown(&now[key]))).collect()
}

fn compare(manifest: &Value, made: &[FileEntry], folder: &Path) -> anyhow::Result<Vec<Compared>> {
    let hash_of = |entry: &Value| Some((entry["path"].as_str()?.to_owned(), entry["sha256"].as_str()?.to_owned()));
    let listed: Vec<(String, String)> =
        manifest["files"].as_array().into_iter().flatten().filter_map(hash_of).collect();
    let mut all = Vec::new();
    for (path, sha256) in &listed {
        let in_folder = match sha256_of(&folder.join(path)) {
            Ok(found) => {
                if found == *sha256 {
                    SAME
                } else {
                    DIFFERS
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => MISSING,
            Err(error) => return Err(error).with_context(|| format!("reading {}", folder.join(path).display())),
        };
        let made_again = match made.iter().find(|file| file.path == *path) {
            Some(file) => {
                if file.sha256 == *sha256 {
                    SAME
                } else {
                    DIFFERS
                }
            }
            None => MISSING,
        };
        all.push(Compared { path: path.clone(), in_folder, made_again });
    }
    let more = made.iter().filter(|file| listed.iter().all(|(path, _)| *path != file.path));
    all.extend(more.map(|file| Compared { path: file.path.clone(), in_folder: MISSING, made_again: "new" }));
    Ok(all)
}

fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}
