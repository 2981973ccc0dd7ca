//! Turns an error into an exit code, words for a person, or JSON.

use std::io::ErrorKind;

use lake_store::Error as StoreError;
use serde_json::json;

use crate::env::Env;
use crate::exit::{Exit, Told};
use crate::out;
use crate::signals::Signals;

/// Says what went wrong, and returns the exit code.
pub(crate) fn report(error: &anyhow::Error, env: &Env, as_json: bool, signals: &Signals) -> Exit {
    let (mut exit, hint) = classify(error);
    // Whatever broke off after a signal did so because of it.
    if is_stopped(error)
        && let Some(stopped) = signals.exit()
    {
        exit = stopped;
    }
    let text = words(error);
    if as_json {
        let object = json!({"error": {"message": text, "hint": hint, "exit_code": exit.code()}});
        // Nobody reads it: the exit code still tells.
        let _ = out::json(&object);
    } else {
        let (red, plain) = if env.colour() { ("\u{1b}[1;31m", "\u{1b}[0m") } else { ("", "") };
        out::note(format!("{red}error:{plain} {}", out::escape_block(&text)));
        if let Some(hint) = hint {
            out::note(format!(" hint: {}", out::escape_block(&hint)));
        }
    }
    exit
}

fn is_stopped(error: &anyhow::Error) -> bool {
    error.chain().any(|e| {
        matches!(e.downcast_ref(), Some(StoreError::Stopped))
            || matches!(e.downcast_ref(), Some(lake_export::Error::Stopped))
            || matches!(e.downcast_ref(), Some(lake_check::Error::Stopped))
    })
}

/// The whole chain, each cause once.
pub(crate) fn words(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let said = cause.to_string();
        if text.is_empty() {
            text = said;
        } else if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
    }
    text
}

/// Exit code, and what to do next.
pub(crate) fn classify(error: &anyhow::Error) -> (Exit, Option<String>) {
    for cause in error.chain() {
        if let Some(told) = cause.downcast_ref::<Told>() {
            return (told.exit, told.hint.clone());
        }
        if let Some(e) = cause.downcast_ref::<lake_export::Error>()
            && let Some(found) = of_export(e)
        {
            return found;
        }
        if let Some(e) = cause.downcast_ref::<lake_query::Error>()
            && let Some(found) = of_query(e)
        {
            return found;
        }
        if let Some(e) = cause.downcast_ref::<StoreError>()
            && let Some((exit, hint)) = of_store(e)
        {
            return (exit, Some(hint.into()));
        }
    }
    (Exit::Failed, of_cause(error).map(str::to_owned))
}

fn of_store(error: &StoreError) -> Option<(Exit, &'static str)> {
    Some(match error {
        StoreError::Address(..) => (Exit::Usage, "a lake is a folder, or a file://, s3://, gs:// or az:// URL"),
        StoreError::NoLake(_) => {
            (Exit::Failed, "check --lake; `trace-lake sync` makes a lake in a folder or bucket that is there")
        }
        StoreError::NoFolder(_) => (Exit::Failed, "a lake is a folder: correct --lake, or move that file away"),
        StoreError::Newer { .. } => (Exit::Failed, "take a trace-lake that is as new as the one that made the lake"),
        StoreError::NoParent(_) => (Exit::Failed, "make the folder or bucket first, or correct --lake"),
        StoreError::Damaged { .. } => (
            Exit::Failed,
            "restore that object from a copy; raw and log are the truth, tables come from `trace-lake rebuild`",
        ),
        StoreError::Parser { .. } => (Exit::Failed, "run `trace-lake rebuild`, or the binary that made the tables"),
        StoreError::Ahead { .. } => (Exit::Failed, "take a smaller --at, or run `trace-lake derive`"),
        StoreError::Stopped => (Exit::Failed, "run it again: it carries on from here"),
        _ => return None,
    })
}

fn of_export(error: &lake_export::Error) -> Option<(Exit, Option<String>)> {
    use lake_export::Error;
    let (exit, hint) = match error {
        Error::Exists(_) => (Exit::Failed, "name another --out, or replace it with --force"),
        Error::NoExport(_) => (Exit::Failed, "name another --out; --force replaces nothing but an earlier export"),
        Error::NoTrust => (Exit::Usage, "name the trust file with --trust"),
        Error::LastWithoutTemplate => (
            Exit::Usage,
            "take --train-after-fail work or all, name the model's --tokenizer and --chat-template, or a dialect whose trainer \
             holds the mask of each message",
        ),
        Error::TaskPromptForOneMessage => (Exit::Usage, "take --prompt-match exact, or --sets sft"),
        Error::ChatTemplate(_) => {
            (Exit::Usage, "mend the template that --chat-template names; docs/export.md says what it must do")
        }
        Error::Tokenizer(_) => (Exit::Usage, "--tokenizer names the tokenizer.json of a model"),
        Error::ToolsFile(_) => (Exit::Usage, "--tools names a file with a JSON array of tools"),
        _ => return None,
    };
    Some((exit, Some(hint.into())))
}

fn of_query(error: &lake_query::Error) -> Option<(Exit, Option<String>)> {
    use lake_query::Error;
    let hint = match error {
        Error::Refused { .. } => "ask with SELECT; the lake is changed by sync, check and export alone",
        Error::Statements(_) => "give one statement",
        Error::Plan(_) | Error::Predicate { .. } => {
            "`trace-lake sql \"show tables\"` lists the tables, `describe sessions` the columns of one"
        }
        _ => return None,
    };
    Some((Exit::Failed, Some(hint.into())))
}

/// A hint from the innermost cause: a full disk, credentials, a host that does not answer.
fn of_cause(error: &anyhow::Error) -> Option<&'static str> {
    for cause in error.chain() {
        if let Some(io) = cause.downcast_ref::<std::io::Error>() {
            match io.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    return Some("the disk is full: free space and run it again; what was committed stays");
                }
                ErrorKind::PermissionDenied => return Some("this user may not do that: check owner and mode"),
                ErrorKind::ReadOnlyFilesystem => return Some("that file system is mounted read-only"),
                _ => {}
            }
        }
        if let Some(store) = cause.downcast_ref::<object_store::Error>()
            && matches!(
                store,
                object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }
            )
        {
            return Some(CREDENTIALS);
        }
    }
    let text = words(error).to_lowercase();
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if has(&["no space left"]) {
        return Some("the disk is full: free space and run it again; what was committed stays");
    }
    if has(&["accessdenied", "invalidaccesskeyid", "signaturedoesnotmatch", "403 forbidden", "401 unauthorized"]) {
        return Some(CREDENTIALS);
    }
    if has(&["instance metadata", "169.254.169.254", "credential"]) {
        return Some(CREDENTIALS);
    }
    if has(&["nosuchbucket"]) {
        return Some("make the bucket first, or correct --lake");
    }
    if has(&["error sending request", "dns error", "connection refused", "timed out", "did not answer"]) {
        return Some(
            "the store does not answer: check the endpoint (AWS_ENDPOINT_URL), the network and the proxy; where no \
             credentials are named, it is this machine's role that was asked for",
        );
    }
    None
}

const CREDENTIALS: &str = "check the credentials (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or the role) \
     and what they may do; `trace-lake doctor` tries it";
