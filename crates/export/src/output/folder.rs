//! The output folder: whole or not there.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::{Error, Result};

/// A temporary folder that nothing was put into for this long has its lock, if its run lives.
const SETTLED: Duration = Duration::from_secs(60);

/// A folder beside the output's place. Dropped before it is put there, it is removed.
#[derive(Debug)]
pub(crate) struct Folder {
    temporary: TempDir,
    /// Locked while it is written: what is not is left over from a run that was killed.
    _lock: Option<File>,
    out: PathBuf,
    force: bool,
}

impl Folder {
    /// Makes the temporary folder, and the parent where it is missing.
    pub(crate) fn create(out: &Path, force: bool) -> Result<Folder> {
        refuse_existing(out, force)?;
        let parent = parent_of(out);
        fs::create_dir_all(&parent).map_err(Error::io("creating", &parent))?;
        sweep(&parent, out);
        let temporary = beside(&parent, out)?;
        // A file system without locks keeps what is left over for longer, and nothing else.
        let lock = File::open(temporary.path()).ok().filter(|folder| folder.try_lock().is_ok());
        Ok(Folder { temporary, _lock: lock, out: out.to_owned(), force })
    }

    pub(crate) fn path(&self) -> &Path {
        self.temporary.path()
    }

    /// Puts the folder in its place.
    pub(crate) fn finish(self) -> Result<()> {
        refuse_existing(&self.out, self.force)?;
        let put =
            |from: &Path| fs::rename(from, &self.out).map_err(Error::io("renaming the finished folder to", &self.out));
        if self.out.symlink_metadata().is_err() {
            put(self.temporary.path())?;
        } else {
            // The old one steps aside, and is back if the new one cannot be put.
            let aside = beside(&parent_of(&self.out), &self.out)?;
            let old = aside.path().join("old");
            fs::rename(&self.out, &old).map_err(Error::io("moving the old folder aside from", &self.out))?;
            if let Err(error) = put(self.temporary.path()) {
                // The first failure is what is reported.
                let _ = fs::rename(&old, &self.out);
                return Err(error);
            }
        }
        // It is the output now: there is nothing left to remove.
        let _ = self.temporary.keep();
        Ok(())
    }
}

/// An existing output is refused unless it may be replaced; what is no export, and not an empty folder, always is.
pub(crate) fn refuse_existing(out: &Path, force: bool) -> Result<()> {
    let Ok(there) = out.symlink_metadata() else { return Ok(()) };
    if !force {
        return Err(Error::Exists(out.to_owned()));
    }
    let export = ["manifest.json", "exclusions.jsonl"].iter().all(|name| out.join(name).is_file());
    let empty = || fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_none());
    if there.is_dir() && (export || empty()) {
        return Ok(());
    }
    Err(Error::NoExport(out.to_owned()))
}

fn parent_of(out: &Path) -> PathBuf {
    match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

fn prefix(out: &Path) -> String {
    let name = out.file_name().map_or_else(|| "out".into(), |name| name.to_string_lossy());
    format!(".{name}.part-")
}

/// Removes what earlier runs to the same place left when they were killed. One that is written now is locked, or so new
/// that it may not be yet; one that holds what stood in the place before, put aside, is nobody's to remove.
fn sweep(parent: &Path, out: &Path) {
    let prefix = prefix(out);
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(&prefix) && !path.join("old").exists();
        let age =
            entry.metadata().ok().filter(fs::Metadata::is_dir).and_then(|meta| meta.modified().ok()?.elapsed().ok());
        if ours
            && age.is_some_and(|age| age > SETTLED)
            && let Ok(folder) = File::open(&path)
            && folder.try_lock().is_ok()
        {
            // What cannot be removed stays, as it did before.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn beside(parent: &Path, out: &Path) -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&prefix(out))
        // What the user's mask takes away is taken away.
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .map_err(Error::io("creating a temporary folder in", parent))
}
