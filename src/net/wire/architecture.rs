//! The architectures: where the world runs, and the path that inputs take.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// Connections between the processes of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Architecture {
    /// Lockstep: every peer runs the world and sends its inputs to every other.
    #[default]
    P2p,
    /// A server runs the world; clients predict it.
    ClientServer,
    /// Lockstep whose inputs all pass through one relay.
    Relay,
}

impl Architecture {
    /// All architectures.
    pub const ALL: [Self; 3] = [Self::P2p, Self::ClientServer, Self::Relay];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P2p => "p2p",
            Self::ClientServer => "client-server",
            Self::Relay => "relay",
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that does not name an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an architecture is p2p, client-server or relay")]
pub struct UnknownArchitecture;

impl FromStr for Architecture {
    type Err = UnknownArchitecture;
    fn from_str(word: &str) -> Result<Self, UnknownArchitecture> {
        Self::ALL.into_iter().find(|architecture| architecture.as_str() == word).ok_or(UnknownArchitecture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for architecture in Architecture::ALL {
            assert_eq!(architecture.as_str().parse(), Ok(architecture));
        }
        assert_eq!("P2P".parse::<Architecture>(), Err(UnknownArchitecture));
    }
}
