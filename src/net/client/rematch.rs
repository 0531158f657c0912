//! After the last tick, if client and server stay: the rematch vote, and how the next match is joined.

use super::{ClientSession, End, Phase};
use crate::net::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::net::event::Event;
use crate::net::lockstep::session::LockstepSession;
use crate::net::table::settings::GuestConfig;
use crate::net::time::Time;
use crate::net::wire::message::{PacketId, Rematch, Seats};
use crate::sim::PlayerId;

/// The votes cast after the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    /// Whether this player wants a rematch.
    own: bool,
    /// Who else wants one, as far as is known here.
    others: Seats,
    /// Everyone wants one.
    is_on: bool,
}

impl ClientSession {
    /// Votes for a rematch. Has no effect once a player has left.
    pub fn want_rematch(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.stays() && !core::mem::replace(&mut self.votes.own, true) {
            self.out.event(Event::RematchWanted { player: self.me });
            self.say_that_it_stays();
        }
    }

    /// Whether all ticks have run and the session stays open for a vote.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Whether all players want a rematch: continue with [`Self::again`].
    #[must_use]
    pub const fn is_rematch(&self) -> bool {
        self.votes.is_on
    }

    /// A session that rejoins the same seat of the same server for the next match.
    #[must_use]
    pub fn again(&self) -> LockstepSession {
        let guest =
            GuestConfig { room_code: self.room_code, token: self.token, ..GuestConfig::new(self.server) };
        LockstepSession::join(self.now, self.settings.clone(), guest, self.entropy)
    }

    /// A client votes only for its own seat.
    fn own_wish(&self) -> Seats {
        if self.votes.own { Seats::default().with(self.me) } else { Seats::default() }
    }

    /// Reports that this client stays, and its player's vote.
    pub(super) fn say_that_it_stays(&mut self) {
        if self.settings.stays {
            let (ticks, chain, wanted) = (self.snapshots.ran().0, self.chain.0, self.own_wish());
            self.send(PacketId::Rematch, &Rematch { game: 0, ticks, chain, wanted });
        }
    }

    /// The server reports who wants a rematch; its first report also says that the server stays.
    pub(super) fn on_rematch(&mut self, rematch: Rematch) -> Handled {
        let wanted = rematch.wanted;
        let all: Seats = (0..self.config.seats).map(PlayerId).collect();
        let is_asked = matches!(self.phase, Phase::Over | Phase::Ending { end: End::Finished, .. });
        if !self.settings.stays || !is_asked || !wanted.difference(all).is_empty() {
            return Err(OutOfPlace);
        }
        if !self.stays() {
            self.phase = Phase::Over;
            self.out.event(Event::Over);
        }
        let others = wanted.difference(Seats::default().with(self.me));
        for player in others.difference(self.votes.others).iter() {
            self.out.event(Event::RematchWanted { player });
        }
        self.votes.others = self.votes.others.union(others);
        // No other peer can vote for this player.
        self.votes.is_on = wanted == all && self.votes.own;
        Ok(())
    }
}
