//! What every command works with.

use std::path::Path;

use anyhow::Context as _;
use lake_secrets::AllowList;
use lake_store::{Lake, Tables, log};
use lake_verdict::Trust;

use crate::env::Env;
use crate::exit::{Exit, told, usage};
use crate::out::note;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::store_options::as_options;

/// Settings and surroundings of a run.
pub(crate) struct Context {
    pub(crate) env: Env,
    pub(crate) settings: Settings,
    pub(crate) json: bool,
    pub(crate) signals: Signals,
}

impl Context {
    /// The lake's address.
    pub(crate) fn address(&self) -> anyhow::Result<&str> {
        self.settings.lake.as_ref().map(|lake| lake.value.as_str()).ok_or_else(|| {
            usage(
                "no lake is named",
                "name it with --lake, TRACE_LAKE_URL, or `lake` in trace-lake.toml: a folder, or an s3://, gs:// or az:// URL",
            )
        })
    }

    /// Opens the lake that is there.
    pub(crate) fn open(&self) -> anyhow::Result<Lake> {
        let address = self.address()?;
        Lake::open(address, &as_options(&self.settings.store)).with_context(|| format!("opening the lake {address}"))
    }

    /// The trust file, if one is named.
    pub(crate) fn trust(&self) -> anyhow::Result<Option<Trust>> {
        let Some(setting) = &self.settings.trust else { return Ok(None) };
        let text = read(&setting.value, "trust file")?;
        Trust::parse(&text).map(Some).map_err(|e| wrong(&setting.value, "trust file", &e, &text))
    }

    /// Digest of the rules and the allow list in force: what checks of secrets stand under.
    pub(crate) fn secrets_digest(&self) -> anyhow::Result<String> {
        Ok(lake_check::secrets_digest(&self.allow()?.unwrap_or_else(AllowList::empty)))
    }

    /// The allow list, if one is named.
    pub(crate) fn allow(&self) -> anyhow::Result<Option<AllowList>> {
        let Some(setting) = &self.settings.allow else { return Ok(None) };
        let text = read(&setting.value, "allow list")?;
        AllowList::parse(&text).map(Some).map_err(|e| wrong(&setting.value, "allow list", &e, &text))
    }

    /// Key of the fingerprints of secrets: the same for one lake, another for the next.
    pub(crate) fn fingerprint_key(lake: &Lake) -> Vec<u8> {
        lake.id().as_bytes().to_vec()
    }

    /// What a check looks for, signatures aside.
    pub(crate) fn check_options(&self, lake: &Lake) -> anyhow::Result<lake_check::Options> {
        Ok(lake_check::Options {
            trust: None,
            ledger: None,
            allow: self.allow()?.unwrap_or_else(AllowList::empty),
            fingerprint_key: Context::fingerprint_key(lake),
            now_ms: self.env.now_ms,
            dry_run: false,
        })
    }

    /// Says how far behind the log the tables are, if they are, and returns by how many records. Writes nothing.
    pub(crate) fn say_behind(lake: &Lake, stands: u64) -> anyhow::Result<u64> {
        let behind = log::tip(lake)?.k.saturating_sub(stands);
        if behind > 0 {
            note(format!("trace-lake: the tables are {behind} behind the log; `trace-lake derive` brings them up"));
        }
        Ok(behind)
    }

    /// Brings the tables up to the log, and returns how many segments were left out because an object is damaged. A dry
    /// run only says how far behind they are.
    pub(crate) fn derive_behind(&self, lake: &Lake, dry_run: bool) -> anyhow::Result<u64> {
        let stands = Tables::open(lake)?.map_or(0, |tables| tables.k());
        let k = log::tip(lake)?.k;
        if stands == k {
            return Ok(0);
        }
        if dry_run {
            note(format!(
                "trace-lake: the tables stand at version {stands} of {k}; a dry run does not derive the rest"
            ));
            return Ok(0);
        }
        let progress = Progress::bytes(&self.env, "deriving");
        let derived = lake_store::derive(lake, self.signals.stop(), &|bytes| progress.add_done(bytes))?;
        drop(progress);
        for text in &derived.notes {
            note(format!("trace-lake: {}", crate::out::escape(text)));
        }
        Ok(derived.damaged)
    }

    /// As an error, when a stop was asked for.
    pub(crate) fn check_stop(&self) -> anyhow::Result<()> {
        match self.signals.exit() {
            Some(exit) => Err(stopped(exit)),
            None => Ok(()),
        }
    }
}

/// The error of a run that was stopped.
pub(crate) fn stopped(exit: Exit) -> anyhow::Error {
    told(exit, "stopped", "run it again: it carries on from here")
}

/// A small text file of the configuration.
pub(crate) fn read(path: &Path, what: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(path).map_err(|e| {
        usage(format!("reading the {what} {}: {e}", path.display()), "check the path and that this user may read it")
    })
}

fn wrong(path: &Path, what: &str, error: &dyn std::error::Error, text: &str) -> anyhow::Error {
    let mut said = error.to_string();
    let mut line = None;
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(toml) = cause.downcast_ref::<toml::de::Error>() {
            line = toml.span().map(|s| text.as_bytes().iter().take(s.start).filter(|b| **b == b'\n').count() + 1);
            said = format!("{said}: {}", toml.message().trim());
        } else {
            said = format!("{said}: {cause}");
        }
        source = cause.source();
    }
    let place = line.map_or_else(String::new, |line| format!(", line {line}"));
    usage(format!("the {what} {}{place}: {said}", path.display()), format!("correct the {what}; nothing was done"))
}
