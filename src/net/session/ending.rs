//! The end: the last tick is known to all, farewells, and the search after a desync.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::play::low_half;
use super::{End, Event, LockstepSession, Phase};
use crate::net::desync::Search;
use crate::net::message::{Acknowledge, Bye, DesyncHashes, DesyncState, PacketId};
use crate::sim::Tick;

/// How often a farewell is said before one goes without an answer.
pub(super) const BYES: u8 = 8;
/// Between the first two farewells; each pause after it is twice as long, up to [`BYE_PAUSE_MAX`].
const BYE_PAUSE: Duration = Duration::from_millis(20);
/// Longest pause between two farewells: together they outlast a burst of losses by a second.
const BYE_PAUSE_MAX: Duration = Duration::from_millis(320);
/// Shortest time between two messages of a search.
const SEARCH_EVERY: Duration = Duration::from_millis(20);

impl LockstepSession {
    /// All ticks have run here, or this player leaves: answer until the others know, say good-bye, close.
    pub(super) fn say_bye(&mut self) {
        let Phase::Ending { end, byes_left, send_at } = self.phase else { return };
        let is_over_for_all = end != End::Finished || self.others_have_finished();
        let all_said_bye = self.links.iter().all(|link| link.said_bye);
        if is_over_for_all && (byes_left == 0 || (all_said_bye && byes_left < BYES)) {
            self.close(end);
            return;
        }
        let is_first_bye = is_over_for_all && byes_left == BYES;
        if self.now < send_at && !is_first_bye {
            return;
        }
        if !is_over_for_all {
            let mut next = Duration::MAX;
            for link in 0..self.links.len() {
                self.send_inputs(link, false);
                next = next.min(self.links[link].resend_at.since(self.now));
            }
            self.phase = Phase::Ending { end, byes_left, send_at: self.now.plus(next) };
            return;
        }
        let bye = self.bye(end);
        for link in 0..self.links.len() {
            self.send(link, PacketId::Bye, &bye);
        }
        let pause = (BYE_PAUSE * (1 << (BYES - byes_left))).min(BYE_PAUSE_MAX);
        self.phase = Phase::Ending { end, byes_left: byes_left - 1, send_at: self.now.plus(pause) };
    }

    fn bye(&self, end: End) -> Bye {
        match (end, &self.play) {
            (End::Finished, Some(play)) => {
                Bye::Finished { ticks: play.history.ran().0, chain: play.history.chain().0 }
            }
            (End::Desync, _) => Bye::Desync,
            (End::StartState, _) => Bye::StartState,
            _ => Bye::Left,
        }
    }

    /// Whether every peer has all our inputs and has reported the hash after the last tick.
    fn others_have_finished(&self) -> bool {
        let Some(play) = &self.play else { return true };
        let end = play.history.ran();
        self.links.iter().all(|link| link.said_bye || (link.acked >= end && link.ran >= end))
    }

    /// A peer leaves.
    pub(super) fn on_bye(&mut self, link: usize, bye: Bye) -> Option<()> {
        let player = self.links[link].player;
        match (bye, &self.phase) {
            (Bye::Finished { ticks, chain }, Phase::Ending { .. } | Phase::Running) => {
                let peer = &mut self.links[link];
                let ran = Tick(ticks.min(Tick::MAX.0));
                peer.said_bye = true;
                peer.acked = peer.acked.max(ran);
                peer.ran = peer.ran.max(ran);
                peer.keep_chain(ran, low_half(crate::sim::HashChain(chain)));
                if !self.compare_chains(ran) {
                    self.hasten_bye();
                }
            }
            (Bye::Left, Phase::Ending { .. }) => {
                self.links[link].said_bye = true;
                self.hasten_bye();
            }
            (Bye::Left, Phase::Gathering | Phase::Preparing | Phase::Barrier { .. }) if self.is_host() => {
                self.vacate(link);
            }
            (Bye::Left, Phase::Searching { .. }) => self.give_up_search(),
            (Bye::Left, _) => {
                // The answer lets the other go at once.
                self.send(link, PacketId::Bye, &Bye::Left);
                self.close(End::PeerLeft(player));
            }
            (Bye::Desync, Phase::Ending { .. }) => {
                self.links[link].said_bye = true;
                self.hasten_bye();
            }
            (Bye::StartState, _) => self.close(End::StartState),
            _ => return None,
        }
        Some(())
    }

    fn hasten_bye(&mut self) {
        if let Phase::Ending { send_at, .. } = &mut self.phase {
            *send_at = self.now;
        }
        self.say_bye();
    }

    /// Hash chains differ: stop, and find out where.
    pub(super) fn begin_search(&mut self, link: usize) {
        if !matches!(self.phase, Phase::Running | Phase::Ending { end: End::Finished, .. }) {
            return;
        }
        let hashes = self.play.as_ref().expect("ran").history.latest();
        let search = Box::new(Search::new(link, hashes));
        self.phase = Phase::Searching { search, send_at: self.now, since: self.now };
    }

    /// The peer's last hashes: it searches, or answers our search.
    pub(super) fn on_desync_hashes(&mut self, link: usize, theirs: &DesyncHashes) -> Option<()> {
        let tick = self.play.as_ref()?.history.first_difference(theirs);
        let differ = tick.is_some();
        self.send(link, PacketId::Acknowledge, &Acknowledge::DesyncHashes { differ });
        // A claim alone stops nothing: our own hashes must differ too.
        let Some(tick) = tick else { return Some(()) };
        self.begin_search(link);
        let Phase::Searching { search, .. } = &mut self.phase else { return None };
        if search.link == link && search.tick.is_none() {
            search.tick = Some(tick);
            self.event(Event::StateWanted { tick });
        }
        Some(())
    }

    /// The peer whose chain differed has the same hashes as we: the match goes on.
    pub(super) fn dismiss_search(&mut self, link: usize) {
        let Phase::Searching { search, .. } = &self.phase else { return };
        if search.link != link || search.tick.is_some() {
            return;
        }
        let play = self.play.as_ref().expect("ran");
        if play.end.is_some_and(|end| play.history.ran() >= end) {
            self.begin_ending(End::Finished);
        } else {
            self.phase = Phase::Running;
        }
    }

    /// The state after the tick that [`Event::StateWanted`] named, in the bytes of its snapshot; empty if it
    /// is no longer there.
    pub fn provide_state(&mut self, tick: Tick, bytes: Vec<u8>) {
        if let Phase::Searching { search, send_at, .. } = &mut self.phase
            && search.tick == Some(tick)
        {
            search.provide(bytes);
            *send_at = self.now;
        }
    }

    pub(super) fn on_desync_state(&mut self, link: usize, piece: DesyncState) -> Option<()> {
        let chunk = piece.chunk;
        let Phase::Searching { search, .. } = &mut self.phase else {
            // Our report is written already: the acknowledgement was lost.
            let is_ending = matches!(self.phase, Phase::Ending { end: End::Desync, .. });
            if is_ending {
                self.send(link, PacketId::Acknowledge, &Acknowledge::DesyncState { chunk });
            }
            return is_ending.then_some(());
        };
        if search.link != link || !search.take(piece) {
            return None;
        }
        self.send(link, PacketId::Acknowledge, &Acknowledge::DesyncState { chunk });
        self.advance_search(|_| {})
    }

    /// Sends again what the peer has not acknowledged.
    pub(super) fn search(&mut self) {
        let Phase::Searching { search, send_at, since } = &self.phase else { return };
        if self.now.since(*since) >= self.settings.timeout {
            self.give_up_search();
            return;
        }
        if self.now < *send_at {
            return;
        }
        let link = search.link;
        let hashes = (!search.has_hashes).then(|| search.hashes.clone());
        let pieces: Vec<DesyncState> = search.missing().collect();
        if let Some(hashes) = hashes {
            self.send(link, PacketId::DesyncHashes, &hashes);
        }
        for piece in pieces {
            self.send(link, PacketId::DesyncState, &piece);
        }
        let again = self.now.plus(self.links[link].rtt.timeout(SEARCH_EVERY));
        if let Phase::Searching { send_at, .. } = &mut self.phase {
            *send_at = again;
        }
    }

    /// Notes what the peer has, and hands the result out once both states are here and there.
    pub(super) fn advance_search(&mut self, note: impl FnOnce(&mut Search)) -> Option<()> {
        let Phase::Searching { search, send_at, .. } = &mut self.phase else { return Some(()) };
        note(search);
        *send_at = self.now;
        let (link, tick) = (search.link, search.tick);
        if !search.is_reported
            && let Some(theirs) = search.their_state()
        {
            search.is_reported = true;
            let player = self.links[link].player;
            self.event(Event::Desync { player, tick, theirs });
        }
        let Phase::Searching { search, .. } = &self.phase else { return Some(()) };
        if search.is_reported && search.is_sent() && search.has_hashes {
            self.begin_ending(End::Desync);
        }
        Some(())
    }

    /// The other peer no longer answers: say what is known.
    pub(super) fn give_up_search(&mut self) {
        let Phase::Searching { search, .. } = &self.phase else { return };
        let (player, tick) = (self.links[search.link].player, search.tick);
        if !search.is_reported {
            self.event(Event::Desync { player, tick, theirs: Vec::new() });
        }
        self.close(End::Desync);
    }
}
