//! CPace, a balanced password-authenticated key exchange, over ristretto255 with SHA-512: the suite
//! CPACE-RISTR255-SHA512 of draft-irtf-cfrg-cpace, between an initiator and a responder.
//!
//! Both ends derive a generator from the password, and exchange a Diffie-Hellman key over it. A recording has
//! nothing to check a guessed password against, and a participant tests one guess per share of the other end: an end
//! that answers several shares with one secret, or waits for the right one, is asked as many questions.

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::Identity as _;
use sha2::{Digest as _, Sha512};
use zeroize::{Zeroize as _, Zeroizing};

/// Bytes of a share.
pub(crate) const SHARE_BYTES: usize = 32;
/// Bytes of the key that both ends derive.
pub(crate) const KEY_BYTES: usize = 64;

const DSI: &[u8] = b"CPaceRistretto255";
const DSI_KEY: &[u8] = b"CPaceRistretto255_ISK";
/// The input block of SHA-512: the generator string pads the password to one of these.
const BLOCK_BYTES: usize = 128;

/// An encoded group element, as it is sent.
pub(crate) type Share = [u8; SHARE_BYTES];

/// Context on which both ends must agree before the exchange.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) password: &'a [u8],
    /// The channel identifier.
    pub(crate) channel: &'a [u8],
    /// The part of the session id that the generator depends on.
    pub(crate) session: &'a [u8],
}

/// One end of an exchange: a secret scalar, erased when it is dropped, and the share derived from it.
#[derive(Clone)]
pub(crate) struct Exchange {
    secret: Scalar,
    share: Share,
}

/// Message of one end: its share, and associated data that the key depends on.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    pub(crate) share: &'a Share,
    pub(crate) data: &'a [u8],
}

impl Exchange {
    /// Begins an exchange; `random` must be unpredictable.
    pub(crate) fn new(context: &Context<'_>, random: &[u8; 64]) -> Self {
        Self::of(context, Scalar::from_bytes_mod_order_wide(random))
    }

    fn of(context: &Context<'_>, secret: Scalar) -> Self {
        let mut generator = generator(context);
        let share = (generator * secret).compress().to_bytes();
        generator.zeroize();
        Self { secret, share }
    }

    /// The share to send.
    pub(crate) const fn share(&self) -> &Share {
        &self.share
    }

    /// The point that both ends have in common. `None` if the other end's share is not a group element, or is
    /// the neutral one.
    pub(crate) fn shared_point(&self, theirs: &Share) -> Option<Zeroizing<Share>> {
        let mut point = CompressedRistretto(*theirs).decompress()? * self.secret;
        let is_neutral = point == RistrettoPoint::identity();
        let encoded = Zeroizing::new(point.compress().to_bytes());
        point.zeroize();
        (!is_neutral).then_some(encoded)
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.secret.zeroize();
    }
}

/// The key of an exchange, from the shared point and everything that both ends sent.
pub(crate) fn key(
    session: &[u8],
    point: &Share,
    initiator: Sent<'_>,
    responder: Sent<'_>,
) -> Zeroizing<[u8; KEY_BYTES]> {
    let mut hash = Sha512::new();
    for part in [DSI_KEY, session, point, initiator.share, initiator.data, responder.share, responder.data] {
        add(&mut hash, part);
    }
    Zeroizing::new(hash.finalize().into())
}

/// The generator of the group that belongs to the password.
fn generator(context: &Context<'_>) -> RistrettoPoint {
    let mut hash = Sha512::new();
    add(&mut hash, DSI);
    add(&mut hash, context.password);
    let before = prefix(DSI.len()).len() + DSI.len() + prefix(context.password.len()).len();
    let padding = (BLOCK_BYTES - 1).saturating_sub(before).saturating_sub(context.password.len());
    add(&mut hash, [0; BLOCK_BYTES].get(..padding).unwrap_or_default());
    add(&mut hash, context.channel);
    add(&mut hash, context.session);
    RistrettoPoint::from_uniform_bytes(&Zeroizing::new(hash.finalize().into()))
}

/// Adds a field with its length in front.
fn add(hash: &mut Sha512, part: &[u8]) {
    hash.update(prefix(part.len()));
    hash.update(part);
}

/// A length in LEB128: 7 bits a byte, the lowest first.
fn prefix(mut length: usize) -> arrayvec::ArrayVec<u8, 10> {
    let mut bytes = arrayvec::ArrayVec::new();
    loop {
        let more = length >= 128;
        bytes.push((length & 0x7f) as u8 | u8::from(more) << 7);
        length >>= 7;
        if !more {
            return bytes;
        }
    }
}

/// The test vectors of the draft, appendix B.3.
#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        let digit = |byte: u8| char::from(byte).to_digit(16).expect("a digit") as u8;
        digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
    }

    fn share(text: &str) -> Share {
        hex(text).try_into().expect("32 bytes")
    }

    fn scalar(text: &str) -> Scalar {
        Scalar::from_canonical_bytes(share(text)).expect("below the order")
    }

    const SESSION: &str = "7e4b4791d6a8ef019b936c79fb7f2c57";
    const POINT: &str = "e22b1ef7788f661478f3cddd4c600774fc0f41e6b711569190ff88fa0e607e09";

    fn ends() -> (Exchange, Exchange) {
        let session = hex(SESSION);
        let channel = b"oc\x0bB_responder\x0bA_initiator";
        let context = Context { password: b"Password", channel, session: &session };
        let a = "da3d23700a9e5699258aef94dc060dfda5ebb61f02a5ea77fad53f4ff0976d08";
        let b = "d2316b454718c35362d83d69df6320f38578ed5984651435e2949762d900b80d";
        let generator = generator(&context).compress().to_bytes();
        let expected = "a6fc82c3b8968fbb2e06fee81ca858586dea50d248f0c7ca6a18b0902a30b36b";
        assert_eq!(generator, share(expected));
        (Exchange::of(&context, scalar(a)), Exchange::of(&context, scalar(b)))
    }

    #[test]
    fn lengths_are_prepended_as_in_the_draft() {
        assert_eq!(prefix(0)[..], [0]);
        assert_eq!(prefix(127)[..], [0x7f]);
        assert_eq!(prefix(128)[..], [0x80, 0x01]);
    }

    #[test]
    fn both_ends_derive_the_key_of_the_draft() {
        let (a, b) = ends();
        assert_eq!(*a.share(), share("d40fb265a7abeaee7939d91a585fe59f7053f982c296ec413c624c669308f87a"));
        assert_eq!(*b.share(), share("08bcf6e9777a9c313a3db6daa510f2d398403319c2341bd506a92e672eb7e307"));
        let point = a.shared_point(b.share()).expect("a group element");
        assert_eq!(*point, share(POINT));
        assert_eq!(b.shared_point(a.share()).as_deref(), Some(&*point));
        let (initiator, responder) =
            (Sent { share: a.share(), data: b"ADa" }, Sent { share: b.share(), data: b"ADb" });
        let expected = "4c5469a16b2364c4b944ebc1a79e51d1674ad47db26e8718154f59faebfaa52d\
            8346f30aa58377117eb20d527f2cbc5c76381f7fd372e89df8239f87f2e02ed1";
        assert_eq!(key(&hex(SESSION), &point, initiator, responder)[..], hex(expected));
    }

    #[test]
    fn a_share_that_is_no_group_element_or_the_neutral_one_is_refused() {
        let secret = scalar("7cd0e075fa7955ba52c02759a6c90dbbfc10e6d40aea8d283e407d88cf538a05");
        let end = Exchange { secret, share: [0; SHARE_BYTES] };
        let valid = share("2c3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c");
        let product = share("7c13645fe790a468f62c39beb7388e541d8405d1ade69d1778c5fe3e7f6b600e");
        assert_eq!(end.shared_point(&valid).as_deref(), Some(&product));
        let invalid = share("2b3c6b8c4f3800e7aef6864025b4ed79bd599117e427c41bd47d93d654b4a51c");
        assert!(end.shared_point(&invalid).is_none() && end.shared_point(&[0; 32]).is_none());
    }
}
