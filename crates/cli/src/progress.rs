//! How far a run is: a bar at a terminal, now and then a line elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::env::Env;
use crate::out::note;
use crate::units::bytes;

/// Not at a terminal there is at most one line in this time.
const QUIET: Duration = Duration::from_secs(10);

/// One stage of a run.
#[derive(Debug)]
pub(crate) struct Progress {
    what: &'static str,
    bar: Option<ProgressBar>,
    total: AtomicU64,
    done: AtomicU64,
    start: Instant,
    last: Mutex<Instant>,
    counts_bytes: bool,
}

impl Progress {
    /// A stage that goes over bytes.
    pub(crate) fn bytes(env: &Env, what: &'static str) -> Progress {
        Self::new(env, what, true)
    }

    /// A stage that goes over sessions or rows.
    pub(crate) fn items(env: &Env, what: &'static str) -> Progress {
        Self::new(env, what, false)
    }

    fn new(env: &Env, what: &'static str, counts_bytes: bool) -> Progress {
        let bar = env.stderr_terminal.then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(8));
            // Until there is a total there is nothing to draw a bar of.
            bar.set_style(ProgressStyle::with_template("{msg}").unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(what);
            bar
        });
        if bar.is_none() {
            note(format!("trace-lake: {what}"));
        }
        let now = Instant::now();
        Progress {
            what,
            bar,
            total: AtomicU64::new(0),
            done: AtomicU64::new(0),
            start: now,
            last: Mutex::new(now),
            counts_bytes,
        }
    }

    /// This much more is to be done.
    pub(crate) fn add_total(&self, more: u64) {
        let total = self.total.fetch_add(more, Ordering::Relaxed) + more;
        self.show_total(total);
    }

    /// This much was done.
    pub(crate) fn add_done(&self, more: u64) {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        self.show(done);
    }

    /// So far of that much.
    pub(crate) fn set(&self, done: u64, total: u64) {
        if self.total.swap(total, Ordering::Relaxed) != total {
            self.show_total(total);
        }
        let done = self.done.fetch_max(done, Ordering::Relaxed).max(done);
        self.show(done);
    }

    fn show_total(&self, total: u64) {
        if let Some(bar) = &self.bar {
            if bar.length().is_none() {
                bar.set_style(self.style());
            }
            bar.set_length(total);
        }
    }

    fn style(&self) -> ProgressStyle {
        let template = if self.counts_bytes {
            "{msg} {wide_bar} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec} {eta}"
        } else {
            "{msg} {wide_bar} {pos}/{len} {per_sec} {eta}"
        };
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
    }

    fn show(&self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() < QUIET {
            return;
        }
        *last = Instant::now();
        let total = self.total.load(Ordering::Relaxed);
        let rate = done as f64 / self.start.elapsed().as_secs_f64().max(0.001);
        let said = |n: u64| if self.counts_bytes { bytes(n) } else { n.to_string() };
        let of = if total > 0 { format!(" of {}", said(total)) } else { String::new() };
        note(format!("trace-lake: {}: {}{of}, {}/s", self.what, said(done), said(rate as u64)));
    }

    /// Seconds since it began.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        match &self.bar {
            Some(bar) => bar.finish_and_clear(),
            None => note(format!("trace-lake: {}: {:.1} s", self.what, self.seconds())),
        }
    }
}

impl lake_sync::Progress for Progress {
    fn more(&self, bytes: u64) {
        self.add_total(bytes);
    }

    fn done(&self, bytes: u64) {
        self.add_done(bytes);
    }
}

impl lake_check::Progress for Progress {
    fn more(&self, bytes: u64) {
        self.add_total(bytes);
    }

    fn done(&self, bytes: u64) {
        self.add_done(bytes);
    }
}
