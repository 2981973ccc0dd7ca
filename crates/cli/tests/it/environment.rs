//! Homes, terminals, variables.

use crate::asked::skip;
use crate::kit::{Kit, demo_dir, trust_file};
use crate::rows::{rows, same};

#[test]
fn a_home_that_cannot_be_written_to_costs_time_and_nothing_else() {
    let kit = Kit::with_demo();
    kit.data_dir("data");
    kit.sh("chmod -R a+rX . && chmod a+rwx . && chmod 555 home").exits(0);
    let other = "if [ $(id -u) = 0 ]; then P='setpriv --reuid 65534 --regid 65534 --clear-groups'; fi; $P $T";
    let sync = format!("{other} sync --lake mine --data-dir data --source demo --idle 0s");
    kit.sh(&sync).exits(3).prints(&["new 11"]);
    kit.sh(&sync).exits(0).prints(&["new 0", "unchanged 11"]);
    kit.sh(&format!("{other} check --lake mine --trust /dev/null")).exits(2);
    kit.sh(&format!("{other} check --lake mine")).exits(0);
    kit.sh(&format!("{other} export --lake mine --out out")).exits(0).prints(&["sft: 5 rows"]);
    kit.sh(&format!("{other} doctor --lake mine")).exits(0).prints(&["cannot be written to", "ok   lake"]);
    same("another user's home", &rows(&kit.path("lake")), &rows(&kit.path("mine")));
    assert_eq!(std::fs::read_dir(kit.path("home")).expect("the home").count(), 0);
    kit.sh("chmod 755 home").exits(0);
}

#[test]
fn without_a_home_each_command_runs() {
    let kit = Kit::with_demo().without("HOME");
    let dir = demo_dir();
    kit.run(&["sync", "--data-dir", &dir, "--idle", "0s"]).exits(0).prints(&["new 0"]);
    kit.run(&["sync"]).exits(1).says(&["HOME is not set", "--data-dir"]);
    for args in
        [&["check"][..], &["derive"], &["compact"], &["rebuild"], &["status"], &["show", "demo-01"], &["config"]]
    {
        kit.run(args).exits(0);
    }
    kit.run(&["export", "--out", "out", "--trust", &trust_file()]).exits(0);
    kit.run(&["sql", "select 1 as n"]).exits(0).prints(&["n\n1\n"]);
}

#[test]
fn variables_that_are_empty_or_no_utf_8_do_not_count() {
    use std::os::unix::ffi::OsStringExt;
    let kit = Kit::with_demo();
    let mut command = kit.command(&["status", "--json"]);
    command
        .env("TRACE_LAKE_TRUST", "")
        .env("ODD", std::ffi::OsString::from_vec(b"\xff\xfe".to_vec()))
        .env("AWS_REGION", "");
    let output = command.output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A session whose words a terminal would act on.
fn with_controls(kit: &Kit) {
    let line = |kind: &str, rest: &str| {
        format!(r#"{{"type":"{kind}","session_id":"esc\u001b[2J","ts":"2026-01-01T00:00:00Z"{rest}}}"#) + "\n"
    };
    let text = line("session_start", r#","repo":"github.com/acme/\u001b[31mred","model":"m\u0007""#)
        + &line("message", r#","role":"assistant","text":"\u001b]0;title\u0007 \u202e \u009b2J""#)
        + "no json \u{1b}[31m\n"
        + &line("session_end", "");
    kit.write("data/traces/e\u{1b}[1m.jsonl", &text);
}

/// Runs it at a terminal of 100 columns; None where there is no `script` to make one.
fn at_a_terminal(kit: &Kit, command: &str) -> Option<(i32, String)> {
    if kit.sh("command -v script").code != 0 {
        skip("there is no `script` to make a terminal with");
        return None;
    }
    kit.write("run.sh", &format!("stty cols 100 rows 40 2>/dev/null\nexec $T {command}\n"));
    let ran = kit.sh("TERM=${TERM:-xterm} SHELL=/bin/sh script -qec 'sh run.sh' /dev/null </dev/null");
    Some((ran.code, ran.out))
}

/// What is left of a terminal's output without the movements and colours that are ours.
fn without_our_own(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.find(|c: char| c.is_ascii_alphabetic()).map_or(after.len(), |i| i + 1);
        // Ours move by lines, clear a line, hide the cursor, or colour.
        let ours = ["1A", "1B", "2K", "K", "J", "?25l", "?25h", "0m", "1m", "4m", "31m", "33m", "1;31m"]
            .contains(&&after[..end]);
        out.push_str(if ours { "" } else { "<foreign>" });
        rest = &after[end..];
    }
    out + rest
}

#[test]
fn a_terminal_gets_no_control_characters_of_a_trace() {
    let kit = Kit::new();
    with_controls(&kit);
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    for (command, code, part) in [
        ("sync --data-dir data --idle 0s", 3, "found 1, new 1"),
        ("check", 0, "looked at 1 session"),
        ("status", 0, "sessions  1"),
        ("show esc", 0, "\\u{1b}]0;title\\u{7}"),
        ("show esc --full", 0, "\\u{9b}2J"),
        ("show esx", 1, "no session `esx`"),
        ("sql 'select session_id, model, repo_url from sessions'", 0, "\\u{1b}[2J"),
        ("sql --query rejects", 0, "not JSON"),
        ("export --out out", 0, "sft: 0 rows"),
        ("nonsense", 2, "nonsense"),
    ] {
        let Some((found, text)) = at_a_terminal(&kit, command) else { return };
        assert_eq!(found, code, "{command}: {text}");
        let left = without_our_own(&text);
        assert!(left.contains(part), "{command}: no `{part}`: {left:?}");
        let foreign = |c: char| c.is_control() && !matches!(c, '\r' | '\n' | '\t');
        assert!(
            !left.contains("<foreign>") && !left.contains(foreign) && !left.contains('\u{202e}'),
            "{command}: {text:?}"
        );
    }
}

#[test]
fn no_color_and_dumb_terminals_get_no_colour() {
    let kit = Kit::new();
    let Some((code, text)) = at_a_terminal(&kit, "status --lake none") else { return };
    assert!(code == 1 && text.contains("\u{1b}[1;31m"), "{text:?}");
    let plain = kit.var("NO_COLOR", "1");
    let (_, text) = at_a_terminal(&plain, "status --lake none").expect("there was one just now");
    assert!(!text.contains('\u{1b}') && text.contains("error: "), "{text:?}");
    let (_, text) = at_a_terminal(&plain, "status --nonsense").expect("there was one just now");
    assert!(!text.contains('\u{1b}') && text.contains("--nonsense"), "{text:?}");
    let dumb = plain.without("NO_COLOR").var("TERM", "dumb");
    let (_, text) = at_a_terminal(&dumb, "status --lake none").expect("there was one just now");
    assert!(!text.contains('\u{1b}') && text.contains("error: "), "{text:?}");
    // And a pipe gets none either.
    let ran = dumb.var("TERM", "xterm").run(&["status", "--lake", "none"]).exits(1);
    assert!(!ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn a_terminal_shows_how_far_a_run_is() {
    let kit = Kit::new();
    let Some((code, text)) = at_a_terminal(&kit, &format!("sync --lake lake --data-dir {} --idle 0s", demo_dir()))
    else {
        return;
    };
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("syncing") && text.contains('\r'), "{text:?}");
    // The words after it stand on lines of their own.
    assert!(without_our_own(&text).split(['\r', '\n']).any(|line| line.starts_with("found 11, new 11")), "{text:?}");
}
