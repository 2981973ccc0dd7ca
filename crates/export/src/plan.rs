//! Which rows there will be: nothing is written before this is settled.

use std::collections::{BTreeMap, BTreeSet};

use lake_store::Catalog;

use crate::choose::{Everyone, Excluded, Pair, Reason, candidates, cap, pairs};
use crate::facts::{Facts, Judgement};
use crate::secrets::Guard;
use crate::tools::{Harness, ToolSchemas};
use crate::{Error, Request, Result, Set};

/// The rows of each set, in order, and who is in none. Branches are places in the catalog.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) tools: ToolSchemas,
    pub(crate) sft: Vec<usize>,
    pub(crate) pairs: Vec<Pair>,
    /// By set, sorted by session and branch.
    pub(crate) excluded: BTreeMap<Set, Vec<Excluded>>,
    /// Every branch that could be in a row of some set.
    pub(crate) candidates: BTreeSet<usize>,
    /// Harnesses with a secret in their tools: their rows stay out.
    banned: BTreeSet<Harness>,
    /// Branches in the selection.
    pub(crate) selected: u64,
}

impl Plan {
    /// Every branch that is in some row of a set, once.
    pub(crate) fn used(&self, set: Set) -> BTreeSet<usize> {
        match set {
            Set::Sft => self.sft.iter().copied().collect(),
            Set::Preference => self.pairs.iter().flat_map(|pair| [pair.chosen, pair.rejected]).collect(),
        }
    }
}

/// Settles the rows. A secret in the tools that all rows of a harness would share keeps those rows out.
pub(crate) fn plan(
    catalog: &Catalog,
    facts: &[Option<Facts>],
    selected: &[bool],
    everyone: &Everyone,
    guard: &Guard<'_>,
    request: &Request,
) -> Result<Plan> {
    let given = request.tools.as_deref().map(ToolSchemas::given).transpose()?;
    if given.as_ref().is_some_and(|given| !guard.is_clean(given.of(&Harness::default()), "/tools", false, None)) {
        return Err(Error::ToolsFile("something in it looks like a secret".to_owned()));
    }
    let mut banned: BTreeSet<Harness> = BTreeSet::new();
    loop {
        let mut plan = settle(catalog, facts, selected, everyone, request, &banned, given.is_some());
        plan.tools = match &given {
            Some(given) => given.clone(),
            None => infer(&plan, facts, request),
        };
        plan.banned.clone_from(&banned);
        let found: Vec<Harness> = match given {
            Some(_) => Vec::new(),
            None => {
                let dirty = plan.tools.all().filter(|(_, text)| !guard.is_clean(text, "/tools", false, None));
                dirty.filter_map(|(harness, _)| harness.cloned()).collect()
            }
        };
        if found.is_empty() {
            return Ok(plan);
        }
        banned.extend(found);
    }
}

/// Settles the rows anew after some were found not to fit. The tools stay: they are part of what was measured.
pub(crate) fn settle_again(
    before: Plan,
    catalog: &Catalog,
    facts: &[Option<Facts>],
    selected: &[bool],
    everyone: &Everyone,
    request: &Request,
) -> Plan {
    let plan = settle(catalog, facts, selected, everyone, request, &before.banned, request.tools.is_some());
    Plan { tools: before.tools, banned: before.banned, ..plan }
}

fn settle(
    catalog: &Catalog,
    facts: &[Option<Facts>],
    selected: &[bool],
    everyone: &Everyone,
    request: &Request,
    banned: &BTreeSet<Harness>,
    one_schema: bool,
) -> Plan {
    let id = |i: &usize| (catalog.branches[*i].session_id.as_str(), catalog.branches[*i].branch);
    let mut chosen: Vec<usize> = (0..selected.len()).filter(|i| selected[*i]).collect();
    chosen.sort_by_key(&id);
    let is_banned = |judgement: &Judgement| banned.contains(&judgement.origin.harness);
    let mut plan = Plan { selected: chosen.len() as u64, ..Plan::default() };
    for set in request.sets() {
        let mut choice = candidates(set, &chosen, facts, everyone, &is_banned);
        plan.candidates.extend(&choice.candidates);
        match set {
            Set::Sft => {
                let (kept, over) = cap(choice.candidates, request, |i| work(facts, i), id);
                let over = over.into_iter().map(|branch| Excluded { branch, reason: Reason::Filtered, step: None });
                choice.excluded.extend(over);
                choice.excluded.sort_by_key(|excluded| id(&excluded.branch));
                plan.sft = kept;
                plan.sft.sort_by_key(|i| (work(facts, *i), id(i)));
            }
            Set::Preference => {
                plan.pairs = pairs(catalog, facts, &choice.candidates, request, one_schema);
                let used = plan.used(Set::Preference);
                let alone = choice.candidates.iter().filter(|i| !used.contains(*i));
                let alone = alone.map(|i| Excluded { branch: *i, reason: Reason::NoPartner, step: None });
                choice.excluded.extend(alone.collect::<Vec<_>>());
                choice.excluded.sort_by_key(|excluded| id(&excluded.branch));
            }
        }
        plan.excluded.insert(set, choice.excluded);
    }
    plan
}

/// Repository and task, by which rows are sorted first.
fn work(facts: &[Option<Facts>], branch: usize) -> (Option<&str>, Option<&str>) {
    match &facts[branch] {
        Some(Facts::Read(judgement)) => (judgement.origin.repo.as_deref(), judgement.origin.task_id.as_deref()),
        _ => (None, None),
    }
}

fn infer(plan: &Plan, facts: &[Option<Facts>], request: &Request) -> ToolSchemas {
    // Tools are part of what is measured, and which rows fit and pair is known only then.
    let used: BTreeSet<usize> = match request.tokens {
        Some(_) => plan.candidates.clone(),
        None => request.sets().flat_map(|set| plan.used(set)).collect(),
    };
    let rows = used.iter().filter_map(|i| match &facts[*i] {
        Some(Facts::Read(judgement)) => {
            judgement.row.as_ref().map(|row| (&judgement.origin.harness, row.shapes.as_slice()))
        }
        _ => None,
    });
    ToolSchemas::infer(rows)
}
