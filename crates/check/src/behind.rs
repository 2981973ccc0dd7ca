//! What has no row yet.

use std::collections::{BTreeSet, HashMap};

use lake_store::{Branch, Catalog, CheckRow};

/// Branches and bytes that are looked at together.
const BRANCHES: usize = 4096;
const BYTES: u64 = 1 << 30;

/// Whether a branch is to be looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    /// It has a row.
    #[default]
    No,
    /// It has none.
    New,
    /// It has this one, and another is written only where it says something else.
    Again(Known),
}

impl Look {
    pub(crate) fn is_due(&self) -> bool {
        *self != Look::No
    }
}

/// What a row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) result: String,
    /// Rules or flags of its findings.
    pub(crate) rules: BTreeSet<String>,
}

impl Known {
    pub(crate) fn of(row: &CheckRow) -> Known {
        Known { result: row.result.clone(), rules: row.findings.iter().map(|f| f.rule.clone()).collect() }
    }
}

/// What the rows of one kind and digest say, by session, branch and end.
pub(crate) type Rows = HashMap<(String, u32, u64), Known>;

/// The newest row of each counts; of two from one moment the one that found more.
pub(crate) fn rows(read: Vec<CheckRow>) -> Rows {
    let mut newest: HashMap<(String, u32, u64), (i64, usize, Known)> = HashMap::new();
    for row in read {
        let known = (row.at, row.findings.len(), Known::of(&row));
        let key = (row.session_id, row.branch, row.end);
        match newest.get_mut(&key) {
            Some(there) if (there.0, there.1) >= (known.0, known.1) => {}
            Some(there) => *there = known,
            None => {
                newest.insert(key, known);
            }
        }
    }
    newest.into_iter().map(|(key, (_, _, known))| (key, known)).collect()
}

/// A branch to be looked at.
#[derive(Clone, Debug)]
pub(crate) struct Due<'c> {
    pub(crate) branch: &'c Branch,
    /// The first batch that held any of its session.
    pub(crate) order: u64,
    pub(crate) secrets: Look,
    pub(crate) signatures: Look,
    /// Branches with the same are judged together.
    task: (Option<&'c str>, Option<&'c str>),
}

/// What is to be looked at, and what the rows say of the rest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behind<'c> {
    pub(crate) due: Vec<Due<'c>>,
    /// Branches that lack no row.
    pub(crate) already: u64,
    /// Branches that are not looked at for secrets again, and in which some were found.
    pub(crate) with_secrets: u64,
    /// Branches that are not judged again, and have a flag.
    pub(crate) flagged: u64,
}

/// The branches that lack a row. `signatures`: None, nothing is judged.
///
/// With a branch that is judged come the other branches of its session: which of them used a run first depends on all.
/// A branch whose findings are all let pass is looked at again, since the list's entries expire.
pub(crate) fn behind<'c>(catalog: &'c Catalog, secrets: &Rows, signatures: Option<&Rows>) -> Behind<'c> {
    let mut out = Behind::default();
    let key = |b: &Branch| (b.session_id.clone(), b.branch, b.end());
    for session in catalog.branches.chunk_by(|a, b| a.session_id == b.session_id) {
        let order = session.iter().filter_map(|b| b.segments.first()).map(|s| s.k).min().unwrap_or(0);
        let task = (session[0].repo_url.as_deref(), session[0].task_id.as_deref());
        let judged: Option<Vec<Option<&Known>>> =
            signatures.map(|rows| session.iter().map(|b| rows.get(&key(b))).collect());
        let all = judged.as_ref().is_some_and(|known| known.iter().any(Option::is_none));
        for (i, branch) in session.iter().enumerate() {
            let secrets = match secrets.get(&key(branch)) {
                None => Look::New,
                Some(known) if known.result == "allowed" => Look::Again(known.clone()),
                Some(known) => {
                    out.with_secrets += u64::from(known.result == "found");
                    Look::No
                }
            };
            let signatures = match judged.as_ref().map(|known| known[i]) {
                Some(None) => Look::New,
                Some(Some(known)) if all => Look::Again(known.clone()),
                Some(Some(known)) => {
                    out.flagged += u64::from(!known.rules.is_empty());
                    Look::No
                }
                None => Look::No,
            };
            if secrets.is_due() || signatures.is_due() {
                out.due.push(Due { branch, order, secrets, signatures, task });
            } else {
                out.already += 1;
            }
        }
    }
    out
}

/// Cuts what is due into parts that are looked at and written one after the other. Sessions of one task stay together:
/// only they can have used each other's runs, or failed each other's diffs.
pub(crate) fn parts(mut due: Vec<Due<'_>>) -> Vec<Vec<Due<'_>>> {
    due.sort_by(|a, b| {
        (a.task, &a.branch.session_id, a.branch.branch).cmp(&(b.task, &b.branch.session_id, b.branch.branch))
    });
    let mut out: Vec<Vec<Due<'_>>> = Vec::new();
    let mut bytes = 0;
    for one in due {
        let together = out.last().and_then(|part| part.last()).is_some_and(|last| {
            last.branch.session_id == one.branch.session_id || (one.task.1.is_some() && last.task == one.task)
        });
        let full = out.last().is_none_or(|part| part.len() >= BRANCHES || bytes >= BYTES);
        if full && !together {
            out.push(Vec::new());
            bytes = 0;
        }
        bytes += one.branch.end();
        if let Some(part) = out.last_mut() {
            part.push(one);
        }
    }
    out
}
