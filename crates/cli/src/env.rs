//! The process's surroundings, read once and passed in.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Environment variables, folders, terminals, the clock.
#[derive(Clone, Debug)]
pub(crate) struct Env {
    vars: BTreeMap<String, String>,
    pub(crate) here: PathBuf,
    pub(crate) host: String,
    pub(crate) now_ms: i64,
    pub(crate) stdin_terminal: bool,
    pub(crate) stdout_terminal: bool,
    pub(crate) stderr_terminal: bool,
}

impl Env {
    /// This process's.
    pub(crate) fn here() -> Env {
        let text = |(key, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((key.into_string().ok()?, value.into_string().ok()?))
        };
        Env {
            vars: std::env::vars_os().filter_map(text).collect(),
            here: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            host: host(),
            now_ms: chrono::Utc::now().timestamp_millis(),
            stdin_terminal: std::io::stdin().is_terminal(),
            stdout_terminal: std::io::stdout().is_terminal(),
            stderr_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// A variable that is set and not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.vars.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All variables that are not empty.
    pub(crate) fn vars(&self) -> impl Iterator<Item = (&str, &str)> {
        self.vars.iter().map(|(k, v)| (k.as_str(), v.as_str())).filter(|(_, v)| !v.is_empty())
    }

    /// The user's home.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }

    /// Where locks and the cache are; None without a home.
    pub(crate) fn state(&self) -> Option<PathBuf> {
        self.xdg("XDG_STATE_HOME", ".local/state")
    }

    /// Where the user's configuration is; None without a home.
    pub(crate) fn config(&self) -> Option<PathBuf> {
        self.xdg("XDG_CONFIG_HOME", ".config")
    }

    fn xdg(&self, name: &str, fallback: &str) -> Option<PathBuf> {
        // The specification has relative paths ignored.
        let given = self.get(name).map(PathBuf::from).filter(|path| path.is_absolute());
        given.or_else(|| self.home().map(|home| home.join(fallback))).map(|base| base.join("trace-lake"))
    }

    /// A path as given, `~/` being the home and a relative one starting at `base`.
    pub(crate) fn path(&self, text: &str, base: &Path) -> PathBuf {
        match (text.strip_prefix("~/"), self.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(text),
        }
    }

    /// Whether stderr may be coloured.
    pub(crate) fn colour(&self) -> bool {
        self.stderr_terminal && self.get("NO_COLOR").is_none() && self.get("TERM") != Some("dumb")
    }
}

/// Name of this machine.
fn host() -> String {
    let read = |path: &str| std::fs::read_to_string(path).ok().map(|name| name.trim().to_owned());
    let named = read("/proc/sys/kernel/hostname").or_else(|| read("/etc/hostname"));
    named.or_else(|| std::env::var("HOSTNAME").ok()).filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".into())
}
