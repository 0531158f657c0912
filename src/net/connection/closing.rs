//! Connections that are closed at this end: their last messages are sent until acknowledged.

use alloc::collections::VecDeque;
use core::time::Duration;

use super::Connection;
use super::protection::OpeningRoom;
use crate::drop_cause::{DropCause, Handled};
use crate::outbox::{Outbox, Source};
use crate::time::Time;
use crate::wire::limits::CLOSING_MAX;
use crate::wire::message::PacketId;
use crate::wire::sealed::connection_id;

/// Time for which the last message is repeated without an acknowledgement: one second longer than a burst of losses.
pub(crate) const CLOSE_WITHIN: Duration = Duration::from_millis(1_600);

/// Closed connections, each with the time until which it is kept.
#[derive(Debug, Default)]
pub(crate) struct Closing(VecDeque<(Connection, Time)>);

impl Closing {
    /// This connection is closed; its last message has been queued.
    pub(crate) fn push(&mut self, now: Time, connection: Connection) {
        if self.0.len() >= CLOSING_MAX {
            self.0.pop_front();
        }
        self.0.push_back((connection, now.plus(CLOSE_WITHIN)));
    }

    /// Handles a datagram for one of these connections: its content is ignored, but acknowledged. An error if
    /// it is for none of them.
    pub(crate) fn receive(&mut self, now: Time, from: Source, bytes: &[u8], out: &mut Outbox) -> Handled {
        let to = connection_id(bytes).ok_or(DropCause::Malformed)?;
        let mut connections = self.0.iter_mut().map(|(connection, _)| connection);
        let closing = connections.find(|connection| connection.protection.local_id() == to);
        let connection = closing.ok_or(DropCause::Unauthenticated)?;
        let mut room = OpeningRoom::new();
        let opened = connection.protection.open(bytes, &mut room)?;
        connection.hear(now, (from, bytes.len()), opened.is_newest, out);
        if opened.packet_id == PacketId::Acknowledge as u8 {
            connection.receive(opened.body)?;
            while connection.poll_message().is_some() {}
        }
        Ok(())
    }

    /// Their connection ids.
    pub(crate) fn connection_ids(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|(connection, _)| connection.protection.local_id())
    }

    /// Sends what is due, and drops connections whose time has expired.
    pub(crate) fn flush(&mut self, now: Time, out: &mut Outbox) {
        for (connection, _) in &mut self.0 {
            connection.flush(now, out);
        }
        self.0.retain(|(_, until)| now < *until);
    }

    /// Returns when a retransmission is due.
    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        self.0.iter().filter_map(|(connection, _)| connection.poll_timeout()).min()
    }
}
