//! Whether what the rules' own examples hold is found, plain and in every disguise, and what the probes say.

use std::error::Error;
use std::io::Write;

use lake_secrets::{RuleSet, SessionScan, scan};
use lake_testkit::secrets::disguises::{DISGUISES, pieces};
use lake_testkit::secrets::examples::expand;

use crate::Bars;
use crate::arguments::Arguments;

/// Examples made of each in the rule files.
const SEEDS: u64 = 4;
/// Of a hundred that are found plain, so many in each disguise.
const KEPT: f64 = 99.0;

pub(crate) fn measure(
    rules: &'static RuleSet,
    arguments: &Arguments,
    out: &mut impl Write,
    bars: &mut Bars,
) -> Result<(), Box<dyn Error>> {
    probes(rules, arguments, out, bars)?;
    let all: Vec<String> = rules
        .rules()
        .iter()
        .flat_map(|rule| &rule.examples)
        .flat_map(|example| (0..SEEDS).map(move |seed| expand(example, seed * 31 + 7)))
        .collect();
    let plain: Vec<&String> = all.iter().filter(|text| !scan(rules, text, false).is_empty()).collect();
    writeln!(out, "\n{} of {} made-up examples are found plain; of these in each disguise", plain.len(), all.len())?;
    let mut say = |out: &mut _, name: &str, kept: usize| {
        let share = 100.0 * count(kept) / count(plain.len());
        bars.say(out, &format!("  {name:<22}{share:>7.2} %"), share >= KEPT)
    };
    for (name, disguise) in DISGUISES {
        let kept = plain.iter().filter(|text| !scan(rules, &disguise(text), false).is_empty()).count();
        say(out, name, kept)?;
    }
    for parts in 2..=5 {
        let is_kept = |text: &str| {
            let mut session = SessionScan::new(rules);
            for part in pieces(text, parts) {
                session.feed(&part, Some(1), false);
            }
            session.finish().is_some()
        };
        let kept = plain.iter().filter(|text| is_kept(text)).count();
        say(out, &format!("over {parts} messages"), kept)?;
    }
    Ok(())
}

fn probes(rules: &RuleSet, arguments: &Arguments, out: &mut impl Write, bars: &mut Bars) -> Result<(), Box<dyn Error>> {
    let Some(file) = &arguments.probes else { return Ok(()) };
    let text = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let (mut all, mut right) = (0usize, 0usize);
    for line in text.lines() {
        let probe: serde_json::Value = serde_json::from_str(line)?;
        let found = !scan(rules, probe["text"].as_str().unwrap_or_default(), false).is_empty();
        all += 1;
        if found == probe["secret"].as_bool().unwrap_or_default() {
            right += 1;
        } else {
            writeln!(out, "  wrong: {}", probe["name"])?;
        }
    }
    bars.say(out, &format!("{right} of {all} probes are right"), right == all)?;
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a share for a person")]
fn count(number: usize) -> f64 {
    number as f64
}
