//! Arithmetic modulo the order of Ed25519's base point, for signatures that no signer makes (RFC 8032, 5.1).

use ed25519_dalek::{SigningKey, VerifyingKey};
use sha2::{Digest, Sha512};

/// 256 bits, least significant word first.
type Number = [u64; 4];

/// 2^252 + 27742317777372353535851937790883648493.
const ORDER: Number = [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 0x1000_0000_0000_0000];

fn read(bytes: &[u8; 32]) -> Number {
    let mut out = [0; 4];
    for (word, part) in out.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(part.try_into().expect("eight bytes"));
    }
    out
}

fn written(n: Number) -> [u8; 32] {
    let mut out = [0; 32];
    for (word, part) in n.iter().zip(out.chunks_exact_mut(8)) {
        part.copy_from_slice(&word.to_le_bytes());
    }
    out
}

/// Without a carry out: both are below 2^255.
fn sum(a: Number, b: Number) -> Number {
    let (mut out, mut carry) = ([0; 4], 0u128);
    for i in 0..4 {
        carry += u128::from(a[i]) + u128::from(b[i]);
        #[expect(clippy::cast_possible_truncation, reason = "the low word is what is meant")]
        let low = carry as u64;
        out[i] = low;
        carry >>= 64;
    }
    out
}

fn sum_mod(a: Number, b: Number) -> Number {
    let all = sum(a, b);
    if all.iter().rev().lt(ORDER.iter().rev()) {
        return all;
    }
    let (mut out, mut borrow) = ([0; 4], false);
    for i in 0..4 {
        let (low, first) = all[i].overflowing_sub(ORDER[i]);
        let (low, second) = low.overflowing_sub(u64::from(borrow));
        out[i] = low;
        borrow = first || second;
    }
    out
}

/// The bits of a little-endian number, most significant first.
fn bits(bytes: &[u8]) -> impl Iterator<Item = bool> {
    bytes.iter().rev().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1))
}

/// `factor` times a little-endian number of any length.
fn times(factor: Number, bytes: &[u8]) -> Number {
    bits(bytes).fold([0; 4], |so_far, bit| {
        let twice = sum_mod(so_far, so_far);
        if bit { sum_mod(twice, factor) } else { twice }
    })
}

/// The same signature with its S larger by the order: it satisfies the equation, and is another text.
pub(super) fn with_larger_s(mut signature: [u8; 64]) -> [u8; 64] {
    let s: [u8; 32] = signature[32..].try_into().expect("half of 64 bytes");
    signature[32..].copy_from_slice(&written(sum(read(&s), ORDER)));
    signature
}

/// A signature whose R is the identity, a point of small order. It satisfies the equation of a lenient verifier.
pub(super) fn with_small_order_r(key: &SigningKey, message: &[u8]) -> [u8; 64] {
    let mut secret: [u8; 32] = Sha512::digest(key.to_bytes())[..32].try_into().expect("half of 64 bytes");
    secret[0] &= 0xf8;
    secret[31] = secret[31] & 0x7f | 0x40;
    let mut out = [0; 64];
    out[0] = 1;
    let public: VerifyingKey = key.verifying_key();
    let hash = Sha512::new().chain_update(&out[..32]).chain_update(public.as_bytes()).chain_update(message).finalize();
    let challenge = times([1, 0, 0, 0], &hash);
    out[32..].copy_from_slice(&written(times(challenge, &secret)));
    out
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::{Signature, Signer, Verifier};

    use super::*;

    #[test]
    fn a_small_order_r_fools_a_lenient_verifier_only() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let signature = Signature::from_bytes(&with_small_order_r(&key, b"x"));
        assert!(key.verifying_key().verify(b"x", &signature).is_ok());
        assert!(key.verifying_key().verify_strict(b"x", &signature).is_err());
    }

    #[test]
    fn a_larger_s_is_the_same_scalar() {
        let key = SigningKey::from_bytes(&[7; 32]);
        let honest = key.sign(b"x").to_bytes();
        let larger = with_larger_s(honest);
        assert_ne!(larger, honest);
        assert_eq!(times([1, 0, 0, 0], &larger[32..]), times([1, 0, 0, 0], &honest[32..]));
    }
}
