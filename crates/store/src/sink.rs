//! Where rows go: one builder a table and partition, files put as they fill, actions kept for the commit.

use std::collections::BTreeMap;

use deltalake::kernel::Add;
use lake_trace::{Event, LineRef, Place, Reject};

use crate::parquet_file::{self, ParquetFile, file_schema};
use crate::rows::{Events, Owner, Rejects, Verdicts};
use crate::segment_rows::SegmentRow;
use crate::{Lake, Result, names, schema};

/// Rows are encoded when they hold this much text, bytes.
const ENCODE: usize = 8 << 20;
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

struct Part {
    events: Events,
    verdicts: Verdicts,
    rejects: Rejects,
    files: [ParquetFile; 3],
}

impl Part {
    fn new() -> Part {
        let file = |schema| ParquetFile::new(file_schema(&schema), LEVEL);
        Part {
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
    parts: BTreeMap<(String, String), Part>,
    done: Prepared,
}

impl Sink {
    /// An empty one that puts its files into a generation's folders.
    pub fn new(lake: &Lake, generation: u32) -> Sink {
        Sink { lake: lake.clone(), generation, parts: BTreeMap::new(), done: Prepared::default() }
    }

    fn part(&mut self, place: &Place) -> &mut Part {
        self.parts.entry((place.org.clone(), place.date.clone())).or_insert_with(Part::new)
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
            self.close(&(place.org.clone(), place.date.clone()))?;
        }
        Ok(())
    }

    fn close(&mut self, key: &(String, String)) -> Result<()> {
        let Some(mut part) = self.parts.remove(key) else { return Ok(()) };
        part.encode()?;
        let lists = [&mut self.done.events, &mut self.done.verdicts, &mut self.done.rejects];
        for ((file, name), list) in part.files.iter_mut().zip(schema::TABLES).zip(lists) {
            if let Some(encoded) = file.finish()? {
                let folder = names::table(self.generation, name);
                list.push(parquet_file::put(&self.lake, &folder, Some((&key.0, &key.1)), encoded, true)?);
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
        for key in self.parts.keys().cloned().collect::<Vec<_>>() {
            self.close(&key)?;
        }
        Ok(self.done)
    }
}
