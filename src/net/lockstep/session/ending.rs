//! The end of a match: all peers learn that the last tick has run, and say goodbye.

use super::play::low_bits;
use super::{Lockstep, Mesh, Phase};
use crate::connection::CLOSE_WITHIN;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::play::link::Link;
use crate::play::stall_budget::whole;
use crate::time::Time;
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::{Bye, PacketId, Seats};
use sim::{HashChain, Tick};

/// A peer that has not finished this part of a whole budget ([`whole`]) after the last tick here is lost: if a third peer
/// withholds its last inputs, it takes them from others long before.
const FINISH_WITHIN: (u32, u32) = (3, 4);

impl Mesh {
    /// Resends inputs to peers that lack some. Returns when to do so again.
    fn send_inputs_again(&mut self) -> Time {
        let mut next = CLOSE_WITHIN;
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|link| link.is_direct()) {
                self.send_inputs(link, false);
                let resend_at = self.links.get(link).map_or(self.now, |link| link.resend_at);
                next = next.min(resend_at.since(self.now));
            }
        }
        self.now.plus(next)
    }

    /// Whether this peer has all our inputs and has reported the hash after the last tick.
    fn has_finished(&self, link: &Link) -> bool {
        let end = self.play.history.ran();
        link.said_bye || (link.acked.inputs >= end && link.claims.ran >= end)
    }

    fn bye(&self, end: End) -> Bye {
        let history = &self.play.history;
        match end {
            End::Finished => {
                // Only all of those who have played can play again.
                let stays = self.settings.stays && self.links.iter().all(|link| link.is_direct());
                Bye::Finished { ticks: history.ran().0, chain: history.chain().0, stays }
            }
            End::Desync => Bye::Desync,
            _ => Bye::Left { tick: self.play.revealed().0 },
        }
    }

    /// The peers that lack our inputs or have not reported the hash after the last tick.
    fn unfinished(&self) -> Seats {
        let lags = |link: &&Link| link.is_direct() && !self.has_finished(link);
        self.links.iter().filter(lags).map(|link| link.player).collect()
    }

    /// Whether all who have played stay for another match.
    fn stays_whole(&self, end: End) -> bool {
        let stays = |link: &Link| link.is_direct() && link.stays && link.connection.is_idle();
        end == End::Finished && self.settings.stays && self.links.iter().all(stays)
    }

    /// Whether a peer can have run this many ticks: it cannot run any without our input.
    fn is_possible(&self, ticks: u32) -> bool {
        Tick(ticks) <= self.play.revealed()
    }
}

impl Lockstep {
    pub(super) fn begin_ending(&mut self, end: End) {
        let now = self.mesh.now;
        self.phase = Phase::Ending { end, send_at: now, since: now, until: None };
    }

    /// All ticks have run here, or this player leaves: answer until the others know, say goodbye, close.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end, send_at, since, until } = self.phase else { return };
        let Some(until) = until else {
            if end != End::Finished || self.mesh.unfinished().is_empty() {
                self.say_bye(end);
            } else if self.mesh.now.since(since)
                >= whole(self.mesh.settings.timeout) * FINISH_WITHIN.0 / FINISH_WITHIN.1
            {
                // They answer, and do not finish.
                for player in self.mesh.unfinished().iter() {
                    self.suspect(player);
                }
            } else if self.mesh.now >= send_at {
                let send_at = self.mesh.send_inputs_again();
                self.phase = Phase::Ending { end, send_at, since, until: None };
            }
            return;
        };
        // A player who leaves owes the remaining peers all its earlier inputs.
        let sealed = if end == End::Left { self.mesh.play.revealed() } else { Tick(0) };
        let has_all = |link: &Link| link.connection.is_idle() && link.acked.inputs >= sealed;
        // Who stays waits for what the others say; who goes, only until they know.
        let stays = end == End::Finished && self.mesh.settings.stays;
        let is_done = |link: &Link| {
            if stays { link.said_bye && has_all(link) } else { link.said_bye || has_all(link) }
        };
        if self.mesh.now >= until || self.mesh.links.iter().all(|link| link.is_gone || is_done(link)) {
            if self.mesh.stays_whole(end) {
                self.phase = Phase::Over;
                self.mesh.out.event(Event::Over);
            } else {
                self.close(end);
            }
        } else if self.mesh.now >= send_at {
            let send_at = self.mesh.send_inputs_again();
            self.phase = Phase::Ending { end, send_at, since, until: Some(until) };
        }
    }

    /// Says goodbye, once, over the reliable channel.
    fn say_bye(&mut self, end: End) {
        let (now, bye) = (self.mesh.now, self.mesh.bye(end));
        self.mesh.send_to_all(PacketId::Bye, &bye);
        let until = now.plus(CLOSE_WITHIN);
        let send_at = if end == End::Left { now } else { until };
        self.phase = Phase::Ending { end, send_at, since: now, until: Some(until) };
        self.end();
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
                Bye::Finished { ticks, chain, stays },
                Phase::Ending { .. } | Phase::Running | Phase::Searching { .. },
            ) => {
                self.mesh.is_possible(ticks).then_some(()).ok_or(OutOfPlace)?;
                let (peer, ran) = (self.mesh.links.get_mut(link).ok_or(OutOfPlace)?, Tick(ticks));
                (peer.said_bye, peer.stays) = (true, stays);
                peer.acked.inputs = peer.acked.inputs.max(ran);
                peer.claims.ran = peer.claims.ran.max(ran);
                peer.claims.keep_chain(ran, low_bits(HashChain(chain)));
                if !self.compare_chains(ran) {
                    self.end();
                }
            }
            // Dropped acknowledges this player's own Left: its inputs have arrived.
            (Bye::Left { .. } | Bye::Desync | Bye::Dropped, Phase::Ending { .. })
            | (Bye::Desync, Phase::Searching { .. }) => {
                self.mesh.links.get_mut(link).ok_or(OutOfPlace)?.said_bye = true;
                self.end();
            }
            (Bye::Left { .. }, Phase::Searching { .. }) => self.give_up_search(),
            (Bye::Left { tick }, Phase::Running) => {
                let player = self.mesh.links.get(link).ok_or(OutOfPlace)?.player;
                let wanted = self.mesh.play.gate.next_needed(player);
                // It cannot have left before a tick that it has sent, nor at a tick that it cannot have
                // committed.
                if Tick(tick) < wanted || tick > wanted.0.saturating_add(QUEUE_TICKS) {
                    return Err(OutOfPlace);
                }
                self.mesh.links.get_mut(link).ok_or(OutOfPlace)?.left_at.get_or_insert(Tick(tick));
                self.settle_leavers();
            }
            // It no longer accepts anything from this peer, and sends nothing: either others relay between the two, or it
            // has continued without this peer.
            (Bye::Dropped, Phase::Running) => {
                self.suspect(self.mesh.links.get(link).ok_or(OutOfPlace)?.player)
            }
            (Bye::Dropped, _) => {}
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }
}
