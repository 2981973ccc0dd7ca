//! The DSSE v1 envelope (<https://github.com/secure-systems-lab/dsse>): what is signed, and how it is wrapped.

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signer, SigningKey};
use lake_trace::json::{self, Notes, Value};
use sha2::{Digest, Sha256};

use crate::key_id;

/// The only payload type: in-toto.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
/// Longest payload that is read, bytes.
pub const MAX_PAYLOAD: usize = 16 * 1024;
/// Longest envelope text that is read, bytes: a full payload in base64, and room for fields that are passed by.
const MAX_ENVELOPE: usize = 64 * 1024;

/// Why a text is not an envelope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// Over 64 KiB of text, or over 16 KiB of payload.
    #[error("{0} is longer than {1} bytes")]
    TooLong(&'static str, usize),
    /// Not one JSON object, or one that has a key twice or text that cannot be kept.
    #[error("not one JSON object, each key once")]
    NotObject,
    /// A field is missing or of another kind.
    #[error("`{0}` is not {1}")]
    Field(&'static str, &'static str),
}

/// An envelope's parts. Nothing in it is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What the payload is said to be.
    pub payload_type: String,
    /// The payload's bytes.
    pub payload: Vec<u8>,
    /// Which key is said to have signed: a hint.
    pub keyid: Option<String>,
    /// The one signature.
    pub signature: [u8; 64],
}

impl Envelope {
    /// Reads an envelope. Unknown fields are passed by, as DSSE asks.
    ///
    /// # Errors
    /// Any other shape, base64 that is not standard, padded and canonical, more or fewer than one signature, over size.
    pub fn parse(text: &str) -> Result<Envelope, EnvelopeError> {
        if text.len() > MAX_ENVELOPE {
            return Err(EnvelopeError::TooLong("the envelope", MAX_ENVELOPE));
        }
        let mut notes = Notes::default();
        let value = json::parse(text, &mut notes).map_err(|_| EnvelopeError::NotObject)?;
        if notes.duplicate_key || notes.repaired {
            return Err(EnvelopeError::NotObject);
        }
        Envelope::of(&value)
    }

    /// As [`Envelope::parse`], of a value that was read without a doubled key or a repair.
    pub(crate) fn of(value: &Value<'_>) -> Result<Envelope, EnvelopeError> {
        if value.as_obj().is_none() {
            return Err(EnvelopeError::NotObject);
        }
        let payload_type =
            value.get("payloadType").and_then(Value::as_str).ok_or(EnvelopeError::Field("payloadType", "a string"))?;
        let payload = base64_of(value, "payload")?;
        if payload.len() > MAX_PAYLOAD {
            return Err(EnvelopeError::TooLong("the payload", MAX_PAYLOAD));
        }
        let one = match value.get("signatures") {
            Some(Value::Arr(items)) if items.len() == 1 && items[0].as_obj().is_some() => &items[0],
            _ => return Err(EnvelopeError::Field("signatures", "an array of exactly one object")),
        };
        let keyid = match one.get("keyid") {
            None | Some(Value::Null) => None,
            Some(Value::Str(s)) => Some(s.decode().into_owned()),
            Some(_) => return Err(EnvelopeError::Field("keyid", "a string")),
        };
        let signature =
            base64_of(one, "sig")?.try_into().map_err(|_| EnvelopeError::Field("sig", "a signature of 64 bytes"))?;
        Ok(Envelope { payload_type: payload_type.to_owned(), payload, keyid, signature })
    }
}

fn base64_of(object: &Value<'_>, name: &'static str) -> Result<Vec<u8>, EnvelopeError> {
    let text = object.get(name).and_then(Value::as_str).ok_or(EnvelopeError::Field(name, "a string"))?;
    // This engine refuses missing padding, white space and bits that stand for nothing.
    STANDARD.decode(text).map_err(|_| EnvelopeError::Field(name, "standard, padded, canonical base64"))
}

/// DSSE's pre-authentication encoding: the bytes that are signed.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

/// Signs a payload: the envelope as JSON on one line, without a newline.
pub fn sign(key: &SigningKey, payload: &[u8]) -> String {
    let signature = key.sign(&pae(PAYLOAD_TYPE, payload));
    format!(
        r#"{{"payloadType":"{PAYLOAD_TYPE}","payload":"{}","signatures":[{{"keyid":"{}","sig":"{}"}}]}}"#,
        STANDARD.encode(payload),
        key_id(&key.verifying_key()),
        STANDARD.encode(signature.to_bytes()),
    )
}

/// `sha256:` and hex of a payload: what the next statement's `prev` names.
pub fn payload_digest(payload: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(payload)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_that_of_the_dsse_specification() {
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
    }

    #[test]
    fn what_is_signed_is_read_back() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let envelope = Envelope::parse(&sign(&key, b"{}")).expect("an envelope");
        assert_eq!(envelope.payload, b"{}");
        assert_eq!(envelope.keyid, Some(key_id(&key.verifying_key())));
        let signature = ed25519_dalek::Signature::from_bytes(&envelope.signature);
        assert!(key.verifying_key().verify_strict(&pae(PAYLOAD_TYPE, b"{}"), &signature).is_ok());
    }

    #[test]
    fn any_other_shape_is_refused() {
        let sig = STANDARD.encode([0; 64]);
        let with = |payload: &str, signatures: &str| {
            format!(r#"{{"payloadType":"t","payload":{payload},"signatures":{signatures}}}"#)
        };
        let one = format!(r#"[{{"sig":"{sig}"}}]"#);
        assert!(Envelope::parse(&with(r#""e30=""#, &one)).is_ok());
        for bad in [
            "7".to_owned(),
            "\"x\"".to_owned(),
            "[]".to_owned(),
            "{}".to_owned(),
            with("7", &one),
            with(r#""e30""#, &one),
            with(r#""e31=""#, &one),
            with(r#""e30= ""#, &one),
            with(r#""e30=","payload":"e30=""#, &one),
            with(r#""_-A=""#, &one),
            with(r#""e30=""#, "[]"),
            with(r#""e30=""#, "[7]"),
            with(r#""e30=""#, &format!(r#"[{{"sig":"{sig}"}},{{"sig":"{sig}"}}]"#)),
            with(r#""e30=""#, r#"[{"sig":"AAAA"}]"#),
            with(r#""e30=""#, &format!(r#"[{{"keyid":7,"sig":"{sig}"}}]"#)),
            with(&format!("\"{}\"", STANDARD.encode(vec![b' '; MAX_PAYLOAD + 1])), &one),
            format!("{}{}", with(r#""e30=""#, &one), " ".repeat(MAX_ENVELOPE)),
        ] {
            assert!(Envelope::parse(&bad).is_err(), "{bad:.80}");
        }
        assert!(Envelope::parse(&with(&format!("\"{}\"", STANDARD.encode(vec![b' '; MAX_PAYLOAD])), &one)).is_ok());
    }
}
