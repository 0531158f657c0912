//! The interface between a match, on a peer or on a server, and its driver: a thread in real time
//! ([`super::NodeThread`]), the lab's simulated network in virtual time, and tests.

use super::match_event::MatchEvent;
use net::{Source, Time, Transmit};

/// One process of a match, without clock, socket or thread: datagrams and times go in; datagrams, events and
/// the next deadline come out.
///
/// Drive it in this order: pass all received datagrams to [`Self::handle_datagram`], then call
/// [`Self::advance`], then [`Self::poll_transmit`] and [`Self::poll_event`] until they return `None`, then
/// wait for the next datagram or [`Self::poll_timeout`].
pub trait Node {
    /// Handles a datagram that arrived at `now` from this address; call [`Self::advance`] after the last one.
    fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]);

    /// Does everything that is due at `now`: runs ticks, sends, detects silence.
    fn advance(&mut self, now: Time);

    /// Returns the next datagram to send.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// Returns the next event.
    fn poll_event(&mut self) -> Option<MatchEvent>;

    /// Returns when [`Self::advance`] is next due, unless a datagram arrives before.
    fn poll_timeout(&self) -> Option<Time>;

    /// Whether the match is over and no other node still needs to be notified.
    fn is_over(&self) -> bool;

    /// Leaves the match, and notifies the others.
    fn leave(&mut self);
}
