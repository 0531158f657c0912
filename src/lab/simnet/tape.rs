//! Recording of an on-path attacker.

use std::net::SocketAddr;

/// Maximum number of datagrams recorded: the first ones including the handshake, then every 61st.
const TAPE_MAX: usize = 512;
/// Number of first datagrams recorded without a gap.
const TAPE_FIRST: usize = 64;
/// Datagrams recorded by an on-path attacker.
#[derive(Debug, Default)]
pub(super) struct Tape {
    seen: usize,
    /// Destination, source address and bytes of each.
    pub(super) kept: Vec<(usize, SocketAddr, Vec<u8>)>,
}

impl Tape {
    pub(super) fn keep(&mut self, to: usize, from: SocketAddr, bytes: &[u8]) {
        self.seen += 1;
        let is_kept = self.seen <= TAPE_FIRST || self.seen.is_multiple_of(61);
        if is_kept && self.kept.len() < TAPE_MAX {
            self.kept.push((to, from, bytes.to_vec()));
        }
    }
}
