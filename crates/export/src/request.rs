//! What is asked for, and where the bytes come from.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use lake_secrets::AllowList;
use lake_store::{Branch, Segment};
use lake_trace::Hashed;
use lake_verdict::{Ledger, Trust};
use serde::Serialize;

use crate::Split;

/// Where the bytes of branches come from. Blocking; called from rayon's threads.
pub trait Source: Sync {
    /// All bytes of a branch, as they were received, checked against the branch's hash.
    ///
    /// # Errors
    /// [`lake_store::Error::Purged`] and [`lake_store::Error::Damaged`] leave the branch out; any other ends the export.
    fn bytes(&self, branch: &Branch) -> lake_store::Result<Hashed>;

    /// When the store took the batch of a segment, milliseconds since 1970 UTC, whatever the batch itself says. Asked only
    /// where a key is compromised.
    ///
    /// # Errors
    /// Any ends the export.
    fn committed_at(&self, segment: &Segment) -> lake_store::Result<Option<i64>> {
        Ok(Some(segment.at))
    }
}

/// The newest secret check of a branch under the rules in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scan {
    /// Up to which byte it was looked at; counts only if that is the branch's end.
    pub end: u64,
    /// Whether nothing was found.
    pub clean: bool,
}

/// Secret checks by session and branch.
pub type Scans = HashMap<(String, u32), Scan>;

/// Where a set is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Out {
    /// A folder on this machine; its parent is made where it is missing.
    Folder(PathBuf),
}

/// A training set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// One row per flipped session.
    Sft,
    /// Flipped versus unflipped, per task.
    Preference,
}

impl Set {
    /// Its folder, and its name in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Set::Sft => "sft",
            Set::Preference => "preference",
        }
    }
}

/// Whose form the rows have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// TRL 1.16; the canonical row.
    #[default]
    Trl,
    /// Axolotl 0.21.
    Axolotl,
    /// OpenAI's fine-tuning API.
    Openai,
    /// LLaMA-Factory 0.9.5.
    Llamafactory,
    /// ms-swift 4.6.
    Swift,
    /// The Tinker cookbook.
    Tinker,
    /// The Agent Trajectory Interchange Format 1.7: one trajectory a session.
    Atif,
}

impl Dialect {
    /// Its name on the command line and in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Trl => "trl",
            Dialect::Axolotl => "axolotl",
            Dialect::Openai => "openai",
            Dialect::Llamafactory => "llamafactory",
            Dialect::Swift => "swift",
            Dialect::Tinker => "tinker",
            Dialect::Atif => "atif",
        }
    }
}

/// What becomes of a session with a secret in what would be a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnSecret {
    /// It is left out.
    #[default]
    Exclude,
    /// The spans are replaced; a message with a replaced span is not trained.
    Redact,
}

/// What is trained of a session that did not pass at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrainAfterFail {
    /// All but the last assistant message before each grade that did not pass: it claims "done" and was wrong.
    #[default]
    Work,
    /// All.
    All,
    /// Only what follows the last grade FAIL.
    Last,
}

/// Which pairs of a task are taken first. Ties: the lowest SHA-256 of chosen id, NUL, rejected id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairStrategy {
    /// The two sides are most alike in length.
    #[default]
    ClosestLength,
    /// The first sessions in the order of their ids.
    First,
    /// In the order of that SHA-256 alone.
    Random,
}

/// When two prompts count as the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptMatch {
    /// Roles and contents are equal.
    #[default]
    Exact,
    /// The task is: the chosen side's prompt is taken.
    Task,
}

/// What becomes of a session with a tool output that the collector cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTruncatedOutput {
    /// It stays, the output ending in a note.
    #[default]
    Keep,
    /// It is left out.
    Exclude,
}

/// What becomes of a row with more tokens than fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTooLong {
    /// It is left out.
    #[default]
    Exclude,
    /// It ends early, at a turn; a pair is left out all the same, since a side that ends early shows no outcome.
    Cut,
}

/// By what tokens are counted.
#[derive(Clone, Debug, Default)]
pub struct TokenRequest {
    /// Bytes of a `tokenizer.json`.
    pub tokenizer: Vec<u8>,
    /// The model's own chat template.
    pub chat_template: String,
    /// Special tokens that templates name, such as `bos_token`.
    pub special_tokens: BTreeMap<String, String>,
    /// Rows with more tokens do not fit.
    pub max_tokens: Option<u64>,
    /// See [`OnTooLong`].
    pub on_too_long: OnTooLong,
}

/// Findings that somebody looked at and lets pass.
#[derive(Clone, Debug)]
pub struct Allow {
    /// The list.
    pub list: AllowList,
    /// Key of the fingerprints in it.
    pub fingerprint_key: Vec<u8>,
    /// Now, seconds since 1970 UTC: entries expire.
    pub now_unix_seconds: i64,
}

/// What to export.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where to.
    pub out: Out,
    /// Replace what stands there.
    pub force: bool,
    /// Do all but write.
    pub dry_run: bool,
    /// See [`Dialect`]. One without pairs writes no preference set, whatever `preference` says.
    pub dialect: Dialect,
    /// Write the supervised set.
    pub sft: bool,
    /// Write the preference set.
    pub preference: bool,
    /// Each record up to the deciding PASS must be signed; needs `trust`.
    pub require_signature: bool,
    /// Whose signatures count. None: signatures are not judged, and the manifest says so.
    pub trust: Option<Trust>,
    /// What the oracles say that they signed; counts with `trust` only. Without it negatives are unproven.
    pub ledger: Option<Ledger>,
    /// See [`OnSecret`].
    pub on_secret: OnSecret,
    /// Findings to let pass.
    pub allow: Option<Allow>,
    /// See [`TrainAfterFail`].
    pub train_after_fail: TrainAfterFail,
    /// See [`OnTruncatedOutput`].
    pub on_truncated_output: OnTruncatedOutput,
    /// Most pairs of one task.
    pub pairs_per_task: usize,
    /// See [`PairStrategy`].
    pub pair_strategy: PairStrategy,
    /// Pairs whose longer side is more than this times the shorter one are not made.
    pub max_length_ratio: Option<f64>,
    /// See [`PromptMatch`].
    pub prompt_match: PromptMatch,
    /// Text of a JSON array of tools, in place of what the calls show.
    pub tools: Option<String>,
    /// By what tokens are counted, and the mask is held and proven; None: neither.
    pub tokens: Option<TokenRequest>,
    /// Most sessions of one task in the supervised set.
    pub max_per_task: Option<usize>,
    /// Most sessions of one repository in the supervised set.
    pub max_per_repo: Option<usize>,
    /// Tasks to keep for validation; None: all are for training.
    pub split: Option<Split>,
    /// Remotes to choose, in any form; empty is all.
    pub repos: Vec<String>,
    /// Organisations to choose, as they stand in the tables; empty is all.
    pub orgs: Vec<String>,
    /// Models to choose; empty is all.
    pub models: Vec<String>,
    /// Sessions that started then or later, milliseconds since 1970 UTC.
    pub since: Option<i64>,
    /// Sessions that started before, milliseconds since 1970 UTC.
    pub until: Option<i64>,
    /// Sessions and branches that `--where` chose; None is all.
    pub selection: Option<HashSet<(String, u32)>>,
    /// The text that `selection` came from, for the manifest.
    pub where_sql: Option<String>,
    /// Sources that may retract others' sessions.
    pub corrections_from: Vec<String>,
    /// Version of this program, for the manifest.
    pub code_version: String,
}

impl Request {
    /// Both sets of a whole lake, with the defaults of the command line.
    pub fn new(out: Out) -> Request {
        Request {
            out,
            force: false,
            dry_run: false,
            dialect: Dialect::default(),
            sft: true,
            preference: true,
            require_signature: false,
            trust: None,
            ledger: None,
            on_secret: OnSecret::default(),
            allow: None,
            train_after_fail: TrainAfterFail::default(),
            on_truncated_output: OnTruncatedOutput::default(),
            pairs_per_task: 1,
            pair_strategy: PairStrategy::default(),
            max_length_ratio: None,
            prompt_match: PromptMatch::default(),
            tools: None,
            tokens: None,
            max_per_task: None,
            max_per_repo: None,
            split: None,
            repos: Vec::new(),
            orgs: Vec::new(),
            models: Vec::new(),
            since: None,
            until: None,
            selection: None,
            where_sql: None,
            corrections_from: Vec::new(),
            code_version: String::new(),
        }
    }

    /// The sets that are asked for, in the order of reports.
    pub fn sets(&self) -> impl Iterator<Item = Set> + use<> {
        let preference = self.preference && self.dialect.sides() != crate::dialect::Sides::None;
        [(Set::Sft, self.sft), (Set::Preference, preference)].into_iter().filter(|(_, on)| *on).map(|(set, _)| set)
    }
}

/// What an export is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Branches are read, judged and assembled.
    Read,
    /// Tokens of rows are counted.
    Count,
    /// Rows are written.
    Write,
}

/// How far an export is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is doing.
    pub step: Step,
    /// Branches or rows that are done.
    pub done: u64,
    /// How many there are.
    pub total: u64,
    /// Bytes of the branches that are done, or of the rows.
    pub bytes: u64,
}
