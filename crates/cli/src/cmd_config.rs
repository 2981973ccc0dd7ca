//! `trace-lake config`: each setting and where it came from.

use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use crate::context::Context;
use crate::exit::Exit;
use crate::out::{self, escape};
use crate::settings::{Flags, Origin, Setting};
use crate::store_options::is_shown;
use crate::units::{duration, parse_duration, size};

/// Arguments of `config`: those that sync has too, so that one sees what they would do.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// As for sync
    #[arg(long, value_name = "DIR")]
    data_dir: Vec<String>,
    /// As for sync
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// As for sync
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    idle: Option<Duration>,
}

impl ConfigArgs {
    /// What they set.
    pub(crate) fn set(&self, flags: &mut Flags) {
        flags.data_dirs.clone_from(&self.data_dir);
        flags.source.clone_from(&self.source);
        flags.idle = self.idle;
    }
}

/// Prints them.
pub(crate) fn run(context: &Context, _: &ConfigArgs) -> anyhow::Result<Exit> {
    let all = rows(context);
    if context.json {
        let settings: Map<String, Value> = all
            .into_iter()
            .map(|(name, value, origin)| (name, json!({"value": value, "origin": origin.to_string()})))
            .collect();
        out::json(&json!({"settings": settings, "files": context.settings.files}))?;
        return Ok(Exit::Done);
    }
    for (name, value, origin) in all {
        let value = value.unwrap_or_else(|| "-".into());
        out::line(format!("{name} = {}  ({})", escape(&value), escape(&origin.to_string())))?;
    }
    Ok(Exit::Done)
}

type Row = (String, Option<String>, Origin);

fn rows(context: &Context) -> Vec<Row> {
    let settings = &context.settings;
    let mut out: Vec<Row> = Vec::new();
    let mut add = |name: &str, setting: Option<Setting<String>>| {
        let (value, origin) = setting.map_or((None, Origin::Default), |s| (Some(s.value), s.origin));
        out.push((name.to_owned(), value, origin));
    };
    let path = |s: &Setting<std::path::PathBuf>| Setting::new(s.value.display().to_string(), s.origin.clone());
    let list = |s: &Setting<Vec<String>>| Setting::new(s.value.join(", "), s.origin.clone());
    add("lake", settings.lake.clone().map(|s| Setting::new(without_user(&s.value), s.origin)));
    add("trust", settings.trust.as_ref().map(path));
    add("allow", settings.allow.as_ref().map(path));
    let default_dirs = || Setting::new("~/.claude/plugins/data/*/".to_owned(), Origin::Default);
    add("data_dirs", Some(settings.data_dirs.as_ref().map_or_else(default_dirs, list)));
    let default_source = || Setting::new(format!("{}:<data dir>", context.env.host), Origin::Default);
    add("source", Some(settings.source.clone().unwrap_or_else(default_source)));
    add("idle", Some(Setting::new(duration(settings.idle.value), settings.idle.origin.clone())));
    add("corrections_from", Some(list(&settings.corrections_from)));
    let limit = &settings.memory_limit;
    add("memory_limit", Some(Setting::new(size(limit.value), limit.origin.clone())));
    for (key, setting) in &settings.store {
        let value = if is_shown(key) { without_user(&setting.value) } else { "(set, not shown)".to_owned() };
        add(&format!("store.{key}"), Some(Setting::new(value, setting.origin.clone())));
    }
    out
}

/// A URL without user and password.
fn without_user(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find('/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_user;

    #[test]
    fn user_and_password_are_not_shown() {
        assert_eq!(without_user("http://u:p@h:1/x@y"), "http://h:1/x@y");
        assert_eq!(without_user("s3://bucket/a@b"), "s3://bucket/a@b");
        assert_eq!(without_user("/plain"), "/plain");
    }
}
