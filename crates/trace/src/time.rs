//! RFC 3339 in, milliseconds since 1970 UTC out.

use chrono::{DateTime, NaiveDate, SecondsFormat};

fn two(b: &[u8], i: usize) -> Option<u32> {
    let (a, c) = (b[i].wrapping_sub(b'0'), b[i + 1].wrapping_sub(b'0'));
    (a < 10 && c < 10).then_some(u32::from(a) * 10 + u32::from(c))
}

/// Milliseconds since 1970-01-01T00:00:00Z of an RFC 3339 time; finer digits are dropped. None when it is not one.
pub fn parse_ts(s: &str) -> Option<i64> {
    let b = s.as_bytes();
    if !s.is_ascii() || b.len() < 20 || b[4] != b'-' || b[7] != b'-' || b[13] != b':' || b[16] != b':' {
        return None;
    }
    if !(b[b.len() - 1] == b'Z' && b[10] == b'T') {
        return DateTime::parse_from_rfc3339(s).ok().map(|t| t.timestamp_millis());
    }
    let year = two(b, 0)? * 100 + two(b, 2)?;
    let day = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, two(b, 5)?, two(b, 8)?)?;
    let (hour, minute, second) = (two(b, 11)?, two(b, 14)?, two(b, 17)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let mut millis = 0i64;
    let fraction = &b[19..b.len() - 1];
    if !fraction.is_empty() {
        if fraction[0] != b'.' || fraction.len() < 2 || !fraction[1..].iter().all(u8::is_ascii_digit) {
            return None;
        }
        for i in 1..=3 {
            millis = millis * 10 + i64::from(fraction.get(i).map_or(0, |d| d - b'0'));
        }
    }
    let days = i64::from(day.signed_duration_since(NaiveDate::default()).num_days() as i32);
    Some((days * 86_400 + i64::from(hour * 3600 + minute * 60 + second)) * 1000 + millis)
}

/// The UTC date of a time in milliseconds, `YYYY-MM-DD`.
pub fn date_of_ms(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms).map_or_else(|| "1970-01-01".into(), |t| t.format("%Y-%m-%d").to_string())
}

/// A time in milliseconds as RFC 3339 with milliseconds, UTC.
pub fn format_ms(ms: i64) -> String {
    DateTime::from_timestamp_millis(ms).map_or_else(String::new, |t| t.to_rfc3339_opts(SecondsFormat::Millis, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        let ms = parse_ts("2025-03-01T10:00:07.123Z").expect("a time");
        assert_eq!(format_ms(ms), "2025-03-01T10:00:07.123Z");
        assert_eq!(date_of_ms(ms), "2025-03-01");
        assert_eq!(parse_ts("2025-03-01T12:00:07.123+02:00"), Some(ms));
        assert_eq!(parse_ts("2025-03-01T10:00:07Z"), Some(ms - 123));
        assert_eq!(parse_ts("2025-03-01T10:00:07.123456789Z"), Some(ms));
        assert_eq!(parse_ts("1969-12-31T23:59:59Z"), Some(-1000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for bad in [
            "",
            "yesterday",
            "2025-03-01",
            "2025-13-01T10:00:07Z",
            "2025-02-30T10:00:07Z",
            "2025-03-01T24:00:07Z",
            "2025-03-01T10:00:07",
            "2025-03-01T10:00:07.Z",
            "2025-03-01T10:00:07.1x3Z",
            "2025-03-01 10:00:07",
            "٢٠٢٥-03-01T10:00:07Z",
        ] {
            assert_eq!(parse_ts(bad), None, "{bad}");
        }
    }
}
