//! The output folder: whole or not there.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, Result};

/// A folder beside the output's place. Dropped before it is put there, it is removed.
#[derive(Debug)]
pub(crate) struct Folder {
    temporary: TempDir,
    out: PathBuf,
    force: bool,
}

impl Folder {
    /// Makes the temporary folder, and the parent where it is missing.
    pub(crate) fn create(out: &Path, force: bool) -> Result<Folder> {
        refuse_existing(out, force)?;
        let parent = parent_of(out);
        fs::create_dir_all(&parent).map_err(Error::io("creating", &parent))?;
        let temporary = beside(&parent, out)?;
        Ok(Folder { temporary, out: out.to_owned(), force })
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

fn beside(parent: &Path, out: &Path) -> Result<TempDir> {
    let name = out.file_name().map_or_else(|| "out".into(), |name| name.to_string_lossy());
    tempfile::Builder::new()
        .prefix(&format!(".{name}.part-"))
        // What the user's mask takes away is taken away.
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parent)
        .map_err(Error::io("creating a temporary folder in", parent))
}
