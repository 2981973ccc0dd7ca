//! One branch: read once, judged, and if it may be used, assembled and rendered.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use lake_store::Branch;
use lake_trace::{Flag, Fold, Hashed, LineRef, Looked, canonical_repo, lines};
use lake_verdict::{Judged, Trust, Whole, judge_whole};
use sha2::{Digest, Sha256};

use crate::choose::Reason;
use crate::conversation::{Assistant, Context, Conversation, Item, Turn, What, assemble, mask};
use crate::dialect::{Sides, is_readable, open_turn, write_member};
use crate::facts::{Facts, Judgement, Origin, Row};
use crate::secrets::Guard;
use crate::spill::{Note, RowWriter, Span, Spill};
use crate::tokens::LARGEST_SESSION;
use crate::tools::{Shapes, shapes};
use crate::{Dialect, Error, OnTruncatedOutput, Request, Result, Scan, Source};

/// What every branch is examined with.
pub(crate) struct Bench<'r> {
    pub(crate) request: &'r Request,
    pub(crate) guard: Guard<'r>,
    pub(crate) shapes: &'r Shapes,
    /// None: nothing is written.
    pub(crate) spill: Option<&'r Spill>,
}

/// Reads, judges and renders one branch. `wanted`: it may become a row.
pub(crate) fn examine(
    bench: &Bench<'_>,
    source: &dyn Source,
    branch: &Branch,
    order: u64,
    scan: Option<&Scan>,
    wanted: bool,
) -> Result<Facts> {
    let bytes = match source.bytes(branch) {
        Ok(bytes) => bytes,
        Err(lake_store::Error::Purged(_)) => return Ok(Facts::Unread(Reason::Purged)),
        Err(lake_store::Error::Damaged { .. }) => return Ok(Facts::Unread(Reason::Damaged)),
        Err(source) => {
            let session_id = branch.session_id.clone();
            return Err(Error::Read { session_id, branch: branch.branch, source });
        }
    };
    if bytes.len() as u64 != branch.end() {
        return Ok(Facts::Unread(Reason::Damaged));
    }
    let mut fold = Fold::new(None);
    // An event borrows from the text that a repair made of its line.
    let mut scratch = vec![String::new(); lines(&bytes).count()];
    let items = items(&mut fold, &bytes, &mut scratch);
    let judged = judged(bench.request, source, branch, &fold, &bytes)?;
    let items = with_listed(items, &judged);
    let evidence = judged.pass.as_ref().or(judged.negative.as_ref());
    let origin = origin(&fold);
    let key_ids = evidence.map(|e| key_ids(&judged, e.record)).unwrap_or_default();
    let row = match evidence.filter(|_| wanted) {
        None => None,
        Some(evidence) => {
            let metadata = metadata(branch, &bytes, &fold, evidence, &key_ids, bench.guard.rules.digest());
            let (cut, first_reject) = (evidence.prefix_end, fold.first_reject());
            let part = Part { branch, origin: &origin, bytes: &bytes, cut, first_reject };
            Some(row(bench, &part, items, scan, metadata)?)
        }
    };
    Ok(Facts::Read(Box::new(Judgement {
        origin,
        outcome: judged.outcome,
        flags: judged.flags.iter().map(|(flag, step, _)| (*flag, *step)).collect(),
        claim: judged.claim(&branch.session_id, branch.branch, order),
        evidence: evidence.cloned(),
        key_ids,
        corrections: fold.corrections().iter().map(|(at, c)| (at.offset, c.clone())).collect(),
        row,
    })))
}

/// The events that a conversation may show, in file order: neither duplicates nor copied context.
fn items<'a>(fold: &mut Fold, bytes: &'a [u8], scratch: &'a mut [String]) -> Vec<Item<'a>> {
    let mut ids: HashSet<Cow<'a, str>, RandomState> = HashSet::default();
    let mut items = Vec::new();
    for ((number, line), scratch) in (1..).zip(lines(bytes)).zip(scratch) {
        let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
        let Looked::Event(mut event) = fold.line(line.bytes, at, scratch) else { continue };
        let new = ids.insert(std::mem::take(&mut event.event_id));
        if new && !event.flags.has(Flag::DuplicateEvent) {
            items.extend(Item::of(event, at));
        }
    }
    items
}

fn judged(request: &Request, source: &dyn Source, branch: &Branch, fold: &Fold, bytes: &Hashed) -> Result<Judged> {
    let times = commit_times(request, source, branch, fold)?;
    let committed_at = |offset: u64| match &times {
        Some(times) => times.get(&offset).copied().flatten(),
        None => branch.committed_at(offset),
    };
    let whole = Whole {
        session_id: &branch.session_id,
        branch: branch.branch,
        fold,
        bytes,
        committed_at: &committed_at,
        ledger: request.ledger.as_ref(),
    };
    Ok(judge_whole(whole, request.trust.as_ref(), request.require_signature))
}

/// The store's own times of the verdicts' lines, by their offsets; None where no key is compromised and nobody asks.
fn commit_times(
    request: &Request,
    source: &dyn Source,
    branch: &Branch,
    fold: &Fold,
) -> Result<Option<HashMap<u64, Option<i64>>>> {
    if !request.trust.as_ref().is_some_and(Trust::has_compromised) {
        return Ok(None);
    }
    let mut times = HashMap::new();
    for (at, _) in fold.verdicts() {
        let mut segments = branch.segments.iter();
        if let Some(segment) = segments.find(|s| (s.offset..s.end).contains(&at.offset)) {
            let time = source.committed_at(segment).map_err(|source| {
                let session_id = branch.session_id.clone();
                Error::Read { session_id, branch: branch.branch, source }
            })?;
            times.insert(at.offset, time);
        }
    }
    Ok(Some(times))
}

/// Puts the grades that only the ledger has where the oracle was asked: what was claimed before one that did not pass was
/// wrong, whether or not the trace says so.
fn with_listed<'a>(mut items: Vec<Item<'a>>, judged: &Judged) -> Vec<Item<'a>> {
    let listed = judged.records.iter().filter(|record| record.ledger_seq.is_some() && record.verifies());
    for (record, statement) in listed.filter_map(|record| Some((record, record.statement.as_ref()?))) {
        let place = items.partition_point(|item| item.at.end <= record.at.end);
        let seq = items[..place].iter().map(|item| item.seq).max().unwrap_or(0);
        items.insert(place, Item::listed(statement, record.at, seq));
    }
    items
}

fn origin(fold: &Fold) -> Origin {
    let Some((_, start)) = fold.start() else { return Origin::default() };
    Origin {
        repo: start.repo.as_deref().map(canonical_repo),
        task_id: start.task_id.clone(),
        base_commit: start.base_commit.clone(),
        harness: (start.harness.clone().unwrap_or_default(), start.version.clone().unwrap_or_default()),
    }
}

fn key_ids(judged: &Judged, last: usize) -> Vec<String> {
    let records = judged.records.iter().filter(|record| record.record <= last && record.verifies());
    let mut ids: Vec<String> = records.filter_map(|record| record.key_id.clone()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// What a row says of where it comes from; keys that do not apply are absent.
fn metadata(
    branch: &Branch,
    bytes: &Hashed,
    fold: &Fold,
    evidence: &lake_verdict::Evidence,
    key_ids: &[String],
    rules_digest: &str,
) -> String {
    let start = fold.start().map(|(_, start)| start.clone()).unwrap_or_default();
    let mut out = format!("{{\"branch\":{},\"trace_bytes\":{}", branch.branch, evidence.prefix_end);
    for (key, value) in [
        ("harness", &start.harness),
        ("version", &start.version),
        ("model", &start.model),
        ("base_commit", &start.base_commit),
        ("tests_hash", &evidence.tests_hash),
        ("diff_sha256", &evidence.diff_sha256),
        ("run_id", &evidence.run_id),
        ("payload_digest", &evidence.payload_digest),
    ] {
        write_member(&mut out, key, value.as_deref());
    }
    for (i, id) in key_ids.iter().enumerate() {
        out.push_str(if i == 0 { ",\"key_ids\":[" } else { "," });
        lake_trace::json::write_str(&mut out, id);
    }
    out.push_str(if key_ids.is_empty() { "" } else { "]" });
    // Of what was graded alone: what comes behind it, in this file or as another object, changes no row.
    let graded = usize::try_from(evidence.prefix_end).ok().and_then(|end| bytes.prefix_sha256(end));
    write_member(&mut out, "trace_sha256", graded.map(hex::encode).as_deref());
    write_member(&mut out, "rules_digest", Some(rules_digest));
    out.push('}');
    out
}

/// The part of a branch that was graded.
struct Part<'a> {
    branch: &'a Branch,
    origin: &'a Origin,
    bytes: &'a [u8],
    /// Only lines that end here or before are in a row.
    cut: u64,
    first_reject: Option<LineRef>,
}

fn row(
    bench: &Bench<'_>,
    part: &Part<'_>,
    mut items: Vec<Item<'_>>,
    scan: Option<&Scan>,
    metadata: String,
) -> Result<Row> {
    items.retain(|item| item.at.end <= part.cut);
    let mut row = Row {
        no_sft: None,
        no_preference: None,
        spans: Vec::new(),
        canonical: Vec::new(),
        prompt_turns: 0,
        prompt: [0; 32],
        length: 0,
        human_help: false,
        tokens: None,
        cut: None,
        has_call: false,
        shapes: Vec::new(),
        metadata,
    };
    let has = |what: fn(&What<'_>) -> bool| items.iter().any(|item| what(&item.what));
    let early = if has(|what| matches!(what, What::Fork)) {
        Some(Reason::Fork)
    } else if part.first_reject.is_some_and(|at| at.offset < part.cut) {
        Some(Reason::Reject)
    } else if has(|what| matches!(what, What::Unrenderable)) {
        Some(Reason::Unrenderable)
    } else {
        None
    };
    let early = early.or_else(|| {
        let is_too_long = bench.request.tokens.is_some() && part.branch.end() > LARGEST_SESSION;
        is_too_long.then_some(Reason::TooLong)
    });
    if early.is_some() {
        (row.no_sft, row.no_preference) = (early, early);
        return Ok(row);
    }
    let mut conversation = assemble(items);
    if !is_readable(bench.request.dialect, &conversation) {
        (row.no_sft, row.no_preference) = (Some(Reason::Unrenderable), Some(Reason::Unrenderable));
        return Ok(row);
    }
    row.prompt_turns = prompt_turns(&conversation, bench.request.dialect);
    row.prompt = prompt_hash(&conversation, row.prompt_turns);
    mask(&mut conversation, bench.request.train_after_fail);
    (row.no_sft, row.no_preference) = truncated(&conversation, bench.request.on_truncated_output);
    if row.no_sft.is_some() && row.no_preference.is_some() {
        return Ok(row);
    }
    if !is_free_of_secrets(bench, part, &mut conversation, scan, &row.metadata) {
        (row.no_sft, row.no_preference) =
            (row.no_sft.or(Some(Reason::Secret)), row.no_preference.or(Some(Reason::Secret)));
        return Ok(row);
    }
    // A message with a replaced secret is not trained.
    mask(&mut conversation, bench.request.train_after_fail);
    let turns = conversation.assistants();
    row.length = turns.map(length).sum();
    if !conversation.assistants().any(|assistant| assistant.train) {
        row.no_sft = row.no_sft.or(Some(Reason::NothingTrained));
    }
    if conversation.assistants().next().is_none() {
        row.no_preference = row.no_preference.or(Some(Reason::NothingTrained));
    }
    if bench.request.dialect.sides() == Sides::LastMessage && row.prompt_turns == conversation.turns.len() {
        // It ends with what a tool said: there is no message to score.
        row.no_preference = row.no_preference.or(Some(Reason::NothingTrained));
    }
    let human = |turn: &Turn<'_>| matches!(turn, Turn::Context(Context { human: true, .. }));
    row.human_help = conversation.turns[row.prompt_turns..].iter().any(human);
    row.has_call = conversation.calls().next().is_some();
    row.shapes = bench.shapes.intern(shapes(&conversation));
    if let Some(spill) = bench.spill.filter(|_| row.no_sft.is_none() || row.no_preference.is_none()) {
        let doing = |e| Error::io("writing a temporary file for session", &part.branch.session_id)(e);
        row.spans = render(spill, bench.request.dialect, &conversation).map_err(&doing)?;
        if bench.request.tokens.is_some() && bench.request.dialect != Dialect::Trl {
            // Chat templates take the canonical form.
            row.canonical = render(spill, Dialect::Trl, &conversation).map_err(&doing)?;
        }
    }
    Ok(row)
}

/// Turns that both sides of a pair have to share: those before the model's first, or where a side is one message, all before it.
fn prompt_turns(conversation: &Conversation<'_>, dialect: Dialect) -> usize {
    match (dialect.sides(), conversation.turns.last()) {
        (Sides::LastMessage, Some(Turn::Assistant(_))) => conversation.turns.len() - 1,
        // There is nothing that could be a side.
        (Sides::LastMessage, _) => conversation.turns.len(),
        _ => conversation.prompt(),
    }
}

fn prompt_hash(conversation: &Conversation<'_>, turns: usize) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut opened = String::new();
    for turn in &conversation.turns[..turns] {
        match turn {
            Turn::Context(context) => {
                hash.update([context.role as u8, u8::from(context.text.cut)]);
                let text = context.text.text.decode();
                hash.update((text.len() as u64).to_be_bytes());
                hash.update(text.as_bytes());
            }
            _ => {
                opened.clear();
                open_turn(Dialect::Trl, &mut opened, turn);
                hash.update(opened.as_bytes());
            }
        }
    }
    hash.finalize().into()
}

/// Why either set may not have what was cut. A side of a pair has no mask: all of it is learned from.
fn truncated(conversation: &Conversation<'_>, outputs: OnTruncatedOutput) -> (Option<Reason>, Option<Reason>) {
    let output = |turn: &Turn<'_>| matches!(turn, Turn::Output(output) if output.text.cut);
    let both =
        conversation.cut_to_text || (outputs == OnTruncatedOutput::Exclude && conversation.turns.iter().any(output));
    let cut = |trained: bool| conversation.assistants().any(|a| a.is_cut() && (a.train || !trained));
    let reason = |out: bool| out.then_some(Reason::Truncated);
    (reason(both || cut(true)), reason(both || cut(false)))
}

fn is_free_of_secrets(
    bench: &Bench<'_>,
    part: &Part<'_>,
    conversation: &mut Conversation<'_>,
    scan: Option<&Scan>,
    metadata: &str,
) -> bool {
    let is_known_clean = scan.is_some_and(|scan| scan.clean && scan.end == part.branch.end());
    let known = if is_known_clean { None } else { bench.guard.learn(part.bytes) };
    let clear = known.as_ref().is_none_or(|known| bench.guard.clear(conversation, known));
    let names = [Some(&part.branch.session_id), part.origin.task_id.as_ref(), part.origin.repo.as_ref()];
    let clean = |text: &str, field: &str| bench.guard.is_clean(text, field, false, known.as_ref());
    clear && names.into_iter().flatten().all(|name| clean(name, "/session_start")) && clean(metadata, "/metadata")
}

fn length(assistant: &Assistant<'_>) -> u64 {
    let mut arguments = String::new();
    let calls: usize = assistant
        .calls
        .iter()
        .map(|call| {
            arguments.clear();
            lake_trace::json::write_value(&mut arguments, &call.arguments);
            call.name.len() + arguments.len()
        })
        .sum();
    (assistant.text.text.len() + assistant.reasoning.text.len() + calls) as u64
}

fn render(spill: &Spill, dialect: Dialect, conversation: &Conversation<'_>) -> std::io::Result<Vec<Span>> {
    let mut row = RowWriter::new(spill);
    for turn in &conversation.turns {
        let train = matches!(turn, Turn::Assistant(assistant) if assistant.train && is_sayable(dialect, assistant));
        row.message(Note { kind: turn.kind(), train }, |out| open_turn(dialect, out, turn))?;
    }
    row.finish()
}

/// Whether anything is left to be learned of a turn. Reasoning alone is nothing to a dialect without a field for it.
fn is_sayable(dialect: Dialect, assistant: &Assistant<'_>) -> bool {
    dialect != Dialect::Openai || !assistant.text.is_empty() || !assistant.calls.is_empty()
}
