//! Honest signatures in the wrong place: another session, another record, another attempt.

use lake_trace::{Mode, Verdict};
use lake_verdict::Statement;

use super::setting::{Attack, HonestKeys, task, with, with_statement, worked};
use crate::SessionBuilder;
use crate::scenarios::{flipped_session, rounds, work};

pub(super) fn attacks() -> Vec<Attack> {
    let of_another = |name, flag, change: fn(&mut Statement)| Attack::new(name, flag, with_statement(name, change));
    let mut all = vec![
        copied_from_another_session(),
        of_another("other_repository", "wrong_repo", |s| s.repo = "github.com/acme/web".to_owned()),
        of_another("other_task", "wrong_task", |s| s.task_id = "billing-8".to_owned()),
        of_another("other_base", "wrong_base", |s| s.base_commit = "0".repeat(40)),
        Attack::new(
            "event_says_pass",
            "field_mismatch",
            with("event_says_pass", |session| {
                let fail = session.statement(Mode::Grade, Verdict::Fail, "a diff");
                session.verdict(&fail, |record| record.verdict = Some("PASS".to_owned()));
            }),
        ),
        Attack::new(
            "baseline_shown_as_grade",
            "field_mismatch",
            with("baseline_shown_as_grade", |session| {
                let baseline = session.statement(Mode::Baseline, Verdict::Pass, "");
                session.verdict(&baseline, |record| {
                    record.mode = Some("grade".to_owned());
                    record.attempt = Some(1);
                });
            }),
        ),
        Attack::new(
            "attempt_shown_as_another",
            "field_mismatch",
            with("attempt_shown_as_another", |session| {
                let mut second = session.statement(Mode::Grade, Verdict::Pass, "a diff");
                second.attempt = 2;
                session.verdict(&second, |record| record.attempt = Some(1));
            }),
        ),
        Attack::new(
            "other_diff_shown",
            "field_mismatch",
            with("other_diff_shown", |session| {
                let pass = session.statement(Mode::Grade, Verdict::Pass, "a diff");
                session.verdict(&pass, |record| record.diff_sha256 = Some("1".repeat(64)));
            }),
        ),
    ];
    all.extend(chain());
    all
}

fn chain() -> Vec<Attack> {
    let mut honest = worked("fail_removed_after");
    honest.grade(Verdict::Fail, "a first diff").gate();
    work(&mut honest, 2);
    honest.grade(Verdict::Pass, "a second diff").end("agent", "flipped");
    let mut seen = 0;
    let without_fail: Vec<u8> = honest
        .build()
        .split_inclusive(|b| *b == b'\n')
        .filter(|line| {
            let verdict = String::from_utf8_lossy(line).contains("\"type\":\"oracle_verdict\"");
            seen += usize::from(verdict);
            !(verdict && seen == 2)
        })
        .flatten()
        .copied()
        .collect();
    vec![
        Attack::new("fail_removed_after", "chain_gap", without_fail),
        // The FAIL never reached the file, and the PASS was graded on the file without it.
        Attack::new(
            "fail_never_written",
            "chain_gap",
            with("fail_never_written", |session| {
                let mut ghost = session.clone();
                ghost.grade(Verdict::Fail, "a first diff");
                let chained = ghost.statement(Mode::Grade, Verdict::Pass, "a second diff");
                let here = session.statement(Mode::Grade, Verdict::Pass, "a second diff");
                let statement = Statement { trace_sha256: here.trace_sha256, trace_bytes: here.trace_bytes, ..chained };
                session.verdict(&statement, |_| ());
            }),
        ),
        Attack::new(
            "prev_of_nothing",
            "chain_gap",
            with_statement("prev_of_nothing", |statement| statement.prev = None),
        ),
        Attack::new(
            "run_used_twice",
            "replayed_run",
            with("run_used_twice", |session| {
                let fail = session.statement(Mode::Grade, Verdict::Fail, "a first diff");
                session.verdict(&fail, |_| ()).gate();
                work(session, 2);
                let pass = session.statement(Mode::Grade, Verdict::Pass, "a second diff");
                session.verdict(&Statement { run_id: fail.run_id, ..pass }, |_| ());
            }),
        ),
    ]
}

/// The envelope of an honest session, pasted into one that did nothing for it.
fn copied_from_another_session() -> Attack {
    let name = "copied_from_another_session";
    let key = HonestKeys::new().trusted;
    let id = "honest-beside-copy";
    let mut honest = SessionBuilder::new(id, &task()).signed(Some(&key));
    honest.start().prompt().baseline(Verdict::Fail);
    let mut shown = honest.clone();
    work(&mut shown, 1);
    let stolen = shown.statement(Mode::Grade, Verdict::Pass, &crate::scenarios::diff_of(id, 1));
    rounds(&mut honest, &[Verdict::Pass]);
    honest.end("agent", "flipped");
    let bytes = with(name, |session| {
        session.verdict(&stolen, |_| ());
    });
    let others = vec![(id.to_owned(), honest.build()), honest_session("honest-bystander", &key)];
    Attack { others, ..Attack::new(name, "wrong_session", bytes) }
}

fn honest_session(id: &str, key: &crate::OracleKey) -> (String, Vec<u8>) {
    (id.to_owned(), flipped_session(id, &task(), Some(key)))
}
