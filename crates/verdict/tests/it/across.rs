//! What only all sessions together show.

use lake_trace::{Mode, Verdict};
use lake_verdict::{Across, Claim, Judged, Statement};

use crate::build::*;

/// The flags that each claim gets, whatever the order of adding.
fn flags(claims: &[Claim]) -> Vec<Vec<&'static str>> {
    let ask = |order: &mut dyn Iterator<Item = &Claim>| -> Vec<Vec<&'static str>> {
        let mut across = Across::new();
        order.for_each(|claim| across.add(claim));
        claims.iter().map(|c| across.flags(c).into_iter().map(|f| f.as_str()).collect()).collect()
    };
    let forth = ask(&mut claims.iter());
    assert_eq!(forth, ask(&mut claims.iter().rev()));
    forth
}

fn open(trace: &Trace) -> Judged {
    judge_bytes(&trace.bytes, None, false)
}

#[test]
fn the_later_of_two_branches_with_one_run_is_the_copy() {
    let judged = session(Verdict::Pass).judge();
    let claims: Vec<Claim> = (0..3).map(|branch| judged.claim(SESSION, branch, 1)).collect();
    assert_eq!(flags(&claims), [vec![], vec!["replayed_run"], vec!["replayed_run"]]);
}

#[test]
fn a_branch_that_proves_nothing_takes_no_run() {
    let honest = session(Verdict::Pass);
    let edited = String::from_utf8(honest.bytes.clone()).expect("text").replace("more work", "less work");
    let copy = judge_bytes(edited.as_bytes(), Some(&trust()), true);
    assert_eq!(flags(&[copy.claim(SESSION, 0, 1), honest.judge().claim(SESSION, 1, 1)]), [vec![""; 0], vec![]]);
}

#[test]
fn a_flip_comes_before_a_negative_with_its_run() {
    let mut failed = session(Verdict::Fail);
    failed.end("agent");
    let mut passed = started();
    let pass = Statement {
        run_id: "run-2".into(),
        diff_sha256: sha(b"other"),
        ..passed.statement(Mode::Grade, Verdict::Pass)
    };
    passed.sign(&pass);
    let claims = [failed.judge().claim(SESSION, 0, 1), passed.judge().claim(SESSION, 1, 1)];
    assert_eq!(flags(&claims), [vec!["replayed_run"], vec![]]);
}

#[test]
fn what_no_signature_proves_costs_no_other_session() {
    let mut claimed = Trace::new();
    claimed.unsigned(Mode::Baseline, Verdict::Fail);
    claimed.unsigned(Mode::Grade, Verdict::Fail);
    claimed.unsigned(Mode::Grade, Verdict::Pass);
    let honest = session(Verdict::Pass).judge();
    let claims = [
        open(&claimed).claim("other", 0, 1),
        open(&claimed).claim(SESSION, 0, 2),
        honest.claim(SESSION, 1, 2),
        open(&claimed).claim("third", 0, 0),
    ];
    let copy = vec!["replayed_run"];
    assert_eq!(flags(&claims), [copy.clone(), copy.clone(), vec![], copy.clone()]);
    // Without the one that is proven, each session has its own; a second branch is a copy.
    let claims = [claims[0].clone(), open(&claimed).claim("other", 1, 1), claims[3].clone()];
    assert_eq!(flags(&claims), [vec![], copy, vec![]]);
}

#[test]
fn a_diff_that_failed_elsewhere_is_flaky() {
    let mut failed = Trace::new();
    failed.signed(Mode::Baseline, Verdict::Fail);
    failed.signed(Mode::Grade, Verdict::Fail);
    let passes = |change: fn(&mut Statement)| {
        let mut trace = started();
        let mut pass = trace.statement(Mode::Grade, Verdict::Pass);
        change(&mut pass);
        trace.sign(&pass);
        trace.judge()
    };
    let same = passes(|_| ());
    let other = passes(|s| s.diff_sha256 = sha(b"other"));
    let claims = [failed.judge().claim("a", 0, 1), same.claim("b", 0, 2), other.claim("c", 0, 3)];
    let runs = |f: &Vec<&'static str>| f.contains(&"flaky");
    assert_eq!(flags(&claims).iter().map(runs).collect::<Vec<_>>(), [false, true, false]);
    // A FAIL that nobody signed is worth nothing elsewhere.
    let mut unsigned = Trace::new();
    unsigned.unsigned(Mode::Baseline, Verdict::Fail);
    unsigned.unsigned(Mode::Grade, Verdict::Fail);
    let claim = open(&unsigned).claim("a", 0, 1);
    assert!(claim.is_empty() || !flags(&[claim, same.claim("b", 0, 2)])[1].contains(&"flaky"));
}
