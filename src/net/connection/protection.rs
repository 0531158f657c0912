//! Packet protection: every datagram after the handshake is encrypted and authenticated.
//!
//! Layout: `[PacketId 1][receiver's connection id 4][packet number, low 16 bits 2][body][tag 16]`, little-endian.
//! The body is sealed by ChaCha20-Poly1305 with a key for each direction; the nonce is the packet number, and
//! the envelope in front of the body is authenticated with it.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use chacha20poly1305::aead::AeadInOut as _;
use chacha20poly1305::{ChaCha20Poly1305, KeyInit as _};
use core::fmt;

use super::keys::{CipherKind, Keys};
use crate::drop_cause::DropCause;
use crate::wire::auth_string::AuthString;
use crate::wire::limits::{BODY_BYTES_MAX, DATAGRAM_BYTES_MAX, ENVELOPE_BYTES, TAG_BYTES};
use crate::wire::sealed::{SealedPacket, connection_id};

/// Size of the replay window: how far a reordered datagram may be behind the newest and still be accepted.
const WINDOW: u64 = 1024;
const WINDOW_WORDS: usize = (WINDOW / 64) as usize;

/// Room in which a datagram is opened.
pub type OpeningRoom = ArrayVec<u8, { BODY_BYTES_MAX + TAG_BYTES }>;

/// A datagram that was authentic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened<'a> {
    /// Its packet id.
    pub packet_id: u8,
    /// Its body.
    pub body: &'a [u8],
    /// Whether no datagram with a higher number has been opened.
    pub is_newest: bool,
    /// Its packet number.
    pub number: u64,
}

/// One connection's packet protection: seals and opens, and rejects replayed datagrams. It numbers its datagrams itself.
#[cfg_attr(feature = "doors", derive(Clone))]
#[derive(Debug)]
pub struct PacketProtection {
    local_id: u32,
    remote_id: u32,
    send: Cipher,
    receive: Cipher,
    sent: u64,
    /// One above the highest number received.
    next: u64,
    /// Bit n mod [`WINDOW`] is set if number n was received, for the last [`WINDOW`] numbers before `next`.
    seen: [u64; WINDOW_WORDS],
    received: u64,
    /// Datagrams with a number below this are of an earlier match.
    fence: u64,
    /// Between a guest and its host.
    words: Option<AuthString>,
}

/// Why an envelope was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is shorter than an envelope and a tag, or longer than a datagram.
    #[error("{0} bytes are not a valid datagram")]
    Length(usize),
    /// It is addressed to another connection.
    #[error("connection {0:08x} is not this one")]
    Connection(u32),
    /// It was received before, or is too old for the replay window.
    #[error("datagram {0} is a duplicate or too old")]
    Repeated(u64),
    /// It was not sealed by the other end, or was changed on the way.
    #[error("datagram {0} is not authentic")]
    Forged(u64),
}

impl From<OpenError> for DropCause {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Length(_) => Self::Malformed,
            OpenError::Connection(_) | OpenError::Forged(_) => Self::Unauthenticated,
            OpenError::Repeated(_) => Self::Repeated,
        }
    }
}

impl PacketProtection {
    /// Protects datagrams between two connection ids: `local_id` identifies this end in incoming datagrams,
    /// `remote_id` the other end in outgoing ones.
    pub(crate) fn new((local_id, remote_id): (u32, u32), keys: &Keys, kind: CipherKind) -> Self {
        let (send, receive) = (Cipher::new(kind, &keys.send), Cipher::new(kind, &keys.receive));
        let seen = [0; WINDOW_WORDS];
        Self {
            local_id,
            remote_id,
            send,
            receive,
            sent: 0,
            next: 0,
            seen,
            received: 0,
            fence: 0,
            words: None,
        }
    }

    /// The same, with the words that belong to the keys.
    pub(crate) fn with_words(self, words: AuthString) -> Self {
        Self { words: Some(words), ..self }
    }

    /// The words that belong to the keys, between a guest and its host.
    #[must_use]
    pub const fn words(&self) -> Option<AuthString> {
        self.words
    }

    /// Between ends that have these keys: for measurements and tests.
    #[must_use]
    pub fn encrypted(ids: (u32, u32), send: [u8; 32], receive: [u8; 32]) -> Self {
        Self::new(ids, &Keys { send, receive }, CipherKind::ChaCha20Poly1305)
    }

    /// Without a cipher: see [`Entropy::plaintext`](crate::Entropy::plaintext).
    #[must_use]
    pub fn plaintext(local_id: u32, remote_id: u32) -> Self {
        let keys = Keys { send: [0; 32], receive: [0; 32] };
        Self::new((local_id, remote_id), &keys, CipherKind::Null)
    }

    /// Seals a body in an envelope.
    ///
    /// # Panics
    /// If the body is longer than `BODY_BYTES_MAX`.
    #[must_use]
    pub fn seal(&mut self, packet_id: u8, body: &[u8]) -> SealedPacket {
        let number = self.sent;
        self.sent = self.sent.wrapping_add(1);
        self.sealed(number, packet_id, body)
    }

    /// Seals a body under a number of the caller's choice.
    ///
    /// # Panics
    /// If the body is longer than `BODY_BYTES_MAX`.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn seal_as(&self, number: u64, packet_id: u8, body: &[u8]) -> SealedPacket {
        self.sealed(number, packet_id, body)
    }

    fn sealed(&self, number: u64, packet_id: u8, body: &[u8]) -> SealedPacket {
        assert!(body.len() <= BODY_BYTES_MAX, "body of {} bytes", body.len());
        let envelope = envelope(packet_id, self.remote_id, number);
        let is_plaintext = matches!(self.send, Cipher::Null);
        let mut packet = SealedPacket { bytes: ArrayVec::new(), is_plaintext };
        append(&mut packet.bytes, &envelope);
        append(&mut packet.bytes, body);
        let sealed = packet.bytes.get_mut(ENVELOPE_BYTES..).unwrap_or_default();
        let tag = self.send.seal(number, &envelope, sealed);
        append(&mut packet.bytes, &tag);
        packet
    }

    /// The same keys toward another connection id: a third party speaks for others.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn readdressed(&self, remote_id: u32) -> Self {
        Self { remote_id, ..self.clone() }
    }

    /// The number and the body of a datagram that this end sealed, `near` this number.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn unseal(&self, near: u64, datagram: &[u8]) -> Option<(u64, ArrayVec<u8, BODY_BYTES_MAX>)> {
        let (envelope, rest) = datagram.split_first_chunk::<ENVELOPE_BYTES>()?;
        let number = whole(near, low_number(envelope));
        let mut body: OpeningRoom = rest.try_into().ok()?;
        let length = self.send.open(number, envelope, &mut body)?;
        body.truncate(length);
        Some((number, body.iter().copied().collect()))
    }

    /// Opens a datagram in `room`. Nothing else changes unless it is authentic.
    ///
    /// # Errors
    /// If it is for another connection, a replay, or not authentic.
    pub fn open<'a>(&mut self, datagram: &[u8], room: &'a mut OpeningRoom) -> Result<Opened<'a>, OpenError> {
        let length = OpenError::Length(datagram.len());
        let (envelope, sealed) = datagram.split_first_chunk::<ENVELOPE_BYTES>().ok_or(length)?;
        room.clear();
        room.try_extend_from_slice(sealed).map_err(|_| length)?;
        if sealed.len() < TAG_BYTES {
            return Err(length);
        }
        let to = connection_id(datagram).ok_or(length)?;
        if to != self.local_id {
            return Err(OpenError::Connection(to));
        }
        let number = whole(self.next, low_number(envelope));
        if !self.is_new(number) {
            return Err(OpenError::Repeated(number));
        }
        let length = self.receive.open(number, envelope, room).ok_or(OpenError::Forged(number))?;
        let is_newest = self.accept(number);
        Ok(Opened { packet_id: envelope[0], body: room.get(..length).unwrap_or_default(), is_newest, number })
    }

    /// The connection id in datagrams from the other end.
    #[must_use]
    pub const fn local_id(&self) -> u32 {
        self.local_id
    }

    /// The connection id in datagrams to the other end.
    #[must_use]
    pub const fn remote_id(&self) -> u32 {
        self.remote_id
    }

    /// The number of the next datagram to seal.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// One above the highest number received.
    pub(crate) const fn next_number(&self) -> u64 {
        self.next
    }

    /// Whether the datagram with this number, one of the last 1,024, was received.
    pub(crate) fn has_received(&self, number: u64) -> bool {
        number < self.next && !self.is_new(number)
    }

    /// A match has ended over this connection, and another may follow: datagrams that arrive from now on and were sent
    /// before are of the earlier match.
    pub(crate) const fn begin_anew(&mut self) {
        self.fence = self.next;
    }

    /// Whether a datagram with this number is of an earlier match.
    pub(crate) const fn is_stale(&self, number: u64) -> bool {
        number < self.fence
    }

    /// Datagrams that the other end has sent, judging by their numbers, and how many of them arrived.
    #[must_use]
    pub const fn arrivals(&self) -> (u64, u64) {
        (self.next, self.received)
    }

    /// Whether this number is within the window and was not received before.
    fn is_new(&self, number: u64) -> bool {
        if number >= self.next {
            return true;
        }
        let is_within = self.next.saturating_sub(number) <= WINDOW;
        let (word, bit) = place(number);
        is_within && self.seen.get(word).is_some_and(|seen| seen & bit == 0)
    }

    /// Marks a number as received. Returns whether it is the highest so far.
    fn accept(&mut self, number: u64) -> bool {
        let is_newest = number >= self.next;
        if is_newest {
            let passed = number.saturating_sub(self.next).saturating_add(1);
            if passed >= WINDOW {
                self.seen = [0; WINDOW_WORDS];
            } else {
                // The places of the numbers in between are used again.
                (self.next..=number).for_each(|number| self.mark(number, false));
            }
            self.next = number.saturating_add(1);
        }
        self.mark(number, true);
        self.received = self.received.saturating_add(1);
        is_newest
    }

    fn mark(&mut self, number: u64, is_seen: bool) {
        let (word, bit) = place(number);
        if let Some(seen) = self.seen.get_mut(word) {
            *seen = if is_seen { *seen | bit } else { *seen & !bit };
        }
    }
}

/// Returns the position of a number in the window.
const fn place(number: u64) -> (usize, u64) {
    ((number % WINDOW / 64) as usize, 1 << (number % 64))
}

/// Appends to a datagram that has room.
#[expect(clippy::expect_used, reason = "the length of a body is asserted")]
fn append(datagram: &mut ArrayVec<u8, DATAGRAM_BYTES_MAX>, bytes: &[u8]) {
    datagram.try_extend_from_slice(bytes).expect("it fits");
}

fn envelope(packet_id: u8, to: u32, number: u64) -> [u8; ENVELOPE_BYTES] {
    let ([i0, i1, i2, i3], [n0, n1]) = (to.to_le_bytes(), (number as u16).to_le_bytes());
    [packet_id, i0, i1, i2, i3, n0, n1]
}

const fn low_number(envelope: &[u8; ENVELOPE_BYTES]) -> u16 {
    let &[_, _, _, _, _, n0, n1] = envelope;
    u16::from_le_bytes([n0, n1])
}

/// The number nearest to `near` whose low 16 bits are `low`: right unless 32,768 datagrams in a row were lost. A match
/// sends as many in minutes, but after seconds of silence it ends or sends at most five a second: then it takes two hours.
fn whole(near: u64, low: u16) -> u64 {
    let ahead = low.wrapping_sub(near as u16).cast_signed();
    near.checked_add_signed(i64::from(ahead)).unwrap_or(u64::from(low))
}

/// Protection of one direction.
#[derive(Clone)]
enum Cipher {
    ChaCha(ChaCha20Poly1305),
    Null,
}

impl Cipher {
    fn new(kind: CipherKind, key: &[u8; 32]) -> Self {
        match kind {
            CipherKind::ChaCha20Poly1305 => Self::ChaCha(ChaCha20Poly1305::new(key.into())),
            CipherKind::Null => Self::Null,
        }
    }

    /// Encrypts the body in place; its tag.
    #[expect(clippy::expect_used, reason = "it fails for more than 256 GiB only")]
    fn seal(&self, number: u64, envelope: &[u8], body: &mut [u8]) -> [u8; TAG_BYTES] {
        match self {
            Self::ChaCha(cipher) => cipher
                .encrypt_inout_detached(&nonce(number).into(), envelope, body.into())
                .expect("a datagram is short")
                .into(),
            Self::Null => [0; TAG_BYTES],
        }
    }

    /// Decrypts a body with its tag behind it in place; the length of the body. `None` if it is not authentic.
    fn open(&self, number: u64, envelope: &[u8], sealed: &mut [u8]) -> Option<usize> {
        let (body, tag) = sealed.split_last_chunk_mut::<TAG_BYTES>()?;
        match self {
            Self::ChaCha(cipher) => {
                let tag = (&*tag).into();
                cipher
                    .decrypt_inout_detached(&nonce(number).into(), envelope, (&mut *body).into(), tag)
                    .ok()?;
            }
            Self::Null => (*tag == [0; TAG_BYTES]).then_some(())?,
        }
        Some(body.len())
    }
}

/// Hides the key.
impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if matches!(self, Self::Null) { "Null" } else { "ChaCha20Poly1305" })
    }
}

/// Each number is used once with a key.
fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    if let Some(low) = nonce.last_chunk_mut() {
        *low = number.to_le_bytes();
    }
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ends of a connection.
    fn pair() -> (PacketProtection, PacketProtection) {
        let keys = Keys { send: [1; 32], receive: [2; 32] };
        let kind = CipherKind::ChaCha20Poly1305;
        (PacketProtection::new((1, 2), &keys, kind), PacketProtection::new((2, 1), &keys.swapped(), kind))
    }

    fn opened(packet_id: u8, body: &[u8], number: u64, is_newest: bool) -> Opened<'_> {
        Opened { packet_id, body, is_newest, number }
    }

    #[test]
    fn each_datagram_opens_once_in_any_order() {
        let (mut a, mut b) = pair();
        let room = &mut OpeningRoom::new();
        let sent: ArrayVec<SealedPacket, 5> = (0..5).map(|i| a.seal(7, &[i])).collect();
        for (i, newest) in [(0, true), (3, true), (1, false), (4, true), (2, false)] {
            assert_eq!(b.open(sent[i].bytes(), room), Ok(opened(7, &[i as u8], i as u64, newest)));
            assert_eq!(b.open(sent[i].bytes(), room), Err(OpenError::Repeated(i as u64)));
        }
        assert_eq!(b.arrivals(), (5, 5));
    }

    #[test]
    fn old_and_foreign_datagrams_are_rejected() {
        let (mut a, mut b) = pair();
        let room = &mut OpeningRoom::new();
        let (first, second) = (a.seal(7, &[]), a.seal(7, &[]));
        for _ in 2..=WINDOW {
            let next = a.seal(7, &[]);
            assert!(b.open(next.bytes(), room).is_ok());
        }
        assert_eq!(b.open(first.bytes(), room), Err(OpenError::Repeated(0)));
        assert!(b.open(second.bytes(), room).is_ok(), "the oldest in the window");
        let own = b.seal(7, &[]);
        assert_eq!(b.open(own.bytes(), room), Err(OpenError::Connection(1)));
        for length in [0, 6, 22, 1201] {
            assert_eq!(b.open(&[0; 1201][..length], room), Err(OpenError::Length(length)));
        }
    }

    #[test]
    fn a_changed_datagram_is_rejected_and_changes_nothing() {
        let (mut a, mut b) = pair();
        let room = &mut OpeningRoom::new();
        let sent = a.seal(7, b"attack at dawn");
        assert!(!sent.bytes().windows(6).any(|part| part == b"attack"), "it is encrypted");
        for bit in 0..8 * sent.bytes().len() {
            let mut bytes = sent.bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(b.open(&bytes, room).is_err(), "bit {bit}");
        }
        for length in 0..sent.bytes().len() {
            assert!(b.open(&sent.bytes()[..length], room).is_err(), "{length} bytes");
        }
        assert!(b.open(&[sent.bytes(), &[0]].concat(), room).is_err());
        assert_eq!(b.arrivals(), (0, 0), "the numbers of forged datagrams count for nothing");
        assert_eq!(b.open(sent.bytes(), room), Ok(opened(7, b"attack at dawn", 0, true)));
    }

    #[test]
    fn a_datagram_that_is_reflected_or_of_another_connection_is_rejected() {
        let keys = Keys { send: [1; 32], receive: [2; 32] };
        let room = &mut OpeningRoom::new();
        // The same connection id at both ends, so that the keys alone tell the directions apart.
        let mut a = PacketProtection::new((5, 5), &keys, CipherKind::ChaCha20Poly1305);
        let sent = a.seal(7, &[1]);
        assert_eq!(a.open(sent.bytes(), room), Err(OpenError::Forged(0)));
        let other = Keys { send: [3; 32], receive: [1; 32] };
        let mut other = PacketProtection::new((5, 5), &other, CipherKind::ChaCha20Poly1305);
        assert!(other.open(sent.bytes(), room).is_ok(), "it has the key");
        let own = other.seal(7, &[1]);
        assert_eq!(other.open(own.bytes(), room), Err(OpenError::Repeated(0)));
    }

    #[test]
    fn the_number_continues_beyond_its_low_16_bits() {
        let (mut a, mut b) = pair();
        let room = &mut OpeningRoom::new();
        (a.sent, b.next) = (u64::from(u16::MAX), u64::from(u16::MAX));
        for _ in 0..3 {
            let sealed = a.seal(7, &[]);
            assert!(b.open(sealed.bytes(), room).is_ok());
        }
        assert_eq!(b.next, u64::from(u16::MAX) + 3);
        a.sent += 32_767;
        let after_an_outage = a.seal(7, &[]);
        assert!(b.open(after_an_outage.bytes(), room).is_ok(), "32,767 were lost");
    }

    #[test]
    fn without_a_cipher_a_datagram_is_as_long_and_marked() {
        let (mut a, _) = pair();
        let mut plain = PacketProtection::plaintext(1, 2);
        let (sealed, clear) = (a.seal(7, b"hello"), plain.seal(7, b"hello"));
        assert_eq!(sealed.bytes().len(), clear.bytes().len());
        assert_eq!((sealed.is_plaintext(), clear.is_plaintext()), (false, true));
        assert_eq!(sealed.bytes().len(), b"hello".len() + 23);
    }
}
