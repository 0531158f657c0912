//! After the last tick, where the server stays: who wants a rematch.
//!
//! A client that has everything says that it stays, and again when its player wants to play again; the server
//! tells all who want to. Once all do, everybody joins a session of the same settings, with the next seed:
//! each client with the token that it has, which keeps its seat.

use core::time::Duration;

use super::client::{ClientConnection, Standing};
use super::{Phase, ServerConfig, ServerSession};
use crate::net::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::net::event::{End, Event};
use crate::net::table::rematch::next_seed;
use crate::net::time::Time;
use crate::net::wire::message::{PacketId, Rematch, Seats};
use crate::sim::PlayerId;
use rand_chacha::rand_core::Rng as _;

/// How long after the end a client may take to say that it stays.
const STAY_WITHIN: Duration = Duration::from_secs(1);
/// From the agreed rematch until all must have come back; if somebody has not, there is none.
const RETURN_WITHIN: Duration = Duration::from_secs(5);
/// How long those who have not acknowledged that all want to hold the next match up.
const KNOWN_WITHIN: Duration = Duration::from_secs(1);

/// What was said after the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    stay: Seats,
    wanted: Seats,
    /// Until when something is waited for.
    until: Option<Time>,
    is_over: bool,
}

impl ServerSession {
    /// The next session over the same socket, once [`Event::Again`] has asked for it.
    #[must_use]
    pub fn again(&mut self) -> Self {
        let mut entropy = [0; 32];
        self.rng.fill_bytes(&mut entropy);
        let kept = self.clients.iter().flatten().map(|client| client.admission.token).collect();
        let seed = next_seed(self.settings.config.seed);
        let config = crate::net::wire::message::MatchConfig { seed, ..self.settings.config };
        let mut settings = ServerConfig { config, kept, ..self.settings.clone() };
        if let Some(beacon) = &mut settings.beacon {
            // Nobody else can take a seat.
            beacon.players = beacon.seats;
        }
        let mut next = Self::new(self.now, settings, entropy);
        let return_by = self.now.plus(RETURN_WITHIN);
        next.give_up_at = Some(next.give_up_at.map_or(return_by, |at| at.min(return_by)));
        // What is still to be said is said.
        core::mem::swap(&mut next.out, &mut self.out);
        next
    }

    /// Whether all ticks have run and the session stays for a vote.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// All clients have everything: whether a vote is on, or may still be.
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

    /// Somebody has gone.
    pub(super) fn end_vote(&mut self) {
        self.votes.is_over = true;
        self.begin_ending(End::Finished);
    }

    /// A client stays, and its player may want to play again.
    pub(super) fn on_rematch(&mut self, seat: usize, rematch: Rematch) -> Handled {
        let player = self.clients.at(seat).ok_or(OutOfPlace)?.player;
        let is_asked = matches!(self.phase, Phase::Over | Phase::Ending { end: End::Finished, .. });
        if !is_asked || !self.settings.stays || self.votes.is_over {
            // It hears a farewell instead.
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
            // The answer lets the client know that the server stays, too.
            self.send_votes(seat);
        }
        Ok(())
    }

    fn send_votes(&mut self, seat: usize) {
        let (ticks, chain, wanted) = (self.ran.0, self.chain.0, self.votes.wanted);
        self.send(seat, PacketId::Rematch, &Rematch { game: 0, ticks, chain, wanted });
    }

    /// Begins the next match once all know that all want one.
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

    /// When the wait for those who do not know yet is over.
    pub(super) fn vote_due_at(&self) -> Option<Time> {
        self.votes.until.filter(|_| matches!(self.phase, Phase::Over))
    }
}
