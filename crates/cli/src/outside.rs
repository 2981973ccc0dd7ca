//! Keeps what is written out of the lake.

use std::path::{Path, PathBuf};

use lake_store::Lake;

use crate::exit::failed;

/// Nothing in a lake is replaced, and nothing stands in one beside what is its own. `flag` named the place.
pub(crate) fn refuse_lake(lake: &Lake, out: &Path, flag: &str) -> anyhow::Result<()> {
    let Some(folder) = lake.folder() else { return Ok(()) };
    let (folder, place) = (real(folder), real(out));
    if place.starts_with(&folder) || folder.starts_with(&place) {
        let message = format!("{} is, holds or lies in the lake {}", out.display(), lake.address());
        return Err(failed(message, format!("name a place beside the lake with {flag}")));
    }
    Ok(())
}

/// The folder that a command runs in is no output: a shell would stand in what is gone.
pub(crate) fn refuse_here(here: &Path, out: &Path) -> anyhow::Result<()> {
    if real(&here.join(out)) != real(here) {
        return Ok(());
    }
    Err(failed(
        format!("--out {} is the folder that this runs in", out.display()),
        "name a folder that is not there yet, such as --out training-sets",
    ))
}

/// A path without links, though its end may not be there yet.
fn real(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = whole.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    match there {
        Some((above, real)) => whole.strip_prefix(above).map_or(whole.clone(), |rest| real.join(rest)),
        None => whole,
    }
}
