//! How fast verdicts are verified: from an envelope's text to what it proves, beside `verify_strict` alone on the same
//! signatures, in turns in one run and on the same threads.

use std::error::Error;
use std::io::{self, Write};
use std::time::Instant;

use ed25519_dalek::Signature;
use lake_testkit::{OracleKey, Task, sha256_hex, trust_toml};
use lake_trace::{Mode, Verdict};
use lake_verdict::{Envelope, Statement, Trust, examine, pae, payload_digest, sign};
use rayon::prelude::*;

use crate::child::cpu as cpu_of;
use crate::yes;

/// What is asked for on two cores: so many a second, and at most so many times the peer's time.
const A_SECOND: f64 = 20_000.0;
const TIMES: f64 = 1.5;
/// Cores that are used.
const CORES: u32 = 2;
/// Field of the process's own CPU time.
const OWN: usize = 14;

/// Verifies `count` verdicts, and says how long that took.
pub(crate) fn run(count: usize, rounds: usize) -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(CORES as usize).build()?;
    let key = OracleKey::from_seed(1);
    let trust = Trust::parse(&trust_toml(&[key.trust_entry().repos(&["github.com/acme/*"])]))?;
    let public = key.signing.verifying_key();
    let envelopes: Vec<String> = pool
        .install(|| (0..count).into_par_iter().map(|n| sign(&key.signing, &statement(&key, n).to_payload())).collect());
    let bare: Vec<(Vec<u8>, Signature)> = envelopes
        .iter()
        .map(|text| {
            let envelope = Envelope::parse(text)?;
            Ok((pae(&envelope.payload_type, &envelope.payload), Signature::from_bytes(&envelope.signature)))
        })
        .collect::<Result<_, lake_verdict::EnvelopeError>>()?;
    let bytes: usize = envelopes.iter().map(String::len).sum();
    writeln!(out, "{count} verdicts, {} bytes each, {CORES} threads", bytes / count)?;
    writeln!(out, "{:<16}{:>9}{:>9}{:>14}", "", "seconds", "CPU s", "a second")?;
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let (stand, took) = timed(|| {
            pool.install(|| envelopes.par_iter().filter(|text| examine(text, &trust, Some(0)).stands()).count())
        })?;
        line(&mut out, &format!("verdicts {round}"), count, took)?;
        ours.push(took);
        let (valid, took) = timed(|| {
            pool.install(|| bare.par_iter().filter(|(text, sig)| public.verify_strict(text, sig).is_ok()).count())
        })?;
        line(&mut out, &format!("  peer {round}"), count, took)?;
        peer.push(took);
        if stand != count || valid != count {
            return Err(format!("{stand} and {valid} of {count} verify").into());
        }
    }
    let (ours, peer) = (median(&ours), median(&peer));
    writeln!(out, "\nmedian of {rounds}")?;
    line(&mut out, "verdicts", count, ours)?;
    line(&mut out, "  peer", count, peer)?;
    let (rate, times) = (rate(count, ours.0), ours.1 / peer.1);
    writeln!(out, "  {rate:.0} a second, at least {A_SECOND:.0} is asked for: {}", yes(rate >= A_SECOND))?;
    writeln!(out, "  {times:.2} times the peer's CPU time, at most {TIMES} is asked for: {}", yes(times <= TIMES))?;
    // Where others have the cores too, this is what would be left alone with them.
    let alone = self::rate(count, ours.1 / f64::from(CORES));
    writeln!(out, "  {alone:.0} a second by CPU time, had it had its {CORES} cores to itself")?;
    Ok(())
}

/// What a run gave, and the seconds and CPU seconds that it took.
fn timed<T>(run: impl FnOnce() -> T) -> Result<(T, (f64, f64)), Box<dyn Error>> {
    let (from, cpu) = (Instant::now(), cpu_of(OWN)?);
    let out = run();
    Ok((out, (from.elapsed().as_secs_f64(), cpu_of(OWN)? - cpu)))
}

/// What an oracle says of the n-th session.
fn statement(key: &OracleKey, n: usize) -> Statement {
    let task = Task::new("github.com/acme/billing", "billing-7");
    let hash = sha256_hex(n.to_string());
    Statement {
        mode: Mode::Grade,
        verdict: Verdict::Fail,
        session_id: Some(format!("session-{n}")),
        attempt: 1,
        task_id: "billing-7".to_owned(),
        repo: task.repo,
        base_commit: task.base_commit,
        tests_hash: task.tests_hash,
        trace_sha256: Some(hash.clone()),
        trace_bytes: Some(n as u64),
        prev: Some(payload_digest(hash.as_bytes())),
        run_id: hash.clone(),
        finished_at: Default::default(),
        oracle: key.oracle.clone(),
        diff_sha256: hash,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a figure for a person")]
fn rate(count: usize, seconds: f64) -> f64 {
    count as f64 / seconds
}

fn line(out: &mut impl Write, name: &str, count: usize, (seconds, cpu): (f64, f64)) -> io::Result<()> {
    writeln!(out, "{name:<16}{seconds:>9.2}{cpu:>9.2}{:>14.0}", rate(count, seconds))
}

/// Of the seconds and of the CPU seconds, each by itself.
fn median(all: &[(f64, f64)]) -> (f64, f64) {
    let middle = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = all.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (middle(|one| one.0), middle(|one| one.1))
}
