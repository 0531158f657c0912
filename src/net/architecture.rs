//! The network architectures a match can have.

use serde::{Deserialize, Serialize};

/// Who runs the simulation and who tells whom what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// Lockstep between peers: everybody simulates, nobody decides.
    P2p,
    /// An authoritative server simulates and sends snapshots.
    ClientServer,
    /// Lockstep whose inputs a server orders and relays.
    Relay,
}

impl Architecture {
    /// The word for it on the command line and in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P2p => "p2p",
            Self::ClientServer => "client-server",
            Self::Relay => "relay",
        }
    }
}
