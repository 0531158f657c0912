//! What this process and one other know of each other, whatever is played: addresses, packet protection, round-trip
//! time, loss, clocks, keep-alive, and one reliable channel beside the unreliable datagrams. Knows nothing of ticks.

mod channel;
mod closing;
pub(super) mod handshake;
mod loss;
pub(super) mod protection;
pub(super) mod remote_clock;
mod rtt;

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;
use serde::Serialize;

pub(super) use self::closing::{CLOSE_WITHIN, Closing};

pub use self::channel::{
    Channel, ChannelError, ChannelFull, FRAGMENT_BYTES, QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX,
};
use self::loss::Loss;
use self::protection::PacketProtection;
use self::rtt::Rtt;
use crate::net::connection::remote_clock::RemoteClock;
use crate::net::drop_cause::Handled;
use crate::net::event::Traffic;
use crate::net::outbox::Outbox;
use crate::net::time::Time;
use crate::net::wire::message::{ADDRESSES_MAX, Delivery, PacketId, Ping, Pong, encode};

/// Between pings while a match is being set up.
pub(super) const PING_SETUP: Duration = Duration::from_millis(50);
/// Between pings while it runs.
pub(super) const PING_RUNNING: Duration = Duration::from_millis(500);
/// Longest time between pings to a peer that was never heard; it doubles up to that.
const PING_UNHEARD_MAX: Duration = Duration::from_secs(1);
/// A connection that loses more than this gets a second datagram per tick, per mille; so does one of which nothing
/// is known yet.
pub(super) const LOSSY_PER_MILLE: u16 = 10;
/// Most bytes of a message, unless the session expects a longer one.
pub(super) const MESSAGE_BYTES_MAX: usize = 2048;
/// Shortest time after which a message that is not acknowledged is sent again.
const MESSAGE_AGAIN_MIN: Duration = Duration::from_millis(20);

/// One end of a connection, known by its connection id.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// Where datagrams go; several until the other end is heard from one of them.
    pub(super) addresses: ArrayVec<SocketAddr, ADDRESSES_MAX>,
    /// Whether the other end may move to another address (one that this end was told stays).
    follows: bool,
    pub(super) protection: PacketProtection,
    pub(super) rtt: Rtt,
    loss: Loss,
    /// Share of our datagrams that the other end lost of late, per mille.
    pub(super) lost_there: u16,
    /// The other end's clock beside ours.
    pub(super) clock: RemoteClock,
    /// When it was last heard; when the connection was made, before that.
    pub(super) heard_at: Time,
    /// Whether it was ever heard.
    pub(super) is_heard: bool,
    /// Whether its silence has been reported.
    pub(super) is_silent: bool,
    /// When to ping it next.
    pub(super) ping_at: Time,
    /// Pings that left before it was heard for the first time.
    unanswered: u8,
    /// What went over it.
    pub(super) traffic: Traffic,
    channel: Channel,
    /// Whether a message was not sent, because the other end acknowledges nothing.
    is_broken: bool,
}

impl Connection {
    pub(super) fn new(
        now: Time,
        addresses: &[SocketAddr],
        follows: bool,
        protection: PacketProtection,
    ) -> Self {
        Self {
            addresses: addresses.iter().copied().take(ADDRESSES_MAX).collect(),
            follows,
            protection,
            rtt: Rtt::default(),
            loss: Loss::default(),
            lost_there: LOSSY_PER_MILLE + 1,
            clock: RemoteClock::default(),
            heard_at: now,
            is_heard: false,
            is_silent: false,
            ping_at: now,
            unanswered: 0,
            traffic: Traffic::default(),
            channel: Channel::new(MESSAGE_BYTES_MAX),
            is_broken: false,
        }
    }

    /// Share of the other end's datagrams that were lost of late, per mille; `None` before that is known.
    pub(super) const fn lost_here(&self) -> Option<u16> {
        self.loss.per_mille()
    }

    /// The other end was heard from `from`; `newest` if no later datagram has been.
    pub(super) fn hear(&mut self, now: Time, from: SocketAddr, newest: bool) {
        self.heard_at = now;
        let (sent, arrived) = self.protection.arrivals();
        self.loss.observe(sent, arrived);
        let is_first = !core::mem::replace(&mut self.is_heard, true);
        if is_first {
            // Somebody is there, who answers.
            self.ping_at = now;
        }
        if self.follows && (newest || is_first) {
            self.addresses.clear();
            self.addresses.push(from);
        }
    }

    /// Sends a datagram that may be lost.
    pub(super) fn transmit(&mut self, out: &mut Outbox, id: PacketId, body: &[u8]) {
        for &to in &self.addresses {
            let datagram = self.protection.seal(id as u8, body);
            self.traffic.packets_sent = self.traffic.packets_sent.saturating_add(1);
            self.traffic.bytes_sent = self.traffic.bytes_sent.saturating_add(datagram.bytes().len() as u64);
            out.transmit(to, datagram);
        }
    }

    /// Pings the other end if it is time to: each time `every` has passed, less often while it was never heard, since
    /// a stranger at an address that was only guessed has not asked for it.
    pub(super) fn ping(&mut self, now: Time, every: Duration, out: &mut Outbox) {
        if now < self.ping_at {
            return;
        }
        self.unanswered = if self.is_heard { 0 } else { self.unanswered.saturating_add(1) };
        let doubled = PING_SETUP * (1 << self.unanswered.saturating_sub(1).min(5));
        self.ping_at = now.plus(every.max(doubled.min(PING_UNHEARD_MAX)));
        self.rtt.ping(now);
        self.transmit(out, PacketId::Ping, &encode(&Ping { time_us: now.0 }));
    }

    /// Learns from the answer to a ping, and returns the round-trip time. `None` if there was no such ping.
    pub(super) fn on_pong(&mut self, now: Time, pong: &Pong) -> Option<Duration> {
        let sample = self.rtt.answer(now, Time(pong.echo_us))?;
        self.clock.observe(Time(pong.echo_us), Time(pong.time_us), now);
        self.lost_there = pong.lost_per_mille.min(1000);
        Some(sample)
    }

    /// Sends a message that arrives, after all that were sent before it.
    pub(super) fn send<T: Serialize>(&mut self, id: PacketId, message: &T) {
        self.send_bytes(id, &encode(message));
    }

    /// The same for the bytes of a message.
    pub(super) fn send_bytes(&mut self, id: PacketId, bytes: &[u8]) {
        let message: Vec<u8> = core::iter::once(id as u8).chain(bytes.iter().copied()).collect();
        self.is_broken |= self.channel.send(&message).is_err();
    }

    /// How many messages have not arrived yet, as far as is known.
    pub(super) const fn queued(&self) -> usize {
        self.channel.queued()
    }

    /// Whether every message sent has arrived.
    pub(super) fn is_idle(&self) -> bool {
        self.channel.is_idle()
    }

    /// Whether a message was not sent, because the other end acknowledges nothing: it must be given up.
    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// From now on messages of at most this many bytes are taken.
    pub(super) const fn set_message_bytes_max(&mut self, bytes: usize) {
        self.channel.set_message_bytes_max(bytes);
    }

    /// Takes the body of a datagram of the channel in. [`Self::poll_message`] has what it completes. An error if
    /// it is not what the other end may send.
    pub(super) fn receive(&mut self, body: &[u8]) -> Handled {
        Ok(self.channel.receive(body)?)
    }

    /// The next message that has arrived.
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

    /// Sends what of the channel is due.
    pub(super) fn flush(&mut self, now: Time, out: &mut Outbox) {
        let timeout = self.rtt.message_timeout(MESSAGE_AGAIN_MIN);
        while let Some((body, is_again)) = self.channel.poll_packet(now, timeout) {
            self.transmit(out, PacketId::Acknowledge, &body);
            out.traffic.retransmissions += u64::from(is_again);
        }
    }

    /// When a message is to be sent again. What leaves for the first time leaves with [`Self::flush`].
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.channel.poll_timeout(self.rtt.message_timeout(MESSAGE_AGAIN_MIN))
    }
}
