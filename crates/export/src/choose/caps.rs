//! At most so many sessions of a task and of a repository.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::Request;

/// Splits places in the catalog into those that stay and those that are too many. `work`: repository and task of each; `id`: its
/// session and branch.
///
/// Those with the lowest hash of session and branch stay: nobody chose them, and a session that comes into the lake changes
/// one other at most. Tasks come first: a repository's share is taken from what its tasks may have.
pub(crate) fn cap<'a>(
    candidates: Vec<usize>,
    request: &Request,
    work: impl Fn(usize) -> (Option<&'a str>, Option<&'a str>),
    id: impl Fn(&usize) -> (&'a str, u32),
) -> (Vec<usize>, Vec<usize>) {
    if request.max_per_task.is_none() && request.max_per_repo.is_none() {
        return (candidates, Vec::new());
    }
    let mut by_lot = candidates;
    by_lot.sort_by_cached_key(|branch| {
        let (session, number) = id(branch);
        let lot = Sha256::new().chain_update(session).chain_update([0]).chain_update(number.to_be_bytes()).finalize();
        (<[u8; 32]>::from(lot), session, number)
    });
    let (mut of_task, mut of_repo): (BTreeMap<_, usize>, BTreeMap<_, usize>) = Default::default();
    let fits = |count: &mut usize, most: Option<usize>| {
        let fits = most.is_none_or(|most| *count < most);
        *count += usize::from(fits);
        fits
    };
    let (by_lot, mut over): (Vec<usize>, Vec<usize>) =
        by_lot.into_iter().partition(|branch| fits(of_task.entry(work(*branch)).or_default(), request.max_per_task));
    let (kept, more): (Vec<usize>, Vec<usize>) =
        by_lot.into_iter().partition(|branch| fits(of_repo.entry(work(*branch).0).or_default(), request.max_per_repo));
    over.extend(more);
    (kept, over)
}
