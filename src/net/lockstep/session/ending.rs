//! The end of a match: all peers learn that the last tick has run, and say goodbye.

use super::play::low_bits;
use super::{LockstepSession, Phase};
use crate::connection::CLOSE_WITHIN;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::End;
use crate::lockstep::gate::QUEUE_TICKS;
use crate::table::link::Link;
use crate::table::stall_budget::whole;
use crate::wire::message::{Bye, PacketId};
use arrayvec::ArrayVec;
use sim::{HashChain, PLAYERS_MAX, PlayerId, Tick};

/// A peer that has not finished this part of a whole budget ([`whole`]) after the last tick here is lost: if a third peer
/// withholds its last inputs, it takes them from others long before.
const FINISH_WITHIN: (u32, u32) = (3, 4);

impl LockstepSession {
    pub(super) fn begin_ending(&mut self, end: End) {
        let now = self.now;
        self.phase = Phase::Ending { end, send_at: now, since: now, until: None };
    }

    /// All ticks have run here, or this player leaves: answer until the others know, say goodbye, close.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end, send_at, since, until } = self.phase else { return };
        let Some(until) = until else {
            if end != End::Finished || self.others_have_finished() {
                if end != End::Finished || !self.begin_vote() {
                    self.say_bye(end);
                }
            } else if self.now.since(since)
                >= whole(self.settings.timeout) * FINISH_WITHIN.0 / FINISH_WITHIN.1
            {
                self.suspect_unfinished();
            } else if self.now >= send_at {
                self.send_inputs_again();
            }
            return;
        };
        // A player who leaves owes the remaining peers all its earlier inputs.
        let sealed = self.play.as_ref().filter(|_| end == End::Left).map_or(Tick(0), |play| play.revealed());
        let has_all = |link: &Link| link.connection.is_idle() && link.acked.inputs >= sealed;
        if self.now >= until || self.links.iter().all(|link| link.said_bye || link.is_gone || has_all(link)) {
            self.close(end);
        } else if self.now >= send_at {
            self.send_inputs_again();
        }
    }

    /// Says goodbye, once, over the reliable channel.
    fn say_bye(&mut self, end: End) {
        let (now, bye) = (self.now, self.bye(end));
        self.send_to_all(PacketId::Bye, &bye);
        let until = now.plus(CLOSE_WITHIN);
        let send_at = if end == End::Left && self.play.is_some() { now } else { until };
        self.phase = Phase::Ending { end, send_at, since: now, until: Some(until) };
        self.end();
    }

    /// Resends inputs to peers that lack some.
    fn send_inputs_again(&mut self) {
        let mut next = CLOSE_WITHIN;
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|link| self.is_direct(link)) {
                self.send_inputs(link, false);
                let resend_at = self.links.get(link).map_or(self.now, |link| link.resend_at);
                next = next.min(resend_at.since(self.now));
            }
        }
        if let Phase::Ending { send_at, .. } = &mut self.phase {
            *send_at = self.now.plus(next);
        }
    }

    /// All ticks have run here; suspects peers that answer but do not finish.
    fn suspect_unfinished(&mut self) {
        let lags = |link: &&Link| self.is_direct(link) && !self.has_finished(link);
        let unfinished: ArrayVec<PlayerId, PLAYERS_MAX> =
            self.links.iter().filter(lags).map(|link| link.player).collect();
        for player in unfinished {
            self.suspect(player);
        }
    }

    /// Whether this peer has all our inputs and has reported the hash after the last tick.
    fn has_finished(&self, link: &Link) -> bool {
        let end = self.play.as_ref().map_or(Tick(0), |play| play.history.ran());
        link.said_bye || (link.acked.inputs >= end && link.claims.ran >= end)
    }

    fn bye(&self, end: End) -> Bye {
        match (end, &self.play) {
            (End::Finished, Some(play)) => {
                Bye::Finished { ticks: play.history.ran().0, chain: play.history.chain().0 }
            }
            (End::Desync, _) => Bye::Desync,
            (End::StartState, _) => Bye::StartState,
            (End::Unreachable(seat, other), _) => Bye::Unreachable { seat, other },
            (_, play) => Bye::Left { tick: play.as_ref().map_or(0, |play| play.revealed().0) },
        }
    }

    /// Whether every peer has all our inputs and has reported the hash after the last tick.
    fn others_have_finished(&self) -> bool {
        self.links.iter().all(|link| !self.is_direct(link) || self.has_finished(link))
    }

    /// A peer leaves.
    pub(super) fn on_bye(&mut self, link: usize, bye: Bye) -> Handled {
        if matches!(bye, Bye::Left { .. }) {
            // It leaves instead of proving the difference it claimed.
            self.drop_search();
        }
        match (bye, &self.phase) {
            // The search continues: otherwise its initiator could claim differences repeatedly at no cost.
            (
                Bye::Finished { ticks, chain },
                Phase::Ending { .. } | Phase::Running | Phase::Searching { .. },
            ) => {
                self.is_possible(ticks).then_some(()).ok_or(OutOfPlace)?;
                self.links.get_mut(link).ok_or(OutOfPlace)?.said_bye = true;
                self.note_finished(link, ticks, chain)?;
            }
            (Bye::Finished { .. } | Bye::Left { .. }, Phase::Over) => {
                self.links.get_mut(link).ok_or(OutOfPlace)?.said_bye = true;
                self.end_vote();
                self.end();
            }
            // Dropped acknowledges this player's own Left: its inputs have arrived.
            (Bye::Left { .. } | Bye::Desync | Bye::Dropped, Phase::Ending { .. })
            | (Bye::Desync, Phase::Searching { .. }) => {
                self.links.get_mut(link).ok_or(OutOfPlace)?.said_bye = true;
                self.end();
            }
            (Bye::Left { .. }, Phase::Gathering | Phase::Preparing | Phase::Seating { .. }) => {
                self.on_left_early(link);
            }
            (Bye::Left { .. }, Phase::Searching { .. }) => self.give_up_search(),
            (Bye::Left { tick }, Phase::Running) => {
                let wanted = self
                    .play
                    .as_ref()
                    .ok_or(OutOfPlace)?
                    .gate
                    .next_needed(self.links.get(link).ok_or(OutOfPlace)?.player);
                // It cannot have left before a tick that it has sent, nor at a tick that it cannot have
                // committed.
                if Tick(tick) < wanted || tick > wanted.0.saturating_add(QUEUE_TICKS) {
                    return Err(OutOfPlace);
                }
                self.links.get_mut(link).ok_or(OutOfPlace)?.left_at.get_or_insert(Tick(tick));
                self.settle_leavers();
            }
            // Only the host compares start states and links, and only before tick 0.
            (Bye::StartState, Phase::Seating { .. }) if self.is_from_host(link) => {
                self.close(End::StartState);
            }
            (Bye::Unreachable { seat, other }, Phase::Seating { .. }) if self.is_from_host(link) => {
                self.close(End::Unreachable(seat, other));
            }
            (Bye::Dropped, Phase::Seating { .. }) if self.is_from_host(link) => {
                self.close(End::PeerLost(PlayerId(0)));
            }
            (Bye::Removed | Bye::Unready, Phase::Gathering | Phase::Preparing | Phase::Seating { .. })
                if self.is_from_host(link) && !self.votes.has_played() =>
            {
                self.close(if bye == Bye::Removed { End::Removed } else { End::Unready });
            }
            (Bye::Dropped, _) => self.on_dropped(self.links.get(link).ok_or(OutOfPlace)?.player),
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }

    fn is_from_host(&self, link: usize) -> bool {
        !self.is_host() && link == 0
    }

    /// Whether a peer can have run this many ticks: it cannot run any without our input.
    fn is_possible(&self, ticks: u32) -> bool {
        self.play.as_ref().is_some_and(|play| Tick(ticks) <= play.revealed())
    }

    /// A peer has run all ticks and needs nothing more.
    pub(super) fn note_finished(&mut self, link: usize, ticks: u32, chain: u64) -> Handled {
        self.is_possible(ticks).then_some(()).ok_or(OutOfPlace)?;
        let (peer, ran) = (self.links.get_mut(link).ok_or(OutOfPlace)?, Tick(ticks));
        peer.acked.inputs = peer.acked.inputs.max(ran);
        peer.claims.ran = peer.claims.ran.max(ran);
        peer.claims.keep_chain(ran, low_bits(HashChain(chain)));
        if !self.compare_chains(ran) {
            self.end();
        }
        Ok(())
    }

    /// A peer leaves before tick 0 is agreed.
    fn on_left_early(&mut self, link: usize) {
        let Some(player) = self.links.get(link).map(|peer| peer.player) else { return };
        if self.votes.has_played() {
            self.close(End::PeerLeft(player));
        } else if self.is_host() {
            self.vacate(link);
        } else if link == 0 {
            self.close(End::PeerLeft(player));
        }
    }
}
