//! What was taken already, by file size and time. It saves reading; without it the log decides all the same.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use lake_store::{Error, Lake, Result, Tip, log};
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
    /// Opens it. One of another lake is empty.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the log has not the last record that it knows: then the log is older than it was, or another
    /// stands in its place. To put a batch on top of that would hide it for good, and a host that may read nothing but the
    /// log has only this to tell it by.
    pub(crate) fn open(folder: Option<&Path>, lake: &Lake, source: &str) -> Result<Cache> {
        let name = hex::encode(&Sha256::digest(format!("{}\0{source}", lake.id()))[..16]);
        let at = folder.map(|f| f.join(format!("files-{name}.json")));
        let read = at.as_ref().and_then(|p| std::fs::read(p).ok());
        let stored: Stored = read.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default();
        let fresh = Stored { lake: lake.id().to_owned(), ..Stored::default() };
        if stored.lake != lake.id() || stored.tip.k == 0 {
            return Ok(Cache { at, stored: fresh });
        }
        let k = stored.tip.k;
        let what = match log::read(lake, k)? {
            Some((_, tip)) if tip.sha256 == stored.tip.sha256 => return Ok(Cache { at, stored }),
            Some(_) => "it is another than the one that this machine saw",
            None => "it is missing, though this machine saw it",
        };
        let remembered = at.map(|at| at.display().to_string()).unwrap_or_default();
        Err(Error::Damaged {
            path: format!("{}/log/{k:020}.json", lake.address().trim_end_matches('/')),
            what: format!(
                "{what}: the log was replaced, by an older backup perhaps, and batches are gone from it; if that is meant \
                 to be so, remove {remembered}, and what is missing is read again"
            ),
        })
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
