//! The keys between two guests: by X25519 from a secret that each guest keeps to itself and a public key that the
//! host passes on, so that no third guest can speak for either of them.

use curve25519_dalek::montgomery::MontgomeryPoint;
use zeroize::Zeroize as _;

use super::keys::Keys;
use sim::PlayerId;

const LOW_TO_HIGH: &str = "mini-rts-arena 2026-11 datagrams to the guest in the higher seat";
const HIGH_TO_LOW: &str = "mini-rts-arena 2026-11 datagrams to the guest in the lower seat";

/// A guest's public key.
pub(crate) type PublicKey = [u8; 32];

/// A guest's secret for one match, erased when it is dropped.
#[derive(Clone)]
pub(crate) struct PairSecret([u8; 32]);

impl PairSecret {
    /// The secret made of these bytes, which must be unpredictable.
    pub(crate) const fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Returns the public key for the other guests.
    pub(crate) fn public(&self) -> PublicKey {
        MontgomeryPoint::mul_base_clamped(self.0).to_bytes()
    }

    /// This guest's keys to `other`, whose public key is `theirs`. `seating` is what the host has told both: each
    /// seating gives other keys. A public key that no guest can have drawn gives keys that only this guest has.
    pub(crate) fn keys(&self, (me, other): (PlayerId, PlayerId), theirs: PublicKey, seating: &[u8]) -> Keys {
        let mut shared = MontgomeryPoint(theirs).mul_clamped(self.0).to_bytes();
        if shared == [0; 32] {
            shared = self.0;
        }
        let derive = |context| {
            let mut hasher = blake3::Hasher::new_derive_key(context);
            hasher.update(&shared).update(&[me.0.min(other.0), me.0.max(other.0)]).update(seating);
            *hasher.finalize().as_bytes()
        };
        let (up, down) = (derive(LOW_TO_HIGH), derive(HIGH_TO_LOW));
        let (send, receive) = if me < other { (up, down) } else { (down, up) };
        shared.zeroize();
        Keys { send, receive }
    }
}

impl Drop for PairSecret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_guests_have_the_same_keys_in_opposite_directions_and_a_third_has_others() {
        let [a, b, c] = [[1; 32], [2; 32], [3; 32]].map(PairSecret::new);
        let (low, high) = (PlayerId(1), PlayerId(2));
        let here = a.keys((low, high), b.public(), b"seating");
        let there = b.keys((high, low), a.public(), b"seating");
        assert_eq!((here.send, here.receive), (there.receive, there.send));
        assert_ne!(here.send, here.receive);
        let again = a.keys((low, high), b.public(), b"the next seating");
        assert!(here.send != again.send && here.receive != again.receive, "no key for two seatings");
        let third = c.keys((low, high), b.public(), b"seating");
        assert!(![here.send, here.receive].contains(&third.send));
        let (one, other) =
            (a.keys((low, high), [0; 32], b"seating"), b.keys((low, high), [0; 32], b"seating"));
        assert_ne!(one.send, other.send, "of a public key of low order everybody could know the keys");
    }
}
