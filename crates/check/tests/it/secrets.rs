//! Secrets: where they are found, and what is said of them.

use lake_check::{Options, Report};
use lake_secrets::AllowList;
use lake_store::CheckRow;
use lake_testkit::{Object, SessionBuilder, Task, demo_sessions, demo_trust, made_up_github_token};

use crate::lake::{TestLake, options};

fn demo() -> (TestLake, Options) {
    let sessions: Vec<Vec<u8>> = demo_sessions().into_iter().map(|(_, bytes)| bytes).collect();
    (TestLake::of(&sessions), options(Some(&demo_trust())))
}

fn session() -> SessionBuilder {
    SessionBuilder::new("s", &Task::new("github.com/acme/billing", "t"))
}

fn of(session: SessionBuilder) -> (CheckRow, Report) {
    let lake = TestLake::of([&session.build()]);
    let options = options(None);
    let report = lake.check(&options);
    (lake.secrets(&options).remove(0), report)
}

fn fields(row: &CheckRow) -> Vec<(&str, u64)> {
    row.findings.iter().map(|f| (f.field.as_str(), f.line)).collect()
}

#[test]
fn the_planted_token_is_found_where_it_stands_and_its_value_is_in_no_row() {
    let (lake, options) = demo();
    let report = lake.check(&options);
    assert_eq!(report.with_secrets, 1);
    assert_eq!(report.findings_by_rule.into_iter().collect::<Vec<_>>(), [("github-token".to_owned(), 1)]);
    let rows = lake.secrets(&options);
    assert_eq!(rows.len(), 11);
    let found: Vec<&CheckRow> = rows.iter().filter(|row| row.result == "found").collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].session_id, "demo-10-secret");
    let finding = &found[0].findings[0];
    let start = "HOME=/home/dev\nGITHUB_TOKEN=".len() as u64;
    let span = (start, start + made_up_github_token().len() as u64);
    assert_eq!((finding.field.as_str(), finding.start, finding.end), ("/output", span.0, span.1));
    assert!(finding.line > 0 && !finding.event_id.is_empty() && finding.fingerprint.len() == 32, "{finding:?}");
    assert!(!format!("{rows:?}{:?}", report.secrets).contains(&made_up_github_token()));
    assert_eq!(report.secrets.len(), 1);
    assert_eq!(report.secrets[0].session_id, "demo-10-secret");
}

#[test]
fn a_secret_is_found_in_every_kind_of_field() {
    let token = made_up_github_token();
    let mut session = session();
    session.start().message("assistant", &format!("it is {token}")).thinking("so", &format!("that is {token}"));
    session.call_with("Bash", Object::new().raw("env", &format!("[1,{{\"a/b\":\"{token}\"}}]")), |fields| {
        fields.raw("output", &format!("{{\"{token}\":1}}"))
    });
    session.event("note", Object::new().text("unheard_of", &token));
    session.event("note", Object::new().raw("ext", &format!("{{\"deep\":[[\"{token}\"]]}}")));
    session.raw(format!("not json: {token}\n"));
    session.raw(format!(
        "{{\"type\":\"note\",\"session_id\":\"s\",\"ts\":\"2025-06-02T09:00:00Z\",\"a\":\"{token}\",\"a\":\"b\"}}\n"
    ));
    let (row, report) = of(session);
    assert_eq!(
        fields(&row),
        [
            ("/text", 2),
            ("/thinking", 3),
            ("/input/env/1/a~1b", 4),
            ("/output/<SECRET:github-token:0>", 4),
            ("/unheard_of", 5),
            ("/ext/deep/0/0", 6),
            ("", 7),
            ("", 8)
        ]
    );
    assert_eq!((row.result.as_str(), report.with_secrets), ("found", 1));
    assert!(!format!("{row:?}{:?}", report.secrets).contains(&token));
}

#[test]
fn a_secret_that_is_split_over_messages_is_found_whatever_lies_between() {
    let token = made_up_github_token();
    let (head, tail) = token.split_at(17);
    let mut session = session();
    session.start().prompt().message("assistant", &format!("the token is {head}"));
    session.call("Bash", &[("command", "ls")], "nothing to see");
    session.message("assistant", &format!("{tail} as you see"));
    let (row, _) = of(session);
    assert_eq!(fields(&row), [("/text", 3), ("/text", 5)]);
    assert_eq!(row.findings[0].fingerprint, row.findings[1].fingerprint);
    assert_eq!((row.findings[1].start, row.findings[1].end), (0, tail.len() as u64));
}

#[test]
fn a_value_that_its_name_gives_away_is_found_before_that_and_by_itself() {
    let value = "kZ8vQ2mX7wR4tB9nL3pD";
    let mut session = session();
    session.start().message("assistant", &format!("I will use {value} there."));
    session.call_with("Login", Object::new().text("password", value), |fields| fields.text("output", "ok"));
    let (row, _) = of(session);
    assert_eq!(fields(&row), [("/text", 2), ("/input/password", 3)]);
}

#[test]
fn what_the_allow_list_lets_pass_is_neither_found_nor_clean_for_ever() {
    let (lake, plain) = demo();
    let list = format!("[[allow]]\nliteral='{}'\nreason='opens nothing'\nexpires=2027-01-01\n", made_up_github_token());
    let allow = AllowList::parse(&list).expect("an allow list");
    let mut options = Options { allow, ..plain };
    let report = lake.check(&options);
    assert_eq!((report.looked_at_secrets, report.with_secrets, report.allowed), (11, 0, 1));
    assert!(report.findings_by_rule.is_empty());
    let again = lake.check(&options);
    assert_eq!((again.looked_at_secrets, again.allowed, again.rows, again.already), (1, 1, 0, 10));
    // 2027-01-02
    options.now_ms = 1_798_848_000_000;
    let expired = lake.check(&options);
    assert_eq!((expired.looked_at_secrets, expired.with_secrets, expired.rows), (1, 1, 1));
    let after = lake.check(&options);
    assert_eq!((after.looked_at_secrets, after.rows), (0, 0));
}

#[test]
fn of_a_list_of_secrets_a_row_lists_no_more_than_ten_thousand() {
    let token = made_up_github_token();
    let mut session = session();
    session.start().call("Bash", &[("command", "cat")], &format!("{token}\n").repeat(10_050));
    let (row, report) = of(session);
    assert_eq!(row.findings.len(), 10_000);
    assert_eq!(row.findings[9_999].detail, "and 50 more, which are not listed");
    assert_eq!(report.secrets.len(), 100);
}
