//! `--tokenizer` and what goes with it: how long rows are for a model, and which of them fit.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lake_export::{OnTooLong, TokenRequest, TokensUsed};
use serde_json::Value;

use crate::context::{Context, read};
use crate::exit::usage;
use crate::out;
use crate::units::{count, parse_some};

/// The flags.
#[derive(Args, Clone, Debug)]
pub(crate) struct TokenArgs {
    /// Count tokens with this tokenizer.json; a tokenizer_config.json beside it names special tokens
    #[arg(long, value_name = "FILE", requires = "chat_template")]
    tokenizer: Option<PathBuf>,
    /// The model's own chat template: rows are counted with it, and the mask of the rows put into it
    #[arg(long, value_name = "FILE", requires = "tokenizer")]
    chat_template: Option<PathBuf>,
    /// Most tokens of a row
    #[arg(long, value_name = "N", requires = "tokenizer", value_parser = parse_some)]
    max_tokens: Option<usize>,
    /// What becomes of a row with more: left out, or ended at a turn
    #[arg(long, value_enum, requires = "max_tokens", default_value_t = TooLong::Exclude)]
    on_too_long: TooLong,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TooLong {
    Exclude,
    Cut,
}

impl TokenArgs {
    /// The flags that name files, again; none where they are not named.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let (Some(tokenizer), Some(template)) = (&self.tokenizer, &self.chat_template) else { return Vec::new() };
        vec!["--tokenizer".into(), tokenizer.into(), "--chat-template".into(), template.into()]
    }

    /// Reads what is named. None where nothing is.
    pub(crate) fn read(&self, context: &Context) -> anyhow::Result<Option<TokenRequest>> {
        let (Some(tokenizer), Some(template)) = (&self.tokenizer, &self.chat_template) else { return Ok(None) };
        let tokenizer = context.env.here.join(tokenizer);
        Ok(Some(TokenRequest {
            special_tokens: special_tokens(&tokenizer.with_file_name("tokenizer_config.json"))?,
            tokenizer: read(&tokenizer, "tokenizer")?.into_bytes(),
            chat_template: read(&context.env.here.join(template), "chat template")?,
            max_tokens: self.max_tokens.map(|most| most as u64),
            on_too_long: match self.on_too_long {
                TooLong::Exclude => OnTooLong::Exclude,
                TooLong::Cut => OnTooLong::Cut,
            },
        }))
    }
}

/// What a tokenizer's configuration says that `bos_token` and its like stand for; nothing where there is none.
fn special_tokens(path: &Path) -> anyhow::Result<BTreeMap<String, String>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let config: Value = serde_json::from_str(&read(path, "tokenizer's configuration")?).map_err(|error| {
        usage(format!("the tokenizer's configuration {} is no JSON: {error}", path.display()), "mend or move it")
    })?;
    let text = |value: &Value| value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned);
    let members = config.as_object().into_iter().flatten().filter(|(name, _)| name.ends_with("_token"));
    Ok(members.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect())
}

/// Says how long the rows of a set are.
pub(crate) fn say(used: Option<&TokensUsed>, set: &str) -> anyhow::Result<()> {
    let Some(counts) = used.and_then(|used| used.sets.get(set)).filter(|counts| counts.sequences > 0) else {
        return Ok(());
    };
    let trained = counts.trained.map(|trained| format!(", {trained} trained")).unwrap_or_default();
    let cut = if counts.cut > 0 { format!(", {} cut", count(counts.cut, "row")) } else { String::new() };
    out::line(format!("  tokens: {}{trained}, the longest row {}{cut}", counts.tokens, counts.longest))?;
    let bins: Vec<String> = counts.histogram.iter().map(|bin| format!("{} {}", bin.up_to, bin.sequences)).collect();
    out::line(format!("  rows with tokens up to: {}", bins.join(", ")))?;
    Ok(())
}
