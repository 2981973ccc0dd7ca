//! What the secret scan finds, what it finds wrongly, and how fast it is, beside two other scanners.

mod arguments;
#[path = "../child.rs"]
mod child;
mod linear;
mod recall;
mod speed;
mod texts;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use arguments::Arguments;
use lake_secrets::RuleSet;

/// Kinds, and the seconds in which they are there.
const KINDS: usize = 250;
const START: f64 = 0.5;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(4),
        Err(error) => {
            // Nobody is left to tell where even that cannot be written.
            let _ = writeln!(io::stderr(), "bench-secrets: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all that is asked for is reached, or it was not asked to be told.
fn run() -> Result<bool, Box<dyn Error>> {
    let started = Instant::now();
    let rules = RuleSet::builtin();
    let seconds = started.elapsed().as_secs_f64();
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    let mut out = io::stdout().lock();
    let mut bars = Bars::default();
    let kinds = rules.rules().len();
    bars.say(&mut out, &format!("{kinds} kinds"), kinds >= KINDS)?;
    recall::measure(rules, &arguments, &mut out, &mut bars)?;
    texts::measure(rules, &arguments, &mut out, &mut bars)?;
    if !arguments.untimed {
        bars.say(&mut out, &format!("\nready in {seconds:.3} s"), seconds < START)?;
        linear::measure(rules, &mut out, &mut bars)?;
        speed::measure(&arguments, &mut out, &mut bars)?;
    }
    writeln!(out, "\n{} of {} reached", bars.reached, bars.all)?;
    Ok(!arguments.strict || bars.reached == bars.all)
}

/// What is asked for, and how much of it is reached.
#[derive(Default)]
struct Bars {
    all: usize,
    reached: usize,
}

impl Bars {
    fn say(&mut self, out: &mut impl Write, text: &str, reached: bool) -> io::Result<()> {
        self.all += 1;
        self.reached += usize::from(reached);
        writeln!(out, "{text}: {}", if reached { "reached" } else { "NOT reached" })
    }
}

/// 10^6 bytes.
#[expect(clippy::cast_precision_loss, reason = "a figure for a person")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
