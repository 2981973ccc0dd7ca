//! Writes one file: rows come in blocks, a thread of its own hashes and writes them.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use sha2::{Digest, Sha256};

use super::FileEntry;
use crate::{Error, Result};

/// A block is sent when it has reached this size. One message may make it larger.
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks that may wait for the writer.
const BLOCKS: usize = 4;

/// Where rows are put together.
pub(crate) struct Block {
    bytes: Vec<u8>,
    sender: SyncSender<Vec<u8>>,
}

impl Block {
    /// What is being put together: append to it, then call [`Block::pass_on`].
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Gives what there is to the writer, if it is enough.
    pub(crate) fn pass_on(&mut self) -> Result<()> {
        if self.bytes.len() < BLOCK_BYTES { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<()> {
        let full = std::mem::replace(&mut self.bytes, Vec::with_capacity(BLOCK_BYTES + BLOCK_BYTES / 8));
        // The writer is gone only after a failure, which is its own to report.
        self.sender.send(full).map_err(|_| Error::Thread)
    }
}

/// Writes `folder/name`. `fill` puts the rows together and says how many there are.
pub(crate) fn write_file(folder: &Path, name: &str, fill: impl FnOnce(&mut Block) -> Result<u64>) -> Result<FileEntry> {
    let path = folder.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io("creating", parent))?;
    }
    let mut file = File::create_new(&path).map_err(Error::io("creating", &path))?;
    let (sender, receiver) = sync_channel::<Vec<u8>>(BLOCKS);
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut hash = Sha256::new();
            let mut bytes = 0u64;
            for block in receiver {
                hash.update(&block);
                bytes += block.len() as u64;
                file.write_all(&block)?;
            }
            Ok::<_, std::io::Error>((hex::encode(hash.finalize()), bytes))
        });
        let mut block = Block { bytes: Vec::new(), sender };
        let filled = fill(&mut block).and_then(|rows| block.send().map(|()| rows));
        drop(block);
        let written = writer.join().map_err(|_| Error::Thread)?.map_err(Error::io("writing", &path));
        match (filled, written) {
            // The writer's failure is why the other side could not go on.
            (Err(Error::Thread), Err(error)) => Err(error),
            (Err(error), _) | (Ok(_), Err(error)) => Err(error),
            (Ok(rows), Ok((sha256, bytes))) => Ok(FileEntry { path: name.to_owned(), sha256, bytes, rows }),
        }
    })
}
