//! Every path in the lake.

use lake_trace::{Place, session_slug};
use object_store::path::Path;

pub(crate) fn lake_file() -> Path {
    Path::from("lake.json")
}

pub(crate) fn log_folder() -> Path {
    Path::from("log")
}

pub(crate) fn log_record(k: u64) -> Path {
    Path::from(format!("log/{k:020}.json"))
}

pub(crate) fn log_heads(k: u64) -> Path {
    Path::from(format!("log/{k:020}.heads.json.zst"))
}

/// The number of a log record's name; None for any other object.
pub(crate) fn record_number(path: &Path) -> Option<u64> {
    let digits = path.filename()?.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

/// `raw/org=…/repo=…/date=…/<session>/<end>-<sha>.jsonl.zst`; a later try of the same name with other bytes adds `.1`.
pub(crate) fn raw(place: &Place, session_id: &str, end: u64, sha256_end: &str, attempt: u32) -> Path {
    let again = if attempt == 0 { String::new() } else { format!(".{attempt}") };
    let Place { org, repo, date } = place;
    let slug = session_slug(session_id);
    written(&format!("raw/org={org}/repo={repo}/date={date}/{slug}/{end}-{sha256_end}.jsonl.zst{again}"))
}

/// A path as it is written: organisation and repository are percent-encoded already, and are not encoded again.
pub(crate) fn written(path: &str) -> Path {
    Path::parse(path).unwrap_or_else(|_| Path::from(path))
}

/// Folder of a derived table, with the closing slash left out.
pub(crate) fn table(generation: u32, name: &str) -> String {
    format!("tables/g{generation:04}/{name}")
}

pub(crate) fn generation(n: u32) -> Path {
    Path::from(format!("tables/g{n:04}.json"))
}

/// The number of a generation's file; None for any other object.
pub(crate) fn generation_number(path: &Path) -> Option<u32> {
    path.filename()?.strip_prefix('g')?.strip_suffix(".json")?.parse().ok()
}

/// A new data file in a table; nothing reads its name.
pub(crate) fn data_file(org: &str, date: &str) -> String {
    let safe: String = org.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    format!("org={safe}/date={date}/part-{}.zstd.parquet", uuid::Uuid::new_v4().simple())
}
