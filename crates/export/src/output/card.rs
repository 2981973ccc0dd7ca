//! `README.md`: the dataset card.

use std::fmt::Write;

use super::{Manifest, Signatures, TrustUsed};
use crate::dialect::losses;
use crate::{Dialect, Set, TokensUsed};

/// What the card says beyond the manifest.
pub(crate) fn card(manifest: &Manifest, dialect: Dialect) -> String {
    let mut out = String::from("---\n");
    let with_rows = || manifest.sets.iter().filter(|(_, counts)| counts.rows > 0);
    if with_rows().next().is_some() {
        out.push_str("configs:\n");
    }
    for (set, _) in with_rows() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "- config_name: {set}\n  data_files:");
        for split in ["train", "validation"] {
            if manifest.files.iter().any(|file| file.path.starts_with(&format!("{set}/{split}-"))) {
                let _ = writeln!(out, "  - split: {split}\n    path: {set}/{split}-*.jsonl");
            }
        }
    }
    out.push_str("---\n\n# Training sets of coding agents\n\n");
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "Sessions of coding agents whose work an oracle graded with hidden tests: they failed before it and passed after.\n\
         Written from version {} of a trace lake. `manifest.json` says by which rules, keys and flags;\n\
         `exclusions.jsonl` lists every session that was left out, once per set, and why.\n\n\
         ## Counts\n\n| set | sessions in the selection | used | left out | rows |\n|---|---|---|---|---|\n",
        manifest.lake.k
    );
    for (set, counts) in &manifest.sets {
        let out_of_it: u64 = counts.excluded.values().sum();
        let _ = writeln!(out, "| {set} | {} | {} | {out_of_it} | {} |", counts.selected, counts.used, counts.rows);
    }
    for (set, counts) in manifest.sets.iter().filter(|(_, counts)| !counts.excluded.is_empty()) {
        let reasons: Vec<String> = counts.excluded.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        let _ = write!(out, "\nLeft out of {set}: {}.\n", reasons.join(", "));
    }
    let preference = manifest.sets.get("preference").filter(|counts| counts.rows > 0);
    if let Some((rows, pairs)) = preference.and_then(|counts| Some((counts.rows, counts.pairs?))) {
        let _ = write!(
            out,
            "\nOf {rows} pairs the chosen side is the longer one in {}, the rejected one in {}.\n",
            pairs.chosen_longer, pairs.rejected_longer
        );
        if pairs.other_prompt > 0 {
            let _ = writeln!(
                out,
                "In {} of them the rejected session had another prompt; the chosen one's stands in the row.",
                pairs.other_prompt
            );
        }
    }
    if let Some(tokens) = &manifest.tokens {
        lengths(&mut out, tokens, dialect);
    }
    out.push_str("\n## Limits\n\n");
    limits(&mut out, manifest, dialect);
    out
}

fn lengths(out: &mut String, tokens: &TokensUsed, dialect: Dialect) {
    out.push_str("\n## Tokens\n\nCounted with the tokenizer and the chat template whose hashes `manifest.json` has.\n");
    for (set, counts) in tokens.sets.iter().filter(|(_, counts)| counts.sequences > 0) {
        let of = if *set == "sft" { "rows" } else { "sides of pairs, each with its prompt" };
        let _ = write!(
            out,
            "\n{set}: {} {of}, {} tokens, the longest {}.\n",
            counts.sequences, counts.tokens, counts.longest
        );
        if let (Some(trained), Some(least)) = (counts.trained, counts.least_trained) {
            let _ = writeln!(
                out,
                "Trained: {trained} tokens, at least {least} in a row; none of them is of a user, the system or a tool."
            );
        }
        if dialect == Dialect::Trl && *set == "sft" {
            out.push_str(
                "`chat_template.jinja` holds that mask: the model's own template, where what a message with `train: false` says\n\
                 stands outside `{% generation %}`.\n",
            );
        }
        if counts.cut > 0 {
            let _ = writeln!(out, "{} rows end early, at a turn: what follows did not fit.", counts.cut);
        }
        let _ = write!(out, "\n| tokens up to | {of} |\n|---|---|\n");
        for bin in &counts.histogram {
            let _ = writeln!(out, "| {} | {} |", bin.up_to, bin.sequences);
        }
    }
}

fn limits(out: &mut String, manifest: &Manifest, dialect: Dialect) {
    if let Signatures::No = manifest.signatures {
        out.push_str(
            "- Signatures were not judged: there was no trust file. Whoever can write to a trace can put it here.\n",
        );
    }
    for (set, name) in [(Set::Sft, "sft"), (Set::Preference, "preference")] {
        for loss in losses(dialect, set).iter().filter(|_| manifest.sets.contains_key(name)) {
            let _ = writeln!(out, "- {name}: {loss}.");
        }
    }
    if dialect == Dialect::Trl && manifest.sets.contains_key("sft") && manifest.tokens.is_none() {
        out.push_str(
            "- Mask not enforced. Each message says in `train` whether the model may learn it; TRL has no such flag, and no\n  \
             chat template that would hold it was asked for. `assistant_only_loss` in `trl-sft.yaml` needs a template that\n  \
             marks the assistant's words, and then trains all of them.\n",
        );
    }
    if manifest.sets.contains_key("preference") {
        if dialect == Dialect::Trl {
            out.push_str("- TRL's DPO scores tool and user tokens of both sides as if the model had written them.\n");
        }
        out.push_str(match (manifest.negatives, &manifest.signatures) {
            ("proven", _) => "- Negatives are proven: the oracles' ledger lists each, and no PASS of theirs.\n",
            (_, Signatures::Yes(TrustUsed { ledger_digest: Some(_), .. })) => {
                "- Negatives are unproven: a session that lost its last PASS looks like one, and not all of them stand in the\n  \
                 ledger that was asked.\n"
            }
            _ => "- Negatives are unproven: a session that lost its last PASS looks like one, and no ledger was asked.\n",
        });
    }
    out.push_str(
        "- `tools` is what the calls in these rows show, or the file that was given: not what the harness told the model.\n\
         - Events of sub-agents are left out.\n",
    );
    if manifest.tokens.is_none() {
        out.push_str("- The greatest length in the configurations is a guess from bytes, not a count of tokens.\n");
    }
    out.push_str("- Secrets are looked for by rules; what no rule knows is not found.\n");
}
