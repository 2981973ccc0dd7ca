//! What a host leaves out: only what the oracle wrote down shows it.

use lake_trace::json::{Value, write_value};
use lake_trace::{Verdict, lines};

use super::setting::{HonestKeys, pass, task, worked};
use crate::SessionBuilder;
use crate::scenarios::work;

/// A session that lost verdicts, and the ledger that lists them. Judged with it, it gets `verdict_missing`.
#[derive(Clone, Debug)]
pub struct Stripped {
    /// What was done, as one word.
    pub name: &'static str,
    /// The session.
    pub session_id: String,
    /// Its file.
    pub bytes: Vec<u8>,
    /// The oracle's ledger, JSON lines.
    pub ledger: String,
    /// Whether the ledger brings its PASS back: what it was bound to is still there.
    pub flips: bool,
}

/// The ledger of an oracle that graded these files: what they show, in order, each once.
pub fn ledger_of(files: &[&[u8]]) -> String {
    let mut envelopes: Vec<String> = Vec::new();
    for line in files.iter().flat_map(|file| lines(file)) {
        let Ok(text) = std::str::from_utf8(line.bytes) else { continue };
        let Ok(value) = lake_trace::json::parse(text, &mut lake_trace::json::Notes::default()) else { continue };
        if let Some(signature @ Value::Obj(_)) = value.get("signature") {
            let mut envelope = String::new();
            write_value(&mut envelope, signature);
            if !envelopes.contains(&envelope) {
                envelopes.push(envelope);
            }
        }
    }
    (1..).zip(envelopes).map(|(seq, envelope)| format!("{{\"seq\":{seq},\"envelope\":{envelope}}}\n")).collect()
}

/// All of them.
pub fn stripped() -> Vec<Stripped> {
    let whole = |name: &str| {
        let mut session = worked(name);
        session.grade(Verdict::Fail, "a first diff").gate();
        work(&mut session, 2);
        session.grade(Verdict::Pass, "a second diff");
        session
    };
    let one = |name: &'static str, bytes: Vec<u8>, honest: &SessionBuilder, flips| Stripped {
        name,
        session_id: format!("attack-{name}"),
        bytes,
        ledger: ledger_of(&[honest.bytes()]),
        flips,
    };
    let without = |session: &SessionBuilder, leave: &dyn Fn(usize, &str) -> bool| -> Vec<u8> {
        let mut ended = session.clone();
        ended.end("agent", "no_flip");
        let text = String::from_utf8(ended.build()).expect("what the builder writes is UTF-8");
        text.split_inclusive('\n')
            .enumerate()
            .filter(|(i, line)| leave(*i, line))
            .map(|(_, line)| line)
            .collect::<String>()
            .into()
    };
    let is_pass = |line: &str| line.contains("\"verdict\":\"PASS\"");
    let line_pass = whole("pass_stripped");
    let work_too = whole("pass_and_work_stripped");
    let fail_at =
        String::from_utf8_lossy(work_too.bytes()).lines().position(|l| l.contains("\"attempt\":1")).unwrap_or(0);
    let all = whole("all_verdicts_stripped");
    let late = {
        let mut session = worked("pass_came_late");
        let statement = pass(&session);
        let mut honest = session.clone();
        honest.verdict(&statement, |_| ());
        session.end("agent", "oracle_error");
        (session.build(), honest)
    };
    let never = {
        let mut session =
            SessionBuilder::new("attack-fail_not_written", &task()).signed(Some(&HonestKeys::new().trusted));
        session.start().prompt().baseline(Verdict::Fail);
        work(&mut session, 1);
        let mut ghost = session.clone();
        ghost.grade(Verdict::Fail, "a first diff");
        let chained = ghost.statement(lake_trace::Mode::Grade, Verdict::Pass, "a second diff");
        let here = session.statement(lake_trace::Mode::Grade, Verdict::Pass, "a second diff");
        let pass =
            lake_verdict::Statement { trace_sha256: here.trace_sha256, trace_bytes: here.trace_bytes, ..chained };
        session.verdict(&pass, |_| ());
        ghost.verdict(&pass, |_| ());
        session.end("agent", "flipped");
        (session.build(), ghost)
    };
    vec![
        one("pass_stripped", without(&line_pass, &|_, line| !is_pass(line)), &line_pass, true),
        one(
            "pass_and_work_stripped",
            without(&work_too, &|i, line| i <= fail_at || line.contains("\"type\":\"session_end\"")),
            &work_too,
            false,
        ),
        one("all_verdicts_stripped", without(&all, &|_, line| !line.contains("oracle_verdict")), &all, false),
        one("pass_came_late", late.0, &late.1, true),
        one("fail_not_written", never.0, &never.1, true),
    ]
}
