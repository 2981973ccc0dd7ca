//! `trace-lake man [COMMAND…]`.

use clap::{Args, CommandFactory};

use crate::args::Cli;
use crate::exit::{Exit, usage};
use crate::out;

/// Arguments of `man`.
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// The command that the page is about, `keys sign` too; the program as a whole without one
    command: Vec<String>,
}

/// Prints the page in roff.
pub(crate) fn run(args: &ManArgs) -> anyhow::Result<Exit> {
    let mut whole = Cli::command();
    whole.build();
    let mut page = whole;
    for name in &args.command {
        let unknown = || usage(format!("there is no command `{name}`"), "`trace-lake help` lists them");
        page = page.find_subcommand(name).ok_or_else(unknown)?.clone();
    }
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    out::bytes(&text)?;
    Ok(Exit::Done)
}
