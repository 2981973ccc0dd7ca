//! Chance that is the same each time.

use std::time::Duration;

/// SplitMix64, <https://prng.di.unimi.it/splitmix64.c>.
pub(crate) struct Chance(pub(crate) u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A moment up to this one.
    pub(crate) fn before(&mut self, end: Duration) -> Duration {
        let most = u64::try_from(end.as_micros()).unwrap_or(u64::MAX).max(1);
        Duration::from_micros(self.next() % most)
    }
}
