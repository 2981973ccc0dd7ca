//! Names, places and numbers of files.

use lake_trace::Verdict;

use super::fixture::{Fixture, begun, finish, path_of, session, task};
use crate::SessionBuilder;
use crate::scenarios::rounds;

/// The whole lines of a file up to its `count`-th.
fn first_lines(bytes: &[u8], count: usize) -> Vec<u8> {
    bytes.split_inclusive(|b| *b == b'\n').take(count).flatten().copied().collect()
}

fn plain(name: &str) -> Vec<u8> {
    session(name, |_| ())
}

pub(super) fn fixtures() -> Vec<Fixture> {
    let copy = plain("copy_in_two_files");
    let prefix = plain("prefix_in_two_files");
    let hosts = plain("walked_sub_folder");
    let long_id = "d".repeat(256);
    let odd_id = |id: &str| {
        let mut session = SessionBuilder::new(id, &task());
        session.start().prompt();
        finish(&mut session);
        session.build()
    };
    let mut no_end = begun("no_session_end");
    no_end.baseline(Verdict::Fail);
    rounds(&mut no_end, &[Verdict::Pass]);
    let mut only_agent_end = begun("only_a_sub_agents_end");
    only_agent_end.set_agent(Some("agent-1")).end("agent", "none");
    vec![
        Fixture::one("copy_in_two_files", "The same session in two files: one set of rows.", copy.clone())
            .file("traces/backup/copy.jsonl", copy),
        Fixture::one("prefix_in_two_files", "A prefix of a session in another file adds nothing.", prefix.clone())
            .file("traces/backup/prefix.jsonl", first_lines(&prefix, 5)),
        same_first_line(),
        different_first_line(),
        Fixture::one("empty_file", "No line, no session.", Vec::new()).branches(0, &[]),
        Fixture::one("only_blank_lines", "No line, no session.", b"\n\n \n".to_vec()).branches(0, &[]),
        Fixture::one("only_rejects", "No good line: its rejects are kept under the file's name.", b"x\n{}\n".to_vec())
            .rejects(2),
        Fixture::one(
            "no_session_end",
            "Finished once it has not grown for `--idle`; ended by `sweep`.",
            no_end.build(),
        ),
        Fixture::one(
            "only_a_sub_agents_end",
            "An end with an `agent_id` is not the session's.",
            only_agent_end.build(),
        ),
        Fixture {
            files: vec![("traces/2025/06/deep.jsonl".to_owned(), hosts)],
            ..Fixture::one("walked_sub_folder", "Sub-folders are walked; the file's name says nothing.", Vec::new())
        },
        Fixture::one("other_files", "Only `traces/**/*.jsonl` is read.", plain("other_files"))
            .file("traces/notes.txt", b"not a trace\n".to_vec())
            .file("traces/odd-other_files.jsonl.tmp", b"{\"half\":\n".to_vec())
            .file("state/cursor.jsonl", b"{\"own\":1}\n".to_vec())
            .file("diffs/e3b0c442.patch", Vec::new()),
        Fixture {
            files: vec![("traces/nom with space \u{e9}.jsonl".to_owned(), odd_id("../../etc/passwd"))],
            ..Fixture::one("path_as_session_id", "An id that looks like a path stays a name.", Vec::new())
        },
        Fixture {
            files: vec![("traces/long.jsonl".to_owned(), odd_id(&long_id))],
            ..Fixture::one("longest_session_id", "An id of 256 characters.", Vec::new())
        },
        Fixture::one("no_session_start", "Without a start the session belongs to nobody known.", {
            let mut session = SessionBuilder::new("odd-no_session_start", &task());
            session.prompt().message("assistant", "Hello.").end("agent", "untracked");
            session.build()
        }),
        Fixture::one("org_override", "`org` takes the place of the remote's.", {
            let mut task = task();
            task.org = Some("Acme Works".to_owned());
            let mut session = SessionBuilder::new("odd-org_override", &task);
            session.start().prompt();
            finish(&mut session);
            session.build()
        }),
    ]
}

/// Two sessions that share their id and their first line, and part after it.
fn same_first_line() -> Fixture {
    let name = "one_id_same_first_line";
    let mut other = begun(name);
    other.message("assistant", "Another story.").end("user", "ungraded");
    Fixture::one(name, "Two sessions under one id that share a first line: two branches.", plain(name))
        .file("traces/odd-one_id_same_first_line.resumed.jsonl", other.build())
        .branches(2, &["rewritten"])
}

/// Two sessions that share nothing but their id.
fn different_first_line() -> Fixture {
    let name = "one_id_other_first_line";
    let mut other = SessionBuilder::new(&format!("odd-{name}"), &task()).clock(1_748_941_200_000);
    other.start().prompt().message("assistant", "Another day.").end("user", "ungraded");
    Fixture {
        files: vec![(path_of(name), plain(name)), ("traces/zz-host-b.jsonl".to_owned(), other.build())],
        ..Fixture::one(name, "Two sessions under one id: two branches, files in path order.", Vec::new())
    }
    .branches(2, &["mixed_session"])
}
