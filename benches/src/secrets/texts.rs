//! What is found in real text, where nothing should be but the test keys that stand in public sources.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use lake_secrets::{RuleSet, scan};

use crate::arguments::Arguments;
use crate::{Bars, mb};

/// Findings a 10^6 bytes.
const MOST: f64 = 0.05;
/// Longer files are no text that people write, bytes.
const LONGEST: u64 = 32 << 20;

pub(crate) fn measure(
    rules: &RuleSet,
    arguments: &Arguments,
    out: &mut impl Write,
    bars: &mut Bars,
) -> Result<(), Box<dyn Error>> {
    for folder in &arguments.texts {
        writeln!(out, "\nfindings in {}", folder.display())?;
        let (mut bytes, mut found, mut true_ones) = (0u64, 0u32, 0u32);
        for path in files(folder) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            bytes += text.len() as u64;
            let lines: Vec<&str> =
                if path.extension().is_some_and(|e| e == "jsonl") { text.lines().collect() } else { vec![&text] };
            for (number, line) in lines.iter().enumerate() {
                for hit in scan(rules, line, false) {
                    let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
                    if is_reviewed(&name, hit.rule) {
                        true_ones += 1;
                        continue;
                    }
                    found += 1;
                    let at = number + line[..hit.start].matches('\n').count() + 1;
                    writeln!(out, "  {name}:{at}: {}", hit.rule)?;
                }
            }
        }
        let rate = f64::from(found) / mb(bytes).max(1e-9);
        writeln!(out, "  {true_ones} test keys that stand in public sources, which are true findings")?;
        bars.say(out, &format!("  {found} others in {:.1} MB, {rate:.3} a MB", mb(bytes)), rate <= MOST)?;
    }
    Ok(())
}

/// What somebody looked at and found to be a key, made for a test or a document: rule and end of the path, a line each.
const REVIEWED: &str = include_str!("../../reviewed.txt");

/// A private key in armour is one, whoever made it and whatever for.
fn is_reviewed(file: &str, rule: &str) -> bool {
    let reviewed = || REVIEWED.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
    rule == "private-key" || reviewed().any(|(known, end)| known == rule && file.ends_with(end.trim()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !matches!(entry.file_name().to_str(), Some("site-packages" | "__pycache__")) {
                open.push(entry.path());
            } else if kind.is_file() && entry.metadata().is_ok_and(|metadata| metadata.len() <= LONGEST) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
