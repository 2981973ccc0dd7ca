//! What all attacks start from.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer;
use lake_trace::{Mode, Verdict};
use lake_verdict::{Statement, pae};

use crate::scenarios::work;
use crate::{Object, OracleKey, SessionBuilder, Task};

/// One way to cheat.
#[derive(Clone, Debug)]
pub struct Attack {
    /// What was done, as one word.
    pub name: &'static str,
    /// The flag that the session gets; None when it stays flipped, and what was added is in no row.
    pub expected_flag: Option<&'static str>,
    /// The session that is cheated with.
    pub session_id: String,
    /// Its file.
    pub bytes: Vec<u8>,
    /// Honest sessions beside it: id and file.
    pub others: Vec<(String, Vec<u8>)>,
}

impl Attack {
    pub(super) fn new(name: &'static str, flag: &'static str, bytes: Vec<u8>) -> Attack {
        Attack { name, expected_flag: Some(flag), session_id: format!("attack-{name}"), bytes, others: Vec::new() }
    }
}

/// The keys of the attacks' trust file, and one that is not in it.
#[derive(Clone, Debug)]
pub struct HonestKeys {
    /// Good for the attacks' repository.
    pub trusted: OracleKey,
    /// Not in the trust file.
    pub unknown: OracleKey,
    /// In it for other repositories.
    pub other_scope: OracleKey,
    /// Its window was over.
    pub expired: OracleKey,
    /// Another took its place before.
    pub superseded: OracleKey,
    /// Stolen before.
    pub compromised: OracleKey,
}

impl HonestKeys {
    /// The keys.
    pub fn new() -> HonestKeys {
        let [trusted, unknown, other_scope, expired, superseded, compromised] =
            [1, 2, 3, 4, 5, 6].map(OracleKey::from_seed);
        HonestKeys { trusted, unknown, other_scope, expired, superseded, compromised }
    }
}

impl Default for HonestKeys {
    fn default() -> HonestKeys {
        HonestKeys::new()
    }
}

pub(super) fn task() -> Task {
    Task::new("github.com/acme/billing", "billing-7")
}

/// A start, a prompt and an honest baseline FAIL, then work.
pub(super) fn worked(name: &str) -> SessionBuilder {
    let mut session = SessionBuilder::new(&format!("attack-{name}"), &task()).signed(Some(&HonestKeys::new().trusted));
    session.start().prompt().baseline(Verdict::Fail);
    work(&mut session, 1);
    session
}

/// What the oracle would say of a PASS now.
pub(super) fn pass(session: &SessionBuilder) -> Statement {
    session.statement(Mode::Grade, Verdict::Pass, "an honest diff")
}

/// All but the deciding record is honest; `cheat` writes that.
pub(super) fn with(name: &str, cheat: impl FnOnce(&mut SessionBuilder)) -> Vec<u8> {
    let mut session = worked(name);
    cheat(&mut session);
    session.end("agent", "flipped");
    session.build()
}

/// The deciding record is a PASS whose statement was changed before it was signed.
pub(super) fn with_statement(name: &str, change: impl FnOnce(&mut Statement)) -> Vec<u8> {
    with(name, |session| {
        let mut statement = pass(session);
        change(&mut statement);
        session.verdict(&statement, |_| ());
    })
}

/// The deciding record is a PASS whose envelope was made from the honest payload.
pub(super) fn with_envelope(name: &str, envelope: impl FnOnce(&[u8], &OracleKey) -> String) -> Vec<u8> {
    with(name, |session| {
        let statement = pass(session);
        let signature = envelope(&statement.to_payload(), &HonestKeys::new().trusted);
        session.verdict(&statement, |record| record.signature = Some(signature));
    })
}

/// The deciding record is a PASS by another key, which the event and the statement name.
pub(super) fn with_key(name: &str, key: &OracleKey) -> Vec<u8> {
    with(name, |session| {
        let statement = Statement { oracle: key.oracle.clone(), ..pass(session) };
        let signature = lake_verdict::sign(&key.signing, &statement.to_payload());
        session.verdict(&statement, |record| record.signature = Some(signature));
    })
}

/// A DSSE envelope of these parts.
pub(super) fn envelope(payload_type: &str, payload: &[u8], keyid: &str, sig: &[u8]) -> String {
    let signature = Object::new().text("keyid", keyid).text("sig", &STANDARD.encode(sig)).build();
    Object::new()
        .text("payloadType", payload_type)
        .text("payload", &STANDARD.encode(payload))
        .raw("signatures", &format!("[{signature}]"))
        .build()
}

/// The signature of `key` over the payload as DSSE has it.
pub(super) fn raw_signature(key: &OracleKey, payload_type: &str, payload: &[u8]) -> [u8; 64] {
    key.signing.sign(&pae(payload_type, payload)).to_bytes()
}
