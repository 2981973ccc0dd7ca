//! The check from end to end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use lake_store::{CheckRow, Checks, Finding, KindRows, Lake, catalog, derive, log};
use lake_verdict::{Across, Trust};
use rayon::prelude::*;

use crate::behind::{Behind, Due, Known, Look, behind, parts, rows};
use crate::judge::{Verdicts, brought};
use crate::look::{Looker, Seen};
use crate::report::LISTED;
use crate::rows::Writer;
use crate::secrets::{Found, count_by_rule};
use crate::{Error, Options, Progress, Report, Result, SessionFinding, secrets_digest, signatures_digest};

const SECRETS: &str = "secrets";
const SIGNATURES: &str = "signatures";

/// Derives what is behind, looks at every branch that has no row for the rules and the trust file in force, and appends
/// the rows.
///
/// Runs on rayon's current pool. A branch is in memory whole, one a thread, those over 64 MiB one at a time.
///
/// Flags that only several sessions together show (`replayed_run`, `flaky`) are told over the branches that one run
/// looks at, and the other branches of their sessions; a session that came later does not change the row of one that was
/// looked at before. An export looks at all of them.
///
/// # Errors
/// Those of the store, and [`Error::Stopped`]. The rows that were finished before it are written all the same.
pub fn check(lake: &Lake, options: &Options, progress: &dyn Progress, stop: &AtomicBool) -> Result<Report> {
    let mut report = Report::default();
    if !options.dry_run {
        let on_bytes = |bytes: u64| {
            progress.more(bytes);
            progress.done(bytes);
        };
        let derived = derive(lake, stop, &on_bytes).map_err(Error::store("deriving the tables"))?;
        (report.notes, report.damaged) = (derived.notes, derived.damaged);
    }
    let catalog = catalog(lake, None).map_err(Error::store("reading the tables"))?;
    report.k = catalog.k;
    if options.dry_run {
        let tip = log::tip(lake).map_err(Error::store("reading the log"))?;
        report.behind = tip.k.saturating_sub(catalog.k);
    }
    let digest = secrets_digest(&options.allow);
    let reading = || Error::store("reading checks");
    let checks = Checks::open(lake).map_err(reading())?;
    let same = |of_row: &str| of_row == digest;
    let mut secrets = checks.read(lake, SECRETS, same, |_, of_row| same(of_row)).map_err(reading())?;
    let judged = |trust: &Trust| {
        // With a ledger a session's row says so behind the digest of the trust file.
        let ours = |digest: &str| digest.starts_with(trust.digest());
        let wanted = |session_id: &str, digest: &str| {
            ours(digest) && digest == signatures_digest(trust, options.ledger.as_ref(), session_id)
        };
        checks.read(lake, SIGNATURES, ours, wanted).map_err(reading())
    };
    let mut signatures = options.trust.as_ref().map(judged).transpose()?;
    let take = |said: &mut KindRows| rows(std::mem::take(&mut said.rows));
    let known = (take(&mut secrets), signatures.as_mut().map(take));
    let Behind { due, already, with_secrets, flagged } = behind(&catalog, &known.0, known.1.as_ref());
    drop(known);
    (report.already, report.with_secrets_before, report.flagged_before) = (already, with_secrets, flagged);
    progress.more(due.iter().map(|due| due.branch.end()).sum());

    let writer = Writer::new(lake, checks, options.dry_run);
    let run = Run { options, digest: &digest, looker: Looker::new(lake, options), writer: &writer, progress, stop };
    for part in parts(due) {
        // What was finished before a fault or a stop is kept; the fault is what is reported.
        let done = run.part(&part, &mut report);
        let flushed = writer.flush();
        done.and(flushed)?;
    }
    // Views go by the newest run where they are not told what to go by: one that had nothing to write says so too.
    for (kind, digest, said) in [
        (SECRETS, Some(digest.as_str()), Some(&secrets)),
        (SIGNATURES, options.trust.as_ref().map(|trust| trust.digest()), signatures.as_ref()),
    ] {
        let (Some(digest), Some(said)) = (digest, said) else { continue };
        let wrote = writer.wrote(kind).then_some(options.now_ms);
        if let Some(at) = said.mark_at(wrote, options.now_ms) {
            writer.add(CheckRow::mark(kind, digest, at))?;
        }
    }
    report.rows = writer.written();
    writer.flush()?;
    Ok(report)
}

struct Run<'r> {
    options: &'r Options,
    /// Of the rules and the allow list.
    digest: &'r str,
    looker: Looker<'r>,
    writer: &'r Writer<'r>,
    progress: &'r dyn Progress,
    stop: &'r AtomicBool,
}

impl Run<'_> {
    fn part(&self, part: &[Due<'_>], report: &mut Report) -> Result<()> {
        // One at a time to a thread: sizes differ by much.
        let seen: Vec<Result<Told>> = part.par_iter().with_max_len(1).map(|due| self.one(due)).collect();
        let seen: Vec<Told> = seen.into_iter().collect::<Result<_>>()?;
        let mut across = Across::new();
        self.options.ledger.iter().for_each(|ledger| across.add_ledger(ledger));
        seen.iter().filter_map(|told| told.verdicts.as_ref()?.claim.as_ref()).for_each(|claim| across.add(claim));
        for (due, told) in part.iter().zip(seen) {
            report.bytes += due.branch.end();
            if let Some(note) = told.note {
                report.notes.push(note);
                report.unread += 1;
                continue;
            }
            if let Some(secrets) = told.secrets {
                secrets.tell(due, report);
            }
            if let Some(verdicts) = told.verdicts {
                self.judged(due, verdicts, &across, report)?;
            }
        }
        Ok(())
    }

    fn one(&self, due: &Due<'_>) -> Result<Told> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        let seen = self.looker.look(due)?;
        self.progress.done(due.branch.end());
        let (found, verdicts) = match seen {
            Seen::Unread(note) => return Ok(Told { note: Some(note), ..Told::default() }),
            Seen::Read { found, verdicts } => (found, verdicts),
        };
        let secrets = found.as_ref().map(Secrets::of);
        if let Some(found) = found {
            self.add(&due.secrets, self.row(due, SECRETS, self.digest, found.result, found.findings))?;
        }
        Ok(Told { note: None, secrets, verdicts })
    }

    fn judged(&self, due: &Due<'_>, verdicts: Verdicts, across: &Across, report: &mut Report) -> Result<()> {
        let Some(trust) = &self.options.trust else { return Ok(()) };
        let mut findings = verdicts.findings;
        for flag in verdicts.claim.iter().flat_map(|claim| across.flags(claim)) {
            if !findings.iter().any(|finding| finding.rule == flag.as_str()) {
                findings.push(brought(flag));
            }
        }
        let outcome = verdicts.outcome.as_str();
        let digest = signatures_digest(trust, self.options.ledger.as_ref(), &due.branch.session_id);
        report.looked_at_signatures += 1;
        *report.outcomes.entry(outcome.to_owned()).or_default() += 1;
        count_by_rule(&findings, &mut report.flags);
        let row = self.row(due, SIGNATURES, &digest, outcome, findings);
        self.add(&due.signatures, row)
    }

    fn row(&self, due: &Due<'_>, kind: &str, digest: &str, result: &str, findings: Vec<Finding>) -> CheckRow {
        CheckRow {
            session_id: due.branch.session_id.clone(),
            branch: due.branch.branch,
            end: due.branch.end(),
            kind: kind.to_owned(),
            digest: digest.to_owned(),
            result: result.to_owned(),
            at: self.options.now_ms,
            findings,
        }
    }

    fn add(&self, look: &Look, row: CheckRow) -> Result<()> {
        let news = match look {
            Look::No => false,
            Look::New => true,
            Look::Again(known) => *known != Known::of(&row),
        };
        if news { self.writer.add(row) } else { Ok(()) }
    }
}

/// What is kept of a branch once it was looked at.
#[derive(Default)]
struct Told {
    note: Option<String>,
    secrets: Option<Secrets>,
    verdicts: Option<Verdicts>,
}

/// What the report needs of a branch's secrets. The findings themselves went to the writer: a part may have many.
struct Secrets {
    result: &'static str,
    by_rule: BTreeMap<String, u64>,
    listed: Vec<Finding>,
}

impl Secrets {
    fn of(found: &Found) -> Secrets {
        let mut by_rule = BTreeMap::new();
        count_by_rule(&found.findings, &mut by_rule);
        Secrets { result: found.result, by_rule, listed: found.findings.iter().take(LISTED).cloned().collect() }
    }

    fn tell(self, due: &Due<'_>, report: &mut Report) {
        report.looked_at_secrets += 1;
        match self.result {
            "found" => report.with_secrets += 1,
            "allowed" => report.allowed += 1,
            _ => {}
        }
        for (rule, count) in self.by_rule {
            *report.findings_by_rule.entry(rule).or_default() += count;
        }
        let room = LISTED.saturating_sub(report.secrets.len());
        report.secrets.extend(self.listed.into_iter().take(room).map(|finding| SessionFinding {
            session_id: due.branch.session_id.clone(),
            branch: due.branch.branch,
            finding,
        }));
    }
}
