//! Dispatches received datagrams: handshake and discovery, datagrams of a connection, messages of its
//! channel.

use super::{LockstepSession, Phase, Role};
use crate::connection::protection::{Opened, OpeningRoom, connection_id};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::expected::Expected;
use crate::outbox::Source;
use crate::table::hosted_room::HostedRoom;
use crate::table::link::Link;
use crate::wire::message::{Delivery, DesyncState, PacketId, Relayed, decode, encode};
use sim::PlayerId;

impl LockstepSession {
    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let links = self.links.iter().map(|link| link.connection.protection.local_id());
        let guests = self.room().into_iter().flat_map(HostedRoom::connection_ids);
        Expected::new(links.chain(guests), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    /// Handles a datagram; an error says why it was dropped.
    pub(super) fn dispatch(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let (&first, body) = bytes.split_first().ok_or(DropCause::Malformed)?;
        let id = PacketId::of(first).ok_or(DropCause::Malformed)?;
        match id {
            PacketId::JoinRequest => self.on_join_request(from, body),
            PacketId::RoomQuery => {
                let Role::Host { room, .. } = &self.role else { return Err(OutOfPlace) };
                room.on_query(from, bytes, &mut self.out)
            }
            PacketId::RoomInfo | PacketId::GameStateUpdate => Err(OutOfPlace),
            _ if id.delivery() == Delivery::Datagram => {
                let to = connection_id(bytes).ok_or(DropCause::Malformed)?;
                let is_to = |link: &Link| link.connection.protection.local_id() == to;
                let Some(link) = self.links.iter().position(is_to) else {
                    return self.on_unlinked(from, bytes);
                };
                let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
                let mut room = OpeningRoom::new();
                let Opened { body, is_newest, number, .. } =
                    peer.connection.protection.open(bytes, &mut room)?;
                peer.connection.admit(self.now, id)?;
                let player = self.on_heard(link, (from, bytes.len()), is_newest).ok_or(OutOfPlace)?;
                let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
                if peer.connection.receive_path(from, id, body, &mut self.out)? {
                    return Ok(());
                }
                if id == PacketId::Acknowledge {
                    self.links.get_mut(link).ok_or(OutOfPlace)?.connection.receive(body)?;
                    self.take_messages(link);
                    return Ok(());
                }
                if self.votes.is_stale(player, number) {
                    return Err(DropCause::Stale);
                }
                self.on_datagram(link, id, body, is_newest)
            }
            _ => Err(OutOfPlace),
        }
    }

    /// The player at the other end of the link was heard.
    fn on_heard(&mut self, link: usize, (from, bytes): (Source, usize), newest: bool) -> Option<PlayerId> {
        let peer = self.links.get_mut(link)?;
        let player = peer.player;
        peer.connection.hear(self.now, (from, bytes), newest, &mut self.out);
        if core::mem::take(&mut peer.connection.is_silent) {
            self.out.event(Event::Heard { player });
        }
        self.stop_waiting(player);
        Some(player)
    }

    fn on_datagram(&mut self, link: usize, id: PacketId, body: &[u8], newest: bool) -> Handled {
        if self.links.get(link).ok_or(OutOfPlace)?.is_gone {
            return Err(OutOfPlace);
        }
        match id {
            PacketId::PlayerInput => self.on_inputs(link, body, newest),
            PacketId::Ping => self.on_ping(link, decode(body)?),
            PacketId::Pong => self.on_pong(link, decode(body)?),
            PacketId::Suspicion => self.on_suspicion(link, decode(body)?),
            PacketId::Relayed => self.on_relayed(link, &decode(body)?),
            PacketId::Head => self.on_head(link, decode(body)?),
            PacketId::JoinEntry => self.on_entry_again(link),
            // The answer to an entry that was repeated before the first answer had arrived.
            PacketId::JoinConfirm if link == 0 && !self.is_host() => Err(DropCause::Stale),
            _ => Err(OutOfPlace),
        }
    }

    /// Handles the messages of this link's peer. While the caller builds the world before tick 0, they are
    /// queued.
    pub(super) fn take_messages(&mut self, link: usize) {
        while !matches!(self.phase, Phase::Preparing | Phase::Closed)
            && let Some(peer) = self.links.get_mut(link)
            && let Some((id, body)) = peer.connection.poll_message()
        {
            let handled = self.on_message(link, id, &body);
            self.out.traffic.count(handled);
        }
        self.advance_search();
    }

    fn on_message(&mut self, link: usize, id: PacketId, body: &[u8]) -> Handled {
        let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
        if peer.is_gone {
            return Ok(());
        }
        peer.connection.admit(self.now, id)?;
        match id {
            PacketId::Seating => self.on_seating(link, decode(body)?),
            PacketId::Ready => self.on_ready(link, decode(body)?),
            PacketId::Start => self.on_start(link, decode(body)?),
            PacketId::Bye => self.on_bye(link, decode(body)?),
            PacketId::DesyncHashes => self.on_desync_hashes(link, decode(body)?),
            PacketId::DesyncState => self.on_desync_state(link, DesyncState::decode(body)?),
            PacketId::Chat => self.on_chat(link, decode(body)?),
            PacketId::Rematch => self.on_rematch(link, decode(body)?),
            PacketId::Lobby => self.on_lobby(link, decode(body)?),
            PacketId::Choice => self.on_choice(link, decode(body)?),
            PacketId::ShownHead => self.on_shown_head(link, decode(body)?),
            _ => Err(OutOfPlace),
        }
    }

    /// Takes the seat of a peer that sends far more than an honest one, also where the match would wait for a silent
    /// peer.
    pub(super) fn on_flood(&mut self, link: usize) {
        match self.phase {
            Phase::Searching { .. } => {}
            Phase::Running => {
                if let Some(player) = self.links.get(link).map(|peer| peer.player) {
                    self.suspect(player);
                }
            }
            _ => self.on_lost(link),
        }
    }

    /// Whether a suspicion of this link's peer is answered. Those beyond the limit only repeat the ones before.
    pub(super) fn may_answer(&mut self, link: usize) -> bool {
        self.links.get_mut(link).is_some_and(|peer| peer.connection.may_answer(self.now))
    }

    /// Relays inputs to this link's peer, as far as the limit on their bytes allows. It asks again for the rest.
    pub(super) fn send_relayed(&mut self, link: usize, relayed: &[Relayed]) {
        let Some(peer) = self.links.get_mut(link) else { return };
        for piece in relayed {
            let body = encode(piece);
            if !peer.connection.may_relay(self.now, body.len()) {
                return;
            }
            peer.connection.transmit(&mut self.out, PacketId::Relayed, &body);
        }
    }
}
