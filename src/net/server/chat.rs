//! Chat between the players: the server relays each line to all others.

use super::{Phase, ServerSession};
use crate::net::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::net::event::Event;
use crate::net::table::chat::LINES_WAITING_MAX;
use crate::net::wire::message::{Chat, PacketId};

impl ServerSession {
    /// A client has sent a line.
    pub(super) fn on_chat(&mut self, seat: usize, chat: Chat) -> Handled {
        let is_played = matches!(self.phase, Phase::Running | Phase::Over | Phase::Ending { .. });
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        let player = client.player;
        if !is_played || chat.from != player {
            return Err(OutOfPlace);
        }
        if client.chat_limit.take(self.now).is_err() {
            return Err(DropCause::RateLimited);
        }
        for other in self.clients.iter_mut().flatten() {
            // A client that has rejoined receives chat only once it plays.
            let hears =
                other.is_in() && other.link.is_ready() && other.link.connection.queued() < LINES_WAITING_MAX;
            if other.player != player && hears {
                other.link.connection.send(&mut self.out, PacketId::Chat, &chat);
            }
        }
        self.out.event(Event::Said { player, text: chat.text });
        Ok(())
    }
}
