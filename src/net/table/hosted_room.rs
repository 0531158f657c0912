//! The room of a host or a server: who asks for a seat, who may take one, and what the others are told.

use arrayvec::ArrayVec;
use core::net::IpAddr;
use rand_chacha::ChaCha12Rng;

use super::admission::{may_sit, seats_per_address};
use super::lobby::LobbyNews;
use crate::net::connection::Closing;
use crate::net::connection::handshake::{Entrant, Listener};
use crate::net::connection::protection::SealedPacket;
use crate::net::discovery::{self, Beacon};
use crate::net::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::net::outbox::{Outbox, Source};
use crate::net::time::Time;
use crate::net::wire::message::{JoinEntry, OWN_ADDRESSES_MAX, Refusal};
use crate::sim::PlayerId;

/// A room that is open, or may open again.
#[derive(Debug)]
pub(in crate::net) struct HostedRoom {
    pub(in crate::net) listener: Listener,
    /// Connections of guests that lost their seat before tick 0.
    pub(in crate::net) closing: Closing,
    /// What the guests have been told of the lobby.
    pub(in crate::net) news: LobbyNews,
    pub(in crate::net) beacon: Option<Beacon>,
    /// How often all seats have been taken; wraps.
    pub(in crate::net) round: u32,
    /// When to stop waiting for guests.
    pub(in crate::net) give_up_at: Option<Time>,
    /// This computer's own addresses other than loopback.
    own_addresses: ArrayVec<IpAddr, OWN_ADDRESSES_MAX>,
    /// Whether guests at one address are taken for different people.
    shared_address: bool,
}

impl HostedRoom {
    pub(in crate::net) fn new(
        listener: Listener,
        beacon: Option<Beacon>,
        give_up_at: Option<Time>,
        shared_address: bool,
    ) -> Self {
        let (closing, news) = (Closing::default(), LobbyNews::default());
        let own_addresses = ArrayVec::new();
        Self { listener, closing, news, beacon, round: 0, give_up_at, own_addresses, shared_address }
    }

    /// Sets this computer's own addresses other than loopback, of which the first few are used: players at these may
    /// take all seats.
    pub(in crate::net) fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.own_addresses = addresses.into_iter().take(OWN_ADDRESSES_MAX).collect();
    }

    /// Connection ids that datagrams of guests without a seat are sent to.
    pub(in crate::net) fn connection_ids(&self) -> impl Iterator<Item = u32> {
        self.listener.connection_ids().chain(self.closing.connection_ids())
    }

    /// Answers a query for the room, given with its packet id.
    pub(in crate::net) fn on_query(&self, from: Source, bytes: &[u8], out: &mut Outbox) -> Handled {
        let beacon = self.beacon.as_ref().ok_or(OutOfPlace)?;
        let reply = discovery::answer(bytes, beacon).ok_or(DropCause::Malformed)?;
        out.transmit(from, SealedPacket::unconnected(&reply));
        Ok(())
    }

    /// Answers a join request, given without its packet id.
    pub(in crate::net) fn on_join_request(
        &mut self,
        now: Time,
        (from, body): (Source, &[u8]),
        rng: &mut ChaCha12Rng,
        out: &mut Outbox,
    ) -> Handled {
        let answer = self.listener.answer(now, from, body, rng)?;
        out.transmit(from, answer);
        Ok(())
    }

    /// A datagram of no seat. Its sender is a guest that asks for one, or has lost one: then only its
    /// acknowledgements count.
    pub(in crate::net) fn on_unseated(
        &mut self,
        now: Time,
        (from, bytes): (Source, &[u8]),
        out: &mut Outbox,
    ) -> Result<Option<Entrant>, DropCause> {
        match self.listener.open(now, from, bytes) {
            Err(DropCause::Unauthenticated) => self.closing.receive(now, from, bytes, out).map(|()| None),
            entrant => entrant.map(Some),
        }
    }

    /// The guest gets no seat, and learns why; it may ask again.
    pub(in crate::net) fn refuse(
        &mut self,
        from: Source,
        entrant: &Entrant,
        reason: Refusal,
        out: &mut Outbox,
    ) -> Handled {
        let refusal = self.listener.refuse(entrant, reason).ok_or(OutOfPlace)?;
        out.transmit(from, refusal);
        Ok(())
    }

    /// The seat for a guest: the one it asks for, or the lowest of `seats` that is free. Of all seats, `open` may be
    /// taken by guests, who sit at the addresses `seated` so far.
    pub(in crate::net) fn free_seat(
        &self,
        (from, entry): (IpAddr, &JoinEntry),
        seated: impl Iterator<Item = IpAddr>,
        (seats, open): (u8, u8),
        is_free: impl Fn(u8) -> bool,
    ) -> Result<PlayerId, Refusal> {
        if !self.shared_address && !may_sit(from, &self.own_addresses, seated, open) {
            return Err(Refusal::Address { most: seats_per_address(open) });
        }
        let is_free = |&seat: &u8| seat < seats && is_free(seat);
        match entry.seat {
            Some(seat) => Some(seat).filter(is_free).ok_or(Refusal::Seat { seat, seats }),
            None => (0..seats).find(is_free).ok_or(Refusal::Full { seats }),
        }
        .map(PlayerId)
    }

    /// Announces how many seats are taken.
    pub(in crate::net) fn announce(&mut self, players: u8) {
        if let Some(beacon) = &mut self.beacon {
            beacon.players = players;
        }
    }
}
