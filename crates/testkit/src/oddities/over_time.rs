//! Files that are not the same at the next run.

use lake_trace::Verdict;

use super::fixture::{Fixture, begun, finish, path_of, session};

pub(super) fn fixtures() -> Vec<Fixture> {
    vec![
        partial_last_line(),
        two_ends(),
        resume_after_end(),
        growth(),
        rewritten(),
        rewritten_and_grown(),
        truncated(),
        emptied(),
        moved(),
    ]
}

/// The last line is half there at the first run and whole at the next.
fn partial_last_line() -> Fixture {
    let name = "partial_last_line";
    let mut writer = begun(name);
    finish(&mut writer);
    let mut whole = writer.bytes().to_vec();
    writer.message("user", "Thank you, and good bye.");
    let line = writer.bytes()[whole.len()..].to_vec();
    whole.extend_from_slice(&line[..line.len() / 2]);
    Fixture::one(name, "A last line without a newline is not a line yet.", whole).later(writer.build())
}

fn two_ends() -> Fixture {
    let name = "two_session_ends";
    let mut writer = begun(name);
    finish(&mut writer);
    writer.end("user", "flipped");
    Fixture::one(name, "Of two ends the last one wins.", writer.build())
}

fn resume_after_end() -> Fixture {
    let name = "resume_after_end";
    let mut writer = begun(name);
    finish(&mut writer);
    let resumed = writer.start_fields("resume");
    writer.event("session_start", resumed).message("user", "One more thing.").message("assistant", "Done.");
    writer.end("user", "flipped");
    Fixture::one(name, "A resume after the end is the same session.", writer.build())
}

/// The first run sees a FAIL, the next a PASS after it.
fn growth() -> Fixture {
    let name = "growth";
    let mut writer = begun(name);
    writer.baseline(Verdict::Fail);
    crate::scenarios::work(&mut writer, 1);
    writer.grade(Verdict::Fail, "a first diff").end("agent", "no_flip");
    let first = writer.bytes().to_vec();
    let resumed = writer.start_fields("resume");
    writer.event("session_start", resumed).gate();
    crate::scenarios::work(&mut writer, 2);
    writer.grade(Verdict::Pass, "a second diff").end("agent", "flipped");
    Fixture::one(name, "What was added is a further segment.", first).later(writer.build())
}

fn edited(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes)
        .replace("Let me look at the code first.", "I know this code by heart....")
        .into_bytes()
}

/// A line in the middle was edited: the file is as long as before.
fn rewritten() -> Fixture {
    let name = "rewritten";
    let bytes = session(name, |_| ());
    let later = edited(&bytes);
    Fixture::one(name, "What is in the lake stays; the file is a new branch.", bytes)
        .later(later)
        .branches(2, &["rewritten"])
}

fn rewritten_and_grown() -> Fixture {
    let name = "rewritten_and_grown";
    let mut writer = begun(name);
    finish(&mut writer);
    let first = writer.bytes().to_vec();
    writer.message("user", "Thank you.").end("user", "flipped");
    let later = edited(writer.bytes());
    Fixture::one(name, "Edited and longer: a new branch.", first).later(later).branches(2, &["rewritten"])
}

fn truncated() -> Fixture {
    let name = "truncated";
    let bytes = session(name, |_| ());
    let later: Vec<u8> = bytes.split_inclusive(|b| *b == b'\n').take(4).flatten().copied().collect();
    Fixture::one(name, "A shorter prefix is nothing new.", bytes).later(later)
}

fn emptied() -> Fixture {
    let name = "emptied";
    Fixture::one(name, "What is in the lake stays.", session(name, |_| ())).later(Vec::new())
}

fn moved() -> Fixture {
    let name = "moved_data_dir";
    let bytes = session(name, |_| ());
    let later = vec![(path_of(name).replace("traces/", "traces/moved/"), bytes.clone())];
    Fixture { later, ..Fixture::one(name, "A file that moved adds nothing.", bytes) }
}
