//! Writes made traces: `cargo run --release --bin made -- DIR --mb 500 [--seed N] [--keys N] [--trust FILE]`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::{env, io};

use lake_testkit::OracleKey;
use lake_testkit::made::{MadeOptions, write};

const USAGE: &str = "usage: made DIR [--mb N] [--seed N] [--keys N] [--trust FILE]";

fn main() -> Result<(), Box<dyn Error>> {
    let mut dir = None;
    let mut options = MadeOptions::default();
    let mut words = env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value; {USAGE}"));
        match word.as_str() {
            "--mb" => options.bytes = value()?.parse::<u64>()? * 1_000_000,
            "--seed" => options.seed = value()?.parse()?,
            "--keys" => options.keys = (1..=value()?.parse::<u64>()?.max(1)).map(OracleKey::from_seed).collect(),
            "--trust" => options.trust = Some(PathBuf::from(value()?)),
            _ if word.starts_with('-') || dir.is_some() => return Err(USAGE.into()),
            _ => dir = Some(PathBuf::from(word)),
        }
    }
    let dir = dir.ok_or(USAGE)?;
    let made = write(&dir, &options)?;
    let (sessions, bytes) = (made.sessions, made.bytes);
    writeln!(io::stdout(), "{sessions} sessions, {bytes} bytes, trust file {}", made.trust.display())?;
    Ok(())
}
