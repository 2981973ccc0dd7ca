//! One branch of a session, read and judged, as `show` tells it.

use std::collections::HashSet;

use lake_store::{Branch, CheckRow, CommitTimes, Lake, read_branch};
use lake_trace::{Event, Flag, Fold, Hashed, LineRef, Looked, Verdict, format_ms, lines};
use lake_verdict::{Judged, Ledger, RecordCheck, Trust, VerdictFlag, Whole, judge_whole};
use serde::Serialize;
use serde_json::{Value, json};

/// A branch of a session.
#[derive(Debug, Serialize)]
pub(crate) struct BranchView {
    pub(crate) branch: u32,
    pub(crate) header: Value,
    pub(crate) outcome: String,
    /// Whether a trust file was there to judge by.
    pub(crate) judged: bool,
    /// Where evidence and training end, bytes; None where there is no evidence.
    pub(crate) graded_end: Option<u64>,
    pub(crate) flags: Vec<String>,
    pub(crate) secrets: String,
    pub(crate) turns: Vec<TurnView>,
    pub(crate) verdicts: Vec<VerdictView>,
    /// What the ledger lists of the session, and this branch neither has nor fits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) missing: Vec<String>,
    pub(crate) rejects: Vec<RejectView>,
}

/// An event that is a turn.
#[derive(Debug, Serialize)]
pub(crate) struct TurnView {
    pub(crate) seq: u64,
    pub(crate) line: u64,
    pub(crate) ts: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) thinking: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<String>,
    pub(crate) mask: Mask,
    #[serde(skip)]
    response: Option<String>,
    #[serde(skip)]
    end: u64,
}

/// What training would make of a turn. An export looks closer: secrets and cut values are not looked at here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mask {
    /// The model would learn it.
    Train,
    /// It would be read and not learned.
    Context,
    /// It claims to be done and was wrong.
    Claim,
    /// It would be in no row.
    Out,
}

/// A verdict record, and what each look at it said.
#[derive(Debug, Serialize)]
pub(crate) struct VerdictView {
    /// 0 for one that only the ledger has.
    pub(crate) line: u64,
    /// Its number in the ledger, where only that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ledger_seq: Option<u64>,
    pub(crate) mode: Option<String>,
    pub(crate) attempt: Option<u64>,
    pub(crate) verdict: Option<String>,
    pub(crate) signed: bool,
    /// None without a trust file.
    pub(crate) verifies: Option<bool>,
    pub(crate) key_id: Option<String>,
    /// Of what was signed; what the next verdict's `prev` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) payload_digest: Option<String>,
    pub(crate) flag: Option<&'static str>,
    /// Whether it is the record that the outcome rests on.
    pub(crate) deciding: bool,
    pub(crate) steps: Vec<StepView>,
}

/// One look at a record.
#[derive(Debug, Serialize)]
pub(crate) struct StepView {
    pub(crate) name: &'static str,
    pub(crate) ok: bool,
    pub(crate) detail: String,
}

/// A line that is no event.
#[derive(Debug, Serialize)]
pub(crate) struct RejectView {
    pub(crate) line: u64,
    pub(crate) reason: String,
}

/// Reads and judges a branch. `secrets`: the checks of secrets under the rules in force.
pub(crate) fn view(
    lake: &Lake,
    branch: &Branch,
    trust: Option<&Trust>,
    ledger: Option<&Ledger>,
    secrets: &[CheckRow],
) -> anyhow::Result<BranchView> {
    let bytes = read_branch(lake, branch)?;
    let mut fold = Fold::new(None);
    let (turns, rejects) = turns(&mut fold, &bytes);
    let judged = judged(lake, branch, &fold, &bytes, trust, ledger)?;
    let graded_end = judged.pass.as_ref().or(judged.negative.as_ref()).map(|evidence| evidence.prefix_end);
    let mut flags: Vec<String> = branch.flags.clone();
    flags.extend(judged.flags.iter().map(|(flag, ..)| flag.as_str().to_owned()));
    // As in the lake's flags: a missing signature costs nothing here, but who looks wants to know.
    flags.extend(judged.unsigned().map(|_| VerdictFlag::Unsigned.as_str().to_owned()));
    let mut known = HashSet::new();
    flags.retain(|flag| known.insert(flag.clone()));
    Ok(BranchView {
        branch: branch.branch,
        header: header(branch),
        outcome: judged.outcome.as_str().to_owned(),
        judged: trust.is_some(),
        graded_end,
        flags,
        secrets: secrets_said(branch, secrets),
        turns: masked(turns, &fold, graded_end),
        verdicts: verdicts(&fold, &judged, trust.is_some()),
        missing: judged.missing.into_iter().map(|(_, text)| text).collect(),
        rejects,
    })
}

fn header(branch: &Branch) -> Value {
    json!({
        "repo": branch.repo_url, "org": branch.place.org, "harness": branch.harness, "version": branch.version,
        "model": branch.model, "task_id": branch.task_id, "base_commit": branch.base_commit,
        "started_at": branch.started_at.map(format_ms), "ended_at": branch.ended_at.map(format_ms),
        "ended_by": branch.ended_by, "source": branch.source, "host": branch.host, "bytes": branch.end(),
        "segments": branch.segments.len(), "recorded_outcome": branch.recorded_outcome,
    })
}

fn secrets_said(branch: &Branch, rows: &[CheckRow]) -> String {
    let mine =
        |row: &&CheckRow| row.session_id == branch.session_id && row.branch == branch.branch && row.end == branch.end();
    let worst = rows.iter().filter(mine).max_by_key(|row| (row.result != "clean", row.at));
    match worst {
        None => "not looked at".into(),
        Some(row) if row.findings.is_empty() => row.result.clone(),
        Some(row) => {
            let found: Vec<String> = row.findings.iter().map(|f| format!("{} (line {})", f.rule, f.line)).collect();
            format!("{}: {}", row.result, found.join(", "))
        }
    }
}

fn turns(fold: &mut Fold, bytes: &[u8]) -> (Vec<TurnView>, Vec<RejectView>) {
    let mut turns = Vec::new();
    let mut rejects = Vec::new();
    let mut ids: HashSet<String> = HashSet::new();
    for (number, line) in (1..).zip(lines(bytes)) {
        let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
        let mut scratch = String::new();
        match fold.line(line.bytes, at, &mut scratch) {
            Looked::Blank => {}
            Looked::Reject(reason) => rejects.push(RejectView { line: number, reason: reason.to_string() }),
            Looked::Event(event) => {
                let new = ids.insert(event.event_id.clone().into_owned());
                if matches!(event.kind.as_ref(), "message" | "tool_call") {
                    turns.push(turn(&event, at, new));
                }
            }
        }
    }
    turns.sort_by_key(|turn| (turn.seq, turn.line));
    (turns, rejects)
}

fn turn(event: &Event<'_>, at: LineRef, new: bool) -> TurnView {
    let own = |field: &Option<std::borrow::Cow<'_, str>>| field.as_ref().map(|text| text.clone().into_owned());
    let said = |field: &Option<lake_trace::json::Str<'_>>| field.as_ref().map(|text| text.decode().into_owned());
    let assistant = event.kind == "tool_call" || event.role.as_deref() == Some("assistant");
    let mask = if event.agent_id.is_some() || !new || event.flags.has(Flag::DuplicateEvent) {
        Mask::Out
    } else if assistant && event.status.as_deref() != Some("denied") {
        Mask::Train
    } else {
        Mask::Context
    };
    let value = |value: &lake_trace::json::Value<'_>| match value {
        lake_trace::json::Value::Str(text) => text.decode().into_owned(),
        value => {
            let mut out = String::new();
            lake_trace::json::write_value(&mut out, value);
            out
        }
    };
    TurnView {
        seq: event.seq,
        line: at.line,
        ts: format_ms(event.ts),
        kind: event.kind.clone().into_owned(),
        role: own(&event.role),
        tool: own(&event.tool),
        status: own(&event.status),
        agent_id: own(&event.agent_id),
        thinking: said(&event.thinking),
        text: said(&event.text),
        input: event.input.as_ref().map(value),
        output: event.output.as_ref().map(value),
        mask,
        response: own(&event.response_id),
        end: at.end,
    }
}

/// Takes from the turns what lies outside what was graded, and the claims before grades that did not pass.
fn masked(mut turns: Vec<TurnView>, fold: &Fold, graded_end: Option<u64>) -> Vec<TurnView> {
    for turn in &mut turns {
        if graded_end.is_none_or(|end| turn.end > end) {
            turn.mask = Mask::Out;
        }
    }
    for (at, record) in fold.verdicts() {
        let missed = record.mode.as_deref() == Some("grade") && record.verdict() != Some(Verdict::Pass);
        if missed && graded_end.is_some_and(|end| at.offset < end) {
            claim(&mut turns, at.line);
        }
    }
    turns
}

/// The last turn of the model before a line: a message with the calls that join it, or calls that share a response.
fn claim(turns: &mut [TurnView], line: u64) {
    let is_model = |t: &TurnView| matches!(t.mask, Mask::Train | Mask::Claim);
    let Some(last) = turns.iter().rposition(|t| t.line < line && is_model(t)) else { return };
    let mut first = last;
    while first > 0 && turns[first].kind == "tool_call" {
        let before = &turns[first - 1];
        let joins = before.kind == "message" && before.role.as_deref() == Some("assistant");
        let parallel =
            before.kind == "tool_call" && before.response.is_some() && before.response == turns[first].response;
        if !(is_model(before) && (joins || parallel)) {
            break;
        }
        first -= 1;
    }
    turns[first..=last].iter_mut().for_each(|turn| turn.mask = Mask::Claim);
}

fn judged(
    lake: &Lake,
    branch: &Branch,
    fold: &Fold,
    bytes: &Hashed,
    trust: Option<&Trust>,
    ledger: Option<&Ledger>,
) -> anyhow::Result<Judged> {
    let times = CommitTimes::new(lake, trust.is_some_and(Trust::has_compromised));
    let committed = times.of(branch, fold.verdicts())?;
    let committed_at = |offset| committed.at(branch, offset);
    let whole = Whole {
        session_id: &branch.session_id,
        branch: branch.branch,
        fold,
        bytes,
        committed_at: &committed_at,
        ledger,
    };
    Ok(judge_whole(whole, trust, false))
}

/// Every record that was judged, what only the ledger has among them.
pub(crate) fn verdicts(fold: &Fold, judged: &Judged, by_trust: bool) -> Vec<VerdictView> {
    let deciding = judged.pass.as_ref().or(judged.negative.as_ref()).map(|evidence| evidence.record);
    let mut own = fold.verdicts().iter();
    let one = |check: &RecordCheck| {
        let record = if check.ledger_seq.is_some() { None } else { own.next().map(|(_, record)| record) };
        let said = check.statement.as_ref().filter(|_| record.is_none());
        VerdictView {
            line: check.at.line,
            ledger_seq: check.ledger_seq,
            mode: record.map_or_else(|| said.map(|s| s.mode.to_string()), |r| r.mode.clone()),
            attempt: record.map_or_else(|| said.map(|s| s.attempt), |r| r.attempt),
            verdict: record.map_or_else(|| said.map(|s| s.verdict.to_string()), |r| r.verdict.clone()),
            signed: record.is_none_or(|r| r.signature.is_some()),
            verifies: by_trust.then(|| check.verifies()),
            key_id: check.key_id.clone(),
            payload_digest: check.payload_digest.clone(),
            flag: check.flag.map(|flag| flag.as_str()),
            deciding: deciding == Some(check.record),
            steps: check.steps.iter().map(step).collect(),
        }
    };
    judged.records.iter().map(one).collect()
}

fn step(step: &lake_verdict::Step) -> StepView {
    StepView { name: step.name, ok: step.ok, detail: step.detail.clone() }
}
