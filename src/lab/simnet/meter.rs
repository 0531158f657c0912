//! What nodes answer to those who may not be where they seem to be: never more bytes than came from there.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use net::Time;
use net::message::PacketId;

/// Bytes that came to a node from an address in requests of the handshake and of discovery, less those of the answers.
#[derive(Debug, Default)]
pub(super) struct Meter {
    open: BTreeMap<(usize, SocketAddr), usize>,
    /// By node: the first answer that was larger than what was left: when, and of how many bytes.
    excess: BTreeMap<usize, (Time, usize)>,
}

impl Meter {
    /// A datagram reached a node.
    pub(super) fn arrived(&mut self, node: usize, from: SocketAddr, bytes: &[u8]) {
        let id = bytes.first().copied().and_then(PacketId::of);
        if matches!(id, Some(PacketId::JoinRequest | PacketId::RoomQuery)) {
            *self.open.entry((node, from)).or_default() += bytes.len();
        }
    }

    /// A node sends a datagram.
    pub(super) fn left(&mut self, now: Time, node: usize, to: SocketAddr, bytes: &[u8]) {
        use PacketId::{JoinChallenge, JoinRefused, JoinShare, RoomInfo};
        let id = bytes.first().copied().and_then(PacketId::of);
        if !matches!(id, Some(JoinChallenge | JoinRefused | JoinShare | RoomInfo)) {
            return;
        }
        let open = self.open.entry((node, to)).or_default();
        match open.checked_sub(bytes.len()) {
            Some(rest) => *open = rest,
            None => {
                self.excess.entry(node).or_insert((now, bytes.len()));
            }
        }
    }

    /// The first answer of a node that was larger than everything that had come from there and was not answered.
    pub(super) fn excess(&self, node: usize) -> Option<(Time, usize)> {
        self.excess.get(&node).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_needs_a_request_that_is_at_least_as_large() {
        let from = SocketAddr::from(([10, 0, 0, 2], 4124));
        let (request, share) = ([3; 100], [0x21; 60]);
        let mut meter = Meter::default();
        meter.arrived(0, from, &request);
        meter.left(Time(1), 0, from, &share);
        meter.left(Time(2), 1, from, &[5; 900]);
        assert_eq!(meter.excess(0), None);
        meter.left(Time(3), 0, from, &share);
        assert_eq!((meter.excess(0), meter.excess(1)), (Some((Time(3), 60)), None));
    }
}
