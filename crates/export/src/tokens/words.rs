//! Byte-level tokenizers cut a text into words, and what a word's tokens are depends on nothing around it: each word is
//! counted once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::split::SplitPattern;
use tokenizers::{
    Encoding, Model, ModelWrapper, NormalizerWrapper, OffsetType, PreTokenizedString, PreTokenizer,
    PreTokenizerWrapper, SplitDelimiterBehavior, Token, Tokenizer,
};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// How GPT-2's words are cut; a byte-level tokenizer that names no other way does it like this.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";
/// What all such patterns end in: of the spaces before a word the last one is left to it.
const SPACES: &str = r"|\s+(?!\S)|\s+";
/// The pattern of all before [`SPACES`]; it goes first.
const WORD: PatternID = PatternID::ZERO;
/// Words that are remembered, at most, on each thread; then all are forgotten.
const WORDS: usize = 200_000;
/// Longer ones are not remembered, bytes.
const LONGEST: usize = 64;

/// Counts of words, on one thread.
pub(super) type Cache = HashMap<Box<str>, u32, RandomState>;

thread_local! {
    /// With the number of the tokenizer that they are of.
    static CACHE: RefCell<(u64, Cache)> = RefCell::default();
}

/// How a tokenizer cuts words.
#[derive(Debug)]
pub(super) struct Words {
    pattern: Regex,
    /// Texts are brought into NFC first; one that may not be in it is not cut here.
    nfc: bool,
    number: u64,
}

impl Words {
    /// None: the tokenizer is of another kind, or cuts words in a way that is not known here.
    pub(super) fn of(tokenizer: &Tokenizer) -> Option<Words> {
        static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let ModelWrapper::BPE(bpe) = tokenizer.get_model() else { return None };
        let nfc = match tokenizer.get_normalizer() {
            None => false,
            Some(NormalizerWrapper::NFC(_)) => true,
            Some(_) => return None,
        };
        if bpe.dropout.is_some() {
            return None;
        }
        let pattern = match tokenizer.get_pre_tokenizer()? {
            PreTokenizerWrapper::ByteLevel(bytes) if bytes.use_regex && !bytes.add_prefix_space => GPT2,
            PreTokenizerWrapper::Sequence(steps) => match steps.as_ref() {
                [PreTokenizerWrapper::Split(split), PreTokenizerWrapper::ByteLevel(bytes)] => {
                    let is_known = split.behavior == SplitDelimiterBehavior::Isolated && !split.invert;
                    let SplitPattern::Regex(pattern) = &split.pattern else { return None };
                    (is_known && !bytes.use_regex && !bytes.add_prefix_space).then_some(pattern.as_str())?
                }
                _ => return None,
            },
            _ => return None,
        };
        let words = pattern.strip_suffix(SPACES)?;
        // What looks around itself is another engine's to find.
        let pattern = Regex::new_many(&[words, r"\s+"]).ok()?;
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Some(Words { pattern, nfc, number })
    }

    /// Whether a text is cut here as the tokenizer cuts it.
    pub(super) fn takes(&self, text: &str) -> bool {
        !self.nfc || text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes
    }

    /// A text as the tokenizer cuts it.
    pub(super) fn made(&self, text: &str) -> String {
        text.nfc().collect()
    }

    /// The words of a text, which are all of it.
    pub(super) fn split<'t>(&'t self, text: &'t str) -> impl Iterator<Item = Range<usize>> + 't {
        let mut input = Input::new(text);
        let mut waiting: Option<Range<usize>> = None;
        let mut at = 0;
        std::iter::from_fn(move || {
            if let Some(word) = waiting.take() {
                return Some(word);
            }
            if at >= text.len() {
                return None;
            }
            // A word begins where the last one ended; where none does, what follows is looked through for one.
            input.set_start(at);
            input.set_anchored(Anchored::Yes);
            let found = self.pattern.search(&input).or_else(|| {
                input.set_anchored(Anchored::No);
                self.pattern.search(&input)
            });
            let Some(found) = found.filter(|found| !found.is_empty()) else {
                return Some(std::mem::replace(&mut at, text.len())..text.len());
            };
            let mut end = found.end();
            if found.pattern() != WORD
                && end < text.len()
                && let Some((last, _)) = text[found.start()..end].char_indices().next_back()
                && last > 0
            {
                end = found.start() + last;
            }
            let word = found.start()..end;
            let before = at..found.start();
            at = end;
            if before.is_empty() {
                return Some(word);
            }
            // What no alternative takes is a piece of its own.
            waiting = Some(word);
            Some(before)
        })
    }

    /// Gives the words that this thread remembers.
    pub(super) fn with_cache<T>(&self, with: impl FnOnce(&mut Cache) -> T) -> T {
        CACHE.with_borrow_mut(|(number, cache)| {
            if *number != self.number {
                cache.clear();
                *number = self.number;
            }
            with(cache)
        })
    }

    /// Tokens of a word.
    pub(super) fn count(&self, tokenizer: &Tokenizer, word: &str, cache: &mut Cache) -> u64 {
        if let Some(known) = cache.get(word) {
            return u64::from(*known);
        }
        let n = encoding(tokenizer, word).map_or(0, |encoding| encoding.len());
        if word.len() <= LONGEST {
            if cache.len() >= WORDS {
                cache.clear();
            }
            cache.insert(word.into(), u32::try_from(n).unwrap_or(u32::MAX));
        }
        n as u64
    }

    /// Bytes of a word's tokens, as the tokenizer tells them: with or without the spaces around. `is_first`: nothing
    /// stands before it, which some tokenizers tell otherwise.
    pub(super) fn offsets(&self, tokenizer: &Tokenizer, word: &str, is_first: bool) -> Vec<(usize, usize)> {
        let Some(encoding) = encoding(tokenizer, word) else { return Vec::new() };
        let before = if is_first { Vec::new() } else { vec![Token::new(0, "x".to_owned(), (0, 1))] };
        let shift = before.len();
        let mut whole = Encoding::from_tokens(before, 0);
        whole.merge_with(encoding, true);
        let processed = tokenizer.post_process(whole, None, false).ok();
        let offsets = processed.iter().flat_map(Encoding::get_offsets).skip(shift);
        offsets.map(|(start, end)| (start - shift, end - shift)).collect()
    }
}

fn encoding(tokenizer: &Tokenizer, word: &str) -> Option<Encoding> {
    let mut cut = PreTokenizedString::from(word);
    ByteLevel::new(false, false, false).pre_tokenize(&mut cut).ok()?;
    cut.tokenize(|part| tokenizer.get_model().tokenize(part.get())).ok()?;
    cut.into_encoding(None, 0, OffsetType::Byte).ok()
}
