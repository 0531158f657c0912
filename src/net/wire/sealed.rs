//! Datagrams as they leave, and to which connection they go.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;

use super::limits::DATAGRAM_BYTES_MAX;

/// A datagram that is ready to be sent: the transport accepts nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedPacket {
    pub(crate) bytes: ArrayVec<u8, DATAGRAM_BYTES_MAX>,
    pub(crate) is_plaintext: bool,
}

impl SealedPacket {
    /// A datagram of the handshake or of discovery, which have no connection yet.
    ///
    /// # Panics
    /// If it is longer than [`DATAGRAM_BYTES_MAX`].
    #[must_use]
    pub fn unconnected(bytes: &[u8]) -> Self {
        Self { bytes: bytes.iter().copied().collect(), is_plaintext: false }
    }

    /// The bytes on the wire.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it belongs to a connection of a virtual run that is not encrypted. The transport sends none of
    /// these.
    #[must_use]
    pub const fn is_plaintext(&self) -> bool {
        self.is_plaintext
    }
}

/// The connection id that a datagram is addressed to; `None` if it is too short to have one.
#[must_use]
pub(crate) fn connection_id(datagram: &[u8]) -> Option<u32> {
    let bytes = datagram.get(1..5)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
