//! Messages that a peer has not sent, and where it is.

use std::net::SocketAddr;

use crate::peers::Session;
use net::message::PacketId;

impl Session {
    /// Whether it has a seat.
    pub(crate) fn is_seated(&self) -> bool {
        !matches!(self, Self::Joining(_))
    }

    /// Whether it is back in its room after a match.
    pub(crate) fn is_again(&self) -> bool {
        match self {
            Self::Host(host) => host.is_again(),
            Self::Guest(guest) => guest.is_again(),
            _ => false,
        }
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    pub(crate) fn forge(&mut self, to: SocketAddr, id: PacketId, body: &[u8]) {
        match self {
            Self::Host(host) => host.forge(to, id, body),
            Self::Guest(guest) => guest.forge(to, id, body),
            Self::Playing(session) => session.forge(to, id, body),
            // It has no channel.
            Self::Joining(_) | Self::Between => {}
        }
    }
}
