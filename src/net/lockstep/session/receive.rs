//! Dispatches received datagrams: those of a connection, messages of its channel, and what is for the room.

use super::{Lockstep, Mesh, Phase};
use crate::connection::protection::{Opened, OpeningRoom};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::expected::Expected;
use crate::outbox::Source;
use crate::play::link::Link;
use crate::wire::message::{Delivery, DesyncState, PacketId, Relayed, decode, encode};
use crate::wire::sealed::connection_id;

impl Mesh {
    /// The player at the other end of the link was heard.
    fn on_heard(&mut self, link: usize, (from, bytes): (Source, usize), newest: bool) -> Handled {
        let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
        let player = peer.player;
        peer.connection.hear(self.now, (from, bytes), newest, &mut self.out);
        if core::mem::take(&mut peer.connection.is_silent) {
            self.out.event(Event::Heard { player });
        }
        self.stop_waiting(player);
        Ok(())
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

impl Lockstep {
    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let links = self.mesh.links.iter().map(|link| link.connection.protection.local_id());
        Expected::new(links.chain(self.room.connection_ids()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.mesh.out.traffic.dropped.count(cause, times);
    }

    /// Handles a datagram; an error says why it was dropped.
    pub(super) fn dispatch(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let id = bytes.first().copied().and_then(PacketId::of).ok_or(DropCause::Malformed)?;
        match id {
            PacketId::GameStateUpdate | PacketId::ServerTicks => Err(OutOfPlace),
            _ if id.delivery() == Delivery::Datagram => {
                let to = connection_id(bytes).ok_or(DropCause::Malformed)?;
                let is_to = |link: &Link| link.connection.protection.local_id() == to;
                let Some(link) = self.mesh.links.iter().position(is_to) else {
                    return self.room.receive(self.mesh.now, from, bytes, &mut self.mesh.out);
                };
                let peer = self.mesh.links.get_mut(link).ok_or(OutOfPlace)?;
                let mut room = OpeningRoom::new();
                let Opened { body, is_newest, number, .. } =
                    peer.connection.open(bytes, &mut room, &mut self.mesh.out)?;
                peer.connection.admit(self.mesh.now, id)?;
                self.mesh.on_heard(link, (from, bytes.len()), is_newest)?;
                let peer = self.mesh.links.get_mut(link).ok_or(OutOfPlace)?;
                if peer.connection.receive_path(from, id, body, &mut self.mesh.out)? {
                    return Ok(());
                }
                if id == PacketId::Acknowledge {
                    self.mesh.links.get_mut(link).ok_or(OutOfPlace)?.connection.receive(body)?;
                    self.take_messages(link);
                    return Ok(());
                }
                if self.mesh.links.get(link).is_some_and(|peer| peer.connection.protection.is_stale(number)) {
                    return Err(DropCause::Stale);
                }
                self.on_datagram(link, id, body, is_newest)
            }
            _ => self.room.receive(self.mesh.now, from, bytes, &mut self.mesh.out),
        }
    }

    fn on_datagram(&mut self, link: usize, id: PacketId, body: &[u8], newest: bool) -> Handled {
        if self.mesh.links.get(link).ok_or(OutOfPlace)?.is_gone {
            return Err(OutOfPlace);
        }
        match id {
            PacketId::PlayerInput => self.on_inputs(link, body, newest),
            PacketId::Ping => self.mesh.on_ping(link, decode(body)?, self.phase.is_running()),
            PacketId::Pong => self.mesh.on_pong(link, decode(body)?, self.phase.is_running()),
            PacketId::Suspicion => self.on_suspicion(link, decode(body)?),
            PacketId::Relayed => {
                self.mesh.take_relayed(link, &decode(body)?)?;
                self.settle_suspects();
                Ok(())
            }
            PacketId::Head => {
                self.mesh.take_head(link, decode(body)?)?;
                self.suspect_false_signers();
                Ok(())
            }
            // An entry that was repeated, or the answer to it, on its way since before the match.
            PacketId::JoinEntry | PacketId::JoinConfirm => Err(DropCause::Stale),
            _ => Err(OutOfPlace),
        }
    }

    /// Handles the messages of this link's peer. What one says that stays after its goodbye is for the room.
    pub(super) fn take_messages(&mut self, link: usize) {
        while !matches!(self.phase, Phase::Over | Phase::Closed)
            && let is_ending = matches!(self.phase, Phase::Ending { .. })
            && let Some(peer) = self.mesh.links.get_mut(link).filter(|peer| !(peer.stays && is_ending))
            && let Some((id, body)) = peer.connection.poll_message()
        {
            let handled = self.on_message(link, id, &body);
            self.mesh.out.traffic.count(handled);
        }
        self.advance_search();
    }

    fn on_message(&mut self, link: usize, id: PacketId, body: &[u8]) -> Handled {
        let peer = self.mesh.links.get_mut(link).ok_or(OutOfPlace)?;
        if peer.is_gone {
            return Ok(());
        }
        peer.connection.admit(self.mesh.now, id)?;
        match id {
            PacketId::Bye => self.on_bye(link, decode(body)?),
            PacketId::DesyncHashes => self.on_desync_hashes(link, decode(body)?),
            PacketId::DesyncState => {
                let Phase::Searching { search, .. } = &self.phase else { return Err(OutOfPlace) };
                search.take_state(&mut self.mesh, link, DesyncState::decode(body)?)
            }
            PacketId::Chat => self.mesh.on_chat(link, decode(body)?),
            PacketId::ShownHead => self.on_shown_head(link, decode(body)?),
            _ => Err(OutOfPlace),
        }
    }
}
