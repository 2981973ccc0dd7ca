//! Bytes whose SHA-256 is known up to any place.

use std::ops::Deref;

use sha2::{Digest, Sha256};

/// Bytes between two states that are kept: what at most is hashed again for a prefix.
const STEP: usize = 16 << 10;

/// Bytes, hashed once; the hash of any prefix costs 16 KiB at most, however long it is.
///
/// Takes 7 bytes more for each KiB.
#[derive(Clone, Debug, Default)]
pub struct Hashed {
    bytes: Vec<u8>,
    /// After each whole step.
    states: Vec<Sha256>,
    sha256: [u8; 32],
}

impl Hashed {
    /// Hashes the bytes.
    pub fn new(bytes: Vec<u8>) -> Hashed {
        let mut state = Sha256::new();
        let mut states = Vec::with_capacity(bytes.len() / STEP);
        let mut steps = bytes.chunks_exact(STEP);
        for step in &mut steps {
            state.update(step);
            states.push(state.clone());
        }
        state.update(steps.remainder());
        Hashed { sha256: state.finalize().into(), bytes, states }
    }

    /// SHA-256 of all of them.
    pub fn sha256(&self) -> &[u8; 32] {
        &self.sha256
    }

    /// SHA-256 of the first `n` of them; None where there are fewer.
    pub fn prefix_sha256(&self, n: usize) -> Option<[u8; 32]> {
        let prefix = self.bytes.get(..n)?;
        let steps = n / STEP;
        let mut state = match steps.checked_sub(1) {
            None => Sha256::new(),
            Some(last) => self.states.get(last)?.clone(),
        };
        state.update(&prefix[steps * STEP..]);
        Some(state.finalize().into())
    }
}

impl Deref for Hashed {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_hashes_as_if_it_stood_alone() {
        let bytes: Vec<u8> = (0..3 * STEP + 77).map(|i| (i * i / 7) as u8).collect();
        let hashed = Hashed::new(bytes.clone());
        assert_eq!(hashed.sha256()[..], Sha256::digest(&bytes)[..]);
        for n in [0, 1, 63, 64, STEP - 1, STEP, STEP + 1, 2 * STEP, 3 * STEP, 3 * STEP + 76, bytes.len()] {
            assert_eq!(hashed.prefix_sha256(n), Some(Sha256::digest(&bytes[..n]).into()), "{n}");
        }
        assert_eq!(hashed.prefix_sha256(bytes.len() + 1), None);
        assert_eq!(Hashed::new(Vec::new()).prefix_sha256(0), Some(Sha256::digest(b"").into()));
    }
}
