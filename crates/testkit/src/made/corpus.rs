//! Text for tool outputs.

use std::path::{Path, PathBuf};
use std::{env, fs};

use super::Random;

/// All the text that is kept in memory.
const MOST: usize = 48 << 20;
/// So much from one crate, so that many have a say.
const MOST_OF_ONE: usize = 256 << 10;
/// Below this the registry is taken for empty.
const LEAST: usize = 1 << 20;

/// Source text to cut pieces from.
#[derive(Clone, Debug)]
pub struct Corpus(String);

impl Corpus {
    /// The sources of the crates that cargo has unpacked on this machine, in order of their names; a small embedded text
    /// where there are none.
    pub fn of_registry() -> Corpus {
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| env::home_dir().map(|home| home.join(".cargo")));
        let mut text = String::new();
        for registry in home.iter().flat_map(|home| children(&home.join("registry/src"))) {
            for package in children(&registry) {
                let end = MOST.min(text.len() + MOST_OF_ONE);
                read_sources(&package, &mut text, end);
            }
        }
        if text.len() < LEAST { Corpus::embedded() } else { Corpus(text) }
    }

    /// This crate's own source: enough to be like source text, and the same on each machine.
    pub fn embedded() -> Corpus {
        let parts = [
            include_str!("../session/builder.rs"),
            include_str!("../store/faulty.rs"),
            include_str!("../store/faults.rs"),
            include_str!("../key.rs"),
        ];
        Corpus(parts.concat().repeat(2))
    }

    /// A piece of at most `len` bytes (and at least one line) from anywhere, from the start of a line.
    pub(super) fn piece(&self, random: &mut Random, len: usize) -> &str {
        let len = len.min(self.0.len() / 2);
        let mut from = usize::try_from(random.below((self.0.len() - len) as u64)).unwrap_or(0);
        let bytes = self.0.as_bytes();
        from = bytes[..from].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let mut to = from + len;
        while !self.0.is_char_boundary(to) {
            to -= 1;
        }
        &self.0[from..to]
    }
}

/// The entries of a folder by name, so that their order does not depend on the file system.
fn children(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Appends the sources under `dir` until `text` is `end` long.
fn read_sources(dir: &Path, text: &mut String, end: usize) {
    for path in children(dir) {
        if text.len() >= end {
            return;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            // Test data holds keys made for tests; a bench should not measure findings by accident.
            if !matches!(name.as_ref(), "tests" | "test" | "testdata" | "fixtures" | "data") {
                read_sources(&path, text, end);
            }
            continue;
        }
        let source = path.extension().is_some_and(|e| e == "rs" || e == "md" || e == "py" || e == "c" || e == "toml");
        if !source {
            continue;
        }
        // What is no UTF-8 is no text to cut from.
        let Ok(whole) = fs::read_to_string(&path) else { continue };
        if !["-----BEGIN", "AKIA", "ghp_", "xox"].iter().any(|word| whole.contains(word)) {
            text.push_str(&whole);
            text.push('\n');
        }
    }
}
