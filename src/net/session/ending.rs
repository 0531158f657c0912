//! The end: the last tick is known to all, farewells.

use arrayvec::ArrayVec;
use core::time::Duration;

use super::play::low_half;
use super::{End, LockstepSession, Phase};
use crate::net::hold_up::HOLD_UP_AT_ONCE;
use crate::net::link::Link;
use crate::net::lockstep::QUEUE_TICKS;
use crate::net::message::{Acknowledge, Bye, PacketId};
use crate::sim::{HashChain, PLAYERS_MAX, PlayerId, Tick};

/// How often a farewell is said before one goes without an answer.
pub(super) const BYES: u8 = 8;
/// Between the first two farewells; each pause after it is twice as long, up to [`BYE_PAUSE_MAX`].
const BYE_PAUSE: Duration = Duration::from_millis(20);
/// How long all ticks may have run here before a peer that has not finished is lost: one whose last inputs a
/// third peer withholds asks for them after [`HOLD_UP_AT_ONCE`].
const FINISH_WITHIN: u32 = 2;
/// Longest pause between two farewells: together they outlast a burst of losses by a second.
const BYE_PAUSE_MAX: Duration = Duration::from_millis(320);

impl LockstepSession {
    pub(super) fn begin_ending(&mut self, end: End) {
        let now = self.now;
        self.phase = Phase::Ending { end, byes_left: BYES, send_at: now, since: now };
    }

    /// All ticks have run here, or this player leaves: answer until the others know, say good-bye, close.
    pub(super) fn say_bye(&mut self) {
        let Phase::Ending { end, byes_left, send_at, since } = self.phase else { return };
        let is_over_for_all = end != End::Finished || self.others_have_finished();
        let all_said_bye = self.links.iter().all(|link| link.said_bye || !self.is_direct(link));
        if is_over_for_all && end == End::Finished && byes_left == BYES && self.begin_vote() {
            return;
        }
        if is_over_for_all && (byes_left == 0 || (all_said_bye && byes_left < BYES)) {
            self.close(end);
            return;
        }
        let is_first_bye = is_over_for_all && byes_left == BYES;
        if self.now < send_at && !is_first_bye {
            return;
        }
        if !is_over_for_all {
            if self.now.since(since) >= HOLD_UP_AT_ONCE.max(self.settings.timeout) * FINISH_WITHIN {
                self.suspect_unfinished();
                return;
            }
            let mut next = Duration::MAX;
            for link in 0..self.links.len() {
                if self.links.get(link).is_some_and(|peer| self.is_direct(peer)) {
                    let again = self.send_inputs(link, false);
                    next = again.map_or(next, |again| next.min(again));
                }
            }
            self.phase = Phase::Ending { end, byes_left, send_at: self.now.plus(next), since };
            return;
        }
        let bye = self.bye(end);
        for link in 0..self.links.len() {
            let Some(peer) = self.links.get(link) else { return };
            if peer.is_gone || (peer.said_bye && end == End::Left) {
                continue;
            }
            // Who stays needs every input of one who leaves.
            if self.play.as_ref().is_some_and(|play| end == End::Left && peer.acked < play.sealer.next()) {
                self.send_inputs(link, false);
            }
            self.send(link, PacketId::Bye, &bye);
        }
        let pause = (BYE_PAUSE * (1 << (BYES - byes_left))).min(BYE_PAUSE_MAX);
        self.phase = Phase::Ending { end, byes_left: byes_left - 1, send_at: self.now.plus(pause), since };
    }

    /// All ticks have run here, and some peers answer but do not finish.
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
        link.said_bye || (link.acked >= end && link.ran >= end)
    }

    fn bye(&self, end: End) -> Bye {
        match (end, &self.play) {
            (End::Finished, Some(play)) => {
                Bye::Finished { ticks: play.history.ran().0, chain: play.history.chain().0 }
            }
            (End::Desync, _) => Bye::Desync,
            (End::StartState, _) => Bye::StartState,
            (End::Unreachable(seat, other), _) => Bye::Unreachable { seat, other },
            (_, play) => Bye::Left { tick: play.as_ref().map_or(0, |play| play.sealer.next().0) },
        }
    }

    /// Whether every peer has all our inputs and has reported the hash after the last tick.
    fn others_have_finished(&self) -> bool {
        self.links.iter().all(|link| !self.is_direct(link) || self.has_finished(link))
    }

    /// A peer leaves.
    pub(super) fn on_bye(&mut self, link: usize, bye: Bye) -> Option<()> {
        if matches!(bye, Bye::Left { .. }) {
            // It goes instead of showing what differs.
            self.drop_search();
        }
        match (bye, &self.phase) {
            // A search continues: else its cause could claim differences again and again at no cost.
            (
                Bye::Finished { ticks, chain },
                Phase::Ending { .. } | Phase::Running | Phase::Searching { .. },
            ) => {
                self.is_possible(ticks).then_some(())?;
                self.links.get_mut(link)?.said_bye = true;
                self.note_finished(link, ticks, chain)?;
            }
            (Bye::Finished { .. } | Bye::Left { .. }, Phase::Over) => {
                self.links.get_mut(link)?.said_bye = true;
                self.end_vote();
                self.say_bye();
            }
            (Bye::Left { .. } | Bye::Desync, Phase::Ending { .. }) => {
                self.links.get_mut(link)?.said_bye = true;
                self.hasten_bye();
            }
            (Bye::Left { .. }, Phase::Gathering | Phase::Preparing | Phase::Seating { .. }) => {
                self.on_left_early(link);
            }
            (Bye::Left { .. }, Phase::Searching { .. }) => self.give_up_search(),
            (Bye::Left { tick }, Phase::Running) => {
                let wanted = self.play.as_ref()?.gate.wanted(self.links.get(link)?.player);
                // It has no reason to name a tick before one that it has sent, or one that it cannot have sealed.
                if Tick(tick) < wanted || tick > wanted.0.saturating_add(QUEUE_TICKS) {
                    return None;
                }
                self.links.get_mut(link)?.left_at.get_or_insert(Tick(tick));
                if !self.is_direct(self.links.get(link)?) {
                    // Its departure is being agreed on: the answer to its farewell was lost.
                    self.send(link, PacketId::Acknowledge, &Acknowledge::Left);
                }
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
            (Bye::Dropped, _) => self.on_dropped(self.links.get(link)?.player),
            _ => return None,
        }
        Some(())
    }

    fn is_from_host(&self, link: usize) -> bool {
        !self.is_host() && link == 0
    }

    /// Whether a peer can have run so many ticks: none without our input.
    fn is_possible(&self, ticks: u32) -> bool {
        self.play.as_ref().is_some_and(|play| Tick(ticks) <= play.sealer.next())
    }

    /// A peer has run all ticks and needs nothing more.
    pub(super) fn note_finished(&mut self, link: usize, ticks: u32, chain: u64) -> Option<()> {
        self.is_possible(ticks).then_some(())?;
        let (peer, ran) = (self.links.get_mut(link)?, Tick(ticks));
        peer.acked = peer.acked.max(ran);
        peer.ran = peer.ran.max(ran);
        peer.keep_chain(ran, low_half(HashChain(chain)));
        if !self.compare_chains(ran) {
            self.hasten_bye();
        }
        Some(())
    }

    /// Somebody goes before tick 0 is agreed.
    fn on_left_early(&mut self, link: usize) {
        let Some(player) = self.links.get(link).map(|peer| peer.player) else { return };
        if self.votes.has_played() {
            self.close(End::PeerLeft(player));
        } else if self.is_host() {
            self.vacate(link);
        } else if link == 0 {
            // The answer lets the host go at once.
            self.send(link, PacketId::Acknowledge, &crate::net::message::Acknowledge::Left);
            self.close(End::PeerLeft(player));
        }
    }

    pub(super) fn hasten_bye(&mut self) {
        if let Phase::Ending { send_at, .. } = &mut self.phase {
            *send_at = self.now;
        }
        self.say_bye();
    }
}
