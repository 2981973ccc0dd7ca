//! What the bench is asked to do.

use std::error::Error;
use std::path::PathBuf;

const USAGE: &str =
    "usage: bench-secrets [--probes FILE] [--texts DIR]… [--mb N] [--rounds N] [--binary FILE] [--kingfisher FILE] \
     [--betterleaks FILE] [--work DIR] [--untimed] [--strict]

  --probes       lines of {name, text, secret}
  --texts        folders of real text without secrets, for false findings
  --mb           size of the traces that the scanners are run on, in 10^6 bytes; default 100, 0 runs none
  --rounds       how often each scanner is run, in turn; default 3
  --binary       the trace-lake to run; without it no scanner is run
  --kingfisher, --betterleaks  the scanners beside it
  --work         folder for what is made; default in the system's temporary folder
  --untimed      nothing that a busy machine changes: what is found, and what is found wrongly
  --strict       exit with 4 when something that is asked for is not reached";

/// What the bench is asked to do.
pub(crate) struct Arguments {
    pub(crate) probes: Option<PathBuf>,
    pub(crate) texts: Vec<PathBuf>,
    pub(crate) mb: u64,
    pub(crate) rounds: usize,
    pub(crate) binary: Option<PathBuf>,
    pub(crate) kingfisher: Option<PathBuf>,
    pub(crate) betterleaks: Option<PathBuf>,
    pub(crate) work: PathBuf,
    pub(crate) untimed: bool,
    pub(crate) strict: bool,
}

impl Arguments {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// The usage.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
        let mut arguments = Arguments {
            probes: None,
            texts: Vec::new(),
            mb: 100,
            rounds: 3,
            binary: None,
            kingfisher: None,
            betterleaks: None,
            work: std::env::temp_dir(),
            untimed: false,
            strict: false,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--probes" => arguments.probes = Some(value()?.into()),
                "--texts" => arguments.texts.push(value()?.into()),
                "--mb" => arguments.mb = value()?.parse()?,
                "--rounds" => arguments.rounds = value()?.parse::<usize>()?.max(1),
                "--binary" => arguments.binary = Some(absolute(&value()?)?),
                "--kingfisher" => arguments.kingfisher = Some(absolute(&value()?)?),
                "--betterleaks" => arguments.betterleaks = Some(absolute(&value()?)?),
                "--work" => arguments.work = value()?.into(),
                "--untimed" => arguments.untimed = true,
                "--strict" => arguments.strict = true,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(arguments)
    }
}

/// The scanners are run in a folder of their own.
fn absolute(path: &str) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}
