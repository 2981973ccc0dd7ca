//! One line, one event.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::json::{self, Notes, Str, Value};
use crate::{Flag, Flags, Reject, parse_ts};

/// An event: the fields that have a column, and all the rest in source order.
#[derive(Clone, Debug, PartialEq)]
pub struct Event<'a> {
    /// Unique; derived from session, line number and line hash where the line has none.
    pub event_id: Cow<'a, str>,
    /// The session that the line names, 1–256 characters.
    pub session_id: Cow<'a, str>,
    /// Order of writing; the line's number where the line has none.
    pub seq: u64,
    /// Writer's clock, milliseconds since 1970 UTC.
    pub ts: i64,
    /// `session_start`, `message`, … or any other word.
    pub kind: Cow<'a, str>,
    /// `user`, `assistant`, `system`.
    pub role: Option<Cow<'a, str>>,
    /// What was said.
    pub text: Option<Str<'a>>,
    /// What was thought.
    pub thinking: Option<Str<'a>>,
    /// Name of the tool that was called.
    pub tool: Option<Cow<'a, str>>,
    /// The call's id.
    pub call_id: Option<Cow<'a, str>>,
    /// The call's input: an object, or a string where the collector cut it.
    pub input: Option<Value<'a>>,
    /// What came back: any JSON.
    pub output: Option<Value<'a>>,
    /// `ok`, `error`, `denied`, `interrupted`.
    pub status: Option<Cow<'a, str>>,
    /// How long the call took, milliseconds.
    pub duration_ms: Option<f64>,
    /// Set on a sub-agent's events.
    pub agent_id: Option<Cow<'a, str>>,
    /// Everything between two prompts.
    pub turn_id: Option<Cow<'a, str>>,
    /// The model response that a call or message came from.
    pub response_id: Option<Cow<'a, str>>,
    /// Every other field, in source order; a known field of another kind stands here too.
    pub rest: Vec<(Cow<'a, str>, Value<'a>)>,
    /// Source text of `signature`, where it is there and not null.
    pub signature: Option<&'a str>,
    /// What the reader noticed.
    pub flags: Flags,
}

/// A value that the collector cut: what the whole was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// Length of the whole, bytes.
    pub bytes: Option<u64>,
    /// SHA-256 of the whole.
    pub sha256: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Whole,
    Number,
    Object,
}

/// Kinds of the optional fields that stay among the rest.
fn kind_of(field: &str) -> Option<Kind> {
    Some(match field {
        "agent_type" | "parent_agent_id" | "source" | "cwd" | "start_diff_sha256" | "repo" | "org" | "base_commit"
        | "model" | "task_id" | "parent_session_id" | "origin" | "mode" | "verdict" | "diff_sha256" | "tests_hash"
        | "run_id" | "reason" | "outcome" | "ended_by" | "action" | "author" => Kind::Text,
        "max_attempts" | "attempt" | "attempts" => Kind::Whole,
        "harness" | "ref" | "ext" => Kind::Object,
        _ => return None,
    })
}

fn fits(kind: Kind, value: &Value<'_>) -> bool {
    match kind {
        Kind::Text => value.is_str(),
        Kind::Whole => value.as_u64().is_some(),
        Kind::Number => value.as_f64().is_some(),
        Kind::Object => value.as_obj().is_some(),
    }
}

/// Reads one line, newline left out. None for a blank one.
///
/// `line` is its number in the file, from 1: it stands in for a missing `seq` and goes into a derived `event_id`.
/// `scratch` holds the repaired text of a line that is not UTF-8.
///
/// # Errors
/// Why the line is not an event; see [`Reject`].
pub fn parse_line<'a>(bytes: &'a [u8], line: u64, scratch: &'a mut String) -> Result<Option<Event<'a>>, Reject> {
    let mut repaired = false;
    let mut raw = bytes;
    if let Some(rest) = raw.strip_suffix(b"\r") {
        raw = rest;
        repaired = true;
    }
    if let Some(rest) = raw.strip_prefix(b"\xEF\xBB\xBF") {
        raw = rest;
        repaired = true;
    }
    if raw.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) {
        return Ok(None);
    }
    let text: &'a str = if let Ok(text) = simdutf8::basic::from_utf8(raw) {
        text
    } else {
        repaired = true;
        *scratch = String::from_utf8_lossy(raw).into_owned();
        scratch
    };
    let mut notes = Notes::default();
    let (value, signature) = json::parse_fields(text, &mut notes, is_long, "signature")?;
    let Value::Obj(members) = value else { return Err(Reject::NotObject) };
    let mut event = take(members, signature, line)?;
    if event.event_id.is_empty() {
        event.event_id = derived_id(&event.session_id, line, bytes).into();
    }
    if repaired || notes.repaired {
        event.flags.set(Flag::Repaired);
    }
    if notes.duplicate_key {
        event.flags.set(Flag::DuplicateKey);
    }
    Ok(Some(event))
}

/// The fields that most of a trace is in, and that are mostly passed on.
fn is_long(field: &str) -> bool {
    matches!(field, "text" | "thinking" | "input" | "output")
}

/// Session, line number and line hash: the same line at the same place has the same id on every host.
fn derived_id(session: &str, line: u64, bytes: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(session.as_bytes());
    hash.update([0]);
    hash.update(line.to_be_bytes());
    hash.update(Sha256::digest(bytes));
    hex::encode(&hash.finalize()[..16])
}

fn take<'a>(
    members: Vec<(Cow<'a, str>, Value<'a>)>,
    signature: Option<&'a str>,
    line: u64,
) -> Result<Event<'a>, Reject> {
    let mut kind = None;
    let mut session = None;
    let mut ts = None;
    let mut event = Event {
        event_id: Cow::Borrowed(""),
        session_id: Cow::Borrowed(""),
        seq: line,
        ts: 0,
        kind: Cow::Borrowed(""),
        role: None,
        text: None,
        thinking: None,
        tool: None,
        call_id: None,
        input: None,
        output: None,
        status: None,
        duration_ms: None,
        agent_id: None,
        turn_id: None,
        response_id: None,
        rest: Vec::with_capacity(members.len().min(8)),
        signature: None,
        flags: Flags::default(),
    };
    let input_cut = members.iter().any(|(k, v)| k == "input_truncated" && *v == Value::Bool(true));
    for (key, value) in members {
        if value.is_null() {
            continue;
        }
        let slot = match key.as_ref() {
            "type" => &mut kind,
            "session_id" => &mut session,
            "ts" => &mut ts,
            _ => {
                match key {
                    Cow::Borrowed(name) => optional(&mut event, name, key, value, signature, input_cut),
                    Cow::Owned(ref name) => optional(&mut event, &name.clone(), key, value, signature, input_cut),
                }
                continue;
            }
        };
        *slot = Some(value);
    }
    event.kind = match kind.ok_or(Reject::Missing("type"))? {
        Value::Str(s) => s.into_decoded(),
        _ => return Err(Reject::Bad("type", "a string")),
    };
    event.session_id = match session.ok_or(Reject::Missing("session_id"))? {
        Value::Str(s) if (1..=256).contains(&s.decode().chars().take(257).count()) => s.into_decoded(),
        _ => return Err(Reject::Bad("session_id", "a string of 1 to 256 characters")),
    };
    event.ts = match ts.ok_or(Reject::Missing("ts"))? {
        Value::Str(s) => parse_ts(&s.decode()).ok_or(Reject::Bad("ts", "an RFC 3339 time"))?,
        _ => return Err(Reject::Bad("ts", "an RFC 3339 time")),
    };
    Ok(event)
}

/// A field that may be missing: to its column if it is of its kind, else to the rest.
fn optional<'a>(
    event: &mut Event<'a>,
    name: &str,
    key: Cow<'a, str>,
    value: Value<'a>,
    signature: Option<&'a str>,
    input_cut: bool,
) {
    let text = match name {
        "event_id" => {
            match value {
                Value::Str(s) if !s.is_empty() => event.event_id = s.into_decoded(),
                other => misfit(event, key, other),
            }
            return;
        }
        "role" => &mut event.role,
        "text" | "thinking" => {
            match value {
                Value::Str(s) if name == "text" => event.text = Some(s),
                Value::Str(s) => event.thinking = Some(s),
                other => misfit(event, key, other),
            }
            return;
        }
        "tool" => &mut event.tool,
        "call_id" => &mut event.call_id,
        "status" => &mut event.status,
        "agent_id" => &mut event.agent_id,
        "turn_id" => &mut event.turn_id,
        "response_id" => &mut event.response_id,
        "seq" => {
            match value.as_u64().filter(|n| i64::try_from(*n).is_ok()) {
                Some(n) => event.seq = n,
                None => misfit(event, key, value),
            }
            return;
        }
        "v" => {
            match value.as_u64() {
                Some(0 | 1) => {}
                Some(_) => {
                    event.flags.set(Flag::NewerSchema);
                    event.rest.push((key, value));
                }
                None => misfit(event, key, value),
            }
            return;
        }
        "duration_ms" => {
            match value.as_f64().filter(|_| fits(Kind::Number, &value)) {
                Some(ms) => event.duration_ms = Some(ms),
                None => misfit(event, key, value),
            }
            return;
        }
        "input" => {
            if value.as_obj().is_some() || (input_cut && value.is_str()) {
                event.input = Some(value);
            } else {
                misfit(event, key, value);
            }
            return;
        }
        "output" => {
            event.output = Some(value);
            return;
        }
        _ => {
            if name == "signature" {
                event.signature = signature;
            }
            if name.ends_with("_truncated") && value == Value::Bool(true) {
                event.flags.set(Flag::Truncated);
            }
            if kind_of(name).is_some_and(|kind| !fits(kind, &value)) {
                event.flags.set(Flag::BadField);
            }
            event.rest.push((key, value));
            return;
        }
    };
    match value {
        Value::Str(s) => *text = Some(s.into_decoded()),
        other => misfit(event, key, other),
    }
}

fn misfit<'a>(event: &mut Event<'a>, key: Cow<'a, str>, value: Value<'a>) {
    event.flags.set(Flag::BadField);
    let value = match value {
        Value::Str(s) => Value::Str(Str::Plain(s.into_decoded())),
        other => other,
    };
    event.rest.push((key, value));
}

impl<'a> Event<'a> {
    /// A field without a column.
    pub fn other(&self, name: &str) -> Option<&Value<'a>> {
        self.rest.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A field without a column, if it is a string.
    pub fn other_str(&self, name: &str) -> Option<&str> {
        self.other(name).and_then(Value::as_str)
    }

    /// Whether a field with a column held a value of another kind: what was there cannot be rendered.
    pub fn is_bad(&self, field: &str) -> bool {
        self.flags.has(Flag::BadField) && self.other(field).is_some()
    }

    /// What the collector cut off `field`, if it did.
    pub fn cut(&self, field: &str) -> Option<Cut> {
        if !self.flags.has(Flag::Truncated) || self.other(&format!("{field}_truncated")) != Some(&Value::Bool(true)) {
            return None;
        }
        Some(Cut {
            bytes: self.other(&format!("{field}_bytes")).and_then(Value::as_u64),
            sha256: self.other_str(&format!("{field}_sha256")).map(str::to_owned),
        })
    }

    /// All fields without a column as one JSON object; None when there are none.
    ///
    /// The collector's own `ext` object is spread into it, unless a name would stand twice: then it stays under `ext`.
    pub fn ext_json(&self) -> Option<String> {
        if self.rest.is_empty() {
            return None;
        }
        let spread = self.other("ext").and_then(Value::as_obj);
        let clash = spread.is_some_and(|own| {
            own.iter().any(|(k, _)| self.rest.iter().any(|(r, _)| r == k && r != "ext") || k == "ext")
        });
        let mut out = String::with_capacity(64);
        out.push('{');
        let mut member = |key: &str, value: &Value<'_>| {
            if out.len() > 1 {
                out.push(',');
            }
            json::write_str(&mut out, key);
            out.push(':');
            json::write_value(&mut out, value);
        };
        for (key, value) in &self.rest {
            match (key.as_ref(), spread) {
                ("ext", Some(own)) if !clash => own.iter().for_each(|(k, v)| member(k, v)),
                _ => member(key, value),
            }
        }
        out.push('}');
        Some(out)
    }
}
