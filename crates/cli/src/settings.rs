//! Each setting and where it came from: flag, environment, `./trace-lake.toml`, the user's `config.toml`, default.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config_file::{self, At, ConfigFile};
use crate::env::Env;
use crate::exit::usage;
use crate::store_options::store_options;
use crate::units::{parse_duration, parse_memory};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A flag.
    Flag(&'static str),
    /// A variable of the environment.
    Env(String),
    /// A file and the line in it.
    File(PathBuf, usize),
    /// It follows from something else.
    Derived(&'static str),
    /// Nobody set it.
    Default,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Flag(name) => write!(f, "flag --{name}"),
            Origin::Env(name) => write!(f, "environment {name}"),
            Origin::File(path, line) => write!(f, "{}:{line}", path.display()),
            Origin::Derived(why) => f.write_str(why),
            Origin::Default => f.write_str("default"),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

impl<T> Setting<T> {
    pub(crate) fn new(value: T, origin: Origin) -> Setting<T> {
        Setting { value, origin }
    }
}

/// What flags say, as far as a setting has one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    pub(crate) lake: Option<String>,
    pub(crate) trust: Option<String>,
    pub(crate) allow: Option<String>,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) data_dirs: Vec<String>,
    pub(crate) source: Option<String>,
    pub(crate) idle: Option<Duration>,
}

/// All settings.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) lake: Option<Setting<String>>,
    pub(crate) trust: Option<Setting<PathBuf>>,
    pub(crate) allow: Option<Setting<PathBuf>>,
    /// Folders and patterns; None looks where the collector puts them.
    pub(crate) data_dirs: Option<Setting<Vec<String>>>,
    pub(crate) source: Option<Setting<String>>,
    pub(crate) idle: Setting<Duration>,
    pub(crate) corrections_from: Setting<Vec<String>>,
    pub(crate) memory_limit: Setting<u64>,
    pub(crate) store: BTreeMap<String, Setting<String>>,
    /// The files that were read, the strongest first.
    pub(crate) files: Vec<PathBuf>,
}

/// Puts all together.
pub(crate) fn settings(env: &Env, flags: &Flags) -> anyhow::Result<Settings> {
    let places = [Some(env.here.join("trace-lake.toml")), env.config().map(|folder| folder.join("config.toml"))];
    let mut files: Vec<ConfigFile> = Vec::new();
    for path in places.into_iter().flatten() {
        files.extend(config_file::read(&path)?);
    }
    let lake = text(env, flags.lake.as_ref(), "lake", Some("TRACE_LAKE_URL"), &files, |f| f.lake.as_ref());
    let lake = lake.map(|(setting, base)| {
        let is_url = setting.value.contains("://");
        let value = if is_url { setting.value } else { env.path(&setting.value, &base).display().to_string() };
        Setting::new(value, setting.origin)
    });
    let path = |found: Option<(Setting<String>, PathBuf)>| {
        found.map(|(setting, base)| Setting::new(env.path(&setting.value, &base), setting.origin))
    };
    let store = store_options(env, &files, lake.as_ref().map(|l| l.value.as_str()))?;
    Ok(Settings {
        trust: path(text(env, flags.trust.as_ref(), "trust", Some("TRACE_LAKE_TRUST"), &files, |f| f.trust.as_ref())),
        allow: path(text(env, flags.allow.as_ref(), "allow", None, &files, |f| f.allow.as_ref())),
        data_dirs: data_dirs(env, flags, &files),
        source: source(text(env, flags.source.as_ref(), "source", None, &files, |f| f.source.as_ref()))?,
        idle: parsed(flags.idle, "idle", &files, |f| f.idle.as_ref(), parse_duration, Duration::from_secs(86_400))?,
        corrections_from: first(&files, |f| f.corrections_from.as_ref())
            .map_or(Setting::new(Vec::new(), Origin::Default), |(setting, _)| setting),
        memory_limit: parsed(
            flags.memory_limit,
            "memory-limit",
            &files,
            |f| f.memory_limit.as_ref(),
            parse_memory,
            448 << 20,
        )?,
        store,
        lake,
        files: files.into_iter().map(|f| f.path).collect(),
    })
}

/// A source's name: who may retract what hangs on it, so it is none that every other host may have too by mistake.
fn source(found: Option<(Setting<String>, PathBuf)>) -> anyhow::Result<Option<Setting<String>>> {
    let Some((setting, _)) = found else { return Ok(None) };
    if setting.value.trim().is_empty() {
        return Err(usage(
            format!("{}: the name of a source is empty", setting.origin),
            "leave it out for host:absolute data dir, or name it",
        ));
    }
    Ok(Some(setting))
}

/// The first file that has it, and the folder that relative paths in it start from.
fn first<T: Clone>(files: &[ConfigFile], get: impl Fn(&ConfigFile) -> Option<&At<T>>) -> Option<(Setting<T>, PathBuf)> {
    files.iter().find_map(|file| {
        let at = get(file)?;
        let base = file.path.parent().unwrap_or(Path::new(".")).to_owned();
        Some((Setting::new(at.value.clone(), Origin::File(file.path.clone(), at.line)), base))
    })
}

/// A text by the order of precedence, and the folder that it starts from if it is a relative path.
fn text(
    env: &Env,
    flag: Option<&String>,
    name: &'static str,
    variable: Option<&str>,
    files: &[ConfigFile],
    get: impl Fn(&ConfigFile) -> Option<&At<String>>,
) -> Option<(Setting<String>, PathBuf)> {
    let here = || env.here.clone();
    let flag = flag.map(|value| (Setting::new(value.clone(), Origin::Flag(name)), here()));
    let of_env = || {
        let variable = variable?;
        let value = env.get(variable)?.to_owned();
        Some((Setting::new(value, Origin::Env(variable.to_owned())), here()))
    };
    flag.or_else(of_env).or_else(|| first(files, get))
}

fn parsed<T>(
    flag: Option<T>,
    name: &'static str,
    files: &[ConfigFile],
    get: impl Fn(&ConfigFile) -> Option<&At<String>>,
    parse: impl Fn(&str) -> Result<T, String>,
    default: T,
) -> anyhow::Result<Setting<T>> {
    if let Some(value) = flag {
        return Ok(Setting::new(value, Origin::Flag(name)));
    }
    let Some((setting, _)) = first(files, get) else { return Ok(Setting::new(default, Origin::Default)) };
    let value =
        parse(&setting.value).map_err(|what| usage(format!("{}: {what}", setting.origin), "correct that line"))?;
    Ok(Setting::new(value, setting.origin))
}

fn data_dirs(env: &Env, flags: &Flags, files: &[ConfigFile]) -> Option<Setting<Vec<String>>> {
    let whole = |texts: &[String], base: &Path| -> Vec<String> {
        texts.iter().map(|text| env.path(text, base).display().to_string()).collect()
    };
    if !flags.data_dirs.is_empty() {
        return Some(Setting::new(whole(&flags.data_dirs, &env.here), Origin::Flag("data-dir")));
    }
    // The harness sets it for its own plugin; a nightly job has a configuration file instead.
    if let Some(dir) = env.get("CLAUDE_PLUGIN_DATA") {
        return Some(Setting::new(whole(&[dir.to_owned()], &env.here), Origin::Env("CLAUDE_PLUGIN_DATA".into())));
    }
    first(files, |f| f.data_dirs.as_ref()).map(|(s, base)| Setting::new(whole(&s.value, &base), s.origin))
}
