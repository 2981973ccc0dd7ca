//! Opens files of a data dir, and none beside it, whatever links somebody puts in the way meanwhile.
//!
//! Whoever may write to a data dir is not whoever may read all that this process may: a link that leads out of it would
//! bring any file into the lake. So the way is walked from the open data dir, step by step, and no step is a link.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open, openat};

/// A data dir that is open. It may itself be reached by links.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    folder: Arc<OwnedFd>,
    given: PathBuf,
    /// Without links.
    real: PathBuf,
}

/// A file of a data dir.
#[derive(Clone, Debug)]
pub(crate) struct Inside {
    folder: Arc<OwnedFd>,
    /// From the data dir, without links.
    path: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A pipe must not keep the run waiting.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

impl Root {
    pub(crate) fn open(data_dir: &Path) -> io::Result<Root> {
        let folder = open(data_dir, FOLDER, Mode::empty())?;
        Ok(Root { folder: Arc::new(folder), given: data_dir.to_owned(), real: std::fs::canonicalize(data_dir)? })
    }

    /// The place of a path below the data dir whose every step was seen to be no link.
    pub(crate) fn plain(&self, path: &Path) -> Option<Inside> {
        self.inside(path.strip_prefix(&self.given).ok()?)
    }

    /// The place that a path below the data dir has once its links are followed; None when it is outside.
    pub(crate) fn resolved(&self, path: &Path) -> io::Result<Option<Inside>> {
        let real = std::fs::canonicalize(path)?;
        Ok(real.strip_prefix(&self.real).ok().and_then(|path| self.inside(path)))
    }

    fn inside(&self, path: &Path) -> Option<Inside> {
        let plain = path.components().all(|step| matches!(step, Component::Normal(_)));
        plain.then(|| Inside { folder: Arc::clone(&self.folder), path: path.to_owned() })
    }
}

impl Inside {
    /// Opens the file for reading.
    ///
    /// # Errors
    /// Those of the system; a step that has become a link, and what is no file.
    pub(crate) fn open(&self) -> io::Result<File> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is the data dir itself"));
        };
        let mut folder: Option<OwnedFd> = None;
        for step in parent.components() {
            let from = folder.as_ref().unwrap_or(&self.folder).as_fd();
            folder = Some(openat(from, step.as_os_str(), FOLDER | OFlags::NOFOLLOW, Mode::empty())?);
        }
        let from = folder.as_ref().unwrap_or(&self.folder).as_fd();
        let file = File::from(openat(from, name, FILE, Mode::empty())?);
        if file.metadata()?.is_file() {
            return Ok(file);
        }
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_that_became_a_link_after_it_was_listed_is_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("data/traces/deep")).expect("folders");
        fs::create_dir_all(at("elsewhere/deep")).expect("folders");
        for name in ["data/traces/a.jsonl", "data/traces/deep/b.jsonl"] {
            fs::write(at(name), "ours").expect("a file");
        }
        for name in ["elsewhere/a.jsonl", "elsewhere/deep/b.jsonl"] {
            fs::write(at(name), "a secret").expect("a file");
        }
        let root = Root::open(&at("data")).expect("the data dir");
        let files = ["a.jsonl", "deep/b.jsonl"].map(|name| root.plain(&at("data/traces").join(name)).expect("inside"));
        let read = |file: &Inside| {
            let mut text = String::new();
            file.open().and_then(|mut file| file.read_to_string(&mut text)).map(|_| text)
        };
        assert!(files.iter().all(|file| read(file).expect("a file") == "ours"));
        fs::remove_file(at("data/traces/a.jsonl")).expect("removed");
        symlink(at("elsewhere/a.jsonl"), at("data/traces/a.jsonl")).expect("a link");
        fs::remove_dir_all(at("data/traces/deep")).expect("removed");
        symlink(at("elsewhere/deep"), at("data/traces/deep")).expect("a link");
        assert!(files.iter().all(|file| read(file).is_err()));
        // And the folder above.
        fs::rename(at("data/traces"), at("data/old")).expect("renamed");
        symlink(at("elsewhere"), at("data/traces")).expect("a link");
        assert!(files.iter().all(|file| read(file).is_err()));
        assert!(root.plain(&at("data/traces/../../elsewhere/a.jsonl")).is_none());
        assert!(root.resolved(&at("data/traces/a.jsonl")).expect("there").is_none());
        assert!(root.resolved(&at("data/old")).expect("there").is_some());
    }
}
