//! A rule: what one kind of secret looks like, as written in `rules/*.toml`.

use crate::Error;
use crate::checks::Check;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use std::sync::OnceLock;

/// How much harm a leak of this kind does.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Debug, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Short-lived or of little reach.
    Low,
    /// Gives access to one thing.
    Medium,
    /// Gives access to an account.
    High,
    /// Gives access to an organisation, or cannot be revoked.
    Critical,
}

/// One rule of a [`RuleSet`](crate::RuleSet).
#[derive(Debug)]
pub struct Rule {
    /// Stands in findings and placeholders: `[a-z0-9-]+`, unique in a set.
    pub id: &'static str,
    /// The rule file it is from, e.g. `cloud`.
    pub family: &'static str,
    /// One line for people.
    pub description: String,
    /// The vendor's document that the format is from.
    pub source: String,
    /// How bad a leak is.
    pub severity: Severity,
    /// Texts with a finding. Generator notation in braces, see `rules/README.md`.
    pub examples: Vec<String>,
    /// Texts without one.
    pub counter_examples: Vec<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) nocase: bool,
    /// Whether the keywords are names near which the pattern is a secret.
    pub(crate) near: bool,
    pub(crate) pattern: Option<Pattern>,
    /// What the pattern begins with is a name, not the secret.
    pub(crate) has_groups: bool,
    pub(crate) checks: Vec<Check>,
    pub(crate) min_entropy: f32,
    pub(crate) lead: usize,
    pub(crate) window: usize,
    pub(crate) boundary: bool,
    pub(crate) prefix: bool,
    pub(crate) rank: u8,
}

/// The file's own shape; everything but id, description, source and severity has a default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleSpec {
    id: String,
    description: String,
    source: String,
    severity: Severity,
    #[serde(default)]
    keywords: Vec<String>,
    /// Names near which `value` is a secret; instead of `keywords` and `pattern`.
    #[serde(default)]
    context: Vec<String>,
    pattern: Option<String>,
    value: Option<String>,
    #[serde(default)]
    nocase: bool,
    #[serde(default)]
    checks: Vec<Check>,
    min_entropy: Option<f32>,
    #[serde(default)]
    lead: usize,
    window: Option<usize>,
    boundary: Option<bool>,
    #[serde(default)]
    generic: bool,
    #[serde(default)]
    examples: Vec<String>,
    #[serde(default)]
    counter_examples: Vec<String>,
}

/// A rule file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleFile {
    pub(crate) rule: Vec<RuleSpec>,
}

/// A pattern that is compiled when a text asks for it first: most texts ask for few, and a start asks for none.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: String,
    nocase: bool,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(source: String, nocase: bool) -> Self {
        Self { source, nocase, compiled: OnceLock::new() }
    }

    /// None for one that cannot be compiled; [`RuleSet::verify`](crate::RuleSet::verify) tells of these.
    pub(crate) fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| self.compile().ok()).as_ref()
    }

    pub(crate) fn compile(&self) -> Result<Regex, regex::Error> {
        RegexBuilder::new(&self.source).unicode(false).case_insensitive(self.nocase).size_limit(1 << 21).build()
    }

    /// Whether a group says what the secret is; then what the pattern begins with is no part of it.
    fn has_groups(&self) -> bool {
        let bytes = self.source.as_bytes();
        let opens =
            |at: usize| bytes[at] == b'(' && bytes.get(at + 1) != Some(&b'?') && (at == 0 || bytes[at - 1] != b'\\');
        (0..bytes.len()).any(opens)
    }
}

impl Rule {
    /// Compiles a rule; a builtin-only engine part (no pattern) has none.
    pub(crate) fn compile(family: &'static str, spec: RuleSpec) -> Result<Self, Error> {
        let bad = |reason: String| Error::Rule { rule: spec.id.clone(), reason };
        if !spec.id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
            return Err(bad("an id has only lower case letters, digits and `-`".into()));
        }
        let in_context = !spec.context.is_empty();
        let source = match (&spec.pattern, &spec.value) {
            (Some(pattern), None) => Some(pattern.clone()),
            // The first alternative that ends where a token does.
            (None, Some(value)) if in_context => Some(format!(r"(?:{value})\b{{end-half}}")),
            (None, None) => None,
            _ => return Err(bad("either `pattern`, or `context` with `value`".into())),
        };
        let anchor = if spec.lead == 0 { r"\A" } else { "" };
        let pattern = source.map(|source| Pattern::new(format!("{anchor}(?:{source})"), spec.nocase));
        let captures = pattern.as_ref().is_some_and(Pattern::has_groups);
        let keywords = if in_context { spec.context } else { spec.keywords };
        // A name such as `datadog` may be the middle of an identifier; a token's prefix may not.
        let boundary = spec.boundary.unwrap_or(!in_context);
        Ok(Self {
            prefix: boundary && !in_context && spec.lead == 0 && !captures && !spec.nocase && pattern.is_some(),
            id: spec.id.leak(),
            family,
            description: spec.description,
            source: spec.source,
            severity: spec.severity,
            examples: spec.examples,
            counter_examples: spec.counter_examples,
            keywords,
            nocase: spec.nocase || in_context,
            near: in_context,
            pattern,
            has_groups: captures,
            checks: spec.checks,
            min_entropy: spec.min_entropy.unwrap_or(2.5),
            lead: spec.lead,
            window: spec.window.unwrap_or(if spec.lead > 0 { 128 } else { 512 }),
            boundary,
            rank: match (spec.generic, in_context) {
                (true, _) => 0,
                (false, true) => 1,
                (false, false) => 2,
            },
        })
    }
}
