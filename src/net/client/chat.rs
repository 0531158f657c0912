//! Chat between the players, relayed by the server.

use super::{ClientSession, Phase};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::table::chat::{ChatLimit, LINES_WAITING_MAX, TooManyLines};
use crate::time::Time;
use crate::wire::chat_text::ChatText;
use crate::wire::message::{Chat, PacketId};
use sim::PLAYERS_MAX;

/// Remaining allowance of this player, and of all others together.
#[derive(Clone, Debug)]
pub(super) struct ChatLimits {
    own: ChatLimit,
    others: ChatLimit,
}

impl ChatLimits {
    pub(super) const fn new(now: Time) -> Self {
        Self { own: ChatLimit::own(now), others: ChatLimit::of_others(now, PLAYERS_MAX as u64 - 1) }
    }
}

impl ClientSession {
    /// Sends a line to all players, this one included. Between the lobby and tick 0 agreed it reaches nobody.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        if matches!(self.phase, Phase::Preparing { .. } | Phase::Ready { .. } | Phase::Closed) {
            return Ok(());
        }
        self.chat_limits.own.take(self.now)?;
        if self.link.connection.queued() < LINES_WAITING_MAX {
            self.send(PacketId::Chat, &Chat { from: self.me, text });
        }
        self.out.event(Event::Said { player: self.me, text });
        Ok(())
    }

    /// A player has sent a line.
    pub(super) fn on_chat(&mut self, chat: Chat) -> Handled {
        let player = chat.from;
        let is_other = player.0 < self.config.seats && player != self.me;
        if matches!(self.phase, Phase::Closed) || !is_other {
            return Err(OutOfPlace);
        }
        self.chat_limits.others.take(self.now).map_err(|_| DropCause::RateLimited)?;
        self.out.event(Event::Said { player, text: chat.text });
        Ok(())
    }
}
