//! What was taken already, by file size and time. It saves reading; without it the log decides all the same.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lake_store::{Lake, Tip, log};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::find::Stamp;

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    lake: String,
    tip: Tip,
    files: HashMap<PathBuf, Stamp>,
}

/// The cache of one lake and one source.
pub(crate) struct Cache {
    at: Option<PathBuf>,
    stored: Stored,
}

impl Cache {
    /// Opens it. One of another lake, or of a log that does not hold its last record, is empty.
    pub(crate) fn open(folder: Option<&Path>, lake: &Lake, source: &str) -> Cache {
        let name = hex::encode(&Sha256::digest(format!("{}\0{source}", lake.id()))[..16]);
        let at = folder.map(|f| f.join(format!("files-{name}.json")));
        let read = at.as_ref().and_then(|p| std::fs::read(p).ok());
        let stored: Stored = read.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        let holds = stored.lake == lake.id()
            && stored.tip.k > 0
            && matches!(log::read(lake, stored.tip.k), Ok(Some((_, tip))) if tip.sha256 == stored.tip.sha256);
        let fresh = Stored { lake: lake.id().to_owned(), ..Stored::default() };
        Cache { at, stored: if holds { stored } else { fresh } }
    }

    pub(crate) fn has(&self, path: &Path, stamp: &Stamp) -> bool {
        self.stored.files.get(path) == Some(stamp)
    }

    /// Remembers a file. One whose name is no UTF-8 has no place in JSON: it is read anew each time.
    pub(crate) fn add(&mut self, path: PathBuf, stamp: Stamp) {
        if path.to_str().is_some() {
            self.stored.files.insert(path, stamp);
        }
    }

    /// Forgets files that are gone.
    pub(crate) fn keep(&mut self, there: impl Fn(&Path) -> bool) {
        self.stored.files.retain(|path, _| there(path));
    }

    /// Writes it, whole or not at all. Without a folder that can be written to, the next run reads more.
    pub(crate) fn save(&mut self, tip: &Tip) {
        let Some(at) = &self.at else { return };
        self.stored.tip = tip.clone();
        let written = || -> std::io::Result<()> {
            let folder = at.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(folder)?;
            let temporary = at.with_extension(format!("{}.tmp", std::process::id()));
            std::fs::write(&temporary, serde_json::to_vec(&self.stored)?)?;
            std::fs::rename(&temporary, at)
        };
        if let Err(error) = written() {
            tracing::debug!(%error, path = %at.display(), "the cache was not written");
        }
    }
}
