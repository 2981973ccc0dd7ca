//! A data dir on disk, as a collector leaves it.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

/// A folder with `traces/` in it. A test cannot go on without its files, so every fault is a panic with the path.
#[derive(Debug)]
pub struct DataDir {
    root: PathBuf,
    /// Removes the folder once the test is over.
    _temp: Option<TempDir>,
}

impl DataDir {
    /// A new one that goes away with the value.
    pub fn temp() -> DataDir {
        let temp = TempDir::new().expect("a test needs a temporary folder");
        let root = temp.path().to_owned();
        fs::create_dir_all(root.join("traces")).expect("a new folder takes a sub-folder");
        DataDir { root, _temp: Some(temp) }
    }

    /// One at a place of one's own choice, which stays.
    pub fn at(root: impl Into<PathBuf>) -> DataDir {
        let root = root.into();
        fs::create_dir_all(root.join("traces"))
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", root.display()));
        DataDir { root, _temp: None }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Writes `traces/<session_id>.jsonl`.
    pub fn session(&self, session_id: &str, bytes: &[u8]) -> PathBuf {
        self.write(&format!("traces/{session_id}.jsonl"), bytes)
    }

    /// Writes a file, whole; `path` is relative to the data dir.
    pub fn write(&self, path: &str, bytes: &[u8]) -> PathBuf {
        let path = self.root.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).unwrap_or_else(|error| panic!("cannot make {}: {error}", parent.display()));
        }
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }

    /// Writes several files; paths are relative to the data dir.
    pub fn write_all(&self, files: &[(String, Vec<u8>)]) {
        for (path, bytes) in files {
            self.write(path, bytes);
        }
    }

    /// Appends to a file that is there.
    pub fn append(&self, path: &str, bytes: &[u8]) {
        let path = self.root.join(path);
        let written = OpenOptions::new().append(true).open(&path).and_then(|mut file| file.write_all(bytes));
        written.unwrap_or_else(|error| panic!("cannot append to {}: {error}", path.display()));
    }

    /// Makes a file look as if it had not grown for `age`.
    pub fn age(&self, path: &str, age: Duration) {
        let path = self.root.join(path);
        let then = SystemTime::now() - age;
        let set = File::options().write(true).open(&path).and_then(|file| file.set_modified(then));
        set.unwrap_or_else(|error| panic!("cannot set the time of {}: {error}", path.display()));
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        let path = self.root.join(path);
        fs::remove_file(&path).unwrap_or_else(|error| panic!("cannot remove {}: {error}", path.display()));
    }
}
