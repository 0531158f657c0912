//! The links of a mesh: messages to peers.

use core::time::Duration;

use super::Mesh;
use crate::play::link::Link;
use crate::wire::message::PacketId;

impl Mesh {
    /// Whether messages are sent to this link's peer. A peer that is given up for its silence may hear this one all the same,
    /// and must learn of it.
    pub(super) fn is_reachable(&self, link: &Link) -> bool {
        link.is_direct() || self.now.since(link.connection.heard_at) < self.settings.timeout * 2
    }

    pub(super) fn send<T: serde::Serialize>(&mut self, link: usize, id: PacketId, message: &T) {
        if let Some(peer) = self.links.get_mut(link) {
            peer.connection.send(&mut self.out, id, message);
        }
    }

    /// Sends a message to every peer that is still in the match.
    pub(super) fn send_to_all<T: serde::Serialize>(&mut self, id: PacketId, message: &T) {
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|link| !link.is_gone) {
                self.send(link, id, message);
            }
        }
    }

    pub(super) fn send_body(&mut self, link: usize, id: PacketId, body: &[u8]) {
        if let Some(peer) = self.links.get_mut(link) {
            peer.connection.transmit(&mut self.out, id, body);
        }
    }

    /// The retransmission timeout of this link, at least `least`.
    pub(super) fn timeout_of(&self, link: usize, least: Duration) -> Duration {
        self.links.get(link).map_or(least, |peer| peer.connection.rtt.timeout(least))
    }
}
