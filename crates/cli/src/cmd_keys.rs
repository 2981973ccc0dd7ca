//! `trace-lake keys`: the keys that sign verdicts, and what an oracle runner does with one.

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::exit::Exit;
use crate::{keys_generate, keys_list, keys_revoke, keys_sign, keys_verify};

/// Arguments of `keys`.
#[derive(Args, Debug)]
pub(crate) struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Debug, Subcommand)]
enum KeysCommand {
    /// Make a key pair: the private key into a file, the trust entry to stdout
    Generate(keys_generate::GenerateArgs),
    /// The keys of the trust file, and which are in force
    List(keys_list::ListArgs),
    /// One key: its id and its public half
    Show(keys_list::ShowKeyArgs),
    /// Take a key's trust back from some time on, and list what it touched
    Revoke(keys_revoke::RevokeArgs),
    /// Sign what an oracle run found: for the oracle's runner
    Sign(keys_sign::SignArgs),
    /// Explain a verdict step by step; exits with 1 when it is refused
    Verify(keys_verify::VerifyArgs),
}

/// Runs one of them.
pub(crate) fn run(context: &Context, args: &KeysArgs) -> anyhow::Result<Exit> {
    match &args.command {
        KeysCommand::Generate(args) => keys_generate::run(context, args),
        KeysCommand::List(args) => keys_list::run(context, args),
        KeysCommand::Show(args) => keys_list::show(context, args),
        KeysCommand::Revoke(args) => keys_revoke::run(context, args),
        KeysCommand::Sign(args) => keys_sign::run(context, args),
        KeysCommand::Verify(args) => keys_verify::run(context, args),
    }
}
