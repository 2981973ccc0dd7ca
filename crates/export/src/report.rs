//! What an export did.

use std::path::PathBuf;

use crate::output::Manifest;

/// One session's part in a row: what the lake's `exports` table keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedRow {
    /// `sft`, `preference`.
    pub set: &'static str,
    /// Number of the row in its set, from 0. A pair is two parts of one row.
    pub row: u64,
    /// The session.
    pub session_id: String,
    /// Its branch.
    pub branch: u32,
    /// Bytes of the branch that the row draws on.
    pub end: u64,
    /// The keys that prove it, sorted.
    pub key_ids: Vec<String>,
}

/// What an export did.
#[derive(Clone, Debug)]
pub struct Report {
    /// The manifest; of a dry run it lists no files.
    pub manifest: Manifest,
    /// SHA-256 of the manifest's bytes, hex.
    pub manifest_sha256: String,
    /// Parts of all rows, by set and row.
    pub rows: Vec<ExportedRow>,
    /// Where to.
    pub out: PathBuf,
    /// What somebody should know, one sentence each.
    pub warnings: Vec<String>,
}
