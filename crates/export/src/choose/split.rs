//! Which tasks are for validation.

use sha2::{Digest, Sha256};

/// Shares of the tasks that go into training and into validation.
///
/// A task goes by a hash of its repository and its name: it is on one side only, and stays there as the lake grows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    train: f64,
    validation: f64,
}

impl Split {
    /// Reads `0.95/0.05`: the shares of training and validation, each more than 0 and together 1.
    pub fn parse(text: &str) -> Option<Split> {
        let (train, validation) = text.split_once('/')?;
        let (train, validation): (f64, f64) = (train.trim().parse().ok()?, validation.trim().parse().ok()?);
        let is_share = |share: f64| share > 0.0 && share < 1.0;
        let fits = is_share(train) && is_share(validation) && (train + validation - 1.0).abs() < 1e-9;
        fits.then_some(Split { train, validation })
    }

    /// The shares of training and validation.
    pub fn shares(self) -> (f64, f64) {
        (self.train, self.validation)
    }

    /// Whether a task is for validation.
    pub(crate) fn is_validation(self, repo: Option<&str>, task: Option<&str>) -> bool {
        let hash = Sha256::new()
            .chain_update("split")
            .chain_update([0])
            .chain_update(repo.unwrap_or_default())
            .chain_update([0])
            .chain_update(task.unwrap_or_default())
            .finalize();
        // As many bits as a double holds.
        let place = hash.iter().take(6).fold(0.0, |place, byte| place * 256.0 + f64::from(*byte)) / 256f64.powi(6);
        place < self.validation
    }
}
