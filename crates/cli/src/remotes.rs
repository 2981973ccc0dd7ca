//! `remotes.toml` of an oracle's state folder: which repository the hash of a remote's URL stands for.
//!
//! ```toml
//! version = 1
//! [[remotes]]
//! repo = "github.com/acme/billing"
//! urls = ["git@github.com:acme/billing.git", "https://github.com/acme/billing.git"]
//! sha256 = ["…"]     # of URLs that had better not stand here
//! ```

use std::path::Path;

use lake_trace::canonical_repo;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::exit::{failed, usage};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remotes {
    version: u32,
    #[serde(default)]
    remotes: Vec<Remote>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remote {
    repo: String,
    #[serde(default)]
    urls: Vec<String>,
    #[serde(default)]
    sha256: Vec<String>,
}

/// The canonical remote of the SHA-256 (hex) of a URL, by the table in a state folder.
pub(crate) fn repo_of(folder: &Path, url_sha256: &str) -> anyhow::Result<String> {
    let path = folder.join("remotes.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| {
        usage(format!("reading the remotes {}: {error}", path.display()), "write one: docs/verdicts.md shows the form")
    })?;
    let remotes: Remotes = toml::from_str(&text).map_err(|error| wrong(&path, &error.to_string()))?;
    if remotes.version != 1 {
        return Err(wrong(&path, "it has no `version = 1`"));
    }
    find(&remotes, url_sha256).ok_or_else(|| {
        failed(
            format!("{} knows no remote whose URL has the hash {url_sha256}", path.display()),
            "add the repository and its URL there, if this oracle may grade it",
        )
    })
}

fn wrong(path: &Path, what: &str) -> anyhow::Error {
    usage(format!("the remotes {} are refused: {what}", path.display()), "correct that file")
}

fn find(remotes: &Remotes, url_sha256: &str) -> Option<String> {
    let wanted = url_sha256.to_lowercase();
    let is = |remote: &&Remote| {
        remote.urls.iter().any(|url| hex::encode(Sha256::digest(url)) == wanted)
            || remote.sha256.iter().any(|hash| hash.to_lowercase() == wanted)
    };
    remotes.remotes.iter().find(is).map(|remote| canonical_repo(&remote.repo))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_and_its_hash_name_one_repository() {
        let url = "git@github.com:acme/billing.git";
        let hash = hex::encode(Sha256::digest(url));
        let text =
            |line: &str| format!("version = 1\n[[remotes]]\nrepo = \"https://GitHub.com/acme/Billing.git\"\n{line}\n");
        for line in [format!("urls = [\"{url}\"]"), format!("sha256 = [\"{}\"]", hash.to_uppercase())] {
            let remotes: Remotes = toml::from_str(&text(&line)).expect("a table");
            assert_eq!(find(&remotes, &hash).as_deref(), Some("github.com/acme/billing"));
            assert_eq!(find(&remotes, &"0".repeat(64)), None);
        }
        assert!(toml::from_str::<Remotes>(&text("url = \"x\"")).is_err());
    }
}
