//! A table for a terminal, written as rows come.

use std::io::Write;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

use super::cells::escape_into;
use super::write::arrow;
use crate::{Error, Result};

/// Rows that decide how wide the columns are; those after them stay in these widths where they fit.
const LOOKED_AT: usize = 1000;
/// Characters of a value that are shown.
const SHOWN: usize = 80;
/// Bytes of a value that are looked at for them.
const READ: usize = 4 * SHOWN;

pub(super) struct Table<'a> {
    out: &'a mut (dyn Write + Send),
    header: Vec<String>,
    numeric: Vec<bool>,
    /// A plan is text of ours and has lines.
    plan: bool,
    /// None until the header was written.
    widths: Option<Vec<usize>>,
    held: Vec<Vec<String>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(schema: SchemaRef, out: &'a mut (dyn Write + Send)) -> Table<'a> {
        let fields = schema.fields();
        let header = fields.iter().map(|field| escaped(field.name(), SHOWN)).collect();
        let numeric = fields.iter().map(|field| field.data_type().is_numeric()).collect();
        let plan = fields.len() == 2 && fields[0].name() == "plan_type" && fields[1].name() == "plan";
        Table { out, header, numeric, plan, widths: None, held: Vec::new() }
    }

    pub(super) fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        let options = FormatOptions::default().with_null("").with_display_error(true);
        let formatters = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|e| arrow("table", e))?;
        for row in 0..batch.num_rows() {
            let cells: Vec<String> = formatters.iter().map(|f| f.value(row).to_string()).collect();
            if self.plan {
                for (i, line) in cells[1].lines().enumerate() {
                    let kind = if i == 0 { cells[0].as_str() } else { "" };
                    self.row(vec![escaped(kind, SHOWN), escaped(line, usize::MAX)])?;
                }
            } else {
                self.row(cells.iter().map(|cell| escaped(cell, SHOWN)).collect())?;
            }
        }
        Ok(())
    }

    fn row(&mut self, cells: Vec<String>) -> Result<()> {
        if let Some(widths) = &self.widths {
            return line(self.out, &cells, widths, &self.numeric);
        }
        self.held.push(cells);
        if self.held.len() >= LOOKED_AT { self.begin() } else { Ok(()) }
    }

    fn begin(&mut self) -> Result<()> {
        let mut widths: Vec<usize> = self.header.iter().map(|name| name.chars().count()).collect();
        for row in &self.held {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        line(self.out, &self.header, &widths, &self.numeric)?;
        let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
        line(self.out, &rule, &widths, &self.numeric)?;
        for row in std::mem::take(&mut self.held) {
            line(self.out, &row, &widths, &self.numeric)?;
        }
        self.widths = Some(widths);
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<()> {
        if self.widths.is_none() {
            self.begin()?;
        }
        self.out.flush().map_err(Error::Write)
    }
}

fn line(out: &mut (dyn Write + Send), cells: &[String], widths: &[usize], numeric: &[bool]) -> Result<()> {
    let mut text = String::new();
    for (i, cell) in cells.iter().enumerate() {
        if i > 0 {
            text.push_str("  ");
        }
        let pad = " ".repeat(widths[i].saturating_sub(cell.chars().count()));
        if numeric[i] {
            text.push_str(&pad);
            text.push_str(cell);
        } else {
            text.push_str(cell);
            text.push_str(&pad);
        }
    }
    writeln!(out, "{}", text.trim_end_matches(' ')).map_err(Error::Write)
}

/// Escaped, and of what is longer than `shown` the beginning.
fn escaped(text: &str, shown: usize) -> String {
    // Of a value of megabytes only what can be seen is escaped.
    let head = if shown == usize::MAX { text } else { &text[..text.floor_char_boundary(READ)] };
    let mut out = String::new();
    escape_into(&mut out, head);
    if out.chars().count() <= shown && head.len() == text.len() {
        return out;
    }
    let mut cut: String = out.chars().take(shown.saturating_sub(1)).collect();
    cut.push('…');
    cut
}
