//! Turns a company's own coding-agent traces into training data that it can trust.
//!
//! `main` parses, dispatches and maps to exit codes; each command stands in a file of its own.

mod args;
mod aws_profile;
mod cmd_check;
mod cmd_compact;
mod cmd_completions;
mod cmd_config;
mod cmd_derive;
mod cmd_doctor;
mod cmd_export;
mod cmd_keys;
mod cmd_man;
mod cmd_rebuild;
mod cmd_scan;
mod cmd_show;
mod cmd_sql;
mod cmd_status;
mod cmd_sync;
mod config_file;
mod context;
mod data_dirs;
mod dialect_arg;
mod env;
mod envelope_arg;
mod exit;
mod export_args;
mod export_verify;
mod key_files;
mod key_use;
mod keys_generate;
mod keys_list;
mod keys_revoke;
mod keys_sign;
mod keys_verify;
mod lake_sql;
mod ledger_arg;
mod ledger_gaps;
mod lock;
mod oracle_state;
mod out;
mod outside;
mod progress;
mod prometheus;
mod prompt;
mod remotes;
mod report;
mod sarif;
mod session_veil;
mod session_view;
mod session_words;
mod settings;
mod signals;
mod status_facts;
mod store_options;
mod tokens_arg;
mod units;

use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use crate::args::{Cli, Command};
use crate::context::Context;
use crate::env::Env;
use crate::exit::Exit;
use crate::signals::Signals;

fn main() -> ExitCode {
    let env = Env::here();
    log_to_stderr(&env);
    let signals = match Signals::listen() {
        Ok(signals) => signals,
        Err(error) => {
            tracing::debug!("signals are not listened to: {error}");
            Signals::default()
        }
    };
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error).into(),
    };
    let as_json = cli.global.json;
    // A fault of ours ends with a code of the table too, after clean-up; what it says stands on stderr already.
    let ran = std::panic::catch_unwind(AssertUnwindSafe(|| run(cli, &env, &signals)))
        .unwrap_or_else(|_| Err(exit::failed("a fault in trace-lake", "run it again, and report what stands above")));
    match ran {
        Ok(exit) => exit.into(),
        Err(error) if out::is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => report::report(&error, &env, as_json, &signals).into(),
    }
}

fn run(cli: Cli, env: &Env, signals: &Signals) -> anyhow::Result<Exit> {
    match &cli.command {
        Command::Completions(args) => return cmd_completions::run(args),
        Command::Man(args) => return cmd_man::run(args),
        _ => {}
    }
    let settings = settings::settings(env, &cli.command.flags(&cli.global))?;
    let context = Context { env: env.clone(), settings, json: cli.global.json, signals: signals.clone() };
    match cli.command {
        Command::Sync(args) => cmd_sync::run(&context, &args),
        Command::Check(args) => cmd_check::run(&context, &args),
        Command::Export(args) => cmd_export::run(&context, &args),
        Command::Sql(args) => cmd_sql::run(&context, &args),
        Command::Status(args) => cmd_status::run(&context, &args),
        Command::Show(args) => cmd_show::run(&context, &args),
        Command::Keys(args) => cmd_keys::run(&context, &args),
        Command::Scan(args) => cmd_scan::run(&context, &args),
        Command::Derive(args) => cmd_derive::run(&context, &args),
        Command::Rebuild(args) => cmd_rebuild::run(&context, &args),
        Command::Compact(args) => cmd_compact::run(&context, &args),
        Command::Config(args) => cmd_config::run(&context, &args),
        Command::Doctor(args) => cmd_doctor::run(&context, &args),
        Command::Completions(args) => cmd_completions::run(&args),
        Command::Man(args) => cmd_man::run(&args),
    }
}

/// What clap has to say: help and version are data, all else is wrong usage.
fn refuse(error: &clap::Error) -> Exit {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print() {
            Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Exit::Failed,
            _ => Exit::Done,
        };
    }
    if std::env::args_os().any(|arg| arg == "--json") {
        let text = error.render().to_string();
        let (first, rest) = text.trim().split_once('\n').unwrap_or((text.trim(), ""));
        let object = serde_json::json!({"error": {
            "message": first.trim_start_matches("error: "),
            "hint": rest.trim(),
            "exit_code": Exit::Usage.code(),
        }});
        // Nobody reads it: the exit code still tells.
        let _ = out::json(&object);
    } else {
        let _ = error.print();
    }
    Exit::Usage
}

/// Only when asked for, and never to stdout.
fn log_to_stderr(env: &Env) {
    let Some(filter) = env.get("TRACE_LAKE_LOG") else { return };
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(env.colour())
        .init();
}
