//! `--ledger FILE|URL`: what the oracles say that they signed.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};

use anyhow::Context as _;
use clap::Args;
use lake_verdict::{Ledger, LedgerReader, Trust};

use crate::context::Context;
use crate::exit::usage;
use crate::out::note;
use crate::store_options::as_options;
use crate::units::count;

/// Longest line that is held, bytes; the reader refuses what is shorter.
const LONGEST: u64 = 1 << 20;

/// The flag, for the commands that have it.
#[derive(Args, Clone, Debug)]
pub(crate) struct LedgerArgs {
    /// An oracle's ledger: a file, or a file://, s3://, gs:// or az:// URL; repeatable; needs --trust
    #[arg(long, value_name = "FILE|URL")]
    ledger: Vec<String>,
}

impl LedgerArgs {
    /// The flags again.
    pub(crate) fn words(&self) -> Vec<OsString> {
        self.ledger.iter().flat_map(|ledger| ["--ledger".into(), ledger.into()]).collect()
    }

    /// Reads all that are named, verified with the keys of `trust`. None where none is named.
    pub(crate) fn read(&self, context: &Context, trust: Option<&Trust>) -> anyhow::Result<Option<Ledger>> {
        if self.ledger.is_empty() {
            return Ok(None);
        }
        let Some(trust) = trust else {
            return Err(usage("--ledger needs a trust file: its verdicts are verified", "name it with --trust"));
        };
        let mut reader = LedgerReader::new(trust);
        for address in &self.ledger {
            reader.next_ledger();
            if address.contains("://") {
                let bytes = lake_store::read_object(address, &as_options(&context.settings.store))
                    .with_context(|| format!("reading the ledger {address}"))?;
                lines(&mut reader, address, bytes.as_ref())?;
            } else {
                let path = context.env.here.join(address);
                let file = std::fs::File::open(&path).map_err(|error| {
                    usage(
                        format!("reading the ledger {}: {error}", path.display()),
                        "check the path and that this user may read it",
                    )
                })?;
                lines(&mut reader, address, BufReader::with_capacity(1 << 16, file))?;
            }
        }
        let ledger = reader.finish();
        if !ledger.unused().is_empty() {
            let n = count(ledger.unused().len() as u64, "verdict");
            let (line, flag) = ledger.unused()[0];
            note(format!("warning: {n} of the ledger count for nothing here, the first in line {line}: {flag}"));
        }
        Ok(Some(ledger))
    }
}

fn lines(reader: &mut LedgerReader<'_>, address: &str, mut from: impl BufRead) -> anyhow::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = from.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        if read.with_context(|| format!("reading the ledger {address}"))? == 0 {
            return Ok(());
        }
        let whole = line.last() == Some(&b'\n');
        // What is no UTF-8 is no JSON either: the reader says which line it is.
        let text = String::from_utf8_lossy(&line);
        match reader.line(text.trim_end_matches(['\n', '\r'])) {
            Ok(()) => {}
            // An oracle is writing it, or a copy broke off.
            Err(lake_verdict::LedgerError::Line { line }) if !whole && (text.len() as u64) < LONGEST => {
                note(format!("warning: the ledger {address} ends in half a line, {line}, which is passed by"));
                return Ok(());
            }
            Err(error) => {
                return Err(usage(
                    format!("the ledger {address} is refused: {error}"),
                    "take the oracle's own ledger.jsonl, whole: one with a gap or a change shows nothing",
                ));
            }
        }
    }
}
