//! One change of a signed session: it costs the row, or the row is the same as without it.

use std::sync::LazyLock;

use lake_export::Request;
use lake_testkit::{Object, SessionBuilder, Task, scenarios};
use lake_trace::{Mode, Verdict, lines};
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::lake::{Lake, key, run, signed_request};

/// A session that failed once, passed, and went on a little.
static HONEST: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let task = Task::new("github.com/acme/billing", "bill-1");
    let mut session = scenarios::graded("s-1", &task, Some(&key()), &[Verdict::Fail, Verdict::Pass]);
    session.message("assistant", "All done.").end("agent", "flipped");
    session.build()
});

static ROW: LazyLock<Value> = LazyLock::new(|| sft(&HONEST).expect("the honest session has a row"));

fn sft(bytes: &[u8]) -> Option<Value> {
    let done = run(&Lake::of([bytes.to_vec()]), Request { preference: false, ..signed_request() });
    assert!(done.sft().len() <= 1);
    done.sft().pop()
}

/// Where the line of the deciding PASS begins: what it graded ends there.
static GRADED: LazyLock<usize> = LazyLock::new(|| {
    let at = lines(&HONEST).find(|line| String::from_utf8_lossy(line.bytes).contains("\"verdict\":\"PASS\""));
    at.expect("a PASS").start
});

#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    /// A byte of an envelope.
    Envelope(Index, Index, u8),
    /// A field of an event gets another value.
    Field(Index, Index),
    Remove(Index),
    Double(Index, Index),
    Move(Index, Index),
    Add(Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(i, b)| Change::Byte(i, b)),
        (at(), at(), any::<u8>()).prop_map(|(i, j, b)| Change::Envelope(i, j, b)),
        (at(), at()).prop_map(|(i, j)| Change::Field(i, j)),
        at().prop_map(Change::Remove),
        (at(), at()).prop_map(|(i, j)| Change::Double(i, j)),
        (at(), at()).prop_map(|(i, j)| Change::Move(i, j)),
        (at(), any::<usize>()).prop_map(|(i, n)| Change::Add(i, n)),
    ]
}

fn new_line(which: usize) -> Vec<u8> {
    let task = Task::new("github.com/acme/billing", "bill-1");
    let mut session = SessionBuilder::new("s-1", &task);
    match which % 5 {
        0 => session.message("assistant", "never said"),
        1 => session.grade(Verdict::Pass, "another diff"),
        2 => session.event("session_start", Object::new().text("task_id", "easier")),
        3 => session.raw("{broken\n"),
        _ => session.record(&lake_testkit::record_of(&session.statement(Mode::Baseline, Verdict::Pass, ""))),
    };
    session.build()
}

fn apply(change: &Change) -> Vec<u8> {
    let bytes = HONEST.as_slice();
    let mut all: Vec<Vec<u8>> = lines(bytes).map(|line| bytes[line.start..line.end].to_vec()).collect();
    let count = all.len();
    match change {
        Change::Byte(at, byte) => {
            let mut out = bytes.to_vec();
            out[at.index(bytes.len())] = *byte;
            return out;
        }
        Change::Envelope(which, at, byte) => {
            let signed: Vec<usize> =
                (0..count).filter(|i| String::from_utf8_lossy(&all[*i]).contains("\"payloadType\"")).collect();
            let line = &mut all[signed[which.index(signed.len())]];
            let from = String::from_utf8_lossy(line).find("\"signature\"").expect("an envelope");
            let at = from + at.index(line.len() - from);
            line[at] = *byte;
        }
        Change::Field(which, field) => {
            let line = &mut all[which.index(count)];
            let mut event: Value = serde_json::from_slice(line).expect("JSON");
            let members = event.as_object_mut().expect("an object");
            let name = members.keys().nth(field.index(members.len())).expect("a field").clone();
            let other = match &members[&name] {
                Value::String(text) => Value::from(format!("{text}x")),
                Value::Number(n) => Value::from(n.as_u64().unwrap_or(0) + 1),
                _ => Value::Null,
            };
            members.insert(name, other);
            *line = format!("{event}\n").into_bytes();
        }
        Change::Remove(at) => drop(all.remove(at.index(count))),
        Change::Double(from, to) => {
            let line = all[from.index(count)].clone();
            all.insert(to.index(count + 1), line);
        }
        Change::Move(from, to) => {
            let line = all.remove(from.index(count));
            all.insert(to.index(count), line);
        }
        Change::Add(at, which) => all.insert(at.index(count + 1), new_line(*which)),
    }
    all.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_change_costs_the_row_or_changes_nothing_of_it(change in change()) {
        let changed = apply(&change);
        let same_start = changed.len() >= *GRADED && changed[..*GRADED] == HONEST[..*GRADED];
        if let Some(row) = sft(&changed) {
            prop_assert!(same_start, "a row of what was not graded");
            prop_assert_eq!(&row, &*ROW);
        }
    }
}

#[test]
fn what_was_added_behind_the_pass_leaves_the_row_as_it_is() {
    for which in [0, 1, 2, 3, 4] {
        let changed = [HONEST.as_slice(), &new_line(which)].concat();
        assert_eq!(sft(&changed).as_ref(), Some(&*ROW), "{which}");
    }
}
