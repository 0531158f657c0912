//! The entries of the room list.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use crate::wire::architecture::Architecture;

use super::{Beacon, RoomId, RoomInfo, SetupNames, VersionText};
use crate::wire::name::PlayerName;

/// A listed room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its id.
    pub id: RoomId,
    /// The host's name.
    pub name: PlayerName,
    /// The address from which it answered: the address to join.
    pub address: SocketAddr,
    /// Architecture of its match.
    pub architecture: Architecture,
    /// Seats that are taken.
    pub players: u8,
    /// Seats in all.
    pub seats: u8,
    /// Whether joining requires a room code.
    pub locked: bool,
    /// The host's version of the game.
    pub version: VersionText,
    /// The host's simulation build.
    pub build: u32,
    /// Names of its rules and map, if the host says them.
    pub names: Option<SetupNames>,
    /// Discovery methods that found it.
    pub found_by: Found,
    /// Round-trip time of the queries; late ones count little.
    pub rtt: Duration,
}

impl Room {
    pub(super) fn new(address: SocketAddr, info: RoomInfo, found_by: Found, rtt: Duration) -> Self {
        let RoomInfo { nonce: _, beacon, names } = info;
        let Beacon { id, port: _, name, architecture, players, seats, locked, closed: _, version, build } =
            beacon;
        Self { id, name, address, architecture, players, seats, locked, version, build, names, found_by, rtt }
    }
}

/// A means of discovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// An mDNS record.
    Mdns,
    /// A broadcast beacon, or the answer to a broadcast query.
    Broadcast,
}

impl FoundBy {
    /// Its name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mdns => "mdns",
            Self::Broadcast => "broadcast",
        }
    }
}

/// Discovery methods that found a room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By an mDNS record.
    pub mdns: bool,
    /// By a broadcast.
    pub broadcast: bool,
}

impl Found {
    /// Adds a means of discovery.
    pub const fn add(&mut self, way: FoundBy) {
        match way {
            FoundBy::Mdns => self.mdns = true,
            FoundBy::Broadcast => self.broadcast = true,
        }
    }

    /// Whether `way` is included.
    #[must_use]
    pub const fn has(self, way: FoundBy) -> bool {
        match way {
            FoundBy::Mdns => self.mdns,
            FoundBy::Broadcast => self.broadcast,
        }
    }

    /// Iterates over the means, mDNS first.
    pub fn iter(self) -> impl Iterator<Item = FoundBy> {
        [FoundBy::Mdns, FoundBy::Broadcast].into_iter().filter(move |way| self.has(*way))
    }
}

/// A network this machine is connected to: rooms are sought nowhere else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// This machine's address in it.
    pub address: IpAddr,
    /// The length of the prefix that all its addresses share, in bits.
    pub prefix: u8,
}

impl Network {
    /// Whether `ip` belongs to it.
    #[must_use]
    pub const fn contains(&self, ip: IpAddr) -> bool {
        let (ours, theirs, bits) = match (self.address, ip) {
            (IpAddr::V4(ours), IpAddr::V4(theirs)) => {
                (ours.to_bits() as u128, theirs.to_bits() as u128, 32_u32)
            }
            (IpAddr::V6(ours), IpAddr::V6(theirs)) => (ours.to_bits(), theirs.to_bits(), 128),
            _ => return false,
        };
        let free = bits.saturating_sub(self.prefix as u32);
        match (ours ^ theirs).checked_shr(free) {
            Some(differing) => differing == 0,
            None => true, // the prefix has 0 bits
        }
    }
}

/// Counts of dropped datagrams and hints, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Not a discovery datagram, or malformed.
    pub malformed: u64,
    /// Of another version of discovery: somebody here runs another version of the game.
    pub other_version: u64,
    /// An unsolicited answer, or an answer from another address than the one asked.
    pub unasked: u64,
    /// An address outside this machine's networks.
    pub not_local: u64,
    /// Over the limit of one host, or of all together.
    pub crowded: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_own_addresses_only() {
        let net = |address: &str, prefix| Network { address: address.parse().unwrap(), prefix };
        let holds = |net: Network, ip: &str| net.contains(ip.parse().unwrap());
        assert!(holds(net("10.77.0.1", 24), "10.77.0.254"));
        assert!(!holds(net("10.77.0.1", 24), "10.77.1.1"));
        assert!(!holds(net("10.77.0.1", 24), "fe80::1"));
        assert!(holds(net("10.0.0.1", 0), "8.8.8.8") && holds(net("::1", 0), "fe80::1"));
        assert!(holds(net("10.0.0.1", 32), "10.0.0.1") && !holds(net("10.0.0.1", 99), "10.0.0.2"));
        assert!(holds(net("fe80::1", 64), "fe80::2:3") && !holds(net("fe80::1", 64), "fe81::1"));
    }

    #[test]
    fn means_of_discovery_accumulate() {
        let mut found = Found::default();
        assert_eq!(found.iter().count(), 0);
        found.add(FoundBy::Broadcast);
        found.add(FoundBy::Broadcast);
        assert!(found.iter().map(FoundBy::as_str).eq(["broadcast"]));
        found.add(FoundBy::Mdns);
        assert!(found.iter().map(FoundBy::as_str).eq(["mdns", "broadcast"]));
    }
}
