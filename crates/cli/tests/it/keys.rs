//! `keys` from outside: what an oracle's host does, and what a key's owner does.

use serde_json::{Value, json};

use crate::kit::{Kit, trust_file};
use crate::oracle::{KEY, REPO, Session, envelope, oracle, payload, predicate, sha256};

fn lake(kit: &Kit) {
    kit.run(&["sync", "--lake", "lake", "--data-dir", "data", "--idle", "0s"]).exits(0);
}

#[test]
fn a_new_key_is_its_owners_alone_and_its_entry_is_a_trust_files() {
    let kit = Kit::new();
    let args = ["keys", "generate", "--key", "k.pem", "--oracle", "say \"hi\"", "--repo", "github.com/acme/*"];
    kit.run(&[&args[..], &["--dry-run"]].concat()).exits(0);
    assert!(!kit.path("k.pem").exists());
    let ran = kit.run(&args).exits(0);
    let pem = std::fs::read_to_string(kit.path("k.pem")).expect("a key");
    assert!(pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(kit.path("k.pem")).expect("a key").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = pem.lines().nth(1).expect("base64");
    assert!(!ran.out.contains(secret) && !ran.err.contains(secret));
    kit.write("trust.toml", &format!("version = 1\n{}", ran.out));
    let listed = kit.run(&["keys", "list", "--trust", "trust.toml", "--json"]).exits(0).json();
    assert_eq!(listed["keys"][0]["oracle"], "say \"hi\"");
    assert_eq!(listed["keys"][0]["repos"], json!(["github.com/acme/*"]));
    assert_eq!(listed["keys"][0]["state"], "in force");
    // By its file, by its id, and by the start of it.
    let id = listed["keys"][0]["id"].as_str().expect("an id");
    for name in ["k.pem", id, &id[..15]] {
        let shown = kit.run(&["keys", "show", name, "--trust", "trust.toml"]).exits(0).prints(&[
            id,
            "PUBLIC KEY",
            "ssh-ed25519 ",
        ]);
        assert!(!shown.out.contains(secret), "{name}");
    }
    // Never over another.
    kit.run(&args).exits(1).says(&["k.pem", "no key is ever replaced"]);
    assert_eq!(std::fs::read_to_string(kit.path("k.pem")).expect("a key"), pem);
    let two = kit.run(&["keys", "generate", "--key", "l.pem", "--oracle", "o", "--json"]).exits(0).json();
    assert_ne!(two["id"], id);
    kit.run(&["keys", "generate", "--key", "m.pem", "--oracle", "o", "--repo", "ac*me"]).exits(2).says(&["ac*me"]);
    kit.run(&["keys", "generate", "--key", "m.pem", "--oracle", ""]).exits(2);
    kit.run(&["keys", "generate", "--key", "none/m.pem", "--oracle", "o"]).exits(1).says(&["none/m.pem"]);
    assert!(!kit.path("m.pem").exists());
}

#[test]
fn a_private_key_is_in_no_error_and_no_output() {
    let kit = Kit::new();
    oracle(&kit);
    let pem = std::fs::read_to_string(kit.path("oracle.pem")).expect("a key");
    let secret = pem.lines().nth(1).expect("base64");
    kit.write("spoilt.pem", &pem.replace("MC4C", "MC5C"));
    let sign = ["keys", "sign", "--mode", "grade", "--oracle", "o", "--state", "state"];
    let rest = ["--task", "t", "--base", "ab", "--remote-sha256", "00", "--tests-hash", "h", "--exit-status", "0"];
    for args in [
        [&sign[..], &rest[..], &["--key", "spoilt.pem"]].concat(),
        [&sign[..], &rest[..], &["--key", "oracle.pem", "--diff", "none"]].concat(),
        vec!["keys", "show", "spoilt.pem"],
        vec!["keys", "verify", "oracle.pem", "--trust", "trust.toml"],
    ] {
        let ran = kit.run(&args);
        assert_ne!(ran.code, 0, "{args:?}");
        let all = format!("{}{}", ran.out, ran.err);
        assert!(!all.contains(&secret[6..40]) && !all.is_empty(), "{args:?}: {all}");
    }
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(kit.path("oracle.pem"), open).expect("chmod");
    kit.run(&["keys", "show", "oracle.pem"]).exits(0).says(&["others may read", "chmod 600"]);
}

#[test]
fn an_oracle_signs_a_chain_that_the_lake_verifies() {
    let kit = Kit::new();
    oracle(&kit);
    let mut session = Session::start(&kit, "s-1");
    let baseline = session.graded("baseline", "1");
    session.work();
    let failed = session.graded("grade", "1");
    session.work();
    let unsure = session.graded("grade", "77");
    session.work();
    let passed = session.graded("grade", "0");
    session.end();
    let all = [&baseline, &failed, &unsure, &passed];
    let said = |key: &str| all.map(|envelope| predicate(envelope)[key].clone());
    assert_eq!(said("verdict"), ["FAIL", "FAIL", "ERROR", "PASS"].map(Value::from));
    assert_eq!(said("attempt"), [0, 1, 2, 3].map(Value::from));
    assert_eq!(said("repo")[0], REPO);
    let digest = |envelope: &str| format!("sha256:{}", sha256(payload(envelope)));
    assert_eq!(said("prev")[0], Value::Null);
    for (before, after) in all.iter().zip(&all[1..]) {
        assert_eq!(predicate(after)["prev"], digest(before).as_str());
    }
    // The ledger has them all, in order.
    let ledger = std::fs::read_to_string(kit.path("state/ledger.jsonl")).expect("a ledger");
    let lines: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.iter().map(|line| line["seq"].clone()).collect::<Vec<_>>(), [1, 2, 3, 4].map(Value::from));
    for (line, envelope) in lines.iter().zip(all) {
        assert_eq!(line["envelope"], serde_json::from_str::<Value>(envelope).expect("JSON"));
    }
    lake(&kit);
    let common = ["--lake", "lake", "--trust", "trust.toml", "--ledger", "state/ledger.jsonl"];
    kit.run(&[&["check"][..], &common].concat()).exits(0).prints(&["by outcome: flipped 1", "by flag: none"]);
    kit.run(&[&["export", "--out", "out", "--require-signature"][..], &common].concat())
        .exits(0)
        .prints(&["sft: 1 row"]);
    kit.run(&[&["status"][..], &common].concat()).exits(0).prints(&["4 verdicts of 1 session, 0 missing in the lake"]);
    let shown = kit.run(&[&["show", "s-1"][..], &common].concat()).exits(0);
    shown.prints(&["grade 3 PASS: verifies, decides", "attempt 3 follows", "flags        none"]);
    // Each of them, and all of them in their trace.
    for envelope in all {
        kit.run(&["keys", "verify", envelope, "--trust", "trust.toml"]).exits(0).prints(&["verifies"]);
    }
    let trace = session.path().display().to_string();
    let ran = kit.run(&["keys", "verify", "--trace", &trace, "--trust", "trust.toml"]).exits(0);
    ran.prints(&["baseline 0 FAIL: verifies", "grade 3 PASS: verifies, decides", "session s-1: flipped"]);
}

#[test]
fn what_the_gate_says_of_the_session_is_held_against_what_was_pinned() {
    let kit = Kit::new();
    oracle(&kit);
    let mut session = Session::start(&kit, "s-1");
    session.asks("grade", "0", &[]).exits(1).says(&["has no baseline yet", "hint: nothing was signed"]);
    session.graded("baseline", "1");
    session.work();
    session.asks("baseline", "1", &[]).exits(1).says(&["has its baseline already"]);
    session.task = "easier".to_owned();
    session.asks("grade", "0", &[]).exits(1).says(&["billing-7", "easier"]);
    session.task = "billing-7".to_owned();
    let ledger = || std::fs::read_to_string(kit.path("state/ledger.jsonl")).expect("a ledger").lines().count();
    assert_eq!(ledger(), 1);
    // A repository that the oracle does not know, a diff that is none, half a trace pair.
    let run = |remote: &str, diff: &str, vars: &[(&str, &str)]| {
        let args = [
            "keys",
            "sign",
            "--mode",
            "grade",
            "--task",
            "billing-7",
            "--base",
            crate::oracle::BASE,
            "--tests-hash",
            "h",
            "--exit-status",
            "0",
            "--remote-sha256",
            remote,
            "--diff",
            diff,
        ];
        session.run(&[&args[..], &KEY].concat(), vars)
    };
    let known = sha256(crate::oracle::URL);
    run(&sha256("https://evil"), "empty.diff", &[]).exits(1).says(&["remotes.toml knows no remote"]);
    run("nonsense", "empty.diff", &[]).exits(2).says(&["--remote-sha256 is no SHA-256"]);
    run(&known, "none.diff", &[]).exits(1).says(&["none.diff"]);
    run(&known, "empty.diff", &[("ORACLE_TRACE_BYTES", "7")]).exits(2).says(&["only one of"]);
    run(&known, "empty.diff", &[("ORACLE_TRACE_BYTES", "-7"), ("ORACLE_TRACE_SHA256", &known)]).exits(2);
    assert_eq!(ledger(), 1);
    // Without the pair it is signed, counted, and proves nothing.
    let unbound = envelope(&run(&known, "empty.diff", &[]).exits(0).says(&["proves no flip"]));
    assert_eq!((predicate(&unbound)["trace_bytes"].clone(), ledger()), (Value::Null, 2));
    let dry = session.asks("grade", "0", &["--dry-run"]).exits(0);
    assert_eq!(serde_json::from_str::<Value>(&dry.out).expect("JSON")["predicate"]["attempt"], 2);
    assert_eq!(ledger(), 2);
    let json = session.asks("grade", "0", &["--json"]).exits(0).json();
    assert_eq!(
        (json["attempt"].clone(), json["seq"].clone(), json["says"].clone()),
        (2.into(), 3.into(), "PASS".into())
    );
}

#[test]
fn a_task_has_one_baseline_that_its_sessions_share() {
    let kit = Kit::new();
    oracle(&kit);
    let remote = sha256(crate::oracle::URL);
    let args = [
        "keys",
        "sign",
        "--mode",
        "baseline",
        "--task",
        "billing-7",
        "--base",
        crate::oracle::BASE,
        "--tests-hash",
        "sha256:tests",
        "--exit-status",
        "1",
        "--remote-sha256",
        &remote,
    ];
    let shared = envelope(&kit.run(&[&args[..], &KEY].concat()).exits(0));
    let said = predicate(&shared);
    assert_eq!((&said["session_id"], &said["attempt"], &said["prev"]), (&Value::Null, &0.into(), &Value::Null));
    kit.write("shared.json", &shared);
    for id in ["s-1", "s-2"] {
        let mut session = Session::start(&kit, id);
        let start = [&["keys", "sign", "--baseline", "shared.json"][..], &KEY].concat();
        let again = envelope(&session.run(&start, &[]).exits(0));
        assert_eq!(again, shared);
        session.hears(&again);
        session.work();
        session.graded("grade", "0");
        // A session that is resumed asks once more.
        assert_eq!(envelope(&session.run(&start, &[]).exits(0)), shared);
        session.asks("baseline", "1", &[]).exits(1).says(&["has its baseline already"]);
        session.end();
    }
    lake(&kit);
    let common = ["--lake", "lake", "--trust", "trust.toml", "--ledger", "state/ledger.jsonl"];
    kit.run(&[&["check"][..], &common].concat()).exits(0).prints(&["by outcome: flipped 2", "by flag: none"]);
    // A grade starts nothing, and neither does what another key signed.
    let mut other = Session::start(&kit, "s-3");
    let own = other.graded("baseline", "1");
    let other = Session::start(&kit, "s-4");
    let start = |given: &str| other.run(&[&["keys", "sign", "--baseline", given][..], &KEY].concat(), &[]);
    start(&own).exits(1).says(&["is of one session"]);
    let key = ["--key", "theirs.pem", "--oracle", "oracle-b"];
    kit.run(&[&["keys", "generate"][..], &key].concat()).exits(0);
    let theirs = envelope(&kit.run(&[&args[..], &key, &["--state", "state"]].concat()).exits(0));
    start(&theirs).exits(1).says(&["the shared baseline is refused at signature"]);
}

#[test]
fn a_run_that_broke_off_is_carried_on_from_the_ledger() {
    let kit = Kit::new();
    oracle(&kit);
    let mut session = Session::start(&kit, "s-1");
    session.graded("baseline", "1");
    session.work();
    let before = kit.path("before");
    crate::kit::copy(&kit.path("state"), &before);
    let lost = envelope(&session.asks("grade", "1", &[]).exits(0));
    let ledger = std::fs::read_to_string(kit.path("state/ledger.jsonl")).expect("a ledger");
    // The line reached the disk, the rest did not; then half a line more.
    for (tail, note) in [("", ""), ("{\"seq\":3,\"envel", "half a line")] {
        std::fs::remove_dir_all(kit.path("state")).expect("gone");
        crate::kit::copy(&before, &kit.path("state"));
        std::fs::write(kit.path("state/ledger.jsonl"), format!("{ledger}{tail}")).expect("a ledger");
        let ran = session.asks("grade", "0", &[]).exits(0).says(&[note]);
        let said = predicate(&envelope(&ran));
        assert_eq!(
            (said["attempt"].clone(), said["prev"].clone()),
            (2.into(), format!("sha256:{}", sha256(payload(&lost))).into())
        );
        let after = std::fs::read_to_string(kit.path("state/ledger.jsonl")).expect("a ledger");
        assert_eq!((after.lines().count(), after.starts_with(&ledger)), (3, true));
    }
    // All but the ledger is made anew from it.
    std::fs::remove_file(kit.path("state/head.json")).expect("gone");
    std::fs::remove_dir_all(kit.path("state/sessions")).expect("gone");
    assert_eq!(predicate(&envelope(&session.asks("grade", "1", &[]).exits(0)))["attempt"], 3);
    // A ledger that lost a verdict signs no second one in its place.
    std::fs::write(kit.path("state/ledger.jsonl"), &ledger).expect("a ledger");
    session.asks("grade", "0", &[]).exits(1).says(&["ledger.jsonl is ", "restore it from a copy"]);
}

#[test]
fn runs_at_the_same_time_make_one_chain() {
    let kit = Kit::new();
    oracle(&kit);
    let mut session = Session::start(&kit, "s-1");
    session.graded("baseline", "1");
    session.work();
    let session = &session;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(move || drop(session.asks("grade", "1", &[]).exits(0)));
        }
    });
    let ledger = std::fs::read_to_string(kit.path("state/ledger.jsonl")).expect("a ledger");
    let mut prev = Value::Null;
    for (i, line) in ledger.lines().enumerate() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let envelope = line["envelope"].to_string();
        assert_eq!((line["seq"].clone(), predicate(&envelope)["attempt"].clone()), ((i + 1).into(), i.into()));
        assert_eq!(predicate(&envelope)["prev"], prev);
        prev = format!("sha256:{}", sha256(payload(&envelope))).into();
    }
    assert_eq!(ledger.lines().count(), 9);
}

#[test]
fn a_verdict_that_is_refused_is_explained_and_exits_with_1() {
    let kit = Kit::new();
    oracle(&kit);
    let mut session = Session::start(&kit, "s-1");
    let said = session.graded("baseline", "1");
    let spoilt = said.replace("oracle", "0racle").replacen("\"sig\":\"", "\"sig\":\"A", 1);
    let verify =
        |given: &str, more: &[&str]| kit.run(&[&["keys", "verify", given, "--trust", "trust.toml"][..], more].concat());
    verify(&spoilt, &[]).exits(1).prints(&["FAIL envelope", "does not verify [malformed]"]);
    let json = verify(&said, &["--json"]).exits(0).json();
    assert_eq!((&json["verifies"], &json["statement"]["predicate"]["mode"]), (&true.into(), &"baseline".into()));
    let names: Vec<&str> = json["steps"].as_array().expect("steps").iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!(names, ["envelope", "signature", "statement", "key"]);
    // In another trace it says nothing, and in its own it is bound.
    let other = Session::start(&kit, "s-2");
    let trace = |session: &Session<'_>| session.path().display().to_string();
    verify(&said, &["--trace", &trace(&session)]).exits(0).prints(&["line 3: baseline 0 FAIL: verifies"]);
    verify(&said, &["--trace", &trace(&other)]).exits(1);
    kit.write(
        "line",
        &format!("verdict={}\n", base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &said)),
    );
    verify("line", &[]).exits(0);
    verify("nonsense", &[]).exits(2).says(&["that is no envelope"]);
    kit.run(&["keys", "verify", &said]).exits(2).says(&["no trust file is named"]);
    kit.run(&["keys", "verify", "--trust", "trust.toml"]).exits(2);
}

#[test]
fn a_revoked_key_is_rewritten_in_its_place_and_what_it_touched_is_listed() {
    let kit = Kit::with_demo();
    let text = std::fs::read_to_string(trust_file()).expect("a trust file");
    let text = text.replacen("version = 1\n", "# ours\nversion = 1 # of the format\n", 1);
    kit.write("trust.toml", &text);
    kit.run(&["export", "--out", "out", "--require-signature", "--trust", "trust.toml"]).exits(0);
    let keys = kit.run(&["keys", "list", "--trust", "trust.toml", "--json"]).exits(0).json();
    let id = keys["keys"][0]["id"].as_str().expect("an id").to_owned();
    let rows = kit
        .run(&["sql", "--json", &format!("select count(*) as n from exports where array_has(key_ids, '{id}')")])
        .exits(0)
        .json();
    let words = kit.run(&["keys", "revoke", &id, "--trust", "trust.toml", "--at", "2030-01-01", "--dry-run"]).exits(0);
    words.prints(&[
        "would be revoked (superseded)",
        "session demo-01-flipped branch 0: verdicts in lines",
        "row 0 of ",
    ]);
    let revoke = ["keys", "revoke", &id, "--trust", "trust.toml", "--compromised-since", "2020-01-01", "--json"];
    let dry = kit.run(&[&revoke[..], &["--dry-run"]].concat()).exits(0).json();
    assert_eq!(std::fs::read_to_string(kit.path("trust.toml")).expect("a trust file"), text);
    let done = kit.run(&revoke).exits(0).json();
    assert_eq!(done["touched"], dry["touched"]);
    assert_eq!(done["touched"]["rows"].as_array().expect("rows").len() as u64, rows["n"].as_u64().expect("a number"));
    let sessions: Vec<&str> = done["touched"]["sessions"]
        .as_array()
        .expect("sessions")
        .iter()
        .filter_map(|s| s["session_id"].as_str())
        .collect();
    assert!(sessions.contains(&"demo-01-flipped") && !sessions.contains(&"demo-08-unsigned"), "{sessions:?}");
    assert_eq!(done["touched"]["exports"][0]["out"], kit.text("out"));
    let changed = std::fs::read_to_string(kit.path("trust.toml")).expect("a trust file");
    assert!(changed.starts_with("# ours\nversion = 1 # of the format\n") && changed.len() > text.len(), "{changed}");
    assert_eq!(changed.matches("compromised_since = 2020-01-01T00:00:00Z").count(), 1);
    // Every line that was there is there.
    assert!(text.lines().all(|line| changed.lines().any(|l| l == line)));
    let listed = kit.run(&["keys", "list", "--trust", "trust.toml", "--json"]).exits(0).json();
    assert_eq!(listed["keys"][0]["state"], "compromised");
    kit.run(&["export", "--out", "again", "--require-signature", "--trust", "trust.toml"]).exits(0);
    let left = std::fs::read_to_string(kit.path("again/exclusions.jsonl")).expect("a list");
    assert!(left.contains("key_revoked"));
    // Wrong usage changes nothing.
    for (args, part) in [
        (&["--reason", "compromised"][..], "--compromised-since"),
        (&["--reason", "superseded", "--compromised-since", "2020-01-01"], "--compromised-since"),
        (&["--at", "2019-01-01", "--compromised-since", "2019-01-02"], "after `revoked_at`"),
    ] {
        kit.run(&[&["keys", "revoke", &id, "--trust", "trust.toml"][..], args].concat()).exits(2).says(&[part]);
    }
    kit.run(&["keys", "revoke", "sha256:00", "--trust", "trust.toml"]).exits(1).says(&["no key of the trust file"]);
    assert_eq!(std::fs::read_to_string(kit.path("trust.toml")).expect("a trust file"), changed);
    // What is revoked stays so.
    let weaker = kit.run(&["keys", "revoke", &id, "--trust", "trust.toml"]).exits(1);
    weaker.says(&["is compromised since 2020-01-01T00:00:00Z already", "more of its verdicts count"]);
    assert_eq!(std::fs::read_to_string(kit.path("trust.toml")).expect("a trust file"), changed);
}
