//! What goes wrong, and whether one can tell what to do.

use std::os::unix::fs::PermissionsExt;

use crate::kit::{Kit, demo_dir, trust_file};

#[test]
fn a_lake_that_is_not_there() {
    let kit = Kit::new();
    for command in ["status", "check", "derive", "rebuild", "compact"] {
        kit.run(&[command, "--lake", "none"]).exits(1).says(&["no lake at", "none", "hint: "]);
        kit.run(&[command]).exits(2).says(&["no lake is named", "TRACE_LAKE_URL"]);
    }
    let ran = kit.run(&["sync", "--lake", "no/such/lake", "--data-dir", &demo_dir()]).exits(1);
    ran.says(&["no/such does not exist", "make the folder or bucket first"]);
    let ran = kit.run(&["status", "--lake", "s4://x/y"]).exits(2);
    ran.says(&["opening the lake s4://x/y", "`s4://` is no store", "file://, s3://, gs:// or az://"]);
    kit.write("lake/lake.json", "not json");
    kit.run(&["status", "--lake", "lake"]).exits(1).says(&["lake.json is damaged"]);
}

#[test]
fn a_trust_file_that_is_wrong() {
    let kit = Kit::with_demo();
    kit.run(&["check", "--trust", "none.toml"]).exits(2).says(&["none.toml", "No such file"]);
    kit.write("bad.toml", "version = 1\n\nkeys = oops\n");
    kit.run(&["check", "--trust", "bad.toml"]).exits(2).says(&["bad.toml, line 3"]);
    let text = std::fs::read_to_string(trust_file()).expect("a trust file");
    kit.write("other.toml", &text.replace("oracle-1", "").replace("oracle = \"\"", "oracles = \"x\""));
    kit.run(&["export", "--out", "out", "--trust", "other.toml"]).exits(2).says(&["key 1", "unknown field `oracles`"]);
    kit.write("allow.toml", "[[allow]]\nliteral = 'x'\n");
    kit.run(&["check", "--allow", "allow.toml"]).exits(2).says(&["allow.toml", "entry 1", "no reason"]);
}

#[test]
fn a_file_that_cannot_be_read_blocks_no_other() {
    let kit = Kit::new();
    let dir = kit.data_dir("data");
    std::fs::remove_file(dir.join("traces/demo-11-malformed.jsonl")).expect("it was there");
    let one = dir.join("traces/demo-01-flipped.jsonl");
    std::fs::set_permissions(&one, PermissionsExt::from_mode(0o000)).expect("a mode");
    std::fs::set_permissions(kit.folder.path(), PermissionsExt::from_mode(0o777)).expect("a mode");
    // For root nothing is unreadable.
    let script = "if [ \"$(id -u)\" = 0 ]; then P='setpriv --reuid 65534 --clear-groups'; fi; \
        $P $T sync --lake lake --data-dir data --idle 0s";
    let ran = kit.sh(script).exits(3).prints(&["new 9"]);
    ran.says(&["not read: ", "demo-01-flipped.jsonl", "ermission denied", "hint: "]);
    std::fs::set_permissions(&one, PermissionsExt::from_mode(0o644)).expect("a mode");
    kit.sh(script).exits(0).prints(&["new 1"]);
}

#[test]
fn a_store_that_cannot_be_reached() {
    let kit = Kit::new().var("AWS_REGION", "us-east-1");
    let kit = kit.var("AWS_ACCESS_KEY_ID", "x").var("AWS_SECRET_ACCESS_KEY", "hush");
    let kit = kit.var("AWS_ENDPOINT_URL", "not a url");
    let ran = kit.run(&["status", "--lake", "s3://bucket/lake"]).exits(2);
    ran.says(&["environment AWS_ENDPOINT_URL: `not a url` is no http:// or https:// URL", "hint: "]);
    // Without a scheme that a store has, or without a bucket.
    for lake in ["s4://bucket/lake", "s3://", "https://"] {
        let ran = kit.run(&["status", "--lake", lake]);
        assert!(matches!(ran.code, 1 | 2), "{lake}: {}\n{}", ran.code, ran.err);
        assert!(ran.err.contains("error: ") && !ran.err.contains("panicked"), "{lake}: {}", ran.err);
    }
}
