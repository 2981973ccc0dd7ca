//! `trace-lake keys list` and `keys show`: the keys of the trust file, and any one key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat, Utc};
use clap::Args;
use lake_verdict::{Revocation, Trust, TrustedKey, VerifyingKey, key_id, read_public_key, write_public_key};
use serde_json::{Value, json};

use crate::context::{Context, read};
use crate::exit::{Exit, failed, usage};
use crate::key_files::read_private;
use crate::out::{self, escape};

/// Arguments of `keys list`.
#[derive(Args, Debug)]
pub(crate) struct ListArgs {}

/// Arguments of `keys show`.
#[derive(Args, Debug)]
pub(crate) struct ShowKeyArgs {
    /// A key's id or the start of it, or a file with a private or a public key
    key: String,
}

/// Lists the trust file's.
pub(crate) fn run(context: &Context, _: &ListArgs) -> anyhow::Result<Exit> {
    let trust = needed(context)?;
    let now = now(context);
    if context.json {
        let keys: Vec<Value> = trust.keys().iter().map(|key| entry(key, now)).collect();
        out::json(&json!({"trust_digest": trust.digest(), "keys": keys}))?;
        return Ok(Exit::Done);
    }
    for key in trust.keys() {
        say(key, now)?;
    }
    if trust.keys().is_empty() {
        out::line("the trust file holds no key")?;
    }
    Ok(Exit::Done)
}

/// Shows one.
pub(crate) fn show(context: &Context, args: &ShowKeyArgs) -> anyhow::Result<Exit> {
    let path = context.env.here.join(&args.key);
    let (public, known) = if path.is_file() {
        let public = public_of(&path)?;
        let trust = context.trust()?;
        let known = trust.and_then(|trust| trust.keys().iter().find(|k| k.key == public).cloned());
        (public, known)
    } else {
        let trust = needed(context)?;
        let key = find(&trust, &args.key)?.clone();
        (key.key, Some(key))
    };
    let now = now(context);
    let (id, pem, ssh) = (key_id(&public), write_public_key(&public), ssh(&public));
    if context.json {
        let trusted = known.as_ref().map(|key| entry(key, now));
        out::json(&json!({"id": id, "public_key": pem, "ssh": ssh, "trusted": trusted}))?;
        return Ok(Exit::Done);
    }
    match &known {
        Some(key) => say(key, now)?,
        None => out::line(format!("{id}\n  state    in no trust file"))?,
    }
    out::line(format!("{pem}{ssh}"))?;
    Ok(Exit::Done)
}

fn public_of(path: &std::path::Path) -> anyhow::Result<VerifyingKey> {
    let text = zeroize::Zeroizing::new(read(path, "key")?);
    if text.contains("PRIVATE KEY") {
        return Ok(read_private(path)?.verifying_key());
    }
    read_public_key(&text).map_err(|error| {
        usage(format!("{} {error}", path.display()), "name a file with an Ed25519 key, or an id of the trust file")
    })
}

/// The trust file, which must be named.
pub(crate) fn needed(context: &Context) -> anyhow::Result<Trust> {
    context.trust()?.ok_or_else(|| {
        usage("no trust file is named", "name it with --trust, TRACE_LAKE_TRUST, or `trust` in trace-lake.toml")
    })
}

/// The one key whose id it is, or starts so; `sha256:` may be left out.
pub(crate) fn find<'t>(trust: &'t Trust, wanted: &str) -> anyhow::Result<&'t TrustedKey> {
    let wanted = wanted.strip_prefix("sha256:").unwrap_or(wanted);
    let starts = |key: &&TrustedKey| key.id.strip_prefix("sha256:").is_some_and(|id| id.starts_with(wanted));
    let found: Vec<&TrustedKey> = trust.keys().iter().filter(starts).collect();
    match found.as_slice() {
        [one] if !wanted.is_empty() => Ok(one),
        [] => Err(failed(
            format!("no key of the trust file has the id {}", escape(wanted)),
            "`trace-lake keys list` says which there are",
        )),
        _ => Err(failed(format!("{} keys have an id that starts so", found.len()), "give more of it")),
    }
}

fn now(context: &Context) -> DateTime<Utc> {
    at_ms(context.env.now_ms)
}

/// Milliseconds since 1970 UTC as a time.
pub(crate) fn at_ms(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or_default()
}

fn ssh(public: &VerifyingKey) -> String {
    let blob = [b"\0\0\0\x0bssh-ed25519\0\0\0\x20".as_slice(), public.as_bytes()].concat();
    format!("ssh-ed25519 {}", STANDARD.encode(blob))
}

/// One word of how a key stands, and since or until when.
fn state(key: &TrustedKey, now: DateTime<Utc>) -> (&'static str, Option<DateTime<Utc>>) {
    match key.revoked {
        Some(Revocation::Compromised { since, .. }) => ("compromised", Some(since)),
        Some(Revocation::Superseded { revoked_at }) => ("superseded", Some(revoked_at)),
        None if key.valid_from.is_some_and(|from| now < from) => ("not yet valid", key.valid_from),
        None if key.valid_until.is_some_and(|until| now >= until) => ("expired", key.valid_until),
        None => ("in force", None),
    }
}

/// RFC 3339, no digits that say nothing.
pub(crate) fn when(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
}

fn entry(key: &TrustedKey, now: DateTime<Utc>) -> Value {
    let (word, since) = state(key, now);
    json!({
        "id": key.id, "oracle": key.oracle, "repos": key.repos, "state": word, "since": since.map(when),
        "valid_from": key.valid_from.map(when), "valid_until": key.valid_until.map(when),
    })
}

fn say(key: &TrustedKey, now: DateTime<Utc>) -> anyhow::Result<()> {
    let (word, since) = state(key, now);
    let edge = |time: Option<DateTime<Utc>>, none: &str| time.map_or_else(|| none.to_owned(), when);
    out::line(&key.id)?;
    out::line(format!("  oracle   {}", escape(&key.oracle)))?;
    let repos = key.repos.as_ref().map_or("all".to_owned(), |repos| escape(&repos.join(", ")));
    out::line(format!("  scope    {}", if repos.is_empty() { "none" } else { &repos }))?;
    let (from, until) = (edge(key.valid_from, "the beginning"), edge(key.valid_until, "no end"));
    out::line(format!("  window   from {from}, until {until}"))?;
    let since = since.map_or_else(String::new, |time| format!(" ({})", when(time)));
    out::line(format!("  state    {word}{since}"))?;
    Ok(())
}
