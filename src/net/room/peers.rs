//! The connections of a room, each with the player at its other end.

use arrayvec::ArrayVec;
use core::time::Duration;

use super::chat::LINES_WAITING_MAX;
use crate::connection::protection::OpeningRoom;
use crate::connection::{Connection, SILENT_AFTER};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace};
use crate::event::{Event, LinkStatus};
use crate::outbox::{Outbox, Source};
use crate::time::Time;
use crate::wire::message::{Chat, PacketId, Ping, Pong, Seats, decode};
use crate::wire::sealed::connection_id;
use sim::{PLAYERS_MAX, PlayerId};

/// The connections of a room.
#[derive(Debug)]
pub(crate) struct Peers {
    peers: ArrayVec<(PlayerId, Connection), PLAYERS_MAX>,
    /// Loss that pongs report before it is known, per mille.
    unknown_loss: u16,
}

/// A datagram of a connection that the room itself must handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing more.
    Nothing,
    /// Messages of the reliable channel may be complete.
    Messages,
    /// A datagram of another kind.
    Datagram(PacketId),
}

impl Peers {
    /// No connections.
    pub(crate) const fn new(unknown_loss: u16) -> Self {
        Self { peers: ArrayVec::new_const(), unknown_loss }
    }

    /// Sends a line of chat to all but its author, and reports it.
    pub(crate) fn pass_on(&mut self, line: &Chat, out: &mut Outbox) {
        for player in self.players().collect::<Seats>().iter().filter(|&player| player != line.from) {
            if self.get(player).is_some_and(|to| to.queued() < LINES_WAITING_MAX) {
                self.send(player, PacketId::Chat, line, out);
            }
        }
        out.event(Event::Said { player: line.from, text: line.text });
    }

    /// The players, in the order in which their connections were made.
    pub(crate) fn players(&self) -> impl DoubleEndedIterator<Item = PlayerId> {
        self.peers.iter().map(|(player, _)| *player)
    }

    /// The connections, in the order in which they were made.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (PlayerId, &Connection)> {
        self.peers.iter().map(|(player, connection)| (*player, connection))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (PlayerId, &mut Connection)> {
        self.peers.iter_mut().map(|(player, connection)| (*player, connection))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    pub(crate) fn get(&self, player: PlayerId) -> Option<&Connection> {
        self.iter().find(|&(of, _)| of == player).map(|(_, connection)| connection)
    }

    pub(crate) fn get_mut(&mut self, player: PlayerId) -> Option<&mut Connection> {
        self.peers.iter_mut().find(|(of, _)| *of == player).map(|(_, connection)| connection)
    }

    /// Adds the connection to this player, in place of an earlier one.
    pub(crate) fn put(&mut self, player: PlayerId, connection: Connection) {
        match self.get_mut(player) {
            Some(before) => *before = connection,
            // There is a place for each player.
            None => drop(self.peers.try_push((player, connection))),
        }
    }

    pub(crate) fn take(&mut self, player: PlayerId) -> Option<Connection> {
        let at = self.peers.iter().position(|(of, _)| *of == player)?;
        Some(self.peers.remove(at).1)
    }

    /// Takes out all connections, in the order in which they were made.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (PlayerId, Connection)> {
        core::mem::take(&mut self.peers).into_iter()
    }

    /// Connection ids that datagrams of these players are sent to.
    pub(crate) fn connection_ids(&self) -> impl Iterator<Item = u32> {
        self.iter().map(|(_, connection)| connection.protection.local_id())
    }

    /// Handles a datagram of one of these connections; `None` if it is of none of them.
    pub(crate) fn receive(
        &mut self,
        now: Time,
        (from, bytes): (Source, &[u8]),
        out: &mut Outbox,
    ) -> Result<Option<(PlayerId, Heard)>, DropCause> {
        let to = connection_id(bytes).ok_or(DropCause::Malformed)?;
        let is_to = |(_, connection): &&mut (PlayerId, Connection)| connection.protection.local_id() == to;
        let Some((player, connection)) = self.peers.iter_mut().find(is_to) else { return Ok(None) };
        let player = *player;
        let mut room = OpeningRoom::new();
        let opened = connection.protection.open(bytes, &mut room)?;
        let id = PacketId::of(opened.packet_id).ok_or(DropCause::Malformed)?;
        connection.admit(now, id)?;
        connection.hear(now, (from, bytes.len()), opened.is_newest, out);
        if core::mem::take(&mut connection.is_silent) {
            out.event(Event::Heard { player });
        }
        if connection.receive_path(from, id, opened.body, out)? {
            return Ok(Some((player, Heard::Nothing)));
        }
        let heard = match id {
            PacketId::Acknowledge => {
                connection.receive(opened.body)?;
                Heard::Messages
            }
            PacketId::Ping => {
                let lost_per_mille = connection.lost_here().unwrap_or(self.unknown_loss);
                let echo_us = decode::<Ping>(opened.body)?.time_us;
                let pong = Pong { echo_us, clock_us: None, time_us: now.0, error_us: 0, lost_per_mille };
                connection.send(out, PacketId::Pong, &pong);
                Heard::Nothing
            }
            PacketId::Pong => {
                connection.on_pong(now, &decode(opened.body)?).ok_or(OutOfPlace)?;
                Heard::Nothing
            }
            _ => Heard::Datagram(id),
        };
        Ok(Some((player, heard)))
    }

    /// Sends a message to this player.
    pub(crate) fn send<T: serde::Serialize>(
        &mut self,
        player: PlayerId,
        id: PacketId,
        message: &T,
        out: &mut Outbox,
    ) {
        if let Some(connection) = self.get_mut(player) {
            connection.send(out, id, message);
        }
    }

    /// Sends a message to all.
    pub(crate) fn send_to_all<T: serde::Serialize>(&mut self, id: PacketId, message: &T, out: &mut Outbox) {
        for (_, connection) in &mut self.peers {
            connection.send(out, id, message);
        }
    }

    /// Pings all to whom a ping is due.
    pub(crate) fn ping(&mut self, now: Time, every: Duration, out: &mut Outbox) {
        for (_, connection) in &mut self.peers {
            connection.ping(now, every, out);
        }
    }

    /// Sends what the reliable channels have to send.
    pub(crate) fn flush(&mut self, now: Time, out: &mut Outbox) {
        for (_, connection) in &mut self.peers {
            connection.flush(now, out);
        }
    }

    /// Returns when [`Self::ping`] or [`Self::flush`] has something to do.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        let each = self.iter().flat_map(|(_, it)| [it.timers.next(), it.poll_timeout()]);
        each.flatten().min()
    }

    /// This process was suspended for `by`, and could not receive.
    pub(crate) fn forgive(&mut self, now: Time, by: Duration) {
        for (_, connection) in &mut self.peers {
            connection.forgive(now, by);
        }
    }

    /// Whether all messages have been acknowledged.
    pub(crate) fn is_idle(&self) -> bool {
        self.iter().all(|(_, connection)| connection.is_idle())
    }

    /// Reports players who are silent. Returns those who are lost: silent for `timeout`, without acknowledging messages, or
    /// flooding.
    pub(crate) fn watch(
        &mut self,
        now: Time,
        timeout: Duration,
        out: &mut Outbox,
    ) -> ArrayVec<PlayerId, PLAYERS_MAX> {
        let mut lost = ArrayVec::new();
        for (player, connection) in &mut self.peers {
            let silence = now.since(connection.heard_at);
            if silence >= timeout || connection.is_broken() || connection.is_flooding() {
                lost.push(*player);
            } else if silence >= SILENT_AFTER && !core::mem::replace(&mut connection.is_silent, true) {
                out.event(Event::Silent { player: *player });
            }
        }
        lost
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub(crate) fn forge(&mut self, to: core::net::SocketAddr, id: PacketId, body: &[u8]) {
        let is_to = |(_, connection): &&mut (PlayerId, Connection)| connection.addresses().contains(&to);
        if let Some((_, connection)) = self.peers.iter_mut().find(is_to) {
            connection.forge(id, body);
        }
    }

    /// The state of each connection.
    pub(crate) fn status(&self, now: Time) -> impl Iterator<Item = LinkStatus> {
        self.iter().map(move |(player, connection)| connection.status(player, now))
    }
}
