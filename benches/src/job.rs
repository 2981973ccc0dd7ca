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
    mb: u64,
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
        Ok(Job { arguments, folder, mb, made })
    }

    /// A folder that no earlier round had: a file system spends time on names that were just removed, and a lake has
    /// many more files than its peer's.
    fn folder(&self, name: &str, round: usize) -> PathBuf {
        self.folder.join(format!("{name}-{}-{round}", self.mb))
    }

    fn ours(&self, round: usize, verb: &str, more: &[&Path]) -> Result<Taken> {
        let mut command = Command::new(&self.arguments.binary);
        // Nothing that this machine is set up for, and no cache of an earlier run.
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TRACE_LAKE")) {
            command.env_remove(name);
        }
        for place in ["XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            command.env(place, self.folder("home", round));
        }
        command.current_dir(self.folder).arg(verb).arg("--lake").arg(self.folder("lake", round)).args(more);
        settle()?;
        run(&mut command, &self.folder.join("log.txt"))
    }

    /// The data dir into a new lake.
    pub(crate) fn sync(&self, round: usize) -> Result<Taken> {
        fs::create_dir(self.folder("home", round))?;
        self.ours(round, "sync", &[Path::new("--data-dir"), &self.folder.join("data")])
    }

    /// The filter pass over that lake.
    pub(crate) fn check(&self, round: usize) -> Result<Taken> {
        self.ours(round, "check", &[Path::new("--trust"), &self.made.trust])
    }

    /// Both sets of it.
    pub(crate) fn export(&self, round: usize) -> Result<Taken> {
        let out = self.folder("out", round);
        let (trust, out_flag) = (Path::new("--trust"), Path::new("--out"));
        self.ours(round, "export", &[trust, &self.made.trust, Path::new("--require-signature"), out_flag, &out])
    }

    /// What a peer takes on the same files; None without a Python.
    pub(crate) fn peer(&self, round: usize, script: &str) -> Result<Option<Taken>> {
        let Some(python) = &self.arguments.python else { return Ok(None) };
        let out = self.folder(script, round);
        fs::create_dir(&out)?;
        let mut command = Command::new(python);
        command.arg(self.arguments.peers.join(script)).arg(self.folder.join("data")).arg(&out);
        settle()?;
        Ok(Some(run(&mut command, &self.folder.join("log.txt"))?))
    }
}

/// What came before reaches the disk before the next is timed: nobody pays for another's writes.
fn settle() -> Result<()> {
    Command::new("sync").status()?;
    Ok(())
}
