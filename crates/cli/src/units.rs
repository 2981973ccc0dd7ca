//! Durations, sizes and dates as people write and read them.

use std::time::Duration;

/// `24h`, `0s`, `90m`, `1h30m`, `2d`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let bad =
        || format!("`{text}` is no duration: a number with its unit is expected, such as 24h, 90m, 30s, 2d or 0s");
    let mut rest = text.trim();
    let mut seconds = 0u64;
    if rest.is_empty() {
        return Err(bad());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
        let number: u64 = rest[..digits].parse().map_err(|_| bad())?;
        let unit = match rest.as_bytes()[digits] {
            b's' => 1,
            b'm' => 60,
            b'h' => 3600,
            b'd' => 86_400,
            _ => return Err(bad()),
        };
        seconds = number.checked_mul(unit).and_then(|n| n.checked_add(seconds)).ok_or_else(bad)?;
        rest = &rest[digits + 1..];
    }
    Ok(Duration::from_secs(seconds))
}

/// `448MiB`, `1GiB`, `64M`, `1000000`: bytes.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let bad = || format!("`{text}` is no size such as 448MiB, 1GiB or 64000000");
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| bad())?;
    let unit: u64 = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "kb" => 1_000,
        "m" | "mib" => 1 << 20,
        "mb" => 1_000_000,
        "g" | "gib" => 1 << 30,
        "gb" => 1_000_000_000,
        _ => return Err(bad()),
    };
    number.checked_mul(unit).ok_or_else(bad)
}

/// Less than this does not hold the threads, buffers and spills of a run, bytes.
const LEAST_MEMORY: u64 = 64 << 20;

/// A size that a process can work with.
pub(crate) fn parse_memory(text: &str) -> Result<u64, String> {
    let bytes = parse_size(text)?;
    if bytes < LEAST_MEMORY { Err(format!("`{text}` is too little: 64MiB is the least")) } else { Ok(bytes) }
}

/// A number from 1 on.
pub(crate) fn parse_some(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| format!("`{text}` is no number from 1 on"))
}

/// A date (its first moment, UTC) or an RFC 3339 time, as milliseconds since 1970 UTC.
pub(crate) fn parse_when(text: &str) -> Result<i64, String> {
    if let Ok(date) = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        return Ok(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis());
    }
    chrono::DateTime::parse_from_rfc3339(text)
        .map(|time| time.timestamp_millis())
        .map_err(|_| format!("`{text}` is neither a date such as 2026-08-14 nor an RFC 3339 time"))
}

/// Bytes for a person.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// A size as [`parse_size`] reads it.
pub(crate) fn size(n: u64) -> String {
    if n > 0 && n.is_multiple_of(1 << 20) { format!("{}MiB", n >> 20) } else { n.to_string() }
}

/// How long ago, for a person.
pub(crate) fn age(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds} s ago"),
        60..3600 => format!("{} min ago", seconds / 60),
        3600..172_800 => format!("{} h ago", seconds / 3600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A duration for a person, and for [`parse_duration`].
pub(crate) fn duration(d: Duration) -> String {
    let seconds = d.as_secs();
    match seconds {
        0 => "0s".into(),
        s if s % 3600 == 0 => format!("{}h", s / 3600),
        s if s % 60 == 0 => format!("{}m", s / 60),
        s => format!("{s}s"),
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        for (text, seconds) in [("24h", 86_400), ("0s", 0), ("90m", 5400), ("1h30m", 5400), ("2d", 172_800)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
            let again = duration(Duration::from_secs(seconds));
            assert_eq!(parse_duration(&again), Ok(Duration::from_secs(seconds)), "{again}");
        }
        for bad in ["", "24", "h", "-1h", "1y", "1h 30", "99999999999999999999h", "9999999999999999999d"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("448MiB", 448 << 20), ("1 GB", 1_000_000_000), ("7", 7), ("2k", 2048)] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "MiB", "1.5GiB", "-1", "99999999999999999999", "18446744073709551615k"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn dates_and_times_are_read() {
        assert_eq!(parse_when("1970-01-02"), Ok(86_400_000));
        assert_eq!(parse_when("1970-01-01T01:00:00+01:00"), Ok(0));
        assert!(parse_when("yesterday").is_err());
    }

    #[test]
    fn numbers_are_said() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(999_999), "1.0 MB");
        assert_eq!(age(90_000), "1 min ago");
        assert_eq!(count(1, "file"), "1 file");
    }
}
