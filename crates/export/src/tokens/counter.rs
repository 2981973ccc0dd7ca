//! Counts the tokens of a rendered conversation, and those of them that are trained.
//!
//! A text is counted piece by piece: an encoding takes a hundred times the memory of its text. Pieces end where the
//! tokenizer cuts whatever stands around: after its added tokens.

use std::ops::Range;

use tokenizers::{Encoding, Tokenizer};

use super::words::Words;
use crate::{Error, Result};

/// Pieces are put together up to this size, bytes.
const PIECE_BYTES: usize = 64 << 10;
/// A piece that cannot be cut and is larger than this is not counted: its encoding would not fit into memory.
const LARGEST_PIECE: usize = 2 << 20;

/// A span of a text that the model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) at: Range<usize>,
    /// Whether it is trained.
    pub(super) train: bool,
}

/// Tokens of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) all: u64,
    /// Of what the model says, trained or not.
    pub(crate) said: u64,
    pub(crate) trained: u64,
    /// Where those are: the first token and the one after the last, of each run.
    pub(crate) runs: Vec<(u64, u64)>,
}

/// A tokenizer.
pub(super) struct Counter {
    tokenizer: Tokenizer,
    added: Added,
    words: Option<Words>,
}

impl Counter {
    /// Reads a `tokenizer.json`.
    pub(super) fn open(json: &[u8]) -> Result<Counter> {
        let bad = |e: tokenizers::Error| Error::Tokenizer(e.to_string());
        let mut tokenizer = Tokenizer::from_bytes(json).map_err(bad)?;
        // What a file says of padding and cutting is not for training sets.
        tokenizer.with_truncation(None).map_err(bad)?.with_padding(None);
        let added = Added::of(&tokenizer);
        let words = if added.is_plain { Words::of(&tokenizer) } else { None };
        Ok(Counter { tokenizer, added, words })
    }

    /// Counts a text. A token is of a span when it overlaps it, as transformers has it; `said` is in order. The ranges
    /// of `context` may have no trained token.
    ///
    /// # Errors
    /// The inner one: why it cannot be counted.
    pub(super) fn count(
        &self,
        text: &str,
        said: &[Said],
        context: &[Range<usize>],
    ) -> std::result::Result<Counts, Uncounted> {
        let mut tally = Tally { said, context, next: 0, counts: Counts::default(), is_context: false };
        match &self.words {
            Some(words) => self.by_words(words, text, &mut tally)?,
            None => self.by_pieces(text, &mut tally)?,
        }
        if tally.is_context { Err(Uncounted::ContextTrained) } else { Ok(tally.counts) }
    }

    fn by_words(&self, words: &Words, text: &str, tally: &mut Tally<'_>) -> std::result::Result<(), Uncounted> {
        words.with_cache(|cache| {
            let mut before = None;
            for part in self.added.parts(text) {
                if part.added {
                    before = Some(part.at.clone());
                    // An added token has no spaces around it that its offsets could lose.
                    tally.token(part.at.clone());
                    continue;
                }
                let piece = &text[part.at.clone()];
                if !words.takes(piece) {
                    // Where what is made of it stands in the text matters only at the end of a span.
                    if let Some(kind) = tally.whole(&part.at) {
                        let made = words.made(piece);
                        let each = words.split(&made).map(|word| words.count(&self.tokenizer, &made[word], cache));
                        tally.add(kind, each.sum());
                        continue;
                    }
                    self.encode(text, part.at, before.clone(), tally)?;
                    continue;
                }
                for word in words.split(piece) {
                    let at = part.at.start + word.start..part.at.start + word.end;
                    match tally.whole(&at) {
                        Some(kind) => {
                            let n = words.count(&self.tokenizer, &text[at], cache);
                            tally.add(kind, n);
                        }
                        None => words.offsets(&self.tokenizer, &text[at.clone()], at.start == 0).into_iter().for_each(
                            |(start, end)| {
                                tally.token(at.start + start..at.start + end);
                            },
                        ),
                    }
                }
            }
            Ok(())
        })
    }

    fn by_pieces(&self, text: &str, tally: &mut Tally<'_>) -> std::result::Result<(), Uncounted> {
        let mut start = 0;
        let mut before: Option<Range<usize>> = None;
        let ends = self.added.parts(text).into_iter().filter(|part| part.cuts).map(|part| Some(part.at));
        for cut in ends.chain([None]) {
            let end = cut.as_ref().map_or(text.len(), |cut| cut.end);
            if end - start >= PIECE_BYTES || cut.is_none() {
                self.encode(text, start..end, before.take(), tally)?;
                start = end;
                before = cut;
            }
        }
        Ok(())
    }

    /// Tallies a piece. `before`: the added token that it follows; some tokenizers treat the start of a text otherwise.
    fn encode(
        &self,
        text: &str,
        at: Range<usize>,
        before: Option<Range<usize>>,
        tally: &mut Tally<'_>,
    ) -> std::result::Result<(), Uncounted> {
        if at.len() > LARGEST_PIECE {
            return Err(Uncounted::TooLarge);
        }
        let head = before.map_or("", |before| &text[before]);
        let whole = format!("{head}{}", &text[at.clone()]);
        let encoding = self.tokenizer.encode(whole.as_str(), false).map_err(|_| Uncounted::Unknown)?;
        for (start, end) in offsets(&encoding).filter(|(_, end)| head.is_empty() || *end > head.len()) {
            tally.token(at.start + start.saturating_sub(head.len())..at.start + end - head.len());
        }
        Ok(())
    }
}

fn offsets(encoding: &Encoding) -> impl Iterator<Item = (usize, usize)> {
    encoding.get_offsets().iter().copied()
}

/// Why a text has no count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Uncounted {
    /// A token that would be trained reaches into what the model did not say.
    ContextTrained,
    /// Its encoding would not fit into memory.
    TooLarge,
    /// The tokenizer has no token for something in it.
    Unknown,
}

/// Counts tokens as they come.
struct Tally<'t> {
    said: &'t [Said],
    context: &'t [Range<usize>],
    /// The first span that does not end before the token.
    next: usize,
    counts: Counts,
    is_context: bool,
}

/// Where a word stands with all its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Context,
    Said { train: bool },
}

impl Tally<'_> {
    fn skip(&mut self, start: usize) {
        while self.said.get(self.next).is_some_and(|said| start >= said.at.end) {
            self.next += 1;
        }
    }

    fn token(&mut self, at: Range<usize>) {
        self.skip(at.start);
        match self.said.get(self.next).filter(|said| at.end > said.at.start) {
            None => self.add(Kind::Context, 1),
            Some(said) => {
                let (train, is_inside) = (said.train, said.at.start <= at.start && at.end <= said.at.end);
                let over = |other: &Range<usize>| at.start < other.end && at.end > other.start;
                self.is_context |= train && !is_inside && self.context.iter().any(over);
                self.add(Kind::Said { train }, 1);
            }
        }
    }

    fn add(&mut self, kind: Kind, tokens: u64) {
        let counts = &mut self.counts;
        let first = counts.all;
        counts.all += tokens;
        let Kind::Said { train } = kind else { return };
        counts.said += tokens;
        if train && tokens > 0 {
            counts.trained += tokens;
            match counts.runs.last_mut().filter(|(_, end)| *end == first) {
                Some(run) => run.1 = counts.all,
                None => counts.runs.push((first, counts.all)),
            }
        }
    }

    /// What all tokens of a word are, if it touches no end of a span.
    fn whole(&mut self, word: &Range<usize>) -> Option<Kind> {
        // A span that ends where the word begins touches it.
        while self.said.get(self.next).is_some_and(|said| word.start > said.at.end) {
            self.next += 1;
        }
        match self.said.get(self.next) {
            None => Some(Kind::Context),
            Some(said) if word.end < said.at.start => Some(Kind::Context),
            Some(said) if said.at.start < word.start && word.end < said.at.end => {
                Some(Kind::Said { train: said.train })
            }
            Some(_) => None,
        }
    }
}

/// Tokens that are cut out of a text before anything else is done to it.
#[derive(Debug, Default)]
struct Added {
    /// By their first byte; longer ones first.
    by_byte: Vec<(u8, Vec<(String, bool)>)>,
    /// All are found as they stand, and take nothing from around them.
    is_plain: bool,
}

/// A part of a text: an added token, or what is between two.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    at: Range<usize>,
    added: bool,
    /// A text may be cut after it.
    cuts: bool,
}

impl Added {
    fn of(tokenizer: &Tokenizer) -> Added {
        let mut added = Added { by_byte: Vec::new(), is_plain: true };
        for token in tokenizer.get_added_tokens_decoder().into_values() {
            let takes = token.single_word || token.lstrip || token.rstrip;
            added.is_plain &= !takes && !token.normalized;
            let Some(first) = token.content.bytes().next().filter(|_| !token.normalized) else { continue };
            let place = added.by_byte.iter().position(|(byte, _)| *byte == first).unwrap_or_else(|| {
                added.by_byte.push((first, Vec::new()));
                added.by_byte.len() - 1
            });
            added.by_byte[place].1.push((token.content, !takes));
        }
        for (_, tokens) in &mut added.by_byte {
            tokens.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        }
        added
    }

    /// Added tokens, the leftmost and longest first, and what is between them.
    fn parts(&self, text: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut first_byte = [usize::MAX; 256];
        for (i, (byte, _)) in self.by_byte.iter().enumerate() {
            first_byte[usize::from(*byte)] = i;
        }
        let bytes = text.as_bytes();
        let (mut done, mut at) = (0, 0);
        while at < bytes.len() {
            let tokens = self.by_byte.get(first_byte[usize::from(bytes[at])]);
            let found =
                tokens.and_then(|(_, tokens)| tokens.iter().find(|(t, _)| bytes[at..].starts_with(t.as_bytes())));
            let Some((token, cuts)) = found else {
                at += 1;
                continue;
            };
            if done < at {
                parts.push(Part { at: done..at, added: false, cuts: false });
            }
            parts.push(Part { at: at..at + token.len(), added: true, cuts: *cuts });
            at += token.len();
            done = at;
        }
        if done < bytes.len() {
            parts.push(Part { at: done..bytes.len(), added: false, cuts: false });
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tokenizers::models::bpe::{BPE, BpeTrainer};
    use tokenizers::normalizers::NFC;
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;
    use tokenizers::pre_tokenizers::metaspace::{Metaspace, PrependScheme};
    use tokenizers::pre_tokenizers::sequence::Sequence;
    use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
    use tokenizers::{AddedToken, Model, PreTokenizerWrapper, SplitDelimiterBehavior};

    use std::sync::LazyLock;

    const TEXTS: [&str; 14] = [
        " the",
        "\n\n",
        "   ",
        "It's",
        "12345",
        "naïve e\u{301} 中文",
        "🦀👩‍👩‍👧",
        "<|end|>",
        "<|en",
        "\r\n\t",
        "==(a)[0];",
        "\u{a0}\u{2003}",
        "function words of some length",
        "\u{1f}'LL x",
    ];

    fn words(pattern: &str) -> PreTokenizerWrapper {
        let pattern = SplitPattern::Regex(pattern.to_owned());
        let split = Split::new(pattern, SplitDelimiterBehavior::Isolated, false).expect("a pattern");
        PreTokenizerWrapper::Sequence(Sequence::new(vec![split.into(), ByteLevel::new(false, false, false).into()]))
    }

    /// A tokenizer that learned a few merges; with words that are cut here, or not.
    fn counter(cut: PreTokenizerWrapper, nfc: bool, trims: bool) -> Counter {
        let mut tokenizer = Tokenizer::new(BPE::default());
        tokenizer.with_pre_tokenizer(Some(cut));
        tokenizer.with_normalizer(nfc.then_some(NFC)).expect("a normalizer");
        tokenizer.with_post_processor(Some(ByteLevel::new(true, trims, true)));
        let mut trainer: tokenizers::models::TrainerWrapper = BpeTrainer::builder()
            .vocab_size(500)
            .show_progress(false)
            .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
            .build()
            .into();
        tokenizer.train(&mut trainer, [TEXTS.concat(), "the\n\nlearned  words".repeat(3)].iter()).expect("trained");
        assert!(tokenizer.get_model().get_vocab_size() > 256);
        let token = AddedToken::from("<|end|>", true).normalized(false);
        tokenizer.add_special_tokens([token]).expect("a token");
        Counter::open(tokenizer.to_string(false).expect("JSON").as_bytes()).expect("itself")
    }

    /// What transformers does: the whole text at once, then each token.
    fn reference(counter: &Counter, text: &str, said: &[Said]) -> Counts {
        let encoding = counter.tokenizer.encode(text, false).expect("encoded");
        let mut tally = Tally { said, context: &[], next: 0, counts: Counts::default(), is_context: false };
        offsets(&encoding).for_each(|(start, end)| tally.token(start..end));
        tally.counts
    }

    fn check(counter: &Counter, parts: &[usize], spans: &[(usize, bool)]) {
        let text: String = parts.iter().map(|n| TEXTS[n % TEXTS.len()]).collect();
        let mut ends: Vec<usize> = spans.iter().map(|(at, _)| at % (text.chars().count() + 1)).collect();
        ends.sort_unstable();
        ends.dedup();
        let byte = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(at, _)| at);
        let said = ends.chunks_exact(2).zip(spans);
        let said: Vec<Said> =
            said.map(|(two, (_, train))| Said { at: byte(two[0])..byte(two[1]), train: *train }).collect();
        assert_eq!(counter.count(&text, &said, &[]), Ok(reference(counter, &text, &said)), "{text:?} {said:?}");
    }

    const QWEN: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

    /// Tokenizers whose words are cut here.
    static BY_WORDS: LazyLock<[Counter; 3]> = LazyLock::new(|| {
        let gpt2 = PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, true));
        [counter(gpt2, false, true), counter(words(QWEN), true, true), counter(words(QWEN), false, false)]
    });
    /// And others.
    static BY_PIECES: LazyLock<[Counter; 2]> = LazyLock::new(|| {
        let metaspace = Metaspace::new('▁', PrependScheme::First, true);
        [words(r"\s+|\w+"), metaspace.into()].map(|cut| counter(cut, false, true))
    });

    fn parts(most: usize) -> impl Strategy<Value = (Vec<usize>, Vec<(usize, bool)>)> {
        let spans = proptest::collection::vec((0usize..600, any::<bool>()), 0..9);
        (proptest::collection::vec(0usize..64, 0..most), spans)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
        #[test]
        fn words_have_the_tokens_of_the_whole((parts, spans) in parts(60)) {
            for counter in &*BY_WORDS {
                prop_assert!(counter.words.is_some());
                check(counter, &parts, &spans);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
        #[test]
        fn pieces_have_the_tokens_of_the_whole((parts, spans) in parts(40)) {
            // Larger than a piece.
            let parts: Vec<usize> = (0..400).flat_map(|_| parts.iter().copied()).collect();
            for counter in &*BY_PIECES {
                prop_assert!(counter.words.is_none());
                check(counter, &parts, &spans);
            }
        }
    }

    #[test]
    fn a_trained_token_that_reaches_into_context_is_an_error() {
        let counter = counter(words(QWEN), false, false);
        let said = [Said { at: 4..8, train: true }];
        let text = "the\n\n\n words";
        let found = |end: usize| {
            let context = [Range { start: 0, end }];
            counter.count(text, &said, &context).map(|counts| counts.trained > 0)
        };
        assert_eq!(found(3), Ok(true));
        assert_eq!(found(4), Err(Uncounted::ContextTrained));
    }
}
