//! Findings that somebody looked at and lets pass, each with a reason and for a time.

use crate::{Error, Hit};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// The allow list (`allow.toml`).
#[derive(Clone, Debug)]
pub struct AllowList {
    entries: Vec<Entry>,
    digest: String,
}

#[derive(Clone, Debug)]
struct Entry {
    what: What,
    /// Seconds since 1970; the entry counts before this.
    expires: i64,
}

#[derive(Clone, Debug)]
enum What {
    Fingerprint(String),
    Place { rule: String, path: String },
    Literal(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    allow: Vec<Spec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    fingerprint: Option<String>,
    rule: Option<String>,
    path: Option<String>,
    literal: Option<String>,
    reason: Option<String>,
    expires: Option<toml::Value>,
}

impl AllowList {
    /// A list that allows nothing.
    pub fn empty() -> Self {
        Self { entries: Vec::new(), digest: digest("") }
    }

    /// Reads `[[allow]]` tables: each names a `fingerprint`, or a `rule` and a `path` (a JSON pointer, or one with a
    /// `*` for any end), or a `literal`, and has a `reason` and an `expires` (`2027-01-31`, with a time if need be).
    ///
    /// # Errors
    /// When it is no TOML of this shape, or an entry is incomplete; the error says which.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let file: File = toml::from_str(text).map_err(|source| Error::AllowFile(Box::new(source)))?;
        let entries =
            file.allow.into_iter().enumerate().map(|(at, spec)| entry(at + 1, spec)).collect::<Result<_, _>>()?;
        Ok(Self { entries, digest: digest(text) })
    }

    /// `sha256:<hex>` of the list's text.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Whether an entry that has not expired allows this hit. `path`: the JSON pointer of the field it is in.
    pub fn allows(&self, hit: &Hit, fingerprint: &str, path: &str, now_unix_seconds: i64) -> bool {
        self.entries.iter().filter(|entry| now_unix_seconds < entry.expires).any(|entry| match &entry.what {
            What::Fingerprint(known) => known == fingerprint,
            What::Literal(literal) => *literal == hit.secret,
            What::Place { rule, path: place } => {
                rule == hit.rule && place.strip_suffix('*').map_or(place == path, |start| path.starts_with(start))
            }
        })
    }
}

fn digest(text: &str) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(text)))
}

fn entry(number: usize, spec: Spec) -> Result<Entry, Error> {
    let named = [&spec.fingerprint, &spec.rule, &spec.path].into_iter().flatten().next();
    // A literal may be a secret, and an error is printed.
    let name = named.map_or_else(|| number.to_string(), |named| format!("{number} ({named})"));
    let bad = |reason: &str| Error::AllowEntry { entry: name.clone(), reason: reason.to_owned() };
    if spec.reason.as_deref().is_none_or(|reason| reason.trim().is_empty()) {
        return Err(bad("it has no reason"));
    }
    let what = match (spec.fingerprint, spec.rule, spec.path, spec.literal) {
        (Some(fingerprint), None, None, None) => What::Fingerprint(fingerprint),
        (None, Some(rule), Some(path), None) => What::Place { rule, path },
        (None, None, None, Some(literal)) if !literal.is_empty() => What::Literal(literal),
        _ => return Err(bad("it names neither a fingerprint, nor a rule and a path, nor a literal, or more than one")),
    };
    let expires = match spec.expires {
        Some(toml::Value::Datetime(when)) => when.to_string(),
        Some(toml::Value::String(when)) => when,
        Some(_) => return Err(bad("its expiry is no date")),
        None => return Err(bad("it has no expiry")),
    };
    let expires = seconds(&expires).ok_or_else(|| bad("its expiry is no date"))?;
    Ok(Entry { what, expires })
}

/// Seconds since 1970 of `2027-01-31` or `2027-01-31T12:00:00Z`; without an offset it is UTC.
fn seconds(when: &str) -> Option<i64> {
    let when: toml::value::Datetime = when.parse().ok()?;
    let date = when.date?;
    let (year, month, day) = (i64::from(date.year), i64::from(date.month), i64::from(date.day));
    // Days from the civil calendar, with years that begin in March.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    let time =
        when.time.map_or(0, |time| i64::from(time.hour) * 3600 + i64::from(time.minute) * 60 + i64::from(time.second));
    let offset = match when.offset {
        Some(toml::value::Offset::Custom { minutes }) => i64::from(minutes) * 60,
        _ => 0,
    };
    Some(days * 86_400 + time - offset)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests {
    use super::*;
    use crate::Severity;

    fn hit() -> Hit {
        Hit { rule: "github-token", severity: Severity::High, start: 0, end: 3, secret: "abc".into() }
    }

    #[test]
    fn an_entry_counts_until_it_expires() {
        let list = AllowList::parse("[[allow]]\nliteral='abc'\nreason='made up'\nexpires=2027-01-31\n").unwrap();
        let end = 1_801_353_600; // 2027-01-31T00:00:00Z
        assert!(list.allows(&hit(), "", "/text", end - 1));
        assert!(!list.allows(&hit(), "", "/text", end));
        assert!(!AllowList::empty().allows(&hit(), "", "/text", 0));
    }

    #[test]
    fn rule_and_path_go_together() {
        let list =
            AllowList::parse("[[allow]]\nrule='github-token'\npath='/output*'\nreason='r'\nexpires='2030-01-01'")
                .unwrap();
        assert!(list.allows(&hit(), "", "/output/0", 0));
        assert!(!list.allows(&hit(), "", "/text", 0));
    }

    #[test]
    fn errors_name_the_entry() {
        for (text, part) in [
            ("[[allow]]\nfingerprint='ff'\nexpires=2027-01-31", "1 (ff)"),
            ("[[allow]]\nfingerprint='ff'\nreason='r'", "expiry"),
            ("[[allow]]\nrule='r'\nreason='r'\nexpires=2027-01-31", "neither"),
            ("[[allow]]\nliteral='x'\nreason='r'\nexpires='soon'", "no date"),
        ] {
            let error = AllowList::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
