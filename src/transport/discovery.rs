//! Rooms announced and found on the LAN, in two ways at once: mDNS, and broadcasts on [`DISCOVERY_PORT`].
//! Either alone is enough; what does not work is told as a [`Warning`] and the other goes on.
//!
//! IPv4 only, as the game's sockets are.

mod announcer;
mod browser;
mod lan;
mod service;

pub use announcer::{AnnounceError, Announcer};
pub use browser::{BrowseError, Browser};

/// The UDP port of beacons and broadcast queries.
pub const DISCOVERY_PORT: u16 = 4123;
/// The mDNS service type of rooms.
pub const SERVICE_TYPE: &str = "_mini-rts-arena._udp.local.";

/// The ways to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// mDNS.
    pub mdns: bool,
    /// Beacons and queries by broadcast.
    pub broadcast: bool,
}

impl Ways {
    /// Both.
    pub const ALL: Self = Self { mdns: true, broadcast: true };
}

/// Something that does not work here, while the rest goes on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// mDNS failed.
    #[error("mDNS does not work here ({0}): matches are found by broadcast alone")]
    Mdns(String),
    /// The port of beacons cannot be listened on.
    #[error("UDP port {DISCOVERY_PORT} cannot be opened ({0}): what others broadcast is not heard here")]
    Listen(String),
    /// No broadcast can be sent.
    #[error("no broadcast can be sent ({0}): check the firewall, or join by address")]
    Broadcast(String),
    /// The list of interfaces cannot be read.
    #[error("the network interfaces cannot be listed ({0}): only this machine is searched")]
    Interfaces(String),
}

/// The latest warning of each kind, so that a failure that repeats stays one.
fn warn(warnings: &mut Vec<Warning>, warning: Warning) {
    let kind = std::mem::discriminant(&warning);
    match warnings.iter_mut().find(|old| std::mem::discriminant(*old) == kind) {
        Some(old) => *old = warning,
        None => warnings.push(warning),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_that_repeat_do_not_pile_up() {
        let mut warnings = Vec::new();
        for n in 0..1000 {
            warn(&mut warnings, Warning::Mdns(n.to_string()));
            warn(&mut warnings, Warning::Broadcast(n.to_string()));
        }
        assert_eq!(warnings, [Warning::Mdns("999".into()), Warning::Broadcast("999".into())]);
    }
}
