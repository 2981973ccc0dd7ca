//! What real files do: one fixture for each oddity that a reader must take without losing another line or file.

mod fields;
mod files;
mod fixture;
mod lines;
mod over_time;

pub use fixture::Fixture;
pub use lines::huge_line;

/// All of them. [`huge_line`] stands in with one mebibyte.
pub fn oddities() -> Vec<Fixture> {
    let mut all = lines::fixtures();
    all.extend(fields::fixtures());
    all.extend(files::fixtures());
    all.extend(over_time::fixtures());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashSet};

    use lake_trace::{Fold, LineRef, Looked, lines};

    use super::*;

    /// What the reader of lines says of some files: rejects, and the flags of all events.
    fn read(files: &[(String, Vec<u8>)]) -> (usize, BTreeSet<&'static str>) {
        let (mut rejects, mut flags) = (0, BTreeSet::new());
        for (_, bytes) in files.iter().filter(|(path, _)| path.starts_with("traces/") && path.ends_with(".jsonl")) {
            let mut fold = Fold::new(Some(lake_trace::parse_ts("2025-07-01T00:00:00Z").expect("a time")));
            for (number, line) in (1..).zip(lines(bytes)) {
                let at = LineRef { line: number, offset: line.start as u64, end: line.end as u64 };
                match fold.line(line.bytes, at, &mut String::new()) {
                    Looked::Event(event) => flags.extend(event.flags.names()),
                    Looked::Reject(_) => rejects += 1,
                    Looked::Blank => {}
                }
            }
        }
        (rejects, flags)
    }

    #[test]
    fn each_oddity_is_what_its_note_says() {
        for fixture in oddities() {
            let (rejects, flags) = read(&fixture.files);
            assert_eq!(rejects, fixture.rejects, "{}: rejects", fixture.name);
            assert_eq!(flags, fixture.flags.iter().copied().collect(), "{}: flags", fixture.name);
        }
    }

    #[test]
    fn names_are_told_apart_and_are_file_names() {
        let mut seen = HashSet::new();
        for fixture in oddities() {
            assert!(fixture.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
            assert!(seen.insert(fixture.name), "{} twice", fixture.name);
            assert!(!fixture.note.is_empty());
        }
    }

    #[test]
    fn a_huge_line_is_as_long_as_asked() {
        let fixture = huge_line(100_000);
        let longest = lines(&fixture.files[0].1).map(|line| line.bytes.len()).max();
        assert_eq!(longest, Some(100_000));
    }
}
