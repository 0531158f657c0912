//! Packet protection: the envelope of every datagram after the handshake.
//!
//! Layout: `[PacketId 1][receiver's connection id 4][counter, low 32 bits 4][body]`, little-endian. Today the
//! body is copied; encryption will append a tag of [`TAG_BYTES`] and change nothing else, so the room for it
//! is reserved already.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;

use crate::net::time::Time;

/// Most bytes of a UDP payload: below the MTU of every common path.
pub const DATAGRAM_BYTES_MAX: usize = 1200;
/// Bytes before the body.
pub(in crate::net) const ENVELOPE_BYTES: usize = 9;
/// Bytes reserved for the authentication tag.
pub(in crate::net) const TAG_BYTES: usize = 16;
/// Most bytes of a body.
pub(in crate::net) const BODY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - ENVELOPE_BYTES - TAG_BYTES;

/// Size of the replay window: how far a reordered datagram may be behind the newest and still be accepted.
const WINDOW: u64 = 64;
/// How far a counter may be ahead of the newest one regardless of the time passed.
const AHEAD_MAX: u64 = 256;
/// How many datagrams per second of silence it may be further ahead: more than any peer sends.
const AHEAD_PER_S: u64 = 2_000;

/// A datagram that is ready to be sent: the transport accepts nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedPacket(ArrayVec<u8, DATAGRAM_BYTES_MAX>);

impl SealedPacket {
    /// A datagram of the handshake or of discovery, which have no connection yet.
    ///
    /// # Panics
    /// If it is longer than [`DATAGRAM_BYTES_MAX`].
    #[must_use]
    pub fn unconnected(bytes: &[u8]) -> Self {
        Self(bytes.iter().copied().collect())
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// One connection's packet protection: numbers outgoing envelopes and rejects replayed ones.
#[derive(Clone, Debug)]
pub struct PacketProtection {
    local_id: u32,
    remote_id: u32,
    sent: u64,
    /// One above the highest counter received.
    next: u64,
    /// Bit i is set if counter `next - 1 - i` was received.
    seen: u64,
    received: u64,
    /// When the newest one was received.
    newest_at: Time,
}

/// Why an envelope was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// It is shorter than an envelope or longer than a datagram.
    #[error("{0} bytes are not a valid datagram")]
    Length(usize),
    /// It is addressed to another connection.
    #[error("connection {0:08x} is not this one")]
    Connection(u32),
    /// It was received before, or is too old for the replay window.
    #[error("datagram {0} is a duplicate or too old")]
    Repeated(u64),
    /// Its counter is ahead of what can have been sent since the newest datagram.
    #[error("datagram {0} is ahead of what can have been sent")]
    Ahead(u64),
}

impl PacketProtection {
    /// Protects datagrams between two connection ids: `local_id` identifies this end in incoming datagrams,
    /// `remote_id` the other end in outgoing ones.
    #[must_use]
    pub const fn new(local_id: u32, remote_id: u32) -> Self {
        Self { local_id, remote_id, sent: 0, next: 0, seen: 0, received: 0, newest_at: Time(0) }
    }

    /// Seals a body in an envelope.
    ///
    /// # Panics
    /// If the body is longer than `BODY_BYTES_MAX`.
    #[must_use]
    pub fn seal(&mut self, packet_id: u8, body: &[u8]) -> SealedPacket {
        assert!(body.len() <= BODY_BYTES_MAX, "body of {} bytes", body.len());
        let mut bytes = ArrayVec::new();
        bytes.push(packet_id);
        bytes.extend(self.remote_id.to_le_bytes());
        bytes.extend((self.sent as u32).to_le_bytes());
        bytes.extend(body.iter().copied());
        self.sent = self.sent.wrapping_add(1);
        SealedPacket(bytes)
    }

    /// Opens an envelope: the packet id, the body, and whether its counter is the highest so far.
    ///
    /// # Errors
    /// If it is for another connection, a replay, or too far ahead.
    pub fn open<'a>(&mut self, now: Time, datagram: &'a [u8]) -> Result<(u8, &'a [u8], bool), OpenError> {
        let enveloped = datagram.split_first_chunk::<ENVELOPE_BYTES>();
        let Some((&[packet_id, i0, i1, i2, i3, c0, c1, c2, c3], body)) =
            enveloped.filter(|_| datagram.len() <= DATAGRAM_BYTES_MAX)
        else {
            return Err(OpenError::Length(datagram.len()));
        };
        let to = u32::from_le_bytes([i0, i1, i2, i3]);
        if to != self.local_id {
            return Err(OpenError::Connection(to));
        }
        let counter = self.whole(u32::from_le_bytes([c0, c1, c2, c3]));
        let newest = counter >= self.next;
        if newest {
            let ahead = counter.saturating_sub(self.next).saturating_add(1);
            let elapsed_ms = now.since(self.newest_at).as_millis() as u64;
            if ahead > AHEAD_MAX.saturating_add(elapsed_ms.saturating_mul(AHEAD_PER_S) / 1000) {
                return Err(OpenError::Ahead(counter));
            }
            self.newest_at = now;
            self.seen = if ahead >= WINDOW { 0 } else { self.seen << ahead };
            self.next = counter.saturating_add(1);
        }
        let behind = self.next.saturating_sub(counter).saturating_sub(1);
        if behind >= WINDOW || self.seen & (1 << behind) != 0 {
            return Err(OpenError::Repeated(counter));
        }
        self.seen |= 1 << behind;
        self.received = self.received.saturating_add(1);
        Ok((packet_id, body, newest))
    }

    /// The connection id in datagrams from the other end.
    #[must_use]
    pub const fn local_id(&self) -> u32 {
        self.local_id
    }

    /// Datagrams that the other end has sent, judging by its counter, and how many of them arrived.
    #[must_use]
    pub const fn arrivals(&self) -> (u64, u64) {
        (self.next, self.received)
    }

    /// The full counter nearest to the newest whose low 32 bits are `low`.
    fn whole(&self, low: u32) -> u64 {
        let ahead = low.wrapping_sub(self.next as u32).cast_signed();
        self.next.checked_add_signed(i64::from(ahead)).unwrap_or(u64::from(low))
    }
}

/// The connection id that a datagram is addressed to; `None` if it is too short to have one.
#[must_use]
pub(in crate::net) fn connection_id(datagram: &[u8]) -> Option<u32> {
    let bytes = datagram.get(1..5)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(0);

    fn pair() -> (PacketProtection, PacketProtection) {
        (PacketProtection::new(1, 2), PacketProtection::new(2, 1))
    }

    #[test]
    fn each_datagram_opens_once_in_any_order() {
        let (mut a, mut b) = pair();
        let sent: ArrayVec<SealedPacket, 5> = (0..5).map(|i| a.seal(7, &[i])).collect();
        for (i, newest) in [(0, true), (3, true), (1, false), (4, true), (2, false)] {
            assert_eq!(b.open(NOW, sent[i].bytes()), Ok((7, &[i as u8][..], newest)));
            assert_eq!(b.open(NOW, sent[i].bytes()), Err(OpenError::Repeated(i as u64)));
        }
        assert_eq!(b.arrivals(), (5, 5));
    }

    #[test]
    fn old_and_foreign_datagrams_are_rejected() {
        let (mut a, mut b) = pair();
        let first = a.seal(7, &[]);
        for _ in 0..WINDOW {
            let next = a.seal(7, &[]);
            assert!(b.open(NOW, next.bytes()).is_ok());
        }
        assert_eq!(b.open(NOW, first.bytes()), Err(OpenError::Repeated(0)));
        let own = b.seal(7, &[]);
        assert_eq!(b.open(NOW, own.bytes()), Err(OpenError::Connection(1)));
        assert_eq!(b.open(NOW, &[0; 8]), Err(OpenError::Length(8)));
        assert_eq!(b.open(NOW, &[0; 1201]), Err(OpenError::Length(1201)));
    }

    #[test]
    fn an_implausibly_high_counter_is_rejected_and_changes_nothing() {
        let (mut a, mut b) = pair();
        assert!(b.open(NOW, a.seal(7, &[]).bytes()).is_ok());
        let far = |a: &mut PacketProtection, ahead: u64| {
            let mut far = a.clone();
            far.sent += ahead;
            far.seal(7, &[])
        };
        let forged = far(&mut a, 1 << 31);
        assert_eq!(b.open(NOW, forged.bytes()), Err(OpenError::Ahead(1 + (1 << 31))));
        assert_eq!(b.open(NOW, far(&mut a, AHEAD_MAX).bytes()), Err(OpenError::Ahead(1 + AHEAD_MAX)));
        assert!(b.open(NOW, a.seal(7, &[]).bytes()).is_ok(), "the link still works");
        // After an outage the counter may be ahead by everything sent in the meantime.
        let later = Time(10_000_000);
        assert!(b.open(later, far(&mut a, 10 * AHEAD_PER_S).bytes()).is_ok());
    }

    #[test]
    fn the_counter_continues_beyond_its_low_32_bits() {
        let (mut a, mut b) = pair();
        (a.sent, b.next) = (u64::from(u32::MAX), u64::from(u32::MAX));
        for _ in 0..3 {
            let sealed = a.seal(7, &[]);
            assert!(b.open(NOW, sealed.bytes()).is_ok());
        }
        assert_eq!(b.next, u64::from(u32::MAX) + 3);
    }
}
