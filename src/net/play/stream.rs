//! The recording of a match while it grows, sent to those who ask for it behind everything else.
//!
//! A node that runs the match keeps its recording as a [`History`] and serves it from any offset over a [`Stream`] of its own
//! for each who asks; the other end has a [`Fetch`]. Between them is a second reliable channel, the bulk lane: nothing of it
//! delays a message, and it sends only when nothing else waits.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use core::time::Duration;

use crate::connection::{Channel, Connection, FRAGMENT_BYTES};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::outbox::Outbox;
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::limits::HISTORY_BYTES_MAX;
use crate::wire::message::PacketId;

/// Most bits per second to each who asks.
const BITS_PER_S: u64 = 256_000;
/// Part of it while the link is so slow that inputs share datagrams.
const SLOW_PART: u64 = 16;
/// Bits that may leave at once: two datagrams.
const BITS_AT_ONCE: u64 = 2 * 8 * FRAGMENT_BYTES as u64;
/// Pieces that are not acknowledged, at most: what the channel has in flight.
const PIECES_MAX: usize = 8;
/// Bytes before those of the history: its length so far, and in the highest bit whether it is whole.
const HEAD_BYTES: usize = 4;
const WHOLE: u32 = 1 << 31;
/// Most bytes of the history in a piece, which is one fragment.
const PIECE_BYTES: usize = FRAGMENT_BYTES - HEAD_BYTES;
/// Longest time for which a piece waits for more, so that most of a datagram is not its headers.
const FILL_WITHIN: Duration = Duration::from_secs(1);

/// The recording of a match as far as it has been written, from its first byte on.
#[derive(Debug, Default)]
pub(crate) struct History {
    bytes: Vec<u8>,
    /// Whether nothing follows.
    is_whole: bool,
    /// Whether it has become too long: then it stays as it is, and is never whole.
    is_cut: bool,
}

impl History {
    /// Appends what has been written since. Beyond [`HISTORY_BYTES_MAX`] it no longer grows.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.is_cut |= self.bytes.len().saturating_add(bytes.len()) > HISTORY_BYTES_MAX;
        if !self.is_cut {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Nothing follows.
    pub(crate) const fn end(&mut self) {
        self.is_whole = !self.is_cut;
    }
}

/// The way of a history to one who has asked for it.
#[derive(Debug)]
pub(crate) struct Stream {
    channel: Channel,
    /// Offset of the next byte to send.
    next: usize,
    /// Whether the other end has been told that the history is whole.
    has_ended: bool,
    bits: TokenBucket,
    /// Time of the last piece.
    sent_at: Time,
    /// Time of the last acknowledgement of a piece.
    pub(crate) heard_at: Time,
}

impl Stream {
    /// Serves a history from its byte `from` on; an error if it is not that long.
    pub(crate) fn new(now: Time, from: u32, history: &History) -> Result<Self, DropCause> {
        let next =
            usize::try_from(from).ok().filter(|&from| from <= history.bytes.len()).ok_or(OutOfPlace)?;
        let bits = TokenBucket::new(now, BITS_AT_ONCE, BITS_PER_S);
        let channel = Channel::new(0);
        Ok(Self { channel, next, has_ended: false, bits, sent_at: now, heard_at: now })
    }

    /// Handles an acknowledgement.
    pub(crate) fn receive(&mut self, now: Time, body: &[u8]) -> Handled {
        let before = self.channel.queued();
        self.channel.receive(body)?;
        if self.channel.queued() < before {
            self.heard_at = now;
        }
        Ok(())
    }

    /// Whether the other end has all there is.
    pub(crate) fn is_done(&self, history: &History) -> bool {
        self.next == history.bytes.len() && self.has_ended == history.is_whole && self.channel.is_idle()
    }

    /// Sends what the rate allows, and again what has been lost.
    pub(crate) fn flush(
        &mut self,
        now: Time,
        history: &History,
        connection: &mut Connection,
        out: &mut Outbox,
    ) {
        self.fill(now, history, connection.pace.may_repeat());
        flush(&mut self.channel, now, connection, out);
    }

    /// Queues the pieces that may leave.
    fn fill(&mut self, now: Time, history: &History, is_fast: bool) {
        while self.channel.queued() < PIECES_MAX {
            let rest = history.bytes.get(self.next..).unwrap_or_default();
            let piece = rest.get(..PIECE_BYTES).unwrap_or(rest);
            let is_last = history.is_whole && piece.len() == rest.len();
            let is_due = piece.len() == PIECE_BYTES || is_last || now.since(self.sent_at) >= FILL_WITHIN;
            if !is_due || (piece.is_empty() && (!is_last || self.has_ended)) {
                return;
            }
            let bits = (HEAD_BYTES.saturating_add(piece.len()) as u64).saturating_mul(8);
            if !self.bits.overdraw(now, if is_fast { bits } else { bits.saturating_mul(SLOW_PART) }) {
                return;
            }
            let whole = if is_last { WHOLE } else { 0 };
            let mut message = (history.bytes.len() as u32 | whole).to_le_bytes().to_vec();
            message.extend_from_slice(piece);
            // There is room for more messages than pieces.
            let _ = self.channel.send(&message);
            self.next = self.next.saturating_add(piece.len());
            (self.has_ended, self.sent_at) = (is_last, now);
        }
    }

    /// Returns when a piece must be sent again.
    pub(crate) fn poll_timeout(&self, connection: &Connection) -> Option<Time> {
        self.channel.poll_timeout(connection.bulk_timeout())
    }
}

/// The fetching of a history.
#[derive(Debug)]
pub(crate) struct Fetch {
    channel: Channel,
    /// Offset of the next byte.
    next: u32,
    /// Length of the history as far as it is known.
    length: u32,
    is_whole: bool,
}

impl Fetch {
    /// Nothing has arrived; what does begins at the byte `from`.
    pub(crate) const fn new(from: u32) -> Self {
        Self { channel: Channel::new(FRAGMENT_BYTES), next: from, length: from, is_whole: false }
    }

    /// Handles a packet of the bulk lane.
    pub(crate) fn receive(&mut self, body: &[u8]) -> Handled {
        Ok(self.channel.receive(body)?)
    }

    /// The next bytes, in order. An error if a piece says what no history does.
    pub(crate) fn poll(&mut self) -> Result<Option<Vec<u8>>, DropCause> {
        let Some(mut message) = self.channel.poll_message()? else { return Ok(None) };
        let (head, piece) = message.split_first_chunk().ok_or(DropCause::Malformed)?;
        let head = u32::from_le_bytes(*head);
        let (length, is_whole) = (head & !WHOLE, head & WHOLE != 0);
        let next = self.next.saturating_add(piece.len() as u32);
        let is_possible = length as usize <= HISTORY_BYTES_MAX && length >= self.length && next <= length;
        if self.is_whole || !is_possible || (is_whole && next < length) {
            return Err(OutOfPlace);
        }
        (self.next, self.length, self.is_whole) = (next, length, is_whole);
        message.drain(..HEAD_BYTES);
        Ok(Some(message))
    }

    /// The number of bytes that have arrived, and of those that there are so far.
    pub(crate) const fn progress(&self) -> (u32, u32) {
        (self.next, self.length)
    }

    /// Whether all has arrived.
    pub(crate) const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Sends the acknowledgements that are due.
    pub(crate) fn flush(&mut self, now: Time, connection: &mut Connection, out: &mut Outbox) {
        flush(&mut self.channel, now, connection, out);
    }

    /// Returns when an acknowledgement is due.
    pub(crate) fn poll_timeout(&self, connection: &Connection) -> Option<Time> {
        self.channel.poll_timeout(connection.bulk_timeout())
    }
}

fn flush(channel: &mut Channel, now: Time, connection: &mut Connection, out: &mut Outbox) {
    let timeout = connection.bulk_timeout();
    while let Some((body, is_again)) = channel.poll_packet(now, timeout) {
        connection.transmit(out, PacketId::Bulk, &body);
        out.traffic.retransmissions = out.traffic.retransmissions.saturating_add(is_again.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes packets both ways every `ms` until `end`, and loses each that `is_lost` says. Returns what has arrived.
    fn pass(
        history: &mut History,
        (stream, fetch): (&mut Stream, &mut Fetch),
        (from, end): (u64, u64),
        mut grow: impl FnMut(u64, &mut History),
        mut is_lost: impl FnMut() -> bool,
    ) -> Vec<u8> {
        let mut arrived = Vec::new();
        for ms in from..end {
            let now = Time::from_micros(1_000 * ms);
            grow(ms, history);
            stream.fill(now, history, true);
            let timeout = Duration::from_millis(30);
            while let Some((body, _)) = stream.channel.poll_packet(now, timeout) {
                if !is_lost() {
                    fetch.receive(&body).expect("a packet");
                }
            }
            while let Some(bytes) = fetch.poll().expect("a piece") {
                arrived.extend(bytes);
            }
            while let Some((body, _)) = fetch.channel.poll_packet(now, timeout) {
                if !is_lost() {
                    stream.receive(now, &body).expect("an acknowledgement");
                }
            }
        }
        arrived
    }

    fn history(bytes: usize) -> History {
        let mut history = History::default();
        history.append(&(0..bytes).map(|at| (at % 251) as u8).collect::<Vec<_>>());
        history
    }

    #[test]
    fn a_history_that_grows_arrives_whole_and_in_order_though_every_third_packet_is_lost() {
        let mut kept = history(40_000);
        let mut stream = Stream::new(Time(0), 0, &kept).expect("from its beginning");
        let (mut fetch, mut number) = (Fetch::new(0), 0);
        let grow = |ms: u64, history: &mut History| match ms {
            0..10_000 if ms.is_multiple_of(250) => history.append(&[ms as u8; 90]),
            10_000 => history.end(),
            _ => {}
        };
        let is_lost = || {
            number += 1;
            number % 3 == 0
        };
        let arrived = pass(&mut kept, (&mut stream, &mut fetch), (0, 12_000), grow, is_lost);
        assert_eq!(arrived.len(), 40_000 + 40 * 90);
        assert_eq!(arrived, kept.bytes);
        assert!(fetch.is_whole() && stream.is_done(&kept));
        assert_eq!(fetch.progress(), (43_600, 43_600));
    }

    #[test]
    fn a_fetch_resumes_at_its_offset_and_at_no_other() {
        let mut kept = history(5_000);
        kept.end();
        assert!(Stream::new(Time(0), 5_001, &kept).is_err(), "beyond what there is");
        let mut stream = Stream::new(Time(0), 3_000, &kept).expect("an offset");
        let mut fetch = Fetch::new(3_000);
        let arrived = pass(&mut kept, (&mut stream, &mut fetch), (0, 2_000), |_, _| {}, || false);
        assert_eq!(arrived, kept.bytes[3_000..]);
    }

    #[test]
    fn no_more_than_its_rate_is_sent_a_second_and_a_slow_link_gets_a_part_of_it() {
        for (is_fast, bits_per_s) in [(true, BITS_PER_S), (false, BITS_PER_S / SLOW_PART)] {
            let kept = history(400_000);
            let mut stream = Stream::new(Time(0), 0, &kept).expect("an offset");
            for ms in 0..10_000 {
                let now = Time::from_micros(1_000 * ms);
                stream.fill(now, &kept, is_fast);
                while stream.channel.poll_packet(now, Duration::from_millis(30)).is_some() {}
                // The other end has them at once.
                let has = (stream.next / PIECE_BYTES) as u16;
                stream.receive(now, &[&has.to_le_bytes()[..], &[0]].concat()).expect("an acknowledgement");
            }
            let sent = stream.next as u64 * 8 / 10;
            assert!(
                (bits_per_s * 8 / 10..=bits_per_s * 11 / 10).contains(&sent),
                "{sent} of {bits_per_s} bit/s"
            );
        }
    }

    #[test]
    fn a_history_that_grows_too_long_is_never_whole() {
        let mut kept = history(HISTORY_BYTES_MAX);
        kept.append(&[1]);
        kept.append(&[]);
        kept.end();
        assert_eq!((kept.bytes.len(), kept.is_whole), (HISTORY_BYTES_MAX, false));
    }

    #[test]
    fn pieces_that_no_history_has_are_refused() {
        let piece = |head: u32, bytes: &[u8]| [&head.to_le_bytes()[..], bytes].concat();
        let reads = |messages: &[Vec<u8>]| {
            let (mut sender, mut fetch) = (Channel::new(0), Fetch::new(0));
            messages.iter().for_each(|message| sender.send(message).expect("room"));
            while let Some((body, _)) = sender.poll_packet(Time(0), Duration::from_secs(1)) {
                fetch.receive(&body).expect("a packet");
            }
            messages
                .iter()
                .map(|_| fetch.poll().map(|piece| piece.unwrap_or_default().len()))
                .collect::<Vec<_>>()
        };
        let (ok, refused) = (Ok::<usize, DropCause>, Err(OutOfPlace));
        assert_eq!(reads(&[piece(2, &[1, 2]), piece(3 | WHOLE, &[3])]), [ok(2), ok(1)]);
        assert_eq!(reads(&[piece(1, &[1, 2])]), [refused], "more than there is");
        assert_eq!(reads(&[piece(3, &[1]), piece(2, &[1])]), [ok(1), refused], "shorter than before");
        assert_eq!(reads(&[piece(2 | WHOLE, &[1])]), [refused], "whole, and more to come");
        assert_eq!(reads(&[piece(1 | WHOLE, &[1]), piece(2, &[1])]), [ok(1), refused], "more after its end");
        assert_eq!(reads(&[piece(HISTORY_BYTES_MAX as u32 + 1, &[1])]), [refused], "too long");
        assert_eq!(reads(&[vec![1, 2]]), [Err(DropCause::Malformed)]);
    }
}
