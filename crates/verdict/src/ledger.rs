//! An oracle's ledger: every verdict that it signed, in order. What a trace lacks stands here.

use std::collections::{HashMap, HashSet};

use lake_trace::json::{self, Notes, Value};
use sha2::{Digest, Sha256};

use crate::envelope::{Envelope, EnvelopeError};
use crate::examine::examine_envelope;
use crate::{Graded, Statement, Trust, VerdictFlag};

/// Longest line that is read, bytes: an envelope, and room for the number.
const MAX_LINE: usize = 64 * 1024 + 256;

/// Why a line of a ledger ends its reading: a ledger that cannot be read whole shows nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Not one JSON object of `seq` and `envelope`, each once.
    #[error("line {line} is not `{{\"seq\": n, \"envelope\": {{…}}}}`")]
    Line {
        /// Its number, from 1.
        line: u64,
    },
    /// A line is missing, doubled or moved.
    #[error("line {line} has seq {found} where {expected} is next")]
    Gap {
        /// Its number, from 1.
        line: u64,
        /// What stands there.
        found: u64,
        /// What would follow the line before.
        expected: u64,
    },
    /// What stands in `envelope` is none.
    #[error("the envelope in line {line} is malformed: {source}")]
    Envelope {
        /// Its number, from 1.
        line: u64,
        /// Why.
        source: EnvelopeError,
    },
    /// A trusted key is named and did not sign this, or signed what is no verdict.
    #[error("the verdict in line {line} is refused ({flag}): {detail}")]
    Refused {
        /// Its number, from 1.
        line: u64,
        /// What is wrong.
        flag: VerdictFlag,
        /// What was found, for a person.
        detail: String,
    },
}

/// A verdict of a ledger that a trusted key signed and may sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Its number in its ledger.
    pub seq: u64,
    /// Digest of its payload.
    pub digest: String,
    /// The key that signed it.
    pub key_id: String,
    /// What it says.
    pub statement: Statement,
}

/// Verdicts that one or several oracles signed. Memory grows with their number, under 2 KB each.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    entries: Vec<LedgerEntry>,
    by_digest: HashMap<String, usize>,
    by_session: HashMap<String, Vec<usize>>,
    unused: Vec<(u64, VerdictFlag)>,
    digest: Sha256,
}

/// Reads ledgers line by line: nothing but the verdicts is held.
#[derive(Debug)]
pub struct LedgerReader<'t> {
    trust: &'t Trust,
    ledger: Ledger,
    line: u64,
    last: Option<u64>,
}

impl<'t> LedgerReader<'t> {
    /// Reads with the keys of a trust file.
    pub fn new(trust: &'t Trust) -> LedgerReader<'t> {
        LedgerReader { trust, ledger: Ledger::default(), line: 0, last: None }
    }

    /// Another ledger begins: its lines and its `seq` are counted anew.
    pub fn next_ledger(&mut self) {
        (self.line, self.last) = (0, None);
    }

    /// Takes the next line, without its newline. Blank lines are passed by.
    ///
    /// `seq` starts at 1 (or 0) and has no gap. A verdict by a key that is not trusted, or that may not say it, is
    /// kept apart: see [`Ledger::unused`]. Of two lines with one payload the first counts.
    ///
    /// # Errors
    /// See [`LedgerError`]. After one the reader is of no use.
    pub fn line(&mut self, text: &str) -> Result<(), LedgerError> {
        self.line += 1;
        let line = self.line;
        self.ledger.digest.update(text);
        self.ledger.digest.update("\n");
        if text.trim().is_empty() {
            return Ok(());
        }
        if text.len() > MAX_LINE {
            return Err(LedgerError::Line { line });
        }
        let mut notes = Notes::default();
        let value = json::parse(text, &mut notes).map_err(|_| LedgerError::Line { line })?;
        let whole = value.as_obj().is_some_and(|members| members.len() == 2);
        let (Some(Value::Num(seq)), Some(envelope), true) = (value.get("seq"), value.get("envelope"), whole) else {
            return Err(LedgerError::Line { line });
        };
        let Some(seq) = seq.parse::<u64>().ok().filter(|_| !notes.duplicate_key && !notes.repaired) else {
            return Err(LedgerError::Line { line });
        };
        match self.last.map(|last| last + 1) {
            Some(expected) if seq != expected => return Err(LedgerError::Gap { line, found: seq, expected }),
            None if seq > 1 => return Err(LedgerError::Gap { line, found: seq, expected: 1 }),
            _ => self.last = Some(seq),
        }
        let envelope = Envelope::of(envelope).map_err(|source| LedgerError::Envelope { line, source })?;
        let examined = examine_envelope(&envelope, self.trust, None);
        let bad = examined.steps.iter().find(|step| step.flag.is_some());
        match (bad, examined.statement, examined.payload_digest, examined.key_id) {
            (None, Some(statement), Some(digest), Some(key_id)) => {
                self.ledger.add(LedgerEntry { seq, digest, key_id, statement });
                Ok(())
            }
            (bad, ..) => {
                let flag = bad.and_then(|step| step.flag).unwrap_or(VerdictFlag::Malformed);
                match flag {
                    VerdictFlag::UntrustedKey
                    | VerdictFlag::KeyScope
                    | VerdictFlag::KeyExpired
                    | VerdictFlag::KeyRevoked => {
                        self.ledger.unused.push((line, flag));
                        Ok(())
                    }
                    flag => {
                        let detail = bad.map(|step| step.detail.clone()).unwrap_or_default();
                        Err(LedgerError::Refused { line, flag, detail })
                    }
                }
            }
        }
    }

    /// All that was read.
    pub fn finish(self) -> Ledger {
        self.ledger
    }
}

impl Ledger {
    /// Reads one whole ledger; see [`LedgerReader::line`].
    ///
    /// # Errors
    /// See [`LedgerError`].
    pub fn parse(text: &str, trust: &Trust) -> Result<Ledger, LedgerError> {
        let mut reader = LedgerReader::new(trust);
        text.lines().try_for_each(|line| reader.line(line))?;
        Ok(reader.finish())
    }

    fn add(&mut self, entry: LedgerEntry) {
        let at = self.entries.len();
        if self.by_digest.contains_key(&entry.digest) {
            return;
        }
        self.by_digest.insert(entry.digest.clone(), at);
        if let Some(session) = &entry.statement.session_id {
            self.by_session.entry(session.clone()).or_default().push(at);
        }
        self.entries.push(entry);
    }

    /// `sha256:` and hex over the lines.
    pub fn digest(&self) -> String {
        format!("sha256:{}", hex::encode(self.digest.clone().finalize()))
    }

    /// Its verdicts, in order.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// Lines that do not count, and why: the key is not trusted, or may not say that. Of a compromised key nothing counts
    /// here, since no batch says when its verdicts were there.
    pub fn unused(&self) -> &[(u64, VerdictFlag)] {
        &self.unused
    }

    /// Whether a verdict with this payload is listed.
    pub fn lists(&self, digest: &str) -> bool {
        self.by_digest.contains_key(digest)
    }

    /// The verdicts of a session, in order.
    pub fn of_session(&self, session_id: &str) -> impl Iterator<Item = &LedgerEntry> {
        self.by_session.get(session_id).into_iter().flatten().map(|at| &self.entries[*at])
    }

    /// The sessions that have a verdict, in no order.
    pub fn sessions(&self) -> impl Iterator<Item = &str> {
        self.by_session.keys().map(String::as_str)
    }

    /// What the ledger holds of a session, as hex of a SHA-256; None where it holds nothing. It changes when a verdict of
    /// the session is added, and not with those of others.
    pub fn session_digest(&self, session_id: &str) -> Option<String> {
        let mut entries = self.of_session(session_id).peekable();
        entries.peek()?;
        let mut hash = Sha256::new();
        for entry in entries {
            hash.update(&entry.digest);
            // A shared baseline is of no session, and matters to those that start from it.
            let known = entry.statement.prev.as_ref().is_some_and(|prev| self.lists(prev));
            hash.update([u8::from(known)]);
        }
        Some(hex::encode(hash.finalize()))
    }

    /// What each signed FAIL was graded for.
    pub fn failed(&self) -> impl Iterator<Item = Graded> {
        let fails = self.entries.iter().filter(|e| e.statement.verdict == lake_trace::Verdict::Fail);
        fails.map(|entry| Graded::signed(&entry.statement))
    }

    /// The verdicts that lead from one digest (None: from nothing) to another, both left out, each naming the one before.
    /// None where they do not, or where one is of another session or stands in `held`.
    pub(crate) fn between(
        &self,
        session_id: &str,
        from: Option<&str>,
        to: Option<&str>,
        held: &HashSet<String>,
    ) -> Option<Vec<&LedgerEntry>> {
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let entry = &self.entries[*self.by_digest.get(at?)?];
            let own = entry.statement.session_id.as_deref().is_none_or(|id| id == session_id);
            // A digest is of its `prev` too, so there is no way round in circles.
            if !own || held.contains(&entry.digest) {
                return None;
            }
            path.push(entry);
            at = entry.statement.prev.as_deref();
        }
        path.reverse();
        Some(path)
    }
}
