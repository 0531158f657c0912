//! What the players say to each other: the server hands each line on to all others.

use super::client::{ClientConnection, Rejection, Standing};
use super::{Phase, ServerSession};
use crate::net::chat::Heard;
use crate::net::message::{Acknowledge, Chat, PacketId};
use crate::net::session::Event;
use crate::net::time::Time;

impl ServerSession {
    /// A client says something.
    pub(super) fn on_chat(&mut self, seat: usize, chat: Chat) -> Option<()> {
        let (now, is_played) =
            (self.now, matches!(self.phase, Phase::Running | Phase::Over | Phase::Ending { .. }));
        let client = self.clients.at_mut(seat)?;
        let player = client.player;
        if !is_played || chat.from != player {
            return None;
        }
        let heard = client.talk.hear(now, chat.number);
        if heard == Heard::Early {
            return None;
        }
        self.send(seat, PacketId::Acknowledge, &Acknowledge::Chat { number: chat.number });
        match heard {
            Heard::New => {
                for other in self.clients.iter_mut().flatten() {
                    if other.player != player && other.is_in() {
                        other.talk.push(now, player, chat.text);
                    }
                }
                self.out.event(Event::Said { player, text: chat.text });
                self.pursue_talk();
            }
            Heard::TooMany => return self.refuse(seat, Rejection::Flood).or(Some(())),
            Heard::Again | Heard::Early => {}
        }
        Some(())
    }

    pub(super) fn on_chat_acknowledged(&mut self, seat: usize, number: u16) -> Option<()> {
        self.clients.at_mut(seat)?.talk.acknowledge(self.now, number);
        self.pursue_talk();
        Some(())
    }

    /// Sends the lines that are due.
    pub(super) fn pursue_talk(&mut self) {
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients.at_mut(seat).filter(|client| hears(client)) else { continue };
            let ClientConnection { talk, link, .. } = client;
            if let Some(line) = talk.due(self.now, |least| link.rtt.timeout(least)) {
                self.send(seat, PacketId::Chat, &line);
            }
        }
    }

    /// When a line is to be sent.
    pub(super) fn talk_due_at(&self) -> Option<Time> {
        let here = self.clients.iter().flatten().filter(|client| hears(client));
        here.filter_map(|client| client.talk.due_at()).min()
    }
}

/// Whether lines go there; one that has come back hears them once it plays.
fn hears(client: &ClientConnection) -> bool {
    client.standing == Standing::Here && client.link.is_ready
}
