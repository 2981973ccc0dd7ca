//! Where a session belongs: organisation, repository, date. All from its own bytes, never from a path.

use sha2::{Digest, Sha256};

/// Organisation, repository and date of a branch: its place in the lake.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// All between host and repository of the remote, or the override; `unknown` without one. Percent-encoded.
    pub org: String,
    /// Last part of the remote; `unknown` without one. Percent-encoded.
    pub repo: String,
    /// `YYYY-MM-DD`, UTC.
    pub date: String,
}

fn encode(part: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(part.len());
    for b in part.bytes() {
        if b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-') {
            out.push(char::from(b));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(b >> 4)]));
            out.push(char::from(HEX[usize::from(b & 15)]));
        }
    }
    // `.` and `..` are no names on a file system.
    if out.bytes().all(|b| b == b'.') { out.replace('.', "%2E") } else { out }
}

/// The canonical remote in lower case: `host/org/name`, no scheme, user, port's colon form or `.git`.
pub fn canonical_repo(remote: &str) -> String {
    let mut s = remote.trim();
    for scheme in ["https://", "http://", "ssh://", "git://", "git+ssh://"] {
        if let Some(rest) = s.strip_prefix(scheme) {
            s = rest;
            break;
        }
    }
    let scp_like = s.find('/').is_none_or(|slash| s.find(':').is_some_and(|colon| colon < slash));
    let mut out = s.to_owned();
    if let Some(at) = out.find('@')
        && out.find('/').is_none_or(|slash| at < slash)
    {
        out.drain(..=at);
    }
    if scp_like && let Some(colon) = out.find(':') {
        let port =
            out[colon + 1..].split('/').next().is_some_and(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit()));
        if !port {
            out.replace_range(colon..=colon, "/");
        }
    }
    let trimmed = out.trim_matches('/');
    let trimmed = trimmed.strip_suffix(".git").unwrap_or(trimmed);
    trimmed.to_lowercase()
}

/// `(org, repo)` as they stand in paths and columns, percent-encoded, from a remote and an override.
pub fn org_and_repo(remote: Option<&str>, org_override: Option<&str>) -> (String, String) {
    let canonical = remote.map(canonical_repo).unwrap_or_default();
    let parts: Vec<&str> = canonical.split('/').filter(|p| !p.is_empty()).collect();
    let repo = parts.last().map_or_else(|| "unknown".into(), |p| encode(p));
    let org = match org_override.map(str::trim).filter(|o| !o.is_empty()) {
        Some(org) => encode(org),
        None if parts.len() > 2 => encode(&parts[1..parts.len() - 1].join("/")),
        None if parts.len() == 2 => encode(parts[0]),
        None => "unknown".into(),
    };
    (cap(org), cap(repo))
}

/// A name longer than a file system takes is cut, and told apart by its hash.
fn cap(name: String) -> String {
    if name.len() <= 180 {
        return name;
    }
    let mut cut = 150;
    // Never through a percent triple.
    while name.as_bytes()[cut - 1] == b'%' || name.as_bytes()[cut - 2] == b'%' {
        cut -= 1;
    }
    format!("{}-{}", &name[..cut], &hex::encode(Sha256::digest(name.as_bytes()))[..16])
}

/// `<session>` in a path: a slug of the id, at most 40 characters, and 16 hex digits of its SHA-256.
pub fn session_slug(session_id: &str) -> String {
    let slug: String = session_id
        .chars()
        .take(40)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '-' })
        .collect();
    format!("{slug}-{}", &hex::encode(Sha256::digest(session_id.as_bytes()))[..16])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remotes_of_every_form_are_one_repository() {
        for remote in [
            "github.com/acme/billing",
            "https://github.com/Acme/Billing.git",
            "https://user:pw@github.com/acme/billing",
            "git@github.com:acme/billing.git",
            "ssh://git@github.com/acme/billing/",
        ] {
            assert_eq!(canonical_repo(remote), "github.com/acme/billing", "{remote}");
        }
        assert_eq!(canonical_repo("ssh://git@host:2222/a/b.git"), "host:2222/a/b");
    }

    #[test]
    fn organisation_and_repository_come_from_the_remote_or_the_override() {
        assert_eq!(org_and_repo(Some("gitlab.com/a/b/c"), None), ("a%2Fb".into(), "c".into()));
        assert_eq!(org_and_repo(Some("github.com/acme/x y"), Some("Über")), ("%C3%9Cber".into(), "x%20y".into()));
        assert_eq!(org_and_repo(None, None), ("unknown".into(), "unknown".into()));
        assert_eq!(org_and_repo(Some("h/../.."), None), ("%2E%2E".into(), "%2E%2E".into()));
        let long = "é".repeat(200);
        assert!(org_and_repo(Some(&format!("h/o/{long}")), None).1.len() < 200);
    }

    #[test]
    fn a_session_slug_is_short_safe_and_tells_ids_apart() {
        let slug = session_slug(&"../x".repeat(64));
        assert!(slug.len() == 57 && !slug.contains(['/', '.']));
        assert_ne!(session_slug("a/b"), session_slug("a.b"));
    }
}
