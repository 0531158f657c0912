//! The reliable messages of a connection. Those that describe a state, such as the lobby, replace each other: however
//! often a state changes, one message of its kind is in flight and one waits.
//!
//! The newest message of such a kind goes out once the one before it is acknowledged, and at half the rate at which
//! the receiver accepts the kind ([`super::quota`]). Messages of one kind can therefore not arrive in a bunch, and an
//! honest sender stays below the limit on any path, whatever makes its state change.

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::channel::Channel;
use super::quota;
use crate::drop_cause::Handled;
use crate::mutation::Mutation;
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::message::{Body, Delivery, PacketId};

/// The kinds whose newest message replaces its older message that still waits.
const STATES: [PacketId; 3] = [PacketId::Seating, PacketId::Lobby, PacketId::Choice];

/// The reliable channel, and the states that wait to enter it.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    channel: Channel,
    /// In the order in which they leave, each with its kind.
    waiting: ArrayVec<(PacketId, Box<[u8]>), { STATES.len() }>,
    sent: [Sent; STATES.len()],
    /// Whether a message could not be queued because the other end does not acknowledge.
    is_broken: bool,
}

/// Last message sent of one kind.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// The number of its last message in the channel.
    last: Option<u64>,
    tokens: TokenBucket,
}

impl Messages {
    /// No messages yet; takes those of at most `message_bytes_max` bytes.
    pub(super) fn new(now: Time, message_bytes_max: usize) -> Self {
        Self {
            channel: Channel::new(message_bytes_max),
            waiting: ArrayVec::new(),
            sent: STATES.map(|id| Sent { last: None, tokens: quota::of_sender(now, id) }),
            is_broken: false,
        }
    }

    /// Queues a message. If it describes a state, it takes the place of the one of its kind that waits.
    pub(super) fn send(&mut self, id: PacketId, bytes: &[u8]) {
        if !STATES.contains(&id) || Mutation::QueuedStates.is_planted() {
            if id == PacketId::Bye {
                // No state of who leaves matters any more.
                self.waiting.clear();
            }
            return self.send_at_once(id, bytes);
        }
        // Both describe the room, and the later one holds.
        let is_room = |id| matches!(id, PacketId::Seating | PacketId::Lobby);
        self.waiting.retain(|(other, _)| *other != id && !(is_room(id) && is_room(*other)));
        // There is a place for each kind.
        let _ = self.waiting.try_push((id, with_id(id, bytes).into()));
    }

    /// Queues a message in the channel, whatever waits.
    pub(super) fn send_at_once(&mut self, id: PacketId, bytes: &[u8]) {
        self.is_broken |= self.channel.send(&with_id(id, bytes)).is_err();
    }

    /// The number of messages not acknowledged yet.
    pub(super) const fn queued(&self) -> usize {
        self.channel.queued() + self.waiting.len()
    }

    /// Whether everything has been acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.channel.is_idle() && self.waiting.is_empty()
    }

    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    pub(super) const fn set_message_bytes_max(&mut self, bytes: usize) {
        self.channel.set_message_bytes_max(bytes);
    }

    pub(super) fn receive(&mut self, body: &[u8]) -> Handled {
        Ok(self.channel.receive(body)?)
    }

    /// The next complete message.
    pub(super) fn poll_message(&mut self) -> Option<(PacketId, Vec<u8>)> {
        loop {
            let Ok(message) = self.channel.poll_message() else { continue };
            let mut message = message?;
            let id = message.first().copied().and_then(PacketId::of);
            if let Some(id) = id.filter(|id| id.delivery() == Delivery::Reliable) {
                message.remove(0);
                return Some((id, message));
            }
        }
    }

    /// The body of the next packet to send, as [`Channel::poll_packet`].
    pub(super) fn poll_packet(&mut self, now: Time, timeout: Duration) -> Option<(Body, bool)> {
        self.release(now);
        self.channel.poll_packet(now, timeout)
    }

    /// Moves the states that may leave now into the channel.
    fn release(&mut self, now: Time) {
        while let Some((id, message)) = self.waiting.first()
            && let Some((sent, _)) = self.sent.iter_mut().zip(STATES).find(|(_, of)| of == id)
            && sent.last.is_none_or(|last| self.channel.is_acknowledged(last))
            && self.channel.has_room()
            && sent.tokens.take(now, 1)
        {
            self.is_broken |= self.channel.send(message).is_err();
            sent.last = self.channel.last_sent();
            self.waiting.remove(0);
        }
    }

    /// Returns when [`Self::poll_packet`] has something to send, unless a packet arrives before.
    pub(super) fn poll_timeout(&self, timeout: Duration) -> Option<Time> {
        let state = self.waiting.first().and_then(|(id, _)| {
            let (sent, _) = self.sent.iter().zip(STATES).find(|(_, of)| of == id)?;
            let is_free = sent.last.is_none_or(|last| self.channel.is_acknowledged(last));
            (is_free && self.channel.has_room()).then(|| sent.tokens.next_at())
        });
        self.channel.poll_timeout(timeout).into_iter().chain(state).min()
    }
}

fn with_id(id: PacketId, bytes: &[u8]) -> Vec<u8> {
    core::iter::once(id as u8).chain(bytes.iter().copied()).collect()
}

#[cfg(test)]
mod tests;
