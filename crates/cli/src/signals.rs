//! SIGINT and SIGTERM: the first asks for a stop at a safe point, the second ends the run at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// What came so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signals {
    stop: Arc<AtomicBool>,
    which: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> std::io::Result<Signals> {
        let signals = Signals::default();
        for (signal, exit) in [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated)] {
            // In this order: at the first signal the condition is not true yet, at the second it is.
            flag::register_conditional_shutdown(signal, i32::from(exit.code()), Arc::clone(&signals.stop))?;
            flag::register_usize(signal, Arc::clone(&signals.which), signal.unsigned_abs() as usize)?;
            flag::register(signal, Arc::clone(&signals.stop))?;
        }
        Ok(signals)
    }

    /// What the libraries look at.
    pub(crate) fn stop(&self) -> &AtomicBool {
        &self.stop
    }

    /// The exit code of a run that was stopped; None when none was asked for.
    pub(crate) fn exit(&self) -> Option<Exit> {
        if !self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let terminated = self.which.load(Ordering::Relaxed) == SIGTERM.unsigned_abs() as usize;
        Some(if terminated { Exit::Terminated } else { Exit::Interrupted })
    }

    /// Waits until a stop is asked for.
    pub(crate) async fn stopped(&self) {
        while self.exit().is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
