//! The mDNS side: one daemon, one record registered or browsed for.

use std::collections::BTreeMap;
use std::net::{SocketAddr, SocketAddrV6};
use std::thread;
use std::time::Duration;

use mdns_sd::{
    DaemonEvent, Error, Receiver, ResolvedService, ScopedIp, ServiceDaemon, ServiceEvent, ServiceInfo,
    TryRecvError,
};

use net::discovery::{ADDRESSES_MAX, Beacon, HINTS_MAX, RoomId};

use super::{SERVICE_TYPE, lan};

/// Interval at which the daemon checks for new interfaces, in seconds.
const IP_CHECK_SECONDS: u32 = 2;
/// Maximum number of the daemon's events handled in one round; it keeps the rest.
const EVENTS_PER_ROUND_MAX: usize = 64;
/// Maximum length of the host name within the service name, in bytes; a DNS label has 63, the room id and a dash take
/// 17.
const LABEL_NAME_BYTES_MAX: usize = 40;
/// Time after which the daemon has repeated its goodbye (120 ms) and may stop.
const GOODBYE_REPEATED_AFTER: Duration = Duration::from_millis(140);
/// Maximum wait for the daemon to accept the goodbye.
const UNREGISTER_WAIT: Duration = Duration::from_millis(150);

/// Daemon, and the errors it reports.
struct Daemon {
    daemon: ServiceDaemon,
    events: Receiver<DaemonEvent>,
}

impl Daemon {
    fn start() -> Result<Self, Error> {
        // The daemon does not report that it cannot open its port.
        lan::check_mdns_port().map_err(|error| Error::Msg(format!("UDP port 5353: {error}")))?;
        let daemon = ServiceDaemon::new()?;
        daemon.set_ip_check_interval(IP_CHECK_SECONDS)?;
        let events = daemon.monitor()?;
        Ok(Self { daemon, events })
    }

    /// Checks for errors since the last call.
    fn check(&self) -> Result<(), String> {
        for _ in 0..EVENTS_PER_ROUND_MAX {
            match self.events.try_recv() {
                Ok(DaemonEvent::Error(error)) => return Err(error.to_string()),
                Ok(_) => {}
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err("its thread ended".into()),
            }
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.daemon.shutdown(); // its thread may be gone already
    }
}

/// Record of one room.
pub(super) struct Service {
    daemon: Daemon,
    fullname: String,
}

impl Service {
    pub(super) fn register(beacon: &Beacon) -> Result<Self, Error> {
        let daemon = Daemon::start()?;
        let info = service_info(beacon)?;
        let fullname = info.get_fullname().to_owned();
        daemon.daemon.register(info)?;
        Ok(Self { daemon, fullname })
    }

    /// Updates the record to `beacon`.
    pub(super) fn update(&mut self, beacon: &Beacon) -> Result<(), Error> {
        let info = service_info(beacon)?;
        if info.get_fullname() != self.fullname {
            self.daemon.daemon.unregister(&self.fullname)?;
            info.get_fullname().clone_into(&mut self.fullname);
        }
        self.daemon.daemon.register(info)
    }

    /// Checks for errors since the last call.
    pub(super) fn check(&self) -> Result<(), String> {
        self.daemon.check()
    }

    /// Takes the record back, in at most about 0.3 s.
    pub(super) fn unregister(self) {
        let taken_back = self.daemon.daemon.unregister(&self.fullname);
        if taken_back.is_ok_and(|status| status.recv_timeout(UNREGISTER_WAIT).is_ok()) {
            thread::sleep(GOODBYE_REPEATED_AFTER);
        }
    }
}

fn service_info(beacon: &Beacon) -> Result<ServiceInfo, Error> {
    let Beacon { id, port, name, architecture, players, seats, locked, closed: _, version, build } = beacon;
    let readable = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let label: String = name.as_str().chars().map(readable).take(LABEL_NAME_BYTES_MAX).collect();
    // Properties for other tools; our own browser takes the id from here and asks for the rest.
    let properties = [
        ("id", id.to_string()),
        ("v", version.to_string()),
        ("build", build.to_string()),
        ("arch", architecture.to_string()),
        ("players", players.to_string()),
        ("seats", seats.to_string()),
        ("locked", u8::from(*locked).to_string()),
        ("port", port.to_string()),
    ];
    let (instance, host) = (format!("{id}-{label}"), format!("mra-{id}.local."));
    Ok(ServiceInfo::new(SERVICE_TYPE, &instance, &host, "", *port, &properties[..])?.enable_addr_auto())
}

/// Current records, for the directory to verify.
pub(super) struct Services {
    daemon: Daemon,
    events: Receiver<ServiceEvent>,
    /// Records by full name; at most [`HINTS_MAX`].
    found: BTreeMap<String, Hint>,
}

/// Location of a room, as a record claims.
pub(super) struct Hint {
    pub(super) id: RoomId,
    pub(super) addresses: Vec<SocketAddr>,
}

impl Services {
    pub(super) fn browse() -> Result<Self, Error> {
        let daemon = Daemon::start()?;
        let events = daemon.daemon.browse(SERVICE_TYPE)?;
        Ok(Self { daemon, events, found: BTreeMap::new() })
    }

    /// Handles the daemon's events. Returns whether anything was resolved anew; an error once the daemon has stopped.
    pub(super) fn handle_events(&mut self) -> Result<bool, String> {
        let mut news = false;
        for _ in 0..EVENTS_PER_ROUND_MAX {
            match self.events.try_recv() {
                Ok(ServiceEvent::ServiceResolved(service)) => news |= self.resolved(&service),
                Ok(ServiceEvent::ServiceRemoved(_, fullname)) => {
                    self.found.remove(&fullname);
                }
                Ok(_) => {}
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err("its events ended".into()),
            }
        }
        self.daemon.check().map(|()| news)
    }

    pub(super) fn hints(&self) -> impl Iterator<Item = &Hint> {
        self.found.values()
    }

    fn resolved(&mut self, service: &ResolvedService) -> bool {
        let id = service.txt_properties.get_property_val_str("id").and_then(RoomId::from_hex);
        let Some(id) = id.filter(|_| service.port != 0) else { return false };
        if self.found.len() == HINTS_MAX && !self.found.contains_key(&service.fullname) {
            return false;
        }
        let ipv6 = service.get_addresses().iter().filter_map(|ip| match ip {
            ScopedIp::V6(v6) => {
                let scope = if v6.addr().is_unicast_link_local() { v6.scope_id().index } else { 0 };
                Some(SocketAddr::from(SocketAddrV6::new(*v6.addr(), service.port, 0, scope)))
            }
            _ => None,
        });
        let ipv4 = service.get_addresses_v4().into_iter().map(|ip| SocketAddr::from((ip, service.port)));
        let mut addresses: Vec<SocketAddr> =
            ipv4.take(ADDRESSES_MAX).chain(ipv6.take(ADDRESSES_MAX)).collect();
        addresses.sort_by_key(|address| (address.is_ipv6(), lan::is_link_local(address)));
        self.found.insert(service.fullname.clone(), Hint { id, addresses });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::Architecture;
    use net::discovery::VersionText;
    use net::{NAME_CHARS_MAX, PlayerName};

    #[test]
    fn any_name_makes_a_valid_record() {
        for name in ["Ann", "a.b._udp.local.", "\u{8a9e}".repeat(NAME_CHARS_MAX).as_str(), "\\\"%/"] {
            let beacon = Beacon {
                id: RoomId(0xABC),
                port: 4124,
                name: PlayerName::new(name).unwrap(),
                architecture: Architecture::Relay,
                players: 1,
                seats: 4,
                locked: true,
                closed: false,
                version: VersionText::new("0.1.0").unwrap(),
                build: 1,
            };
            let info = service_info(&beacon).unwrap();
            let label = info.get_fullname().strip_suffix(&format!(".{SERVICE_TYPE}")).unwrap();
            assert!(
                label.starts_with("0000000000000abc-") && label.len() <= 63 && !label.contains('.'),
                "{label}"
            );
            assert_eq!(info.get_property_val_str("arch"), Some("relay"));
            assert_eq!(info.get_property_val_str("id").and_then(RoomId::from_hex), Some(beacon.id));
        }
    }
}
