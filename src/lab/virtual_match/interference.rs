//! Interference with a virtual match in addition to the faults of its links; only campaigns use it.

use arrayvec::ArrayVec;

use super::{PeerEnd, VirtualMatch};
use crate::fault::Fault;
use game::{Confirmed, Inject};
use net::{Time, Transmit};
use sim::TickRate;

/// Interference with a match; by default a method has no effect.
pub trait Interference: Sized {
    /// Findings at the end of the match.
    type Findings;

    /// Returns the findings.
    fn into_findings(self) -> Self::Findings;

    /// Returns the next time at which it acts.
    fn next_at(&self) -> Option<Time> {
        None
    }

    /// Performs the actions that are due.
    fn act(_game: &mut VirtualMatch<Self>) {}

    /// Whether this node follows the protocol.
    fn is_honest(&self, _node: usize) -> bool {
        true
    }

    /// Whether it reads or changes datagrams without their keys; the match is not encrypted then.
    fn reads_datagrams(&self) -> bool {
        false
    }

    /// Returns a deviation of a peer's world that the oracles are not told about.
    fn deviation(&self, _peer: usize, _rate: TickRate) -> Option<Inject> {
        None
    }

    /// Returns the numbered commands that a peer gives in place of this one.
    fn numbers(&mut self, _peer: usize, number: u32) -> ArrayVec<u32, 2> {
        ArrayVec::from_iter([number])
    }

    /// Observes that a peer runs a tick.
    fn ran(&mut self, _peer: usize, _now: Time, _confirmed: Confirmed<'_>) {}

    /// Observes that a peer has handled its due events.
    fn advanced(_game: &mut VirtualMatch<Self>, _peer: usize) {}

    /// Sends a peer's datagram, or others in its place.
    fn send(game: &mut VirtualMatch<Self>, peer: usize, at: Time, transmit: &Transmit) {
        game.send(peer, at, transmit.to, transmit.datagram.bytes());
    }

    /// Returns the fault that some peer may not survive; without one, all must reach the end of the match.
    fn fatal(&self) -> Option<Fault> {
        None
    }

    /// Whether it may keep a match from beginning.
    fn disturbs_setup(&self) -> bool {
        false
    }

    /// Records that an honest peer ended unexpectedly.
    fn lost(&mut self, _peer: usize) {}

    /// Whether only [`Self::judge`] decides how peers may end.
    fn judges_alone(&self) -> bool {
        false
    }

    /// Checks further invariants, given the end of each peer and its time.
    fn judge(_game: &mut VirtualMatch<Self>, _ends: &[PeerEnd], _ended_at: &[Time]) {}
}

impl Interference for () {
    type Findings = ();

    fn into_findings(self) {}
}
