//! One automaton over all keywords, run over four parts of a text at once.
//!
//! A step of an automaton waits for the step before it. Four of them wait at the same time.

use crate::Error;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind};
use std::ops::Range;

/// Parts of a text that are looked at together, and the least length of one.
const LANES: usize = 4;
const LEAST: usize = 64;

/// The keywords as a DFA, without case.
#[derive(Debug)]
pub(crate) struct Prefilter {
    dfa: DFA,
    longest: usize,
}

/// A keyword's number and where it stands.
pub(crate) type Candidate = (usize, Range<usize>);

impl Prefilter {
    /// Of keywords in lower case.
    pub(crate) fn new(keywords: &[String]) -> Result<Self, Error> {
        let bad = |error: &dyn std::error::Error| Error::Rule { rule: "prefilter".into(), reason: error.to_string() };
        let dfa = DFA::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(keywords)
            .map_err(|error| bad(&error))?;
        let longest = keywords.iter().map(String::len).max().unwrap_or(0);
        // So that no search can fail later.
        dfa.start_state(Anchored::No).map_err(|error| bad(&error))?;
        Ok(Self { dfa, longest })
    }

    /// Every keyword that stands in the text, also those that overlap, by where they end.
    pub(crate) fn candidates(&self, text: &str) -> Vec<Candidate> {
        let bytes = text.as_bytes();
        let mut found = Vec::new();
        let Ok(start) = self.dfa.start_state(Anchored::No) else { return found };
        let length = bytes.len() / LANES;
        if length < LEAST.max(self.longest) {
            self.rest(bytes, start, 0..bytes.len(), (0, None), &mut found);
            return found;
        }
        let mut lanes: [Vec<Candidate>; LANES] = Default::default();
        let mut states = [start; LANES];
        let parts: [&[u8]; LANES] = std::array::from_fn(|lane| &bytes[lane * length..(lane + 1) * length]);
        #[expect(clippy::needless_range_loop, reason = "the parts are walked side by side")]
        for at in 0..length {
            for lane in 0..LANES {
                let state = self.dfa.next_state(Anchored::No, states[lane], parts[lane][at]);
                states[lane] = state;
                if self.dfa.is_special(state) && self.dfa.is_match(state) {
                    self.matches(state, lane * length + at + 1, 0, &mut lanes[lane]);
                }
            }
        }
        for lane in 0..LANES {
            let end = (lane + 1) * length;
            found.append(&mut lanes[lane]);
            // What begins here and ends in the next part; the last part ends with the text.
            let (to, before) = if lane + 1 == LANES { (bytes.len(), usize::MAX) } else { (end + self.longest, end) };
            // In the first state nothing that began is still open.
            let until = (before < usize::MAX).then_some(start);
            if until.is_none() || states[lane] != start {
                self.rest(bytes, states[lane], end..to.min(bytes.len()), (before, until), &mut found);
            }
        }
        found
    }

    /// Goes on from a state, to the end of the span or to the state `until`. `before`: only what begins before it, 0 and
    /// `usize::MAX` stand for all.
    fn rest(
        &self,
        bytes: &[u8],
        mut state: StateID,
        span: Range<usize>,
        (before, until): (usize, Option<StateID>),
        found: &mut Vec<Candidate>,
    ) {
        for at in span {
            state = self.dfa.next_state(Anchored::No, state, bytes[at]);
            if self.dfa.is_special(state) && self.dfa.is_match(state) {
                self.matches(state, at + 1, before, found);
            }
            if Some(state) == until {
                return;
            }
        }
    }

    fn matches(&self, state: StateID, end: usize, before: usize, found: &mut Vec<Candidate>) {
        for index in 0..self.dfa.match_len(state) {
            let pattern = self.dfa.match_pattern(state, index);
            let start = end - self.dfa.pattern_len(pattern);
            if before == 0 || start < before {
                found.push((pattern.as_usize(), start..end));
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests {
    use super::*;

    #[test]
    fn four_parts_find_what_one_finds() {
        let keywords: Vec<String> = ["ab", "abc", "bcabca", "ca"].map(str::to_owned).to_vec();
        let filter = Prefilter::new(&keywords).unwrap();
        for length in [0, 1, 5, 1023, 1024, 1025, 1100, 4099, 5000] {
            let text: String = "abcABCxbcabca".chars().cycle().take(length).collect();
            let mut one = Vec::new();
            filter.rest(
                text.as_bytes(),
                filter.dfa.start_state(Anchored::No).unwrap(),
                0..text.len(),
                (0, None),
                &mut one,
            );
            let mut four = filter.candidates(&text);
            let key = |candidate: &Candidate| (candidate.1.end, candidate.1.start);
            one.sort_by_key(key);
            four.sort_by_key(key);
            assert_eq!(four, one, "{length}");
        }
    }
}
