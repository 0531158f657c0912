//! What the players say to each other: each line on the link to each peer, from tick 0 agreed to the end.

use super::{Event, LockstepSession};
use crate::net::chat::{ChatAllowance, ChatChannel, ChatText, Heard, TooManyLines};
use crate::net::message::{Acknowledge, Chat, PacketId};
use crate::net::table::BySeat;
use crate::net::time::Time;

/// The talk with all peers.
#[derive(Clone, Debug)]
pub(super) struct Talk {
    allowance: ChatAllowance,
    channels: BySeat<ChatChannel>,
}

impl Talk {
    pub(super) fn new(now: Time) -> Self {
        let channels = BySeat::from_fn(|| ChatChannel::new(now, 1));
        Self { allowance: ChatAllowance::new(now), channels }
    }
}

impl LockstepSession {
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
        for link in self.links.iter().filter(|link| !link.is_gone) {
            self.talk.channels[link.player].push(self.now, self.me, text);
        }
        self.out.event(Event::Said { player: self.me, text });
        self.pursue_talk();
        Ok(())
    }

    /// Sends the lines that are due.
    pub(super) fn pursue_talk(&mut self) {
        if !self.has_met() {
            return;
        }
        for link in 0..self.links.len() {
            let Some(peer) = self.links.get(link).filter(|peer| !peer.is_gone) else { continue };
            let channel = &mut self.talk.channels[peer.player];
            if let Some(line) = channel.due(self.now, |least| peer.rtt.timeout(least)) {
                self.send(link, PacketId::Chat, &line);
            }
        }
    }

    /// When a line is to be sent.
    pub(super) fn talk_due_at(&self) -> Option<Time> {
        if !self.has_met() {
            return None;
        }
        let here = self.links.iter().filter(|link| !link.is_gone);
        here.filter_map(|link| self.talk.channels[link.player].due_at()).min()
    }

    /// A peer says something.
    pub(super) fn on_chat(&mut self, link: usize, chat: Chat) -> Option<()> {
        let player = self.links.get(link)?.player;
        if !self.has_met() || chat.from != player {
            return None;
        }
        let heard = self.talk.channels[player].hear(self.now, chat.number);
        if heard != Heard::Early {
            self.send(link, PacketId::Acknowledge, &Acknowledge::Chat { number: chat.number });
        }
        match heard {
            Heard::New => self.out.event(Event::Said { player, text: chat.text }),
            Heard::Again => {}
            Heard::TooMany | Heard::Early => return None,
        }
        Some(())
    }

    pub(super) fn on_chat_acknowledged(&mut self, link: usize, number: u16) -> Option<()> {
        let player = self.links.get(link)?.player;
        self.talk.channels[player].acknowledge(self.now, number);
        self.pursue_talk();
        Some(())
    }
}
