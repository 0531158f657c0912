//! Announces and finds rooms on the LAN by two methods: mDNS, and broadcasts on [`DISCOVERY_PORT`]. Either alone is
//! enough; a failure is reported as a [`Warning`], and the other continues.
//!
//! Broadcasts exist only in IPv4; on a network without it, mDNS finds rooms by IPv6.

mod announcer;
mod browser;
mod diagnosis;
mod inquiry;
mod lan;
mod service;

use std::fmt::Display;
use std::mem::discriminant;

pub use announcer::{AnnounceError, Announcer};
pub use browser::{BrowseError, Browser};
pub use diagnosis::{Asked, DiagnoseError, Diagnosis, Heard, Interface, diagnose};
pub use inquiry::ask_version;

/// UDP port of beacons and broadcast queries.
pub const DISCOVERY_PORT: u16 = 4123;
/// mDNS service type of rooms.
pub const SERVICE_TYPE: &str = "_mini-rts-arena._udp.local.";

/// Discovery methods to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ways {
    /// Whether to use mDNS.
    pub mdns: bool,
    /// Whether to use beacons and queries by broadcast.
    pub broadcast: bool,
}

impl Ways {
    /// Both methods.
    pub const ALL: Self = Self { mdns: true, broadcast: true };
}

/// Failure of one method of discovery, while the other continues.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// mDNS failed.
    #[error("mDNS does not work here ({0}): matches are found by broadcast alone")]
    Mdns(String),
    /// The port of beacons cannot be opened.
    #[error("UDP port {DISCOVERY_PORT} cannot be opened ({0}): broadcasts of others are not received here")]
    Listen(String),
    /// No broadcast can be sent.
    #[error("no broadcast can be sent ({0}): check the firewall, or join by address")]
    Broadcast(String),
    /// The list of interfaces cannot be read.
    #[error("the network interfaces cannot be listed ({0}): only this machine is searched")]
    Interfaces(String),
}

/// Records the result of an attempt: a failure replaces the last of its kind, a success clears it.
fn note<T, E: Display>(
    warnings: &mut Vec<Warning>,
    kind: fn(String) -> Warning,
    result: Result<T, E>,
) -> Option<T> {
    let of_kind = discriminant(&kind(String::new()));
    warnings.retain(|old| discriminant(old) != of_kind);
    result.map_err(|error| warnings.push(kind(error.to_string()))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_listed_once_until_it_clears() {
        let mut warnings = Vec::new();
        for n in 0..1000 {
            assert_eq!(note::<(), _>(&mut warnings, Warning::Mdns, Err(n)), None);
            assert_eq!(note::<(), _>(&mut warnings, Warning::Broadcast, Err(n)), None);
        }
        assert_eq!(warnings, [Warning::Mdns("999".into()), Warning::Broadcast("999".into())]);
        assert_eq!(note::<_, String>(&mut warnings, Warning::Mdns, Ok(5)), Some(5));
        assert_eq!(warnings, [Warning::Broadcast("999".into())]);
    }
}
