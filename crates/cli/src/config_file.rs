//! The configuration file: `trace-lake.toml` here, `config.toml` in the user's configuration folder.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::exit::usage;

/// A value and its line, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

/// What one file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    pub(crate) lake: Option<At<String>>,
    pub(crate) trust: Option<At<String>>,
    pub(crate) allow: Option<At<String>>,
    pub(crate) data_dirs: Option<At<Vec<String>>>,
    pub(crate) source: Option<At<String>>,
    pub(crate) idle: Option<At<String>>,
    pub(crate) corrections_from: Option<At<Vec<String>>>,
    pub(crate) memory_limit: Option<At<String>>,
    pub(crate) store: BTreeMap<String, At<String>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    lake: Option<Spanned<String>>,
    trust: Option<Spanned<String>>,
    allow: Option<Spanned<String>>,
    data_dirs: Option<Spanned<Vec<String>>>,
    source: Option<Spanned<String>>,
    idle: Option<Spanned<String>>,
    corrections_from: Option<Spanned<Vec<String>>>,
    memory_limit: Option<Spanned<String>>,
    #[serde(default)]
    store: BTreeMap<String, Spanned<toml::Value>>,
}

/// Reads a file; None when there is none.
pub(crate) fn read(path: &Path) -> anyhow::Result<Option<ConfigFile>> {
    match std::fs::read_to_string(path) {
        Ok(text) => parse(&text, path).map(Some),
        // A folder above that is a file, or a home that one may not enter, holds no configuration either.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        // HOME may be another user's, as under setpriv: what stands there is not this user's configuration.
        Err(e) if e.kind() == ErrorKind::PermissionDenied && std::fs::metadata(path).is_err() => {
            tracing::debug!("no configuration from {}: {e}", path.display());
            Ok(None)
        }
        Err(e) => Err(usage(
            format!("reading the configuration file {}: {e}", path.display()),
            "make it readable, or remove it",
        )),
    }
}

/// Reads the text of a file.
pub(crate) fn parse(text: &str, path: &Path) -> anyhow::Result<ConfigFile> {
    let raw: Raw = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(1, |span| line_of(text, span.start));
        usage(
            format!("the configuration file {}, line {line}: {}", path.display(), e.message().trim()),
            "the keys are lake, trust, allow, data_dirs, source, idle, corrections_from, memory_limit and the table [store]",
        )
    })?;
    let mut store = BTreeMap::new();
    for (key, value) in raw.store {
        let line = line_of(text, value.span().start);
        let value = match value.into_inner() {
            toml::Value::String(text) => text,
            toml::Value::Boolean(yes) => yes.to_string(),
            toml::Value::Integer(n) => n.to_string(),
            _ => {
                return Err(usage(
                    format!("the configuration file {}, line {line}: `{key}` is no text", path.display()),
                    "settings of the store are text, numbers, true or false",
                ));
            }
        };
        store.insert(key, At { value, line });
    }
    let at = |v: Option<Spanned<String>>| v.map(|v| At { line: line_of(text, v.span().start), value: v.into_inner() });
    let list =
        |v: Option<Spanned<Vec<String>>>| v.map(|v| At { line: line_of(text, v.span().start), value: v.into_inner() });
    Ok(ConfigFile {
        path: path.to_owned(),
        lake: at(raw.lake),
        trust: at(raw.trust),
        allow: at(raw.allow),
        data_dirs: list(raw.data_dirs),
        source: at(raw.source),
        idle: at(raw.idle),
        corrections_from: list(raw.corrections_from),
        memory_limit: at(raw.memory_limit),
        store,
    })
}

fn line_of(text: &str, byte: usize) -> usize {
    text.as_bytes().iter().take(byte).filter(|b| **b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_with_their_lines() {
        let file = parse(
            "lake = 's3://b/l'\n\ndata_dirs = ['a']\n[store]\naws_region = 'x'\nallow_http = true\n",
            Path::new("f"),
        )
        .expect("a file");
        assert_eq!(file.lake, Some(At { value: "s3://b/l".into(), line: 1 }));
        assert_eq!(file.data_dirs.map(|d| d.line), Some(3));
        assert_eq!(file.store["allow_http"], At { value: "true".into(), line: 6 });
    }

    #[test]
    fn what_no_one_knows_is_an_error_with_its_line() {
        for (text, part) in [
            ("lake = 'x'\nlaek = 'y'\n", "line 2: unknown field `laek`"),
            ("idle = 5\n", "line 1"),
            ("[store]\na = 1.5\n", "line 2: `a` is no text"),
            ("lake = \n", "line 1"),
        ] {
            let error = parse(text, Path::new("f")).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
