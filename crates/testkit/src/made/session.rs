//! Writes one made session.

use lake_trace::Verdict;

use super::plan::Plan;
use super::{Corpus, Random};
use crate::scenarios::diff_of;
use crate::{Object, OracleKey, SessionBuilder};

const FEWEST_LINES: u64 = 20;
/// Room is left below 200 for verdicts, gate messages and the end.
const MOST_LINES: u64 = 185;
/// What comes once a goal is reached, bytes: the rest of a step, and the last verdict.
const AFTER_GOAL: u64 = 5_000;

/// The bytes of a session.
pub(super) fn make(plan: &Plan, key: &OracleKey, corpus: &Corpus) -> Vec<u8> {
    let mut random = plan.random.clone();
    let mut task = plan.task();
    let mut of_task = plan.of_task();
    let about = 300 + of_task.below(900) as usize;
    let id = task.task_id.as_deref().unwrap_or_default();
    task.prompt = format!("Please fix {id}.\n\n{}", corpus.piece(&mut of_task, about));
    let mut session = SessionBuilder::new(&plan.id, &task).signed(Some(key)).clock(plan.start_ms);
    session.start().message("system", "You are a careful engineer. Work in the repository until the task is done.");
    session.prompt().baseline(Verdict::Fail);

    // Small sessions have short outputs, else they would have too few lines.
    let typical = (plan.size / 60).clamp(500, 5_000);
    let mut lines = 4;
    for grade in 1..=plan.grades {
        let goal = plan.size.saturating_sub(AFTER_GOAL) * grade / plan.grades;
        let fewest = FEWEST_LINES * grade / plan.grades;
        while (session.bytes().len() as u64) < goal || lines < fewest {
            if lines >= MOST_LINES * grade / plan.grades {
                break;
            }
            lines += step(&mut session, &mut random, corpus, typical);
        }
        session.message("assistant", "Done. The tests that I ran pass.");
        let last = grade == plan.grades;
        let verdict = if last && plan.flips { Verdict::Pass } else { Verdict::Fail };
        session.grade(verdict, &diff_of(&plan.id, grade));
        if !last {
            session.gate();
        }
        lines += 3;
    }
    session.end("agent", if plan.flips { "flipped" } else { "no_flip" });
    session.build()
}

/// The agent says what it is about to do and does it; sometimes it makes two calls at once. Says how many lines it was.
fn step(session: &mut SessionBuilder, random: &mut Random, corpus: &Corpus, typical: u64) -> u64 {
    let about = 60 + random.below(240) as usize;
    let text = corpus.piece(random, about);
    if random.below(4) == 0 {
        let about = 100 + random.below(500) as usize;
        session.thinking(text, corpus.piece(random, about));
    } else {
        session.message("assistant", text);
    }
    let calls = if random.below(8) == 0 { 2 } else { 1 };
    let response = format!("resp_{}", random.next());
    for _ in 0..calls {
        call(session, random, corpus, typical, (calls > 1).then_some(response.as_str()));
    }
    1 + calls
}

fn call(session: &mut SessionBuilder, random: &mut Random, corpus: &Corpus, typical: u64, response: Option<&str>) {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most four times 5,000")]
    let len = (400 + (random.leaning(3) * 4.0 * typical as f64) as u64).min(20_000) as usize;
    let file = format!("src/module_{:02}.rs", random.below(60));
    let (tool, input, output) = match random.below(6) {
        0 => ("Grep", Object::new().text("pattern", "fn ").text("path", "src"), corpus.piece(random, len)),
        1 | 2 => ("Read", Object::new().text("file_path", &file), corpus.piece(random, len)),
        3 => {
            let (old, new) = (corpus.piece(random, 200), corpus.piece(random, 260));
            let input = Object::new().text("file_path", &file).text("old_string", old).text("new_string", new);
            ("Edit", input, corpus.piece(random, 400))
        }
        _ => {
            let command = format!("cargo test --lib module_{:02} 2>&1 | tail -n 80", random.below(60));
            let input = Object::new().text("command", &command).text("description", "Run the tests of the module");
            ("Bash", input, corpus.piece(random, len))
        }
    };
    let failed = random.below(12) == 0;
    session.call_with(tool, input, |fields| {
        let fields = fields.text("output", output).text("status", if failed { "error" } else { "ok" });
        match response {
            Some(response) => fields.text("response_id", response),
            None => fields,
        }
    });
}
