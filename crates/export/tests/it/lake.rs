//! A lake in memory, and an export of it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use lake_export::{Out, Report, Request, Scans, Source, export};
use lake_store::{Branch, Catalog, Segment};
use lake_testkit::{OracleKey, trust_toml};
use lake_trace::{Fold, Hashed, LineRef, lines};
use lake_verdict::{Trust, recorded_outcome};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// When the first batch was committed; each next one is a second later. After all that the builder writes.
const AT: i64 = 1_780_000_000_000;

#[derive(Default)]
pub(crate) struct Lake {
    pub(crate) catalog: Catalog,
    pub(crate) bytes: HashMap<(String, u32), Vec<u8>>,
    pub(crate) gone: Option<String>,
    /// When the store took all of it, whatever the batches say.
    pub(crate) taken_at: Option<i64>,
}

impl Source for Lake {
    fn bytes(&self, branch: &Branch) -> lake_store::Result<Hashed> {
        if self.gone.as_ref() == Some(&branch.session_id) {
            return Err(lake_store::Error::Purged(branch.session_id.clone()));
        }
        Ok(Hashed::new(self.bytes[&(branch.session_id.clone(), branch.branch)].clone()))
    }

    fn committed_at(&self, segment: &Segment) -> lake_store::Result<Option<i64>> {
        Ok(Some(self.taken_at.unwrap_or(segment.at)))
    }
}

impl Lake {
    pub(crate) fn of(sessions: impl IntoIterator<Item = Vec<u8>>) -> Lake {
        let mut lake = Lake::default();
        for session in sessions {
            lake.add("laptop", session);
        }
        lake
    }

    /// A file of a source, as one batch.
    pub(crate) fn add(&mut self, source: &str, bytes: Vec<u8>) {
        self.add_parts(&[(source, bytes)]);
    }

    /// One file that came in several batches.
    pub(crate) fn add_parts(&mut self, parts: &[(&str, Vec<u8>)]) {
        let bytes: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
        let mut fold = Fold::new(None);
        for (number, line) in (1..).zip(lines(&bytes)) {
            let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
            fold.line(line.bytes, at, &mut String::new());
        }
        let summary = fold.summary();
        let session_id = fold.session_id().expect("a session has a good line").to_owned();
        let branch = self.catalog.branches.iter().filter(|b| b.session_id == session_id).count() as u32;
        let mut segments = Vec::new();
        let mut offset = 0;
        for (source, part) in parts {
            self.catalog.k += 1;
            let k = self.catalog.k;
            let end = offset + part.len() as u64;
            segments.push(Segment {
                offset,
                end,
                k,
                at: AT + 1000 * k as i64,
                source: (*source).to_owned(),
                ..Segment::default()
            });
            offset = end;
        }
        self.catalog.record_sha256 = hex::encode(Sha256::digest(self.catalog.k.to_be_bytes()));
        self.catalog.branches.push(Branch {
            session_id: session_id.clone(),
            branch,
            place: fold.place(),
            source: segments.first().map(|s| s.source.clone()),
            segments,
            harness: summary.start.harness.clone(),
            version: summary.start.version.clone(),
            model: summary.start.model.clone(),
            task_id: summary.start.task_id.clone(),
            base_commit: summary.start.base_commit.clone(),
            repo_url: summary.repo_url.clone(),
            started_at: summary.started_at,
            ended_at: summary.ended_at,
            ended_by: summary.ended_by.clone(),
            recorded_outcome: Some(fold.recorded_outcome(recorded_outcome).as_str().to_owned()),
            counts: summary.counts,
            ..Branch::default()
        });
        self.catalog.branches.sort_by(|a, b| (&a.session_id, a.branch).cmp(&(&b.session_id, b.branch)));
        self.bytes.insert((session_id, branch), bytes);
    }
}

pub(crate) struct Exported {
    folder: TempDir,
    pub(crate) report: Report,
}

impl Exported {
    pub(crate) fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    pub(crate) fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.out().join(name)).expect("the file is there")
    }

    /// A file as a golden has it: the rules grow without this crate.
    pub(crate) fn golden(&self, name: &str) -> String {
        self.text(name).replace(&self.report.manifest.rules_digest, "…")
    }

    fn json_lines(&self, name: &str) -> Vec<Value> {
        let path = self.out().join(name);
        let text = if path.exists() { std::fs::read_to_string(path).expect("UTF-8") } else { String::new() };
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    pub(crate) fn sft(&self) -> Vec<Value> {
        self.json_lines("sft/train-00000-of-00001.jsonl")
    }

    pub(crate) fn pairs(&self) -> Vec<Value> {
        self.json_lines("preference/train-00000-of-00001.jsonl")
    }

    /// Session and reason of what is not in a set.
    pub(crate) fn excluded(&self, set: &str) -> Vec<(String, String)> {
        let text = |line: &Value, key: &str| line[key].as_str().expect("a string").to_owned();
        let lines = self.json_lines("exclusions.jsonl");
        lines.iter().filter(|l| l["set"] == set).map(|l| (text(l, "session_id"), text(l, "reason"))).collect()
    }

    pub(crate) fn exclusions(&self) -> Vec<Value> {
        self.json_lines("exclusions.jsonl")
    }

    /// Each file's name and bytes.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut out = Vec::new();
        let mut folders = vec![self.out()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.out()).expect("inside").to_string_lossy().into_owned();
                    out.push((name, std::fs::read(&path).expect("readable")));
                }
            }
        }
        out.sort();
        out
    }
}

pub(crate) fn request() -> Request {
    Request { code_version: "0.1.0".into(), ..Request::new(Out::Folder("unset".into())) }
}

pub(crate) fn run(lake: &Lake, request: Request) -> Exported {
    run_with(lake, &Scans::new(), request)
}

pub(crate) fn run_with(lake: &Lake, scans: &Scans, request: Request) -> Exported {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let request = Request { out: Out::Folder(folder.path().join("out")), ..request };
    let report = export(&lake.catalog, scans, lake, &request, &|_| (), &AtomicBool::new(false)).expect("an export");
    let names: Vec<_> = std::fs::read_dir(folder.path()).expect("a folder").collect();
    assert_eq!(names.len(), usize::from(!request.dry_run), "nothing is left behind: {names:?}");
    Exported { folder, report }
}

pub(crate) fn key() -> OracleKey {
    OracleKey::from_seed(1)
}

pub(crate) fn trust(key: &OracleKey) -> Trust {
    Trust::parse(&trust_toml(&[key.trust_entry()])).expect("a trust file")
}

/// A request that asks for signatures of [`key`].
pub(crate) fn signed_request() -> Request {
    Request { trust: Some(trust(&key())), require_signature: true, ..request() }
}
