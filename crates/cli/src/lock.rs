//! One run of a command on a lake and its data dirs at a time, on this machine.

use std::fs::{File, TryLockError};
use std::path::Path;

use lake_store::Lake;
use sha2::{Digest, Sha256};

use crate::env::Env;
use crate::exit::{Exit, told};

/// Held while it lives.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: Option<File>,
}

/// Takes the lock of a command on a lake and on what else tells two runs apart.
///
/// The lake counts by its id, however its address is written. The lock saves work that would be done twice; rows never
/// depend on it. So a home that cannot be written to only means that there is none.
///
/// # Errors
/// When another process holds it.
pub(crate) fn lock(env: &Env, command: &str, lake: &Lake, rest: &[String]) -> anyhow::Result<Lock> {
    let Some(folder) = env.state() else {
        tracing::debug!("no lock: neither XDG_STATE_HOME nor HOME is set");
        return Ok(Lock { _file: None });
    };
    let mut hash = Sha256::new();
    let mut rest = rest.to_vec();
    rest.sort_unstable();
    for part in [command.to_owned(), lake.id().to_owned()].into_iter().chain(rest) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let path = folder.join(format!("{command}-{}.lock", &hex::encode(hash.finalize())[..16]));
    let file = match open(&folder, &path) {
        Ok(file) => file,
        Err(e) => {
            tracing::debug!("no lock at {}: {e}", path.display());
            return Ok(Lock { _file: None });
        }
    };
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: Some(file) }),
        Err(TryLockError::WouldBlock) => Err(told(
            Exit::Running,
            format!(
                "`trace-lake {command}` is running here already on {} ({} is locked)",
                lake.address(),
                path.display()
            ),
            "wait until it is done; nothing was done",
        )),
        Err(TryLockError::Error(e)) => {
            tracing::debug!("no lock at {}: {e}", path.display());
            Ok(Lock { _file: None })
        }
    }
}

fn open(folder: &Path, path: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    File::options().create(true).truncate(false).write(true).open(path)
}
