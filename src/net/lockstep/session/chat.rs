//! Chat between the players, from tick 0 agreed to the end of the session.

use super::{LockstepSession, Phase};
use crate::net::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::net::event::Event;
use crate::net::indexed::BySeat;
use crate::net::table::chat::{ChatLimit, LINES_WAITING_MAX, TooManyLines};
use crate::net::time::Time;
use crate::net::wire::chat_text::ChatText;
use crate::net::wire::message::{Chat, PacketId};

/// How much each player may still send.
#[derive(Clone, Debug)]
pub(super) struct ChatLimits {
    own: ChatLimit,
    others: BySeat<ChatLimit>,
}

impl ChatLimits {
    pub(super) fn new(now: Time) -> Self {
        Self { own: ChatLimit::own(now), others: BySeat::from_fn(|| ChatLimit::of_others(now, 1)) }
    }
}

impl LockstepSession {
    /// Sends a line to all players, this one included. Before tick 0 is agreed it reaches nobody.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        if !self.has_met() {
            return Ok(());
        }
        self.chat_limits.own.take(self.now)?;
        let line = Chat { from: self.me, text };
        for link in &mut self.links {
            if !link.is_gone && link.connection.queued() < LINES_WAITING_MAX {
                link.connection.send(&mut self.out, PacketId::Chat, &line);
            }
        }
        self.out.event(Event::Said { player: self.me, text });
        Ok(())
    }

    /// A peer has sent a line. The peer may know before this one does that tick 0 is agreed.
    pub(super) fn on_chat(&mut self, link: usize, chat: Chat) -> Handled {
        let player = self.links.get(link).ok_or(OutOfPlace)?.player;
        let may_speak = self.has_met() || matches!(self.phase, Phase::Seating { .. });
        if !may_speak || chat.from != player {
            return Err(OutOfPlace);
        }
        self.chat_limits.others[player].take(self.now).map_err(|_| DropCause::RateLimited)?;
        self.out.event(Event::Said { player, text: chat.text });
        Ok(())
    }
}
