//! Measures the rows that wait in the temporary file, and says which of them fit.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use lake_store::Catalog;
use lake_trace::json::{self, Notes};
use minijinja::value::Value;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::chat::Chat;
use super::counter::{Counter, Counts};
use super::measure::{Measured, Messages, measure};
use super::python::value_of;
use crate::choose::Reason;
use crate::facts::{Facts, Row};
use crate::plan::Plan;
use crate::spill::Spill;
use crate::tools::sha256_hex;
use crate::{Error, OnTooLong, Progress, Result, Set, Step, TokenCounts, TokenRequest, TokensUsed};

/// Sessions over this size are too long for any model, bytes.
pub(crate) const LARGEST_SESSION: u64 = 64 << 20;
/// Rows over this size are measured one at a time, bytes: memory must not grow with the number of threads.
const LARGE_BYTES: u64 = 8 << 20;

/// A tokenizer and the template that goes with it.
pub(crate) struct Tokens<'r> {
    request: &'r TokenRequest,
    chat: Chat,
    counter: Counter,
}

/// What rows are measured with.
pub(crate) struct Measuring<'e> {
    pub(crate) tokens: &'e Tokens<'e>,
    pub(crate) catalog: &'e Catalog,
    pub(crate) spill: &'e Spill,
    pub(crate) progress: &'e (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'e AtomicBool,
}

impl<'r> Tokens<'r> {
    /// Reads the tokenizer, and proves the template. `now`: what it is told if it asks what day it is.
    pub(crate) fn open(request: &'r TokenRequest, now: DateTime<Utc>) -> Result<Tokens<'r>> {
        let chat = Chat::open(&request.chat_template, &request.special_tokens, now)?;
        Ok(Tokens { request, chat, counter: Counter::open(&request.tokenizer)? })
    }

    /// The template that trainers are given.
    pub(crate) fn template(&self) -> &str {
        &self.chat.source
    }

    /// What the manifest says of the counts of each set.
    pub(crate) fn used<'w>(&self, sets: impl Iterator<Item = (Set, &'w TokenCounts)>) -> TokensUsed {
        TokensUsed {
            tokenizer_sha256: hex::encode(Sha256::digest(&self.request.tokenizer)),
            chat_template_sha256: sha256_hex(&self.request.chat_template),
            trained_template_sha256: sha256_hex(&self.chat.source),
            sets: sets.map(|(set, counts)| (set.as_str(), counts.clone())).collect(),
        }
    }

    /// What somebody should know of the template.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let date = "the chat template asks what day it is: the tokens are counted as of the lake's last batch";
        self.chat.asks_date.then(|| date.to_owned()).into_iter().collect()
    }
}

/// What was found of a row.
struct Found {
    whole: Measured,
    /// Messages that fit, their tokens, and whether one of them has a call.
    cut: Option<(usize, Counts, bool)>,
}

impl Measuring<'_> {
    /// Measures every row that could be used, and notes in it what it is and why it may be in no set.
    ///
    /// # Errors
    /// The template drops what a row has.
    pub(crate) fn measure(&self, facts: &mut [Option<Facts>], plan: &Plan) -> Result<()> {
        let tools = self.tools(plan)?;
        let rows: Vec<usize> = plan.candidates.iter().copied().collect();
        let (done, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        let large = Mutex::new(());
        let read = &*facts;
        let one = |i: &usize| {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            let Some((harness, row)) = row_of(read, *i) else { return Ok(None) };
            let size = row.spilled();
            let _alone = (size > LARGE_BYTES).then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            let found = self.one(row, tools.get(plan.tools.of(harness)).unwrap_or(&Value::UNDEFINED))?;
            let bytes = bytes.fetch_add(size, Ordering::Relaxed) + size;
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.progress)(Progress { step: Step::Count, done, total: rows.len() as u64, bytes });
            Ok(Some(found))
        };
        let found: Vec<Option<Found>> = rows.par_iter().with_max_len(1).map(one).collect::<Result<_>>()?;
        let drops = |(_, found): &(&usize, &Option<Found>)| {
            found.as_ref().is_some_and(|found| found.whole == Measured::DropsReasoning)
        };
        let dropped: Vec<usize> = rows.iter().zip(&found).filter(drops).map(|(i, _)| *i).collect();
        if let Some(first) = dropped.first() {
            let (n, session) = (dropped.len(), &self.catalog.branches[*first].session_id);
            return Err(Error::ChatTemplate(format!(
                "it drops reasoning, of all turns or of some, and {n} sessions have some, such as {session}: \
                 give it a branch that prints `message.reasoning_content` of every turn"
            )));
        }
        for (i, found) in rows.into_iter().zip(found) {
            if let (Some(Facts::Read(judgement)), Some(found)) = (&mut facts[i], found)
                && let Some(row) = &mut judgement.row
            {
                self.note(row, found);
            }
        }
        Ok(())
    }

    /// The tools of each harness as a template sees them, by their texts.
    fn tools<'p>(&self, plan: &'p Plan) -> Result<BTreeMap<&'p str, Value>> {
        let parse = |text: &'p str| {
            let value = json::parse(text, &mut Notes::default()).ok().and_then(|value| value_of(&value));
            value.map(|value| (text, value)).ok_or_else(|| Error::ToolsFile("a number in it is too large".to_owned()))
        };
        plan.tools.all().map(|(_, text)| text).chain(["[]"]).map(parse).collect()
    }

    fn one(&self, row: &Row, tools: &Value) -> Result<Found> {
        let unrenderable = Found { whole: Measured::Unrenderable, cut: None };
        let messages = self.messages(row).map_err(Error::io("reading back", "a temporary file"))?;
        let Some(messages) = messages else { return Ok(unrenderable) };
        let whole = self.first(&messages, messages.len(), tools);
        let over = self.too_long(&whole);
        let cuts = over && self.tokens.request.on_too_long == OnTooLong::Cut && row.no_sft.is_none();
        let cut = if cuts { self.longest_that_fits(&messages, tools) } else { None };
        Ok(Found { whole, cut })
    }

    fn first(&self, messages: &Messages, n: usize, tools: &Value) -> Measured {
        measure(&self.tokens.chat, &self.tokens.counter, messages, n, tools)
    }

    fn too_long(&self, measured: &Measured) -> bool {
        match measured {
            Measured::Counted(counts) => self.tokens.request.max_tokens.is_some_and(|most| counts.all > most),
            measured => *measured == Measured::TooLarge,
        }
    }

    /// The most messages that fit and teach something. Between two places where a row may end the tokens only grow.
    fn longest_that_fits(&self, messages: &Messages, tools: &Value) -> Option<(usize, Counts, bool)> {
        let ends: Vec<usize> = (1..messages.len()).filter(|end| messages.may_end_after(*end)).collect();
        let fits = |end: &usize| match self.first(messages, *end, tools) {
            Measured::Counted(counts) if counts.all <= self.tokens.request.max_tokens.unwrap_or(u64::MAX) => {
                Some(counts)
            }
            _ => None,
        };
        let (mut low, mut high) = (0, ends.len());
        let mut best = None;
        while low < high {
            let middle = low + (high - low) / 2;
            match fits(&ends[middle]) {
                Some(counts) => {
                    best = Some((ends[middle], counts));
                    low = middle + 1;
                }
                None => high = middle,
            }
        }
        let (end, counts) = best.filter(|(_, counts)| counts.trained > 0)?;
        Some((end, counts, messages.has_call(end)))
    }

    /// The messages of a row; None if a template cannot be given one of them.
    fn messages(&self, row: &Row) -> std::io::Result<Option<Messages>> {
        let mut frames = self.spill.frames(row.canonical());
        let mut messages = Messages::default();
        let mut text = Vec::new();
        while let Some(note) = frames.next_into(&mut text)? {
            text.push(b'}');
            if std::str::from_utf8(&text).ok().and_then(|text| messages.push(text, note.train)).is_none() {
                return Ok(None);
            }
            text.clear();
        }
        Ok(Some(messages))
    }

    fn note(&self, row: &mut Row, found: Found) {
        let both = match &found.whole {
            Measured::Unrenderable | Measured::DropsReasoning => Some(Reason::Unrenderable),
            whole => self.too_long(whole).then_some(Reason::TooLong),
        };
        row.no_preference = row.no_preference.or(both);
        match found.cut {
            Some((messages, counts, has_call)) if both == Some(Reason::TooLong) => {
                row.cut = Some((messages, counts));
                row.has_call = has_call;
            }
            _ => {
                let nothing = matches!(&found.whole, Measured::Counted(counts) if counts.trained == 0);
                row.no_sft = row.no_sft.or(both).or(nothing.then_some(Reason::NothingTrained));
            }
        }
        if let Measured::Counted(counts) = found.whole {
            row.tokens = Some(counts);
        }
    }
}

fn row_of(facts: &[Option<Facts>], i: usize) -> Option<(&crate::tools::Harness, &Row)> {
    match &facts[i] {
        Some(Facts::Read(judgement)) => Some((&judgement.origin.harness, judgement.row.as_ref()?)),
        _ => None,
    }
}
