//! After the last tick, where client and server stay: who wants a rematch, and the way to it.

use super::{ClientSession, End, Phase};
use crate::net::message::{Acknowledge, PacketId, Rematch, Seats};
use crate::net::session::{Event, GuestConfig, LockstepSession, VOTE_EVERY};
use crate::net::time::Time;
use crate::sim::PlayerId;

/// What was said after the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    /// Whether this player wants a rematch.
    own: bool,
    /// Who else does, as far as is known here.
    others: Seats,
    /// What of this player's wish the server has acknowledged.
    known: Option<Seats>,
    send_at: Time,
    /// All want to.
    is_on: bool,
}

impl ClientSession {
    /// This player wants a rematch. Nothing comes of it unless all are there to vote.
    pub fn want_rematch(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.stays() && !core::mem::replace(&mut self.votes.own, true) {
            self.votes.send_at = self.now;
            self.out.event(Event::RematchWanted { player: self.me });
            self.pursue_vote();
        }
    }

    /// Whether all ticks have run and the session stays for a vote.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Whether all want a rematch: [`Self::again`].
    #[must_use]
    pub const fn is_rematch(&self) -> bool {
        self.votes.is_on
    }

    /// The way back to the same seat of the same server, for the next match.
    #[must_use]
    pub fn again(&self) -> LockstepSession {
        let guest =
            GuestConfig { room_code: self.room_code, token: self.token, ..GuestConfig::new(self.server) };
        LockstepSession::join(self.now, self.settings.clone(), guest, self.entropy)
    }

    /// Of its own wish alone the client speaks.
    fn own_wish(&self) -> Seats {
        if self.votes.own { Seats::default().with(self.me) } else { Seats::default() }
    }

    /// Says that this client stays, and what its player wants, until the server has acknowledged it.
    pub(super) fn pursue_vote(&mut self) {
        let is_asked = matches!(self.phase, Phase::Over | Phase::Ending { end: End::Finished, .. });
        let wanted = self.own_wish();
        let is_known = self.votes.known == Some(wanted);
        if !self.settings.stays || !is_asked || is_known || self.now < self.votes.send_at {
            return;
        }
        self.votes.send_at = self.now.plus(self.link.rtt.timeout(VOTE_EVERY));
        let (ticks, chain) = (self.confirmed.ran().0, self.chain.0);
        self.send(PacketId::Rematch, &Rematch { game: 0, ticks, chain, wanted });
    }

    /// When that is to be said again.
    pub(super) fn vote_due_at(&self) -> Option<Time> {
        let is_known = self.votes.known == Some(self.own_wish());
        (self.stays() && !is_known).then_some(self.votes.send_at)
    }

    /// The server says who wants a rematch.
    pub(super) fn on_rematch(&mut self, rematch: Rematch) -> Option<()> {
        let Rematch { game, wanted, .. } = rematch;
        let all: Seats = (0..self.config.seats).map(PlayerId).collect();
        if !self.stays() || !wanted.without(all).is_empty() {
            return None;
        }
        self.send(PacketId::Acknowledge, &Acknowledge::Rematch { game, wanted });
        let others = wanted.without(Seats::default().with(self.me));
        for player in others.without(self.votes.others).iter() {
            self.out.event(Event::RematchWanted { player });
        }
        self.votes.others = self.votes.others.and(others);
        // Nobody can want it for this player.
        self.votes.is_on = wanted == all && self.votes.own;
        Some(())
    }

    /// The server knows that this client stays, and what its player wants.
    pub(super) fn on_rematch_acknowledged(&mut self, wanted: Seats) {
        if wanted == self.own_wish() {
            self.votes.known = Some(wanted);
        }
        if matches!(self.phase, Phase::Ending { end: End::Finished, .. }) {
            self.phase = Phase::Over;
            self.out.event(Event::Over);
        }
    }
}
