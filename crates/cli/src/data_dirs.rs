//! Which data dirs a sync looks into.

use std::path::{Path, PathBuf};

use lake_sync::DataDir;

use crate::env::Env;
use crate::exit::{failed, usage};
use crate::settings::Settings;

/// Data dirs that are there, and those that should be and are not.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) dirs: Vec<DataDir>,
    pub(crate) missing: Vec<PathBuf>,
}

/// Finds them. A pattern stands for all folders with `traces/` that it matches.
///
/// # Errors
/// When there is none at all.
pub(crate) fn find(env: &Env, settings: &Settings) -> anyhow::Result<Found> {
    let mut paths: Vec<PathBuf> = Vec::new();
    let mut missing: Vec<PathBuf> = Vec::new();
    match &settings.data_dirs {
        Some(given) => {
            for text in &given.value {
                let path = PathBuf::from(text);
                if has_traces(&path) {
                    paths.push(path);
                } else if is_pattern(text) {
                    let matches = matching(text)?;
                    let unnamed = unnamed(&path);
                    if matches.is_empty() && unnamed.is_empty() {
                        missing.push(path);
                    }
                    paths.extend(matches);
                    missing.extend(unnamed);
                } else {
                    missing.push(path);
                }
            }
        }
        None => {
            let home = env.home().ok_or_else(|| {
                failed("no data dir is named, and HOME is not set", "name one with --data-dir, or set HOME")
            })?;
            paths =
                matching(&format!("{}/.claude/plugins/data/*", glob::Pattern::escape(&home.display().to_string())))?;
            missing = unnamed(&home.join(".claude/plugins/data/*"));
            if paths.is_empty() && missing.is_empty() {
                missing.push(home.join(".claude/plugins/data/*"));
            }
        }
    }
    let mut dirs: Vec<DataDir> = Vec::new();
    for path in paths {
        let path = std::path::absolute(&path).unwrap_or(path);
        let source = match &settings.source {
            Some(source) => source.value.clone(),
            None => format!("{}:{}", env.host, path.display()),
        };
        if !dirs.iter().any(|dir| dir.path == path) {
            dirs.push(DataDir { path, source });
        }
    }
    if dirs.is_empty() {
        let all: Vec<String> = missing.iter().map(|path| said(path)).collect();
        return Err(failed(
            format!("no data dir: {}", all.join("; ")),
            "name the collector's data dir, the folder that holds traces/, with --data-dir or `data_dirs` in trace-lake.toml",
        ));
    }
    Ok(Found { dirs, missing })
}

/// What is wrong with a data dir that is none.
pub(crate) fn said(path: &Path) -> String {
    let shown = crate::out::escape(&path.display().to_string());
    if path.to_str().is_none() {
        format!("{shown} has a name that is no UTF-8, and no pattern matches it: rename it")
    } else if is_pattern(&shown) && !path.exists() {
        format!("{shown} matches no folder with traces/ in it")
    } else if path.is_dir() {
        format!("{shown} has no traces/")
    } else if path.exists() {
        format!("{shown} is no folder")
    } else {
        format!("{shown} does not exist")
    }
}

fn has_traces(path: &Path) -> bool {
    path.join("traces").is_dir()
}

/// Data dirs beside those that a pattern matches that it cannot match whatever it says: their names are no text.
fn unnamed(pattern: &Path) -> Vec<PathBuf> {
    let Some(parent) = pattern.parent().filter(|parent| parent.to_str().is_some_and(|text| !is_pattern(text))) else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.to_str().is_none() && has_traces(path)).collect();
    found.sort();
    found
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn matching(pattern: &str) -> anyhow::Result<Vec<PathBuf>> {
    let paths = glob::glob(pattern)
        .map_err(|e| usage(format!("the data dir pattern {pattern}: {e}"), "write it as a shell would, in quotes"))?;
    // A folder that cannot be entered is not one that matches; a wrong pattern was refused above.
    Ok(paths.flatten().filter(|path| has_traces(path)).collect())
}
