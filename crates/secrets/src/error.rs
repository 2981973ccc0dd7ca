//! What can be wrong with a rule file or an allow list.

/// The errors of this crate. A text that is scanned is never one: any text has a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rule file is not TOML of the shape of a rule file.
    #[error("rule file {file} cannot be read")]
    RuleFile {
        /// The family the file holds.
        file: String,
        /// What the TOML reader says.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A rule says something the engine cannot do.
    #[error("rule {rule} is not usable: {reason}")]
    Rule {
        /// The rule's id.
        rule: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The allow list is not TOML, or has a field that it should not have.
    #[error("allow list cannot be read")]
    AllowFile(#[source] Box<toml::de::Error>),
    /// One entry of the allow list cannot be used.
    #[error("allow list entry {entry} is not usable: {reason}")]
    AllowEntry {
        /// Which entry, from 1, in the order of the file, with what it names.
        entry: String,
        /// What is wrong with it.
        reason: String,
    },
}
