//! One reliable, ordered stream of messages beside the unreliable datagrams of a connection.
//!
//! A message is cut into fragments, numbered with 16 bits. At most [`WINDOW`] of them are in flight; each is sent
//! again when a retransmission timeout has passed since it was last sent. Every packet begins with the one
//! acknowledgement: the first fragment that has not arrived, and which of those after it have. Fragments that
//! are due together share a packet.
//!
//! The state is bounded in both directions, whatever the other end sends or fails to acknowledge.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::time::Duration;

use crate::drop_cause::DropCause;
use crate::time::Time;
use crate::wire::limits::DESYNC_STATE_BYTES_MAX;
use crate::wire::message::Body;

/// Most bytes of a message in one fragment; all fragments but the last are exactly this long.
pub const FRAGMENT_BYTES: usize = 1000;
/// Most fragments in flight, and most that wait for an earlier one.
const WINDOW: usize = 8;
/// Most messages that are sent and not acknowledged.
pub const QUEUED_MESSAGES_MAX: usize = 64;
/// Most bytes of those messages: a whole state and everything queued beside it.
pub const QUEUED_BYTES_MAX: usize = DESYNC_STATE_BYTES_MAX + (64 << 10);
/// In-flight fragments up to which retransmission is faster.
const FEW: usize = 2;
/// Transmissions of a fragment before the retransmission interval begins to double.
const STEADY_SENDINGS: u32 = 6;
/// Longest retransmission interval, unless the retransmission timeout is longer.
const RESEND_MAX: Duration = Duration::from_secs(1);

/// Bytes before the fragments: the first fragment that has not arrived, a bit for each of the seven after it, and
/// the number of the first fragment in this packet.
const ACK_BYTES: usize = 3;
const NUMBER_BYTES: usize = 2;
/// Bytes before each fragment: its length, and in the highest bit whether it ends its message.
const LENGTH_BYTES: usize = 2;
const LAST: u16 = 1 << 15;

const _: () =
    assert!(ACK_BYTES + NUMBER_BYTES + LENGTH_BYTES + FRAGMENT_BYTES <= crate::wire::limits::BODY_BYTES_MAX);

/// Both directions of the stream.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Fragments not acknowledged or not sent yet; the first has the number `first`.
    outgoing: VecDeque<Fragment>,
    first: u16,
    queued_bytes: usize,
    queued_messages: usize,
    /// The number of messages sent so far.
    messages: u64,
    /// The first fragment that has not arrived.
    next: u16,
    /// Fragments that have arrived out of order: slot `i` holds number `next + i`.
    arrived: [Option<Arrived>; WINDOW],
    /// The message being reassembled.
    partial: Vec<u8>,
    /// Whether that message is too long, so that its remaining fragments are discarded.
    is_skipping: bool,
    message_bytes_max: usize,
    owes_ack: bool,
}

#[derive(Clone, Debug)]
struct Fragment {
    bytes: Box<[u8]>,
    is_last: bool,
    is_acked: bool,
    sent_at: Option<Time>,
    sendings: u32,
}

#[derive(Clone, Debug)]
struct Arrived {
    bytes: Box<[u8]>,
    is_last: bool,
}

/// The send queue is full because the other end does not acknowledge. The message is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{messages} messages of {bytes} bytes wait to be acknowledged")]
pub struct ChannelFull {
    messages: usize,
    bytes: usize,
}

/// Why a received packet was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// It is not the canonical form of a packet.
    #[error("a malformed packet of {0} bytes")]
    Malformed(usize),
    /// It acknowledges fragments that were never sent.
    #[error("fragment {0} was never sent")]
    NeverSent(u16),
    /// It carries a fragment beyond the window.
    #[error("fragment {0} is beyond the window")]
    BeyondWindow(u16),
    /// Its message exceeds the current limit.
    #[error("a message of more than {0} bytes")]
    TooLong(usize),
}

impl From<ChannelError> for DropCause {
    fn from(error: ChannelError) -> Self {
        match error {
            ChannelError::Malformed(_) | ChannelError::TooLong(_) => Self::Malformed,
            ChannelError::NeverSent(_) => Self::OutOfPlace,
            ChannelError::BeyondWindow(_) => Self::TooFarAhead,
        }
    }
}

impl Channel {
    /// An empty stream that takes messages of at most `message_bytes_max` bytes.
    #[must_use]
    pub const fn new(message_bytes_max: usize) -> Self {
        Self {
            outgoing: VecDeque::new(),
            first: 0,
            queued_bytes: 0,
            queued_messages: 0,
            messages: 0,
            next: 0,
            arrived: [const { None }; WINDOW],
            partial: Vec::new(),
            is_skipping: false,
            message_bytes_max,
            owes_ack: false,
        }
    }

    /// Sets the longest message accepted from now on, in bytes.
    pub const fn set_message_bytes_max(&mut self, bytes: usize) {
        self.message_bytes_max = bytes;
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the send queue is full.
    ///
    /// # Panics
    /// If the message is empty.
    pub fn send(&mut self, message: &[u8]) -> Result<(), ChannelFull> {
        assert!(!message.is_empty(), "a message starts with its id");
        let bytes = self.queued_bytes + message.len();
        if self.queued_messages >= QUEUED_MESSAGES_MAX || bytes > QUEUED_BYTES_MAX {
            return Err(ChannelFull { messages: self.queued_messages, bytes: self.queued_bytes });
        }
        let fragments = message.chunks(FRAGMENT_BYTES).map(|bytes| Fragment {
            bytes: bytes.into(),
            is_last: false,
            is_acked: false,
            sent_at: None,
            sendings: 0,
        });
        self.outgoing.extend(fragments);
        if let Some(last) = self.outgoing.back_mut() {
            last.is_last = true;
        }
        (self.queued_messages, self.queued_bytes) = (self.queued_messages + 1, bytes);
        self.messages += 1;
        Ok(())
    }

    /// The number of messages not acknowledged yet.
    #[must_use]
    pub const fn queued(&self) -> usize {
        self.queued_messages
    }

    /// The number of the last message sent, counted from 0.
    pub(super) const fn last_sent(&self) -> Option<u64> {
        self.messages.checked_sub(1)
    }

    /// Whether the message with this number has been acknowledged, and all before it.
    pub(super) const fn is_acknowledged(&self, message: u64) -> bool {
        message < self.messages - self.queued_messages as u64
    }

    /// Whether one more short message can be sent.
    pub(super) const fn has_room(&self) -> bool {
        self.queued_messages < QUEUED_MESSAGES_MAX
    }

    /// Whether everything sent has been acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.outgoing.is_empty()
    }

    /// The body of the next packet to send, if one is due: fragments, an acknowledgement, or both; and
    /// whether its first fragment is a retransmission. `timeout` is the retransmission timeout of the
    /// connection.
    pub fn poll_packet(&mut self, now: Time, timeout: Duration) -> Option<(Body, bool)> {
        let timeout = self.hurried(timeout);
        let is_due = |fragment: &Fragment| fragment.due_at(timeout).is_none_or(|at| now >= at);
        let mut window = self.outgoing.iter_mut().zip(0_u16..).take(WINDOW);
        let first_due = window.find(|(fragment, _)| !fragment.is_acked && is_due(fragment));
        if first_due.is_none() && !self.owes_ack {
            return None;
        }
        self.owes_ack = false;
        let mut body = Body::new();
        body.extend(self.next.to_le_bytes());
        let bits = self.arrived.iter().skip(1).zip(0..);
        body.push(bits.fold(0, |mask, (arrived, bit)| mask | u8::from(arrived.is_some()) << bit));
        let Some((fragment, index)) = first_due else { return Some((body, false)) };
        let is_again = fragment.sent_at.is_some();
        body.extend(self.first.wrapping_add(index).to_le_bytes());
        fragment.write(now, &mut body);
        let fits = |fragment: &Fragment, body: &Body| {
            LENGTH_BYTES + fragment.bytes.len() <= body.remaining_capacity()
        };
        for (fragment, _) in window {
            if fragment.is_acked || !is_due(fragment) || !fits(fragment, &body) {
                break;
            }
            fragment.write(now, &mut body);
        }
        Some((body, is_again))
    }

    /// Returns when [`Self::poll_packet`] has something to send, unless a packet arrives before.
    #[must_use]
    pub fn poll_timeout(&self, timeout: Duration) -> Option<Time> {
        let timeout = self.hurried(timeout);
        let waiting = self.outgoing.iter().take(WINDOW).filter(|fragment| !fragment.is_acked);
        let due = waiting.map(|fragment| fragment.due_at(timeout).unwrap_or_default());
        due.chain(self.owes_ack.then_some(Time(0))).min()
    }

    /// Handles a received packet. Then call [`Self::poll_message`] until it returns `None`.
    ///
    /// # Errors
    /// If no peer would send such a packet; the fragments before the fault are kept.
    pub fn receive(&mut self, body: &[u8]) -> Result<(), ChannelError> {
        let malformed = ChannelError::Malformed(body.len());
        let (ack, mut rest) = body.split_first_chunk::<ACK_BYTES>().ok_or(malformed)?;
        let [low, high, mask] = *ack;
        if mask >> (WINDOW - 1) != 0 {
            return Err(malformed);
        }
        self.acknowledge(u16::from_le_bytes([low, high]), mask)?;
        let Some((number, fragments)) = rest.split_first_chunk::<NUMBER_BYTES>() else {
            return if rest.is_empty() { Ok(()) } else { Err(malformed) };
        };
        if fragments.is_empty() {
            return Err(malformed);
        }
        let mut number = u16::from_le_bytes(*number);
        rest = fragments;
        while let Some((length, after)) = rest.split_first_chunk::<LENGTH_BYTES>() {
            let length = u16::from_le_bytes(*length);
            let (is_last, length) = (length & LAST != 0, usize::from(length & !LAST));
            let is_possible =
                if is_last { (1..=FRAGMENT_BYTES).contains(&length) } else { length == FRAGMENT_BYTES };
            let (bytes, after) = after.split_at_checked(length).filter(|_| is_possible).ok_or(malformed)?;
            self.take(number, bytes, is_last)?;
            number = number.wrapping_add(1);
            rest = after;
        }
        if rest.is_empty() { Ok(()) } else { Err(malformed) }
    }

    /// The next complete message.
    ///
    /// # Errors
    /// If it is longer than the current limit. It is discarded, and later messages still arrive.
    pub fn poll_message(&mut self) -> Result<Option<Vec<u8>>, ChannelError> {
        loop {
            let [first, ..] = &mut self.arrived;
            let Some(Arrived { bytes, is_last }) = first.take() else { return Ok(None) };
            self.arrived.rotate_left(1);
            self.next = self.next.wrapping_add(1);
            self.is_skipping |= self.partial.len().saturating_add(bytes.len()) > self.message_bytes_max;
            if self.is_skipping {
                self.partial = Vec::new();
            } else {
                self.partial.extend_from_slice(&bytes);
            }
            if is_last && core::mem::take(&mut self.is_skipping) {
                return Err(ChannelError::TooLong(self.message_bytes_max));
            }
            if is_last {
                return Ok(Some(core::mem::take(&mut self.partial)));
            }
        }
    }

    /// The retransmission interval: half the timeout while few fragments are in flight. A redundant
    /// retransmission costs little, and a fragment lost twice would cost seconds on a bad link.
    fn hurried(&self, timeout: Duration) -> Duration {
        if self.outgoing.len() <= FEW { timeout / 2 } else { timeout }
    }

    /// The other end has all fragments before `next`, and those after it whose bits are set in `mask`.
    fn acknowledge(&mut self, next: u16, mask: u8) -> Result<(), ChannelError> {
        let count = usize::from(next.wrapping_sub(self.first));
        let in_flight =
            self.outgoing.iter().take(WINDOW).filter(|fragment| fragment.sent_at.is_some()).count();
        if count > in_flight {
            // It is either an old acknowledgement or one for fragments that were never sent.
            let is_late = next.wrapping_sub(self.first).cast_signed() < 0;
            return if is_late { Ok(()) } else { Err(ChannelError::NeverSent(next)) };
        }
        for fragment in self.outgoing.drain(..count) {
            self.queued_bytes -= fragment.bytes.len();
            self.queued_messages -= usize::from(fragment.is_last);
        }
        self.first = next;
        for (fragment, bit) in self.outgoing.iter_mut().skip(1).zip(0..WINDOW - 1) {
            fragment.is_acked |= mask & 1 << bit != 0 && fragment.sent_at.is_some();
        }
        Ok(())
    }

    /// Keeps a fragment until all before it have arrived.
    fn take(&mut self, number: u16, bytes: &[u8], is_last: bool) -> Result<(), ChannelError> {
        // Duplicates are acknowledged too: the previous acknowledgement may have been lost.
        self.owes_ack = true;
        let ahead = number.wrapping_sub(self.next);
        if ahead.cast_signed() < 0 {
            return Ok(());
        }
        let place = self.arrived.get_mut(usize::from(ahead)).ok_or(ChannelError::BeyondWindow(number))?;
        place.get_or_insert_with(|| Arrived { bytes: bytes.into(), is_last });
        Ok(())
    }
}

impl Fragment {
    /// Returns when to send it; `None` for immediately.
    fn due_at(&self, timeout: Duration) -> Option<Time> {
        let doublings = self.sendings.saturating_sub(STEADY_SENDINGS).min(10);
        let again = (timeout * (1 << doublings)).min(RESEND_MAX.max(timeout));
        Some(self.sent_at?.plus(again))
    }

    fn write(&mut self, now: Time, body: &mut Body) {
        let last = if self.is_last { LAST } else { 0 };
        body.extend((self.bytes.len() as u16 | last).to_le_bytes());
        body.extend(self.bytes.iter().copied());
        self.sent_at = Some(now);
        self.sendings = self.sendings.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
