//! `trace-lake export`: writes the training sets.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lake_export::{
    Allow, OnSecret, OnTruncatedOutput, Out, PairStrategy, PromptMatch, Report, Request, Scan, Scans, Source, Split,
    Step, TrainAfterFail,
};
use lake_store::{Branch, Catalog, CommitTimes, ExportRow, Lake, Segment, catalog, read_checks};
use serde_json::json;

use crate::cmd_check::listed;
use crate::context::{Context, read};
use crate::dialect_arg::DialectArg;
use crate::exit::{Exit, usage};
use crate::lake_sql::{self, LakeSql};
use crate::ledger_arg::LedgerArgs;
use crate::lock::lock;
use crate::out::{self, escape, note};
use crate::outside::{refuse_here, refuse_lake};
use crate::progress::Progress;
use crate::tokens_arg::{self, TokenArgs};
use crate::units::{count, parse_some, parse_when};

/// Arguments of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The folder to write; it must not be there
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Every record up to the deciding PASS must be signed; needs --trust
    #[arg(long)]
    require_signature: bool,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// The form of the rows
    #[arg(long, value_enum, default_value_t = DialectArg::Trl)]
    dialect: DialectArg,
    /// Which sets to write
    #[arg(long, value_enum, value_delimiter = ',', value_name = "SETS", default_values_t = [SetName::Sft, SetName::Preference])]
    sets: Vec<SetName>,
    /// What becomes of a session with a secret in what would be a row
    #[arg(long, value_enum, default_value_t = SecretArg::Exclude)]
    on_secret: SecretArg,
    /// What is trained of a session that did not pass at once
    #[arg(long, value_enum, default_value_t = AfterFail::Work)]
    train_after_fail: AfterFail,
    /// What becomes of a session with a tool output that the collector cut
    #[arg(long, value_enum, default_value_t = CutOutput::Keep)]
    on_truncated_output: CutOutput,
    /// Most pairs of one task
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_some)]
    pairs_per_task: usize,
    /// Which pairs of a task are taken first
    #[arg(long, value_enum, default_value_t = Strategy::ClosestLength)]
    pair_strategy: Strategy,
    /// No pairs whose longer side is more than this times the shorter one
    #[arg(long, value_name = "X")]
    max_length_ratio: Option<f64>,
    /// Shares of the tasks for training and validation, such as 0.95/0.05; without it all are for training
    #[arg(long, value_name = "TRAIN/VALIDATION", value_parser = parse_split)]
    split: Option<Split>,
    /// When two prompts count as the same
    #[arg(long, value_enum, default_value_t = Match::Exact)]
    prompt_match: Match,
    /// A JSON array of tools, in place of what the calls show
    #[arg(long, value_name = "FILE")]
    tools: Option<PathBuf>,
    #[command(flatten)]
    tokens: TokenArgs,
    /// Only sessions of this remote; repeatable
    #[arg(long, value_name = "REMOTE")]
    repo: Vec<String>,
    /// Only sessions of this organisation; repeatable
    #[arg(long)]
    org: Vec<String>,
    /// Only sessions of this model; repeatable
    #[arg(long)]
    model: Vec<String>,
    /// Only sessions that started then or later: a date or an RFC 3339 time
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    since: Option<i64>,
    /// Only sessions that started before
    #[arg(long, value_name = "WHEN", value_parser = parse_when)]
    until: Option<i64>,
    /// Only sessions that satisfy this over the view `sessions`
    #[arg(long = "where", value_name = "SQL")]
    where_sql: Option<String>,
    /// The lake as of this version
    #[arg(long, value_name = "K")]
    at: Option<u64>,
    /// Replace the earlier export, or the empty folder, that is there
    #[arg(long)]
    force: bool,
    /// Do all but write
    #[arg(long)]
    dry_run: bool,
    /// Exit with 4 when a session was excluded
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
enum SetName {
    Sft,
    Preference,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SecretArg {
    Exclude,
    Redact,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AfterFail {
    Work,
    All,
    Last,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CutOutput {
    Keep,
    Exclude,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Strategy {
    ClosestLength,
    First,
    Random,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Match {
    Exact,
    Task,
}

/// Exports.
pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let mut request = request(context, args)?;
    let lake = context.open()?;
    if let Some(allow) = &mut request.allow {
        allow.fingerprint_key = Context::fingerprint_key(&lake);
    }
    refuse_lake(&lake, &context.env.here.join(&args.out), "--out")?;
    refuse_here(&context.env.here, &args.out)?;
    let out_text = args.out.display().to_string();
    // Two exports of one lake to two places do not do the same work: the place is part of the lock.
    let _lock = match args.dry_run {
        true => None,
        false => Some(lock(&context.env, "export", &lake, std::slice::from_ref(&out_text))?),
    };
    let left_out = context.derive_behind(&lake, args.dry_run)?;
    let catalog = catalog(&lake, args.at)?;
    if let Some(predicate) = &args.where_sql {
        let sql = lake_sql::open(context, lake.clone(), Some(catalog.k), false)?;
        let chosen = sql.wait(context, sql.query.select_where(predicate))?;
        unjudged(context, &sql, predicate)?;
        request.selection = Some(chosen.into_iter().collect());
    }
    let scans = scans(&lake, &catalog, &context.secrets_digest()?)?;
    let progress = Progress::items(&context.env, "exporting");
    let show = |at: lake_export::Progress| {
        if at.step == Step::Read {
            progress.set(at.done, at.total);
        }
    };
    let report = lake_export::export(
        &catalog,
        &scans,
        &Stored { lake: &lake, times: CommitTimes::new(&lake, true) },
        &request,
        &show,
        context.signals.stop(),
    )?;
    drop(progress);
    if !args.dry_run {
        append(context, &lake, &report)?;
    }
    let excluded = report.manifest.sets.values().any(|set| set.excluded.values().any(|n| *n > 0));
    // Bytes that were purged are gone because someone asked for it; damaged ones are an input that cannot be read.
    let damaged = report.manifest.sets.values().any(|set| set.excluded.get("damaged").is_some_and(|n| *n > 0));
    let exit = match (damaged || left_out > 0, args.strict && excluded) {
        (true, _) => Exit::Partly,
        (false, true) => Exit::Strict,
        (false, false) => Exit::Done,
    };
    if context.json {
        out::json(&json!({
            "out": out_text,
            "dry_run": args.dry_run,
            "k": report.manifest.lake.k,
            "manifest_sha256": report.manifest_sha256,
            "sets": report.manifest.sets,
            "signatures": report.manifest.signatures,
            "negatives": report.manifest.negatives,
            "tokens": report.manifest.tokens,
            "files": report.manifest.files,
            "warnings": report.warnings,
            "exit_code": exit.code(),
        }))?;
    } else {
        say(&report, args)?;
    }
    for text in &report.warnings {
        note(format!("warning: {}", escape(text)));
    }
    Ok(exit)
}

fn request(context: &Context, args: &ExportArgs) -> anyhow::Result<Request> {
    let mut request = Request::new(Out::Folder(folder(context, &args.out)?));
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

/// Says how many sessions a predicate over what checks found cannot choose, because no check has looked at them.
fn unjudged(context: &Context, sql: &LakeSql, predicate: &str) -> anyhow::Result<()> {
    for (column, looked) in [("outcome", "judged"), ("verified", "judged"), ("secrets", "scanned")] {
        let named = predicate.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == column);
        if !named {
            continue;
        }
        let by = if column == "secrets" { "secrets" } else { "outcome" };
        let rows = sql.rows(context, &format!("select count(*) as n from sessions where {by} is null"))?;
        let n = rows.first().and_then(|row| row.get("n")?.as_u64()).unwrap_or(0);
        if n > 0 {
            let sessions = count(n, "session");
            note(format!(
                "warning: {sessions} not {looked} by a check, so that `{column}` says nothing of them in --where: \
                 `trace-lake check` first"
            ));
            break;
        }
    }
    Ok(())
}

/// Secret checks of the bytes that will be read: of each branch up to its end in the catalog. Of two rows the worse
/// counts.
fn scans(lake: &Lake, catalog: &Catalog, digest: &str) -> anyhow::Result<Scans> {
    let ends: HashMap<(&str, u32), u64> =
        catalog.branches.iter().map(|b| ((b.session_id.as_str(), b.branch), b.end())).collect();
    let mut scans = Scans::new();
    for row in read_checks(lake, "secrets", digest)? {
        if ends.get(&(row.session_id.as_str(), row.branch)) != Some(&row.end) {
            continue;
        }
        let clean = row.result == "clean";
        let scan = scans.entry((row.session_id, row.branch)).or_insert(Scan { end: row.end, clean: true });
        scan.clean &= clean;
    }
    Ok(scans)
}

/// Branches as the lake holds them.
struct Stored<'l> {
    lake: &'l Lake,
    times: CommitTimes,
}

impl Source for Stored<'_> {
    fn bytes(&self, branch: &Branch) -> lake_store::Result<lake_trace::Hashed> {
        lake_store::read_branch(self.lake, branch)
    }

    fn committed_at(&self, segment: &Segment) -> lake_store::Result<Option<i64>> {
        self.times.of_segment(segment)
    }
}

/// The set is whole and in its place; now the lake remembers what is in it.
fn append(context: &Context, lake: &Lake, report: &Report) -> anyhow::Result<()> {
    let rows: Vec<ExportRow> = report
        .rows
        .iter()
        .map(|row| ExportRow {
            manifest_sha256: report.manifest_sha256.clone(),
            at: context.env.now_ms,
            out: report.out.display().to_string(),
            k: report.manifest.lake.k,
            set: row.set.to_owned(),
            row: row.row,
            session_id: row.session_id.clone(),
            branch: row.branch,
            end: row.end,
            key_ids: row.key_ids.clone(),
            rules_digest: Some(report.manifest.rules_digest.clone()),
        })
        .collect();
    anyhow::Context::with_context(lake_store::append_exports(lake, &rows), || {
        format!("the sets are in {}, but the lake could not note it", report.out.display())
    })
}

fn say(report: &Report, args: &ExportArgs) -> anyhow::Result<()> {
    for (name, set) in &report.manifest.sets {
        out::line(format!(
            "{name}: {}{}, {} used of {} selected",
            count(set.rows, "row"),
            set.validation_rows.map(|n| format!(" ({n} for validation)")).unwrap_or_default(),
            set.used,
            count(set.selected, "session")
        ))?;
        let excluded = set.excluded.iter().map(|(reason, n)| ((*reason).to_owned(), *n)).collect();
        out::line(listed("  excluded: ", &excluded))?;
        tokens_arg::say(report.manifest.tokens.as_ref(), name)?;
        if let Some(pairs) = set.pairs.filter(|_| set.rows > 0) {
            let (chosen, rejected) = (pairs.chosen_longer, pairs.rejected_longer);
            out::line(format!("  longer side: chosen {chosen}, rejected {rejected}"))?;
        }
    }
    let k = report.manifest.lake.k;
    if args.dry_run {
        out::line(format!("nothing was written; version {k}"))?;
    } else {
        out::line(format!("version {k} in {}", escape(&report.out.display().to_string())))?;
        out::line(format!("manifest sha256 {}", report.manifest_sha256))?;
    }
    Ok(())
}
