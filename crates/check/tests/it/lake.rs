//! A lake on a temporary folder, filled through the store alone.

use std::sync::atomic::AtomicBool;

use lake_check::{Options, Report, check};
use lake_secrets::AllowList;
use lake_store::log::{self, Put};
use lake_store::{CheckRow, EMPTY_SHA256, Lake, Record, SegmentRecord, StoreOptions, Tip, raw, read_checks};
use lake_testkit::{fold_file, sha256_hex};
use lake_trace::{format_ms, lines};
use lake_verdict::Trust;
use tempfile::TempDir;

/// When the first batch was committed, after all that the builders write: 2026-05-28.
const AT: i64 = 1_780_000_000_000;

pub(crate) struct TestLake {
    pub(crate) folder: TempDir,
    pub(crate) lake: Lake,
    tip: Tip,
}

impl TestLake {
    pub(crate) fn new() -> TestLake {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let address = folder.path().join("lake").display().to_string();
        let lake = Lake::create(&address, &StoreOptions::new()).expect("a lake");
        TestLake { folder, lake, tip: Tip::default() }
    }

    pub(crate) fn of<'f>(files: impl IntoIterator<Item = &'f Vec<u8>>) -> TestLake {
        let mut lake = TestLake::new();
        let files: Vec<(&[u8], usize)> = files.into_iter().map(|bytes| (bytes.as_slice(), 0)).collect();
        lake.batch(&files);
        lake
    }

    /// Commits one batch: of each file what follows its first bytes, which came before.
    pub(crate) fn batch(&mut self, files: &[(&[u8], usize)]) {
        let k = self.tip.k + 1;
        let record = Record {
            k,
            prev: (k > 1).then(|| self.tip.sha256.clone()),
            at: format_ms(AT + 1000 * k as i64),
            source: "laptop".to_owned(),
            host: "laptop".to_owned(),
            segments: files.iter().map(|(bytes, from)| self.segment(bytes, *from)).collect(),
        };
        match log::put(&self.lake, &record).expect("a record") {
            Put::Committed(tip) => self.tip = tip,
            Put::Taken => panic!("nobody else writes"),
        }
    }

    fn segment(&self, bytes: &[u8], from: usize) -> SegmentRecord {
        let fold = fold_file(bytes);
        let session_id = fold.session_id().expect("a good line").to_owned();
        let (place, end, sha256_end) = (fold.place(), bytes.len() as u64, sha256_hex(bytes));
        let body = raw::compress(&bytes[from..]).expect("zstd");
        let raw_bytes = body.len() as u64;
        let put = raw::put(&self.lake, &place, &session_id, end, &sha256_end, body.into());
        SegmentRecord {
            raw: self.lake.runtime().block_on(put).expect("a raw object"),
            session_id,
            org: place.org,
            repo: place.repo,
            date: place.date,
            offset: from as u64,
            end,
            first_line: lines(&bytes[..from]).count() as u64 + 1,
            sha256_before: if from == 0 { EMPTY_SHA256.to_owned() } else { sha256_hex(&bytes[..from]) },
            sha256_end,
            raw_bytes,
        }
    }

    pub(crate) fn check(&self, options: &Options) -> Report {
        check(&self.lake, options, &(), &AtomicBool::new(false)).expect("a check")
    }

    pub(crate) fn rows(&self, kind: &str, digest: &str) -> Vec<CheckRow> {
        let mut rows = read_checks(&self.lake, kind, digest).expect("rows");
        rows.sort_by(|a, b| (&a.session_id, a.branch, a.end, a.at).cmp(&(&b.session_id, b.branch, b.end, b.at)));
        rows
    }

    pub(crate) fn secrets(&self, options: &Options) -> Vec<CheckRow> {
        self.rows("secrets", &lake_check::secrets_digest(&options.allow))
    }

    pub(crate) fn signatures(&self, options: &Options) -> Vec<CheckRow> {
        self.rows("signatures", options.trust.as_ref().expect("a trust file").digest())
    }
}

pub(crate) fn options(trust: Option<&str>) -> Options {
    Options {
        trust: trust.map(|text| Trust::parse(text).expect("a trust file")),
        ledger: None,
        allow: AllowList::empty(),
        fingerprint_key: b"the lake's id".to_vec(),
        now_ms: AT + 3_600_000,
        dry_run: false,
    }
}

/// Results and flags, by session.
pub(crate) fn told(rows: &[CheckRow]) -> Vec<(String, String, Vec<String>)> {
    let flags = |row: &CheckRow| row.findings.iter().map(|finding| finding.rule.clone()).collect();
    rows.iter().map(|row| (row.session_id.clone(), row.result.clone(), flags(row))).collect()
}
