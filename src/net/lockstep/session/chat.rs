//! Chat between the players while ticks run.

use super::{Lockstep, Mesh};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::indexed::BySeat;
use crate::room::chat::{ChatLimit, LINES_WAITING_MAX, TooManyLines};
use crate::time::Time;
use crate::wire::chat_text::ChatText;
use crate::wire::message::{Chat, PacketId};

/// Remaining allowance of each player.
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

impl Mesh {
    /// A peer has sent a line.
    pub(super) fn on_chat(&mut self, link: usize, chat: Chat) -> Handled {
        let sender = self.links.get(link).ok_or(OutOfPlace)?.player;
        if chat.from != sender {
            return Err(OutOfPlace);
        }
        self.chat_limits.others[sender].take(self.now).map_err(|_| DropCause::RateLimited)?;
        self.out.event(Event::Said { player: sender, text: chat.text });
        Ok(())
    }

    /// Sends a line to all others.
    fn pass_on(&mut self, line: Chat) {
        for link in &mut self.links {
            if !link.is_gone && link.connection.queued() < LINES_WAITING_MAX {
                link.connection.send(&mut self.out, PacketId::Chat, &line);
            }
        }
    }
}

impl Lockstep {
    /// Sends a line to all players, this one included.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.mesh.now = self.mesh.now.max(now);
        self.mesh.chat_limits.own.take(self.mesh.now)?;
        self.mesh.pass_on(Chat { from: self.mesh.me, text });
        self.mesh.out.event(Event::Said { player: self.mesh.me, text });
        Ok(())
    }
}
