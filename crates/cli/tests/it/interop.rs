//! Others make, sign and read what ours does: openssl, and securesystemslib in Python.

use std::path::PathBuf;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::asked::{asked, skip};
use crate::kit::Kit;
use crate::oracle::{Session, envelope, oracle, payload, sha256};
use crate::python::python;

const ENVELOPE: &str = include_str!("python/envelope.py");

/// Where openssl is; None skips the test, aloud. It may not be skipped where nothing may.
#[track_caller]
fn openssl() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("openssl")).find(|file| file.is_file());
    if found.is_none() {
        let must = std::env::var_os("TRACE_LAKE_TEST_REQUIRE").is_some_and(|v| !v.is_empty() && v != "0");
        assert!(!must, "openssl is not there, and nothing may be skipped here");
        skip("openssl is not there");
    }
    found
}

#[track_caller]
fn run(kit: &Kit, openssl: &PathBuf, args: &[&str]) {
    let mut command = Command::new(openssl);
    kit.dress(&mut command);
    let output = command.args(args).output().expect("openssl runs");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// DSSE's encoding as its specification words it.
fn pae(payload: &[u8]) -> Vec<u8> {
    let kind = "application/vnd.in-toto+json";
    [format!("DSSEv1 {} {kind} {} ", kind.len(), payload.len()).as_bytes(), payload].concat()
}

#[test]
fn openssl_signs_with_our_key_and_we_verify() {
    let Some(openssl) = openssl() else { return };
    let kit = Kit::new();
    oracle(&kit);
    let statement = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "predicateType": "urn:trace-lake:predicate:oracle-verdict:v1",
        "subject": [{"name": "diff", "digest": {"sha256": sha256("diff")}}],
        "predicate": {
            "mode": "grade", "verdict": "PASS", "session_id": "s-1", "attempt": 1, "task_id": "t",
            "repo": "github.com/acme/billing", "base_commit": "ab12", "tests_hash": "h", "trace_sha256": sha256("x"),
            "trace_bytes": 1, "prev": format!("sha256:{}", sha256("before")), "run_id": "r-1",
            "finished_at": "2026-01-01T00:00:00Z", "oracle": "oracle-a",
        },
    });
    // Spaces and the order of keys are the signer's: what counts is what was signed.
    let signed = serde_json::to_vec_pretty(&statement).expect("JSON");
    std::fs::write(kit.path("pae.bin"), pae(&signed)).expect("a file");
    run(&kit, &openssl, &["pkeyutl", "-sign", "-rawin", "-inkey", "oracle.pem", "-in", "pae.bin", "-out", "sig.bin"]);
    let sig = std::fs::read(kit.path("sig.bin")).expect("a signature");
    let envelope = |sig: &[u8]| {
        json!({
            "payloadType": "application/vnd.in-toto+json", "payload": STANDARD.encode(&signed),
            "signatures": [{"keyid": "", "sig": STANDARD.encode(sig)}],
        })
        .to_string()
    };
    let verify = |text: &str| kit.run(&["keys", "verify", text, "--trust", "trust.toml", "--json"]);
    let said = verify(&envelope(&sig)).exits(0).json();
    assert_eq!((&said["verifies"], &said["statement"]), (&true.into(), &statement));
    let mut other = sig.clone();
    other[0] ^= 1;
    verify(&envelope(&other)).exits(1);
}

#[test]
fn openssl_verifies_what_we_signed_with_a_key_that_openssl_made() {
    let Some(openssl) = openssl() else { return };
    let kit = Kit::new();
    oracle(&kit);
    run(&kit, &openssl, &["genpkey", "-algorithm", "ed25519", "-out", "oracle.pem"]);
    run(&kit, &openssl, &["pkey", "-in", "oracle.pem", "-pubout", "-out", "public.pem"]);
    let shown = kit.run(&["keys", "show", "oracle.pem", "--json"]).exits(0).json();
    let public = std::fs::read_to_string(kit.path("public.pem")).expect("a public key");
    assert_eq!(shown["public_key"], public);
    assert_eq!(kit.run(&["keys", "show", "public.pem", "--json"]).exits(0).json()["id"], shown["id"]);
    let session = Session::start(&kit, "s-1");
    let said = envelope(&session.asks("baseline", "1", &[]).exits(0));
    let parsed: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(parsed["signatures"][0]["keyid"], shown["id"]);
    let sig = STANDARD.decode(parsed["signatures"][0]["sig"].as_str().expect("a signature")).expect("base64");
    std::fs::write(kit.path("pae.bin"), pae(&payload(&said))).expect("a file");
    std::fs::write(kit.path("sig.bin"), sig).expect("a file");
    let args =
        ["pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "public.pem", "-in", "pae.bin", "-sigfile", "sig.bin"];
    run(&kit, &openssl, &args);
    // openssl takes the key that we make, and gives it back as it is.
    kit.run(&["keys", "generate", "--key", "ours.pem", "--oracle", "o"]).exits(0);
    run(&kit, &openssl, &["pkey", "-in", "ours.pem", "-out", "again.pem"]);
    let read = |name: &str| std::fs::read(kit.path(name)).expect("a key");
    assert_eq!(read("ours.pem"), read("again.pem"));
}

#[test]
fn securesystemslib_reads_our_envelope_and_agrees_on_what_is_signed() {
    let Some(interpreter) = asked("TRACE_LAKE_TEST_PYTHON", "python") else { return };
    let kit = Kit::new();
    oracle(&kit);
    let session = Session::start(&kit, "s-\u{e9}\u{1f600}");
    let said = envelope(&session.asks("baseline", "1", &[]).exits(0));
    let shown = kit.run(&["keys", "show", "oracle.pem", "--json"]).exits(0).json();
    let public = shown["public_key"].as_str().expect("PEM");
    let theirs = python(&kit, &interpreter, ENVELOPE, &[&said, public]);
    assert_eq!(theirs["pae"], hex::encode(pae(&payload(&said))));
    assert_eq!(theirs["payload"], serde_json::from_slice::<Value>(&payload(&said)).expect("JSON"));
    assert_eq!(theirs["verified_by"], json!([shown["id"]]));
    assert_eq!(theirs["refuses_another_type"], true);
}
