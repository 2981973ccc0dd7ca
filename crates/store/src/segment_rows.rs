//! Rows of `segments`: each with the summary of its branch up to its end.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use lake_trace::Flags;

use crate::parquet_file::file_schema;
use crate::rows::{Keys, Owner, int, times, words};
use crate::{Error, Result, schema};

/// One row of `segments`, and the branch's summary up to its end.
#[derive(Clone, Debug)]
pub struct SegmentRow {
    pub(crate) branch: crate::Branch,
    pub(crate) segment: crate::Segment,
    pub(crate) sha256_before: String,
    pub(crate) start_diff_sha256: Option<String>,
    pub(crate) claimed_outcome: Option<String>,
    pub(crate) attempts: u64,
    pub(crate) flags: Flags,
}

/// Rows of `segments` of one partition.
pub(crate) fn segments(rows: &[&SegmentRow]) -> Result<RecordBatch> {
    let mut keys = Keys::default();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for row in rows {
        keys.push(Owner {
            repo: &row.branch.place.repo,
            session_id: &row.branch.session_id,
            branch: row.branch.branch,
        });
    }
    columns.extend(keys.finish());
    let whole = |get: &dyn Fn(&SegmentRow) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| int(get(r)))))
    };
    let text = |get: &dyn Fn(&SegmentRow) -> Option<&str>| -> ArrayRef {
        Arc::new(StringArray::from_iter(rows.iter().map(|r| get(r))))
    };
    let time = |get: &dyn Fn(&SegmentRow) -> Option<i64>| -> ArrayRef {
        let mut builder = times();
        rows.iter().for_each(|r| builder.append_option(get(r).map(|ms| ms.saturating_mul(1000))));
        Arc::new(builder.finish())
    };
    let mut flags = words();
    for row in rows {
        row.flags.names().for_each(|name| flags.values().append_value(name));
        flags.append(true);
    }
    columns.extend::<[ArrayRef; 32]>([
        whole(&|r| r.segment.offset),
        whole(&|r| r.segment.end),
        whole(&|r| r.segment.first_line),
        whole(&|r| r.segment.next_line),
        text(&|r| Some(&r.sha256_before)),
        text(&|r| Some(&r.segment.sha256_end)),
        text(&|r| Some(&r.segment.raw)),
        whole(&|r| r.segment.raw_offset),
        whole(&|r| r.segment.raw_bytes),
        whole(&|r| r.segment.k),
        time(&|r| Some(r.segment.at)),
        text(&|r| Some(&r.segment.source)),
        text(&|r| Some(&r.segment.host)),
        text(&|r| r.branch.harness.as_deref()),
        text(&|r| r.branch.version.as_deref()),
        text(&|r| r.branch.model.as_deref()),
        text(&|r| r.branch.task_id.as_deref()),
        text(&|r| r.branch.base_commit.as_deref()),
        text(&|r| r.branch.repo_url.as_deref()),
        text(&|r| r.start_diff_sha256.as_deref()),
        time(&|r| r.branch.started_at),
        time(&|r| r.branch.ended_at),
        text(&|r| r.branch.ended_by.as_deref()),
        text(&|r| r.claimed_outcome.as_deref()),
        text(&|r| r.branch.recorded_outcome.as_deref()),
        whole(&|r| r.attempts),
        whole(&|r| r.branch.counts.lines),
        whole(&|r| r.branch.counts.events),
        whole(&|r| r.branch.counts.rejects),
        whole(&|r| r.branch.counts.messages),
        whole(&|r| r.branch.counts.tool_calls),
        whole(&|r| r.branch.counts.verdicts),
    ]);
    columns.push(Arc::new(flags.finish()));
    RecordBatch::try_new(file_schema(&schema::segments()), columns).map_err(Error::arrow("building", "segments"))
}
