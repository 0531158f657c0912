//! The entrance of a host's or a server's room: it answers strangers, and decides who of them may have a seat.

use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use rand_chacha::ChaCha12Rng;

use super::admission::{Admission, Grant, Occupancy, Party, is_local, may_sit, seats_per_address};
use super::lobby::LobbyNews;
use crate::connection::Closing;
use crate::connection::handshake::{Entrant, Listener};
use crate::connection::limits::AddressBuckets;
use crate::discovery::{self, Beacon, SetupNames};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::outbox::{Outbox, Source};
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::message::{JoinEntry, OWN_ADDRESSES_MAX, Refusal};
use crate::wire::sealed::SealedPacket;
use sim::PlayerId;

/// Seats that guests of one address may take at once, and per second: who takes a seat and leaves it again makes all
/// others be told, and the world before tick 0 be built.
const SEATS_AT_ONCE: u64 = 4;
const SEATS_PER_S: u64 = 1;
/// Refusals that are told at once, and per second: strangers may be refused as often as they like.
const REFUSALS_AT_ONCE: u64 = 10;
const REFUSALS_PER_S: u64 = 1;
/// Most bans that are kept; the oldest gives way.
const BANS_MAX: usize = 16;

/// The entrance of a room.
#[derive(Debug)]
pub(crate) struct Reception {
    pub(crate) listener: Listener,
    /// Connections of guests that lost their seat before tick 0.
    pub(crate) closing: Closing,
    /// News about the lobby that the guests have received.
    pub(crate) news: LobbyNews,
    pub(crate) beacon: Option<Beacon>,
    /// Names of rules and map, for searchers.
    pub(crate) names: Option<SetupNames>,
    /// Number of times that all seats have been taken; wraps.
    pub(crate) round: u32,
    /// Deadline for waiting for guests.
    pub(crate) give_up_at: Option<Time>,
    /// This computer's own addresses other than loopback.
    own_addresses: ArrayVec<IpAddr, OWN_ADDRESSES_MAX>,
    /// Whether guests at one address are taken for different people.
    shared_address: bool,
    admission: Admission,
    /// Those whom the host's player admits no more in this room, the longest banned first.
    bans: ArrayVec<Party, BANS_MAX>,
    /// Number of seats that each address may still take.
    seats_taken: AddressBuckets,
    /// Refusals that may still be told, and the number of those that were not.
    told_refusals: TokenBucket,
    untold_refusals: u32,
}

impl Reception {
    pub(crate) fn new(
        now: Time,
        listener: Listener,
        beacon: Option<Beacon>,
        give_up_at: Option<Time>,
        shared_address: bool,
        admission: Admission,
    ) -> Self {
        let (closing, news) = (Closing::default(), LobbyNews::default());
        let (own_addresses, bans) = (ArrayVec::new(), ArrayVec::new());
        let seats_taken = AddressBuckets::new(now, listener.address_key(), SEATS_AT_ONCE, SEATS_PER_S);
        Self {
            listener,
            closing,
            news,
            beacon,
            names: None,
            round: 0,
            give_up_at,
            own_addresses,
            shared_address,
            admission,
            bans,
            seats_taken,
            told_refusals: TokenBucket::new(now, REFUSALS_AT_ONCE, REFUSALS_PER_S),
            untold_refusals: 0,
        }
    }

    /// Sets this computer's own addresses other than loopback, of which the first few are used: players at these may
    /// take all seats.
    pub(crate) fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.own_addresses = addresses.into_iter().take(OWN_ADDRESSES_MAX).collect();
    }

    /// Connection ids that datagrams of guests without a seat are sent to.
    pub(crate) fn connection_ids(&self) -> impl Iterator<Item = u32> {
        self.listener.connection_ids().chain(self.closing.connection_ids())
    }

    /// Answers a query for the room, given with its packet id.
    pub(crate) fn on_query(&self, from: Source, bytes: &[u8], out: &mut Outbox) -> Handled {
        let beacon = self.beacon.as_ref().ok_or(OutOfPlace)?;
        let reply = discovery::answer(bytes, beacon, self.names.as_ref()).ok_or(DropCause::Malformed)?;
        out.transmit(from, SealedPacket::unconnected(&reply));
        Ok(())
    }

    /// Answers a join request, given without its packet id.
    pub(crate) fn on_join_request(
        &mut self,
        now: Time,
        (from, body): (Source, &[u8]),
        rng: &mut ChaCha12Rng,
        out: &mut Outbox,
    ) -> Handled {
        let (answer, refusal) = self.listener.answer(now, from, body, rng)?;
        out.transmit(from, answer);
        if let Some(reason) = refusal {
            self.tell_refused(now, from.address, reason, out);
        }
        Ok(())
    }

    /// A datagram of no seat. Its sender is a guest that asks for one, or has lost one: then only its
    /// acknowledgements count.
    pub(crate) fn on_unseated(
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
    pub(crate) fn refuse(
        &mut self,
        now: Time,
        from: Source,
        entrant: &Entrant,
        reason: Refusal,
        out: &mut Outbox,
    ) -> Handled {
        let refusal = self.listener.refuse(now, entrant, reason).ok_or(OutOfPlace)?;
        out.transmit(from, refusal);
        self.tell_refused(now, from.address, reason, out);
        Ok(())
    }

    /// Reports a refusal, or counts it if there were many lately.
    pub(crate) fn tell_refused(&mut self, now: Time, from: SocketAddr, reason: Refusal, out: &mut Outbox) {
        if self.told_refusals.take(now, 1) {
            let untold = core::mem::take(&mut self.untold_refusals);
            out.event(Event::Refused { from, reason, untold });
        } else {
            self.untold_refusals = self.untold_refusals.saturating_add(1);
        }
    }

    /// Decides about a guest that asks for a seat in the lobby. Of all seats, `open` may be taken by guests, who sit at
    /// the addresses `seated` so far.
    pub(crate) fn seat_for(
        &mut self,
        now: Time,
        (from, entry): (SocketAddr, &JoinEntry),
        (seated, open): (impl Iterator<Item = IpAddr>, u8),
        occupancy: Occupancy,
    ) -> Result<Grant, Refusal> {
        if !self.shared_address && !may_sit(from.ip(), &self.own_addresses, seated, open) {
            return Err(Refusal::Address { most: seats_per_address(open) });
        }
        let party = self.party(from);
        self.admission.decide(now, party, entry.seat, occupancy)
    }

    /// The answer to a guest that asks while all seats are taken and the match has not begun.
    pub(crate) fn ask_later(&mut self, now: Time, from: SocketAddr) -> Refusal {
        let party = self.party(from);
        self.admission.ask_later(now, party)
    }

    /// Notes that the guest at this address has this seat.
    pub(crate) fn seated(&mut self, now: Time, from: SocketAddr, player: PlayerId) {
        let party = self.party(from);
        self.admission.seated(now, party, player);
    }

    /// Notes that the guest that joined from this address has lost its seat through its own fault: it waits while
    /// others ask.
    pub(crate) fn penalise(&mut self, now: Time, from: SocketAddr) {
        let party = self.party(from);
        self.admission.penalise(now, party);
    }

    /// Bans the guest that joined from this address, for as long as the room exists.
    pub(crate) fn ban(&mut self, from: SocketAddr) {
        let party = self.party(from);
        self.bans.retain(|banned| *banned != party);
        if self.bans.is_full() {
            self.bans.remove(0);
        }
        self.bans.push(party);
    }

    /// Whether who asks from this address cannot be told from somebody who is banned.
    pub(crate) fn is_banned(&self, from: SocketAddr) -> bool {
        self.bans.contains(&self.party(from))
    }

    /// Counts the time for which guests who are not ready keep the room waiting. While somebody else asks for a seat,
    /// it does not count against the wait for guests.
    pub(crate) fn watch(&mut self, now: Time, occupancy: Occupancy) {
        let wasted = self.admission.watch(now, occupancy);
        self.extend(wasted);
    }

    /// Waits for guests for this much longer.
    pub(crate) fn extend(&mut self, wasted: Duration) {
        self.give_up_at = self.give_up_at.map(|at| at.plus(wasted));
    }

    /// The guest at this address, as far as it can be told from others there.
    fn party(&self, from: SocketAddr) -> Party {
        Party::new(from, self.shared_address || is_local(from.ip(), &self.own_addresses))
    }

    /// Counts a seat that a guest at this address is about to take; an error if its address has taken too many lately.
    /// Then it gets no answer, and asks again.
    pub(crate) fn take_seat_token(&mut self, now: Time, from: IpAddr) -> Handled {
        let is_free = self.seats_taken.of(from).is_some_and(|bucket| bucket.take(now, 1));
        is_free.then_some(()).ok_or(DropCause::RateLimited)
    }

    /// Announces how many seats are taken.
    pub(crate) fn announce(&mut self, players: u8) {
        if let Some(beacon) = &mut self.beacon {
            beacon.players = players;
        }
    }
}
