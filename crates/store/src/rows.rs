//! Rows of the derived tables, built column by column.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, Float64Builder, Int32Builder, Int64Builder, ListBuilder, RecordBatch, StringBuilder,
    TimestampMicrosecondBuilder,
};
use arrow::datatypes::{DataType, Field, SchemaRef};
use lake_trace::json::{Value, write_value};
use lake_trace::{Event, Flag, LineRef, Reject};
use sha2::{Digest, Sha256};

use crate::parquet_file::file_schema;
use crate::{Error, Result, schema};

/// Column values over this are cut, bytes; `ext` holds their length and hash, raw has the whole.
const CAP: usize = 16 << 20;

/// A list of words.
pub(crate) fn words() -> ListBuilder<StringBuilder> {
    ListBuilder::new(StringBuilder::new()).with_field(Arc::new(Field::new("element", DataType::Utf8, true)))
}

pub(crate) fn times() -> TimestampMicrosecondBuilder {
    TimestampMicrosecondBuilder::new().with_timezone("UTC")
}

/// Whose row it is.
#[derive(Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) repo: &'a str,
    pub(crate) session_id: &'a str,
    pub(crate) branch: u32,
}

pub(crate) fn int(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn branch(n: u32) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

#[derive(Default)]
pub(crate) struct Keys {
    repo: StringBuilder,
    session: StringBuilder,
    branch: Int32Builder,
}

impl Keys {
    pub(crate) fn push(&mut self, owner: Owner<'_>) {
        self.repo.append_value(owner.repo);
        self.session.append_value(owner.session_id);
        self.branch.append_value(branch(owner.branch));
    }

    pub(crate) fn finish(&mut self) -> Vec<ArrayRef> {
        vec![Arc::new(self.repo.finish()), Arc::new(self.session.finish()), Arc::new(self.branch.finish())]
    }
}

/// Rows of `events`.
pub(crate) struct Events {
    schema: SchemaRef,
    keys: Keys,
    seq: Int64Builder,
    line: Int64Builder,
    event_id: StringBuilder,
    ts: TimestampMicrosecondBuilder,
    kind: StringBuilder,
    role: StringBuilder,
    text: StringBuilder,
    thinking: StringBuilder,
    tool: StringBuilder,
    call_id: StringBuilder,
    input: StringBuilder,
    output: StringBuilder,
    status: StringBuilder,
    duration: Float64Builder,
    agent: StringBuilder,
    turn: StringBuilder,
    response: StringBuilder,
    flags: ListBuilder<StringBuilder>,
    ext: StringBuilder,
    buffer: String,
    /// Bytes of text held.
    pub(crate) held: usize,
}

impl Default for Events {
    fn default() -> Events {
        Events {
            schema: file_schema(&schema::events()),
            keys: Keys::default(),
            seq: Int64Builder::new(),
            line: Int64Builder::new(),
            event_id: StringBuilder::new(),
            ts: times(),
            kind: StringBuilder::new(),
            role: StringBuilder::new(),
            text: StringBuilder::new(),
            thinking: StringBuilder::new(),
            tool: StringBuilder::new(),
            call_id: StringBuilder::new(),
            input: StringBuilder::new(),
            output: StringBuilder::new(),
            status: StringBuilder::new(),
            duration: Float64Builder::new(),
            agent: StringBuilder::new(),
            turn: StringBuilder::new(),
            response: StringBuilder::new(),
            flags: words(),
            ext: StringBuilder::new(),
            buffer: String::new(),
            held: 0,
        }
    }
}

/// What was cut off a value, for `ext`.
struct CutNote {
    field: &'static str,
    bytes: usize,
    sha256: String,
}

fn capped<'v>(field: &'static str, value: &'v str, cuts: &mut Vec<CutNote>) -> &'v str {
    if value.len() <= CAP {
        return value;
    }
    cuts.push(CutNote { field, bytes: value.len(), sha256: hex::encode(Sha256::digest(value.as_bytes())) });
    &value[..value.floor_char_boundary(CAP)]
}

/// JSON text of a value, or the string itself where a string may stand as it is.
fn plain<'v>(value: &'v Value<'_>, buffer: &'v mut String) -> &'v str {
    if let Value::Str(text) = value {
        return text.decode_in(buffer);
    }
    buffer.clear();
    write_value(buffer, value);
    buffer
}

impl Events {
    pub(crate) fn push(&mut self, owner: Owner<'_>, event: &Event<'_>, line: u64) {
        let mut cuts = Vec::new();
        self.keys.push(owner);
        self.seq.append_value(int(event.seq));
        self.line.append_value(int(line));
        self.event_id.append_value(capped("event_id", &event.event_id, &mut cuts));
        self.ts.append_value(event.ts.saturating_mul(1000));
        self.kind.append_value(capped("type", &event.kind, &mut cuts));
        let mut held = 0;
        for (builder, field, value) in [
            (&mut self.role, "role", &event.role),
            (&mut self.tool, "tool", &event.tool),
            (&mut self.call_id, "call_id", &event.call_id),
            (&mut self.status, "status", &event.status),
            (&mut self.agent, "agent_id", &event.agent_id),
            (&mut self.turn, "turn_id", &event.turn_id),
            (&mut self.response, "response_id", &event.response_id),
        ] {
            let value = value.as_deref().map(|v| capped(field, v, &mut cuts));
            held += value.map_or(0, str::len);
            builder.append_option(value);
        }
        for (builder, field, value) in
            [(&mut self.text, "text", &event.text), (&mut self.thinking, "thinking", &event.thinking)]
        {
            let text = value.as_ref().map(|text| capped(field, text.decode_in(&mut self.buffer), &mut cuts));
            held += text.map_or(0, str::len);
            builder.append_option(text);
        }
        for (builder, field, value) in
            [(&mut self.input, "input", &event.input), (&mut self.output, "output", &event.output)]
        {
            let text = value.as_ref().map(|v| capped(field, plain(v, &mut self.buffer), &mut cuts));
            held += text.map_or(0, str::len);
            builder.append_option(text);
        }
        self.duration.append_option(event.duration_ms);
        let mut ext = event.ext_json();
        if let Some(text) = &ext
            && text.len() > CAP
        {
            let whole = CutNote { field: "ext", bytes: text.len(), sha256: hex::encode(Sha256::digest(text)) };
            ext = None;
            cuts.push(whole);
        }
        let mut flags = event.flags;
        if !cuts.is_empty() {
            flags.set(Flag::Cut);
            let mut text = ext.unwrap_or_else(|| "{}".into());
            text.pop();
            for cut in &cuts {
                if text.len() > 1 {
                    text.push(',');
                }
                let CutNote { field, bytes, sha256 } = cut;
                text.push_str(&format!("\"{field}_cut_bytes\":{bytes},\"{field}_cut_sha256\":\"{sha256}\""));
            }
            text.push('}');
            ext = Some(text);
        }
        held += ext.as_ref().map_or(0, String::len);
        self.ext.append_option(ext);
        for name in flags.names() {
            self.flags.values().append_value(name);
        }
        self.flags.append(true);
        self.held += held + 200;
    }

    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        self.held = 0;
        let mut columns = self.keys.finish();
        columns.extend::<[ArrayRef; 19]>([
            Arc::new(self.seq.finish()),
            Arc::new(self.line.finish()),
            Arc::new(self.event_id.finish()),
            Arc::new(self.ts.finish()),
            Arc::new(self.kind.finish()),
            Arc::new(self.role.finish()),
            Arc::new(self.text.finish()),
            Arc::new(self.thinking.finish()),
            Arc::new(self.tool.finish()),
            Arc::new(self.call_id.finish()),
            Arc::new(self.input.finish()),
            Arc::new(self.output.finish()),
            Arc::new(self.status.finish()),
            Arc::new(self.duration.finish()),
            Arc::new(self.agent.finish()),
            Arc::new(self.turn.finish()),
            Arc::new(self.response.finish()),
            Arc::new(self.flags.finish()),
            Arc::new(self.ext.finish()),
        ]);
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::arrow("building", "events"))
    }
}

/// Rows of `verdicts`.
#[derive(Default)]
pub(crate) struct Verdicts {
    keys: Keys,
    line: Int64Builder,
    offset: Int64Builder,
    event_id: StringBuilder,
    ts: Option<TimestampMicrosecondBuilder>,
    attempt: Int64Builder,
    texts: [StringBuilder; 8],
}

impl Verdicts {
    pub(crate) fn push(&mut self, owner: Owner<'_>, event: &Event<'_>, at: LineRef) {
        let Some(record) = event.verdict_record() else { return };
        self.keys.push(owner);
        self.line.append_value(int(at.line));
        self.offset.append_value(int(at.offset));
        self.event_id.append_value(&event.event_id);
        self.ts.get_or_insert_with(times).append_value(event.ts.saturating_mul(1000));
        self.attempt.append_option(record.attempt.map(int));
        let values = [
            record.mode,
            record.verdict,
            record.task_id,
            record.base_commit,
            record.diff_sha256,
            record.tests_hash,
            record.run_id,
            record.signature,
        ];
        for (builder, value) in self.texts.iter_mut().zip(values) {
            builder.append_option(value);
        }
    }

    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        let mut columns = self.keys.finish();
        let mut texts = self.texts.iter_mut().map(|b| Arc::new(b.finish()) as ArrayRef);
        let mode = texts.next();
        columns.extend::<[ArrayRef; 4]>([
            Arc::new(self.line.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(self.event_id.finish()),
            Arc::new(self.ts.get_or_insert_with(times).finish()),
        ]);
        columns.extend(mode);
        columns.push(Arc::new(self.attempt.finish()));
        columns.extend(texts);
        RecordBatch::try_new(file_schema(&schema::verdicts()), columns).map_err(Error::arrow("building", "verdicts"))
    }
}

/// Rows of `rejects`.
#[derive(Default)]
pub(crate) struct Rejects {
    keys: Keys,
    file: StringBuilder,
    line: Int64Builder,
    offset: Int64Builder,
    bytes: BinaryBuilder,
    length: Int64Builder,
    reason: StringBuilder,
    /// Bytes held.
    pub(crate) held: usize,
}

impl Rejects {
    /// `bytes` is the line; None where it is too long to be a value. `length` is always the whole line's.
    pub(crate) fn push(&mut self, owner: Owner<'_>, file: &str, at: LineRef, bytes: Option<&[u8]>, why: &Reject) {
        let bytes = bytes.map(|b| &b[..b.len().min(CAP)]);
        self.keys.push(owner);
        self.file.append_value(file);
        self.line.append_value(int(at.line));
        self.offset.append_value(int(at.offset));
        self.bytes.append_option(bytes);
        self.length.append_value(int(at.end - at.offset));
        self.reason.append_value(why.to_string());
        self.held += bytes.map_or(0, <[u8]>::len) + 200;
    }

    pub(crate) fn finish(&mut self) -> Result<RecordBatch> {
        self.held = 0;
        let mut columns = self.keys.finish();
        columns.extend::<[ArrayRef; 6]>([
            Arc::new(self.file.finish()),
            Arc::new(self.line.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(self.bytes.finish()),
            Arc::new(self.length.finish()),
            Arc::new(self.reason.finish()),
        ]);
        RecordBatch::try_new(file_schema(&schema::rejects()), columns).map_err(Error::arrow("building", "rejects"))
    }
}
