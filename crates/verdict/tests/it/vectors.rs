//! Signatures in the manner of RFC 8032 and Project Wycheproof: valid ones, and each kind that some verifier lets pass.
//! What a trust file and an envelope make of one is what `verify_strict` does.

use base64::{Engine, engine::general_purpose::STANDARD};
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use lake_verdict::{PAYLOAD_TYPE, Trust, examine, key_id, pae, read_private_key, write_private_key};
use sha2::{Digest, Sha512};

use crate::build::{key, ssh_line};

/// A signature over the PAE of a payload.
struct Vector {
    what: &'static str,
    payload: Vec<u8>,
    signature: Vec<u8>,
    valid: bool,
}

fn wide(parts: &[&[u8]]) -> Scalar {
    let mut hash = Sha512::new();
    parts.iter().for_each(|part| hash.update(part));
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

/// What holds for a verifier that multiplies by the cofactor, or compares points and not bytes, when R is of small order:
/// S is the challenge times the secret.
fn with_r(signer: &SigningKey, r: &[u8; 32], message: &[u8]) -> Vec<u8> {
    let mut low = [0; 32];
    low.copy_from_slice(&Sha512::digest(signer.to_bytes())[..32]);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(low));
    let challenge = wide(&[r, signer.verifying_key().as_bytes(), message]);
    [r.as_slice(), (challenge * secret).as_bytes()].concat()
}

fn hex32(text: &str) -> [u8; 32] {
    hex::decode(text).expect("hex").try_into().expect("32 bytes")
}

/// The order of the group, little end first.
const ORDER: &str = "edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010";

/// `times` the order added to S; None where that does not fit into 32 bytes.
fn plus_order(signature: &[u8], times: u8) -> Option<Vec<u8>> {
    let mut out = signature.to_vec();
    for _ in 0..times {
        let mut carry = 0u16;
        for (byte, add) in out[32..].iter_mut().zip(hex32(ORDER)) {
            carry += u16::from(*byte) + u16::from(add);
            *byte = carry.to_le_bytes()[0];
            carry >>= 8;
        }
        if carry > 0 {
            return None;
        }
    }
    Some(out)
}

/// Every point whose order divides the cofactor, in each encoding that some reader takes.
const SMALL: [(&str, &str); 14] = [
    ("the identity", "0100000000000000000000000000000000000000000000000000000000000000"),
    ("the identity with a sign", "0100000000000000000000000000000000000000000000000000000000000080"),
    ("the identity as p + 1", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ("the identity as p + 1 with a sign", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
    ("of order 2", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ("of order 2 with a sign", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
    ("of order 4", "0000000000000000000000000000000000000000000000000000000000000000"),
    ("of order 4, other sign", "0000000000000000000000000000000000000000000000000000000000000080"),
    ("of order 4 as p", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
    ("of order 4 as p, other sign", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
    ("of order 8, first", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
    ("of order 8, second", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85"),
    ("of order 8, third", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
    ("of order 8, fourth", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa"),
];

fn vectors(signer: &SigningKey) -> Vec<Vector> {
    let mut out = Vec::new();
    let payloads = [vec![], b"{}".to_vec(), vec![0; 1023], vec![b'x'; 16 * 1024], b"\xff\x00\xc3\x28".to_vec()];
    let honest = |payload: &[u8]| signer.sign(&pae(PAYLOAD_TYPE, payload)).to_bytes().to_vec();
    for payload in payloads {
        out.push(Vector { what: "valid", signature: honest(&payload), payload, valid: true });
    }
    let payload = b"{\"a\":1}".to_vec();
    let good = honest(&payload);
    let mut bad = |what, signature: Vec<u8>| {
        assert_ne!(signature, good, "{what}");
        out.push(Vector { what, payload: payload.clone(), signature, valid: false });
    };
    for times in 1..=15 {
        if let Some(signature) = plus_order(&good, times) {
            bad("S plus a multiple of the order", signature);
        }
    }
    bad("S is the order", [&good[..32], &hex32(ORDER)].concat());
    bad("S is 0", [&good[..32], &[0; 32]].concat());
    bad("S is all ones", [&good[..32], &[0xff; 32]].concat());
    bad("all zero", vec![0; 64]);
    bad("R is no point", [&[0x02; 32], &good[32..]].concat());
    bad("the halves in the other order", [&good[32..], &good[..32]].concat());
    for at in [0, 31, 32, 62, 63] {
        let mut signature = good.clone();
        signature[at] ^= 1;
        bad("a bit flipped", signature);
    }
    let mut sign = good.clone();
    sign[31] ^= 0x80;
    bad("R with the other sign", sign);
    for length in [0, 1, 32, 63] {
        bad("truncated", good[..length].to_vec());
    }
    bad("a byte more", [good.as_slice(), &[0]].concat());
    bad("twice", good.repeat(2));
    bad("of the payload alone", signer.sign(&payload).to_bytes().to_vec());
    bad("of another payload type", signer.sign(&pae("application/json", &payload)).to_bytes().to_vec());
    bad("of another key", key(200).sign(&pae(PAYLOAD_TYPE, &payload)).to_bytes().to_vec());
    for (_, point) in SMALL {
        bad("R of small order", with_r(signer, &hex32(point), &pae(PAYLOAD_TYPE, &payload)));
    }
    out
}

/// What an envelope with this signature proves under a trust file with this key.
fn ours(trust: &Trust, id: &str, vector: &Vector) -> bool {
    let envelope = format!(
        r#"{{"payloadType":"{PAYLOAD_TYPE}","payload":"{}","signatures":[{{"keyid":"{id}","sig":"{}"}}]}}"#,
        STANDARD.encode(&vector.payload),
        STANDARD.encode(&vector.signature),
    );
    let examined = examine(&envelope, trust, None);
    let signed = examined.steps.iter().any(|step| step.name == "signature" && step.ok);
    assert_eq!(signed, examined.key_id.is_some());
    if !signed {
        let flag = examined.steps.last().and_then(|step| step.flag).map(|flag| flag.as_str());
        let wanted = if vector.signature.len() == 64 { "bad_signature" } else { "malformed" };
        assert_eq!(flag, Some(wanted), "{}", vector.what);
    }
    signed
}

#[test]
fn each_signature_counts_exactly_where_verify_strict_takes_it() {
    let mut met = (0, 0);
    for seed in 1..=8 {
        let signer = key(seed);
        let public = signer.verifying_key();
        let id = key_id(&public);
        let text =
            format!("version = 1\n[[keys]]\nid = \"{id}\"\npublic_key = \"{}\"\noracle = \"o\"\n", ssh_line(&public));
        let trust = Trust::parse(&text).expect("a trust file");
        for vector in vectors(&signer) {
            let raw = Signature::from_slice(&vector.signature)
                .is_ok_and(|signature| public.verify_strict(&pae(PAYLOAD_TYPE, &vector.payload), &signature).is_ok());
            assert_eq!(raw, vector.valid, "{}", vector.what);
            assert_eq!(ours(&trust, &id, &vector), raw, "{}", vector.what);
            if raw { met.0 += 1 } else { met.1 += 1 }
        }
    }
    assert!(met.0 == 8 * 5 && met.1 > 8 * 40, "{met:?}");
}

#[test]
fn a_signature_with_a_small_r_is_one_that_others_take() {
    // Else the vectors above would show nothing: it is refused for its R, not because it is noise.
    let signer = key(1);
    let message = pae(PAYLOAD_TYPE, b"{}");
    let identity = hex32(SMALL[0].1);
    let signature = Signature::from_slice(&with_r(&signer, &identity, &message)).expect("64 bytes");
    use ed25519_dalek::Verifier;
    assert!(signer.verifying_key().verify(&message, &signature).is_ok());
    assert!(signer.verifying_key().verify_strict(&message, &signature).is_err());
}

#[test]
fn no_encoding_of_a_small_key_is_trusted() {
    for (what, point) in SMALL {
        let Ok(weak) = VerifyingKey::from_bytes(&hex32(point)) else { continue };
        let text = format!(
            "version = 1\n[[keys]]\nid = \"{}\"\npublic_key = \"{}\"\noracle = \"o\"\n",
            key_id(&weak),
            ssh_line(&weak)
        );
        let error = Trust::parse(&text).map(|_| ()).expect_err(what).to_string();
        assert!(error.contains("weak") || error.contains("canonical"), "{what}: {error}");
    }
}

#[test]
fn the_vectors_of_rfc_8032_hold_for_long_and_for_hashed_messages() {
    // Section 7.1, TEST SHA(abc).
    let signer = SigningKey::from_bytes(&hex32("833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42"));
    let message = Sha512::digest(b"abc");
    let expected = "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704";
    let signature = signer.sign(&message);
    assert_eq!(hex::encode(signature.to_bytes()), expected);
    assert!(signer.verifying_key().verify_strict(&message, &signature).is_ok());
}

#[test]
fn a_private_key_is_written_and_read_back_as_pkcs8_of_version_1() {
    let signer = key(3);
    let pem = write_private_key(&signer);
    let der = STANDARD.decode(pem.lines().filter(|line| !line.starts_with('-')).collect::<String>()).expect("base64");
    // RFC 8410, section 7: version 0, the algorithm, and the seed in two octet strings.
    assert_eq!(hex::encode(&der[..16]), "302e020100300506032b657004220420");
    assert_eq!(der[16..], signer.to_bytes());
    assert_eq!(read_private_key(&pem).expect("a key").to_bytes(), signer.to_bytes());
    for text in ["", "nonsense", &pem.replace("PRIVATE", "PUBLIC"), &pem.replace("MC4", "MC5")] {
        let error = read_private_key(text).expect_err("refused").to_string();
        assert!(!error.contains(&*pem) && error.contains("PKCS#8"), "{error}");
    }
}
