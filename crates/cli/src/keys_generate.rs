//! `trace-lake keys generate`: makes a key pair.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use lake_verdict::{SigningKey, Trust, VerifyingKey, key_id, write_public_key};
use serde_json::json;
use zeroize::Zeroizing;

use crate::context::Context;
use crate::exit::{Exit, usage};
use crate::key_files::{is_there, write_private};
use crate::keys_list::{at_ms, when};
use crate::out::{self, note};
use crate::units::parse_when;

/// Arguments of `keys generate`.
#[derive(Args, Debug)]
pub(crate) struct GenerateArgs {
    /// Where the private key is written to (PKCS#8 PEM, mode 0600); never replaced
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// The oracle that it signs for
    #[arg(long, value_name = "NAME")]
    oracle: String,
    /// A repository that it signs for: `*` is one part, `**` any; repeatable, without it all
    #[arg(long, value_name = "PATTERN")]
    repo: Vec<String>,
    /// Verdicts finished before this do not count
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    valid_from: Option<i64>,
    /// Verdicts finished then or later do not count
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    valid_until: Option<i64>,
    /// Look at the arguments, make no key
    #[arg(long)]
    dry_run: bool,
}

/// Makes one.
pub(crate) fn run(context: &Context, args: &GenerateArgs) -> anyhow::Result<Exit> {
    let path = context.env.here.join(&args.key);
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed).map_err(|error| anyhow::anyhow!("asking this machine for randomness: {error}"))?;
    let key = SigningKey::from_bytes(&seed);
    let public = key.verifying_key();
    let entry = entry(&public, args);
    // What is printed is what a trust file takes.
    Trust::parse(&format!("version = 1\n{entry}"))
        .map_err(|error| usage(format!("that makes no trust entry: {error}"), "correct the flag that it names"))?;
    if args.dry_run {
        if path.exists() {
            return Err(is_there(&path));
        }
        if context.json {
            out::json(&json!({"key": path, "dry_run": true}))?;
        } else {
            out::line(format!("a new private key would be written to {}", path.display()))?;
        }
        return Ok(Exit::Done);
    }
    write_private(&path, &key)?;
    let id = key_id(&public);
    if context.json {
        let public = write_public_key(&public);
        out::json(&json!({"key": path, "id": id, "public_key": public, "entry": entry, "dry_run": false}))?;
    } else {
        out::bytes(entry.as_bytes()).context("printing the trust entry")?;
        note(format!("the private key is in {}; put the entry above into the trust file", path.display()));
    }
    Ok(Exit::Done)
}

fn entry(public: &VerifyingKey, args: &GenerateArgs) -> String {
    let text = |text: &str| toml_edit::Value::from(text).to_string();
    let mut out = format!(
        "[[keys]]\nid = \"{}\"\npublic_key = \"\"\"\n{}\"\"\"\noracle = {}\n",
        key_id(public),
        write_public_key(public),
        text(&args.oracle),
    );
    if !args.repo.is_empty() {
        let repos: Vec<String> = args.repo.iter().map(|repo| text(repo)).collect();
        out += &format!("repos = [{}]\n", repos.join(", "));
    }
    for (name, time) in [("valid_from", args.valid_from), ("valid_until", args.valid_until)] {
        if let Some(time) = time {
            out += &format!("{name} = {}\n", when(at_ms(time)));
        }
    }
    out
}
