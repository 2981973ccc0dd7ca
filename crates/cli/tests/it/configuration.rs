//! Which value counts, and where it says that it came from.

use serde_json::Value;

use crate::kit::{Kit, demo_dir};

fn setting(kit: &Kit, args: &[&str], name: &str) -> (Value, String) {
    let mut whole = vec!["config", "--json"];
    whole.extend(args);
    let json = kit.run(&whole).exits(0).json();
    let one = &json["settings"][name];
    (one["value"].clone(), one["origin"].as_str().expect("an origin").to_owned())
}

#[test]
fn flag_beats_environment_beats_the_file_here_beats_the_users_file() {
    let kit = Kit::new();
    assert_eq!(setting(&kit, &[], "lake"), (Value::Null, "default".into()));
    kit.write("home/.config/trace-lake/config.toml", "lake = 's3://users/lake'\nidle = '3h'\nsource = 'users'\n");
    let (value, origin) = setting(&kit, &[], "lake");
    assert_eq!(value, "s3://users/lake");
    assert!(origin.ends_with("home/.config/trace-lake/config.toml:1"), "{origin}");
    kit.write("trace-lake.toml", "\nlake = 's3://here/lake'\n");
    let (value, origin) = setting(&kit, &[], "lake");
    assert_eq!(value, "s3://here/lake");
    assert!(origin.ends_with("/trace-lake.toml:2"), "{origin}");
    assert_eq!(setting(&kit, &[], "idle").0, "3h");
    let kit = kit.var("TRACE_LAKE_URL", "gs://environment/lake");
    assert_eq!(setting(&kit, &[], "lake"), ("gs://environment/lake".into(), "environment TRACE_LAKE_URL".into()));
    let flag = setting(&kit, &["--lake", "az://flag/lake"], "lake");
    assert_eq!(flag, ("az://flag/lake".into(), "flag --lake".into()));
    assert_eq!(setting(&kit, &["--idle", "90m"], "idle"), ("90m".into(), "flag --idle".into()));
}

#[test]
fn the_users_file_is_found_under_xdg_config_home() {
    let kit = Kit::new();
    kit.write("xdg/trace-lake/config.toml", "trust = 'trust.toml'\n");
    let kit = {
        let xdg = kit.text("xdg");
        kit.var("XDG_CONFIG_HOME", &xdg)
    };
    // A relative path in a file starts where the file is.
    let (value, _) = setting(&kit, &[], "trust");
    assert_eq!(value, kit.text("xdg/trace-lake/trust.toml"));
}

#[test]
fn an_unknown_key_names_file_and_line() {
    let kit = Kit::new();
    kit.write("trace-lake.toml", "lake = 'x'\nlaek = 'y'\n");
    kit.run(&["config"]).exits(2).says(&["trace-lake.toml, line 2", "unknown field `laek`"]);
    kit.write("trace-lake.toml", "[store]\naws_region = 'x'\naws_regoin = 'y'\n");
    kit.run(&["config"]).exits(2).says(&["trace-lake.toml, line 3", "aws_regoin"]);
    kit.write("trace-lake.toml", "idle = 'soon'\n");
    kit.run(&["status"]).exits(2).says(&["trace-lake.toml:1", "`soon` is no duration"]);
    kit.write("trace-lake.toml", "lake = [\n");
    kit.run(&["status"]).exits(2).says(&["trace-lake.toml, line"]);
}

#[test]
fn store_settings_come_from_environment_file_and_profile() {
    let kit = Kit::new()
        .var("AWS_ENDPOINT_URL", "http://user:hush@127.0.0.1:9")
        .var("AWS_REGION", "from-env")
        .var("AWS_PROFILE", "work");
    kit.write("trace-lake.toml", "lake = 's3://b/l'\n[store]\nregion = 'from-file'\naws_conditional_put = 'etag'\n");
    kit.write(
        "home/.aws/credentials",
        "[default]\naws_access_key_id = NOTTHIS\n[work]\naws_access_key_id = hush1\naws_secret_access_key = hush2\n",
    );
    kit.write("home/.aws/config", "[profile work]\nregion = from-profile\n");
    assert_eq!(setting(&kit, &[], "store.aws_region"), ("from-env".into(), "environment AWS_REGION".into()));
    assert_eq!(setting(&kit, &[], "store.aws_endpoint").0, "http://127.0.0.1:9");
    assert_eq!(setting(&kit, &[], "store.allow_http").0, "true");
    assert_eq!(setting(&kit, &[], "store.aws_conditional_put").0, "etag");
    let (value, origin) = setting(&kit, &[], "store.aws_secret_access_key");
    assert_eq!((value, origin.as_str()), ("(set, not shown)".into(), "the AWS profile"));
    let ran = kit.run(&["config"]).exits(0);
    assert!(!ran.out.contains("hush") && !ran.err.contains("hush"), "{}", ran.out);
}

#[test]
fn data_dirs_come_from_the_harness_or_where_it_keeps_them() {
    let kit = Kit::new();
    kit.run(&["sync", "--lake", "lake"]).exits(1).says(&[".claude/plugins/data", "matches no folder"]);
    kit.data_dir("home/.claude/plugins/data/collector-market");
    kit.write("home/.claude/plugins/data/other/state/x", "no traces here");
    let json = kit.run(&["sync", "--lake", "lake", "--idle", "0s", "--json"]).exits(3).json();
    assert_eq!(json["found"], 11);
    assert_eq!(json["data_dirs"].as_array().map(Vec::len), Some(1));
    let kit = kit.var("CLAUDE_PLUGIN_DATA", &demo_dir());
    let json = kit.run(&["sync", "--lake", "lake2", "--idle", "0s", "--json"]).exits(3).json();
    assert_eq!(json["data_dirs"][0].as_str().map(|p| p.ends_with("fixtures/demo/data-dir")), Some(true));
}
