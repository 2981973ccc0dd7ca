//! The trust file, and keys that are none.

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use lake_verdict::{Trust, key_id};

use crate::build::*;

fn hex32(text: &str) -> [u8; 32] {
    hex::decode(text).expect("hex").try_into().expect("32 bytes")
}

fn pem(bytes: &[u8; 32]) -> String {
    let mut der = hex::decode("302a300506032b6570032100").expect("hex");
    der.extend_from_slice(bytes);
    format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", STANDARD.encode(der))
}

/// What a trust file with this one entry is refused for.
fn refused(entry: &str) -> String {
    match Trust::parse(&format!("version = 1\n{entry}")) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn entry(public_key: &str, id: &str) -> String {
    format!("[[keys]]\nid = \"{id}\"\npublic_key = '''\n{public_key}'''\noracle = \"o\"\n")
}

#[test]
fn the_vectors_of_rfc_8032_hold() {
    // Section 7.1, tests 1 to 3: secret, public, message, signature.
    for (secret, public, message, signature) in [
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ] {
        let key = SigningKey::from_bytes(&hex32(secret));
        let message = hex::decode(message).expect("hex");
        assert_eq!(hex::encode(key.verifying_key().as_bytes()), public);
        assert_eq!(hex::encode(key.sign(&message).to_bytes()), signature);
        let signature = Signature::from_slice(&hex::decode(signature).expect("hex")).expect("a signature");
        assert!(key.verifying_key().verify_strict(&message, &signature).is_ok());
        let id = key_id(&key.verifying_key());
        assert_eq!(refused(&entry(&pem(&hex32(public)), &id)), "nothing");
    }
}

#[test]
fn both_forms_of_a_key_are_one_key() {
    let public = key(1).verifying_key();
    for form in [pem(public.as_bytes()), ssh_line(&public)] {
        let trust = Trust::parse(&format!("version = 1\n{}", entry(&form, &key_id(&public)))).expect("a trust file");
        assert_eq!((trust.keys().len(), trust.keys()[0].key), (1, public));
    }
}

#[test]
fn weak_keys_are_refused() {
    for point in [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ] {
        let weak = VerifyingKey::from_bytes(&hex32(point)).expect("a point");
        for form in [pem(weak.as_bytes()), ssh_line(&weak)] {
            assert!(refused(&entry(&form, &key_id(&weak))).contains("weak"), "{point}");
        }
    }
}

#[test]
fn keys_that_are_not_in_canonical_form_are_refused() {
    let mut met = 0;
    // y at or over the prime, and the sign of nothing.
    let over = (0..19u8).map(|k| {
        let mut bytes = hex32("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
        bytes[0] += k;
        bytes
    });
    let signed = [
        "0100000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    ];
    for bytes in over.chain(signed.map(hex32)) {
        let reason = refused(&entry(&pem(&bytes), "sha256:0"));
        assert!(reason.contains("canonical") || reason.contains("not the PEM"), "{reason}");
        met += usize::from(reason.contains("canonical"));
    }
    assert!(met >= 4, "{met}");
}

#[test]
fn a_refused_entry_is_named_and_told_why() {
    let public = key(1).verifying_key();
    let id = key_id(&public);
    let good = entry(&ssh_line(&public), &id);
    let other = key(2).verifying_key();
    for (text, parts) in [
        (entry(&ssh_line(&other), &id), vec!["key 1", &id, "`id`", &key_id(&other)]),
        (format!("{good}{good}"), vec!["key 2", &id, "key 1"]),
        (format!("{good}more = 1\n"), vec!["key 1", "`more`"]),
        (good.replace("oracle = \"o\"\n", ""), vec!["key 1", "no `oracle`"]),
        (good.replace("oracle = \"o\"", "oracle = 7"), vec!["`oracle` is not a string"]),
        (good.replace("ssh-ed25519", "ssh-rsa"), vec!["`ssh-ed25519` line"]),
        (entry("nonsense", &id), vec!["PEM"]),
        (format!("{good}valid_from = 2026-01-01\n"), vec!["`valid_from`", "offset"]),
        (
            format!("{good}valid_from = 2026-01-01T00:00:00Z\nvalid_until = 2026-01-01T00:00:00Z\n"),
            vec!["`valid_until`"],
        ),
        (format!("{good}repos = \"x\"\n"), vec!["`repos`"]),
        (format!("{good}repos = [\"github.com/ac*\"]\n"), vec!["github.com/ac*"]),
        (format!("{good}reason = \"superseded\"\n"), vec!["`revoked_at`"]),
        (format!("{good}revoked_at = 2026-01-01T00:00:00Z\n"), vec!["`reason`"]),
        (format!("{good}revoked_at = 2026-01-01T00:00:00Z\nreason = \"lost\"\n"), vec!["`reason`"]),
        (format!("{good}revoked_at = 2026-01-01T00:00:00Z\nreason = \"compromised\"\n"), vec!["`compromised_since`"]),
        (
            format!(
                "{good}revoked_at = 2026-01-01T00:00:00Z\nreason = \"compromised\"\ncompromised_since = 2026-01-01T00:00:01Z\n"
            ),
            vec!["after `revoked_at`"],
        ),
    ] {
        let reason = refused(&text);
        for part in parts {
            assert!(reason.contains(part), "{reason} has no {part}");
        }
    }
    for (text, part) in [("", "version"), ("version = 2", "version"), ("version = 1\nkey = 1", "`key`"), ("=", "TOML")]
    {
        let reason = Trust::parse(text).map(|_| ()).expect_err("refused").to_string();
        assert!(reason.contains(part), "{reason}");
    }
}

#[test]
fn a_scope_is_one_part_or_any() {
    let covers = |patterns: &str, repo: &str| trust_with(&format!("repos = {patterns}\n")).covers(repo);
    for (patterns, repo, expected) in [
        (r#"["github.com/acme/*"]"#, "github.com/acme/billing", true),
        (r#"["github.com/Acme/*"]"#, "GitHub.com/ACME/billing", true),
        (r#"["github.com/acme/*"]"#, "github.com/acme/a/b", false),
        (r#"["github.com/acme/*"]"#, "github.com/acme", false),
        (r#"["github.com/acme/*"]"#, "github.com/acme2/billing", false),
        (r#"["github.com/acme/*"]"#, "evil.com/github.com/acme/billing", false),
        (r#"["github.com/**"]"#, "github.com/a/b/c", true),
        (r#"["**/billing"]"#, "github.com/a/billing", true),
        (r#"["**/billing"]"#, "github.com/a/billing/x", false),
        (r#"["*/*/billing"]"#, "github.com/a/billing", true),
        (r#"["**"]"#, "anything", true),
        (r#"["a/b", "c/d"]"#, "c/d", true),
        ("[]", "c/d", false),
    ] {
        assert_eq!(covers(patterns, repo), expected, "{patterns} {repo}");
    }
    assert!(trust_with("").covers("anything/at/all"));
}

#[test]
fn the_digest_is_of_the_files_bytes() {
    let trust = Trust::parse("version = 1\n").expect("a trust file");
    assert_eq!(trust.digest(), format!("sha256:{}", sha(b"version = 1\n")));
    assert!(trust.keys().is_empty() && !trust.covers("a/b"));
}
