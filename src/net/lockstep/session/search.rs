//! Hash chains differ: all peers find the first tick on which their states differ, and exchange those states.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::{LockstepSession, Phase};
use crate::connection::MESSAGE_BYTES_MAX;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::lockstep::desync::Search;
use crate::mutation::Mutation;
use crate::table::link::Link;
use crate::time::Time;
use crate::wire::message::{DESYNC_STATE_BYTES_MAX, DesyncHashes, DesyncState, PacketId};
use sim::Tick;

/// Time in which a peer of three or more that claims a difference must show its hashes: meanwhile those that search
/// commit nothing, and hold the others up who see no difference. At least [`CLAIM_TRIES`] times the retransmission
/// timeout of its link.
const CLAIM_WITHIN: Duration = Duration::from_secs(1);
/// See [`CLAIM_WITHIN`].
const CLAIM_TRIES: u32 = 6;
/// Number of claims of a difference that a peer may withdraw before it is suspected.
const FALSE_CLAIMS_MAX: u8 = 2;

impl LockstepSession {
    /// The chain of this link's peer differs: stops the match and searches for the first difference.
    pub(super) fn begin_search(&mut self, link: usize) {
        if !matches!(self.phase, Phase::Running | Phase::Ending { end: End::Finished, .. }) {
            return;
        }
        let Some(play) = &self.play else { return };
        let hashes = play.history.latest();
        let here = self.links.iter().enumerate().filter(|(_, link)| self.is_direct(link));
        let search = Search::new(link, hashes, here.map(|(i, _)| i));
        let list = search.hashes.clone();
        for link in search.links() {
            if let Some(peer) = self.links.get_mut(link) {
                peer.connection.set_message_bytes_max(MESSAGE_BYTES_MAX + DESYNC_STATE_BYTES_MAX);
                peer.connection.send(&mut self.out, PacketId::DesyncHashes, &list);
            }
        }
        self.phase = Phase::Searching { search: Box::new(search), since: self.now };
        self.compare_lists();
    }

    /// The peer's latest hashes: it has begun a search, or answers ours.
    pub(super) fn on_desync_hashes(&mut self, link: usize, theirs: DesyncHashes) -> Handled {
        let play =
            self.play.as_ref().filter(|_| theirs.hashes.len() == theirs.inputs.len()).ok_or(OutOfPlace)?;
        let is_suspect = play.departures.suspects().contains(self.links.get(link).ok_or(OutOfPlace)?.player);
        let (differ, asks) = (play.history.first_difference(&theirs).is_some(), theirs.asks);
        let own = DesyncHashes { asks: false, ..play.history.latest() };
        self.links.get_mut(link).ok_or(OutOfPlace)?.claims.hashes = asks.then(|| Box::new(theirs));
        if !asks {
            if let Some(peer) = self.links.get_mut(link) {
                peer.claims.shown.clear();
            }
            self.withdraw_list();
        }
        // A claim alone stops nothing: our own hashes must differ too. Who only answers takes no part in a search.
        if differ && asks && !is_suspect {
            self.begin_search(link);
        } else if !differ {
            self.dismiss_search(link);
        }
        if asks && !matches!(self.phase, Phase::Searching { .. }) {
            self.send(link, PacketId::DesyncHashes, &own);
        }
        self.compare_lists();
        Ok(())
    }

    /// A peer sees no difference, or no longer does: it leaves the search, and conclusions from its list are
    /// discarded.
    fn withdraw_list(&mut self) {
        if let Phase::Searching { search, .. } = &mut self.phase
            && !search.is_reported
        {
            search.forget_conclusions();
        }
    }

    /// Once every list has arrived: finds the first tick on which any two differ.
    fn compare_lists(&mut self) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        let links = &self.links;
        // A list that ends later is from an earlier search.
        let list = |link: usize| {
            let peer = links.get(link)?;
            peer.claims.hashes.as_deref().filter(|list| peer.claims.ran <= list.end())
        };
        let lists = search.links().map(list);
        let Some(lists) = lists.collect::<Option<Vec<&DesyncHashes>>>() else { return };
        if search.tick.is_none()
            && let Some(tick) = search.first_difference(&lists)
        {
            search.tick = Some(tick);
            let is_signed = self.play.as_ref().is_some_and(|play| play.heads.is_some());
            search.split = (is_signed && search.is_split(tick, &lists)).then(|| tick.plus(1));
            self.out.event(Event::StateWanted { tick });
            self.show_heads();
        }
    }

    /// The peer whose chain differed has the same hashes as we: play resumes. An honest peer never
    /// makes such a claim; a peer that makes [`FALSE_CLAIMS_MAX`] of them is suspected.
    fn dismiss_search(&mut self, link: usize) {
        let is_cause = matches!(&self.phase, Phase::Searching { search, .. } if search.cause == link);
        if is_cause
            && self.drop_search()
            && let Some(peer) = self.links.get_mut(link)
        {
            peer.claims.taken_back = peer.claims.taken_back.saturating_add(1);
            if peer.claims.taken_back >= FALSE_CLAIMS_MAX {
                let player = peer.player;
                self.suspect(player);
            }
        }
    }

    /// Ends a search that has found no differing tick, and resumes the match: an unproven claim ends nothing.
    /// True if there was such a search.
    pub(super) fn drop_search(&mut self) -> bool {
        let Phase::Searching { search, .. } = &self.phase else { return false };
        if search.tick.is_some() {
            return false;
        }
        // The others must discard the list that they have received.
        let (links, list) = (search.links(), DesyncHashes { asks: false, ..search.hashes.clone() });
        self.leave_search();
        for link in links {
            self.send(link, PacketId::DesyncHashes, &list);
        }
        true
    }

    /// Resumes the match where the search began.
    fn leave_search(&mut self) {
        for link in &mut self.links {
            (link.claims.hashes, link.claims.state) = (None, None);
            link.claims.shown.clear();
            link.connection.set_message_bytes_max(MESSAGE_BYTES_MAX);
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
    /// is no longer kept.
    pub fn provide_state(&mut self, tick: Tick, mut bytes: Vec<u8>) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        if search.tick != Some(tick) || core::mem::replace(&mut search.has_sent_state, true) {
            return;
        }
        bytes.truncate(DESYNC_STATE_BYTES_MAX);
        let state = DesyncState { tick: tick.0, bytes }.encode();
        for link in search.links() {
            if let Some(peer) = self.links.get_mut(link) {
                peer.connection.send_bytes(PacketId::DesyncState, &state);
            }
        }
        self.advance_search();
    }

    /// A peer's state. The peer may know before this one which tick differs: then the state is kept until
    /// then.
    pub(super) fn on_desync_state(&mut self, link: usize, state: DesyncState) -> Handled {
        let Phase::Searching { search, .. } = &self.phase else { return Err(OutOfPlace) };
        if !search.links().any(|side| side == link) {
            return Err(OutOfPlace);
        }
        self.links.get_mut(link).ok_or(OutOfPlace)?.claims.state = Some(state);
        Ok(())
    }

    /// Ends a search that takes too long.
    pub(super) fn search(&mut self) {
        if self.search_until().is_none_or(|until| self.now < until) {
            return;
        }
        let Phase::Searching { search, .. } = &self.phase else { return };
        let Some(cause) = self.links.get(search.cause).map(|peer| peer.player) else { return };
        if self.drop_search() {
            // It claims a difference and does not answer.
            self.suspect(cause);
        } else {
            self.give_up_search();
        }
    }

    /// The instant at which the search has taken too long.
    pub(super) fn search_until(&self) -> Option<Time> {
        let Phase::Searching { search, since } = &self.phase else { return None };
        let timeout = self.settings.timeout;
        let is_claim = search.tick.is_none() && search.links().count() > 1;
        let least = self.timeout_of(search.cause, Duration::ZERO).saturating_mul(CLAIM_TRIES);
        Some(since.plus(if is_claim { timeout.min(CLAIM_WITHIN.max(least)) } else { timeout }))
    }

    /// Reports the result once all states have arrived, and ends the search once ours has been acknowledged,
    /// too.
    pub(super) fn advance_search(&mut self) {
        let has_seen_heads = self.has_seen_heads();
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        let links = || search.links().filter_map(|link| self.links.get(link));
        let tick = search.tick.map(|tick| tick.0);
        let is_here = |link: &Link| link.claims.state.as_ref().is_some_and(|state| Some(state.tick) == tick);
        let is_complete = tick.is_some() && links().all(is_here) && has_seen_heads;
        let is_sent = search.has_sent_state && links().all(|link| link.connection.is_idle());
        if is_complete && !search.is_reported {
            self.report_search();
        }
        if is_complete && is_sent {
            self.conclude_search();
        }
    }

    /// The difference is reported: if a single peer differs from all others, it is dropped and the others
    /// play on; otherwise the match ends.
    fn conclude_search(&mut self) {
        if let Some(link) = self.odd_link() {
            self.leave_search();
            if let Some(player) = self.links.get(link).map(|peer| peer.player) {
                self.suspect(player);
            }
        } else {
            self.begin_ending(End::Desync);
        }
    }

    /// The link to the only peer of three or more whose states or inputs differ from those of all others. Among those who
    /// agree is at most one liar, so it is in the wrong, or was told other inputs by a liar: that it must show by what the
    /// liar has signed.
    fn odd_link(&self) -> Option<usize> {
        let Phase::Searching { search, .. } = &self.phase else { return None };
        let lists = search.links().map(|link| self.links.get(link)?.claims.hashes.as_deref());
        let lists = lists.collect::<Option<Vec<&DesyncHashes>>>()?;
        search
            .lone_one(search.tick?, &lists)
            .filter(|&link| !self.was_lied_to(link) && !Mutation::LoneList.is_planted())
    }

    /// Reports what is known about the difference, once.
    fn report_search(&mut self) {
        let equivocation = self.equivocation().map(Box::new);
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        if core::mem::replace(&mut search.is_reported, true) {
            return;
        }
        let tick = search.tick;
        let known = search.links().filter_map(|link| self.links.get(link));
        let states = known.filter_map(|link| {
            let state = link.claims.state.as_ref().filter(|state| Some(Tick(state.tick)) == tick)?;
            Some((link.player, state.bytes.clone()))
        });
        let states = states.collect();
        self.out.event(Event::Desync { tick, states, equivocation });
    }

    /// A peer no longer answers: reports what is known.
    pub(super) fn give_up_search(&mut self) {
        self.report_search();
        if self.odd_link().is_some() {
            self.conclude_search();
        } else if matches!(self.phase, Phase::Searching { .. }) {
            self.close(End::Desync);
        }
    }
}
