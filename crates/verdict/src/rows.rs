//! What verdict records add up to, taken at their word: the table of outcomes.

use lake_trace::{LineRef, Mode, Outcome, Verdict, VerdictRecord};

/// What the records of a branch claim, and which of them the claim rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    /// The first row that fits.
    pub(crate) outcome: Outcome,
    /// The first grade PASS after a baseline: it decides, whatever comes later.
    pub(crate) decides: Option<usize>,
    /// The baseline FAIL of a flip or of none.
    pub(crate) baseline: Option<usize>,
    /// The last grade, a FAIL, where nothing passed.
    pub(crate) last_fail: Option<usize>,
}

/// The outcome that the records claim, no signature looked at.
///
/// `task_id` is that of the trace's first `session_start`; the records are in file order.
pub fn recorded_outcome(task_id: Option<&str>, verdicts: &[(LineRef, VerdictRecord)]) -> Outcome {
    read(task_id, verdicts).outcome
}

/// Folds the records in file order.
pub(crate) fn read(task_id: Option<&str>, verdicts: &[(LineRef, VerdictRecord)]) -> Reading {
    let decides = first(verdicts, Mode::Baseline, None)
        .and_then(|b| Some(b + 1 + first(&verdicts[b + 1..], Mode::Grade, Some(Verdict::Pass))?));
    let mut reading = Reading { outcome: Outcome::Unproven, decides, baseline: None, last_fail: None };
    let Some(task) = task_id else { return Reading { outcome: Outcome::Untracked, ..reading } };
    if verdicts.is_empty() {
        return Reading { outcome: Outcome::Ungraded, ..reading };
    }
    // Nothing after the deciding PASS was asked for, and nothing there changes what it decided.
    let seen = &verdicts[..decides.map_or(verdicts.len(), |pass| pass + 1)];
    if let Some(pass) = decides {
        let hash = |i: usize| tests_hash(&seen[i].1);
        let baselines =
            || (0..pass).filter(|i| seen[*i].1.mode() == Some(Mode::Baseline) && same_work(task, seen, *i, pass));
        let flip =
            |i: &usize| is(&seen[*i].1, Mode::Baseline, Verdict::Fail) && hash(*i).is_some() && hash(*i) == hash(pass);
        reading.baseline = baselines().rfind(flip);
        if reading.baseline.is_some() {
            return Reading { outcome: Outcome::Flipped, ..reading };
        }
        if baselines().any(|i| hash(i).is_some() && hash(pass).is_some() && hash(i) != hash(pass)) {
            return Reading { outcome: Outcome::TestsChanged, ..reading };
        }
    }
    let grades = || seen.iter().map(|(_, r)| r).filter(|r| r.mode() == Some(Mode::Grade));
    if first(seen, Mode::Baseline, Some(Verdict::Pass)).is_some() {
        return Reading { outcome: Outcome::NoTask, ..reading };
    }
    let only_errors = grades().next().is_some() && grades().all(|r| r.verdict() == Some(Verdict::Error));
    if only_errors || first(seen, Mode::Baseline, Some(Verdict::Error)).is_some() {
        return Reading { outcome: Outcome::OracleError, ..reading };
    }
    if grades().any(|r| r.verdict() == Some(Verdict::Pass)) {
        return reading;
    }
    let last = seen.iter().rposition(|(_, r)| r.mode() == Some(Mode::Grade));
    if let Some(last) = last.filter(|i| seen[*i].1.verdict() == Some(Verdict::Fail)) {
        let fits = |i: &usize| is(&seen[*i].1, Mode::Baseline, Verdict::Fail) && same_work(task, seen, *i, last);
        reading.baseline = (0..last).rfind(fits);
        if reading.baseline.is_some() {
            return Reading { outcome: Outcome::NoFlip, last_fail: Some(last), ..reading };
        }
    }
    reading
}

fn is(record: &VerdictRecord, mode: Mode, verdict: Verdict) -> bool {
    record.mode() == Some(mode) && record.verdict() == Some(verdict)
}

fn first(verdicts: &[(LineRef, VerdictRecord)], mode: Mode, verdict: Option<Verdict>) -> Option<usize> {
    verdicts.iter().position(|(_, r)| r.mode() == Some(mode) && verdict.is_none_or(|v| r.verdict() == Some(v)))
}

/// A hash of nothing said is no hash.
pub(crate) fn tests_hash(record: &VerdictRecord) -> Option<&str> {
    record.tests_hash.as_deref().filter(|hash| !hash.is_empty())
}

/// Whether two records are of one task and base, and of no other task than the trace's own.
fn same_work(task: &str, verdicts: &[(LineRef, VerdictRecord)], a: usize, b: usize) -> bool {
    let (a, b) = (&verdicts[a].1, &verdicts[b].1);
    a.task_id == b.task_id && a.base_commit == b.base_commit && a.task_id.as_deref().is_none_or(|t| t == task)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `b` baseline, `g` grade; `P`, `F`, `E`; `2` under the second tests, `0` without a hash.
    fn outcome(records: &[&str]) -> Outcome {
        let verdicts: Vec<(LineRef, VerdictRecord)> = records
            .iter()
            .map(|r| {
                let mode = if r.starts_with('b') { "baseline" } else { "grade" };
                let verdict = match &r[1..2] {
                    "P" => "PASS",
                    "F" => "FAIL",
                    _ => "ERROR",
                };
                let tests = match r.get(2..) {
                    Some("2") => Some("sha256:2"),
                    Some("0") => None,
                    _ => Some("sha256:1"),
                };
                let record = VerdictRecord {
                    mode: Some(mode.into()),
                    verdict: Some(verdict.into()),
                    task_id: Some("t".into()),
                    base_commit: Some("ab".into()),
                    tests_hash: tests.map(str::to_owned),
                    ..VerdictRecord::default()
                };
                (LineRef::default(), record)
            })
            .collect();
        recorded_outcome(Some("t"), &verdicts)
    }

    #[test]
    fn each_row_of_the_table_has_its_records() {
        for (records, expected) in [
            (&["bF", "gP"][..], Outcome::Flipped),
            (&["bF", "gF", "gE", "gP"], Outcome::Flipped),
            (&["bF", "gP", "gF", "bP", "gE"], Outcome::Flipped),
            (&["bE", "bF", "gP"], Outcome::Flipped),
            (&["gP", "bF", "gP"], Outcome::Flipped),
            (&["bF", "gP2"], Outcome::TestsChanged),
            (&["bF", "gP2", "gP"], Outcome::TestsChanged),
            (&["bF", "bF2", "gP2"], Outcome::Flipped),
            (&["bP", "gP"], Outcome::NoTask),
            (&["bP"], Outcome::NoTask),
            (&["bE", "gP"], Outcome::OracleError),
            (&["bE"], Outcome::OracleError),
            (&["bF", "gE", "gE"], Outcome::OracleError),
            (&["bF", "gF"], Outcome::NoFlip),
            (&["bF", "gE", "gF"], Outcome::NoFlip),
            (&["bF", "gF2"], Outcome::NoFlip),
            (&[], Outcome::Ungraded),
            (&["bF"], Outcome::Unproven),
            (&["gF"], Outcome::Unproven),
            (&["gP"], Outcome::Unproven),
            (&["gP", "bF"], Outcome::Unproven),
            (&["gF", "bF"], Outcome::Unproven),
            (&["gP", "bF", "gF"], Outcome::Unproven),
            (&["bF", "gF", "gE"], Outcome::Unproven),
            (&["bF0", "gP0"], Outcome::Unproven),
            (&["bF", "gP0"], Outcome::Unproven),
        ] {
            assert_eq!(outcome(records), expected, "{records:?}");
        }
        assert_eq!(recorded_outcome(None, &[]), Outcome::Untracked);
    }

    #[test]
    fn records_of_another_task_flip_nothing() {
        let record = |mode: &str, verdict: &str, task: &str| {
            let text = |s: &str| Some(s.to_owned());
            let record = VerdictRecord {
                mode: text(mode),
                verdict: text(verdict),
                task_id: text(task),
                tests_hash: text("h"),
                ..VerdictRecord::default()
            };
            (LineRef::default(), record)
        };
        let of = |a: &str, b: &str| {
            recorded_outcome(Some("t"), &[record("baseline", "FAIL", a), record("grade", "PASS", b)])
        };
        assert_eq!(of("t", "t"), Outcome::Flipped);
        assert_eq!(of("t", "u"), Outcome::Unproven);
        assert_eq!(of("u", "t"), Outcome::Unproven);
        assert_eq!(of("u", "u"), Outcome::Unproven);
    }
}
