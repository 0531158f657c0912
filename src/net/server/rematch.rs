//! After the last tick, if the server stays: the rematch vote.
//!
//! A client that has everything reports that it stays, and reports again when its player wants a rematch; the
//! server sends the votes to all. Once all want one, everybody joins a new session with the same settings and
//! the next seed; each client keeps its seat by its token, and joins with the hero it has chosen meanwhile.

use core::time::Duration;

use super::client::{ClientConnection, Standing};
use super::{Phase, ServerConfig, ServerSession};
use crate::connection::keys::Entropy;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::table::rematch::next_config;
use crate::time::Time;
use crate::wire::message::{PacketId, Rematch, Seats};
use rand_chacha::rand_core::Rng as _;
use sim::PlayerId;
use zeroize::Zeroizing;

/// Time after the end in which a client may report that it stays.
const STAY_WITHIN: Duration = Duration::from_secs(1);
/// Time from the agreed rematch until all must have come back; if any client has not, there is no rematch.
const RETURN_WITHIN: Duration = Duration::from_secs(5);
/// Time for which the next match waits for clients that have not acknowledged the agreed rematch.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);

/// The votes cast after the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    stay: Seats,
    wanted: Seats,
    /// The current deadline, if any.
    until: Option<Time>,
    is_over: bool,
}

impl Votes {
    /// Whether this client has every tick and stays.
    pub(super) const fn stays(&self, player: PlayerId) -> bool {
        self.stay.contains(player)
    }
}

impl ServerSession {
    /// Creates the next session over the same socket, once [`Event::Again`] has asked for it.
    #[must_use]
    pub fn again(&mut self) -> Self {
        let mut entropy = Entropy { seed: Zeroizing::new([0; 32]), cipher: self.cipher };
        self.rng.fill_bytes(&mut *entropy.seed);
        let kept = self.clients.iter().flatten().map(|client| client.admission.token).collect();
        let config = next_config(self.settings.config);
        let beacon = self.room.beacon.clone();
        let mut settings = ServerConfig { config, kept, beacon, ..self.settings.clone() };
        if let Some(beacon) = &mut settings.beacon {
            // The seats are reserved for their players.
            beacon.players = beacon.seats;
        }
        let mut next = Self::new(self.now, settings, entropy);
        let return_by = self.now.plus(RETURN_WITHIN);
        next.room.give_up_at = Some(next.room.give_up_at.map_or(return_by, |at| at.min(return_by)));
        // Messages that are still queued are sent.
        core::mem::swap(&mut next.out, &mut self.out);
        next
    }

    /// Whether all ticks have run and the session stays open for a vote.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// All clients have everything: whether a vote is in progress, or may still begin.
    pub(super) fn awaits_vote(&mut self) -> bool {
        let is_here = |client: &ClientConnection| client.standing == Standing::Here && !client.link.said_bye;
        let are_here = self.clients.iter().flatten().all(is_here);
        if !self.settings.stays || self.votes.is_over || !are_here {
            return false;
        }
        let until = *self.votes.until.get_or_insert(self.now.plus(STAY_WITHIN));
        if self.votes.stay.count() as usize == self.clients.len() {
            self.phase = Phase::Over;
            self.votes.until = None;
            self.out.event(Event::Over);
            return true;
        }
        self.now < until
    }

    /// A client has left.
    pub(super) fn end_vote(&mut self) {
        self.votes.is_over = true;
        self.begin_ending(End::Finished);
    }

    /// A client stays, and its player may want a rematch.
    pub(super) fn on_rematch(&mut self, seat: usize, rematch: Rematch) -> Handled {
        let player = self.clients.at(seat).ok_or(OutOfPlace)?.link.player;
        let is_asked = matches!(self.phase, Phase::Over | Phase::Ending { end: End::Finished, .. });
        if !is_asked || !self.settings.stays || self.votes.is_over {
            // It gets a goodbye instead.
            return Ok(());
        }
        let is_new = !self.votes.stay.contains(player);
        self.votes.stay = self.votes.stay.with(player);
        if rematch.wanted.contains(player) && !self.votes.wanted.contains(player) {
            self.votes.wanted = self.votes.wanted.with(player);
            self.out.event(Event::RematchWanted { player });
            for other in self.votes.stay.iter() {
                self.send_votes(other.index());
            }
        } else if is_new {
            // The reply also tells the client that the server stays.
            self.send_votes(seat);
        }
        Ok(())
    }

    fn send_votes(&mut self, seat: usize) {
        let (ticks, chain, wanted) = (self.ticks.ran.0, self.ticks.chain.0, self.votes.wanted);
        self.send(seat, PacketId::Rematch, &Rematch { game: 0, ticks, chain, wanted });
    }

    /// Begins the next match once all clients know that all want one.
    pub(super) fn begin_again_if_all_know(&mut self) {
        let all: Seats = (0..self.clients.len() as u8).map(PlayerId).collect();
        if self.votes.wanted != all {
            return;
        }
        let until = *self.votes.until.get_or_insert(self.now.plus(KNOWN_WITHIN));
        let know = self.clients.iter().flatten().all(|client| client.link.connection.is_idle());
        if know || self.now >= until {
            self.phase = Phase::Closed;
            self.out.event(Event::Again);
        }
    }

    /// Returns when the wait for clients that do not know it yet is over.
    pub(super) fn vote_due_at(&self) -> Option<Time> {
        self.votes.until.filter(|_| matches!(self.phase, Phase::Over))
    }
}
