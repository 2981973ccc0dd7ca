//! A compiled set of rules with its prefilter.

use crate::prefilter::Prefilter;
use crate::rule::{Rule, RuleFile};
use crate::{Error, Severity};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::OnceLock;

/// Part of the digest: two engines with the same rules may find different things.
const ENGINE: &str = "lake-secrets 1";

/// The rule files, by family. The order is part of nothing: the digest covers names and contents.
const FILES: [(&str, &str); 16] = [
    ("ai", include_str!("../rules/ai.toml")),
    ("chat", include_str!("../rules/chat.toml")),
    ("cloud", include_str!("../rules/cloud.toml")),
    ("code", include_str!("../rules/code.toml")),
    ("commands", include_str!("../rules/commands.toml")),
    ("crm", include_str!("../rules/crm.toml")),
    ("crypto", include_str!("../rules/crypto.toml")),
    ("data", include_str!("../rules/data.toml")),
    ("generic", include_str!("../rules/generic.toml")),
    ("identity", include_str!("../rules/identity.toml")),
    ("mail", include_str!("../rules/mail.toml")),
    ("monitoring", include_str!("../rules/monitoring.toml")),
    ("office", include_str!("../rules/office.toml")),
    ("payments", include_str!("../rules/payments.toml")),
    ("security", include_str!("../rules/security.toml")),
    ("services", include_str!("../rules/services.toml")),
];

/// What a keyword leads to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Confirm with this rule's pattern; the keyword's spelling in the rule, for rules that mind the case.
    Rule { rule: u16, keyword: u16 },
    /// The name in an assignment.
    Name,
    /// `://`.
    Url,
    /// `-----BEGIN`.
    Pem,
    /// `kind: Secret`.
    Manifest,
}

/// A compiled set of rules, shared by all threads.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
    digest: String,
    prefilter: Prefilter,
    actions: Vec<Vec<Action>>,
    standings: HashMap<&'static str, (Severity, u8)>,
}

impl RuleSet {
    /// The rules that ship with the binary, compiled once per process.
    ///
    /// # Panics
    /// When a rule file in the binary is broken, which a test excludes.
    pub fn builtin() -> &'static RuleSet {
        static BUILTIN: OnceLock<RuleSet> = OnceLock::new();
        BUILTIN.get_or_init(|| match RuleSet::parse(&FILES) {
            Ok(set) => set,
            Err(error) => panic!("builtin rules: {error}: {:?}", std::error::Error::source(&error)),
        })
    }

    fn parse(files: &[(&'static str, &str)]) -> Result<Self, Error> {
        let mut hash = Sha256::new();
        hash.update(ENGINE);
        let mut rules = Vec::new();
        for &(family, text) in files {
            for part in [family, text] {
                hash.update((part.len() as u64).to_le_bytes());
                hash.update(part);
            }
            let file: RuleFile = toml::from_str(text)
                .map_err(|source| Error::RuleFile { file: family.to_owned(), source: Box::new(source) })?;
            for spec in file.rule {
                rules.push(Rule::compile(family, spec)?);
            }
        }
        let (keywords, actions) = index(&rules)?;
        let prefilter = Prefilter::new(&keywords)?;
        let standings = rules.iter().map(|rule| (rule.id, (rule.severity, rule.rank))).collect();
        Ok(Self { standings, rules, digest: format!("sha256:{}", hex::encode(hash.finalize())), prefilter, actions })
    }

    /// `sha256:<hex>` over the rules' data and the engine's version.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The rules, in the order of their families.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Compiles every pattern, which a scan does when it needs one.
    ///
    /// # Errors
    /// [`Error::Rule`] for the first that is none.
    pub fn verify(&self) -> Result<(), Error> {
        for rule in &self.rules {
            if let Some(Err(error)) = rule.pattern.as_ref().map(crate::rule::Pattern::compile) {
                return Err(Error::Rule { rule: rule.id.to_owned(), reason: error.to_string() });
            }
        }
        Ok(())
    }

    /// Whether a word in the text may be the name of a secret that stands elsewhere. Where none is, the text makes no
    /// secret of what stands beside it.
    pub fn has_name(&self, text: &str) -> bool {
        let names = |action: &Action| match action {
            Action::Name | Action::Manifest => true,
            Action::Rule { rule, .. } => {
                let rule = &self.rules[usize::from(*rule)];
                rule.near || rule.has_groups
            }
            Action::Url | Action::Pem => false,
        };
        self.prefilter.candidates(text).iter().any(|(keyword, _)| self.actions[*keyword].iter().any(names))
    }

    pub(crate) fn prefilter(&self) -> &Prefilter {
        &self.prefilter
    }

    pub(crate) fn actions(&self, pattern: usize) -> &[Action] {
        &self.actions[pattern]
    }

    /// Severity and rank of the engine's own rules, which have no pattern.
    pub(crate) fn standing(&self, id: &str) -> (Severity, u8) {
        self.standings.get(id).copied().unwrap_or((Severity::High, 0))
    }
}

/// The prefilter's keywords in lower case, each with all that it leads to.
fn index(rules: &[Rule]) -> Result<(Vec<String>, Vec<Vec<Action>>), Error> {
    let mut by_keyword: BTreeMap<String, Vec<Action>> = BTreeMap::new();
    let mut seen = std::collections::HashSet::new();
    for (at, rule) in rules.iter().enumerate() {
        let bad = |reason: &str| Error::Rule { rule: rule.id.to_owned(), reason: reason.to_owned() };
        if !seen.insert(rule.id) {
            return Err(bad("another rule has this id"));
        }
        let engine = match rule.id {
            "generic-secret" => Some(Action::Name),
            "url-credentials" => Some(Action::Url),
            "private-key" => Some(Action::Pem),
            "kubernetes-secret" => Some(Action::Manifest),
            _ => None,
        };
        if rule.keywords.is_empty() && engine.is_none() && rule.pattern.is_some() {
            return Err(bad("a pattern needs keywords"));
        }
        for (number, keyword) in rule.keywords.iter().enumerate() {
            if keyword.len() < 2 {
                return Err(bad("a keyword has at least two bytes"));
            }
            let action = engine.unwrap_or(Action::Rule { rule: at as u16, keyword: number as u16 });
            by_keyword.entry(keyword.to_ascii_lowercase()).or_default().push(action);
        }
    }
    Ok(by_keyword.into_iter().unzip())
}
