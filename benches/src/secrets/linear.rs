//! Whether any text takes as long as another of its length: one line of what could slow a scanner down, at two sizes.

use std::io::{self, Write};
use std::time::Instant;

use lake_secrets::{RuleSet, scan};
use lake_testkit::secrets::examples::Random;

use crate::{Bars, mb};

/// Bytes, and twice as many.
const SIZE: usize = 4 << 20;
/// Twice the bytes may take this much longer: two, and what a busy machine adds.
const TIMES: f64 = 3.0;

pub(crate) fn measure(rules: &RuleSet, out: &mut impl Write, bars: &mut Bars) -> io::Result<()> {
    writeln!(out, "\none line of          seconds a 100 MB   twice the bytes take")?;
    let base64 = Random(1).text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 4096);
    let hex = Random(2).text("0123456789abcdef", 4096);
    let units: [(&str, &str); 14] = [
        ("=", "="),
        ("base 64", &base64),
        ("hex", &hex),
        ("eyJ", "eyJ"),
        ("key=", "key="),
        ("password: ", "password: "),
        ("backslashes", "\\"),
        ("\\n", "\\n"),
        ("%3D", "%3D"),
        ("quotes", "\"'"),
        ("-----BEGIN ", "-----BEGIN "),
        ("://", "://"),
        ("kind: Secret", "kind: Secret\ndata:\n"),
        ("ESC", "\u{1b}[31m"),
    ];
    for (name, unit) in units {
        let took = |size: usize| {
            let text = unit.repeat(size / unit.len());
            let started = Instant::now();
            let hits = scan(rules, &text, false);
            (started.elapsed().as_secs_f64(), hits.len())
        };
        let (once, _) = took(SIZE);
        let (twice, _) = took(2 * SIZE);
        let times = twice / once;
        let each = twice * 100.0 / mb(2 * SIZE as u64);
        bars.say(out, &format!("  {name:<18}{each:>12.2}{times:>18.2}"), times <= TIMES)?;
    }
    Ok(())
}
