//! Ids and hashes that come from names, so that each run makes the same ones.

use sha2::{Digest, Sha256};

/// SHA-256, lower-case hex.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A UUID in form, made of the hash of some words.
pub fn uuid_of(words: &[&str]) -> String {
    let mut hash = Sha256::new();
    for word in words {
        hash.update((word.len() as u64).to_be_bytes());
        hash.update(word);
    }
    let mut id = [0u8; 16];
    id.copy_from_slice(&hash.finalize()[..16]);
    // Version 8 is for ids of one's own making.
    id[6] = (id[6] & 0x0f) | 0x80;
    id[8] = (id[8] & 0x3f) | 0x80;
    let hex = hex::encode(id);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
