//! The memory of an attacker on the way.

use std::net::SocketAddr;

/// Most datagrams that an attacker remembers: from the first of the handshake on, then every 61st.
const TAPE_MAX: usize = 512;
/// Number of the first that it remembers without a gap.
const TAPE_FIRST: usize = 64;
/// Datagrams that an attacker on the way has seen.
#[derive(Debug, Default)]
pub(super) struct Tape {
    seen: usize,
    /// By destination: where each seemed to come from, and its bytes.
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
