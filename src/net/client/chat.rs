//! What the players say to each other, through the server.

use super::{ClientSession, Phase};
use crate::net::chat::{ChatAllowance, ChatChannel, ChatText, Heard, TooManyLines};
use crate::net::message::{Acknowledge, Chat, PacketId};
use crate::net::session::Event;
use crate::net::time::Time;
use crate::sim::PLAYERS_MAX;

/// The talk with the server, which speaks for all others.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    allowance: ChatAllowance,
    channel: ChatChannel,
}

impl Talk {
    pub(super) const fn new(now: Time) -> Self {
        Self { allowance: ChatAllowance::new(now), channel: ChatChannel::new(now, PLAYERS_MAX as u64 - 1) }
    }

    /// When a line is to be sent.
    pub(super) fn due_at(&self) -> Option<Time> {
        self.channel.due_at()
    }
}

impl ClientSession {
    /// A line to all others, and to oneself. Before tick 0 is agreed nobody hears it.
    ///
    /// # Errors
    /// If this player has just written too many; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        if !self.has_met() {
            return Ok(());
        }
        self.talk.allowance.take(self.now)?;
        self.talk.channel.push(self.now, self.me, text);
        self.out.event(Event::Said { player: self.me, text });
        self.pursue_talk();
        Ok(())
    }

    /// Whether tick 0 is agreed, and the session not over.
    const fn has_met(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Over | Phase::Ending { .. })
    }

    /// Sends the line that is due.
    pub(super) fn pursue_talk(&mut self) {
        if let Some(line) = self.talk.channel.due(self.now, |least| self.link.rtt.timeout(least)) {
            self.send(PacketId::Chat, &line);
        }
    }

    /// Somebody says something.
    pub(super) fn on_chat(&mut self, chat: Chat) -> Option<()> {
        let player = chat.from;
        if !self.has_met() || player.0 >= self.config.seats || player == self.me {
            return None;
        }
        let heard = self.talk.channel.hear(self.now, chat.number);
        if heard != Heard::Early {
            self.send(PacketId::Acknowledge, &Acknowledge::Chat { number: chat.number });
        }
        match heard {
            Heard::New => self.out.event(Event::Said { player, text: chat.text }),
            Heard::Again => {}
            Heard::TooMany | Heard::Early => return None,
        }
        Some(())
    }

    pub(super) fn on_chat_acknowledged(&mut self, number: u16) {
        self.talk.channel.acknowledge(self.now, number);
        self.pursue_talk();
    }
}
