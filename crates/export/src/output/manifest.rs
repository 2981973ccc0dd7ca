//! `manifest.json`: what went in, what came out, and by which rules. No clock, no path outside, no thread count.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::FunnelStep;
use crate::tokens::TokensUsed;
use crate::{
    Error, OnSecret, OnTooLong, OnTruncatedOutput, PairStrategy, PromptMatch, Request, Result, TrainAfterFail,
};

/// The manifest of an export. The same lake version, request and program give the same bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// Version of this format.
    pub version: u32,
    /// Version of the program.
    pub code_version: String,
    /// What was read.
    pub lake: LakeVersion,
    /// What was asked for.
    pub request: RequestEntry,
    /// Digest of the rules of the secret scan.
    pub rules_digest: String,
    /// Digest of the allow list; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_digest: Option<String>,
    /// Whose signatures counted.
    pub signatures: Signatures,
    /// `unproven`: a session that lost its last PASS looks like a negative, and no ledger was asked, or it does not list
    /// them all. `proven`: an oracle's ledger lists each, and no PASS of theirs.
    pub negatives: &'static str,
    /// `not_enforced`: nothing but the rows says what is not to be trained. `chat_template`: `chat_template.jinja` holds
    /// it, and the tokens of each row were looked at. `by_message`: the dialect's trainer holds the rows' mask. `by_role`:
    /// it trains all that the model said. `none`: the dialect has none.
    pub mask: &'static str,
    /// How long rows are, and the proof of the mask; absent without a tokenizer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokensUsed>,
    /// Corrections that were met.
    pub corrections: CorrectionsUsed,
    /// The tools of each harness.
    pub tools: Vec<ToolsEntry>,
    /// Counts by set.
    pub sets: BTreeMap<&'static str, SetCounts>,
    /// Every file but this one, by path.
    pub files: Vec<FileEntry>,
}

/// A version of the lake.
#[derive(Clone, Debug, Serialize)]
pub struct LakeVersion {
    /// The last batch.
    pub k: u64,
    /// SHA-256 of its record, hex; empty for an empty lake.
    pub record_sha256: String,
}

/// The request, as far as it decides the bytes. Files stand as digests.
#[derive(Clone, Debug, Serialize)]
pub struct RequestEntry {
    dialect: &'static str,
    sets: Vec<&'static str>,
    require_signature: bool,
    on_secret: OnSecret,
    train_after_fail: TrainAfterFail,
    on_truncated_output: OnTruncatedOutput,
    pairs_per_task: usize,
    pair_strategy: PairStrategy,
    max_length_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_per_task: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_per_repo: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<SplitEntry>,
    prompt_match: PromptMatch,
    tools_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<TokensEntry>,
    repos: Vec<String>,
    orgs: Vec<String>,
    models: Vec<String>,
    since: Option<String>,
    until: Option<String>,
    #[serde(rename = "where")]
    where_sql: Option<String>,
    corrections_from: Vec<String>,
}

/// How tokens are asked to be counted.
#[derive(Clone, Debug, Serialize)]
struct TokensEntry {
    special_tokens: BTreeMap<String, String>,
    max_tokens: Option<u64>,
    on_too_long: OnTooLong,
}

impl RequestEntry {
    pub(crate) fn of(request: &Request) -> RequestEntry {
        let sorted = |list: &[String]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list.dedup();
            list
        };
        RequestEntry {
            dialect: request.dialect.as_str(),
            sets: request.sets().map(crate::Set::as_str).collect(),
            require_signature: request.require_signature,
            on_secret: request.on_secret,
            train_after_fail: request.train_after_fail,
            on_truncated_output: request.on_truncated_output,
            pairs_per_task: request.pairs_per_task,
            pair_strategy: request.pair_strategy,
            max_length_ratio: request.max_length_ratio,
            max_per_task: request.max_per_task,
            max_per_repo: request.max_per_repo,
            split: request.split.map(|split| {
                let (train, validation) = split.shares();
                SplitEntry { train, validation }
            }),
            prompt_match: request.prompt_match,
            tools_sha256: request.tools.as_deref().map(crate::tools::sha256_hex),
            tokens: request.tokens.as_ref().map(|tokens| TokensEntry {
                special_tokens: tokens.special_tokens.clone(),
                max_tokens: tokens.max_tokens,
                on_too_long: tokens.on_too_long,
            }),
            repos: sorted(&request.repos),
            orgs: sorted(&request.orgs),
            models: sorted(&request.models),
            since: request.since.map(lake_trace::format_ms),
            until: request.until.map(lake_trace::format_ms),
            where_sql: request.where_sql.clone(),
            corrections_from: sorted(&request.corrections_from),
        }
    }
}

/// Shares of the tasks.
#[derive(Clone, Copy, Debug, Serialize)]
struct SplitEntry {
    train: f64,
    validation: f64,
}

/// Whether and by which keys signatures counted.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "judged", rename_all = "snake_case")]
pub enum Signatures {
    /// There was no trust file: records were taken at their word.
    No,
    /// By a trust file.
    Yes(TrustUsed),
}

/// The trust file, and what of it proved rows.
#[derive(Clone, Debug, Serialize)]
pub struct TrustUsed {
    /// Digest of the file.
    pub trust_digest: String,
    /// Digest over the lines of the oracles' ledgers; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger_digest: Option<String>,
    /// Keys that prove rows, sorted.
    pub key_ids: Vec<String>,
}

/// Corrections that were met.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CorrectionsUsed {
    /// Retractions that count.
    pub counted: u64,
    /// Retractions by someone who may not.
    pub refused: u64,
}

/// The tools that rows of one harness say they had.
#[derive(Clone, Debug, Serialize)]
pub struct ToolsEntry {
    /// Name of the harness; absent where one schema was given for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness: Option<String>,
    /// Its version; empty where traces name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// SHA-256 of the `tools` text, hex.
    pub sha256: String,
}

/// What a set made of the selection.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SetCounts {
    /// Branches in the selection: `used` and `excluded` together.
    pub selected: u64,
    /// Branches that are in some row.
    pub used: u64,
    /// Branches that are in none, by reason.
    pub excluded: BTreeMap<&'static str, u64>,
    /// The same in steps; not in the manifest, which has the reasons.
    #[serde(skip)]
    pub funnel: Vec<FunnelStep>,
    /// Rows.
    pub rows: u64,
    /// Those of them that are for validation; only with a split.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_rows: Option<u64>,
    /// Only in the preference set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<PairCounts>,
}

/// What the pairs are like.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct PairCounts {
    /// Pairs whose chosen side is the longer one.
    pub chosen_longer: u64,
    /// Pairs whose rejected side is the longer one.
    pub rejected_longer: u64,
    /// Pairs whose sides had other prompts.
    pub other_prompt: u64,
}

/// A file of the set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileEntry {
    /// Path in the output folder.
    pub path: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Lines that are rows; 0 for what holds none.
    pub rows: u64,
}

/// The manifest's bytes.
pub(crate) fn to_json(manifest: &Manifest) -> Result<String> {
    let mut text = serde_json::to_string_pretty(manifest).map_err(Error::Manifest)?;
    text.push('\n');
    Ok(text)
}
