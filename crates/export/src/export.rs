//! The export from end to end.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use chrono::{DateTime, Utc};
use lake_secrets::RuleSet;
use lake_store::{Branch, Catalog};
use lake_verdict::Ledger;
use rayon::prelude::*;

use crate::choose::{Everyone, everyone, needed, selected};
use crate::dialect::{Sides, losses, write_member};
use crate::examine::{Bench, examine};
use crate::facts::Facts;
use crate::output::{
    CorrectionsUsed, FileEntry, Folder, LakeVersion, Manifest, RequestEntry, Signatures, ToolsEntry, TrustUsed, card,
    configuration, dataset_info, refuse_existing, to_json,
};
use crate::plan::{Plan, plan, settle_again};
use crate::rows::{Rows, Written};
use crate::secrets::Guard;
use crate::spill::Spill;
use crate::tokens::{Measuring, Tokens};
use crate::tools::{Shapes, sha256_hex};
use crate::{
    Dialect, Error, Out, Progress, PromptMatch, Report, Request, Result, Scans, Set, Source, Step, TrainAfterFail,
};

/// Branches over this size are read one at a time, bytes: memory must not grow with the number of threads.
const LARGE_BYTES: u64 = 16 << 20;

/// Writes training sets from the branches of a catalog.
///
/// Runs on rayon's current pool; what comes out does not depend on its size, nor on the order of the branches. `scans`
/// are the newest secret checks under the rules in force: a clean one of the whole branch saves the scan.
///
/// # Errors
/// Whatever fails, what stood at the output's place stands there still, and nothing else is left behind.
pub fn export(
    catalog: &Catalog,
    scans: &Scans,
    source: &dyn Source,
    request: &Request,
    progress: &(dyn Fn(Progress) + Sync),
    stop: &AtomicBool,
) -> Result<Report> {
    if request.require_signature && request.trust.is_none() {
        return Err(Error::NoTrust);
    }
    if request.train_after_fail == TrainAfterFail::Last && !["by_message", "chat_template"].contains(&mask(request)) {
        return Err(Error::LastWithoutTemplate);
    }
    if request.dialect.sides() == Sides::LastMessage && request.prompt_match == PromptMatch::Task && request.preference
    {
        return Err(Error::TaskPromptForOneMessage);
    }
    let tokens = request.tokens.as_ref().map(|tokens| Tokens::open(tokens, last_batch(catalog))).transpose()?;
    let Out::Folder(out) = &request.out;
    let folder = if request.dry_run {
        refuse_existing(out, request.force)?;
        None
    } else {
        Some(Folder::create(out, request.force)?)
    };
    let spill = match &folder {
        Some(folder) => Some(Spill::create(folder.path())?),
        None => tokens.as_ref().map(|_| Spill::elsewhere()).transpose()?,
    };
    let guard = Guard { rules: RuleSet::builtin(), allow: request.allow.as_ref(), on_secret: request.on_secret };
    let bench = Bench { request, guard, shapes: &Shapes::default(), spill: spill.as_ref() };
    let selected = selected(catalog, request);
    let reader = Reader { catalog, scans, source, bench: &bench, progress, stop };
    let mut facts = reader.read(&selected)?;

    let everyone = everyone(catalog, &facts, request);
    let mut plan = plan(catalog, &facts, &selected, &everyone, &guard, request)?;
    if let (Some(tokens), Some(spill)) = (&tokens, &spill) {
        Measuring { tokens, catalog, spill, progress, stop }.measure(&mut facts, &plan)?;
        plan = settle_again(plan, catalog, &facts, &selected, &everyone, request);
    }
    let spill = spill.as_ref();
    let rows = Rows {
        dialect: request.dialect,
        catalog,
        facts: &facts,
        plan: &plan,
        spill,
        split: request.split,
        progress,
        stop,
    };
    let into = folder.as_ref().map(Folder::path);
    let sets: Vec<Set> = request.sets().collect();
    let written: Result<Vec<_>> = sets.into_par_iter().map(|set| Ok((set, rows.write(set, into)?))).collect();
    let written = written?;
    let negatives = negatives(&plan, &facts, request);
    let mut manifest = manifest(catalog, &plan, (everyone.corrections, negatives), &guard, request, &written);
    let names = secret_names(catalog, &plan, &guard);
    let exclusions = exclusions(catalog, &plan, &everyone, &names);
    manifest.tokens = tokens.as_ref().map(|tokens| tokens.used(written.iter().map(|(set, w)| (*set, &w.tokens))));
    let template = tokens.as_ref().filter(|_| request.dialect == Dialect::Trl).map(Tokens::template);
    let mut report = finish(folder, manifest, &exclusions, written, template, request)?;
    report.warnings.extend(tokens.iter().flat_map(Tokens::warnings));
    if !names.is_empty() {
        let n = names.len();
        report.warnings.push(format!("{n} session ids hold a secret: exclusions.jsonl has placeholders in them"));
    }
    Ok(report)
}

struct Reader<'e> {
    catalog: &'e Catalog,
    scans: &'e Scans,
    source: &'e dyn Source,
    bench: &'e Bench<'e>,
    progress: &'e (dyn Fn(Progress) + Sync),
    stop: &'e AtomicBool,
}

impl Reader<'_> {
    /// Facts in the catalog's order, None where nothing had to be read.
    fn read(&self, selected: &[bool]) -> Result<Vec<Option<Facts>>> {
        let needed = needed(self.catalog, selected, self.bench.request);
        let orders = orders(self.catalog);
        let total = needed.iter().filter(|is_needed| **is_needed).count() as u64;
        let (done, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        let large = Mutex::new(());
        let one = |i: usize, branch: &Branch| {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            // Held while a large branch is in memory.
            let _alone = (branch.end() > LARGE_BYTES).then(|| large.lock().unwrap_or_else(PoisonError::into_inner));
            let order = orders.get(branch.session_id.as_str()).copied().unwrap_or(0);
            let scan = self.scans.get(&(branch.session_id.clone(), branch.branch));
            let facts = examine(self.bench, self.source, branch, order, scan, selected[i])?;
            let bytes = bytes.fetch_add(branch.end(), Ordering::Relaxed) + branch.end();
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            (self.progress)(Progress { step: Step::Read, done, total, bytes });
            Ok(facts)
        };
        let branches = self.catalog.branches.par_iter().enumerate().with_max_len(1);
        branches.map(|(i, branch)| needed[i].then(|| one(i, branch)).transpose()).collect()
    }
}

/// What holds the rows' mask, as the manifest says it.
fn mask(request: &Request) -> &'static str {
    match (request.dialect, &request.tokens) {
        (Dialect::Trl, Some(_)) => "chat_template",
        (dialect, _) => dialect.mask(),
    }
}

/// When the last batch came: the same whenever one asks.
fn last_batch(catalog: &Catalog) -> DateTime<Utc> {
    let times = catalog.branches.iter().flat_map(|branch| &branch.segments).map(|segment| segment.at);
    times.max().and_then(DateTime::from_timestamp_millis).unwrap_or_default()
}

/// For each session the first batch that held any of it.
fn orders(catalog: &Catalog) -> HashMap<&str, u64> {
    let mut orders: HashMap<&str, u64> = HashMap::new();
    for branch in &catalog.branches {
        let k = branch.segments.first().map_or(0, |segment| segment.k);
        orders.entry(&branch.session_id).and_modify(|first| *first = k.min(*first)).or_insert(k);
    }
    orders
}

fn manifest(
    catalog: &Catalog,
    plan: &Plan,
    (corrections, negatives): ((u64, u64), &'static str),
    guard: &Guard<'_>,
    request: &Request,
    written: &[(Set, Written)],
) -> Manifest {
    let mut key_ids: Vec<String> =
        written.iter().flat_map(|(_, w)| &w.exported).flat_map(|row| row.key_ids.iter().cloned()).collect();
    key_ids.sort_unstable();
    key_ids.dedup();
    let signatures = match &request.trust {
        Some(trust) => Signatures::Yes(TrustUsed {
            trust_digest: trust.digest().to_owned(),
            ledger_digest: request.ledger.as_ref().map(Ledger::digest),
            key_ids,
        }),
        None => Signatures::No,
    };
    let tools = plan.tools.all().map(|(harness, text)| ToolsEntry {
        harness: harness.map(|(name, _)| name.clone()),
        version: harness.map(|(_, version)| version.clone()),
        sha256: sha256_hex(text),
    });
    Manifest {
        version: 1,
        code_version: request.code_version.clone(),
        lake: LakeVersion { k: catalog.k, record_sha256: catalog.record_sha256.clone() },
        request: RequestEntry::of(request),
        rules_digest: guard.rules.digest().to_owned(),
        allow_digest: request.allow.as_ref().map(|allow| allow.list.digest().to_owned()),
        signatures,
        negatives,
        mask: mask(request),
        tokens: None,
        corrections: CorrectionsUsed { counted: corrections.0, refused: corrections.1 },
        tools: tools.collect(),
        sets: written.iter().map(|(set, written)| (set.as_str(), written.counts.clone())).collect(),
        files: written.iter().flat_map(|(_, w)| w.train.iter().chain(&w.validation).cloned()).collect(),
    }
}

/// Whether every rejected side is known to have lost no PASS: its last FAIL stands in the ledger, and what the ledger has
/// after it would have kept it out.
fn negatives(plan: &Plan, facts: &[Option<Facts>], request: &Request) -> &'static str {
    let Some(ledger) = request.ledger.as_ref().filter(|_| request.trust.is_some()) else { return "unproven" };
    let mut rejected = plan.pairs.iter().map(|pair| facts[pair.rejected].as_ref());
    let is_listed = |facts: Option<&Facts>| match facts {
        Some(Facts::Read(judgement)) => {
            let digest = judgement.evidence.as_ref().and_then(|evidence| evidence.payload_digest.as_deref());
            digest.is_some_and(|digest| ledger.lists(digest))
        }
        _ => false,
    };
    if rejected.all(is_listed) { "proven" } else { "unproven" }
}

/// The files beside the rows, the manifest, and the folder into its place.
fn finish(
    folder: Option<Folder>,
    mut manifest: Manifest,
    exclusions: &str,
    written: Vec<(Set, Written)>,
    template: Option<&str>,
    request: &Request,
) -> Result<Report> {
    let Out::Folder(out) = &request.out;
    if let Some(folder) = &folder {
        let mut beside =
            vec![("README.md", card(&manifest, request.dialect)), ("exclusions.jsonl", exclusions.to_owned())];
        let mut with_rows = Vec::new();
        for (set, written) in &written {
            let Some(file) = &written.train else { continue };
            let (length, validation) = (written.length(), written.validation.as_ref().map(|file| file.path.as_str()));
            let files = (file.path.as_str(), validation);
            beside.extend(configuration(request.dialect, *set, length, template.is_some(), files));
            with_rows.push((*set, file.path.clone(), validation.map(str::to_owned)));
        }
        if request.dialect == Dialect::Llamafactory && !with_rows.is_empty() {
            beside.push(("dataset_info.json", dataset_info(&with_rows)));
        }
        beside.extend(template.map(|template| ("chat_template.jinja", template.to_owned())));
        for (name, text) in beside {
            manifest.files.push(put(folder.path(), name, &text)?);
        }
        manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let text = to_json(&manifest)?;
    if let Some(folder) = folder {
        put(folder.path(), "manifest.json", &text)?;
        folder.finish()?;
    }
    let warnings = warnings(&manifest, request);
    let rows = written.into_iter().flat_map(|(_, written)| written.exported).collect();
    Ok(Report { manifest_sha256: sha256_hex(&text), manifest, rows, out: out.to_owned(), warnings })
}

fn put(folder: &Path, name: &str, text: &str) -> Result<FileEntry> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(Error::io("writing", &path))?;
    // Of these files only that of the exclusions has lines, and none of them is a row.
    Ok(FileEntry { path: name.to_owned(), sha256: sha256_hex(text), bytes: text.len() as u64, rows: 0 })
}

fn warnings(manifest: &Manifest, request: &Request) -> Vec<String> {
    let mut out = Vec::new();
    for (set, written) in request.sets().filter_map(|set| Some((set, manifest.sets.get(set.as_str())?))) {
        if written.rows > 0 || set == Set::Preference {
            out.extend(losses(request.dialect, set).iter().map(|loss| (*loss).to_owned()));
        }
    }
    if request.preference && request.dialect.sides() == Sides::None {
        out.push(format!("{} holds no pairs: there is no preference set", request.dialect.as_str()));
    }
    if matches!(manifest.signatures, Signatures::No) {
        out.push("signatures were not judged: there is no trust file".to_owned());
    }
    if request.ledger.is_some() && manifest.negatives == "unproven" {
        out.push("negatives are unproven: not all of their verdicts stand in the ledger".to_owned());
    }
    for (set, counts) in &manifest.sets {
        if counts.rows == 0 {
            out.push(format!("the {set} set has no rows"));
        }
        for gone in ["purged", "damaged"] {
            if let Some(n) = counts.excluded.get(gone) {
                out.push(format!("{n} sessions are not in the {set} set because their bytes are {gone}"));
            }
        }
    }
    if manifest.corrections.refused > 0 {
        let n = manifest.corrections.refused;
        out.push(format!("{n} retractions do not count: their sources may not retract those sessions"));
    }
    out
}

/// Session ids that hold a secret, and what stands for them: what is found is written nowhere. Their sessions are in no row.
fn secret_names<'c>(catalog: &'c Catalog, plan: &Plan, guard: &Guard<'_>) -> BTreeMap<&'c str, String> {
    let excluded = plan.excluded.values().flatten().map(|one| catalog.branches[one.branch].session_id.as_str());
    let mut names = BTreeMap::new();
    for id in excluded.collect::<BTreeSet<_>>() {
        if let Some(name) = guard.redacted(id, "/session_start", names.len() + 1) {
            names.insert(id, name);
        }
    }
    names
}

/// `exclusions.jsonl`.
fn exclusions(catalog: &Catalog, plan: &Plan, everyone: &Everyone, names: &BTreeMap<&str, String>) -> String {
    let mut out = String::new();
    for (set, excluded) in &plan.excluded {
        for one in excluded {
            let branch = &catalog.branches[one.branch];
            out.push_str("{\"set\":\"");
            out.push_str(set.as_str());
            out.push('"');
            let id = branch.session_id.as_str();
            write_member(&mut out, "session_id", Some(names.get(id).map_or(id, String::as_str)));
            out.push_str(&format!(",\"branch\":{}", branch.branch));
            write_member(&mut out, "reason", Some(one.reason.as_str()));
            let flags: Vec<&str> = everyone.flags[one.branch].iter().map(|(flag, _)| flag.as_str()).collect();
            let mut named: Vec<&str> = Vec::new();
            flags.into_iter().for_each(|flag| {
                if !named.contains(&flag) {
                    named.push(flag)
                }
            });
            out.push_str(",\"flags\":[");
            for (i, flag) in named.iter().enumerate() {
                out.push_str(if i == 0 { "\"" } else { ",\"" });
                out.push_str(flag);
                out.push('"');
            }
            out.push(']');
            write_member(&mut out, "step", one.step);
            out.push_str("}\n");
        }
    }
    out
}
