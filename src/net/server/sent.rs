//! An update on its way to a client, part by part.

use alloc::vec::Vec;

use crate::time::Time;
use crate::wire::limits::{ENVELOPE_BYTES, TAG_BYTES};
use crate::wire::message::Body;
use crate::wire::update::{PART_HEADER_BYTES, PIECE_BYTES_MAX, UpdatePart};
use sim::Tick;

/// Parts of the largest update that may be overtaken: each part that is lost costs all of it, so that of more than these
/// the lost ones are sent again, and the next update waits.
pub(super) const OVERTAKEN_PARTS_MAX: usize = 8;
/// IP and UDP headers, which count toward a link's bandwidth.
const HEADERS_BYTES: usize = 28;
/// Longest time for which a large update waits for its acknowledgement before a newer one begins, beyond two round trips.
const ACKNOWLEDGED_WITHIN_US: i64 = 250_000;

/// An update as it is sent: what is sent again has the same bytes, so that parts of both fit together.
#[derive(Debug, Default)]
pub(super) struct SentUpdate {
    pub(super) tick: Tick,
    /// Number of updates of this tick that began before.
    sending: u8,
    pub(super) bytes: Vec<u8>,
    /// The last send time of each part.
    pub(super) sent_at: Vec<Option<Time>>,
}

impl SentUpdate {
    /// Begins to send the bytes that are in place.
    pub(super) fn begin(&mut self, tick: Tick) {
        self.sending = if tick == self.tick { self.sending.wrapping_add(1) } else { 0 };
        self.tick = tick;
        self.sent_at.clear();
        self.sent_at.resize(self.parts(), None);
    }

    pub(super) fn parts(&self) -> usize {
        self.bytes.len().div_ceil(PIECE_BYTES_MAX)
    }

    pub(super) fn is_of(&self, tick: u16) -> bool {
        UpdatePart::new(0, 1, 0, self.tick).tick == tick
    }

    /// The part that is sent next, if one is left.
    pub(super) fn next_part(&self) -> Option<usize> {
        self.sent_at.iter().position(Option::is_none)
    }

    /// Gives the update up if none of its parts has been sent, so that a newer state takes its place.
    pub(super) fn give_up_unbegun(&mut self) {
        if self.next_part() == Some(0) {
            self.sent_at.clear();
        }
    }

    /// Whether a newer update may begin: all parts have been sent, and a client that may ask for lost parts of a large one
    /// has had the time for it.
    pub(super) fn is_through(&self, now: Time, updated: Option<Tick>, way_us: i64) -> bool {
        let Some(last) = self.sent_at.last() else { return true };
        let Some(last) = last else { return false };
        self.parts() <= OVERTAKEN_PARTS_MAX
            || updated >= Some(self.tick)
            || now.minus(*last) > 4 * way_us + ACKNOWLEDGED_WITHIN_US
    }

    /// Returns the size of a part on a link, in bits.
    pub(super) fn bits_of(&self, part: usize) -> u64 {
        let piece = self.bytes.chunks(PIECE_BYTES_MAX).nth(part).map_or(0, <[u8]>::len);
        bits_of(PART_HEADER_BYTES + piece)
    }

    /// The body of a part.
    pub(super) fn part(&self, part: usize) -> Option<Body> {
        let piece = self.bytes.chunks(PIECE_BYTES_MAX).nth(part)?;
        let header = UpdatePart::new(part as u8, self.parts() as u16, self.sending, self.tick);
        Some(header.encode().into_iter().chain(piece.iter().copied()).collect())
    }
}

/// Returns the size of a datagram with a body of `bytes` on a link, in bits.
pub(super) const fn bits_of(bytes: usize) -> u64 {
    8 * (HEADERS_BYTES + ENVELOPE_BYTES + bytes + TAG_BYTES) as u64
}
