//! A name for a secret that does not tell it.

use sha2::{Digest, Sha256};

/// SHA-256's block, in bytes.
const BLOCK: usize = 64;
/// Bytes of the fingerprint; enough that two secrets of a lake never share one.
const LENGTH: usize = 16;

/// HMAC-SHA-256 (RFC 2104) of a secret, the first 16 bytes in hex. Without the key nobody can test a guess.
pub fn fingerprint(key: &[u8], secret: &str) -> String {
    let mut block = [0u8; BLOCK];
    if key.len() > BLOCK {
        let short = Sha256::digest(key);
        block[..short.len()].copy_from_slice(&short);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let inner = Sha256::new().chain_update(block.map(|b| b ^ 0x36)).chain_update(secret).finalize();
    let outer = Sha256::new().chain_update(block.map(|b| b ^ 0x5c)).chain_update(inner).finalize();
    hex::encode(&outer[..LENGTH])
}

#[cfg(test)]
mod tests {
    use super::fingerprint;

    #[test]
    fn is_hmac_sha_256_as_rfc_4231_has_it() {
        assert_eq!(fingerprint(b"Jefe", "what do ya want for nothing?"), "5bdcc146bf60754e6a042426089575c7");
        assert_eq!(
            fingerprint(&[0xaa; 131], "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f"
        );
    }
}
