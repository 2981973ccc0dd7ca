//! What the bench is asked to do.

use std::error::Error;
use std::path::{PathBuf, absolute};

pub(crate) const USAGE: &str = "usage: lake-benches [--binary FILE] [--mb N] [--seed N] [--rounds N] [--sizes N,N,…] \
     [--python FILE] [--peers DIR] [--work DIR]
       lake-benches --verdicts N [--rounds N]

  --binary  the trace-lake to run; default target/release/trace-lake
  --mb      how much is made, in 10^6 bytes; default 500
  --rounds  how often each command and its peer are run, in turn; default 3
  --sizes   instead: peak memory at each of these sizes, in 10^6 bytes
  --python  a Python with duckdb; without it no peer is run
  --peers   folder with peer_duckdb.py and peer_export.py; default benches/peers
  --verdicts  instead: how fast that many verdicts are verified, beside bare ed25519-dalek
  --work    folder for what is made; default in the system's temporary folder";

/// What the bench is asked to do.
pub(crate) struct Arguments {
    pub(crate) binary: PathBuf,
    pub(crate) mb: u64,
    pub(crate) seed: u64,
    pub(crate) rounds: usize,
    pub(crate) sizes: Vec<u64>,
    pub(crate) python: Option<PathBuf>,
    pub(crate) peers: PathBuf,
    pub(crate) work: PathBuf,
    /// How many verdicts to verify, in place of all else.
    pub(crate) verdicts: Option<usize>,
}

impl Arguments {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// The usage.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut arguments = Arguments {
            binary: here.join("../target/release/trace-lake"),
            mb: 500,
            seed: 1,
            rounds: 3,
            sizes: Vec::new(),
            python: None,
            peers: here.join("peers"),
            work: std::env::temp_dir(),
            verdicts: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n{USAGE}"));
            match word.as_str() {
                "--binary" => arguments.binary = value()?.into(),
                "--mb" => arguments.mb = value()?.parse()?,
                "--seed" => arguments.seed = value()?.parse()?,
                "--rounds" => arguments.rounds = value()?.parse::<usize>()?.max(1),
                "--sizes" => arguments.sizes = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
                "--python" => arguments.python = Some(value()?.into()),
                "--peers" => arguments.peers = value()?.into(),
                "--verdicts" => arguments.verdicts = Some(value()?.parse::<usize>()?.max(1)),
                "--work" => arguments.work = value()?.into(),
                _ => return Err(USAGE.into()),
            }
        }
        if arguments.verdicts.is_some() {
            return Ok(arguments);
        }
        if !arguments.binary.is_file() {
            return Err(format!("no binary at {}: build it with --release first", arguments.binary.display()).into());
        }
        // The binary is run in another folder. A Python's path is left as it is: a link into a venv means the venv.
        arguments.binary = absolute(&arguments.binary)?;
        arguments.work = absolute(&arguments.work)?;
        Ok(arguments)
    }
}
