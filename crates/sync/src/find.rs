//! Finds the trace files of a data dir, and what their first lines say of them.

use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lake_trace::{Fold, LineRef, Looked, Place, lines};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use walkdir::WalkDir;

use crate::Problem;
use crate::cut::Cutter;
use crate::inside::{Inside, Root};

/// Bytes that are read ahead to see which session a file is of.
const PEEK: usize = 16 << 10;

/// What the file system says of a file: while it stays, the file was not written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i128,
    /// Nanoseconds since 1970; nobody can set it back.
    pub(crate) changed: i128,
}

impl Stamp {
    pub(crate) fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            modified: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
            changed: i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec()),
        }
    }

    /// Milliseconds since 1970.
    pub(crate) fn modified_ms(&self) -> i64 {
        i64::try_from(self.modified / 1_000_000).unwrap_or(i64::MAX)
    }
}

/// A trace file that was listed.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
    pub(crate) inside: Inside,
}

/// A trace file.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) inside: Inside,
    pub(crate) stamp: Stamp,
    /// The session of its first good line; the file's name where the first bytes have none.
    pub(crate) session_id: String,
    /// Where the first bytes say that it belongs: for the order of work only.
    pub(crate) place: Place,
}

/// All `*.jsonl` below `traces/`, in path order. What cannot be listed is told, and so are links that lead out of the data
/// dir: nothing of what they lead to is read. The data dir may itself be a link.
pub(crate) fn files(data_dir: &Path, problems: &mut Vec<Problem>) -> Vec<Listed> {
    let traces = data_dir.join("traces");
    let mut found = Vec::new();
    let root = match Root::open(data_dir) {
        Ok(root) => root,
        Err(e) => {
            problems.push(Problem { path: data_dir.to_owned(), what: format!("could not be listed: {e}") });
            return found;
        }
    };
    // Below a link a path is not the way that is opened.
    let mut linked = false;
    let mut walk = WalkDir::new(&traces).follow_links(true).sort_by_file_name().into_iter();
    while let Some(entry) = walk.next() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(e) => {
                let path = e.path().unwrap_or(&traces).to_owned();
                problems.push(Problem { path, what: format!("could not be listed: {}", cause(&e)) });
                continue;
            }
        };
        let is_dir = entry.file_type().is_dir();
        if !is_dir && entry.path().extension().is_none_or(|x| x != "jsonl") {
            continue;
        }
        linked |= entry.path_is_symlink() || entry.depth() == 0 && traces.is_symlink();
        let inside = if linked { root.resolved(entry.path()) } else { Ok(root.plain(entry.path())) };
        let read = inside.and_then(|inside| Ok((inside, std::fs::metadata(entry.path())?)));
        match read {
            Ok((None, _)) => {
                let what = "is a link that leads out of the data dir: what is there is not read".to_owned();
                problems.push(Problem { path: entry.path().to_owned(), what });
                if is_dir {
                    walk.skip_current_dir();
                }
            }
            Ok((Some(inside), meta)) if meta.is_file() => {
                found.push(Listed { path: entry.path().to_owned(), stamp: Stamp::of(&meta), inside });
            }
            Ok(_) => {}
            Err(e) => problems.push(Problem { path: entry.path().to_owned(), what: format!("could not be read: {e}") }),
        }
    }
    // By whole path: the order must not hang on how the tree was walked.
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn cause(e: &walkdir::Error) -> String {
    e.io_error().map_or_else(|| e.to_string(), ToString::to_string)
}

/// Reads the first lines of each file, many at a time.
pub(crate) fn peek(files: Vec<Listed>, max_line: usize, problems: &mut Vec<Problem>) -> Vec<Found> {
    let looked: Vec<Result<Found, Problem>> = files
        .into_par_iter()
        .map(|file| match first_lines(&file, max_line) {
            Ok((session_id, place)) => {
                Ok(Found { path: file.path, inside: file.inside, stamp: file.stamp, session_id, place })
            }
            Err(e) => Err(Problem { path: file.path, what: format!("could not be read: {e}") }),
        })
        .collect();
    let mut found = Vec::with_capacity(looked.len());
    for one in looked {
        match one {
            Ok(file) => found.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    found
}

fn first_bytes(file: &Inside) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(PEEK);
    file.open()?.take(PEEK as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn first_lines(file: &Listed, max_line: usize) -> std::io::Result<(String, Place)> {
    let ahead = fold(&first_bytes(&file.inside)?, true);
    if let Some(session_id) = ahead.session_id() {
        return Ok((session_id.to_owned(), ahead.place()));
    }
    // No good line so far: the session is that of the first one, however far it is.
    let mut cutter = Cutter::new(file.inside.open()?, file.stamp.size, max_line);
    while let Some(cut) = cutter.next()? {
        let fold = fold(&cut.bytes, true);
        if let Some(session_id) = fold.session_id() {
            return Ok((session_id.to_owned(), fold.place()));
        }
    }
    Ok((name_of(&file.path), ahead.place()))
}

/// The session of a file without a good line: its name.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    if stem.is_empty() { "unnamed".into() } else { stem.chars().take(256).collect() }
}

/// Folds the whole lines of `bytes`; with `to_start`, only up to the first `session_start`.
pub(crate) fn fold(bytes: &[u8], to_start: bool) -> Fold {
    let mut fold = Fold::new(None);
    let mut scratch = String::new();
    for (i, line) in lines(bytes).enumerate() {
        let at = LineRef { line: i as u64 + 1, offset: line.start as u64, end: line.end as u64 };
        if matches!(fold.line(line.bytes, at, &mut scratch), Looked::Event(_)) && to_start && fold.start().is_some() {
            break;
        }
    }
    fold
}
