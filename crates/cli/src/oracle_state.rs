//! What an oracle keeps in its state folder: the ledger, and where each session's chain stands.
//!
//! A line of the ledger is the only commit: it reaches the disk first. What a crash left undone after it is done by the
//! next run, from the ledger's tail.
//!
//! | file | what it is |
//! |---|---|
//! | `lock` | held by one run at a time |
//! | `ledger.jsonl` | `{"seq": n, "envelope": {…}}`, n from 1: every verdict that was signed |
//! | `sessions/<sha256 of the id>.json` | a session's pinned facts and the end of its chain |
//! | `head.json` | up to where in the ledger the sessions' files are |
//! | `remotes.toml` | the remotes that the oracle knows; written by hand |

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use lake_verdict::{Envelope, Kept, Statement, kept_after, payload_digest};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::exit::failed;
use crate::out::note;

/// A state folder that is open.
#[derive(Debug)]
pub(crate) struct OracleState {
    folder: PathBuf,
    /// None in a dry run.
    _lock: Option<File>,
    head: Head,
    /// Sessions that the ledger's tail moved on, and whose files are behind. Only a dry run leaves them so.
    behind: HashMap<String, Kept>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Head {
    /// Number of the last line; 0 before the first.
    seq: u64,
    /// Length of the ledger up to its end, bytes.
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct SessionFile {
    session_id: String,
    task_id: String,
    repo: String,
    base_commit: String,
    next: u64,
    start: String,
    prev: String,
    has_baseline: bool,
}

#[derive(Deserialize)]
struct LedgerLine {
    seq: u64,
    envelope: Box<serde_json::value::RawValue>,
}

impl OracleState {
    /// Opens a state folder, makes it where it is missing, waits for another run to be done with it, and finishes what a
    /// crash left.
    pub(crate) fn open(folder: &Path, dry_run: bool) -> anyhow::Result<OracleState> {
        let lock = if dry_run { None } else { Some(lock(folder)?) };
        let mut state =
            OracleState { folder: folder.to_owned(), _lock: lock, head: Head::default(), behind: HashMap::new() };
        state.head = state.read("head.json")?.unwrap_or_default();
        state.catch_up(dry_run)?;
        Ok(state)
    }

    /// Where a session stands; None before its first run.
    pub(crate) fn session(&self, session_id: &str) -> anyhow::Result<Option<Kept>> {
        if let Some(kept) = self.behind.get(session_id) {
            return Ok(Some(kept.clone()));
        }
        let file: Option<SessionFile> = self.read(&session_name(session_id))?;
        Ok(file.map(|file| Kept {
            session_id: file.session_id,
            task_id: file.task_id,
            repo: file.repo,
            base_commit: file.base_commit,
            next: file.next,
            start: file.start,
            prev: file.prev,
            has_baseline: file.has_baseline,
        }))
    }

    /// Writes where a session stands.
    pub(crate) fn keep(&self, kept: &Kept) -> anyhow::Result<()> {
        let file = SessionFile {
            session_id: kept.session_id.clone(),
            task_id: kept.task_id.clone(),
            repo: kept.repo.clone(),
            base_commit: kept.base_commit.clone(),
            next: kept.next,
            start: kept.start.clone(),
            prev: kept.prev.clone(),
            has_baseline: kept.has_baseline,
        };
        self.write(&session_name(&kept.session_id), &file)
    }

    /// Appends a verdict to the ledger, and moves its session on. On the disk when it returns.
    pub(crate) fn append(&mut self, envelope: &str, kept: Option<&Kept>) -> anyhow::Result<u64> {
        let path = self.ledger();
        let doing = || format!("appending to the ledger {}", path.display());
        let seq = self.head.seq + 1;
        let line = format!("{{\"seq\":{seq},\"envelope\":{envelope}}}\n");
        let is_new = !path.exists();
        let mut file = File::options().append(true).create(true).open(&path).with_context(doing)?;
        let written = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        if let Err(error) = written {
            // Nobody has seen this verdict: without its line it was never signed.
            let _ = file.set_len(self.head.bytes);
            return Err(error).with_context(doing);
        }
        if is_new {
            sync_folder(&self.folder);
        }
        self.head = Head { seq, bytes: self.head.bytes + line.len() as u64 };
        if let Some(kept) = kept {
            self.keep(kept)?;
        }
        self.write("head.json", &self.head)?;
        Ok(seq)
    }

    fn ledger(&self) -> PathBuf {
        self.folder.join("ledger.jsonl")
    }

    /// Reads the ledger from where the sessions' files stand to its end, and brings them there.
    fn catch_up(&mut self, dry_run: bool) -> anyhow::Result<()> {
        let path = self.ledger();
        let length = match std::fs::metadata(&path) {
            Ok(meta) => meta.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error).with_context(|| format!("looking at {}", path.display())),
        };
        if length < self.head.bytes {
            return Err(failed(
                format!("the ledger {} is {length} bytes, and {} were written", path.display(), self.head.bytes),
                "restore it from a copy: without it a chain could be signed twice",
            ));
        }
        if length == self.head.bytes {
            return Ok(());
        }
        let reading = || format!("reading {}", path.display());
        let mut file = BufReader::new(File::open(&path).with_context(reading)?);
        file.seek(SeekFrom::Start(self.head.bytes)).with_context(reading)?;
        let mut line = String::new();
        while file.read_line(&mut line).with_context(reading)? > 0 {
            if !line.ends_with('\n') {
                // A run broke off while it wrote, before anyone saw its verdict.
                note(format!("note: {} ends in half a line, which is cut off", path.display()));
                if !dry_run {
                    let doing = || format!("cutting {}", path.display());
                    let file = File::options().write(true).open(&path).with_context(doing)?;
                    file.set_len(self.head.bytes).and_then(|()| file.sync_all()).with_context(doing)?;
                }
                break;
            }
            self.follow(&line, &path)?;
            line.clear();
        }
        if !dry_run {
            for kept in std::mem::take(&mut self.behind).into_values() {
                self.keep(&kept)?;
            }
            self.write("head.json", &self.head)?;
        }
        Ok(())
    }

    /// Takes a line that stands in the ledger.
    fn follow(&mut self, line: &str, path: &Path) -> anyhow::Result<()> {
        let seq = self.head.seq + 1;
        let damaged = || {
            failed(
                format!("{} does not hold verdict {seq} after byte {}", path.display(), self.head.bytes),
                "restore it from a copy; nothing is signed on a ledger with a gap",
            )
        };
        let read = serde_json::from_str::<LedgerLine>(line).ok().filter(|read| read.seq == seq);
        let envelope = read.and_then(|read| Envelope::parse(read.envelope.get()).ok()).ok_or_else(damaged)?;
        let statement = Statement::parse_strict(&envelope.payload).map_err(|_| damaged())?;
        if let Some(id) = &statement.session_id {
            let before = self.session(id)?;
            let kept = kept_after(before.as_ref(), &statement, payload_digest(&envelope.payload));
            // A run that wrote the session's file and not the head comes by here again.
            if let Some(kept) = kept.filter(|kept| before.as_ref().is_none_or(|before| before.next < kept.next)) {
                self.behind.insert(id.clone(), kept);
            }
        }
        self.head = Head { seq, bytes: self.head.bytes + line.len() as u64 };
        Ok(())
    }

    fn read<T: for<'de> Deserialize<'de>>(&self, name: &str) -> anyhow::Result<Option<T>> {
        let path = self.folder.join(name);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("reading {}", path.display())),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| {
            failed(
                format!("{} is damaged: {error}", path.display()),
                "move head.json and the sessions folder away: both are made anew from the ledger, but for sessions that \
                 were started from a shared baseline and never graded",
            )
        })
    }

    /// Whole or not at all.
    fn write(&self, name: &str, value: &impl Serialize) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        let doing = || format!("writing {}", path.display());
        let folder = path.parent().unwrap_or(&self.folder);
        make(folder)?;
        let mut file = tempfile::Builder::new().prefix(".writing-").tempfile_in(folder).with_context(doing)?;
        serde_json::to_writer(&mut file, value).with_context(doing)?;
        file.write_all(b"\n").and_then(|()| file.as_file().sync_all()).with_context(doing)?;
        file.persist(&path).map_err(|error| error.error).with_context(doing)?;
        sync_folder(folder);
        Ok(())
    }
}

fn session_name(session_id: &str) -> String {
    format!("sessions/{}.json", hex::encode(Sha256::digest(session_id)))
}

fn lock(folder: &Path) -> anyhow::Result<File> {
    make(folder)?;
    let path = folder.join("lock");
    let doing = || format!("locking {}", path.display());
    let file = File::options().create(true).truncate(false).write(true).open(&path).with_context(doing)?;
    // Runs of one oracle take turns: each is short.
    file.lock().with_context(doing)?;
    Ok(file)
}

/// Only the oracle's own user looks in.
fn make(folder: &Path) -> anyhow::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("making the folder {}", folder.display()))
}

/// A new name reaches the disk with its folder, where the system can do that.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}
