//! The command line as a whole. Each command's own arguments stand with the command.

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::settings::Flags;
use crate::units::parse_memory;
use crate::{
    cmd_check, cmd_compact, cmd_completions, cmd_config, cmd_derive, cmd_doctor, cmd_keys, cmd_man, cmd_rebuild,
    cmd_scan, cmd_show, cmd_sql, cmd_status, cmd_sync, export_args,
};

/// Turns a company's own coding-agent traces into training data that it can trust.
#[derive(Debug, Parser)]
#[command(name = "trace-lake", version, propagate_version = true, after_help = AFTER)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 some inputs could not be read, 4 data was excluded or
flagged (with --strict), 11 the same command runs here already, 130 and 143 stopped by a signal.";

/// Flags of every command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Global {
    /// The lake: a folder, file://, s3://, gs:// or az:// [env: TRACE_LAKE_URL]
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) lake: Option<String>,
    /// The trust file: whose signatures count [env: TRACE_LAKE_TRUST]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) trust: Option<String>,
    /// The allow list: findings to let pass
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) allow: Option<String>,
    /// One JSON object on stdout, errors too
    #[arg(long, global = true, action = ArgAction::SetTrue)]
    pub(crate) json: bool,
    /// Memory that the whole process may take, such as 448MiB; 64MiB at least
    #[arg(long, global = true, value_name = "SIZE", value_parser = parse_memory)]
    pub(crate) memory_limit: Option<u64>,
}

impl Global {
    /// What they set.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            lake: self.lake.clone(),
            trust: self.trust.clone(),
            allow: self.allow.clone(),
            memory_limit: self.memory_limit,
            ..Flags::default()
        }
    }
}

/// One job each.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Move finished traces from data dirs into the lake
    Sync(cmd_sync::SyncArgs),
    /// Scan for secrets and verify signatures of what is new; writes flags
    Check(cmd_check::CheckArgs),
    /// Write the training sets
    Export(Box<export_args::ExportArgs>),
    /// Ask in SQL, read-only
    Sql(cmd_sql::SqlArgs),
    /// What is in the lake, when it was last synced and checked, what is held back and why
    Status(cmd_status::StatusArgs),
    /// One session as a person reads it: turns, mask, flags, verdict chain
    Show(cmd_show::ShowArgs),
    /// Make, list and revoke keys; sign and verify one verdict
    Keys(Box<cmd_keys::KeysArgs>),
    /// Scan any text or JSON lines for secrets, no lake needed
    Scan(cmd_scan::ScanArgs),
    /// Bring the tables up to the log
    Derive(cmd_derive::DeriveArgs),
    /// Make the tables anew from raw and log
    Rebuild(cmd_rebuild::RebuildArgs),
    /// Merge small files without changing a row
    Compact(cmd_compact::CompactArgs),
    /// Each setting and where it came from
    Config(cmd_config::ConfigArgs),
    /// Check the configuration, the store's abilities, the trust file and the clock
    Doctor(cmd_doctor::DoctorArgs),
    /// Print a completion script for a shell
    Completions(cmd_completions::CompletionsArgs),
    /// Print a man page
    #[command(hide = true)]
    Man(cmd_man::ManArgs),
}

impl Command {
    /// What its own arguments set, on top of the global flags.
    pub(crate) fn flags(&self, global: &Global) -> Flags {
        let mut flags = global.flags();
        match self {
            Command::Sync(args) => args.set(&mut flags),
            Command::Config(args) => args.set(&mut flags),
            _ => {}
        }
        flags
    }
}
