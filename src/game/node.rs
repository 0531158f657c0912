//! What a match is to whoever drives it, on a peer and on a server alike: in real time a thread
//! ([`super::NodeThread`]), in virtual time the lab's simulated network, and tests.

use std::net::SocketAddr;

use super::match_event::MatchEvent;
use crate::net::{Time, Transmit};

/// One process of a match, without clock, socket or thread: datagrams and times go in; datagrams, events and the next
/// deadline come out.
///
/// Drive it in this order: all datagrams that are there to [`Self::handle_datagram`], then [`Self::advance`], then
/// [`Self::poll_transmit`] and [`Self::poll_event`] until they have nothing left, then wait for the next datagram or
/// [`Self::poll_timeout`].
pub trait Node {
    /// Takes in a datagram that arrived at `now` from this address; call [`Self::advance`] after the last one.
    fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]);

    /// Does everything that is due at `now`: runs ticks, sends, judges silence.
    fn advance(&mut self, now: Time);

    /// The next datagram to send.
    fn poll_transmit(&mut self) -> Option<Transmit>;

    /// The next thing to tell.
    fn poll_event(&mut self) -> Option<MatchEvent>;

    /// When [`Self::advance`] has something to do, if no datagram comes before.
    fn poll_timeout(&self) -> Option<Time>;

    /// Whether the match is over, and all others that must know do.
    fn is_over(&self) -> bool;

    /// Leaves the match, and tells the others so.
    fn leave(&mut self);
}
