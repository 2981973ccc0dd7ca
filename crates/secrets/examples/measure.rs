//! Measures the scan: `measure speed FILE…`, `measure find FILE…` (each finding with its surroundings, for made-up and
//! public texts only), `measure probes FILE`, `measure jsonl FILE…` (decoding included).

use lake_secrets::{RuleSet, SessionScan, scan};
use std::io::{self, Write as _};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let verb = arguments.next().unwrap_or_default();
    let start = Instant::now();
    let rules = RuleSet::builtin();
    let mut out = io::stdout().lock();
    writeln!(out, "{} rules, start {:?}", rules.rules().len(), start.elapsed())?;
    let files: Vec<String> = match arguments.next() {
        Some(list) if list == "@" => io::stdin().lines().collect::<Result<_, _>>()?,
        first => first.into_iter().chain(arguments).collect(),
    };
    let (mut bytes, mut found, mut seconds) = (0usize, 0usize, 0.0);
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        bytes += text.len();
        let start = Instant::now();
        match verb.as_str() {
            "probes" => {
                for line in text.lines() {
                    let probe: serde_json::Value = serde_json::from_str(line)?;
                    let hits = scan(rules, probe["text"].as_str().unwrap_or_default(), false);
                    let right = hits.is_empty() != probe["secret"].as_bool().unwrap_or_default();
                    let names: Vec<_> = hits.iter().map(|hit| (hit.rule, hit.start, hit.end)).collect();
                    writeln!(out, "{} {} {names:?}", if right { "ok   " } else { "WRONG" }, probe["name"])?;
                }
            }
            "jsonl" => {
                let mut session = SessionScan::new(rules);
                for line in text.lines() {
                    let value: serde_json::Value = serde_json::from_str(line)?;
                    found += strings(&value, &mut |text| session.feed(text, None, false).len());
                }
                seconds += start.elapsed().as_secs_f64();
                if let Some(known) = session.finish() {
                    writeln!(out, "{file}: {} secrets", known.len())?;
                }
            }
            _ => {
                let hits = scan(rules, &text, false);
                seconds += start.elapsed().as_secs_f64();
                found += hits.len();
                for hit in hits.iter().filter(|_| verb == "find") {
                    let from = text[..hit.start].char_indices().rev().take(50).last().map_or(hit.start, |(at, _)| at);
                    let shown: String = text[from..].chars().take(160).collect();
                    writeln!(out, "{} {file}:{} {shown:?}", hit.rule, text[..hit.start].matches('\n').count() + 1)?;
                }
            }
        }
    }
    let megabytes = bytes as f64 / 1e6;
    writeln!(
        out,
        "{megabytes:.1} MB, {found} findings, {:.3} a MB, {:.1} MB/s",
        found as f64 / megabytes,
        megabytes / seconds
    )?;
    Ok(())
}

fn strings(value: &serde_json::Value, each: &mut impl FnMut(&str) -> usize) -> usize {
    match value {
        serde_json::Value::String(text) => each(text),
        serde_json::Value::Array(items) => items.iter().map(|item| strings(item, each)).sum(),
        serde_json::Value::Object(fields) => fields.values().map(|field| strings(field, each)).sum(),
        _ => 0,
    }
}
