//! Keys: their id, the two forms of a public one that a trust file takes, and PKCS#8 for a private one.

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey, KeypairBytes};
use ed25519_dalek::{SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

/// DER of a SubjectPublicKeyInfo up to the 32 bytes of an Ed25519 key (RFC 8410).
const SPKI: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// What stands before the key in an `ssh-ed25519` blob: two lengths and the name (RFC 8709).
const SSH: [u8; 19] = *b"\0\0\0\x0bssh-ed25519\0\0\0\x20";

/// A key's id: `sha256:` and hex of the SHA-256 of its DER SubjectPublicKeyInfo.
pub fn key_id(public: &VerifyingKey) -> String {
    let mut hash = Sha256::new();
    hash.update(SPKI);
    hash.update(public.as_bytes());
    format!("sha256:{}", hex::encode(hash.finalize()))
}

/// Why a text is not a key. None of these holds any part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Neither form of a public key.
    #[error("is not the PEM of an Ed25519 SubjectPublicKeyInfo, nor an `ssh-ed25519` line")]
    NoPublicKey,
    /// It begins as an SSH key does.
    #[error("is not an `ssh-ed25519` line")]
    NoSshKey,
    /// Another encoding of the same point would give one key two ids.
    #[error("is not in canonical form")]
    NotCanonical,
    /// A point of small order.
    #[error("is weak (of small order): anyone can sign for it")]
    Weak,
    /// Not PKCS#8, encrypted, of another algorithm, or its public half is another key's.
    #[error("is not the unencrypted PKCS#8 PEM of an Ed25519 private key")]
    NoPrivateKey,
}

/// Reads SPKI PEM, or an `ssh-ed25519 …` line.
///
/// # Errors
/// Any other form, a key that is not in canonical form, and one of small order.
pub fn read_public_key(text: &str) -> Result<VerifyingKey, KeyError> {
    let text = text.trim();
    let key = if text.starts_with("ssh-") {
        ssh(text).ok_or(KeyError::NoSshKey)?
    } else {
        VerifyingKey::from_public_key_pem(text).map_err(|_| KeyError::NoPublicKey)?
    };
    if key.to_edwards().compress().to_bytes() != key.to_bytes() {
        return Err(KeyError::NotCanonical);
    }
    if key.is_weak() {
        return Err(KeyError::Weak);
    }
    Ok(key)
}

/// SPKI PEM (RFC 8410), as a trust file and openssl take it.
pub fn write_public_key(key: &VerifyingKey) -> String {
    // 44 bytes of DER always have a PEM form.
    key.to_public_key_pem(LineEnding::LF).unwrap_or_default()
}

/// Reads PKCS#8 PEM (RFC 5958, RFC 8410), with or without the public half.
///
/// # Errors
/// [`KeyError::NoPrivateKey`].
pub fn read_private_key(text: &str) -> Result<SigningKey, KeyError> {
    SigningKey::from_pkcs8_pem(text.trim()).map_err(|_| KeyError::NoPrivateKey)
}

/// PKCS#8 PEM of version 1: openssl before 3.1 reads no key with its public half beside it. Wiped when dropped.
pub fn write_private_key(key: &SigningKey) -> impl std::ops::Deref<Target = String> + use<> {
    let alone = KeypairBytes { secret_key: key.to_bytes(), public_key: None };
    // 48 bytes of DER always have a PEM form.
    alone.to_pkcs8_pem(LineEnding::LF).unwrap_or_default()
}

fn ssh(line: &str) -> Option<VerifyingKey> {
    let blob = STANDARD.decode(line.strip_prefix("ssh-ed25519 ")?.split_whitespace().next()?).ok()?;
    let bytes: [u8; 32] = blob.strip_prefix(&SSH)?.try_into().ok()?;
    VerifyingKey::from_bytes(&bytes).ok()
}

/// Whether a signature is one that no signer makes: S beyond the group's order, or R of small order or no point.
pub(crate) fn is_improper(signature: &[u8; 64]) -> bool {
    /// The order of the group, 2^252 + …, little end first (RFC 8032, 5.1).
    const ORDER: [u8; 32] = [
        0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ];
    let (mut r, mut s) = ([0; 32], [0; 32]);
    r.copy_from_slice(&signature[..32]);
    s.copy_from_slice(&signature[32..]);
    if s.iter().rev().ge(ORDER.iter().rev()) {
        return true;
    }
    VerifyingKey::from_bytes(&r).map_or(true, |point| point.is_weak())
}
