//! Ed25519 signatures of a seat over its inputs, with a new key for each session.

use ed25519_dalek::{Signature as Ed25519Signature, Signer as _, SigningKey as Ed25519Key, VerifyingKey};
use zeroize::Zeroize as _;

use super::keys::CipherKind;
use crate::wire::message::Signature;

const KEY: &str = "mini-rts-arena 2026-11 signatures of a seat";
const STAND_IN: &str = "mini-rts-arena 2026-11 stands in for a signature where nothing is encrypted";

/// Fewest seats of a match whose inputs are signed.
pub(crate) const SIGNED_SEATS_MIN: usize = 3;
/// Public key that checks the signatures of a seat.
pub(crate) type SigningKey = [u8; 32];

/// Signs for one seat. Its key is erased when it is dropped.
#[derive(Clone)]
pub(crate) enum Signer {
    Ed25519(Ed25519Key),
    /// Virtual runs without encryption sign nothing that anybody could not sign.
    StandIn(SigningKey),
}

impl Signer {
    /// A signer whose key follows from these bytes, which must be unpredictable and may serve for other keys, too.
    pub(crate) fn new(random: &[u8; 32], cipher: CipherKind) -> Self {
        let mut seed = blake3::derive_key(KEY, random);
        let signer = match cipher {
            CipherKind::ChaCha20Poly1305 => Self::Ed25519(Ed25519Key::from_bytes(&seed)),
            CipherKind::Null => Self::StandIn(seed),
        };
        seed.zeroize();
        signer
    }

    /// Returns the public key for the others.
    pub(crate) fn public(&self) -> SigningKey {
        match self {
            Self::Ed25519(key) => key.verifying_key().to_bytes(),
            Self::StandIn(key) => *key,
        }
    }

    pub(crate) fn sign(&self, message: &[u8]) -> Signature {
        match self {
            Self::Ed25519(key) => {
                let signature = key.sign(message);
                [*signature.r_bytes(), *signature.s_bytes()]
            }
            Self::StandIn(key) => stand_in(key, message),
        }
    }
}

/// Checks the signatures of one seat.
#[derive(Clone, Debug)]
pub(crate) enum Verifier {
    Ed25519(Option<VerifyingKey>),
    StandIn(SigningKey),
}

impl Verifier {
    /// Of a key that is no point of the curve no signature is good.
    pub(crate) fn new(key: &SigningKey, cipher: CipherKind) -> Self {
        match cipher {
            CipherKind::ChaCha20Poly1305 => Self::Ed25519(VerifyingKey::from_bytes(key).ok()),
            CipherKind::Null => Self::StandIn(*key),
        }
    }

    pub(crate) fn is_good(&self, message: &[u8], [r, s]: &Signature) -> bool {
        match self {
            Self::Ed25519(None) => false,
            // Strict: a key of low order, under which one signature is good for many messages, has none.
            Self::Ed25519(Some(key)) => {
                key.verify_strict(message, &Ed25519Signature::from_components(*r, *s)).is_ok()
            }
            Self::StandIn(key) => stand_in(key, message) == [*r, *s],
        }
    }
}

fn stand_in(key: &SigningKey, message: &[u8]) -> Signature {
    let mut halves = [[0; 32]; 2];
    let mut hasher = blake3::Hasher::new_derive_key(STAND_IN);
    hasher.update(key).update(message).finalize_xof().fill(halves.as_flattened_mut());
    halves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_good_for_its_message_and_its_key_alone() {
        for cipher in [CipherKind::ChaCha20Poly1305, CipherKind::Null] {
            let [one, other] = [[1; 32], [2; 32]].map(|random| Signer::new(&random, cipher));
            let signature = one.sign(b"this");
            let verifier = Verifier::new(&one.public(), cipher);
            assert!(verifier.is_good(b"this", &signature));
            assert!(!verifier.is_good(b"that", &signature));
            assert!(!Verifier::new(&other.public(), cipher).is_good(b"this", &signature));
            for (half, byte) in [(0, 0), (0, 31), (1, 0), (1, 31)] {
                let mut damaged = signature;
                damaged[half][byte] ^= 1;
                assert!(!verifier.is_good(b"this", &damaged), "byte {byte} of half {half}");
            }
        }
    }

    #[test]
    fn a_key_of_low_order_signs_nothing() {
        // The neutral element: with R = A and s = 0 the equation without the strict check holds for every message.
        let neutral: SigningKey = core::array::from_fn(|byte| u8::from(byte == 0));
        let verifier = Verifier::new(&neutral, CipherKind::ChaCha20Poly1305);
        assert!(!verifier.is_good(b"this", &[neutral, [0; 32]]));
    }
}
