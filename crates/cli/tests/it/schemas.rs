//! What an export writes is what the published schemas say.

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use crate::kit::{Kit, demo_dir, real, trust_file};
use crate::rows::files;

fn schema(name: &str) -> Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schema/{name}.schema.json"));
    let value = serde_json::from_slice(&std::fs::read(&path).expect("a schema")).expect("a schema is JSON");
    jsonschema::options().should_validate_formats(true).build(&value).expect("a schema that is one")
}

#[track_caller]
fn fits(schema: &Validator, value: &Value, what: &str) {
    if let Err(error) = schema.validate(value) {
        panic!("{what}: {error} at {}", error.instance_path);
    }
}

fn exports_fit(data_dir: &str, trust: &str, sft: usize, preference: usize) {
    let kit = Kit::new();
    let kit = {
        let lake = kit.text("lake");
        kit.var("TRACE_LAKE_URL", &lake)
    };
    let ran = kit.run(&["sync", "--data-dir", data_dir, "--idle", "0s"]);
    assert!(matches!(ran.code, 0 | 3), "{}", ran.err);
    kit.write("allow.toml", "[[allow]]\nliteral = 'x-not-there'\nreason = 'for the digest'\nexpires = 2099-01-01\n");
    let runs: [&[&str]; 5] = [
        &["--require-signature", "--trust", trust],
        &[],
        &["--on-secret", "redact", "--allow", "allow.toml", "--since", "2001-01-01", "--where", "true"],
        &["--sets", "sft", "--until", "2001-01-01"],
        &["--split", "0.5/0.5", "--max-per-task", "2", "--max-per-repo", "3"],
    ];
    let (rows, pairs, manifests) = (schema("sft-row"), schema("preference-row"), schema("manifest"));
    for (n, args) in runs.into_iter().enumerate() {
        let out = format!("out-{n}");
        kit.run(&[&["export", "--out", &out], args].concat()).exits(0);
        let files = files(&kit.path(&out));
        fits(&manifests, &serde_json::from_slice(&files["manifest.json"]).expect("JSON"), &format!("manifest {n}"));
        let mut counts = [0, 0];
        for (name, bytes) in files.iter().filter(|(name, _)| name.contains('/')) {
            for (number, line) in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).enumerate() {
                let row: Value = serde_json::from_slice(line).expect("a row is JSON");
                let which = usize::from(name.starts_with("preference/"));
                fits([&rows, &pairs][which], &row, &format!("{name} line {}", number + 1));
                for text in ["tools", "metadata"] {
                    let inner = row[text].as_str().map(serde_json::from_str::<Value>);
                    assert!(matches!(inner, None | Some(Ok(_))), "{name}: {text} is no JSON text");
                }
                counts[which] += 1;
            }
        }
        if n == 0 {
            assert_eq!(counts, [sft, preference]);
        }
    }
    // An empty lake has an export too.
    kit.run(&["sync", "--lake", "empty", "--data-dir", &kit.text("none")]).exits(1);
    kit.write("nothing/traces/readme", "no trace");
    kit.run(&["sync", "--lake", "empty", "--data-dir", &kit.text("nothing")]).exits(0);
    kit.run(&["export", "--lake", "empty", "--out", "out-empty"]).exits(0);
    let manifest = &files(&kit.path("out-empty"))["manifest.json"];
    fits(&manifests, &serde_json::from_slice(manifest).expect("JSON"), "the manifest of an empty lake");
}

#[test]
fn exports_of_the_demo_fit_their_schemas() {
    exports_fit(&demo_dir(), &trust_file(), 4, 2);
}

#[test]
fn exports_of_real_runs_fit_their_schemas() {
    let Some(real) = real() else { return };
    exports_fit(&real.data_dir, &real.trust, 9, 1);
}

#[test]
fn real_traces_fit_the_trace_event_schema() {
    let Some(real) = real() else { return };
    let events = schema("trace-event");
    for (name, bytes) in files(&Path::new(&real.data_dir).join("traces")) {
        for (number, line) in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()).enumerate() {
            fits(&events, &serde_json::from_slice(line).expect("JSON"), &format!("{name} line {}", number + 1));
        }
    }
}
