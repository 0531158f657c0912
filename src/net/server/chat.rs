//! Chat between the players: the server relays each line to all others.

use super::{Phase, ServerSession};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::table::chat::LINES_WAITING_MAX;
use crate::wire::message::{Chat, PacketId};

impl ServerSession {
    /// A client has sent a line.
    pub(super) fn on_chat(&mut self, seat: usize, chat: Chat) -> Handled {
        let is_lobby = self.ticks.begin.is_none();
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        let player = client.link.player;
        if matches!(self.phase, Phase::Closed) || chat.from != player {
            return Err(OutOfPlace);
        }
        if client.chat_limit.take(self.now).is_err() {
            return Err(DropCause::RateLimited);
        }
        for other in self.clients.iter_mut().flatten() {
            // A client that has rejoined receives chat only once it plays.
            let hears = other.is_in() && (is_lobby || other.link.is_ready());
            if other.link.player != player && hears && other.link.connection.queued() < LINES_WAITING_MAX {
                other.link.connection.send(&mut self.out, PacketId::Chat, &chat);
            }
        }
        self.out.event(Event::Said { player, text: chat.text });
        Ok(())
    }
}
