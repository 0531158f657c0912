//! Check of the anti-amplification limit: a node must not send more bytes to an unvalidated address than it received
//! from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use net::Time;
use net::message::PacketId;

/// Balance of bytes by node and address: received in requests of the handshake and of discovery, less those of the
/// answers.
#[derive(Debug, Default)]
pub(super) struct Meter {
    open: BTreeMap<(usize, SocketAddr), usize>,
    /// Time and size of the first answer that exceeded the balance, by node.
    excess: BTreeMap<usize, (Time, usize)>,
}

impl Meter {
    /// Records that a datagram reached a node.
    pub(super) fn arrived(&mut self, node: usize, from: SocketAddr, bytes: &[u8]) {
        let id = bytes.first().copied().and_then(PacketId::of);
        if matches!(id, Some(PacketId::JoinRequest | PacketId::RoomQuery)) {
            *self.open.entry((node, from)).or_default() += bytes.len();
        }
    }

    /// Records that a node sends a datagram.
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

    /// Returns time and size of the node's first answer that exceeded the balance.
    pub(super) fn excess(&self, node: usize) -> Option<(Time, usize)> {
        self.excess.get(&node).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_larger_than_its_request_is_amplification() {
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
