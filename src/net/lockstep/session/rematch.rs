//! After the last tick: the rematch vote, and how the same peers start again before another tick 0.
//!
//! Each peer that has everything it needs tells all others so ([`Rematch`]), and tells them again when its
//! player wants a rematch. A peer that leaves ends the vote for all. Once all want one, the host sends a new
//! seating; the guests accept it once they, too, have all votes. The links stay, with their connection ids;
//! datagrams of the earlier match are recognised by their packet number.

use super::{LockstepSession, Phase, Role};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::indexed::BySeat;
use crate::table::rematch::next_config;
use crate::time::Time;
use crate::wire::message::{PacketId, Rematch, Seating, Seats};
use sim::PlayerId;

/// The votes on a rematch of the match that is running or has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Votes {
    /// The number of matches over these links before this one; wraps after 255.
    game: u8,
    /// Guest: the host's seating of the next match, until all votes have arrived here.
    pub(super) seating: Option<Seating>,
    /// Players who want a rematch of this match, this player included.
    wanted: Seats,
    /// Whether a peer has left, so that no rematch is possible.
    is_over: bool,
    /// Datagrams with a number below this belong to an earlier match.
    fences: BySeat<Option<u64>>,
}

impl Votes {
    /// Whether a match was played over these links before this one.
    pub(super) const fn has_played(&self) -> bool {
        self.game > 0
    }

    /// Whether a datagram with this number belongs to an earlier match.
    pub(super) fn is_stale(&self, player: PlayerId, number: u64) -> bool {
        self.fences[player].is_some_and(|fence| number < fence)
    }
}

impl LockstepSession {
    /// Votes for a rematch. Has no effect once a player has left.
    pub fn want_rematch(&mut self, now: Time) {
        self.now = self.now.max(now);
        let Phase::Over = self.phase else { return };
        if !self.votes.wanted.contains(self.me) {
            self.votes.wanted = self.votes.wanted.with(self.me);
            self.out.event(Event::RematchWanted { player: self.me });
            self.declare();
            self.seat_again_if_all_want();
        }
    }

    /// Whether all ticks have run and the session stays open for a vote.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// All peers have everything they need: returns whether they stay for a vote.
    pub(super) fn begin_vote(&mut self) -> bool {
        let is_whole = self.links.iter().all(|link| self.is_direct(link) && !link.said_bye);
        if !self.settings.stays || self.votes.is_over || !is_whole {
            return false;
        }
        self.phase = Phase::Over;
        self.out.event(Event::Over);
        self.declare();
        true
    }

    /// A peer has left.
    pub(super) fn end_vote(&mut self) {
        self.votes.is_over = true;
        self.begin_ending(End::Finished);
    }

    /// Sends this peer's vote to all others.
    fn declare(&mut self) {
        let Some(play) = &self.play else { return };
        let (ticks, chain) = (play.history.ran().0, play.history.chain().0);
        let own = Seats::default().with(self.me);
        let wanted = if self.votes.wanted.contains(self.me) { own } else { Seats::default() };
        let said = Rematch { game: self.votes.game, ticks, chain, wanted };
        self.send_to_all(PacketId::Rematch, &said);
    }

    /// A peer has everything it needs, and may want a rematch.
    pub(super) fn on_rematch(&mut self, link: usize, rematch: Rematch) -> Handled {
        let Rematch { game, ticks, chain, wanted } = rematch;
        let player = self.links.get(link).ok_or(OutOfPlace)?.player;
        // A peer votes only for its own seat.
        let is_own = wanted.difference(Seats::one(player)).is_empty();
        let is_played = self.has_met() && game == self.votes.game;
        if !is_own || !is_played {
            return Err(OutOfPlace);
        }
        if !matches!(self.phase, Phase::Over) {
            self.note_finished(link, ticks, chain)?;
        }
        if wanted.contains(player) && !self.votes.wanted.contains(player) {
            self.votes.wanted = self.votes.wanted.with(player);
            self.out.event(Event::RematchWanted { player });
            self.seat_again_if_all_want();
        }
        Ok(())
    }

    /// Whether this player may choose another hero for the next match.
    pub(super) fn may_choose_anew(&self, player: PlayerId) -> bool {
        self.has_met() && !self.votes.wanted.contains(player)
    }

    /// Whether all are still there and want a rematch.
    pub(super) fn is_rematch(&self) -> bool {
        let others = self.links.iter().all(|link| self.votes.wanted.contains(link.player));
        matches!(self.phase, Phase::Over) && others && self.votes.wanted.contains(self.me)
    }

    /// Starts the next match: the host as soon as all want one, a guest once it has the host's vote, too.
    fn seat_again_if_all_want(&mut self) {
        if !self.is_rematch() {
            return;
        }
        if self.is_host() {
            self.begin_anew();
            self.seat_all_if_ready();
        } else if let Some(seating) = self.votes.seating.take() {
            let handled = self.on_seating(0, seating);
            self.out.traffic.count(handled);
        }
    }

    /// Resets the links to their state before a first match, and advances the configuration.
    pub(super) fn begin_anew(&mut self) {
        let now = self.now;
        for link in &mut self.links {
            // Everything that the peer sent before its vote is older than this.
            self.votes.fences[link.player] = Some(link.connection.protection.arrivals().0);
            link.begin_anew(now);
        }
        self.config = next_config(self.config);
        if let Role::Host { room, .. } = &mut self.role {
            room.listener.config = self.config;
        }
        self.votes.game = self.votes.game.wrapping_add(1);
        self.signing.game = self.signing.game.wrapping_add(1);
        self.votes.wanted = Seats::default();
        (self.play, self.seated) = (None, None);
    }
}
