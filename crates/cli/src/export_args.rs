//! What `export` is asked for.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lake_export::{Allow, OnSecret, OnTruncatedOutput, Out, PairStrategy, PromptMatch, Request, Split, TrainAfterFail};

use crate::context::{Context, read};
use crate::dialect_arg::DialectArg;
use crate::exit::usage;
use crate::ledger_arg::LedgerArgs;
use crate::tokens_arg::TokenArgs;
use crate::units::{parse_some, parse_when};

/// Arguments of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The folder to write; it must not be there
    #[arg(long, value_name = "DIR", required_unless_present = "verify")]
    pub(crate) out: Option<PathBuf>,
    /// Write nothing: make the sets of this folder again, by its manifest, and say whether the bytes are the same
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "force", "dry_run", "strict", "require_signature", "dialect", "sets", "on_secret", "train_after_fail", "on_truncated_output", "pairs_per_task", "pair_strategy", "max_length_ratio", "prompt_match", "split", "max_per_task", "max_per_repo", "repo", "org", "model", "since", "until", "where_sql", "at", "max_tokens", "on_too_long"])]
    pub(crate) verify: Option<PathBuf>,
    /// Every record up to the deciding PASS must be signed; needs --trust
    #[arg(long)]
    pub(crate) require_signature: bool,
    #[command(flatten)]
    pub(crate) ledger: LedgerArgs,
    /// The form of the rows
    #[arg(long, value_enum, default_value_t = DialectArg::Trl)]
    pub(crate) dialect: DialectArg,
    /// Which sets to write
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SETS", default_values_t = [SetName::Sft, SetName::Preference])]
    pub(crate) sets: Vec<SetName>,
    /// What becomes of a session with a secret in what would be a row
    #[arg(long, value_enum, default_value_t = SecretArg::Exclude)]
    pub(crate) on_secret: SecretArg,
    /// What is trained of a session that did not pass at once
    #[arg(long, value_enum, default_value_t = AfterFail::Work)]
    pub(crate) train_after_fail: AfterFail,
    /// What becomes of a session with a tool output that the collector cut
    #[arg(long, value_enum, default_value_t = CutOutput::Keep)]
    pub(crate) on_truncated_output: CutOutput,
    /// Most pairs of one task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_some)]
    pub(crate) pairs_per_task: usize,
    /// Which pairs of a task are taken first
    #[arg(long, value_enum, default_value_t = Strategy::ClosestLength)]
    pub(crate) pair_strategy: Strategy,
    /// No pairs whose longer side is more than this times the shorter one
    #[arg(long, value_name = "X")]
    pub(crate) max_length_ratio: Option<f64>,
    /// Most sessions of one task in the supervised set
    #[arg(long, value_name = "N", value_parser = parse_some)]
    pub(crate) max_per_task: Option<usize>,
    /// Most sessions of one repository in the supervised set
    #[arg(long, value_name = "N", value_parser = parse_some)]
    pub(crate) max_per_repo: Option<usize>,
    /// Shares of the tasks for training and validation, such as 0.95/0.05; without it all are for training
    #[arg(long, value_name = "TRAIN/VALIDATION", value_parser = parse_split)]
    pub(crate) split: Option<Split>,
    /// When two prompts count as the same
    #[arg(long, value_enum, default_value_t = Match::Exact)]
    pub(crate) prompt_match: Match,
    /// A JSON array of tools, in place of what the calls show
    #[arg(long, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tokens: TokenArgs,
    /// Only sessions of this remote; repeatable
    #[arg(long, value_name = "REMOTE")]
    pub(crate) repo: Vec<String>,
    /// Only sessions of this organisation; repeatable
    #[arg(long)]
    pub(crate) org: Vec<String>,
    /// Only sessions of this model; repeatable
    #[arg(long)]
    pub(crate) model: Vec<String>,
    /// Only sessions that started then or later: a date or an RFC 3339 time
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    pub(crate) since: Option<i64>,
    /// Only sessions that started before
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    pub(crate) until: Option<i64>,
    /// Only sessions that satisfy this over the view `sessions`
    #[arg(long = "where", value_name = "SQL")]
    pub(crate) where_sql: Option<String>,
    /// The lake as of this version
    #[arg(long, value_name = "K")]
    pub(crate) at: Option<u64>,
    /// Replace the earlier export, or the empty folder, that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Do all but write
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Exit with 4 when a session was excluded
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub(crate) enum SetName {
    Sft,
    Preference,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SecretArg {
    Exclude,
    Redact,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AfterFail {
    Work,
    All,
    Last,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CutOutput {
    Keep,
    Exclude,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Strategy {
    ClosestLength,
    First,
    Random,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Match {
    Exact,
    Task,
}

/// What is asked for, into `out`.
///
/// # Errors
/// Wrong usage, and files that cannot be read.
pub(crate) fn request(context: &Context, args: &ExportArgs, out: &Path) -> anyhow::Result<Request> {
    let mut request = Request::new(Out::Folder(folder(context, out)?));
    request.trust = context.trust()?;
    if args.require_signature && request.trust.is_none() {
        return Err(lake_export::Error::NoTrust.into());
    }
    request.ledger = args.ledger.read(context, request.trust.as_ref())?;
    if let (Some(since), Some(until)) = (args.since, args.until)
        && since >= until
    {
        return Err(usage("--since is not before --until", "since is inclusive, until is exclusive"));
    }
    if args.max_length_ratio.is_some_and(|ratio| !(ratio >= 1.0 && ratio.is_finite())) {
        return Err(usage("--max-length-ratio is less than 1", "it is the longer side over the shorter one"));
    }
    request.allow = context.allow()?.map(|list| Allow {
        list,
        fingerprint_key: Vec::new(),
        now_unix_seconds: context.env.now_ms.div_euclid(1000),
    });
    request.force = args.force;
    request.dry_run = args.dry_run;
    request.sft = args.sets.contains(&SetName::Sft);
    request.preference = args.sets.contains(&SetName::Preference);
    request.require_signature = args.require_signature;
    request.on_secret = match args.on_secret {
        SecretArg::Exclude => OnSecret::Exclude,
        SecretArg::Redact => OnSecret::Redact,
    };
    request.train_after_fail = match args.train_after_fail {
        AfterFail::Work => TrainAfterFail::Work,
        AfterFail::All => TrainAfterFail::All,
        AfterFail::Last => TrainAfterFail::Last,
    };
    request.on_truncated_output = match args.on_truncated_output {
        CutOutput::Keep => OnTruncatedOutput::Keep,
        CutOutput::Exclude => OnTruncatedOutput::Exclude,
    };
    request.pairs_per_task = args.pairs_per_task;
    request.pair_strategy = match args.pair_strategy {
        Strategy::ClosestLength => PairStrategy::ClosestLength,
        Strategy::First => PairStrategy::First,
        Strategy::Random => PairStrategy::Random,
    };
    request.max_length_ratio = args.max_length_ratio;
    (request.max_per_task, request.max_per_repo) = (args.max_per_task, args.max_per_repo);
    request.split = args.split;
    request.prompt_match = match args.prompt_match {
        Match::Exact => PromptMatch::Exact,
        Match::Task => PromptMatch::Task,
    };
    request.tools = args.tools.as_deref().map(|path| read(path, "tools file")).transpose()?;
    request.tokens = args.tokens.read(context)?;
    request.repos.clone_from(&args.repo);
    request.orgs.clone_from(&args.org);
    request.models.clone_from(&args.model);
    (request.since, request.until) = (args.since, args.until);
    request.where_sql.clone_from(&args.where_sql);
    request.corrections_from.clone_from(&context.settings.corrections_from.value);
    request.code_version = env!("CARGO_PKG_VERSION").to_owned();
    request.dialect = args.dialect.into();
    Ok(request)
}

fn parse_split(text: &str) -> Result<Split, String> {
    Split::parse(text).ok_or_else(|| "two shares that make 1 together, such as 0.95/0.05".to_owned())
}

fn folder(context: &Context, out: &Path) -> anyhow::Result<PathBuf> {
    let text = out.display().to_string();
    if text.contains("://") {
        return Err(usage(
            format!("--out {text} is no folder"),
            "name a folder on this machine, and copy it where it is wanted",
        ));
    }
    Ok(context.env.here.join(out))
}
