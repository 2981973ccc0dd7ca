//! The SQL prompt: a statement ends with a semicolon, or is one line that starts with a dot.

use lake_query::{Format, saved, saved_query};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;

use crate::cmd_sql::answer;
use crate::context::Context;
use crate::exit::Exit;
use crate::lake_sql::LakeSql;
use crate::out::{self, note};
use crate::report;

const HELP: &str = "\
A statement ends with a semicolon. `show tables;` lists the tables, `describe sessions;` the columns of one.
.queries        the saved queries
.run NAME       run one of them
.quit           leave (so does Ctrl-D)";

/// Asks until the end of the input.
pub(crate) fn run(context: &Context, asked: &LakeSql, format: Format) -> anyhow::Result<Exit> {
    let mut editor = DefaultEditor::new()?;
    out::line(format!("the lake at {}, tables at version {}; .help helps", asked.lake.address(), asked.tables_at))?;
    let mut statement = String::new();
    loop {
        let prompt = if statement.is_empty() { "trace-lake> " } else { "       ... " };
        match editor.readline(prompt) {
            Ok(line) => {
                let text = line.trim();
                if statement.is_empty() && text.starts_with('.') {
                    // What cannot be kept is only not there when the arrow is pressed.
                    let _ = editor.add_history_entry(text);
                    if command(context, asked, text, format)? {
                        return Ok(Exit::Done);
                    }
                    continue;
                }
                if statement.is_empty() && text.is_empty() {
                    continue;
                }
                statement.push_str(&line);
                statement.push('\n');
                if text.ends_with(';') {
                    let _ = editor.add_history_entry(statement.trim());
                    ask(context, asked, &statement, format)?;
                    statement.clear();
                }
            }
            Err(ReadlineError::Interrupted) => statement.clear(),
            Err(ReadlineError::Eof) => return Ok(Exit::Done),
            Err(error) => return Err(error.into()),
        }
        context.check_stop()?;
    }
}

/// Whether to leave.
fn command(context: &Context, asked: &LakeSql, text: &str, format: Format) -> anyhow::Result<bool> {
    match text.split_once(' ').unwrap_or((text, "")) {
        (".quit" | ".exit", _) => return Ok(true),
        (".queries", _) => {
            for query in saved() {
                out::line(format!("{:20} {}", query.name, query.question))?;
            }
        }
        (".run", name) => match saved_query(name.trim()) {
            Some(query) => ask(context, asked, query.sql, format)?,
            None => note(format!("there is no saved query `{}`", out::escape(name.trim()))),
        },
        _ => out::line(HELP)?,
    }
    Ok(false)
}

/// An error of one statement is no end of the conversation.
fn ask(context: &Context, asked: &LakeSql, sql: &str, format: Format) -> anyhow::Result<()> {
    if let Err(error) = answer(context, asked, sql, format, None) {
        if out::is_broken_pipe(&error) {
            return Err(error);
        }
        report::report(&error, &context.env, false, &context.signals);
    }
    Ok(())
}
