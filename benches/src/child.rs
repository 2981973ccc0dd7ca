//! Runs a command and measures it.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// How often the child's memory is read. Linux keeps the peak, so only what comes after the last look is missed.
const LOOK: Duration = Duration::from_millis(2);
/// Clock ticks a second in `/proc`: 100 for programs on every Linux (proc(5)).
const TICKS: f64 = 100.0;

/// What a command took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) seconds: f64,
    /// Seconds of all processors together, user and system.
    pub(crate) cpu: f64,
    /// Peak of the resident set, bytes.
    pub(crate) peak: u64,
}

impl Taken {
    /// The middle of each figure by itself.
    pub(crate) fn median(all: &[Taken]) -> Taken {
        let middle = |get: fn(&Taken) -> f64| {
            let mut values: Vec<f64> = all.iter().map(get).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a size"
        )]
        let peak = middle(|taken| taken.peak as f64) as u64;
        Taken { seconds: middle(|taken| taken.seconds), cpu: middle(|taken| taken.cpu), peak }
    }
}

/// Runs a command to its end; what it prints goes to `log`. One at a time: the CPU time is that of all children.
///
/// # Errors
/// When it cannot be started, or does not end well: then what it printed is in the error.
pub(crate) fn run(command: &mut Command, log: &Path) -> Result<Taken, Box<dyn Error>> {
    let out = File::create(log)?;
    command.stdin(std::process::Stdio::null()).stdout(out.try_clone()?).stderr(out);
    let before = children_cpu()?;
    let started = Instant::now();
    let mut child = command.spawn().map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    let status = Path::new("/proc").join(child.id().to_string()).join("status");
    let mut peak = 0;
    let exit = loop {
        // Of one that is ending there is no peak any more.
        peak = peak.max(fs::read_to_string(&status).ok().and_then(|text| high_water(&text)).unwrap_or(0));
        if let Some(exit) = child.try_wait()? {
            break exit;
        }
        thread::sleep(LOOK);
    };
    let seconds = started.elapsed().as_secs_f64();
    if !exit.success() {
        return Err(format!("{command:?}: {exit}\n{}", fs::read_to_string(log).unwrap_or_default()).into());
    }
    Ok(Taken { seconds, cpu: children_cpu()? - before, peak })
}

/// `VmHWM` in bytes.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// CPU seconds of all children that have ended.
fn children_cpu() -> Result<f64, Box<dyn Error>> {
    cpu(16)
}

/// CPU seconds of all threads: two fields of `/proc/self/stat`, the first from 1. Its own are 14 and 15, those of its
/// children that have ended 16 and 17.
pub(crate) fn cpu(field: usize) -> Result<f64, Box<dyn Error>> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in brackets and may hold anything.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks = after.split_whitespace().skip(field - 3).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS)
}
