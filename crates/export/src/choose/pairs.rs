//! Who is paired with whom.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use lake_store::Catalog;
use lake_trace::Outcome;
use sha2::{Digest, Sha256};

use crate::facts::{Facts, Judgement, Row};
use crate::{PairStrategy, PromptMatch, Request};

/// One row of the preference set: places in the catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) chosen: usize,
    pub(crate) rejected: usize,
}

/// What both sides of a pair share.
type Key<'a> = (Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<&'a str>, &'a (String, String), [u8; 32]);

#[derive(Clone, Copy)]
struct Side<'a> {
    branch: usize,
    session_id: &'a str,
    number: u32,
    length: u64,
    diff: Option<&'a str>,
}

/// Pairs of each task, sorted as rows are. `one_schema`: all harnesses have the same tools.
///
/// A task may give several pairs; then a session that was used less comes first. Which order the candidates are in does
/// not matter.
pub(crate) fn pairs(
    catalog: &Catalog,
    facts: &[Option<Facts>],
    candidates: &[usize],
    request: &Request,
    one_schema: bool,
) -> Vec<Pair> {
    let no_harness = (String::new(), String::new());
    let mut groups: BTreeMap<Key<'_>, (Vec<Side<'_>>, Vec<Side<'_>>)> = BTreeMap::new();
    for &branch in candidates {
        let Some(Facts::Read(judgement)) = &facts[branch] else { continue };
        let Some(row) = &judgement.row else { continue };
        let key = key(judgement, row, request, if one_schema { Some(&no_harness) } else { None });
        let entry = &catalog.branches[branch];
        let diff = judgement.evidence.as_ref().and_then(|evidence| evidence.diff_sha256.as_deref());
        let side = Side { branch, session_id: &entry.session_id, number: entry.branch, length: row.length(), diff };
        let (chosen, rejected) = groups.entry(key).or_default();
        if judgement.outcome == Outcome::Flipped { chosen.push(side) } else { rejected.push(side) }
    }
    // Pairs are counted by task, and a task may have several groups.
    let mut tasks: BTreeMap<(Option<&str>, Option<&str>), Vec<_>> = BTreeMap::new();
    for (key, group) in &groups {
        tasks.entry((key.0, key.1)).or_default().push(group);
    }
    tasks.into_values().flat_map(|groups| of_task(&groups, request)).collect()
}

fn key<'a>(judgement: &'a Judgement, row: &Row, request: &Request, harness: Option<&'a (String, String)>) -> Key<'a> {
    let origin = &judgement.origin;
    (
        origin.repo.as_deref(),
        origin.task_id.as_deref(),
        origin.base_commit.as_deref(),
        judgement.evidence.as_ref().and_then(|evidence| evidence.tests_hash.as_deref()),
        harness.unwrap_or(&origin.harness),
        match request.prompt_match {
            PromptMatch::Exact => row.prompt,
            PromptMatch::Task => [0; 32],
        },
    )
}

fn of_task(groups: &[&(Vec<Side<'_>>, Vec<Side<'_>>)], request: &Request) -> Vec<Pair> {
    let mut used: BTreeMap<usize, u32> = BTreeMap::new();
    let mut taken: Vec<(Side<'_>, Side<'_>)> = Vec::new();
    while taken.len() < request.pairs_per_task {
        let mut best: Option<(u32, Side<'_>, Side<'_>)> = None;
        for (chosen, rejected) in groups {
            for c in chosen {
                for r in rejected {
                    if !may_pair(c, r, request)
                        || taken.iter().any(|(a, b)| (a.branch, b.branch) == (c.branch, r.branch))
                    {
                        continue;
                    }
                    let uses = |side: &Side<'_>| used.get(&side.branch).copied().unwrap_or(0);
                    let rank = uses(c) + uses(r);
                    let better = best.is_none_or(|(known, a, b)| {
                        rank.cmp(&known).then_with(|| compare(request.pair_strategy, (c, r), (&a, &b)))
                            == Ordering::Less
                    });
                    if better {
                        best = Some((rank, *c, *r));
                    }
                }
            }
        }
        let Some((_, chosen, rejected)) = best else { break };
        *used.entry(chosen.branch).or_default() += 1;
        *used.entry(rejected.branch).or_default() += 1;
        taken.push((chosen, rejected));
    }
    taken.sort_by_key(|(c, r)| (c.session_id, c.number, r.session_id, r.number));
    taken.into_iter().map(|(c, r)| Pair { chosen: c.branch, rejected: r.branch }).collect()
}

fn may_pair(chosen: &Side<'_>, rejected: &Side<'_>, request: &Request) -> bool {
    let same_diff = chosen.diff.is_some() && chosen.diff == rejected.diff;
    let long = chosen.length.max(rejected.length) as f64;
    let short = chosen.length.min(rejected.length) as f64;
    // Another branch of one session is no other try at the task.
    !same_diff
        && chosen.session_id != rejected.session_id
        && request.max_length_ratio.is_none_or(|most| long <= most * short)
}

type Two<'s, 'a> = (&'s Side<'a>, &'s Side<'a>);

fn compare(strategy: PairStrategy, a: Two<'_, '_>, b: Two<'_, '_>) -> Ordering {
    let ids = |(c, r): Two<'_, '_>| (c.session_id.to_owned(), c.number, r.session_id.to_owned(), r.number);
    let apart = |(c, r): Two<'_, '_>| c.length.abs_diff(r.length);
    let by_hash = || lot(a).cmp(&lot(b)).then_with(|| ids(a).cmp(&ids(b)));
    match strategy {
        PairStrategy::ClosestLength => apart(a).cmp(&apart(b)).then_with(by_hash),
        PairStrategy::First => ids(a).cmp(&ids(b)),
        PairStrategy::Random => by_hash(),
    }
}

/// An order that nobody chose and that is the same each time.
fn lot((chosen, rejected): Two<'_, '_>) -> [u8; 32] {
    Sha256::new().chain_update(chosen.session_id).chain_update([0]).chain_update(rejected.session_id).finalize().into()
}
