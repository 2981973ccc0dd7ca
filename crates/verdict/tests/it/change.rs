//! No single change of a signed session gives a verified flip, unless it lies after what was graded.

use std::sync::LazyLock;

use lake_trace::{Mode, Outcome, Verdict, lines};
use lake_verdict::{Judged, Ledger};
use proptest::prelude::*;

use crate::build::*;

/// A session that flips, one that does not, what the judge says of them, and what the oracle wrote down.
static SESSIONS: LazyLock<[(Vec<u8>, Judged, Ledger); 2]> = LazyLock::new(|| {
    [Verdict::Pass, Verdict::Fail].map(|last| {
        let mut trace = session(last);
        trace.message("all done");
        trace.end("agent");
        let judged = trace.judge();
        assert_eq!(judged.pass.is_some(), last == Verdict::Pass);
        assert_eq!(judged.negative.is_some(), last == Verdict::Fail);
        let ledger = trace.ledger();
        (trace.bytes, judged, ledger)
    })
});

#[derive(Clone, Debug)]
enum Change {
    Byte(prop::sample::Index, u8),
    Insert(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Remove(prop::sample::Index),
    /// A line's copy, somewhere.
    Double(prop::sample::Index, prop::sample::Index),
    /// A line's copy that no one takes for the same line.
    Twin(prop::sample::Index, prop::sample::Index),
    Move(prop::sample::Index, prop::sample::Index),
    /// A new line, somewhere.
    Add(prop::sample::Index, usize),
    /// A field of a line: its name is spoilt.
    Field(prop::sample::Index, prop::sample::Index),
    /// A word that matters becomes another.
    Word(usize, prop::sample::Index),
}

const WORDS: [(&str, &str); 10] = [
    ("FAIL", "PASS"),
    ("PASS", "FAIL"),
    ("grade", "baseline"),
    ("baseline", "grade"),
    ("\"attempt\":1", "\"attempt\":2"),
    ("\"attempt\":2", "\"attempt\":1"),
    ("s-1", "s-2"),
    ("task-1", "task-2"),
    ("tests-1", "tests-2"),
    ("run-1", "run-2"),
];

fn new_line(which: usize) -> Vec<u8> {
    let mut trace = session(Verdict::Pass);
    let from = trace.bytes.len();
    match which % 5 {
        0 => trace.unsigned(Mode::Grade, Verdict::Pass),
        1 => trace.unsigned(Mode::Baseline, Verdict::Fail),
        2 => trace.signed(Mode::Grade, Verdict::Pass),
        3 => trace.message("never said"),
        _ => trace.event("session_start", r#""task_id":"easier","repo":"github.com/acme/billing""#),
    }
    trace.bytes.split_off(from)
}

fn apply(bytes: &[u8], change: &Change) -> Vec<u8> {
    let mut all: Vec<Vec<u8>> = lines(bytes).map(|l| bytes[l.start..l.end].to_vec()).collect();
    let mut out = bytes.to_vec();
    match change {
        Change::Byte(at, byte) => out[at.index(bytes.len())] = *byte,
        Change::Insert(at, byte) => out.insert(at.index(bytes.len()), *byte),
        Change::Cut(at) => out.truncate(at.index(bytes.len())),
        Change::Field(at, which) => {
            let line = lines(bytes).nth(at.index(all.len())).expect("a line");
            let quotes: Vec<usize> = (line.start..line.end).filter(|i| bytes[*i] == b'"').collect();
            out[quotes[which.index(quotes.len())] + 1] ^= 1;
        }
        Change::Word(word, which) => {
            let (from, to) = WORDS[word % WORDS.len()];
            let text = String::from_utf8_lossy(bytes);
            let places: Vec<usize> = text.match_indices(from).map(|(i, _)| i).collect();
            if !places.is_empty() {
                let at = places[which.index(places.len())];
                out.splice(at..at + from.len(), to.bytes());
            }
        }
        Change::Remove(at) => {
            all.remove(at.index(all.len()));
            out = all.concat();
        }
        Change::Double(from, to) | Change::Twin(from, to) => {
            let mut line = all[from.index(all.len())].clone();
            if matches!(change, Change::Twin(..)) {
                line.splice(1..1, *b" ");
            }
            all.insert(to.index(all.len() + 1), line);
            out = all.concat();
        }
        Change::Move(from, to) => {
            let line = all.remove(from.index(all.len()));
            all.insert(to.index(all.len() + 1), line);
            out = all.concat();
        }
        Change::Add(at, which) => {
            all.insert(at.index(all.len() + 1), new_line(*which));
            out = all.concat();
        }
    }
    out
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(i, b)| Change::Byte(i, b)),
        2 => (at(), any::<u8>()).prop_map(|(i, b)| Change::Insert(i, b)),
        1 => at().prop_map(Change::Cut),
        1 => at().prop_map(Change::Remove),
        1 => (at(), at()).prop_map(|(i, j)| Change::Double(i, j)),
        1 => (at(), at()).prop_map(|(i, j)| Change::Twin(i, j)),
        1 => (at(), at()).prop_map(|(i, j)| Change::Move(i, j)),
        2 => (at(), any::<usize>()).prop_map(|(i, n)| Change::Add(i, n)),
        2 => (at(), at()).prop_map(|(i, j)| Change::Field(i, j)),
        2 => (any::<usize>(), at()).prop_map(|(n, i)| Change::Word(n, i)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn evidence_never_survives_a_change_of_what_was_graded(which in 0usize..2, change in change()) {
        let (bytes, honest, _) = &SESSIONS[which];
        let changed = apply(bytes, &change);
        let judged = judge_bytes(&changed, Some(&trust()), true);
        prop_assert_eq!(judged.pass.is_some(), judged.outcome == Outcome::Flipped);
        if let Some(now) = &judged.pass {
            // The change lies after the prefix: what is proven, and by what, is as it was.
            prop_assert_eq!(Some(now), honest.pass.as_ref());
        }
        // Without its last lines a chain is whole too: a stripped PASS leaves the FAIL before it, which the oracle did say.
        for now in [&judged.pass, &judged.negative].into_iter().flatten() {
            let end = usize::try_from(now.prefix_end).expect("a length");
            prop_assert!(now.verified && changed[..end] == bytes[..end]);
        }
    }

    #[test]
    fn a_ledger_lets_no_change_of_what_was_graded_through(which in 0usize..2, change in change()) {
        let (bytes, honest, ledger) = &SESSIONS[which];
        let changed = apply(bytes, &change);
        let judged = judge_with(&changed, Some(&trust()), true, Some(COMMITTED), Some(ledger));
        prop_assert_eq!(judged.pass.is_some(), judged.outcome == Outcome::Flipped);
        if let Some(now) = &judged.pass {
            // It may be the ledger that shows the PASS; what was graded, and for what, is as it was.
            let was = honest.pass.as_ref().expect("only the session that flipped flips");
            prop_assert_eq!((now.prefix_end, &now.run_id, &now.graded), (was.prefix_end, &was.run_id, &was.graded));
            prop_assert_eq!(now.from_ledger, now.payload_digest.is_some() && judged.records[now.record].at.line == 0);
        }
        for now in [&judged.pass, &judged.negative].into_iter().flatten() {
            let end = usize::try_from(now.prefix_end).expect("a length");
            prop_assert!(now.verified && changed[..end] == bytes[..end]);
        }
        // With the ledger at hand a session that lost its end is no negative.
        prop_assert_eq!(judged.negative.is_some(), judged.negative == honest.negative && honest.negative.is_some());
    }

    #[test]
    fn no_signature_and_no_trust_file_make_the_judge_panic(which in 0usize..2, a in change(), b in change()) {
        let changed = apply(&SESSIONS[which].0, &a);
        if !changed.is_empty() && lines(&changed).next().is_some() {
            let changed = apply(&changed, &b);
            for (trust, require) in [(None, false), (Some(trust()), false), (Some(trust()), true)] {
                judge_bytes(&changed, trust.as_ref(), require);
            }
        }
    }
}
