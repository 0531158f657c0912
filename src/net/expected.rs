//! The datagrams that a session can use, for the thread that reads them: whatever strangers send ends there, and
//! costs the session's thread nothing.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use core::net::SocketAddr;

use super::drop_cause::DropCause;
use super::wire::limits::{
    ALTERNATIVES_MAX, CLOSING_MAX, DISCOVERY_BYTES_MAX, ENVELOPE_BYTES, PENDING_MAX, TAG_BYTES,
};
use super::wire::message::{Delivery, JOIN_REQUEST_BYTES, PacketId};
use super::wire::sealed::connection_id;
use sim::PLAYERS_MAX;

/// Most connections of a session: those of the players, of guests without a seat, and of those who have just left.
const CONNECTIONS_MAX: usize = PLAYERS_MAX + PENDING_MAX + CLOSING_MAX;

/// Which datagrams a session can use. What it admits may still be refused: no key is tried here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The ids of the session's connections.
    connections: ArrayVec<u32, CONNECTIONS_MAX>,
    /// The addresses of the host or server that was asked for a seat.
    asked: ArrayVec<SocketAddr, { 1 + ALTERNATIVES_MAX }>,
}

/// Possible sender of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A connection's other end: it names the connection.
    Connection,
    /// Anybody who asks, or is asked.
    Stranger,
}

impl Expected {
    pub(super) fn new(
        connections: impl Iterator<Item = u32>,
        asked: impl IntoIterator<Item = SocketAddr>,
    ) -> Self {
        let asked = asked.into_iter().take(1 + ALTERNATIVES_MAX).collect();
        Self { connections: connections.take(CONNECTIONS_MAX).collect(), asked }
    }

    /// Returns the possible sender of a datagram. It depends on its first bytes and on its length alone.
    ///
    /// # Errors
    /// Why the session would drop it.
    pub fn check(&self, from: SocketAddr, bytes: &[u8]) -> Result<Origin, DropCause> {
        let id = bytes.first().copied().and_then(PacketId::of).ok_or(DropCause::Malformed)?;
        match id {
            PacketId::JoinRequest if bytes.len() != JOIN_REQUEST_BYTES => Err(DropCause::Malformed),
            PacketId::RoomQuery if bytes.len() != DISCOVERY_BYTES_MAX => Err(DropCause::Malformed),
            PacketId::JoinRequest | PacketId::RoomQuery => Ok(Origin::Stranger),
            PacketId::JoinChallenge | PacketId::JoinRefused | PacketId::JoinShare
                if self.asked.contains(&from) =>
            {
                Ok(Origin::Stranger)
            }
            _ if id.delivery() != Delivery::Datagram => Err(DropCause::OutOfPlace),
            _ if bytes.len() < ENVELOPE_BYTES.saturating_add(TAG_BYTES) => Err(DropCause::Malformed),
            _ if connection_id(bytes).is_some_and(|to| self.connections.contains(&to)) => {
                Ok(Origin::Connection)
            }
            _ => Err(DropCause::Unauthenticated),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PacketProtection;
    use core::net::Ipv4Addr;

    #[test]
    fn what_a_session_cannot_use_is_refused_by_its_first_bytes() {
        let [host, other] = [1, 2].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let expected = Expected::new([7, 9].into_iter(), Some(host));
        let sealed = |to| PacketProtection::plaintext(1, to).seal(PacketId::Ping as u8, &[]);
        for to in [7, 9] {
            assert_eq!(
                expected.check(other, sealed(to).bytes()),
                Ok(Origin::Connection),
                "a new address, too"
            );
        }
        assert_eq!(expected.check(host, sealed(8).bytes()), Err(DropCause::Unauthenticated));
        assert_eq!(expected.check(host, &sealed(7).bytes()[..22]), Err(DropCause::Malformed));
        let unconnected = |id: PacketId, length: usize| {
            let mut bytes = alloc::vec![0; length];
            bytes[0] = id as u8;
            bytes
        };
        for (id, length) in
            [(PacketId::JoinRequest, JOIN_REQUEST_BYTES), (PacketId::RoomQuery, DISCOVERY_BYTES_MAX)]
        {
            assert_eq!(expected.check(other, &unconnected(id, length)), Ok(Origin::Stranger));
            for wrong in [1, length - 1, length + 1] {
                assert_eq!(expected.check(other, &unconnected(id, wrong)), Err(DropCause::Malformed));
            }
        }
        for id in [PacketId::JoinChallenge, PacketId::JoinRefused, PacketId::JoinShare] {
            assert_eq!(expected.check(host, &unconnected(id, 27)), Ok(Origin::Stranger));
            assert_eq!(expected.check(other, &unconnected(id, 27)), Err(DropCause::OutOfPlace));
        }
        assert_eq!(expected.check(host, &unconnected(PacketId::Bye, 40)), Err(DropCause::OutOfPlace));
        for bytes in [&[][..], &[0], &[0xff; 40]] {
            assert_eq!(expected.check(host, bytes), Err(DropCause::Malformed));
        }
    }

    #[test]
    fn each_address_of_a_host_may_answer_a_guest() {
        let hosts =
            (1..).map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).take(1 + ALTERNATIVES_MAX);
        let expected = Expected::new(core::iter::empty(), hosts.clone());
        let mut answer = [0; 27];
        answer[0] = PacketId::JoinChallenge as u8;
        for host in hosts {
            assert_eq!(expected.check(host, &answer), Ok(Origin::Stranger), "{host}");
        }
    }
}
