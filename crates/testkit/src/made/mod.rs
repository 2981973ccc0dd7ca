//! Made traces in any amount, for benches: sessions as agents leave them, with tool outputs cut from real source text.

mod corpus;
mod plan;
mod session;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use crate::{OracleKey, trust_toml};

pub use corpus::Corpus;
use plan::Plan;

/// What to make.
#[derive(Clone, Debug)]
pub struct MadeOptions {
    /// How much, bytes of JSON lines; met to within a few in a hundred, and at least two sessions.
    pub bytes: u64,
    /// Another seed makes other sessions of the same tasks.
    pub seed: u64,
    /// Keys of the oracles, one an organisation in turn; at least one.
    pub keys: Vec<OracleKey>,
    /// Where the trust file goes; None: beside the data dir.
    pub trust: Option<PathBuf>,
}

impl Default for MadeOptions {
    fn default() -> MadeOptions {
        MadeOptions { bytes: 500_000_000, seed: 1, keys: vec![OracleKey::from_seed(1)], trust: None }
    }
}

/// What was made.
#[derive(Clone, Debug)]
pub struct Made {
    /// Sessions, each a file.
    pub sessions: usize,
    /// Bytes of all files.
    pub bytes: u64,
    /// The trust file.
    pub trust: PathBuf,
}

/// Writes `dir/traces/*.jsonl` and the trust file, in 36 repositories of 6 organisations with 40 tasks each, over ten
/// days. Two sessions that follow each other share a task: one flips it and one does not.
///
/// Text comes from the sources in cargo's registry, so the same options make the same bytes on one machine only.
///
/// # Errors
/// Whatever the file system says.
pub fn write(dir: &Path, options: &MadeOptions) -> io::Result<Made> {
    write_with(dir, options, &Corpus::of_registry())
}

/// As [`write()`], with other text.
///
/// # Errors
/// Whatever the file system says.
pub fn write_with(dir: &Path, options: &MadeOptions, corpus: &Corpus) -> io::Result<Made> {
    let traces = dir.join("traces");
    fs::create_dir_all(&traces)?;
    let trust = options.trust.clone().unwrap_or_else(|| dir.join("../trust.toml"));
    let entries: Vec<_> = options.keys.iter().map(OracleKey::trust_entry).collect();
    fs::write(&trust, trust_toml(&entries))?;

    let plans = Plan::all(options.seed, options.bytes);
    let (next, written) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || -> io::Result<()> {
        while let Some(plan) = plans.get(next.fetch_add(1, Ordering::Relaxed)) {
            let key = &options.keys[plan.organisation() % options.keys.len()];
            let bytes = session::make(plan, key, corpus);
            fs::write(traces.join(format!("{}.jsonl", plan.id)), &bytes)?;
            written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("a writer does not panic"))
    })?;
    Ok(Made { sessions: plans.len(), bytes: written.into_inner(), trust })
}

/// A small generator of numbers (SplitMix64, <https://prng.di.unimi.it/splitmix64.c>): the same everywhere, for ever.
#[derive(Clone, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is not 0.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// From 0 up to 1, leaning to 0 the more the larger `lean` is: the mean is 1 / (lean + 1).
    fn leaning(&mut self, lean: i32) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits of chance are enough")]
        let even = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        even.powi(lean)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lake_trace::{Outcome, lines, parse_line};
    use lake_verdict::Trust;

    use super::*;
    use crate::judge_file;

    fn made(bytes: u64) -> (tempfile::TempDir, Made) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let options = MadeOptions { bytes, ..MadeOptions::default() };
        let made = write_with(&temp.path().join("data"), &options, &Corpus::embedded()).expect("traces are written");
        (temp, made)
    }

    fn files(temp: &tempfile::TempDir) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(temp.path().join("data/traces")).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.map(|path| (path.display().to_string(), fs::read(&path).expect("a trace"))).collect()
    }

    #[test]
    fn made_sessions_are_bound_ended_and_half_of_them_flip() {
        let (temp, made) = made(3_000_000);
        let trust = fs::read_to_string(&made.trust).expect("a trust file");
        let trust = Trust::parse(&trust).expect("it is one");
        let mut outcomes = BTreeMap::new();
        let all = files(&temp);
        for (path, bytes) in &all {
            let judged = judge_file(bytes, Some(&trust), true);
            assert!(judged.flags.is_empty(), "{path}: {:?}", judged.flags);
            assert!(judged.outcome == Outcome::Flipped || judged.negative.is_some(), "{path}");
            *outcomes.entry(judged.outcome).or_insert(0) += 1;
            let count = lines(bytes).count();
            assert!((20..=200).contains(&count), "{path}: {count} lines");
            assert!((10_000..=330_000).contains(&bytes.len()), "{path}: {} bytes", bytes.len());
            let last = lines(bytes).last().expect("a last line");
            let mut scratch = String::new();
            let event = parse_line(last.bytes, 1, &mut scratch).expect("an event").expect("not blank");
            assert_eq!(event.kind, "session_end", "{path}");
        }
        assert_eq!(all.len(), made.sessions);
        let [flipped, not] = [Outcome::Flipped, Outcome::NoFlip].map(|o| outcomes.get(&o).copied().unwrap_or(0));
        assert!(flipped >= made.sessions / 2 - 1 && not >= made.sessions / 2 - 1, "{outcomes:?}");
        assert!((2_700_000..=3_400_000).contains(&made.bytes), "{}", made.bytes);
    }

    #[test]
    fn the_same_seed_makes_the_same_bytes() {
        let ((one, _), (two, _)) = (made(600_000), made(600_000));
        let bytes = |temp| files(temp).into_values().collect::<Vec<_>>();
        assert!(bytes(&one) == bytes(&two));
    }
}
