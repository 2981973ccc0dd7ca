//! How fast the command is on raw traces, beside two scanners, none of which asks the network about what it found.

use std::cell::Cell;
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;

use lake_testkit::made::{MadeOptions, write};

use crate::arguments::Arguments;
use crate::child::{Taken, run};
use crate::{Bars, mb};

/// 10^6 bytes a second of one processor, times the faster of the others, and 10^6 bytes of memory.
const RATE: f64 = 75.0;
const TIMES: f64 = 3.0;
const PEAK: f64 = 300.0;

pub(crate) fn measure(arguments: &Arguments, out: &mut impl Write, bars: &mut Bars) -> Result<(), Box<dyn Error>> {
    let Some(binary) = arguments.binary.as_ref().filter(|_| arguments.mb > 0) else {
        writeln!(out, "\nno scanner is run: --binary names no trace-lake")?;
        return Ok(());
    };
    let folder = arguments.work.join(format!("bench-secrets-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let measured = compare(arguments, binary, &folder, out, bars);
    fs::remove_dir_all(&folder)?;
    measured
}

/// A name, and what starts it.
type Scanner = (&'static str, Box<dyn Fn() -> Command>);

fn compare(
    arguments: &Arguments,
    binary: &Path,
    folder: &Path,
    out: &mut impl Write,
    bars: &mut Bars,
) -> Result<(), Box<dyn Error>> {
    let options = MadeOptions {
        bytes: arguments.mb * 1_000_000,
        trust: Some(folder.join("trust.toml")),
        ..MadeOptions::default()
    };
    write(&folder.join("data"), &options)?;
    let one = folder.join("traces.jsonl");
    let bytes = together(&folder.join("data"), &one)?;
    fs::remove_dir_all(folder.join("data"))?;
    let mut scanners: Vec<Scanner> = vec![("trace-lake scan", {
        let (binary, one) = (binary.to_owned(), one.clone());
        Box::new(move || command(&binary, &["scan"], &one))
    })];
    if let Some(kingfisher) = arguments.kingfisher.clone() {
        let one = one.clone();
        let words = ["scan", "--no-validate", "--no-update-check", "--no-ignore", "--git-history", "none"];
        let (first, homes) = ((kingfisher.clone(), one.clone()), Cell::new(0));
        // It keeps its compiled rules in the home folder.
        scanners.push((
            "kingfisher, first run",
            Box::new(move || {
                let home = first.1.with_file_name(format!("home-{}", homes.replace(homes.get() + 1)));
                let mut command = command(&first.0, &words, &first.1);
                command.env("HOME", home);
                command
            }),
        ));
        scanners.push(("kingfisher, later", Box::new(move || command(&kingfisher, &words, &one))));
    }
    if let Some(betterleaks) = arguments.betterleaks.clone() {
        let one = one.clone();
        // Validation is off unless it is asked for.
        let words = ["--no-banner", "--exit-code=0"];
        scanners.push(("betterleaks", Box::new(move || command(&betterleaks, &words, &one))));
    }
    writeln!(
        out,
        "\n{:<22}{:>9}{:>9}{:>14}{:>10}   on {:.0} MB of traces",
        "",
        "seconds",
        "CPU s",
        "MB/CPU s",
        "peak MB",
        mb(bytes)
    )?;
    let mut taken: Vec<Vec<Taken>> = scanners.iter().map(|_| Vec::new()).collect();
    for _ in 0..arguments.rounds {
        for (at, (_, command)) in scanners.iter().enumerate() {
            taken[at].push(run(&mut command(), &folder.join("log"))?);
        }
    }
    let medians: Vec<Taken> = taken.iter().map(|taken| Taken::median(taken)).collect();
    let rate = |taken: &Taken| mb(bytes) / taken.cpu.max(1e-9);
    for ((name, _), taken) in scanners.iter().zip(&medians) {
        let (seconds, cpu, peak) = (taken.seconds, taken.cpu, mb(taken.peak));
        writeln!(out, "{name:<22}{seconds:>9.2}{cpu:>9.2}{:>14.1}{peak:>10.0}", rate(taken))?;
    }
    let Some((ours, others)) = medians.split_first() else { return Ok(()) };
    bars.say(out, &format!("at least {RATE} MB a CPU second"), rate(ours) >= RATE)?;
    bars.say(out, &format!("less than {PEAK} MB of memory"), mb(ours.peak) < PEAK)?;
    if let Some(fastest) = others.iter().map(rate).max_by(f64::total_cmp) {
        let times = rate(ours) / fastest;
        bars.say(out, &format!("{times:.1} times the faster one, at least {TIMES}"), times >= TIMES)?;
    }
    Ok(())
}

/// A home of its own: no configuration of whoever runs it, and no proxy to the network.
fn command(program: &Path, words: &[&str], file: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(words).arg(file).env_clear();
    let home = file.parent().unwrap_or(file);
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(home);
    command
}

/// All traces of a data dir as one file; how long it is, bytes.
fn together(data: &Path, into: &Path) -> Result<u64, Box<dyn Error>> {
    let mut out = File::create(into)?;
    let mut bytes = 0;
    let mut open = vec![data.to_owned()];
    while let Some(next) = open.pop() {
        let mut entries: Vec<_> = fs::read_dir(next)?.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "jsonl") {
                bytes += std::io::copy(&mut File::open(path)?, &mut out)?;
            }
        }
    }
    Ok(bytes)
}
