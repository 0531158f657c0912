//! Interference with a virtual match beside its links: there is none, unless a campaign brings it.

use arrayvec::ArrayVec;

use super::{PeerEnd, VirtualMatch};
use crate::fault::Fault;
use game::Inject;
use net::{DueTick, Time, Transmit};
use sim::TickRate;

/// Interference with a match; by default a method does nothing.
pub trait Interference: Sized {
    /// Its findings at the end of the match.
    type Findings;

    /// Returns its findings.
    fn into_findings(self) -> Self::Findings;

    /// Returns the next instant at which it acts.
    fn next_at(&self) -> Option<Time> {
        None
    }

    /// Does what is due.
    fn act(_game: &mut VirtualMatch<Self>) {}

    /// Returns whether this node keeps to the rules.
    fn is_honest(&self, _node: usize) -> bool {
        true
    }

    /// Returns whether it reads or changes datagrams without their keys; then they are not encrypted.
    fn reads_datagrams(&self) -> bool {
        false
    }

    /// Returns a difference that a peer's world has from some tick on, of which the oracles know nothing.
    fn deviation(&self, _peer: usize, _rate: TickRate) -> Option<Inject> {
        None
    }

    /// Returns the numbered commands that a peer gives in place of this one.
    fn numbers(&mut self, _peer: usize, number: u32) -> ArrayVec<u32, 2> {
        ArrayVec::from_iter([number])
    }

    /// Notes that a peer runs a tick.
    fn ran(&mut self, _peer: usize, _now: Time, _due: &DueTick) {}

    /// Notes that a peer has done what was due.
    fn advanced(_game: &mut VirtualMatch<Self>, _peer: usize) {}

    /// Sends what a peer sends at this instant, or something else.
    fn send(game: &mut VirtualMatch<Self>, peer: usize, at: Time, transmit: &Transmit) {
        game.send(peer, at, transmit.to, transmit.datagram.bytes());
    }

    /// Returns what not every peer must survive; without it, all see the match through.
    fn fatal(&self) -> Option<Fault> {
        None
    }

    /// Returns whether it may keep a match from beginning.
    fn disturbs_setup(&self) -> bool {
        false
    }

    /// Notes that an honest peer did not end as it should.
    fn lost(&mut self, _peer: usize) {}

    /// Returns whether [`Self::judge`] says alone how peers may end.
    fn judges_alone(&self) -> bool {
        false
    }

    /// Says what must hold beside the rest, given how each peer ended and when.
    fn judge(_game: &mut VirtualMatch<Self>, _ends: &[PeerEnd], _ended_at: &[Time]) {}
}

impl Interference for () {
    type Findings = ();

    fn into_findings(self) {}
}
