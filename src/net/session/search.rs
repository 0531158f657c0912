//! Hash chains differ: all peers find the first tick on which their states do, and exchange them.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::{End, Event, LockstepSession, Phase};
use crate::net::desync::{Odd, Search};

use crate::net::message::{Acknowledge, DesyncHashes, DesyncState, PacketId};
use crate::sim::Tick;

/// How many times in a row the time between two messages doubles while nothing is acknowledged.
const RETRIES_DOUBLE: u32 = 5;
/// How many claims of a difference a peer may take back before it is suspected.
const FALSE_CLAIMS_MAX: u8 = 2;
/// Shortest time between two messages of a search.
const SEARCH_EVERY: Duration = Duration::from_millis(20);

impl LockstepSession {
    /// The chain of this link's peer differs: stop, and find out where.
    pub(super) fn begin_search(&mut self, link: usize) {
        if !matches!(self.phase, Phase::Running | Phase::Ending { end: End::Finished, .. }) {
            return;
        }
        let Some(play) = &self.play else { return };
        let hashes = play.history.latest();
        let here = self.links.iter().enumerate().filter(|(_, link)| self.is_direct(link));
        let search = Box::new(Search::new(link, hashes, here.map(|(i, _)| i)));
        self.phase = Phase::Searching { search, send_at: self.now, since: self.now };
        self.compare_lists();
    }

    /// The peer's last hashes: it searches, or answers our search.
    pub(super) fn on_desync_hashes(&mut self, link: usize, theirs: DesyncHashes) -> Option<()> {
        let play = self.play.as_ref().filter(|_| theirs.hashes.len() == theirs.inputs.len())?;
        let is_suspect = play.departures.suspects().has(self.links.get(link)?.player);
        let differ = play.history.first_difference(&theirs).is_some();
        self.send(link, PacketId::Acknowledge, &Acknowledge::DesyncHashes { differ });
        self.links.get_mut(link)?.hashes = Some(Box::new(theirs));
        // A claim alone stops nothing: our own hashes must differ too.
        if differ && !is_suspect {
            self.begin_search(link);
        }
        self.compare_lists();
        Some(())
    }

    /// Once every list is here: the first tick on which any two differ.
    fn compare_lists(&mut self) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        let links = &self.links;
        // One that has run more since is from an earlier search.
        let list = |link: usize| {
            let peer = links.get(link)?;
            peer.hashes.as_deref().filter(|list| peer.ran <= list.end())
        };
        let lists = search.links().map(list);
        let Some(lists) = lists.collect::<Option<Vec<&DesyncHashes>>>() else { return };
        if search.tick.is_none()
            && let Some(tick) = search.first_difference(&lists)
        {
            search.tick = Some(tick);
            search.odd = search.odd_one(tick, &lists);
            self.out.event(Event::StateWanted { tick });
        }
    }

    /// A peer has our hashes, and says whether they are its own.
    pub(super) fn on_hashes_acknowledged(&mut self, link: usize, differ: bool) -> Option<()> {
        if !differ {
            self.dismiss_search(link);
        }
        self.advance_search(|search| search.has_hashes(link))
    }

    /// The peer whose chain differed has the same hashes as we: play resumes. An honest peer never
    /// makes such a claim; one that makes [`FALSE_CLAIMS_MAX`] of them is suspected.
    fn dismiss_search(&mut self, link: usize) {
        let is_cause = matches!(&self.phase, Phase::Searching { search, .. } if search.cause == link);
        if is_cause
            && self.drop_search()
            && let Some(peer) = self.links.get_mut(link)
        {
            peer.false_claims = peer.false_claims.saturating_add(1);
            if peer.false_claims >= FALSE_CLAIMS_MAX {
                let player = peer.player;
                self.suspect(player);
            }
        }
    }

    /// If a search is on, the match goes on, unless a tick is known that differs. True if it does: a claim that nobody can show
    /// to be true ends nothing.
    pub(super) fn drop_search(&mut self) -> bool {
        let Phase::Searching { search, .. } = &self.phase else { return false };
        if search.tick.is_some() {
            return false;
        }
        self.leave_search();
        true
    }

    /// Plays on where the search began.
    fn leave_search(&mut self) {
        for link in &mut self.links {
            link.hashes = None;
        }
        let has_ended =
            self.play.as_ref().is_some_and(|play| play.end.is_some_and(|end| play.history.ran() >= end));
        if has_ended {
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
        if !search.take(link, piece) {
            return None;
        }
        self.send(link, PacketId::Acknowledge, &Acknowledge::DesyncState { chunk });
        self.advance_search(|_| {})
    }

    /// Sends again what the peers have not acknowledged.
    pub(super) fn search(&mut self) {
        let Phase::Searching { search, send_at, since } = &self.phase else { return };
        if self.now.since(*since) >= self.settings.timeout {
            let cause = self.links.get(search.cause).map(|peer| peer.player);
            if !self.drop_search() {
                self.give_up_search();
            } else if let Some(cause) = cause {
                // It claims, and does not answer.
                self.suspect(cause);
            }
            return;
        }
        if self.now < *send_at {
            return;
        }
        let hashes = search.hashes.clone();
        let mut again = SEARCH_EVERY;
        for link in search.links().collect::<Vec<usize>>() {
            let Phase::Searching { search, .. } = &self.phase else { return };
            let (lacks_hashes, pieces) = (search.lacks_hashes(link), search.missing(link));
            if lacks_hashes {
                self.send(link, PacketId::DesyncHashes, &hashes);
            }
            for piece in pieces {
                self.send(link, PacketId::DesyncState, &piece);
            }
            again = again.max(self.timeout_of(link, SEARCH_EVERY));
        }
        if let Phase::Searching { search, send_at, .. } = &mut self.phase {
            // A peer that acknowledges nothing gets less and less.
            *send_at = self.now.plus(again * (1 << search.tries.min(RETRIES_DOUBLE)));
            search.tries += 1;
        }
    }

    /// Notes what a peer has, and hands the result out once all states are here and there.
    pub(super) fn advance_search(&mut self, note: impl FnOnce(&mut Search)) -> Option<()> {
        let Phase::Searching { search, .. } = &mut self.phase else { return Some(()) };
        note(search);
        let is_complete = search.tick.is_some() && search.has_all_states();
        if is_complete && !core::mem::replace(&mut search.is_reported, true) {
            self.report_search();
        }
        let Phase::Searching { search, .. } = &self.phase else { return Some(()) };
        if search.is_reported && search.is_sent() {
            self.conclude_search();
        }
        Some(())
    }

    /// The difference is reported: a single odd one goes, and the others play on; else the match ends.
    fn conclude_search(&mut self) {
        let Phase::Searching { search, .. } = &self.phase else { return };
        if let Some(Odd::Link(link)) = search.odd {
            self.leave_search();
            if let Some(player) = self.links.get(link).map(|peer| peer.player) {
                self.suspect(player);
            }
        } else {
            self.begin_ending(End::Desync);
        }
    }

    /// Tells what is known of the difference.
    fn report_search(&mut self) {
        let Phase::Searching { search, .. } = &self.phase else { return };
        let tick = search.tick;
        let states = search.states().filter_map(|(link, state)| Some((self.links.get(link)?.player, state)));
        let states = states.collect();
        self.out.event(Event::Desync { tick, states });
    }

    /// A peer no longer answers: say what is known.
    pub(super) fn give_up_search(&mut self) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        if !core::mem::replace(&mut search.is_reported, true) {
            self.report_search();
        }
        let Phase::Searching { search, .. } = &self.phase else { return };
        if matches!(search.odd, Some(Odd::Link(_))) {
            self.conclude_search();
        } else {
            self.close(End::Desync);
        }
    }
}
