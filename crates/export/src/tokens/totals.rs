//! What the manifest says of tokens.

use std::collections::BTreeMap;

use serde::Serialize;

use super::counter::Counts;

/// With which tokenizer the rows were counted, and what came out.
#[derive(Clone, Debug, Serialize)]
pub struct TokensUsed {
    /// SHA-256 of `tokenizer.json`, hex.
    pub tokenizer_sha256: String,
    /// SHA-256 of the chat template that was given, hex.
    pub chat_template_sha256: String,
    /// SHA-256 of the template with the mask of the rows in it, by which the tokens were counted, hex.
    pub trained_template_sha256: String,
    /// Counts by set.
    pub sets: BTreeMap<&'static str, TokenCounts>,
}

/// Tokens of a set.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TokenCounts {
    /// What a trainer sees at once: supervised rows, or sides of pairs, each with its prompt.
    pub sequences: u64,
    /// Tokens of all of them.
    pub tokens: u64,
    /// Tokens of the longest one.
    pub longest: u64,
    /// Tokens inside the mask; only of supervised rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trained: Option<u64>,
    /// The fewest of them in a row, which is 1 or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_trained: Option<u64>,
    /// Tokens inside the mask that reach into what a user, the system or a tool said: none, or the row is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment_trained: Option<u64>,
    /// Rows that end early, at a turn.
    pub cut: u64,
    /// Sequences by their tokens.
    pub histogram: Vec<Bin>,
}

/// Sequences of about one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The most tokens that one has; the fewest are more than the half of it.
    pub up_to: u64,
    /// How many there are.
    pub sequences: u64,
}

impl TokenCounts {
    /// Adds a sequence. `is_masked`: only what the mask says is trained of it.
    pub(crate) fn add(&mut self, counts: &Counts, is_masked: bool, is_cut: bool) {
        self.sequences += 1;
        self.tokens += counts.all;
        self.longest = self.longest.max(counts.all);
        self.cut += u64::from(is_cut);
        if is_masked {
            self.trained = Some(self.trained.unwrap_or(0) + counts.trained);
            self.least_trained = Some(self.least_trained.map_or(counts.trained, |least| least.min(counts.trained)));
            self.environment_trained = Some(0);
        }
        let up_to = counts.all.next_power_of_two();
        match self.histogram.binary_search_by_key(&up_to, |bin| bin.up_to) {
            Ok(place) => self.histogram[place].sequences += 1,
            Err(place) => self.histogram.insert(place, Bin { up_to, sequences: 1 }),
        }
    }
}
