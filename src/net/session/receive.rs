//! What becomes of a datagram: handshake and discovery, datagrams of a connection, messages of its channel.

use core::net::SocketAddr;

use super::{Event, LockstepSession, Phase};
use crate::net::discovery;
use crate::net::link::Link;
use crate::net::message::{Delivery, DesyncState, PacketId, decode};
use crate::net::seal::{Sealed, connection_id};
use crate::sim::PlayerId;

impl LockstepSession {
    /// `None` for what is malformed or out of place.
    pub(super) fn dispatch(&mut self, from: SocketAddr, bytes: &[u8]) -> Option<()> {
        let (&first, body) = bytes.split_first()?;
        let id = PacketId::of(first)?;
        match id {
            PacketId::JoinRequest => self.on_knock(from, body),
            PacketId::JoinChallenge | PacketId::JoinConfirm | PacketId::JoinRefused => {
                self.on_answer(from, id, body)
            }
            PacketId::RoomQuery => {
                let reply = discovery::answer(bytes, self.beacon.as_ref()?)?;
                self.out.transmit(from, Sealed::unconnected(&reply));
                Some(())
            }
            PacketId::RoomInfo | PacketId::GameStateUpdate => None,
            _ if id.delivery() == Delivery::Datagram => {
                let to = connection_id(bytes)?;
                let is_to = |link: &Link| link.connection.seal.local_id() == to;
                let Some(link) = self.links.iter().position(is_to) else {
                    return self.closing.receive(self.now, from, bytes);
                };
                let (_, body, newest) =
                    self.links.get_mut(link)?.connection.seal.open(self.now, bytes).ok()?;
                let player = self.on_heard(link, from, newest)?;
                if id == PacketId::Acknowledge {
                    self.links.get_mut(link)?.connection.receive(body)?;
                    self.take_messages(link);
                    return Some(());
                }
                let is_stale = self.votes.is_stale(player, counter(bytes)?);
                if is_stale { None } else { self.on_datagram(link, id, body, newest) }
            }
            _ => None,
        }
    }

    /// The player at the other end.
    fn on_heard(&mut self, link: usize, from: SocketAddr, newest: bool) -> Option<PlayerId> {
        let peer = self.links.get_mut(link)?;
        let player = peer.player;
        peer.connection.hear(self.now, from, newest);
        if core::mem::take(&mut peer.connection.is_silent) {
            self.out.event(Event::Heard { player });
        }
        self.stop_waiting(player);
        Some(player)
    }

    fn on_datagram(&mut self, link: usize, id: PacketId, body: &[u8], newest: bool) -> Option<()> {
        if self.links.get(link)?.is_gone {
            return None;
        }
        match id {
            PacketId::PlayerInput => self.on_inputs(link, body, newest),
            PacketId::Ping => self.on_ping(link, decode(body).ok()?),
            PacketId::Pong => self.on_pong(link, decode(body).ok()?),
            PacketId::Suspicion => self.on_suspicion(link, decode(body).ok()?),
            PacketId::Relayed => self.on_relayed(link, &decode(body).ok()?),
            _ => None,
        }
    }

    /// Takes the messages of this link's peer. While the caller builds the world before tick 0 they wait.
    pub(super) fn take_messages(&mut self, link: usize) {
        while !matches!(self.phase, Phase::Preparing | Phase::Closed)
            && let Some(peer) = self.links.get_mut(link)
            && let Some((id, body)) = peer.connection.poll_message()
        {
            if self.on_message(link, id, &body).is_none() {
                self.out.traffic.dropped += 1;
            }
        }
        self.advance_search();
    }

    fn on_message(&mut self, link: usize, id: PacketId, body: &[u8]) -> Option<()> {
        if self.links.get(link)?.is_gone {
            return Some(());
        }
        match id {
            PacketId::Seating => self.on_seating(link, decode(body).ok()?),
            PacketId::Ready => self.on_ready(link, decode(body).ok()?),
            PacketId::Start => self.on_start(link, decode(body).ok()?),
            PacketId::Bye => self.on_bye(link, decode(body).ok()?),
            PacketId::DesyncHashes => self.on_desync_hashes(link, decode(body).ok()?),
            PacketId::DesyncState => self.on_desync_state(link, DesyncState::decode(body).ok()?),
            PacketId::Resume => self.on_resume(link, decode(body).ok()?),
            PacketId::Chat => self.on_chat(link, decode(body).ok()?),
            PacketId::Rematch => self.on_rematch(link, decode(body).ok()?),
            _ => None,
        }
    }
}

/// The low half of a datagram's counter.
fn counter(datagram: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(datagram.get(5..9)?.try_into().ok()?))
}
