//! Which branches are asked for, and which must be read to judge those.

use std::collections::HashSet;

use lake_store::{Branch, Catalog};
use lake_trace::canonical_repo;

use crate::Request;

/// For each branch of the catalog, whether it is in the selection.
pub(crate) fn selected(catalog: &Catalog, request: &Request) -> Vec<bool> {
    let repos: Vec<String> = request.repos.iter().map(|repo| canonical_repo(repo)).collect();
    let among = |list: &[String], value: Option<&str>| {
        list.is_empty() || value.is_some_and(|value| list.iter().any(|item| item == value))
    };
    let is_in = |branch: &Branch| {
        among(&repos, branch.repo_url.as_deref())
            && among(&request.orgs, Some(&branch.place.org))
            && among(&request.models, branch.model.as_deref())
            && request.since.is_none_or(|since| branch.started_at.is_some_and(|at| at >= since))
            && request.until.is_none_or(|until| branch.started_at.is_some_and(|at| at < until))
            && request.selection.as_ref().is_none_or(|chosen| {
                // The key is only made where there is something to look up.
                chosen.contains(&(branch.session_id.clone(), branch.branch))
            })
    };
    catalog.branches.iter().map(is_in).collect()
}

/// For each branch, whether it has something to say about one in the selection: it is one, it worked on the same task, or
/// its source may retract others'.
///
/// A diff that failed, a run that was used: both are of the same repository and task.
pub(crate) fn needed(catalog: &Catalog, selected: &[bool], request: &Request) -> Vec<bool> {
    let task = |branch: &'_ Branch| Some((branch.repo_url.clone()?, branch.task_id.clone()?));
    let chosen = || catalog.branches.iter().zip(selected).filter(|(_, is_in)| **is_in).map(|(branch, _)| branch);
    let all = selected.iter().all(|is_in| *is_in);
    let tasks: HashSet<_> = if all { HashSet::new() } else { chosen().filter_map(task).collect() };
    let may_retract = |branch: &Branch| branch.segments.iter().any(|s| request.corrections_from.contains(&s.source));
    let is_needed = |(branch, is_in): (&Branch, &bool)| {
        *is_in || task(branch).is_some_and(|task| tasks.contains(&task)) || may_retract(branch)
    };
    catalog.branches.iter().zip(selected).map(is_needed).collect()
}
