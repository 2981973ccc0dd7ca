//! Keys in files. What a private key's file holds is in no error and no log.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context as _;
use lake_verdict::{SigningKey, read_private_key, write_private_key};
use zeroize::Zeroizing;

use crate::exit::{failed, usage};
use crate::out::note;

/// Longest file that is read as a key, bytes.
const LONGEST: u64 = 64 * 1024;

/// Reads a private key, PKCS#8 PEM, and says so when others may read it too.
pub(crate) fn read_private(path: &Path) -> anyhow::Result<SigningKey> {
    let reading = || format!("reading the private key {}", path.display());
    let file = File::open(path).with_context(reading)?;
    warn_if_open(path, &file);
    // As large as it gets, so that no copy of it is left behind where it grew.
    let mut text = Zeroizing::new(String::with_capacity(usize::try_from(LONGEST).unwrap_or(0)));
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| std::io::Error::from(error.kind())).with_context(reading)?;
    read_private_key(&text).map_err(|error| {
        usage(
            format!("{} {error}", path.display()),
            "`trace-lake keys generate` makes one, and so does `openssl genpkey -algorithm ed25519`",
        )
    })
}

#[cfg(unix)]
fn warn_if_open(path: &Path, file: &File) {
    use std::os::unix::fs::PermissionsExt;
    if file.metadata().is_ok_and(|meta| meta.permissions().mode() & 0o077 != 0) {
        note(format!("warning: others may read the private key {}: chmod 600 it", path.display()));
    }
}

#[cfg(not(unix))]
fn warn_if_open(_: &Path, _: &File) {}

/// Writes a new private key that only its owner may read. A file that is there is never replaced.
pub(crate) fn write_private(path: &Path, key: &SigningKey) -> anyhow::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => return Err(is_there(path)),
        Err(error) => return Err(error).with_context(|| format!("making {}", path.display())),
    };
    let pem = write_private_key(key);
    let written = file.write_all(pem.as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a key is of no use, and the next try would meet it.
        let _ = std::fs::remove_file(path);
        return Err(error).with_context(|| format!("writing the private key {}", path.display()));
    }
    Ok(())
}

/// The error of a key that would be replaced.
pub(crate) fn is_there(path: &Path) -> anyhow::Error {
    failed(
        format!("{} is there already, and no key is ever replaced", path.display()),
        "name another --key, or move that one away",
    )
}
