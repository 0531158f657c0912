//! The end of a match: all peers learn that the last tick has run, and say goodbye.

use super::play::low_bits;
use super::{Lockstep, Mesh, Phase};
use crate::connection::CLOSE_WITHIN;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::play::link::Link;
use crate::play::stall_budget::whole;
use crate::time::Time;
use crate::timer::Timer;
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::{Bye, PacketId, Seats};
use sim::{HashChain, Tick};

/// A peer that has not finished this part of a whole budget ([`whole`]) after the last tick here is lost: if a third peer
/// withholds its last inputs, it takes them from others long before.
const FINISH_WITHIN: (u32, u32) = (3, 4);

impl Mesh {
    /// Sends inputs to all at `at` unless others go before, and none without it.
    pub(super) fn resend_at(&mut self, at: Option<Time>) {
        for link in &mut self.links {
            link.connection.timers.set(Timer::Resend, at);
            link.connection.timers.set(Timer::Repeat, None);
        }
    }

    /// Resends inputs where that is due.
    fn resend_inputs(&mut self) {
        for link in 0..self.links.len() {
            let is_due =
                |link: &Link| link.is_direct() && link.connection.timers.is_due(Timer::Resend, self.now);
            if self.links.get(link).is_some_and(is_due) {
                self.send_inputs(link, false);
            }
        }
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
        self.mesh.resend_at(Some(now));
        let within = whole(self.mesh.settings.timeout) * FINISH_WITHIN.0 / FINISH_WITHIN.1;
        self.mesh.play.timers.set(Timer::Finish, now.plus(within));
        self.phase = Phase::Ending { end, since: now, is_closing: false };
    }

    /// All ticks have run here, or this player leaves: answer until the others know, say goodbye, close.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end, is_closing, .. } = self.phase else { return };
        let now = self.mesh.now;
        if !is_closing {
            if end != End::Finished || self.mesh.unfinished().is_empty() {
                self.say_bye(end);
            } else if self.mesh.play.timers.is_due(Timer::Finish, now) {
                self.mesh.play.timers.set(Timer::Finish, None);
                // They answer, and do not finish.
                for player in self.mesh.unfinished().iter() {
                    self.suspect(player);
                }
            } else {
                self.mesh.resend_inputs();
            }
            return;
        }
        // A player who leaves owes the remaining peers all its earlier inputs.
        let sealed = if end == End::Left { self.mesh.play.revealed() } else { Tick(0) };
        let has_all = |link: &Link| link.connection.is_idle() && link.acked.inputs >= sealed;
        // Who stays waits for what the others say; who goes, only until they know.
        let stays = end == End::Finished && self.mesh.settings.stays;
        let is_done = |link: &Link| {
            if stays { link.said_bye && has_all(link) } else { link.said_bye || has_all(link) }
        };
        let is_late = self.mesh.play.timers.is_due(Timer::Close, now);
        if is_late || self.mesh.links.iter().all(|link| link.is_gone || is_done(link)) {
            if self.mesh.stays_whole(end) {
                self.phase = Phase::Over;
                self.mesh.play.timers.set(Timer::Close, None);
                self.mesh.out.event(Event::Over);
            } else {
                self.close(end);
            }
        } else {
            self.mesh.resend_inputs();
        }
    }

    /// Says goodbye, once, over the reliable channel.
    fn say_bye(&mut self, end: End) {
        let (now, bye) = (self.mesh.now, self.mesh.bye(end));
        self.mesh.send_to_all(PacketId::Bye, &bye);
        self.mesh.resend_at((end == End::Left).then_some(now));
        self.mesh.play.timers.set(Timer::Finish, None);
        self.mesh.play.timers.set(Timer::Close, now.plus(CLOSE_WITHIN));
        self.phase = Phase::Ending { end, since: now, is_closing: true };
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
