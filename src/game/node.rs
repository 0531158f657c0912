//! The interface of a match to its driver, on a peer and on a server alike: in real time a thread
//! ([`super::NodeThread`]), in virtual time the lab's simulated network, and tests.

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

    /// The next datagram to send.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// The next event.
    fn poll_event(&mut self) -> Option<MatchEvent>;

    /// When [`Self::advance`] is next due, unless a datagram arrives before.
    fn poll_timeout(&self) -> Option<Time>;

    /// Whether the match is over, and all others that must know it do.
    fn is_over(&self) -> bool;

    /// Leaves the match, and notifies the others.
    fn leave(&mut self);
}
