//! The in-toto Statement v1 (<https://in-toto.io/Statement/v1>) that an oracle signs, and its strict reading.

use chrono::{DateTime, SecondsFormat, Utc};
use lake_trace::json::{self, Notes, Value, write_str};
use lake_trace::{Mode, Verdict};

use crate::envelope::MAX_PAYLOAD;

/// `_type` of the statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";
/// `predicateType` of the statement.
pub const PREDICATE_TYPE: &str = "urn:trace-lake:predicate:oracle-verdict:v1";
/// SHA-256 of no bytes: the empty diff's.
pub const EMPTY_SHA256: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Largest integer that a statement may hold, 2^53 − 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;
const FIELDS: [&str; 14] = [
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
];

/// What one oracle run says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Which run.
    pub mode: Mode,
    /// The bit.
    pub verdict: Verdict,
    /// The session graded; None is a baseline shared by a task.
    pub session_id: Option<String>,
    /// 0 for the baseline, then 1, 2, …, counted by the oracle; at most 2^53 − 1.
    pub attempt: u64,
    /// The task.
    pub task_id: String,
    /// Canonical remote, `host/org/name`.
    pub repo: String,
    /// The commit that the work started from, hex.
    pub base_commit: String,
    /// Hash over the hidden tests, their lists and the image.
    pub tests_hash: String,
    /// SHA-256 of the trace's first `trace_bytes` bytes, lower-case hex.
    pub trace_sha256: Option<String>,
    /// Length of the trace when the oracle was asked, bytes.
    pub trace_bytes: Option<u64>,
    /// [`payload_digest`](crate::payload_digest) of this session's previous verdict.
    pub prev: Option<String>,
    /// The oracle's run, random.
    pub run_id: String,
    /// The oracle's own clock at the end of the run.
    pub finished_at: DateTime<Utc>,
    /// The oracle's name.
    pub oracle: String,
    /// SHA-256 of the diff that was graded, lower-case hex; of nothing for a baseline.
    pub diff_sha256: String,
}

/// Why a payload is not a statement that counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StatementError {
    /// Over 16 KiB.
    #[error("payload of {0} bytes is longer than 16 KiB")]
    TooLong(usize),
    /// Not UTF-8, not one JSON value, or one that holds what cannot be kept (a lone surrogate).
    #[error("payload is not one JSON value")]
    NotJson,
    /// Some object has a key twice.
    #[error("payload has a key twice")]
    DuplicateKey,
    /// `_type` or `predicateType` names another kind of statement.
    #[error("`{0}` is another one")]
    OtherType(&'static str),
    /// A fraction, an exponent, or beyond 2^53 − 1.
    #[error("number is not an integer within 2^53 - 1")]
    Number,
    /// A field is missing.
    #[error("no `{0}`")]
    Missing(&'static str),
    /// The predicate has a field that no one knows.
    #[error("unknown field in the predicate")]
    Unknown,
    /// A field is not what it has to be.
    #[error("`{0}` is not {1}")]
    Field(&'static str, &'static str),
}

impl Statement {
    /// The statement as compact JSON: the bytes to sign.
    pub fn to_payload(&self) -> Vec<u8> {
        let text = |s: &str| {
            let mut out = String::with_capacity(s.len() + 2);
            write_str(&mut out, s);
            out
        };
        let maybe = |s: &Option<String>| s.as_deref().map_or_else(|| "null".to_owned(), text);
        let predicate = [
            ("mode", text(self.mode.as_str())),
            ("verdict", text(self.verdict.as_str())),
            ("session_id", maybe(&self.session_id)),
            ("attempt", self.attempt.to_string()),
            ("task_id", text(&self.task_id)),
            ("repo", text(&self.repo)),
            ("base_commit", text(&self.base_commit)),
            ("tests_hash", text(&self.tests_hash)),
            ("trace_sha256", maybe(&self.trace_sha256)),
            ("trace_bytes", self.trace_bytes.map_or_else(|| "null".to_owned(), |n| n.to_string())),
            ("prev", maybe(&self.prev)),
            ("run_id", text(&self.run_id)),
            ("finished_at", text(&self.finished_at.to_rfc3339_opts(SecondsFormat::AutoSi, true))),
            ("oracle", text(&self.oracle)),
        ];
        let members: Vec<String> = predicate.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!(
            r#"{{"_type":"{STATEMENT_TYPE}","predicateType":"{PREDICATE_TYPE}","subject":[{{"name":"diff","digest":{{"sha256":{}}}}}],"predicate":{{{}}}}}"#,
            text(&self.diff_sha256),
            members.join(","),
        )
        .into_bytes()
    }

    /// Reads exactly the bytes that were verified.
    ///
    /// # Errors
    /// Whatever the oracle's own writer would not write; see [`StatementError`].
    pub fn parse_strict(payload: &[u8]) -> Result<Statement, StatementError> {
        if payload.len() > MAX_PAYLOAD {
            return Err(StatementError::TooLong(payload.len()));
        }
        let text = std::str::from_utf8(payload).map_err(|_| StatementError::NotJson)?;
        let mut notes = Notes::default();
        let value = json::parse(text, &mut notes).map_err(|_| StatementError::NotJson)?;
        if notes.duplicate_key {
            return Err(StatementError::DuplicateKey);
        }
        if notes.repaired {
            return Err(StatementError::NotJson);
        }
        if value.as_obj().is_none() {
            return Err(StatementError::Field("payload", "an object"));
        }
        for (name, expected) in [("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)] {
            if string(&value, name)? != expected {
                return Err(StatementError::OtherType(name));
            }
        }
        numbers(&value)?;
        let diff_sha256 = subject(&value)?;
        let predicate = value.get("predicate").ok_or(StatementError::Missing("predicate"))?;
        let members = predicate.as_obj().ok_or(StatementError::Field("predicate", "an object"))?;
        if members.iter().any(|(name, _)| !FIELDS.contains(&name.as_ref())) {
            return Err(StatementError::Unknown);
        }
        let statement = Statement {
            mode: Mode::parse(string(predicate, "mode")?)
                .ok_or(StatementError::Field("mode", "`baseline` or `grade`"))?,
            verdict: Verdict::parse(string(predicate, "verdict")?)
                .ok_or(StatementError::Field("verdict", "`PASS`, `FAIL` or `ERROR`"))?,
            session_id: nullable(predicate, "session_id")?.map(str::to_owned),
            attempt: whole(member(predicate, "attempt")?)
                .ok_or(StatementError::Field("attempt", "an integer from 0"))?,
            task_id: string(predicate, "task_id")?.to_owned(),
            repo: string(predicate, "repo")?.to_owned(),
            base_commit: string(predicate, "base_commit")?.to_owned(),
            tests_hash: string(predicate, "tests_hash")?.to_owned(),
            trace_sha256: nullable(predicate, "trace_sha256")?.map(str::to_owned),
            trace_bytes: match member(predicate, "trace_bytes")? {
                Value::Null => None,
                n => Some(whole(n).ok_or(StatementError::Field("trace_bytes", "an integer from 0, or null"))?),
            },
            prev: nullable(predicate, "prev")?.map(str::to_owned),
            run_id: string(predicate, "run_id")?.to_owned(),
            finished_at: utc(string(predicate, "finished_at")?)
                .ok_or(StatementError::Field("finished_at", "an RFC 3339 time in UTC"))?,
            oracle: string(predicate, "oracle")?.to_owned(),
            diff_sha256,
        };
        statement.sound()?;
        Ok(statement)
    }

    /// Whether this is a baseline that serves every session of its task.
    pub fn is_shared(&self) -> bool {
        self.session_id.is_none()
    }

    /// What the fields have to be beyond their kind.
    fn sound(&self) -> Result<(), StatementError> {
        let field = |fits: bool, name, what| if fits { Ok(()) } else { Err(StatementError::Field(name, what)) };
        let filled = "a string that is not empty";
        field(self.session_id.as_deref() != Some(""), "session_id", filled)?;
        field(!self.run_id.is_empty(), "run_id", filled)?;
        let hex = !self.base_commit.is_empty() && self.base_commit.bytes().all(|b| b.is_ascii_hexdigit());
        field(hex, "base_commit", "hex")?;
        field(self.trace_sha256.as_deref().is_none_or(is_sha256), "trace_sha256", "64 lower-case hex digits")?;
        let prev = self.prev.as_deref().is_none_or(|p| p.strip_prefix("sha256:").is_some_and(is_sha256));
        field(prev, "prev", "`sha256:` and 64 lower-case hex digits")?;
        if self.mode == Mode::Grade {
            return field(!self.is_shared(), "session_id", "there, which a grade needs");
        }
        field(self.diff_sha256 == EMPTY_SHA256, "subject", "the empty diff, which a baseline is of")?;
        let bound = self.trace_sha256.is_some() || self.trace_bytes.is_some();
        field(!(self.is_shared() && bound), "trace_bytes", "null, as in a baseline without a session")
    }
}

/// Whether it is a SHA-256 as hex, lower case.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn member<'v, 'a>(object: &'v Value<'a>, name: &'static str) -> Result<&'v Value<'a>, StatementError> {
    object.get(name).ok_or(StatementError::Missing(name))
}

fn string<'v>(object: &'v Value<'_>, name: &'static str) -> Result<&'v str, StatementError> {
    member(object, name)?.as_str().ok_or(StatementError::Field(name, "a string"))
}

fn nullable<'v>(object: &'v Value<'_>, name: &'static str) -> Result<Option<&'v str>, StatementError> {
    match member(object, name)? {
        Value::Null => Ok(None),
        other => other.as_str().map(Some).ok_or(StatementError::Field(name, "a string or null")),
    }
}

/// `1.0` and `1e0` are whole to a lenient reader; here only digits are.
fn whole(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::Num(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok().filter(|n| *n <= MAX_INTEGER),
        _ => None,
    }
}

fn numbers(value: &Value<'_>) -> Result<(), StatementError> {
    match value {
        Value::Num(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            whole(&Value::Num(digits)).map(|_| ()).ok_or(StatementError::Number)
        }
        Value::Arr(items) => items.iter().try_for_each(numbers),
        Value::Obj(members) => members.iter().try_for_each(|(_, item)| numbers(item)),
        _ => Ok(()),
    }
}

fn subject(statement: &Value<'_>) -> Result<String, StatementError> {
    let one = match member(statement, "subject")? {
        Value::Arr(items) if items.len() == 1 => &items[0],
        _ => return Err(StatementError::Field("subject", "an array of exactly one")),
    };
    if one.get("name").and_then(Value::as_str) != Some("diff") {
        return Err(StatementError::Field("subject", "named `diff`"));
    }
    let digest = one.get("digest").and_then(|d| d.get("sha256")).and_then(Value::as_str);
    let digest = digest.filter(|d| is_sha256(d));
    Ok(digest.ok_or(StatementError::Field("subject", "a SHA-256 of 64 lower-case hex digits"))?.to_owned())
}

fn utc(text: &str) -> Option<DateTime<Utc>> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    (time.offset().local_minus_utc() == 0).then(|| time.with_timezone(&Utc))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn statement() -> impl Strategy<Value = Statement> {
        let word = || "[^\u{0}]{1,12}";
        let hash = || "[0-9a-f]{64}";
        let trace = prop::option::of((hash(), 0..=MAX_INTEGER));
        let verdict = prop_oneof![Just(Verdict::Pass), Just(Verdict::Fail), Just(Verdict::Error)];
        let texts = (word(), word(), "[0-9a-f]{1,40}", word(), word(), word());
        let time = (0i64..253_402_300_000, 0u32..1_000_000_000);
        let grade = (any::<bool>(), any::<bool>(), hash(), prop::option::of(hash()));
        (grade, verdict, 0..=MAX_INTEGER, trace, texts, time).prop_map(
            |((grade, shared, diff, prev), verdict, attempt, trace, (a, b, base, d, e, f), (s, ns))| {
                let shared = shared && !grade;
                let trace = trace.filter(|_| !shared);
                Statement {
                    mode: if grade { Mode::Grade } else { Mode::Baseline },
                    verdict,
                    session_id: (!shared).then_some(a),
                    attempt,
                    task_id: b,
                    repo: format!("github.com/{d}"),
                    base_commit: base,
                    tests_hash: d,
                    trace_sha256: trace.as_ref().map(|t| t.0.clone()),
                    trace_bytes: trace.map(|t| t.1),
                    prev: prev.map(|p| format!("sha256:{p}")),
                    run_id: e,
                    finished_at: DateTime::from_timestamp(s, ns).expect("a time"),
                    oracle: f,
                    diff_sha256: if grade { diff } else { EMPTY_SHA256.to_owned() },
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(statement in statement()) {
            prop_assert_eq!(Statement::parse_strict(&statement.to_payload()), Ok(statement));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(statement in statement(), at: prop::sample::Index, byte: u8) {
            let mut payload = statement.to_payload();
            let i = at.index(payload.len());
            payload[i] = byte;
            // Whatever is still read says what its bytes say: written and read once more it is the same.
            if let Ok(read) = Statement::parse_strict(&payload) {
                prop_assert_eq!(Statement::parse_strict(&read.to_payload()), Ok(read));
            }
        }
    }

    fn refused(change: impl FnOnce(String) -> String) -> StatementError {
        let payload = format!(
            r#"{{"_type":"{STATEMENT_TYPE}","predicateType":"{PREDICATE_TYPE}","subject":[{{"name":"diff","digest":{{"sha256":"{EMPTY_SHA256}"}}}}],"predicate":{{"mode":"baseline","verdict":"FAIL","session_id":null,"attempt":0,"task_id":"t","repo":"h/o/n","base_commit":"ab","tests_hash":"x","trace_sha256":null,"trace_bytes":null,"prev":null,"run_id":"r","finished_at":"2026-01-01T00:00:00Z","oracle":"o"}}}}"#
        );
        assert!(Statement::parse_strict(payload.as_bytes()).is_ok());
        let changed = change(payload.clone());
        assert_ne!(changed, payload);
        Statement::parse_strict(changed.as_bytes()).expect_err(&changed)
    }

    #[test]
    fn each_field_has_to_be_there_and_known() {
        for name in FIELDS {
            assert_eq!(
                refused(|p| p.replace(&format!("\"{name}\":"), "\"other\":")),
                StatementError::Unknown,
                "{name}"
            );
            let without = |p: String| {
                let from = p.find(&format!("\"{name}\":")).expect("the field");
                let rest = &p[from..];
                let end = rest.find(",\"").map_or(rest.len() - 2, |i| i + 1);
                format!("{}{}", &p[..from], &rest[end..]).replace(",}", "}")
            };
            assert_eq!(refused(without), StatementError::Missing(name));
        }
    }

    #[test]
    fn what_no_oracle_writes_is_refused() {
        use StatementError as E;
        let twice = |from: &'static str, to: &'static str| refused(|p| p.replace(from, to));
        assert_eq!(twice("\"name\":\"diff\"", "\"name\":\"diff\",\"name\":\"diff\""), E::DuplicateKey);
        assert_eq!(twice("\"_type\"", "\"more\":[1,{\"a\":0.5}],\"_type\""), E::Number);
        assert_eq!(twice("\"_type\"", "\"more\":-9007199254740992,\"_type\""), E::Number);
        assert_eq!(twice("\"_type\"", "\"more\":1e999,\"_type\""), E::NotJson);
        assert_eq!(twice("\"t\"", "\"\\ud800\""), E::NotJson);
        assert_eq!(twice("Statement/v1", "Statement/v2"), E::OtherType("_type"));
        assert_eq!(twice("verdict:v1", "verdict:v2"), E::OtherType("predicateType"));
        for (from, to, name) in [
            ("e3b0", "E3B0", "subject"),
            ("e3b0", "e3b1", "subject"),
            ("\"diff\"", "\"patch\"", "subject"),
            ("\"subject\":[", "\"subject\":[{},", "subject"),
            ("\"baseline\"", "\"grade\"", "session_id"),
            ("\"baseline\"", "\"Baseline\"", "mode"),
            ("\"FAIL\"", "\"fail\"", "verdict"),
            ("\"attempt\":0", "\"attempt\":\"0\"", "attempt"),
            ("\"trace_bytes\":null", "\"trace_bytes\":7", "trace_bytes"),
            ("\"trace_sha256\":null", "\"trace_sha256\":\"ab\"", "trace_sha256"),
            ("\"prev\":null", "\"prev\":\"sha256:ab\"", "prev"),
            ("\"r\"", "\"\"", "run_id"),
            ("\"ab\"", "\"main\"", "base_commit"),
            ("00Z\"", "00\"", "finished_at"),
            ("\"t\"", "null", "task_id"),
        ] {
            assert!(matches!(twice(from, to), E::Field(field, _) if field == name), "{from} {to}");
        }
    }
}
