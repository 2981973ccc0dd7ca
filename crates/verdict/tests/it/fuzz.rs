//! No bytes make a reader panic, and what is read says what it was read from. Made with structure, so that most of it
//! gets past the first look.
//!
//! A few hundred of each run with every test run. `make fuzz` runs them for as long as it is told to.

use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use lake_trace::{Mode, Verdict};
use lake_verdict::{
    Envelope, Ledger, MAX_PAYLOAD, PAYLOAD_TYPE, Statement, Trust, examine, key_id, pae, payload_digest,
    read_public_key, sign,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

use crate::build::*;

/// JSON as an attacker writes it: doubled keys, odd numbers, escapes that stand for nothing, and what should be there.
fn json() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("\"\"".to_owned()),
        Just("\"PASS\"".to_owned()),
        Just("\"grade\"".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        Just("\"\\u0000\"".to_owned()),
        Just(format!("\"{}\"", sha(b"x"))),
        Just(format!("\"sha256:{}\"", sha(b"x"))),
        Just(format!("\"{PAYLOAD_TYPE}\"")),
        Just("\"2026-01-01T00:00:00Z\"".to_owned()),
        Just("\"9999-12-31T23:59:60Z\"".to_owned()),
        "\"[ -!#-\\[\\]-~]{0,12}\"",
        "[a-z\u{0}-\u{20}\u{7f}-\u{ffff}]{1,4}".prop_map(|s| format!("\"{s}\"")),
    ];
    let number = prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        Just("0".to_owned()),
        Just("-0".to_owned()),
        Just("1.0".to_owned()),
        Just("1e2".to_owned()),
        Just("1e999".to_owned()),
        Just("9007199254740991".to_owned()),
        Just("9007199254740992".to_owned()),
        Just("18446744073709551616".to_owned()),
        Just("NaN".to_owned()),
        Just("01".to_owned()),
    ];
    let leaf = prop_oneof![word, number, Just("null".to_owned()), Just("true".to_owned()), Just(String::new())];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((name(), inner), 0..5).prop_map(|members| object(&members)),
        ]
    })
}

fn object(members: &[(String, String)]) -> String {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    format!("{{{}}}", members.join(","))
}

/// Names that some reader looks for.
fn name() -> impl Strategy<Value = String> {
    const NAMES: [&str; 30] = [
        "payloadType",
        "payload",
        "signatures",
        "keyid",
        "sig",
        "_type",
        "predicateType",
        "predicate",
        "subject",
        "name",
        "digest",
        "sha256",
        "mode",
        "verdict",
        "session_id",
        "attempt",
        "task_id",
        "repo",
        "base_commit",
        "tests_hash",
        "trace_sha256",
        "trace_bytes",
        "prev",
        "run_id",
        "finished_at",
        "oracle",
        "seq",
        "envelope",
        "\\u006dode",
        "",
    ];
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

/// A change of a text: bytes over, a part cut out, doubled, or another text put in.
#[derive(Clone, Debug)]
enum Edit {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index, prop::sample::Index),
    Double(prop::sample::Index, prop::sample::Index),
    Put(prop::sample::Index, String),
    /// The value of the n-th member of any object becomes another.
    Value(prop::sample::Index, String),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(i, b)| Edit::Byte(i, b)),
        1 => (at(), at()).prop_map(|(i, j)| Edit::Cut(i, j)),
        1 => (at(), at()).prop_map(|(i, j)| Edit::Double(i, j)),
        1 => (at(), json()).prop_map(|(i, s)| Edit::Put(i, s)),
        3 => (at(), json()).prop_map(|(i, s)| Edit::Value(i, s)),
    ]
}

fn edited(text: &str, edits: &[Edit]) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    for edit in edits {
        let length = out.len() + 1;
        let range = |i: &prop::sample::Index, j: &prop::sample::Index| {
            let (i, j) = (i.index(length), j.index(length));
            i.min(j)..i.max(j)
        };
        match edit {
            Edit::Byte(i, byte) if length > 1 => out[i.index(length - 1)] = *byte,
            Edit::Byte(..) => {}
            Edit::Cut(i, j) => drop(out.drain(range(i, j))),
            Edit::Double(i, j) => {
                let part = out[range(i, j)].to_vec();
                out.splice(i.index(length)..i.index(length), part);
            }
            Edit::Put(i, text) => drop(out.splice(i.index(length)..i.index(length), text.bytes())),
            Edit::Value(i, text) => {
                let colons: Vec<usize> =
                    out.windows(2).enumerate().filter(|(_, w)| w == b"\":").map(|(i, _)| i).collect();
                if !colons.is_empty() {
                    let from = colons[i.index(colons.len())] + 2;
                    let end = out[from..].iter().position(|b| matches!(b, b',' | b'}')).map_or(out.len(), |n| from + n);
                    out.splice(from..end, text.bytes());
                }
            }
        }
    }
    out
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(edit(), 0..4)
}

fn honest() -> (String, String) {
    let trace = started();
    let payload = trace.statement(Mode::Grade, Verdict::Pass).to_payload();
    (String::from_utf8(payload.clone()).expect("text"), sign(&key(1), &payload))
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is signed is taken as it is; what is not signed is not taken.
fn payloads(edits: &[Edit]) {
    let (payload, _) = honest();
    let payload = edited(&payload, edits);
    let parsed = Statement::parse_strict(&payload);
    let examined = examine(&sign(&key(1), &payload), &trust(), Some(COMMITTED));
    assert_eq!(examined.statement.as_ref(), parsed.as_ref().ok().filter(|_| examined.statement.is_some()));
    if payload.len() <= MAX_PAYLOAD {
        assert_eq!(examined.statement.is_some(), parsed.is_ok());
        assert_eq!(examined.payload_digest, Some(payload_digest(&payload)));
    }
    if let Ok(read) = parsed {
        assert_eq!(Statement::parse_strict(&read.to_payload()), Ok(read));
    }
}

fn envelopes(edits: &[Edit], whole: &str) {
    let (payload, envelope) = honest();
    for text in [lossy(edited(&envelope, edits)), whole.to_owned()] {
        let examined = examine(&text, &trust(), Some(COMMITTED));
        assert!(examined.stands() || examined.steps.iter().any(|step| step.flag.is_some()));
        if examined.key_id.is_some() {
            // Only what the key signed is ever proven, whatever stands around it.
            let envelope = Envelope::parse(&text).expect("an envelope");
            assert_eq!(
                (envelope.payload_type.as_str(), envelope.payload.as_slice()),
                (PAYLOAD_TYPE, payload.as_bytes())
            );
            assert!(pae(&envelope.payload_type, &envelope.payload).ends_with(payload.as_bytes()));
        }
    }
}

fn ledgers(edits: &[Edit], which: usize) {
    let trace = session(Verdict::Pass);
    let text = lossy(edited(&ledger_text(&trace.signed), edits));
    if let Ok(ledger) = Ledger::parse(&text, &trust()) {
        // Whatever is left of it, nothing stands there that the oracle did not sign.
        let signed = ledger_of(&trace.signed);
        assert!(ledger.entries().iter().all(|entry| signed.lists(&entry.digest)));
        let judged = judge_with(&trace.bytes, Some(&trust()), true, Some(COMMITTED), Some(&ledger));
        assert_eq!(judged.pass, trace.judge().pass, "{which}");
    }
}

/// Lines of an entry, some of them odd.
fn field() -> impl Strategy<Value = String> {
    let time = prop_oneof![
        Just("2026-01-01T00:00:00Z"),
        Just("2026-01-01T00:00:00+25:00"),
        Just("2026-02-30"),
        Just("07:32:00"),
        Just("9999-12-31T23:59:60Z"),
        Just("0000-01-01T00:00:00Z"),
        Just("\"2026-01-01T00:00:00Z\""),
        Just("7"),
    ];
    let named = prop::sample::select(&["valid_from", "valid_until", "revoked_at", "compromised_since"][..]);
    prop_oneof![
        (named, time).prop_map(|(name, time)| format!("{name} = {time}")),
        prop::sample::select(&["superseded", "compromised", "", "lost"][..]).prop_map(|r| format!("reason = \"{r}\"")),
        "(\\*|\\*\\*|[a-z/*.]{0,6}|/|//)".prop_map(|p| format!("repos = [\"{p}\"]")),
        prop::collection::vec(json(), 0..3).prop_map(|items| format!("repos = [{}]", items.join(","))),
        (0u8..4).prop_map(|n| format!("public_key = \"{}\"", ssh_line(&key(n).verifying_key()))),
        "[A-Za-z0-9+/=\\n -]{0,70}"
            .prop_map(|t| format!("public_key = '''-----BEGIN PUBLIC KEY-----\n{t}\n-----END PUBLIC KEY-----'''")),
        prop::array::uniform32(any::<u8>()).prop_map(|bytes| {
            let blob = [b"\0\0\0\x0bssh-ed25519\0\0\0\x20".as_slice(), &bytes].concat();
            format!("public_key = \"ssh-ed25519 {}\"", STANDARD.encode(blob))
        }),
        (0u8..4).prop_map(|n| format!("id = \"{}\"", key_id(&key(n).verifying_key()))),
        json().prop_map(|value| format!("oracle = {value}")),
        (name(), json()).prop_map(|(name, value)| format!("\"{name}\" = {value}")),
    ]
}

fn trusts(keys: &[(u8, Vec<String>)], edits: &[Edit]) {
    let mut text = "version = 1\n".to_owned();
    for (n, fields) in keys {
        let public = key(*n).verifying_key();
        text += "[[keys]]\n";
        for (name, value) in [("id", key_id(&public)), ("public_key", ssh_line(&public)), ("oracle", "o".into())] {
            if !fields.iter().any(|field| field.starts_with(name)) {
                text += &format!("{name} = \"{value}\"\n");
            }
        }
        fields.iter().for_each(|field| text += &format!("{field}\n"));
    }
    let (_, envelope) = honest();
    for text in [text.clone(), lossy(edited(&text, edits))] {
        let Ok(trust) = Trust::parse(&text) else { continue };
        for entry in trust.keys() {
            assert_eq!(entry.id, key_id(&entry.key));
            assert!(!entry.key.is_weak() && entry.key.to_edwards().compress().to_bytes() == entry.key.to_bytes());
            assert!(read_public_key(&ssh_line(&entry.key)).is_ok());
        }
        trust.covers("github.com/acme/billing");
        let examined = examine(&envelope, &trust, Some(COMMITTED));
        assert!(examined.key_id.is_none_or(|id| trust.keys().iter().any(|key| key.id == id)));
    }
}

/// Runs a property until its time is over, or a few hundred times.
fn run<S: Strategy>(strategy: S, seconds: Option<f64>, property: impl Fn(S::Value)) -> u64
where
    S::Value: std::fmt::Debug,
{
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mut cases = 0;
    loop {
        let mut runner = TestRunner::new(Config { cases: 256, failure_persistence: None, ..Config::default() });
        let tried = std::cell::Cell::new(0u64);
        let result = runner.run(&strategy, |value| {
            tried.set(tried.get() + 1);
            property(value);
            Ok(())
        });
        cases += tried.get();
        match result {
            Ok(()) => {}
            Err(TestError::Fail(reason, input)) => panic!("{reason}\n{input:?}"),
            Err(error) => panic!("{error}"),
        }
        if until.is_none_or(|until| Instant::now() >= until) {
            return cases;
        }
    }
}

fn all(seconds: Option<f64>) -> [(&'static str, u64); 4] {
    let each = seconds.map(|seconds| seconds / 4.0);
    [
        ("statements", run(edits(), each, |edits| payloads(&edits))),
        ("envelopes", run((edits(), json()), each, |(edits, whole)| envelopes(&edits, &whole))),
        ("trust files", {
            let keys = prop::collection::vec((0u8..4, prop::collection::vec(field(), 0..4)), 0..4);
            run((keys, edits()), each, |(keys, edits)| trusts(&keys, &edits))
        }),
        ("ledgers", run((edits(), 0usize..4), each, |(edits, which)| ledgers(&edits, which))),
    ]
}

#[test]
fn no_bytes_make_a_reader_panic() {
    assert!(all(None).iter().all(|(_, cases)| *cases >= 256));
}

#[test]
#[ignore = "`make fuzz` runs it, for as long as TRACE_LAKE_FUZZ_SECONDS says"]
#[expect(clippy::print_stderr, reason = "says what was done in that time")]
fn for_a_while() {
    let seconds = std::env::var("TRACE_LAKE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(600.0);
    for (what, cases) in all(Some(seconds)) {
        eprintln!("{what}: {cases} cases");
    }
}
