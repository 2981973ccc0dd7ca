//! Throughput and peak memory of the commands, beside their peers on the same files in the same run.
//!
//! The release binary is run as a child, as cron would run it: sync into a new lake, check, then both training sets with
//! signatures required. A command and its peer take turns, so that a busy machine is busy for both.
//!
//! `--verdicts` measures in this process how fast verdicts are verified.

mod arguments;
mod child;
mod job;
mod verdicts;

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Arguments;
use child::Taken;
use job::{Job, Work};

/// What is asked for: how many times as fast as the peer, and how much memory.
const SYNC_TIMES: f64 = 2.5;
const EXPORT_TIMES: f64 = 3.0;
const SYNC_PEAK: f64 = 512.0;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell where even that cannot be written.
            let _ = writeln!(io::stderr(), "lake-benches: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1))?;
    if let Some(count) = arguments.verdicts {
        return verdicts::run(count, arguments.rounds);
    }
    let work = Work::new(&arguments.work)?;
    if arguments.sizes.is_empty() { compare(&arguments, &work) } else { sizes(&arguments, &work) }
}

/// A command, what it took each time, and what its peer took.
struct Row {
    name: &'static str,
    ours: Vec<Taken>,
    peer: Vec<Taken>,
}

impl Row {
    fn new(name: &'static str) -> Row {
        Row { name, ours: Vec::new(), peer: Vec::new() }
    }
}

fn compare(arguments: &Arguments, work: &Work) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let job = Job::new(arguments, work, arguments.mb)?;
    let bytes = job.made.bytes;
    writeln!(out, "{} sessions, {:.1} MB of traces, seed {}", job.made.sessions, mb(bytes), arguments.seed)?;
    if arguments.python.is_none() {
        writeln!(out, "no peers are run: --python names a Python with duckdb")?;
    }
    let [mut sync, mut check, mut export] = ["sync", "check", "export"].map(Row::new);
    head(&mut out)?;
    for round in 1..=arguments.rounds {
        let mut took = |row: &mut Row, ours: Taken, peer: Option<Taken>| -> io::Result<()> {
            line(&mut out, &format!("{} {round}", row.name), bytes, &ours)?;
            row.ours.push(ours);
            if let Some(peer) = peer {
                line(&mut out, &format!("  peer {round}"), bytes, &peer)?;
                row.peer.push(peer);
            }
            Ok(())
        };
        took(&mut sync, job.sync(round)?, job.peer(round, "peer_duckdb.py")?)?;
        took(&mut check, job.check(round)?, None)?;
        took(&mut export, job.export(round)?, job.peer(round, "peer_export.py")?)?;
    }
    writeln!(out, "\nmedian of {}", arguments.rounds)?;
    head(&mut out)?;
    for (row, wanted) in [(&sync, Some(SYNC_TIMES)), (&check, None), (&export, Some(EXPORT_TIMES))] {
        let ours = Taken::median(&row.ours);
        line(&mut out, row.name, bytes, &ours)?;
        if row.peer.is_empty() {
            continue;
        }
        let peer = Taken::median(&row.peer);
        line(&mut out, "  peer", bytes, &peer)?;
        let times = peer.seconds / ours.seconds;
        let wanted = wanted.map(|wanted| format!(", at least {wanted} is asked for: {}", yes(times >= wanted)));
        writeln!(out, "  {times:.2} times as fast{}", wanted.unwrap_or_default())?;
    }
    let peak = sync.ours.iter().map(|taken| taken.peak).max().unwrap_or(0);
    writeln!(out, "peak of sync {:.0} MB, under {SYNC_PEAK:.0} is asked for: {}", mb(peak), yes(mb(peak) < SYNC_PEAK))?;
    Ok(())
}

/// Peak memory must not grow with the lake.
fn sizes(arguments: &Arguments, work: &Work) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    head(&mut out)?;
    for &size in &arguments.sizes {
        let job = Job::new(arguments, work, size)?;
        for (name, taken) in [("sync", job.sync(1)?), ("check", job.check(1)?), ("export", job.export(1)?)] {
            line(&mut out, &format!("{name} {size} MB"), job.made.bytes, &taken)?;
        }
    }
    Ok(())
}

fn head(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{:<16}{:>9}{:>9}{:>9}{:>10}", "", "seconds", "MB/s", "CPU s", "peak MB")
}

fn line(out: &mut impl Write, name: &str, bytes: u64, taken: &Taken) -> io::Result<()> {
    let rate = mb(bytes) / taken.seconds;
    writeln!(out, "{name:<16}{:>9.2}{rate:>9.1}{:>9.2}{:>10.0}", taken.seconds, taken.cpu, mb(taken.peak))?;
    out.flush()
}

fn yes(reached: bool) -> &'static str {
    if reached { "reached" } else { "NOT reached" }
}

/// 10^6 bytes.
#[expect(clippy::cast_precision_loss, reason = "a figure for a person")]
fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
