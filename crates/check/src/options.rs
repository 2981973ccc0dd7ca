//! What a check is asked to do.

use lake_secrets::{AllowList, RuleSet};
use lake_verdict::{Ledger, Trust};

/// What a check is asked to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose signatures count. None: signatures are not judged and get no rows.
    pub trust: Option<Trust>,
    /// What the oracles say that they signed; counts with a trust file only.
    pub ledger: Option<Ledger>,
    /// Findings to let pass.
    pub allow: AllowList,
    /// Key of the fingerprints. The lake's id will do: it makes fingerprints of two lakes differ.
    pub fingerprint_key: Vec<u8>,
    /// Now, milliseconds since 1970 UTC: it goes into the rows, and entries of the allow list expire by it.
    pub now_ms: i64,
    /// Look at everything and write nothing, neither tables nor rows.
    pub dry_run: bool,
}

/// How far a check is. Called from many threads.
pub trait Progress: Sync {
    /// Bytes to be looked at became known.
    fn more(&self, bytes: u64);
    /// Bytes were looked at.
    fn done(&self, bytes: u64);
}

/// No progress is shown.
impl Progress for () {
    fn more(&self, _: u64) {}
    fn done(&self, _: u64) {}
}

/// The digest that rows of the kind `signatures` carry: that of the trust file and, where a ledger lists verdicts of the
/// session, of those. A session is looked at again when its oracle signed more.
pub fn signatures_digest(trust: &Trust, ledger: Option<&Ledger>, session_id: &str) -> String {
    match ledger.and_then(|ledger| ledger.session_digest(session_id)) {
        Some(listed) => format!("{}+ledger:{listed}", trust.digest()),
        None => trust.digest().to_owned(),
    }
}

/// The digest that rows of the kind `secrets` carry: that of the rules and, where anything is let pass, of the allow
/// list, since the same rules with another list find other things.
pub fn secrets_digest(allow: &AllowList) -> String {
    let rules = RuleSet::builtin().digest();
    if allow.digest() == AllowList::empty().digest() { rules.to_owned() } else { format!("{rules}+{}", allow.digest()) }
}
