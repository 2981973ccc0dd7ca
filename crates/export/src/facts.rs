//! What is kept of a branch once it was read: never its texts.

use std::sync::Arc;

use lake_trace::{Correction, Outcome};
use lake_verdict::{Claim, Evidence, VerdictFlag};

use crate::choose::Reason;
use crate::spill::Span;
use crate::tokens::Counts;
use crate::tools::{Harness, Shape};

/// What the first `session_start` says, as far as rows need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Canonical remote, lower case.
    pub(crate) repo: Option<String>,
    pub(crate) task_id: Option<String>,
    pub(crate) base_commit: Option<String>,
    pub(crate) harness: Harness,
}

/// What was found out about a branch.
#[derive(Clone, Debug)]
pub(crate) enum Facts {
    /// Its bytes are gone or damaged.
    Unread(Reason),
    Read(Box<Judgement>),
}

/// What a branch that was read is worth.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) origin: Origin,
    pub(crate) outcome: Outcome,
    /// Flag and the step that found it.
    pub(crate) flags: Vec<(VerdictFlag, &'static str)>,
    pub(crate) claim: Claim,
    /// Of the deciding PASS or of a negative's last FAIL.
    pub(crate) evidence: Option<Evidence>,
    /// The keys that prove the records up to there, sorted.
    pub(crate) key_ids: Vec<String>,
    /// Where they stand, and what they say.
    pub(crate) corrections: Vec<(u64, Correction)>,
    /// What the branch gives to each set; None where its outcome gives nothing.
    pub(crate) row: Option<Row>,
}

/// A row that could be used.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// Why the supervised set may not have it, whatever else is found.
    pub(crate) no_sft: Option<Reason>,
    /// Why the preference set may not have it, whatever else is found.
    pub(crate) no_preference: Option<Reason>,
    /// Where the rendered turns are; nowhere where neither set may have them, or nothing is written.
    pub(crate) spans: Vec<Span>,
    /// Where they are in the canonical form, if they are counted and their dialect has another; else nowhere.
    pub(crate) canonical: Vec<Span>,
    /// Turns before the model's first.
    pub(crate) prompt_turns: usize,
    /// SHA-256 over roles and contents of the prompt, before redaction.
    pub(crate) prompt: [u8; 32],
    /// UTF-8 bytes of assistant content, reasoning, names and compact arguments.
    pub(crate) length: u64,
    /// Its tokens, where they are counted.
    pub(crate) tokens: Option<Counts>,
    /// The supervised row ends after so many messages, which have so many tokens.
    pub(crate) cut: Option<(usize, Counts)>,
    /// A person wrote to the model after the prompt.
    pub(crate) human_help: bool,
    pub(crate) has_call: bool,
    pub(crate) shapes: Vec<Arc<Shape>>,
    /// JSON text.
    pub(crate) metadata: String,
}

impl Row {
    /// How long it is, to compare it with others of its export: tokens that the model said, or their bytes.
    pub(crate) fn length(&self) -> u64 {
        self.tokens.as_ref().map_or(self.length, |tokens| tokens.said)
    }

    /// Where its turns are in the canonical form.
    pub(crate) fn canonical(&self) -> &[Span] {
        if self.canonical.is_empty() { &self.spans } else { &self.canonical }
    }

    /// Bytes of those in the temporary file.
    pub(crate) fn spilled(&self) -> u64 {
        self.canonical().iter().map(Span::bytes).sum()
    }
}
