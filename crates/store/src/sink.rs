//! Where rows go: one builder a table and partition, files put as they fill, actions kept for the commit.

use deltalake::kernel::Add;
use lake_trace::{Event, LineRef, Place, Reject};

use crate::parquet_file::{self, ParquetFile, file_schema};
use crate::rows::{Events, Owner, Rejects, Verdicts};
use crate::segment_rows::SegmentRow;
use crate::{Lake, Result, names, schema};

/// Rows are encoded when they hold this much text, bytes: little enough to stay near the processor.
const ENCODE: usize = 1 << 20;
/// Level of zstd for tables.
const LEVEL: i32 = 1;

/// Files of the derived tables that no commit names yet, and the rows of `segments` that come with them.
#[derive(Default)]
pub struct Prepared {
    pub(crate) events: Vec<Add>,
    pub(crate) verdicts: Vec<Add>,
    pub(crate) rejects: Vec<Add>,
    pub(crate) segments: Vec<SegmentRow>,
}

impl Prepared {
    /// Both together.
    pub fn merge(&mut self, other: Prepared) {
        self.events.extend(other.events);
        self.verdicts.extend(other.verdicts);
        self.rejects.extend(other.rejects);
        self.segments.extend(other.segments);
    }

    /// Names the batch, where it was not known when the rows were made.
    pub fn set_batch(&mut self, k: u64) {
        for row in &mut self.segments {
            if row.segment.k == 0 {
                row.segment.k = k;
            }
        }
    }
}

/// What is on its way into the files of one partition.
struct Part {
    org: String,
    date: String,
    events: Events,
    verdicts: Verdicts,
    rejects: Rejects,
    files: [ParquetFile; 3],
}

impl Part {
    fn new(place: &Place) -> Part {
        let file = |schema| ParquetFile::new(file_schema(&schema), LEVEL);
        Part {
            org: place.org.clone(),
            date: place.date.clone(),
            events: Events::default(),
            verdicts: Verdicts::default(),
            rejects: Rejects::default(),
            files: [file(schema::events()), file(schema::verdicts()), file(schema::rejects())],
        }
    }

    fn encode(&mut self) -> Result<()> {
        self.files[0].write(&self.events.finish()?)?;
        self.files[1].write(&self.verdicts.finish()?)?;
        self.files[2].write(&self.rejects.finish()?)
    }
}

/// Rows of some sessions on their way into files.
pub struct Sink {
    lake: Lake,
    generation: u32,
    parts: Vec<Part>,
    /// Position of that of the row before.
    last: usize,
    done: Prepared,
}

impl Sink {
    /// An empty one that puts its files into a generation's folders.
    pub fn new(lake: &Lake, generation: u32) -> Sink {
        Sink { lake: lake.clone(), generation, parts: Vec::new(), last: 0, done: Prepared::default() }
    }

    fn part(&mut self, place: &Place) -> &mut Part {
        let is_it = |part: &Part| (&part.org, &part.date) == (&place.org, &place.date);
        // Nearly every row is of the same partition as the one before.
        if !self.parts.get(self.last).is_some_and(is_it) {
            self.last = self.parts.iter().position(is_it).unwrap_or_else(|| {
                self.parts.push(Part::new(place));
                self.parts.len() - 1
            });
        }
        &mut self.parts[self.last]
    }

    pub(crate) fn event(&mut self, place: &Place, owner: Owner<'_>, event: &Event<'_>, at: LineRef) -> Result<()> {
        let part = self.part(place);
        part.events.push(owner, event, at.line);
        if event.kind == "oracle_verdict" {
            part.verdicts.push(owner, event, at);
        }
        if part.events.held > ENCODE { self.encode(place) } else { Ok(()) }
    }

    pub(crate) fn reject(
        &mut self,
        place: &Place,
        owner: Owner<'_>,
        file: &str,
        at: LineRef,
        bytes: Option<&[u8]>,
        why: &Reject,
    ) -> Result<()> {
        let part = self.part(place);
        part.rejects.push(owner, file, at, bytes, why);
        if part.rejects.held > ENCODE { self.encode(place) } else { Ok(()) }
    }

    fn encode(&mut self, place: &Place) -> Result<()> {
        let part = self.part(place);
        part.encode()?;
        if part.files.iter().any(ParquetFile::is_full) {
            let part = self.parts.swap_remove(self.last);
            self.close(part)?;
        }
        Ok(())
    }

    fn close(&mut self, mut part: Part) -> Result<()> {
        part.encode()?;
        let lists = [&mut self.done.events, &mut self.done.verdicts, &mut self.done.rejects];
        for ((file, name), list) in part.files.iter_mut().zip(schema::TABLES).zip(lists) {
            if let Some(encoded) = file.finish()? {
                let folder = names::table(self.generation, name);
                list.push(parquet_file::put(&self.lake, &folder, Some((&part.org, &part.date)), encoded, true)?);
            }
        }
        Ok(())
    }

    pub(crate) fn segment(&mut self, row: SegmentRow) {
        self.done.segments.push(row);
    }

    /// Puts what is left and hands over the files.
    ///
    /// # Errors
    /// Those of the store and of Parquet.
    pub fn finish(mut self) -> Result<Prepared> {
        let mut parts = std::mem::take(&mut self.parts);
        parts.sort_by(|a, b| (&a.org, &a.date).cmp(&(&b.org, &b.date)));
        for part in parts {
            self.close(part)?;
        }
        Ok(self.done)
    }
}
