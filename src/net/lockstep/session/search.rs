//! Hash chains differ: all peers find the first tick on which their states differ, and exchange those states.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::{Lockstep, Mesh, Phase};
use crate::connection::MESSAGE_BYTES_MAX;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::lockstep::desync::Search;
use crate::mutation::Mutation;
use crate::play::link::Link;
use crate::time::Time;
use crate::timer::{Timer, Timers};
use crate::wire::limits::DESYNC_STATE_BYTES_MAX;
use crate::wire::message::{DesyncHashes, DesyncState, PacketId};
use sim::Tick;

/// Time in which a peer of three or more that claims a difference must show its hashes: meanwhile those that search
/// commit nothing, and hold the others up who see no difference. At least [`CLAIM_TRIES`] times the retransmission
/// timeout of its link.
const CLAIM_WITHIN: Duration = Duration::from_secs(1);
/// See [`CLAIM_WITHIN`].
const CLAIM_TRIES: u32 = 6;
/// Number of claims of a difference that a peer may withdraw before it is suspected.
const FALSE_CLAIMS_MAX: u8 = 2;

impl Search {
    /// Once every list has arrived: finds the first tick on which any two differ.
    fn compare_lists(&mut self, mesh: &mut Mesh) {
        let links = &mesh.links;
        // A list that ends later is from an earlier search.
        let list = |link: usize| {
            let peer = links.get(link)?;
            peer.claims.hashes.as_deref().filter(|list| peer.claims.ran <= list.end())
        };
        let lists = self.links().map(list);
        let Some(lists) = lists.collect::<Option<Vec<&DesyncHashes>>>() else { return };
        if self.tick.is_none()
            && let Some(tick) = self.first_difference(&lists)
        {
            self.tick = Some(tick);
            let is_signed = mesh.play.heads.is_some();
            self.split = (is_signed && self.is_split(tick, &lists)).then(|| tick.plus(1));
            mesh.out.event(Event::StateWanted { tick });
            self.show_heads(mesh);
        }
    }

    /// The link to the only peer of three or more whose states or inputs differ from those of all others. Among those who
    /// agree is at most one liar, so it is in the wrong, or was told other inputs by a liar: that it must show by what the
    /// liar has signed.
    fn odd_link(&self, mesh: &Mesh) -> Option<usize> {
        let lists = self.links().map(|link| mesh.links.get(link)?.claims.hashes.as_deref());
        let lists = lists.collect::<Option<Vec<&DesyncHashes>>>()?;
        self.lone_one(self.tick?, &lists)
            .filter(|&link| !mesh.was_lied_to(link) && !Mutation::LoneList.is_planted())
    }

    /// Reports what is known about the difference, once.
    fn report(&mut self, mesh: &mut Mesh) {
        let equivocation = self.equivocation(mesh).map(Box::new);
        if core::mem::replace(&mut self.is_reported, true) {
            return;
        }
        let tick = self.tick;
        let known = self.links().filter_map(|link| mesh.links.get(link));
        let states = known.filter_map(|link| {
            let state = link.claims.state.as_ref().filter(|state| Some(Tick(state.tick)) == tick)?;
            Some((link.player, state.bytes.clone()))
        });
        let states = states.collect();
        mesh.out.event(Event::Desync { tick, states, equivocation });
    }

    /// Keeps a peer's state. The peer may know before this one which tick differs.
    pub(super) fn take_state(&self, mesh: &mut Mesh, link: usize, state: DesyncState) -> Handled {
        if !self.links().any(|side| side == link) {
            return Err(OutOfPlace);
        }
        mesh.links.get_mut(link).ok_or(OutOfPlace)?.claims.state = Some(state);
        Ok(())
    }

    /// The instant at which a search that began at `since` has taken too long.
    pub(super) fn until(&self, since: Time, mesh: &Mesh) -> Time {
        let timeout = mesh.settings.timeout;
        let is_claim = self.tick.is_none() && self.links().count() > 1;
        let least = mesh.timeout_of(self.cause, Duration::ZERO).saturating_mul(CLAIM_TRIES);
        since.plus(if is_claim { timeout.min(CLAIM_WITHIN.max(least)) } else { timeout })
    }
}

impl Lockstep {
    /// The chain of this link's peer differs: stops the match and searches for the first difference.
    pub(super) fn begin_search(&mut self, link: usize) {
        if !matches!(self.phase, Phase::Running | Phase::Ending { end: End::Finished, .. }) {
            return;
        }
        let play = &self.mesh.play;
        let hashes = play.history.latest();
        let here = self.mesh.links.iter().enumerate().filter(|(_, link)| link.is_direct());
        let search = Search::new(link, hashes, here.map(|(i, _)| i));
        let list = search.hashes.clone();
        for link in search.links() {
            if let Some(peer) = self.mesh.links.get_mut(link) {
                peer.connection.set_message_bytes_max(MESSAGE_BYTES_MAX + DESYNC_STATE_BYTES_MAX);
                peer.connection.send(&mut self.mesh.out, PacketId::DesyncHashes, &list);
            }
        }
        // While it lasts nothing is committed, and no deadline of the match is served.
        self.mesh.resend_at(None);
        self.mesh.play.timers = Timers::default();
        let mut search = Box::new(search);
        search.compare_lists(&mut self.mesh);
        self.phase = Phase::Searching { search, since: self.mesh.now };
    }

    /// The peer's latest hashes: it has begun a search, or answers ours.
    pub(super) fn on_desync_hashes(&mut self, link: usize, theirs: DesyncHashes) -> Handled {
        if theirs.hashes.len() != theirs.inputs.len() {
            return Err(OutOfPlace);
        }
        let play = &self.mesh.play;
        let is_suspect =
            play.departures.suspects().contains(self.mesh.links.get(link).ok_or(OutOfPlace)?.player);
        let (differ, asks) = (play.history.first_difference(&theirs).is_some(), theirs.asks);
        let own = DesyncHashes { asks: false, ..play.history.latest() };
        self.mesh.links.get_mut(link).ok_or(OutOfPlace)?.claims.hashes = asks.then(|| Box::new(theirs));
        if !asks {
            if let Some(peer) = self.mesh.links.get_mut(link) {
                peer.claims.shown.clear();
            }
            // It sees no difference, or no longer does: it leaves the search, and conclusions from its list are discarded.
            if let Phase::Searching { search, .. } = &mut self.phase
                && !search.is_reported
            {
                search.forget_conclusions();
            }
        }
        // A claim alone stops nothing: our own hashes must differ too. Who only answers takes no part in a search.
        if differ && asks && !is_suspect {
            self.begin_search(link);
        } else if !differ
            && matches!(&self.phase, Phase::Searching { search, .. } if search.cause == link)
            && self.drop_search()
        {
            // It claimed a difference and has the same hashes as we: play resumes. An honest peer never does.
            let peer = self.mesh.links.get_mut(link).ok_or(OutOfPlace)?;
            peer.claims.taken_back = peer.claims.taken_back.saturating_add(1);
            if peer.claims.taken_back >= FALSE_CLAIMS_MAX {
                let player = peer.player;
                self.suspect(player);
            }
        }
        if asks && !matches!(self.phase, Phase::Searching { .. }) {
            self.mesh.send(link, PacketId::DesyncHashes, &own);
        }
        if let Phase::Searching { search, .. } = &mut self.phase {
            search.compare_lists(&mut self.mesh);
        }
        Ok(())
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
            self.mesh.send(link, PacketId::DesyncHashes, &list);
        }
        true
    }

    /// Resumes the match where the search began.
    fn leave_search(&mut self) {
        for link in &mut self.mesh.links {
            (link.claims.hashes, link.claims.state) = (None, None);
            link.claims.shown.clear();
            link.connection.set_message_bytes_max(MESSAGE_BYTES_MAX);
        }
        let has_ended = self.mesh.play.end.is_some_and(|end| self.mesh.play.history.ran() >= end);
        if has_ended {
            self.begin_ending(End::Finished);
        } else {
            let now = self.mesh.now;
            self.mesh.resend_at(Some(now));
            self.mesh.play.timers.set(Timer::Suspicion, now);
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
            if let Some(peer) = self.mesh.links.get_mut(link) {
                peer.connection.send_bytes(PacketId::DesyncState, &state);
            }
        }
        self.advance_search();
    }

    /// Ends a search that takes too long.
    pub(super) fn search(&mut self) {
        let Phase::Searching { search, since } = &self.phase else { return };
        if self.mesh.now < search.until(*since, &self.mesh) {
            return;
        }
        let Some(cause) = self.mesh.links.get(search.cause).map(|peer| peer.player) else { return };
        if self.drop_search() {
            // It claims a difference and does not answer.
            self.suspect(cause);
        } else {
            self.give_up_search();
        }
    }

    /// Reports the result once all states have arrived, and ends the search once ours has been acknowledged,
    /// too.
    pub(super) fn advance_search(&mut self) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        let has_seen_heads = search.has_seen_heads(&self.mesh);
        let links = || search.links().filter_map(|link| self.mesh.links.get(link));
        let tick = search.tick.map(|tick| tick.0);
        let is_here = |link: &Link| link.claims.state.as_ref().is_some_and(|state| Some(state.tick) == tick);
        let is_complete = tick.is_some() && links().all(is_here) && has_seen_heads;
        let is_sent = search.has_sent_state && links().all(|link| link.connection.is_idle());
        if is_complete {
            search.report(&mut self.mesh);
        }
        if is_complete && is_sent {
            self.conclude_search();
        }
    }

    /// The difference is reported: if a single peer differs from all others, it is dropped and the others
    /// play on; otherwise the match ends.
    fn conclude_search(&mut self) {
        let Phase::Searching { search, .. } = &self.phase else { return };
        if let Some(link) = search.odd_link(&self.mesh) {
            self.leave_search();
            if let Some(player) = self.mesh.links.get(link).map(|peer| peer.player) {
                self.suspect(player);
            }
        } else {
            self.begin_ending(End::Desync);
        }
    }

    /// A peer no longer answers: reports what is known.
    pub(super) fn give_up_search(&mut self) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        search.report(&mut self.mesh);
        if search.odd_link(&self.mesh).is_some() {
            self.conclude_search();
        } else {
            self.close(End::Desync);
        }
    }
}
