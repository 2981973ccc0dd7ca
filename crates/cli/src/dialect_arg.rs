//! `--dialect`: whose form the rows have.

use clap::ValueEnum;
use lake_export::Dialect;

/// The values of the flag.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DialectArg {
    /// TRL, the canonical row
    Trl,
    /// Axolotl
    Axolotl,
    /// OpenAI's fine-tuning API
    Openai,
    /// LLaMA-Factory
    Llamafactory,
    /// ms-swift
    Swift,
    /// The Tinker cookbook
    Tinker,
    /// ATIF: one trajectory a session, no pairs
    Atif,
}

impl From<DialectArg> for Dialect {
    fn from(argument: DialectArg) -> Dialect {
        match argument {
            DialectArg::Trl => Dialect::Trl,
            DialectArg::Axolotl => Dialect::Axolotl,
            DialectArg::Openai => Dialect::Openai,
            DialectArg::Llamafactory => Dialect::Llamafactory,
            DialectArg::Swift => Dialect::Swift,
            DialectArg::Tinker => Dialect::Tinker,
            DialectArg::Atif => Dialect::Atif,
        }
    }
}
