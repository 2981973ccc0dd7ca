//! Signatures that are missing, altered, or of the wrong key.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lake_trace::{Mode, Verdict};
use lake_verdict::{PAYLOAD_TYPE, pae, sign};

use super::scalar::{with_larger_s, with_small_order_r};
use super::setting::{
    Attack, HonestKeys, envelope, pass, raw_signature, task, with, with_envelope, with_key, with_statement,
};
use crate::scenarios::flipped_session;

/// Puts `to` for `from` in a payload, once.
fn changed(payload: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8_lossy(payload);
    assert!(text.contains(from), "no {from} in a payload");
    text.replacen(from, to, 1).into_bytes()
}

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = missing_or_altered();
    all.extend(keys());
    all.extend(malformed());
    all
}

fn missing_or_altered() -> Vec<Attack> {
    let altered = |name, how: fn([u8; 64]) -> [u8; 64]| {
        let bytes = with_envelope(name, |payload, key| {
            envelope(PAYLOAD_TYPE, payload, &key.id(), &how(raw_signature(key, PAYLOAD_TYPE, payload)))
        });
        Attack::new(name, "bad_signature", bytes)
    };
    let resigned = |name, flag, from: &'static str, to: &'static str| {
        let bytes = with_envelope(name, |payload, key| sign(&key.signing, &changed(payload, from, to)));
        Attack::new(name, flag, bytes)
    };
    vec![
        Attack::new("unsigned", "unsigned", flipped_session("attack-unsigned", &task(), None)),
        Attack::new(
            "pass_unsigned",
            "unsigned",
            with("pass_unsigned", |session| {
                let statement = pass(session);
                session.verdict(&statement, |record| record.signature = None);
            }),
        ),
        altered("signature_altered", |mut sig| {
            sig[10] ^= 1;
            sig
        }),
        altered("s_not_canonical", with_larger_s),
        altered("signature_zero", |_| [0; 64]),
        Attack::new(
            "small_order_r",
            "bad_signature",
            with_envelope("small_order_r", |payload, key| {
                let sig = with_small_order_r(&key.signing, &pae(PAYLOAD_TYPE, payload));
                envelope(PAYLOAD_TYPE, payload, &key.id(), &sig)
            }),
        ),
        Attack::new(
            "payload_altered",
            "bad_signature",
            with("payload_altered", |session| {
                let fail = session.statement(Mode::Grade, Verdict::Fail, "a diff").to_payload();
                let key = HonestKeys::new().trusted;
                let sig = raw_signature(&key, PAYLOAD_TYPE, &fail);
                let forged = envelope(PAYLOAD_TYPE, &changed(&fail, "FAIL", "PASS"), &key.id(), &sig);
                let shown = session.statement(Mode::Grade, Verdict::Pass, "a diff");
                session.verdict(&shown, |record| record.signature = Some(forged));
            }),
        ),
        Attack::new(
            "other_payload_type",
            "wrong_type",
            with_envelope("other_payload_type", |payload, key| {
                let other = "application/json";
                envelope(other, payload, &key.id(), &raw_signature(key, other, payload))
            }),
        ),
        resigned("other_predicate_type", "wrong_type", "oracle-verdict:v1", "build-log:v1"),
        resigned("other_statement_type", "wrong_type", "Statement/v1", "Statement/v0.1"),
    ]
}

fn keys() -> Vec<Attack> {
    let keys = HonestKeys::new();
    let by = |name, flag, key| Attack::new(name, flag, with_key(name, key));
    vec![
        by("untrusted_key", "untrusted_key", &keys.unknown),
        Attack::new(
            "trusted_key_named",
            "bad_signature",
            with_envelope("trusted_key_named", |payload, trusted| {
                let sig = raw_signature(&keys.unknown, PAYLOAD_TYPE, payload);
                envelope(PAYLOAD_TYPE, payload, &trusted.id(), &sig)
            }),
        ),
        by("key_of_other_repositories", "key_scope", &keys.other_scope),
        Attack::new(
            "name_of_another_oracle",
            "key_scope",
            with_statement("name_of_another_oracle", |statement| statement.oracle = "oracle-3".to_owned()),
        ),
        by("key_expired", "key_expired", &keys.expired),
        Attack::new(
            "before_the_window",
            "key_expired",
            with_statement("before_the_window", |statement| {
                statement.finished_at -= chrono::Duration::days(365);
            }),
        ),
        by("key_superseded", "key_revoked", &keys.superseded),
        Attack::new(
            "compromised_key_backdated",
            "key_revoked",
            with("compromised_key_backdated", |session| {
                let mut statement = pass(session);
                statement.oracle.clone_from(&keys.compromised.oracle);
                // A thief signs whatever time he likes: before the key was taken.
                statement.finished_at -= chrono::Duration::days(60);
                let signature = sign(&keys.compromised.signing, &statement.to_payload());
                session.verdict(&statement, |record| record.signature = Some(signature));
            }),
        ),
    ]
}

fn malformed() -> Vec<Attack> {
    let payload = |name, from: &'static str, to: &'static str| {
        let bytes = with_envelope(name, |payload, key| sign(&key.signing, &changed(payload, from, to)));
        Attack::new(name, "malformed", bytes)
    };
    let text = |name, text: &'static str| Attack::new(name, "malformed", with_envelope(name, |_, _| text.to_owned()));
    let statement =
        |name, change: fn(&mut lake_verdict::Statement)| Attack::new(name, "malformed", with_statement(name, change));
    let reshaped = |name, how: fn(String, &str) -> String| {
        let bytes = with_envelope(name, |payload, key| {
            let sig = STANDARD.encode(raw_signature(key, PAYLOAD_TYPE, payload));
            how(sign(&key.signing, payload), &sig)
        });
        Attack::new(name, "malformed", bytes)
    };
    vec![
        payload("payload_key_twice", r#""verdict":"PASS""#, r#""verdict":"FAIL","verdict":"PASS""#),
        payload("payload_unknown_field", r#""verdict":"PASS""#, r#""verdict":"PASS","note":"x""#),
        payload("payload_missing_field", r#""verdict":"PASS","#, ""),
        payload("payload_float", r#""attempt":1"#, r#""attempt":1.0"#),
        payload("payload_large_integer", r#""attempt":1"#, r#""attempt":9007199254740992"#),
        payload("payload_not_json", r#"{"_type""#, r#"["_type""#),
        statement("payload_over_size", |statement| statement.task_id = "t".repeat(17 * 1024)),
        statement("grade_without_session", |statement| statement.session_id = None),
        statement("baseline_of_a_diff", |statement| {
            statement.mode = Mode::Baseline;
            statement.attempt = 0;
        }),
        text("signature_no_object", "\"signed, trust me\""),
        text("signature_empty_object", "{}"),
        reshaped("signature_63_bytes", |envelope, sig| {
            let short = STANDARD.encode(&STANDARD.decode(sig).expect("our own base64")[..63]);
            envelope.replace(sig, &short)
        }),
        reshaped("signature_without_padding", |envelope, sig| envelope.replace(sig, sig.trim_end_matches('='))),
        reshaped("two_signatures", |envelope, _| {
            let from = envelope.find('[').expect("a list of signatures");
            let one = &envelope[from + 1..envelope.len() - 2];
            format!("{}[{one},{one}]}}", &envelope[..from])
        }),
    ]
}
