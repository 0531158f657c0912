//! Chat between the players, from the lobby to the end of the session. In the lobby guests have no links to each
//! other yet: the host passes their lines on.

use super::{LockstepSession, Phase};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::indexed::BySeat;
use crate::table::chat::{ChatLimit, LINES_WAITING_MAX, TooManyLines};
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

impl LockstepSession {
    /// Sends a line to all players, this one included. Between the lobby and tick 0 agreed it reaches nobody.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        if !self.has_met() && !matches!(self.phase, Phase::Gathering) {
            return Ok(());
        }
        self.chat_limits.own.take(self.now)?;
        self.pass_on(Chat { from: self.me, text });
        self.out.event(Event::Said { player: self.me, text });
        Ok(())
    }

    /// A peer has sent a line, or the host passes a guest's line on.
    pub(super) fn on_chat(&mut self, link: usize, chat: Chat) -> Handled {
        let sender = self.links.get(link).ok_or(OutOfPlace)?.player;
        let author = chat.from;
        // A line from the lobby may arrive here after the seating has, never after the start.
        let is_lobby = !self.has_met() && !self.votes.has_played();
        let is_passed_on = is_lobby && !self.is_host() && link == 0 && author != self.me;
        let is_seat = author.0 < self.config.seats;
        if matches!(self.phase, Phase::Closed) || !is_seat || (author != sender && !is_passed_on) {
            return Err(OutOfPlace);
        }
        self.chat_limits.others[author].take(self.now).map_err(|_| DropCause::RateLimited)?;
        if is_lobby && self.is_host() {
            self.pass_on(chat);
        }
        self.out.event(Event::Said { player: author, text: chat.text });
        Ok(())
    }

    /// Sends a line to all but its author.
    fn pass_on(&mut self, line: Chat) {
        for link in &mut self.links {
            let hears = !link.is_gone && link.player != line.from;
            if hears && link.connection.queued() < LINES_WAITING_MAX {
                link.connection.send(&mut self.out, PacketId::Chat, &line);
            }
        }
    }
}
