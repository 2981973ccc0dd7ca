//! An oracle's host and the gate beside it: the binary signs, the test writes the trace.

use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::kit::{Kit, Ran};

pub(crate) const URL: &str = "git@github.com:acme/billing.git";
pub(crate) const REPO: &str = "github.com/acme/billing";
pub(crate) const BASE: &str = "824c74b863f1f10ddbd14b5a0e1e0275cceed12e";

pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// The envelope of a line `verdict=…`.
pub(crate) fn envelope(ran: &Ran) -> String {
    let line = ran.out.strip_prefix("verdict=").unwrap_or_else(|| panic!("no verdict: {}{}", ran.out, ran.err));
    assert_eq!(line.lines().count(), 1, "one line");
    String::from_utf8(STANDARD.decode(line.trim()).expect("base64")).expect("UTF-8")
}

/// What an envelope holds.
pub(crate) fn payload(envelope: &str) -> Vec<u8> {
    let envelope: Value = serde_json::from_str(envelope).expect("JSON");
    STANDARD.decode(envelope["payload"].as_str().expect("a payload")).expect("base64")
}

pub(crate) fn predicate(envelope: &str) -> Value {
    serde_json::from_slice::<Value>(&payload(envelope)).expect("JSON")["predicate"].clone()
}

/// A key, a trust file with it and a state folder in a kit.
pub(crate) fn oracle(kit: &Kit) {
    let entry = kit.run(&["keys", "generate", "--key", "oracle.pem", "--oracle", "oracle-a"]).exits(0).out;
    kit.write("trust.toml", &format!("version = 1\n\n{entry}"));
    let remotes = format!("version = 1\n[[remotes]]\nrepo = \"{REPO}\"\nurls = [\"{URL}\"]\n");
    kit.write("state/remotes.toml", &remotes);
    kit.write("empty.diff", "");
}

/// A session's trace as it grows, in a data dir of the kit.
pub(crate) struct Session<'k> {
    kit: &'k Kit,
    pub(crate) id: String,
    seq: u64,
    pub(crate) task: String,
}

impl<'k> Session<'k> {
    pub(crate) fn start(kit: &'k Kit, id: &str) -> Session<'k> {
        let mut session = Session { kit, id: id.to_owned(), seq: 0, task: "billing-7".to_owned() };
        kit.write(&format!("data/traces/{id}.jsonl"), "");
        session.event(json!({
            "type": "session_start", "source": "startup", "repo": REPO, "base_commit": BASE, "task_id": session.task,
            "start_diff_sha256": sha256(""),
        }));
        session.event(json!({"type": "message", "role": "user", "text": "Fix the total.", "origin": "human"}));
        session
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.kit.path(&format!("data/traces/{}.jsonl", self.id))
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        std::fs::read(self.path()).expect("a trace")
    }

    pub(crate) fn event(&mut self, mut event: Value) {
        let fields = event.as_object_mut().expect("an object");
        fields.insert("v".into(), 1.into());
        fields.insert("session_id".into(), self.id.clone().into());
        fields.insert("seq".into(), self.seq.into());
        fields.insert("ts".into(), format!("2026-01-01T00:00:{:02}Z", self.seq).into());
        self.seq += 1;
        let text = [self.bytes(), format!("{event}\n").into_bytes()].concat();
        std::fs::write(self.path(), text).expect("a trace");
    }

    pub(crate) fn work(&mut self) {
        let text = format!("Done {}.", self.seq);
        self.event(json!({
            "type": "tool_call", "tool": "Bash", "call_id": format!("c{}", self.seq), "input": {"command": "pytest"},
            "output": "1 passed", "status": "ok",
        }));
        self.event(json!({"type": "message", "role": "assistant", "text": text}));
    }

    /// Runs the oracle on what there is, as its runner does.
    pub(crate) fn asks(&self, mode: &str, exit_status: &str, more: &[&str]) -> Ran {
        let bytes = self.bytes();
        let remote = sha256(URL);
        let diff = if mode == "baseline" { "empty.diff".to_owned() } else { format!("{}-{}.diff", self.id, self.seq) };
        if mode != "baseline" {
            self.kit.write(&diff, &format!("diff {}", self.seq));
        }
        let mut args = vec![
            "keys",
            "sign",
            "--mode",
            mode,
            "--task",
            &self.task,
            "--base",
            BASE,
            "--remote-sha256",
            &remote,
            "--tests-hash",
            "sha256:tests",
            "--diff",
            &diff,
            "--exit-status",
            exit_status,
        ];
        args.extend(KEY);
        args.extend(more);
        self.run(&args, &[("ORACLE_TRACE_SHA256", &sha256(&bytes)), ("ORACLE_TRACE_BYTES", &bytes.len().to_string())])
    }

    pub(crate) fn run(&self, args: &[&str], vars: &[(&str, &str)]) -> Ran {
        let mut command = self.kit.command(args);
        command.env("ORACLE_SESSION_ID", &self.id).envs(vars.iter().copied());
        Ran::of(command.output().expect("the binary runs"))
    }

    /// Writes a verdict as the collector does.
    pub(crate) fn hears(&mut self, envelope: &str) {
        let said = predicate(envelope);
        let statement: Value = serde_json::from_slice(&payload(envelope)).expect("JSON");
        let mut event = json!({
            "type": "oracle_verdict", "diff_sha256": statement["subject"][0]["digest"]["sha256"],
            "signature": serde_json::from_str::<Value>(envelope).expect("JSON"),
        });
        for field in ["mode", "attempt", "verdict", "task_id", "base_commit", "tests_hash", "run_id"] {
            event[field] = said[field].clone();
        }
        self.event(event);
    }

    pub(crate) fn graded(&mut self, mode: &str, exit_status: &str) -> String {
        let said = envelope(&self.asks(mode, exit_status, &[]).exits(0));
        self.hears(&said);
        said
    }

    pub(crate) fn end(&mut self) {
        self.event(json!({"type": "session_end", "reason": "other", "outcome": "flipped", "ended_by": "agent"}));
    }
}

/// What every run names.
pub(crate) const KEY: [&str; 6] = ["--key", "oracle.pem", "--oracle", "oracle-a", "--state", "state"];
