//! After the last tick: who stays, who wants a rematch, and the same peers before another tick 0.
//!
//! Each peer that has all it needs says so to all others ([`Rematch`]), and says it again when its player
//! wants to play again. Who goes ends the vote for all. Once all want to, the host seats everybody anew; the
//! guests follow it when they, too, have heard it of all. The links stay, with their connection ids; what was
//! sent over them before is told apart by its counter.

use core::time::Duration;

use super::{End, Event, LockstepSession, Phase, Role};
use crate::net::link::Link;
use crate::net::message::{Acknowledge, PacketId, Rematch, Seats};
use crate::net::table::BySeat;
use crate::net::time::Time;
use crate::sim::PlayerId;

/// Between two messages to a peer that has not acknowledged one, at least; with a server, too.
pub(in crate::net) const VOTE_EVERY: Duration = Duration::from_millis(100);

/// What was said after the match that runs or has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Votes {
    /// Matches over these links before this one; begins again after 255.
    game: u8,
    /// What this peer said last, and who has it.
    said: Option<(Rematch, Seats)>,
    send_at: Time,
    /// Who wants a rematch of this match, with this player.
    wanted: Seats,
    /// Whether somebody has gone: there is no rematch any more.
    is_over: bool,
    /// Below which counter a datagram is of a match before this one.
    fences: BySeat<Option<u32>>,
}

impl Votes {
    /// Whether a match was played over these links before this one.
    pub(super) const fn has_played(&self) -> bool {
        self.game > 0
    }

    /// Whether a datagram with this counter is of a match before this one.
    pub(super) fn is_stale(&self, player: PlayerId, counter: u32) -> bool {
        self.fences[player].is_some_and(|fence| counter.wrapping_sub(fence).cast_signed() < 0)
    }
}

/// The seed of the match after that of `seed`. As short as one that a host draws.
pub(in crate::net) fn next_seed(seed: u64) -> u64 {
    u64::from(twox_hash::XxHash3_64::oneshot_with_seed(seed, b"rematch") as u32)
}

impl LockstepSession {
    /// This player wants a rematch. Nothing comes of it once somebody has left.
    pub fn want_rematch(&mut self, now: Time) {
        self.now = self.now.max(now);
        let Phase::Over = self.phase else { return };
        if !self.votes.wanted.has(self.me) {
            self.votes.wanted = self.votes.wanted.with(self.me);
            self.out.event(Event::RematchWanted { player: self.me });
            self.declare();
            self.seat_again_if_all_want();
        }
    }

    /// Whether all ticks have run and the session stays for a vote.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Who wants a rematch of the match that is over.
    #[must_use]
    pub const fn wants_rematch(&self) -> Seats {
        self.votes.wanted
    }

    /// All have everything they need: whether they stay for a vote.
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

    /// Somebody has gone.
    pub(super) fn end_vote(&mut self) {
        self.votes.is_over = true;
        self.begin_ending(End::Finished);
    }

    /// Says anew where this peer stands.
    fn declare(&mut self) {
        let Some(play) = &self.play else { return };
        let (ticks, chain) = (play.history.ran().0, play.history.chain().0);
        let own = Seats::default().with(self.me);
        let wanted = if self.votes.wanted.has(self.me) { own } else { Seats::default() };
        let said = Rematch { game: self.votes.game, ticks, chain, wanted };
        self.votes.said = Some((said, Seats::default()));
        self.votes.send_at = self.now;
        self.pursue_vote();
    }

    /// Until when what was said last is said again: also while the next match is being set up, since a peer
    /// may still wait for it.
    const fn is_declaring(&self) -> bool {
        matches!(self.phase, Phase::Over | Phase::Preparing | Phase::Seating { .. })
    }

    /// Says it again to those who have not acknowledged it.
    pub(super) fn pursue_vote(&mut self) {
        let Some((said, told)) = self.votes.said.filter(|_| self.is_declaring()) else { return };
        if self.now < self.votes.send_at {
            return;
        }
        let mut again = VOTE_EVERY;
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|peer| !told.has(peer.player)) {
                self.send(link, PacketId::Rematch, &said);
                again = again.max(self.timeout_of(link, VOTE_EVERY));
            }
        }
        self.votes.send_at = self.now.plus(again);
    }

    /// When there is something to say again.
    pub(super) fn vote_due_at(&self) -> Option<Time> {
        let (_, told) = self.votes.said.filter(|_| self.is_declaring())?;
        let is_known = self.links.iter().all(|link| told.has(link.player));
        (!is_known).then_some(self.votes.send_at)
    }

    /// A peer has all it needs, and may want a rematch.
    pub(super) fn on_rematch(&mut self, link: usize, rematch: Rematch) -> Option<()> {
        let Rematch { game, ticks, chain, wanted } = rematch;
        let (player, is_current) = (self.links.get(link)?.player, game == self.votes.game);
        let is_played = matches!(self.phase, Phase::Running | Phase::Over | Phase::Ending { .. });
        // Each speaks for itself alone.
        if !wanted.without(Seats::default().with(player)).is_empty() {
            return None;
        }
        // The last match's is repeated until its acknowledgement arrives.
        if !(is_current && is_played) && game.wrapping_add(1) != self.votes.game {
            return None;
        }
        if is_current && !matches!(self.phase, Phase::Over) {
            self.note_finished(link, ticks, chain)?;
        }
        self.send(link, PacketId::Acknowledge, &Acknowledge::Rematch { game, wanted });
        if is_current && wanted.has(player) && !self.votes.wanted.has(player) {
            self.votes.wanted = self.votes.wanted.with(player);
            self.out.event(Event::RematchWanted { player });
            self.seat_again_if_all_want();
        }
        Some(())
    }

    pub(super) fn on_rematch_acknowledged(&mut self, link: usize, game: u8, wanted: Seats) -> Option<()> {
        let player = self.links.get(link)?.player;
        let (said, told) = self.votes.said.as_mut()?;
        if (said.game, said.wanted) == (game, wanted) {
            *told = told.with(player);
        }
        Some(())
    }

    /// Whether all are still here and want to.
    pub(super) fn is_rematch(&self) -> bool {
        let others = self.links.iter().all(|link| self.votes.wanted.has(link.player));
        matches!(self.phase, Phase::Over) && others && self.votes.wanted.has(self.me)
    }

    /// Host: everybody sits down again.
    fn seat_again_if_all_want(&mut self) {
        if self.is_host() && self.is_rematch() {
            self.begin_anew();
            self.seat_all_if_full();
        }
    }

    /// The links are as before a first match, and the seed is the next one.
    pub(super) fn begin_anew(&mut self) {
        let now = self.now;
        for link in &mut self.links {
            // All that the peer sent before it wanted to play again is older than that.
            self.votes.fences[link.player] = Some(link.seal.arrivals().0 as u32);
            let fresh = Link::new(now, link.player, &link.addresses, link.follows, link.seal.clone());
            let old = core::mem::replace(link, fresh);
            link.rtt = old.rtt;
            (link.heard_at, link.is_heard, link.ping_at) = (old.heard_at, old.is_heard, old.ping_at);
            (link.lost_there, link.lost_here) = (old.lost_there, old.lost_here);
        }
        if let Some(config) = &mut self.config {
            config.seed = next_seed(config.seed);
            if let Role::Host { door, .. } = &mut self.role {
                door.config.seed = config.seed;
            }
        }
        self.votes.game = self.votes.game.wrapping_add(1);
        self.votes.wanted = Seats::default();
        (self.play, self.seated) = (None, None);
    }
}
