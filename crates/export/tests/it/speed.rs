//! How fast, on traces of one's own: `LAKE_BENCH_TRACES=… LAKE_BENCH_OUT=… cargo test --release -- --ignored speed`.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lake_export::{Out, Progress, Request, Scan, Scans, Step, export};
use lake_verdict::Trust;

use crate::lake::{Lake, request};

#[test]
#[ignore = "needs traces of one's own"]
#[expect(clippy::print_stderr, reason = "it measures")]
fn speed() {
    let traces = std::env::var("LAKE_BENCH_TRACES").expect("LAKE_BENCH_TRACES names a folder");
    let out = std::env::var("LAKE_BENCH_OUT").expect("LAKE_BENCH_OUT names a folder");
    let mut paths: Vec<_> =
        std::fs::read_dir(&traces).expect("traces").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let lake = Lake::of(paths.iter().map(|path| std::fs::read(path).expect("a trace")));
    let trust = std::env::var("LAKE_BENCH_TRUST")
        .ok()
        .map(|path| Trust::parse(&std::fs::read_to_string(path).expect("a trust file")).expect("a trust file"));
    let scans: Scans = if std::env::var("LAKE_BENCH_SCAN").is_ok() {
        Scans::new()
    } else {
        let clean = |b: &lake_store::Branch| ((b.session_id.clone(), b.branch), Scan { end: b.end(), clean: true });
        lake.catalog.branches.iter().map(clean).collect()
    };
    let require_signature = trust.is_some();
    let out = Out::Folder(Path::new(&out).to_owned());
    let request = Request { out, force: true, trust, require_signature, ..request() };
    let bytes: u64 = lake.catalog.branches.iter().map(lake_store::Branch::end).sum();
    let start = Instant::now();
    let read = Mutex::new(0.0);
    let progress = |p: Progress| {
        if p.step == Step::Read {
            *read.lock().expect("no panic") = start.elapsed().as_secs_f64();
        }
    };
    let report = export(&lake.catalog, &scans, &lake, &request, &progress, &AtomicBool::new(false)).expect("an export");
    let took = start.elapsed().as_secs_f64();
    let read = read.into_inner().expect("no panic");
    let rows: Vec<u64> = report.manifest.sets.values().map(|counts| counts.rows).collect();
    let mb = bytes as f64 / 1e6;
    eprintln!("{mb:.0} MB in {took:.2} s (read {read:.2} s), {:.0} MB/s, rows {rows:?}", mb / took);
}
