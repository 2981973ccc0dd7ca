//! Writes the rows of a plan in their order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lake_store::{Branch, Catalog};
use lake_trace::json::write_str;

use crate::choose::{Pair, funnel};
use crate::dialect::{self, Joiner, Shared, write_member};
use crate::facts::{Facts, Judgement, Row};
use crate::metadata::{session_metadata, side_metadata};
use crate::output::{Block, FileEntry, Longest, PairCounts, SetCounts, write_file};
use crate::plan::Plan;
use crate::spill::{Frames, Spill};
use crate::tokens::TokenCounts;
use crate::tools::Harness;
use crate::{Dialect, Error, ExportedRow, Progress, Result, Set, Split, Step};

/// What rows are written from.
pub(crate) struct Rows<'e> {
    pub(crate) dialect: Dialect,
    pub(crate) catalog: &'e Catalog,
    pub(crate) facts: &'e [Option<Facts>],
    pub(crate) plan: &'e Plan,
    pub(crate) spill: Option<&'e Spill>,
    pub(crate) split: Option<Split>,
    pub(crate) progress: &'e (dyn Fn(Progress) + Sync),
    pub(crate) stop: &'e AtomicBool,
}

/// What was written of a set.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// None without rows, and in a dry run.
    pub(crate) train: Option<FileEntry>,
    /// The same of the rows that are for validation.
    pub(crate) validation: Option<FileEntry>,
    pub(crate) exported: Vec<ExportedRow>,
    pub(crate) counts: SetCounts,
    /// Bytes of the longest row as JSON.
    pub(crate) longest: u64,
    /// Where tokens are counted.
    pub(crate) tokens: TokenCounts,
}

impl Written {
    /// How long its longest row is.
    pub(crate) fn length(&self) -> Longest {
        match self.tokens.longest {
            0 => Longest::Bytes(self.longest),
            tokens => Longest::Tokens(tokens),
        }
    }
}

/// A branch that is in a row.
struct Used<'e> {
    branch: &'e Branch,
    judgement: &'e Judgement,
    row: &'e Row,
}

impl<'e> Rows<'e> {
    fn used(&self, i: usize) -> Result<Used<'e>> {
        match &self.facts[i] {
            Some(Facts::Read(judgement)) => {
                let row = judgement.row.as_ref().ok_or(Error::Thread)?;
                Ok(Used { branch: &self.catalog.branches[i], judgement, row })
            }
            // The plan takes only what was read.
            _ => Err(Error::Thread),
        }
    }

    /// Writes a set into `folder`; None: counts it only.
    pub(crate) fn write(&self, set: Set, folder: Option<&Path>) -> Result<Written> {
        let rows = match set {
            Set::Sft => self.plan.sft.iter().map(|i| Ok(vec![self.used(*i)?])).collect::<Result<Vec<_>>>()?,
            Set::Preference => self.plan.pairs.iter().map(|pair| self.pair(*pair)).collect::<Result<Vec<_>>>()?,
        };
        let (train, validation): (Vec<usize>, Vec<usize>) =
            (0..rows.len()).partition(|row| !self.is_validation(&rows[*row]));
        let (train, validation) = (call_first(&rows, train), call_first(&rows, validation));
        let mut written = Written { counts: self.counts(set, rows.len()), ..Written::default() };
        written.counts.validation_rows = self.split.map(|_| validation.len() as u64);
        for used in rows.iter().flatten() {
            let is_masked = set == Set::Sft;
            let cut = used.row.cut.as_ref().filter(|_| is_masked);
            if let Some(counts) = cut.map(|(_, counts)| counts).or(used.row.tokens.as_ref()) {
                written.tokens.add(counts, is_masked, cut.is_some());
            }
        }
        for (number, row) in (0..).zip(train.iter().chain(&validation)) {
            written.exported.extend(rows[*row].iter().map(|part| part.exported(set, number)));
        }
        let (Some(folder), Some(spill)) = (folder, self.spill) else { return Ok(written) };
        let mut file = |name: &str, order: &[usize]| {
            let name = format!("{}/{name}-00000-of-00001.jsonl", set.as_str());
            (!order.is_empty())
                .then(|| self.file((folder, &name), spill, (&rows, order), &mut written.longest))
                .transpose()
        };
        (written.train, written.validation) = (file("train", &train)?, file("validation", &validation)?);
        Ok(written)
    }

    fn is_validation(&self, parts: &[Used<'_>]) -> bool {
        let Some((split, first)) = self.split.zip(parts.first()) else { return false };
        let origin = &first.judgement.origin;
        split.is_validation(origin.repo.as_deref(), origin.task_id.as_deref())
    }

    /// Writes rows in this order.
    fn file(
        &self,
        (folder, name): (&Path, &str),
        spill: &Spill,
        (rows, order): (&[Vec<Used<'e>>], &[usize]),
        longest: &mut u64,
    ) -> Result<FileEntry> {
        let mut tools = Tools { plan: self.plan, escaped: BTreeMap::new() };
        write_file(folder, name, |block| {
            let mut bytes = 0;
            for (done, row) in (1..).zip(order) {
                if self.stop.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
                }
                let mut writer = Writer { dialect: self.dialect, block, spill, bytes: 0 };
                match rows[*row].as_slice() {
                    [chosen, rejected] => writer.pair(chosen, rejected, &mut tools)?,
                    parts => parts.iter().try_for_each(|used| writer.session(used, &mut tools))?,
                }
                *longest = writer.bytes.max(*longest);
                bytes += writer.bytes;
                (self.progress)(Progress { step: Step::Write, done, total: order.len() as u64, bytes });
            }
            Ok(order.len() as u64)
        })
    }

    fn pair(&self, pair: Pair) -> Result<Vec<Used<'e>>> {
        Ok(vec![self.used(pair.chosen)?, self.used(pair.rejected)?])
    }

    fn counts(&self, set: Set, rows: usize) -> SetCounts {
        let mut excluded = BTreeMap::new();
        for one in self.plan.excluded.get(&set).into_iter().flatten() {
            *excluded.entry(one.reason.as_str()).or_default() += 1;
        }
        let reasons = self.plan.excluded.get(&set).into_iter().flatten().map(|one| one.reason);
        let funnel = funnel(self.plan.selected, reasons);
        let used = self.plan.used(set).len() as u64;
        let pairs = (set == Set::Preference).then(|| self.pair_counts());
        SetCounts {
            selected: self.plan.selected,
            used,
            excluded,
            funnel,
            rows: rows as u64,
            validation_rows: None,
            pairs,
        }
    }

    fn pair_counts(&self) -> PairCounts {
        let mut counts = PairCounts::default();
        for pair in &self.plan.pairs {
            let (Ok(chosen), Ok(rejected)) = (self.used(pair.chosen), self.used(pair.rejected)) else { continue };
            counts.chosen_longer += u64::from(chosen.row.length() > rejected.row.length());
            counts.rejected_longer += u64::from(rejected.row.length() > chosen.row.length());
            counts.other_prompt += u64::from(chosen.row.prompt != rejected.row.prompt);
        }
        counts
    }
}

impl Used<'_> {
    fn shared<'r>(&'r self, tools: (&'r str, &'r str), rejected: Option<&'r str>, metadata: &'r str) -> Shared<'r> {
        let origin = &self.judgement.origin;
        Shared {
            session_id: &self.branch.session_id,
            rejected_session_id: rejected,
            task_id: origin.task_id.as_deref(),
            repo: origin.repo.as_deref(),
            tools,
            metadata,
            harness: &origin.harness,
            model: self.branch.model.as_deref(),
        }
    }

    fn exported(&self, set: Set, row: u64) -> ExportedRow {
        ExportedRow {
            set: set.as_str(),
            row,
            session_id: self.branch.session_id.clone(),
            branch: self.branch.branch,
            end: self.judgement.evidence.as_ref().map_or(0, |evidence| evidence.prefix_end),
            key_ids: self.judgement.key_ids.clone(),
        }
    }
}

/// The rows in order, but first the first one with a call on every side, else on some: loaders infer types from it.
fn call_first(rows: &[Vec<Used<'_>>], mut order: Vec<usize>) -> Vec<usize> {
    let all = order.iter().position(|row| rows[*row].iter().all(|used| used.row.has_call));
    let first = all.or_else(|| order.iter().position(|row| rows[*row].iter().any(|used| used.row.has_call)));
    if let Some(first) = first {
        order[..=first].rotate_right(1);
    }
    order
}

/// The `tools` column, escaped once for each harness.
struct Tools<'e> {
    plan: &'e Plan,
    escaped: BTreeMap<&'e Harness, String>,
}

impl<'e> Tools<'e> {
    /// The JSON array, and that text as a JSON string.
    fn of(&mut self, used: &Used<'e>) -> (&'e str, &str) {
        let harness = &used.judgement.origin.harness;
        let tools = self.plan.tools.of(harness);
        let escaped = self.escaped.entry(harness).or_insert_with(|| {
            let mut out = String::new();
            write_str(&mut out, tools);
            out
        });
        (tools, escaped)
    }
}

struct Writer<'w> {
    dialect: Dialect,
    block: &'w mut Block,
    spill: &'w Spill,
    /// Bytes of the row so far.
    bytes: u64,
}

impl<'w> Writer<'w> {
    fn session<'e>(&mut self, used: &Used<'e>, tools: &mut Tools<'e>) -> Result<()> {
        let metadata = session_metadata(used.row);
        let (open, close) = dialect::session(self.dialect, &used.shared(tools.of(used), None, &metadata));
        self.put(&open);
        let mut joiner = Joiner::new(self.dialect, true);
        let most = used.row.cut.as_ref().map_or(usize::MAX, |(messages, _)| *messages);
        self.turns(&mut self.frames(used), most, &mut joiner)?;
        self.end(&mut joiner, false);
        self.put(&close);
        self.block.pass_on()
    }

    fn pair<'e>(&mut self, chosen: &Used<'e>, rejected: &Used<'e>, tools: &mut Tools<'e>) -> Result<()> {
        let metadata = pair_metadata(chosen, rejected);
        let rejected_id = Some(rejected.branch.session_id.as_str());
        let words = dialect::pair(self.dialect, &chosen.shared(tools.of(chosen), rejected_id, &metadata));
        self.put(words.open);
        let mut frames = self.frames(chosen);
        let mut prompt = Joiner::new(self.dialect, false);
        self.turns(&mut frames, chosen.row.prompt_turns, &mut prompt)?;
        match &words.chosen {
            Some(between) => {
                self.end(&mut prompt, true);
                self.put(between);
                self.side(&mut frames)?;
                self.put(words.rejected);
            }
            None => {
                self.turns(&mut frames, usize::MAX, &mut prompt)?;
                self.end(&mut prompt, false);
                self.put(words.rejected);
            }
        }
        let mut frames = self.frames(rejected);
        self.skip(&mut frames, rejected.row.prompt_turns)?;
        if words.chosen.is_some() {
            self.side(&mut frames)?;
        } else {
            let mut whole = Joiner::new(self.dialect, false);
            self.turns(&mut self.frames(chosen), chosen.row.prompt_turns, &mut whole)?;
            self.turns(&mut frames, usize::MAX, &mut whole)?;
            self.end(&mut whole, false);
        }
        self.put(&words.close);
        self.block.pass_on()
    }

    /// All turns that are left, as one side of a pair.
    fn side(&mut self, frames: &mut Frames<'_>) -> Result<()> {
        let mut joiner = Joiner::side(self.dialect);
        self.turns(frames, usize::MAX, &mut joiner)?;
        self.end(&mut joiner, false);
        Ok(())
    }

    fn frames<'e>(&self, used: &Used<'e>) -> Frames<'e>
    where
        'w: 'e,
    {
        self.spill.frames(&used.row.spans)
    }

    fn put(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.block.bytes().extend_from_slice(text.as_bytes());
    }

    /// At most `most` turns.
    fn turns(&mut self, frames: &mut Frames<'_>, most: usize, joiner: &mut Joiner) -> Result<()> {
        let mut opened = Vec::new();
        for _ in 0..most {
            let out = self.block.bytes();
            let before = out.len();
            if joiner.is_plain() {
                joiner.separate(out);
                let Some(note) = frames.next_into(out).map_err(reading)? else {
                    out.truncate(before);
                    return Ok(());
                };
                joiner.close(note, out);
            } else {
                opened.clear();
                let Some(note) = frames.next_into(&mut opened).map_err(reading)? else { return Ok(()) };
                joiner.turn(&opened, note.kind, out);
            }
            self.bytes += (out.len() - before) as u64;
            self.block.pass_on()?;
        }
        Ok(())
    }

    fn end(&mut self, joiner: &mut Joiner, is_prompt: bool) {
        let out = self.block.bytes();
        let before = out.len();
        joiner.end(is_prompt, out);
        self.bytes += (out.len() - before) as u64;
    }

    fn skip(&self, frames: &mut Frames<'_>, turns: usize) -> Result<()> {
        let mut unused = Vec::new();
        for _ in 0..turns {
            unused.clear();
            frames.next_into(&mut unused).map_err(reading)?;
        }
        Ok(())
    }
}

fn reading(source: std::io::Error) -> Error {
    Error::io("reading back", "a temporary file")(source)
}

fn pair_metadata(chosen: &Used<'_>, rejected: &Used<'_>) -> String {
    let mut out = String::from("{\"chosen\":");
    out.push_str(&side_metadata(chosen.row));
    out.push_str(",\"rejected\":");
    out.push_str(&side_metadata(rejected.row));
    write_member(&mut out, "repo", chosen.judgement.origin.repo.as_deref());
    if chosen.row.prompt != rejected.row.prompt {
        write_member(&mut out, "prompt_of", Some("chosen"));
    }
    out.push('}');
    out
}
