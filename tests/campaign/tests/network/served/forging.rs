//! Messages that a client or its server has not sent.

use net::message::PacketId;

use super::star::{Net, SERVER};

impl Net {
    /// A message over the reliable channel as if this client had sent it.
    pub(super) fn forge_message(&mut self, seat: usize, id: PacketId, body: &[u8]) {
        self.seats[seat].game.as_mut().expect("playing").forge(SERVER, id, body);
    }

    /// A message over the reliable channel as if the server had sent it to this client.
    pub(super) fn forge_message_down(&mut self, seat: usize, id: PacketId, body: &[u8]) {
        let to = self.seats[seat].address;
        self.server.as_mut().expect("playing").forge(to, id, body);
    }
}
