//! Oracle keys from seeds, and the trust file that names them.

use std::fmt::{self, Write};

use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use sha2::{Digest, Sha256};

/// A key that signs verdicts. The same seed is the same key.
#[derive(Clone, Debug)]
pub struct OracleKey {
    /// The oracle's name, which its statements carry.
    pub oracle: String,
    /// The key.
    pub signing: SigningKey,
}

impl OracleKey {
    /// The key of a seed, of the oracle `oracle-<seed>`.
    pub fn from_seed(seed: u64) -> OracleKey {
        let mut hash = Sha256::new();
        hash.update(b"trace-lake test key, worth nothing");
        hash.update(seed.to_be_bytes());
        OracleKey { oracle: format!("oracle-{seed}"), signing: SigningKey::from_bytes(&hash.finalize().into()) }
    }

    /// `sha256:` and the hash of the public key's DER.
    pub fn id(&self) -> String {
        lake_verdict::key_id(&self.signing.verifying_key())
    }

    /// The public key, SPKI PEM.
    pub fn public_pem(&self) -> String {
        self.signing.verifying_key().to_public_key_pem(LineEnding::LF).expect("a 32-byte key always has a PEM form")
    }

    /// Its entry in a trust file: no scope and no window, so it is trusted for everything.
    pub fn trust_entry(&self) -> TrustEntry {
        TrustEntry {
            id: self.id(),
            public_key: self.public_pem(),
            oracle: self.oracle.clone(),
            repos: None,
            valid_from: None,
            valid_until: None,
            revoked_at: None,
            reason: None,
            compromised_since: None,
        }
    }
}

/// One `[[keys]]` of a trust file. Times are RFC 3339.
#[derive(Clone, Debug)]
pub struct TrustEntry {
    /// The key's id.
    pub id: String,
    /// SPKI PEM.
    pub public_key: String,
    /// The oracle's name.
    pub oracle: String,
    /// Scope; None means all.
    pub repos: Option<Vec<String>>,
    /// From when.
    pub valid_from: Option<String>,
    /// Up to and without.
    pub valid_until: Option<String>,
    /// When it was revoked.
    pub revoked_at: Option<String>,
    /// `superseded` or `compromised`.
    pub reason: Option<String>,
    /// Since when it may be in other hands.
    pub compromised_since: Option<String>,
}

impl TrustEntry {
    /// Sets the scope.
    #[must_use]
    pub fn repos(mut self, repos: &[&str]) -> TrustEntry {
        self.repos = Some(repos.iter().map(|repo| (*repo).to_owned()).collect());
        self
    }

    /// Sets the window, half-open.
    #[must_use]
    pub fn window(mut self, from: Option<&str>, until: Option<&str>) -> TrustEntry {
        self.valid_from = from.map(str::to_owned);
        self.valid_until = until.map(str::to_owned);
        self
    }

    /// Revokes it because a newer key took its place.
    #[must_use]
    pub fn superseded(mut self, at: &str) -> TrustEntry {
        self.revoked_at = Some(at.to_owned());
        self.reason = Some("superseded".to_owned());
        self
    }

    /// Revokes it because it may be in other hands since a time.
    #[must_use]
    pub fn compromised(mut self, at: &str, since: &str) -> TrustEntry {
        self.revoked_at = Some(at.to_owned());
        self.reason = Some("compromised".to_owned());
        self.compromised_since = Some(since.to_owned());
        self
    }
}

impl fmt::Display for TrustEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "[[keys]]\nid = \"{}\"\npublic_key = \"\"\"\n{}\"\"\"\noracle = \"{}\"",
            self.id, self.public_key, self.oracle
        )?;
        if let Some(repos) = &self.repos {
            let list: Vec<String> = repos.iter().map(|repo| format!("\"{repo}\"")).collect();
            writeln!(f, "repos = [{}]", list.join(", "))?;
        }
        for (name, time) in [
            ("valid_from", &self.valid_from),
            ("valid_until", &self.valid_until),
            ("revoked_at", &self.revoked_at),
            ("compromised_since", &self.compromised_since),
        ] {
            if let Some(time) = time {
                writeln!(f, "{name} = {time}")?;
            }
        }
        if let Some(reason) = &self.reason {
            writeln!(f, "reason = \"{reason}\"")?;
        }
        Ok(())
    }
}

/// A trust file with these keys.
pub fn trust_toml(entries: &[TrustEntry]) -> String {
    let mut out = String::from("version = 1\n");
    for entry in entries {
        write!(out, "\n{entry}").expect("writing to a string cannot fail");
    }
    out
}
