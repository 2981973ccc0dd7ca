//! `trace-lake keys revoke`: takes a key's trust back, and lists what it touched.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use clap::{Args, ValueEnum};
use lake_verdict::{Revocation, Trust};
use serde_json::json;
use toml_edit::{Datetime, DocumentMut, Item, Table, Value};

use crate::context::{Context, read};
use crate::exit::{Exit, failed, usage};
use crate::key_use::{KeyUse, key_use};
use crate::keys_list::{at_ms, find, needed, when};
use crate::lake_sql;
use crate::out::{self, escape, note};
use crate::units::{count, parse_when};

/// Arguments of `keys revoke`.
#[derive(Args, Debug)]
#[command(after_help = "\
A superseded key's verdicts count if they finished before --at. Of a compromised one only those count whose batch was
committed before --compromised-since. With a lake (--lake) each session, row and export that the key touched is listed;
`check` and `export` then judge them anew.")]
pub(crate) struct RevokeArgs {
    /// The key's id, or the start of it
    id: String,
    /// Why; compromised where --compromised-since is given
    #[arg(long, value_enum)]
    reason: Option<ReasonArg>,
    /// From when on; now without it
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    at: Option<i64>,
    /// Since when others may have had it
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    compromised_since: Option<i64>,
    /// List what it touched, leave the trust file as it is
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum ReasonArg {
    Superseded,
    Compromised,
}

/// Revokes.
pub(crate) fn run(context: &Context, args: &RevokeArgs) -> anyhow::Result<Exit> {
    let trust = needed(context)?;
    let key = find(&trust, &args.id)?.clone();
    let Some(path) = context.settings.trust.as_ref().map(|setting| setting.value.clone()) else {
        return Ok(Exit::Usage);
    };
    let reason = match (args.reason, args.compromised_since) {
        (Some(ReasonArg::Compromised), None) => {
            return Err(usage("a compromised key needs --compromised-since", "say since when others may have had it"));
        }
        (Some(ReasonArg::Superseded), Some(_)) => {
            return Err(usage("--compromised-since is of a compromised key", "leave it out, or --reason"));
        }
        (None | Some(ReasonArg::Superseded), None) => "superseded",
        (_, Some(_)) => "compromised",
    };
    // Whole seconds: what is written is what a person reads.
    let at = args.at.unwrap_or(context.env.now_ms.div_euclid(1000) * 1000);
    if let Some(why) = weaker(key.revoked, at_ms(at), args.compromised_since.map(at_ms)) {
        return Err(failed(
            format!("{} {why}: that would make more of its verdicts count", key.id),
            "take an earlier time; who wants to trust it again edits the trust file by hand",
        ));
    }
    let text = read(&path, "trust file")?;
    let changed = revoked(&text, &key.id, at, reason, args.compromised_since)
        .with_context(|| format!("revoking {} in {}", key.id, path.display()))?;
    Trust::parse(&changed).map_err(|error| usage(format!("that makes no trust file: {error}"), "correct the times"))?;
    if !args.dry_run {
        replace(&path, &changed)?;
    }
    // The trust file comes first: what cannot be listed is revoked all the same.
    let touched = match context.settings.lake {
        None => None,
        Some(_) => Some(listed(context, &key).with_context(|| match args.dry_run {
            true => "listing what the key touched".to_owned(),
            false => format!("{} is revoked in {}, but what it touched could not be listed", key.id, path.display()),
        })?),
    };
    if context.json {
        out::json(&json!({
            "id": key.id, "trust": path, "reason": reason, "revoked_at": when(at_ms(at)),
            "compromised_since": args.compromised_since.map(|ms| when(at_ms(ms))), "touched": touched, "dry_run": args.dry_run,
        }))?;
        return Ok(Exit::Done);
    }
    let verb = if args.dry_run { "would be revoked" } else { "is revoked" };
    out::line(format!("{} {verb} ({reason}) from {} on, in {}", key.id, when(at_ms(at)), path.display()))?;
    match &touched {
        Some(touched) => say(touched)?,
        None => note("note: no lake is named (--lake): what the key touched is not listed"),
    }
    Ok(Exit::Done)
}

/// Why a revocation would undo part of the one that stands.
fn weaker(stands: Option<Revocation>, at: DateTime<Utc>, since: Option<DateTime<Utc>>) -> Option<String> {
    match (stands, since) {
        (Some(Revocation::Compromised { since: stands, .. }), None) => {
            Some(format!("is compromised since {} already, and not only superseded", when(stands)))
        }
        (Some(Revocation::Compromised { since: stands, .. }), Some(since)) if since > stands => {
            Some(format!("is compromised since {} already", when(stands)))
        }
        (Some(Revocation::Superseded { revoked_at }), None) if at > revoked_at => {
            Some(format!("is superseded since {} already", when(revoked_at)))
        }
        // Of a compromised key the time in a verdict says nothing: what was superseded would count again.
        (Some(Revocation::Superseded { revoked_at }), Some(since)) if since > revoked_at => {
            Some(format!("is superseded since {} already, before --compromised-since", when(revoked_at)))
        }
        _ => None,
    }
}

fn listed(context: &Context, key: &lake_verdict::TrustedKey) -> anyhow::Result<KeyUse> {
    let asked = lake_sql::open(context, context.open()?, None, false)?;
    Context::say_behind(&asked.lake, asked.tables_at)?;
    key_use(context, &asked, key)
}

fn say(touched: &KeyUse) -> anyhow::Result<()> {
    let [sessions, rows, exports] =
        [touched.sessions.len(), touched.rows.len(), touched.exports.len()].map(|n| n as u64);
    out::line(format!(
        "it touched {}, {} and {}",
        count(sessions, "session"),
        count(rows, "row"),
        count(exports, "export")
    ))?;
    for session in &touched.sessions {
        let lines: Vec<String> = session.lines.iter().map(ToString::to_string).collect();
        let (id, branch) = (escape(&session.session_id), session.branch);
        out::line(format!("  session {id} branch {branch}: verdicts in lines {}", lines.join(", ")))?;
    }
    for row in &touched.rows {
        let (set, id) = (escape(&row.set), escape(&row.session_id));
        let manifest = row.manifest_sha256.get(..12).unwrap_or(&row.manifest_sha256);
        out::line(format!("  row {} of {set} in {manifest}: session {id} branch {}", row.row, row.branch))?;
    }
    for export in &touched.exports {
        let (out, rows) = (escape(&export.out), count(export.rows, "row"));
        out::line(format!(
            "  export {out} of {} (version {}, {rows}): {}",
            export.at, export.k, export.manifest_sha256
        ))?;
    }
    if !touched.sessions.is_empty() {
        out::line(
            "next: `trace-lake check` and `trace-lake export` judge them anew; withdraw what was trained on them",
        )?;
    }
    Ok(())
}

/// The trust file's text with the key's entry changed; comments and all other entries stay as they are.
fn revoked(text: &str, id: &str, at: i64, reason: &str, since: Option<i64>) -> anyhow::Result<String> {
    let mut document: DocumentMut = text.parse().context("reading it as TOML")?;
    let gone = || failed(format!("no entry with the id {id} can be changed there"), "write `[[keys]]` for each key");
    let time = |ms: i64| Datetime::from_str(&when(at_ms(ms))).map(Value::from).context("writing a time");
    let mut fields = vec![("revoked_at", time(at)?), ("reason", Value::from(reason))];
    if let Some(since) = since {
        fields.push(("compromised_since", time(since)?));
    }
    let is_key = |table: &dyn toml_edit::TableLike| table.get("id").and_then(Item::as_str) == Some(id);
    let keys = document.get_mut("keys").ok_or_else(gone)?;
    let entry: &mut dyn toml_edit::TableLike = match keys {
        Item::ArrayOfTables(tables) => {
            tables.iter_mut().find(|table| is_key(*table)).map(|table: &mut Table| table as _)
        }
        Item::Value(Value::Array(array)) => {
            let tables = array.iter_mut().filter_map(Value::as_inline_table_mut);
            tables.into_iter().find(|table| is_key(*table)).map(|table| table as _)
        }
        _ => None,
    }
    .ok_or_else(gone)?;
    for (name, value) in fields {
        entry.insert(name, Item::Value(value));
    }
    if since.is_none() {
        entry.remove("compromised_since");
    }
    Ok(document.to_string())
}

/// Puts a text in a file's place, whole or not at all, with the mode that it had.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let doing = || format!("rewriting the trust file {}", path.display());
    // A link stays one: the file that it names is the one to change.
    let path: PathBuf = std::fs::canonicalize(path).with_context(doing)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".trust-").tempfile_in(folder).with_context(doing)?;
    std::io::Write::write_all(&mut file, text.as_bytes()).with_context(doing)?;
    let mode = std::fs::metadata(&path).with_context(doing)?.permissions();
    file.as_file().set_permissions(mode).and_then(|()| file.as_file().sync_all()).with_context(doing)?;
    file.persist(&path).map_err(|error| error.error).with_context(doing)?;
    if let Ok(folder) = std::fs::File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: i64 = 1_767_225_600_000;

    #[test]
    fn only_the_keys_own_entry_changes() {
        let text = "# ours\nversion = 1 # of the format\n\n[[keys]] # the old one\nid = \"sha256:a\"\n# why\noracle = 'x'\n\n\
                    [[keys]]\nid = \"sha256:b\" # stays\noracle = \"y\"\n# the end\n";
        let out = revoked(text, "sha256:a", AT, "superseded", None).expect("changed");
        let added = "oracle = 'x'\nrevoked_at = 2026-01-01T00:00:00Z\nreason = \"superseded\"\n";
        assert_eq!(out, text.replace("oracle = 'x'\n", added));
        // Once more, and worse.
        let worse = revoked(&out, "sha256:a", AT, "compromised", Some(AT - 1000)).expect("changed");
        assert!(worse.contains("reason = \"compromised\"\ncompromised_since = 2025-12-31T23:59:59Z\n"), "{worse}");
        assert_eq!(worse.matches("revoked_at").count(), 1);
        assert_eq!(revoked(&worse, "sha256:a", AT, "superseded", None).expect("changed"), out);
        assert!(revoked(text, "sha256:c", AT, "superseded", None).is_err());
    }

    #[test]
    fn a_revocation_is_never_made_weaker() {
        let [early, late] = [AT, AT + 1000].map(at_ms);
        let stolen = Some(Revocation::Compromised { revoked_at: late, since: early });
        let replaced = Some(Revocation::Superseded { revoked_at: early });
        for (stands, at, since, refused) in [
            (None, late, None, false),
            (None, late, Some(early), false),
            (stolen, early, None, true),
            (stolen, late, Some(late), true),
            (stolen, late, Some(early), false),
            (replaced, late, None, true),
            (replaced, early, None, false),
            (replaced, late, Some(late), true),
            (replaced, late, Some(early), false),
        ] {
            assert_eq!(weaker(stands, at, since).is_some(), refused, "{stands:?} {at} {since:?}");
        }
    }

    #[test]
    fn an_entry_on_one_line_is_one_too() {
        let text = "version = 1\nkeys = [{ id = \"sha256:a\", oracle = \"x\" }]\n";
        let out = revoked(text, "sha256:a", AT, "superseded", None).expect("changed");
        let [was, now] = [text, &out].map(|text| text.parse::<toml::Table>().expect("TOML"));
        let (was, now) = (&was["keys"][0], &now["keys"][0]);
        assert_eq!((&now["id"], &now["oracle"]), (&was["id"], &was["oracle"]));
        assert_eq!(
            (now["revoked_at"].to_string().as_str(), now["reason"].as_str()),
            ("2026-01-01T00:00:00Z", Some("superseded"))
        );
    }
}
