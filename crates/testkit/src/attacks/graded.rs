//! Honest verdicts over work that is worth nothing: in no set, on either side.

use lake_trace::{Mode, Verdict};

use super::setting::{Attack, HonestKeys, task, with, with_statement};
use crate::scenarios::{flipped_session, rounds, work};
use crate::{EMPTY_SHA256, SessionBuilder, sha256_hex};

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new("work_was_there_before", "dirty_start", dirty_start("work_was_there_before")),
        Attack::new(
            "pass_on_nothing",
            "flaky",
            with_statement("pass_on_nothing", |statement| statement.diff_sha256 = EMPTY_SHA256.to_owned()),
        ),
        Attack::new(
            "pass_on_a_failed_diff",
            "flaky",
            with("pass_on_a_failed_diff", |session| {
                session.grade(Verdict::Fail, "the same diff").gate();
                work(session, 2);
                session.grade(Verdict::Pass, "the same diff");
            }),
        ),
        Attack::new(
            "other_tests",
            "tests_changed",
            with("other_tests", |session| {
                let mut statement = session.statement(Mode::Grade, Verdict::Pass, "a diff");
                statement.tests_hash = format!("sha256:{}", sha256_hex("easier tests"));
                session.verdict(&statement, |_| ());
            }),
        ),
        retracts_another(),
    ]
}

fn dirty_start(name: &str) -> Vec<u8> {
    let mut session = SessionBuilder::new(&format!("attack-{name}"), &task()).signed(Some(&HonestKeys::new().trusted));
    let fields = session.start_fields("startup").build().replace(EMPTY_SHA256, &sha256_hex("work done before"));
    let line = session.line("session_start", crate::Object::new());
    session.raw(format!("{},{}\n", &line[..line.len() - 1], &fields[1..]));
    session.prompt().baseline(Verdict::Fail);
    rounds(&mut session, &[Verdict::Pass]);
    session.end("agent", "flipped");
    session.build()
}

/// A session that is flipped itself and asks for another one's retraction, which it may not.
fn retracts_another() -> Attack {
    let name = "retracts_another";
    let key = HonestKeys::new().trusted;
    let honest = "honest-to-be-retracted";
    let mut session = SessionBuilder::new(&format!("attack-{name}"), &task()).signed(Some(&key));
    session.start().prompt().baseline(Verdict::Fail).correct(honest, "retract", "I do not like it");
    rounds(&mut session, &[Verdict::Pass]);
    session.end("agent", "flipped");
    let others = vec![(honest.to_owned(), flipped_session(honest, &task(), Some(&key)))];
    Attack { expected_flag: None, others, ..Attack::new(name, "", session.build()) }
}
