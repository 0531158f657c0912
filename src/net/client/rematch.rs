//! After the last tick, if client and server stay: the rematch vote, and how the next match is joined.

use super::{ClientSession, End, Phase};
use crate::connection::keys::{CipherKind, Entropy, RoomCode, SecretRng};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{Event, Traffic};
use crate::join::Join;
use crate::outbox::Outbox;
use crate::table::settings::GuestConfig;
use crate::time::Time;
use crate::wire::message::{PacketId, Rematch, Seats, Token};
use core::net::SocketAddr;
use rand_chacha::rand_core::Rng as _;
use sim::PlayerId;
use zeroize::Zeroizing;

/// The votes cast after the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Votes {
    /// Whether this player wants a rematch.
    own: bool,
    /// Other players who want one, as far as is known here.
    others: Seats,
    /// Everyone wants one.
    is_on: bool,
}

/// Settings for joining the next match.
pub(super) struct Again {
    guest: GuestConfig,
    cipher: CipherKind,
    rng: SecretRng,
}

impl Again {
    /// At the server where it is now.
    pub(super) fn new(
        server: SocketAddr,
        room_code: RoomCode,
        token: Option<Token>,
        (cipher, rng): (CipherKind, SecretRng),
    ) -> Self {
        Self { guest: GuestConfig { room_code, token, ..GuestConfig::new(server) }, cipher, rng }
    }

    /// The token that takes the seat back.
    pub(super) const fn token(&self) -> Option<Token> {
        self.guest.token
    }
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

    /// Joins the same seat of the same server for the next match, once [`Event::Again`] has asked for it. The
    /// last vote's acknowledgement is sent first.
    #[must_use]
    pub fn again(&mut self) -> Join {
        let Again { guest, cipher, rng } = &mut self.again;
        let mut entropy = Entropy { seed: Zeroizing::new([0; 32]), cipher: *cipher };
        rng.fill_bytes(&mut *entropy.seed);
        let mut guest = guest.clone();
        guest.host = self.link.connection.addresses().first().copied().unwrap_or(guest.host);
        self.link.connection.flush(self.now, &mut self.out);
        let out = core::mem::replace(&mut self.out, Outbox::new(Traffic::default()));
        Join::new(self.now, self.settings.clone(), guest, entropy).after(out)
    }

    /// Whether the hero for the next match is still open.
    pub(super) const fn may_choose_anew(&self) -> bool {
        self.stays() && !self.votes.own
    }

    /// A client votes only for its own seat.
    fn own_wish(&self) -> Seats {
        if self.votes.own { Seats::default().with(self.me) } else { Seats::default() }
    }

    /// Reports that this client stays, and its player's vote.
    pub(super) fn say_that_it_stays(&mut self) {
        if self.settings.stays {
            let (ticks, chain, wanted) =
                (self.server.snapshots.ran().0, self.server.chain.0, self.own_wish());
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
        if wanted == all && self.votes.own && !core::mem::replace(&mut self.votes.is_on, true) {
            self.out.event(Event::Again);
        }
        Ok(())
    }
}
