//! Pending output of a session: datagrams and events, with the traffic counts of its links.

use alloc::collections::VecDeque;
use core::net::{IpAddr, SocketAddr};

use crate::event::{Event, Traffic};
use crate::wire::sealed::SealedPacket;

/// Address of another process, with the local address at which its datagrams arrive. An answer leaves from there: on a
/// computer with several addresses the system may choose another, which the other end has never asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The other end's address.
    pub address: SocketAddr,
    /// The local address, where it is known.
    pub local: Option<IpAddr>,
}

impl Source {
    /// The other end's IP address.
    #[must_use]
    pub const fn ip(&self) -> IpAddr {
        self.address.ip()
    }
}

impl From<SocketAddr> for Source {
    fn from(address: SocketAddr) -> Self {
        Self { address, local: None }
    }
}

/// A datagram to send.
#[derive(Clone, Debug)]
pub struct Transmit {
    /// The destination.
    pub to: SocketAddr,
    /// The local address to send from; `None` leaves it to the system.
    pub local: Option<IpAddr>,
    /// The datagram.
    pub datagram: SealedPacket,
}

/// Most datagrams and most events in the queue.
const OUT_MAX: usize = 512;

/// Datagrams and events in order, in bounded memory.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    pub(super) traffic: Traffic,
    transmits: VecDeque<Transmit>,
    events: VecDeque<Event>,
}

impl Outbox {
    /// Empty queues; `traffic` continues the counts so far.
    pub(super) fn new(traffic: Traffic) -> Self {
        let (transmits, events) = (VecDeque::with_capacity(OUT_MAX), VecDeque::with_capacity(OUT_MAX));
        Self { traffic, transmits, events }
    }

    /// Counts a received datagram.
    pub(super) const fn count_received(&mut self, bytes: usize) {
        self.traffic.packets_received += 1;
        self.traffic.bytes_received += bytes as u64;
    }

    /// Queues a datagram to be sent. If the queue is full it is dropped, like a lost datagram.
    pub(super) fn transmit(&mut self, to: impl Into<Source>, datagram: SealedPacket) {
        let Source { address: to, local } = to.into();
        if self.transmits.is_empty() {
            // Begins at the front again, where the memory is warm: the whole queue has 600 kB.
            self.transmits.clear();
        }
        if self.transmits.len() < OUT_MAX {
            self.traffic.packets_sent += 1;
            self.traffic.bytes_sent += datagram.bytes().len() as u64;
            self.transmits.push_back(Transmit { to, local, datagram });
        }
    }

    /// Queues an event. The caller drains after every call, so only a caller that does not can reach the
    /// limit.
    pub(super) fn event(&mut self, event: Event) {
        if self.events.len() < OUT_MAX {
            self.events.push_back(event);
        }
    }

    /// Whether the datagram queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.transmits.is_empty()
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
