//! What an envelope proves by itself: one of the keys signed it, and what that key says counts.

use chrono::DateTime;
use ed25519_dalek::Signature;

use crate::envelope::{Envelope, PAYLOAD_TYPE, pae};
use crate::key::is_improper;
use crate::{Revocation, Statement, StatementError, Trust, TrustedKey, VerdictFlag, payload_digest};

/// A verdict may finish this much after the batch that brings it, milliseconds: clocks differ.
const LATE_MS: i64 = 10 * 60 * 1000;

/// One look at a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What was looked at: `ledger`, `envelope`, `signature`, `statement`, `key`, `time`, `session`, `repo`, `task`,
    /// `base`, `fields`, `run`, `chain`, `trace`.
    pub name: &'static str,
    /// Whether nothing was wrong.
    pub ok: bool,
    /// What was found, for a person. May hold text from a trace: escape it at a terminal.
    pub detail: String,
    /// What was wrong.
    pub flag: Option<VerdictFlag>,
}

impl Step {
    pub(crate) fn good(name: &'static str, detail: impl Into<String>) -> Step {
        Step { name, ok: true, detail: detail.into(), flag: None }
    }

    pub(crate) fn bad(name: &'static str, flag: VerdictFlag, detail: impl Into<String>) -> Step {
        Step { name, ok: false, detail: detail.into(), flag: Some(flag) }
    }
}

/// Whether a record with these steps verifies.
pub(crate) fn stands(steps: &[Step]) -> bool {
    steps.iter().all(|step| step.flag.is_none_or(VerdictFlag::is_notice))
}

/// What an envelope proves by itself, whatever trace it stands in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examined {
    /// What was looked at, in order; it ends where the rest would say nothing.
    pub steps: Vec<Step>,
    /// The trusted key that signed it.
    pub key_id: Option<String>,
    /// Digest of the payload; only with a good signature.
    pub payload_digest: Option<String>,
    /// What was signed; only with a good signature.
    pub statement: Option<Statement>,
}

impl Examined {
    /// Whether a trusted key signed a statement that it may sign.
    pub fn stands(&self) -> bool {
        self.statement.is_some() && stands(&self.steps)
    }
}

/// Looks at one envelope. `committed_at` is when the lake first held it (milliseconds UTC): without it, nothing that a
/// compromised key signed counts, and a late finish is not told.
pub fn examine(envelope: &str, trust: &Trust, committed_at: Option<i64>) -> Examined {
    match Envelope::parse(envelope) {
        Ok(envelope) => examine_envelope(&envelope, trust, committed_at),
        Err(error) => {
            let step = Step::bad("envelope", VerdictFlag::Malformed, error.to_string());
            Examined { steps: vec![step], ..Examined::default() }
        }
    }
}

/// As [`examine`], of an envelope that was read.
pub(crate) fn examine_envelope(envelope: &Envelope, trust: &Trust, committed_at: Option<i64>) -> Examined {
    let mut out = Examined::default();
    if envelope.payload_type != PAYLOAD_TYPE {
        let detail = format!("payload type is not {PAYLOAD_TYPE}");
        out.steps.push(Step::bad("envelope", VerdictFlag::WrongType, detail));
        return out;
    }
    out.steps.push(Step::good("envelope", "a DSSE envelope with one signature"));
    let key = match signer(envelope, trust) {
        Ok(key) => key,
        Err(step) => {
            out.steps.push(step);
            return out;
        }
    };
    out.steps.push(Step::good("signature", format!("by {} of oracle {}", key.id, short(&key.oracle))));
    out.key_id = Some(key.id.clone());
    out.payload_digest = Some(payload_digest(&envelope.payload));
    let statement = match Statement::parse_strict(&envelope.payload) {
        Ok(statement) => statement,
        Err(error) => {
            let flag = match error {
                StatementError::OtherType(_) => VerdictFlag::WrongType,
                _ => VerdictFlag::Malformed,
            };
            out.steps.push(Step::bad("statement", flag, error.to_string()));
            return out;
        }
    };
    out.steps.push(Step::good("statement", format!("{} {}", statement.mode, statement.verdict)));
    out.steps.push(may_sign(key, &statement, committed_at));
    if let Some(at) = committed_at
        && statement.finished_at.timestamp_millis() > at.saturating_add(LATE_MS)
    {
        let detail = format!("finished at {}, after it was in the lake", statement.finished_at);
        out.steps.push(Step::bad("time", VerdictFlag::FinishedLate, detail));
    }
    out.statement = Some(statement);
    out
}

/// The trusted key that signed, whatever the envelope's hint says.
fn signer<'t>(envelope: &Envelope, trust: &'t Trust) -> Result<&'t TrustedKey, Step> {
    let signed = pae(&envelope.payload_type, &envelope.payload);
    let signature = Signature::from_bytes(&envelope.signature);
    let named = trust.keys().iter().find(|key| Some(&key.id) == envelope.keyid.as_ref());
    if let Some(key) = named.into_iter().chain(trust.keys()).find(|k| k.key.verify_strict(&signed, &signature).is_ok())
    {
        return Ok(key);
    }
    if is_improper(&envelope.signature) {
        return Err(Step::bad("signature", VerdictFlag::BadSignature, "no signer makes such a signature"));
    }
    Err(match named {
        Some(key) => Step::bad("signature", VerdictFlag::BadSignature, format!("not a signature of {}", key.id)),
        None => Step::bad("signature", VerdictFlag::UntrustedKey, "by none of the trusted keys"),
    })
}

/// Whether the key's entry lets it say that, at that time.
fn may_sign(key: &TrustedKey, statement: &Statement, committed_at: Option<i64>) -> Step {
    let finished = statement.finished_at;
    let bad = |flag, detail: String| Step::bad("key", flag, detail);
    if statement.oracle != key.oracle {
        let detail = format!("names oracle {}, the key is of {}", short(&statement.oracle), short(&key.oracle));
        return bad(VerdictFlag::KeyScope, detail);
    }
    if !key.covers(&statement.repo) {
        return bad(VerdictFlag::KeyScope, format!("{} is outside the key's scope", short(&statement.repo)));
    }
    if key.valid_from.is_some_and(|from| finished < from) || key.valid_until.is_some_and(|until| finished >= until) {
        return bad(VerdictFlag::KeyExpired, format!("finished at {finished}, outside the key's window"));
    }
    match key.revoked {
        Some(Revocation::Superseded { revoked_at }) if finished >= revoked_at => {
            bad(VerdictFlag::KeyRevoked, format!("finished at {finished}, the key was superseded at {revoked_at}"))
        }
        // A stolen key can sign any `finished_at`: only what the lake already had is from before.
        Some(Revocation::Compromised { since, .. }) if committed_at.is_none_or(|at| at >= since.timestamp_millis()) => {
            let held = committed_at.and_then(DateTime::from_timestamp_millis);
            let held = held.map_or_else(|| "at a time that is not known".to_owned(), |at| format!("from {at}"));
            bad(VerdictFlag::KeyRevoked, format!("the key is compromised since {since}, the lake has this {held}"))
        }
        _ => Step::good("key", "within the key's scope and window"),
    }
}

/// A word for a person: long ones are cut.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("`{}…`", &text[..cut]),
        None => format!("`{text}`"),
    }
}
