//! Every line but the verdicts.

use lake_trace::format_ms;
use sha2::{Digest, Sha256};

use crate::{EMPTY_SHA256, Object, OracleKey, Task, uuid_of};

/// 2025-06-02T09:00:00Z: in the past of every run, so that no line is from the future.
const FIRST_MS: i64 = 1_748_854_800_000;

/// Writes a session line by line. Ids come from the session's and the line's number, and the clock moves seven seconds
/// a line, so the same calls make the same bytes.
///
/// Without a key verdicts are unsigned; with one they are signed, chained and bound to the bytes before them.
#[derive(Clone, Debug)]
pub struct SessionBuilder {
    pub(super) session_id: String,
    pub(super) task: Task,
    pub(super) key: Option<OracleKey>,
    harness: (String, String),
    model: String,
    agent: Option<String>,
    pub(super) clock_ms: i64,
    step_ms: i64,
    seq: u64,
    calls: u64,
    bytes: Vec<u8>,
    pub(super) prefix: Sha256,
    /// Attempts graded so far; None before a baseline.
    pub(super) attempt: Option<u64>,
    pub(super) prev: Option<String>,
}

impl SessionBuilder {
    /// An empty session.
    pub fn new(session_id: &str, task: &Task) -> SessionBuilder {
        SessionBuilder {
            session_id: session_id.to_owned(),
            task: task.clone(),
            key: None,
            harness: ("claude-code".to_owned(), "2.1.0".to_owned()),
            model: "model-a".to_owned(),
            agent: None,
            clock_ms: FIRST_MS,
            step_ms: 7_000,
            seq: 0,
            calls: 0,
            bytes: Vec::new(),
            prefix: Sha256::new(),
            attempt: None,
            prev: None,
        }
    }

    /// Verdicts from here on are signed with `key`; None leaves them unsigned.
    #[must_use]
    pub fn signed(mut self, key: Option<&OracleKey>) -> SessionBuilder {
        self.key = key.cloned();
        self
    }

    /// Sets the clock of the next line, milliseconds since 1970 UTC.
    #[must_use]
    pub fn clock(mut self, ms: i64) -> SessionBuilder {
        self.clock_ms = ms;
        self
    }

    /// Sets the harness's name and version.
    #[must_use]
    pub fn harness(mut self, name: &str, version: &str) -> SessionBuilder {
        self.harness = (name.to_owned(), version.to_owned());
        self
    }

    /// Sets the model.
    #[must_use]
    pub fn model(mut self, model: &str) -> SessionBuilder {
        self.model = model.to_owned();
        self
    }

    /// The session's id.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// What was written so far.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All that was written.
    pub fn build(self) -> Vec<u8> {
        self.bytes
    }

    /// Sets the clock of the next line, milliseconds since 1970 UTC; lines after it go on from there.
    pub fn set_clock(&mut self, ms: i64) -> &mut Self {
        self.clock_ms = ms;
        self
    }

    /// The time that the next line will carry, milliseconds since 1970 UTC.
    pub fn now(&self) -> i64 {
        self.clock_ms
    }

    /// The lines that follow are a sub-agent's; None: the session's own again.
    pub fn set_agent(&mut self, agent_id: Option<&str>) -> &mut Self {
        self.agent = agent_id.map(str::to_owned);
        self
    }

    /// Bytes as they are, newline included or left out on purpose.
    pub fn raw(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.prefix.update(&bytes);
        self.bytes.extend_from_slice(bytes.as_ref());
        self
    }

    /// The next event's line without its newline; number and clock move on, but it is not written.
    pub fn line(&mut self, kind: &str, fields: Object) -> String {
        let seq = self.seq;
        let mut line = Object::new()
            .number("v", 1)
            .text("event_id", &uuid_of(&[&self.session_id, &seq.to_string()]))
            .text("session_id", &self.session_id)
            .number("seq", seq)
            .text("ts", &format_ms(self.clock_ms))
            .text("type", kind)
            .object("harness", Object::new().text("name", &self.harness.0).text("version", &self.harness.1));
        if let Some(agent) = &self.agent {
            line = line.text("agent_id", agent).text("agent_type", "explore");
        }
        self.seq += 1;
        self.clock_ms += self.step_ms;
        line.all(fields).build()
    }

    /// An event of any type.
    pub fn event(&mut self, kind: &str, fields: Object) -> &mut Self {
        let mut line = self.line(kind, fields);
        line.push('\n');
        self.raw(line)
    }

    /// The fields of a `session_start` of this task.
    pub fn start_fields(&self, source: &str) -> Object {
        let mut fields = Object::new()
            .text("source", source)
            .text("cwd", "/work/checkout")
            .text("start_diff_sha256", EMPTY_SHA256)
            .text("repo", &self.task.repo);
        if let Some(org) = &self.task.org {
            fields = fields.text("org", org);
        }
        fields
            .text("base_commit", &self.task.base_commit)
            .text("model", &self.model)
            .maybe("task_id", self.task.task_id.as_deref())
            .number("max_attempts", 6)
    }

    /// `session_start`, on a clean checkout.
    pub fn start(&mut self) -> &mut Self {
        self.event("session_start", self.start_fields("startup"))
    }

    /// A message that a person or model wrote.
    pub fn message(&mut self, role: &str, text: &str) -> &mut Self {
        let fields = Object::new().text("role", role).text("text", text);
        self.event("message", if role == "user" { fields.text("origin", "human") } else { fields })
    }

    /// The task's prompt, from the user.
    pub fn prompt(&mut self) -> &mut Self {
        let prompt = self.task.prompt.clone();
        self.message("user", &prompt)
    }

    /// A message of the assistant with its reasoning.
    pub fn thinking(&mut self, text: &str, thinking: &str) -> &mut Self {
        self.event("message", Object::new().text("role", "assistant").text("text", text).text("thinking", thinking))
    }

    /// The fixed block reason that the agent sees after a FAIL.
    pub fn gate(&mut self) -> &mut Self {
        let text = "The oracle did not pass. Keep working on the task.";
        self.event("message", Object::new().text("role", "user").text("text", text).text("origin", "gate"))
    }

    /// A call that worked; `input` becomes an object of strings, `output` is text.
    pub fn call(&mut self, tool: &str, input: &[(&str, &str)], output: &str) -> &mut Self {
        let input = input.iter().fold(Object::new(), |object, (key, value)| object.text(key, value));
        self.call_with(tool, input, |fields| fields.text("output", output).text("status", "ok"))
    }

    /// A call with its own output, status and more.
    pub fn call_with(&mut self, tool: &str, input: Object, more: impl FnOnce(Object) -> Object) -> &mut Self {
        self.calls += 1;
        let fields =
            Object::new().text("tool", tool).text("call_id", &format!("call_{}", self.calls)).object("input", input);
        let fields = more(fields).number("duration_ms", 40 + 13 * self.calls);
        self.event("tool_call", fields)
    }

    /// `session_end`. The claim is what the verdicts said, if they were honest.
    pub fn end(&mut self, ended_by: &str, claim: &str) -> &mut Self {
        let fields = Object::new()
            .text("reason", "other")
            .text("outcome", claim)
            .text("ended_by", ended_by)
            .number("attempts", self.attempt.unwrap_or(0));
        self.event("session_end", fields)
    }

    /// A correction of a whole session.
    pub fn correct(&mut self, session_id: &str, action: &str, reason: &str) -> &mut Self {
        let fields = Object::new()
            .object("ref", Object::new().text("session_id", session_id))
            .text("action", action)
            .text("reason", reason)
            .text("author", "reviewer");
        self.event("correction", fields)
    }
}
