//! `trace-lake export`: writes the training sets.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use lake_export::{Report, Request, Scan, Scans, SetCounts, Source, Step};
use lake_store::{Branch, Catalog, CommitTimes, ExportRow, Lake, Segment, catalog, read_checks};
use serde_json::json;

use crate::cmd_check::listed;
use crate::context::Context;
use crate::exit::Exit;
use crate::export_args::{ExportArgs, request};
use crate::export_verify;
use crate::lake_sql::{self, LakeSql};
use crate::lock::lock;
use crate::out::{self, escape, note};
use crate::outside::{refuse_here, refuse_lake};
use crate::progress::Progress;
use crate::tokens_arg;
use crate::units::count;

/// Exports.
pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.verify {
        return export_verify::run(context, args, &context.env.here.join(folder));
    }
    let out = args.out.as_deref().unwrap_or(Path::new(""));
    let request = request(context, args, out)?;
    let lake = context.open()?;
    refuse_lake(&lake, &context.env.here.join(out), "--out")?;
    refuse_here(&context.env.here, out)?;
    let out_text = out.display().to_string();
    // Two exports of one lake to two places do not do the same work: the place is part of the lock.
    let _lock = match args.dry_run {
        true => None,
        false => Some(lock(&context.env, "export", &lake, std::slice::from_ref(&out_text))?),
    };
    let left_out = context.derive_behind(&lake, args.dry_run)?;
    let report = make(context, &lake, args.at, request)?;
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
            "funnel": report.manifest.sets.iter().map(|(set, counts)| (*set, &counts.funnel)).collect::<BTreeMap<_, _>>(),
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

/// Makes the sets from the lake as of version `at`.
///
/// # Errors
/// Those of the lake and of the export.
pub(crate) fn make(context: &Context, lake: &Lake, at: Option<u64>, mut request: Request) -> anyhow::Result<Report> {
    if let Some(allow) = &mut request.allow {
        allow.fingerprint_key = Context::fingerprint_key(lake);
    }
    let catalog = catalog(lake, at)?;
    if let Some(predicate) = request.where_sql.clone() {
        let sql = lake_sql::open(context, lake.clone(), Some(catalog.k), false)?;
        let chosen = sql.wait(context, sql.query.select_where(&predicate))?;
        unjudged(context, &sql, &predicate)?;
        request.selection = Some(chosen.into_iter().collect());
    }
    let scans = scans(lake, &catalog, &context.secrets_digest()?)?;
    let progress = Progress::items(&context.env, "exporting");
    let show = |at: lake_export::Progress| {
        if at.step == Step::Read {
            progress.set(at.done, at.total);
        }
    };
    let report = lake_export::export(
        &catalog,
        &scans,
        &Stored { lake, times: CommitTimes::new(lake, true) },
        &request,
        &show,
        context.signals.stop(),
    )?;
    Ok(report)
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

/// What each step left of a selection, and whom it dropped.
fn funnel(set: &SetCounts) -> String {
    let mut text = format!("  funnel: found {}", set.selected);
    for step in &set.funnel {
        let dropped: Vec<String> = step.dropped.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let dropped = if dropped.is_empty() { String::new() } else { format!(" (-{})", dropped.join(", -")) };
        text.push_str(&format!(" → {} {}{dropped}", step.step, step.left));
    }
    text
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
        if args.dry_run {
            out::line(funnel(set))?;
        }
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
