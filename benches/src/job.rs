//! The commands that are measured, each on its own folders.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lake_testkit::made::{self, Made, MadeOptions};

use crate::arguments::Arguments;
use crate::child::{Taken, run};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A folder that goes away with the value.
pub(crate) struct Work(PathBuf);

impl Work {
    /// A new one under `parent`.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(crate) fn new(parent: &Path) -> Result<Work> {
        let folder = parent.join(format!("lake-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Work(folder))
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // There is no one to tell, and what stays is in a folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Traces of one size, and the commands that are run on them.
pub(crate) struct Job<'a> {
    arguments: &'a Arguments,
    folder: &'a Path,
    pub(crate) made: Made,
}

impl<'a> Job<'a> {
    /// Makes the traces.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub(crate) fn new(arguments: &'a Arguments, work: &'a Work, mb: u64) -> Result<Job<'a>> {
        let folder = &work.0;
        let _ = fs::remove_dir_all(folder.join("data"));
        let options = MadeOptions {
            bytes: mb * 1_000_000,
            seed: arguments.seed,
            trust: Some(folder.join("trust.toml")),
            ..MadeOptions::default()
        };
        let made = made::write(&folder.join("data"), &options)?;
        Ok(Job { arguments, folder, made })
    }

    /// The folder of that name, which is not there or empty.
    fn fresh(&self, name: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path)?;
        Ok(path)
    }

    fn ours(&self, verb: &str, more: &[&Path]) -> Result<Taken> {
        let mut command = Command::new(&self.arguments.binary);
        // Nothing that this machine is set up for, and no cache of an earlier run.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRACE_LAKE")) {
            command.env_remove(name);
        }
        for place in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            command.env(place, self.folder.join("home"));
        }
        command.current_dir(self.folder).arg(verb).arg("--lake").arg(self.folder.join("lake")).args(more);
        run(&mut command, &self.folder.join("log.txt"))
    }

    /// The data dir into a new lake.
    pub(crate) fn sync(&self) -> Result<Taken> {
        self.fresh("home")?;
        let _ = fs::remove_dir_all(self.folder.join("lake"));
        self.ours("sync", &[Path::new("--data-dir"), &self.folder.join("data")])
    }

    /// The filter pass over that lake.
    pub(crate) fn check(&self) -> Result<Taken> {
        self.ours("check", &[Path::new("--trust"), &self.made.trust])
    }

    /// Both sets of it.
    pub(crate) fn export(&self) -> Result<Taken> {
        let out = self.folder.join("out");
        let _ = fs::remove_dir_all(&out);
        let (trust, out_flag) = (Path::new("--trust"), Path::new("--out"));
        self.ours("export", &[trust, &self.made.trust, Path::new("--require-signature"), out_flag, &out])
    }

    /// What a peer takes on the same files; None without a Python.
    pub(crate) fn peer(&self, script: &str) -> Result<Option<Taken>> {
        let Some(python) = &self.arguments.python else { return Ok(None) };
        let out = self.fresh("peer")?;
        let mut command = Command::new(python);
        command.arg(self.arguments.peers.join(script)).arg(self.folder.join("data")).arg(&out);
        let taken = run(&mut command, &self.folder.join("log.txt"))?;
        let _ = fs::remove_dir_all(&out);
        Ok(Some(taken))
    }
}
