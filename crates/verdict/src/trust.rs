//! The trust file: whose verdicts count, for which repositories, and when.

use chrono::{DateTime, Utc};
use ed25519_dalek::VerifyingKey;
use toml::{Table, Value};

use crate::{key::read_public_key, key_id, payload_digest};

/// Why a trust file is refused. Entries are counted from 1, in the file's order.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Not TOML; the source says where.
    #[error("trust file is not TOML")]
    Toml(#[source] toml::de::Error),
    /// `version` is missing or not 1.
    #[error("trust file has no `version = 1`")]
    Version,
    /// A field at the top that no one knows: a slip there must not pass as trust.
    #[error("trust file has an unknown field `{0}`")]
    UnknownField(String),
    /// `keys` is not an array of tables.
    #[error("`keys` of the trust file is not an array of tables")]
    Keys,
    /// An entry is refused.
    #[error("key {number} ({id}) of the trust file: {what}")]
    Key {
        /// Its place among the entries, from 1.
        number: usize,
        /// The id that it gives itself; `no id` without one.
        id: String,
        /// What is wrong with it.
        what: String,
    },
}

/// A key's end before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// Replaced: verdicts finished before this still verify.
    Superseded {
        /// When.
        revoked_at: DateTime<Utc>,
    },
    /// Stolen: a verdict verifies only if the lake had it before `since`.
    Compromised {
        /// When it was revoked.
        revoked_at: DateTime<Utc>,
        /// Since when another may have had it; not after `revoked_at`.
        since: DateTime<Utc>,
    },
}

/// A key that may sign verdicts.
#[derive(Clone, Debug)]
pub struct TrustedKey {
    /// `sha256:` and hex of the SHA-256 of its DER SubjectPublicKeyInfo.
    pub id: String,
    /// The key: canonical, not of small order.
    pub key: VerifyingKey,
    /// The one oracle that it signs for.
    pub oracle: String,
    /// Patterns of the canonical remotes that it signs for, lower case; None is all.
    pub repos: Option<Vec<String>>,
    /// Verdicts finished before this do not count; None is no start.
    pub valid_from: Option<DateTime<Utc>>,
    /// Verdicts finished at or after this do not count; None is no end.
    pub valid_until: Option<DateTime<Utc>>,
    /// Whether it was revoked.
    pub revoked: Option<Revocation>,
}

impl TrustedKey {
    /// Whether its scope holds a canonical remote. Compared without case.
    pub fn covers(&self, repo: &str) -> bool {
        let repo = repo.to_lowercase();
        let parts: Vec<&str> = repo.split('/').collect();
        self.repos.as_ref().is_none_or(|patterns| {
            patterns.iter().any(|pattern| matches(&pattern.split('/').collect::<Vec<_>>(), &parts))
        })
    }
}

/// `*` stands for one part, `**` for any number of them.
fn matches(pattern: &[&str], parts: &[&str]) -> bool {
    // One row of the usual table: which lengths of `parts` the pattern so far can make. No input is slow.
    let mut reach = vec![false; parts.len() + 1];
    reach[0] = true;
    for piece in pattern {
        if *piece == "**" {
            let first = reach.iter().position(|r| *r).unwrap_or(reach.len());
            reach[first..].fill(true);
            continue;
        }
        for i in (1..=parts.len()).rev() {
            reach[i] = reach[i - 1] && (*piece == "*" || *piece == parts[i - 1]);
        }
        reach[0] = false;
    }
    reach[parts.len()]
}

/// A trust file.
#[derive(Clone, Debug)]
pub struct Trust {
    digest: String,
    keys: Vec<TrustedKey>,
}

impl Trust {
    /// Reads a trust file.
    ///
    /// # Errors
    /// Anything that is not exactly as the format has it, unknown fields too; the entry is named.
    pub fn parse(text: &str) -> Result<Trust, TrustError> {
        let table: Table = toml::from_str(text).map_err(TrustError::Toml)?;
        if table.get("version").and_then(Value::as_integer) != Some(1) {
            return Err(TrustError::Version);
        }
        if let Some(name) = table.keys().find(|name| !matches!(name.as_str(), "version" | "keys")) {
            return Err(TrustError::UnknownField(name.clone()));
        }
        let entries = match table.get("keys") {
            None => &[][..],
            Some(value) => value.as_array().ok_or(TrustError::Keys)?,
        };
        let mut keys: Vec<TrustedKey> = Vec::with_capacity(entries.len());
        for (i, entry) in entries.iter().enumerate() {
            let entry = entry.as_table().ok_or(TrustError::Keys)?;
            let read = read_entry(entry).and_then(|key| match keys.iter().position(|k| k.id == key.id) {
                Some(first) => Err(format!("stands there already as key {}", first + 1)),
                None => Ok(key),
            });
            keys.push(read.map_err(|what| TrustError::Key {
                number: i + 1,
                id: entry.get("id").and_then(Value::as_str).unwrap_or("no id").to_owned(),
                what,
            })?);
        }
        Ok(Trust { digest: payload_digest(text.as_bytes()), keys })
    }

    /// `sha256:` and hex of the file's bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The keys, in the file's order, each id once.
    pub fn keys(&self) -> &[TrustedKey] {
        &self.keys
    }

    /// Whether some key is compromised: then the store's own times of batches are needed.
    pub fn has_compromised(&self) -> bool {
        self.keys.iter().any(|key| matches!(key.revoked, Some(Revocation::Compromised { .. })))
    }

    /// Whether the scope of some key, expired and revoked ones too, holds a canonical remote.
    pub fn covers(&self, repo: &str) -> bool {
        self.keys.iter().any(|key| key.covers(repo))
    }
}

const FIELDS: [&str; 9] =
    ["id", "public_key", "oracle", "repos", "valid_from", "valid_until", "revoked_at", "reason", "compromised_since"];

fn read_entry(entry: &Table) -> Result<TrustedKey, String> {
    if let Some(name) = entry.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        return Err(format!("unknown field `{name}`"));
    }
    let key = read_public_key(required(entry, "public_key")?).map_err(|error| format!("`public_key` {error}"))?;
    let id = required(entry, "id")?;
    if id != key_id(&key) {
        return Err(format!("`id` is not that of `public_key`, which is {}", key_id(&key)));
    }
    let (valid_from, valid_until) = (time(entry, "valid_from")?, time(entry, "valid_until")?);
    if let (Some(from), Some(until)) = (valid_from, valid_until)
        && from >= until
    {
        return Err("`valid_until` is not after `valid_from`".to_owned());
    }
    Ok(TrustedKey {
        id: id.to_owned(),
        key,
        oracle: required(entry, "oracle")?.to_owned(),
        repos: repos(entry)?,
        valid_from,
        valid_until,
        revoked: revocation(entry)?,
    })
}

fn string<'t>(entry: &'t Table, name: &str) -> Result<Option<&'t str>, String> {
    match entry.get(name) {
        None => Ok(None),
        Some(value) => value.as_str().map(Some).ok_or_else(|| format!("`{name}` is not a string")),
    }
}

fn required<'t>(entry: &'t Table, name: &str) -> Result<&'t str, String> {
    string(entry, name)?.filter(|s| !s.is_empty()).ok_or_else(|| format!("no `{name}`"))
}

fn time(entry: &Table, name: &str) -> Result<Option<DateTime<Utc>>, String> {
    let Some(value) = entry.get(name) else { return Ok(None) };
    let text = value.as_datetime().map(ToString::to_string);
    let time = text.and_then(|t| DateTime::parse_from_rfc3339(&t).ok());
    time.map(|t| Some(t.with_timezone(&Utc)))
        .ok_or_else(|| format!("`{name}` is not a time with an offset, as 2026-01-01T00:00:00Z is"))
}

fn repos(entry: &Table) -> Result<Option<Vec<String>>, String> {
    let Some(value) = entry.get("repos") else { return Ok(None) };
    let patterns = value.as_array().ok_or("`repos` is not an array of strings")?;
    let mut out = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        let pattern = pattern.as_str().ok_or("`repos` is not an array of strings")?;
        let pattern = lake_trace::canonical_repo(pattern);
        for part in pattern.split('/') {
            if part.is_empty() || (part.contains('*') && !matches!(part, "*" | "**")) {
                return Err(format!("`repos` holds `{pattern}`: each part is a name, `*` or `**`"));
            }
        }
        out.push(pattern);
    }
    Ok(Some(out))
}

fn revocation(entry: &Table) -> Result<Option<Revocation>, String> {
    let (revoked_at, since) = (time(entry, "revoked_at")?, time(entry, "compromised_since")?);
    match (revoked_at, string(entry, "reason")?, since) {
        (None, None, None) => Ok(None),
        (None, ..) => Err("`reason` and `compromised_since` need `revoked_at`".to_owned()),
        (Some(revoked_at), Some("superseded"), None) => Ok(Some(Revocation::Superseded { revoked_at })),
        (Some(revoked_at), Some("compromised"), Some(since)) if since <= revoked_at => {
            Ok(Some(Revocation::Compromised { revoked_at, since }))
        }
        (Some(_), Some("compromised"), Some(_)) => Err("`compromised_since` is after `revoked_at`".to_owned()),
        (Some(_), Some("compromised"), None) => Err("`reason` compromised needs `compromised_since`".to_owned()),
        (Some(_), Some("superseded"), Some(_)) => {
            Err("`compromised_since` goes with `reason` compromised only".to_owned())
        }
        (Some(_), _, _) => Err("`reason` is neither `superseded` nor `compromised`".to_owned()),
    }
}
