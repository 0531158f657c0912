//! From all players being ready to tick 0: the seating, the links between guests, the start.
//!
//! The host sends the seating to every guest. Each guest connects to the other guests, builds the world, and reports the
//! world's hash and the seats it has not heard yet. Once all guests have heard each other and have the same hash, the
//! host names the instant of tick 0.

use alloc::boxed::Box;
use arrayvec::ArrayVec;
use rand_chacha::rand_core::Rng as _;

use super::{Guest, Host, Phase};
use crate::connection::signing::{SIGNED_SEATS_MIN, SigningKey};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::room::agreed::Agreed;
use crate::room::mesh::are_distinct;
use crate::room::words::table_words;
use crate::time::Time;
use crate::wire::message::{Bye, Lobby, PacketId, Ready, Seating, Seats, Start};
use sim::{PLAYERS_MAX, PlayerId, StateHash};

impl Host {
    /// All are ready: the caller builds the world.
    pub(super) fn seat_all(&mut self, lobby: &Lobby) {
        self.reception.round = self.reception.round.wrapping_add(1);
        let seats = || (0..lobby.seats.len() as u8).map(PlayerId);
        let guests =
            || seats().map(|player| self.guests[player].as_ref().filter(|_| !self.terms.is_served()));
        let words = seats().map(|player| Some(self.peers.get(player)?.protection.words()?.bytes()));
        let mut seating = Seating {
            round: self.reception.round,
            map: self.terms.config.map,
            roster: lobby.seats.iter().flatten().map(|taken| taken.seat).collect(),
            mesh_key: 0,
            addresses: guests()
                .map(|guest| guest.map(|it| it.addresses.clone()).unwrap_or_default())
                .collect(),
            public_keys: guests().map(|guest| guest.map(|it| it.public_key).unwrap_or_default()).collect(),
            signing_keys: signing_keys(self, lobby.seats.len()),
            words: words.map(Option::unwrap_or_default).collect(),
        };
        // A guest must be able to distinguish its links by their ids.
        while !self.terms.is_served() {
            seating.mesh_key = self.rng.next_u64();
            if are_distinct(&seating, |player| Some(self.peers.get(player)?.protection.remote_id())) {
                break;
            }
        }
        for guest in self.guests.iter_mut().flatten() {
            guest.unheard = None;
        }
        self.out.event(Event::Words(table_words(&seating, None)));
        self.out.event(Event::Prepare { roster: seating.roster.clone() });
        self.phase = Phase::Preparing(Box::new(seating));
    }

    /// Reports that the world before tick 0 is built, with its hash. Has no effect if a guest has left since
    /// [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Preparing(_)) {
            return;
        }
        if let Phase::Preparing(seating) = core::mem::replace(&mut self.phase, Phase::Gathering) {
            self.phase = Phase::Seating { seating, hash: hash.whole, since: self.now };
        }
        for player in self.peers.players().collect::<ArrayVec<_, PLAYERS_MAX>>() {
            self.send_seating(player);
        }
        for player in self.peers.players().collect::<ArrayVec<_, PLAYERS_MAX>>() {
            self.take_messages(player);
        }
    }

    pub(super) fn send_seating(&mut self, player: PlayerId) {
        if let Phase::Seating { seating, .. } = &self.phase {
            self.peers.send(player, PacketId::Seating, seating, &mut self.out);
        }
    }

    /// A guest has built its world, and reports which seats it has not heard.
    pub(super) fn on_ready(&mut self, player: PlayerId, ready: Ready) -> Handled {
        let Phase::Seating { seating, hash, .. } = &self.phase else { return Err(OutOfPlace) };
        // It may be of a seating that has been replaced.
        if seating.round != ready.round {
            return Err(OutOfPlace);
        }
        if *hash != ready.state_hash {
            self.dismiss(player, &Bye::StartState, End::StartState);
            return Ok(());
        }
        self.guests[player].as_mut().ok_or(OutOfPlace)?.unheard = Some(ready.unheard);
        if self.guests.iter().flatten().all(Guest::has_heard_all) {
            let begin = self.now.plus(self.terms.countdown);
            self.peers.send_to_all(PacketId::Start, &Start { begin_us: begin.0 }, &mut self.out);
            if let Phase::Seating { seating, hash, .. } = core::mem::replace(&mut self.phase, Phase::Closed) {
                self.phase = Phase::Agreed(Agreed { seating, hash, begin });
            }
        }
        Ok(())
    }

    /// At the deadline removes guests that keep all others waiting, and the room is open again. Those that have not answered
    /// are removed first; if all have, the guest with the most broken links to other guests; of several, a guest that
    /// is not ready, and then the highest seat.
    pub(super) fn dismiss_unready(&mut self) {
        let seated = self.seated();
        let unheard = |player: PlayerId| self.guests[player].as_ref().and_then(|guest| guest.unheard);
        // A report that names seats without a guest does not count.
        let is_silent =
            |player: &PlayerId| unheard(*player).is_none_or(|unheard| !unheard.difference(seated).is_empty());
        let silent: Seats = seated.iter().filter(is_silent).collect();
        if !silent.is_empty() {
            for player in silent.iter() {
                self.dismiss(player, &Bye::Dropped, End::PeerLost(player));
            }
            return;
        }
        let names = |a, b| unheard(a).is_some_and(|unheard: Seats| unheard.contains(b));
        let breaks = |a, b| names(a, b) || names(b, a);
        let broken = |player| seated.iter().filter(|&other| breaks(player, other)).count();
        let is_ready = |player: PlayerId| self.guests[player].as_ref().is_some_and(Guest::has_heard_all);
        let Some(worst) = seated.iter().max_by_key(|&player| (broken(player), !is_ready(player), player))
        else {
            return;
        };
        let other = seated.iter().find(|&other| breaks(worst, other)).unwrap_or(self.player());
        let (seat, other) = (worst.min(other), worst.max(other));
        self.dismiss(worst, &Bye::Unreachable { seat, other }, End::Unreachable(seat, other));
    }
}

/// The public keys that verify the signatures of all seats of a room; none where nothing is signed.
fn signing_keys(host: &Host, seats: usize) -> ArrayVec<SigningKey, PLAYERS_MAX> {
    let Some(own) = host.own.as_ref().filter(|_| seats >= SIGNED_SEATS_MIN && !host.terms.is_served()) else {
        return ArrayVec::new();
    };
    let key = |player| host.guests[player].as_ref().map_or(own.signer.public(), |guest| guest.signing_key);
    (0..seats as u8).map(PlayerId).map(key).collect()
}

impl Guest {
    /// Whether it has built the world and heard all others.
    fn has_heard_all(&self) -> bool {
        self.unheard.is_some_and(Seats::is_empty)
    }
}
