//! This machine's networks, and the sockets of discovery.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use if_addrs::{IfAddr, Ifv4Addr};
use socket2::{Domain, Protocol, Socket, Type};

use net::discovery::{DISCOVERY_BYTES_MAX, NETWORKS_MAX, Network};

use super::DISCOVERY_PORT;

/// Buffer that is one byte longer than a valid datagram, so that longer ones are recognised.
pub(super) type Buffer = [u8; DISCOVERY_BYTES_MAX + 1];

/// This machine's networks at the time of reading.
pub(super) struct Lan {
    pub(super) networks: Vec<Network>,
    /// Broadcast addresses; loopback last, so that the first answer of a room is likely to come from an address that
    /// everyone can use.
    pub(super) broadcasts: Vec<SocketAddr>,
}

impl Lan {
    /// Reads the interfaces that are up now, at most [`NETWORKS_MAX`] of them. Loopback is always included.
    pub(super) fn read() -> (Self, io::Result<()>) {
        let (interfaces, result) = match if_addrs::get_if_addrs() {
            Ok(interfaces) => (interfaces, Ok(())),
            Err(error) => (Vec::new(), Err(error)),
        };
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for interface in interfaces.into_iter().filter(|interface| !interface.is_loopback()) {
            match interface.addr {
                IfAddr::V4(one) => v4.push(one),
                IfAddr::V6(one) => v6.push(Network { address: IpAddr::V6(one.ip), prefix: one.prefixlen }),
            }
        }
        v4.truncate(NETWORKS_MAX);
        let networks = v4.iter().map(|v4| Network { address: IpAddr::V4(v4.ip), prefix: v4.prefixlen });
        let networks = networks.chain(v6).take(NETWORKS_MAX);
        // 255.255.255.255 is sent only by the default route, and not at all without one.
        let all = [Ipv4Addr::BROADCAST, Ipv4Addr::new(127, 255, 255, 255)];
        let mut ips: Vec<Ipv4Addr> = v4.iter().filter_map(directed_broadcast).collect();
        ips.sort_unstable();
        ips.dedup();
        let broadcasts =
            ips.into_iter().chain(all).map(|ip| SocketAddr::from((ip, DISCOVERY_PORT))).collect();
        (Self { networks: networks.collect(), broadcasts }, result)
    }

    /// Sends `bytes` to all networks.
    ///
    /// # Errors
    /// If it could be sent to none.
    pub(super) fn broadcast(&self, socket: &UdpSocket, bytes: &[u8]) -> io::Result<()> {
        let mut result = Err(io::ErrorKind::AddrNotAvailable.into());
        for to in &self.broadcasts {
            match socket.send_to(bytes, to) {
                Ok(_) => result = Ok(()),
                Err(error) if result.is_err() => result = Err(error),
                Err(_) => {} // such as ENETUNREACH without a default route
            }
        }
        result
    }
}

/// Returns the broadcast address of this interface's network. Interfaces configured without one still have it: all
/// bits of the host part set. Networks of one or two addresses have none.
fn directed_broadcast(v4: &Ifv4Addr) -> Option<Ipv4Addr> {
    let host_bits = u32::MAX.checked_shr(v4.prefixlen.into()).filter(|_| v4.prefixlen < 31)?;
    Some(Ipv4Addr::from_bits(v4.ip.to_bits() | host_bits))
}

/// Opens a socket that receives broadcasts to [`DISCOVERY_PORT`], sharing the port with others of its kind.
pub(super) fn listen() -> io::Result<UdpSocket> {
    let socket = shared_socket(DISCOVERY_PORT)?;
    socket.set_broadcast(true)?;
    Ok(socket.into())
}

/// Checks that this process may share the port of mDNS.
pub(super) fn check_mdns_port() -> io::Result<()> {
    shared_socket(mdns_sd::MDNS_PORT).map(drop)
}

fn shared_socket(port: u16) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    #[cfg(unix)]
    socket.set_reuse_port(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)).into())?;
    Ok(socket)
}

/// Opens a socket with a port of its own that may broadcast.
pub(super) fn ephemeral() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.set_broadcast(true)?;
    Ok(socket)
}

/// Opens a socket for IPv6 only, with this port or any; `None` without IPv6.
pub(super) fn ephemeral_v6(port: u16) -> Option<UdpSocket> {
    let socket = Socket::new(Domain::IPV6, Type::DGRAM, Some(Protocol::UDP)).ok()?;
    socket.set_only_v6(true).ok()?;
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into()).ok()?;
    Some(socket.into())
}

/// Whether the address is incomplete without an interface.
pub(super) const fn is_link_local(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(v6) if v6.ip().is_unicast_link_local())
}

/// Waits for one datagram, at most `wait`. Errors also wait: no caller spins on a broken socket.
pub(super) fn receive(
    socket: &UdpSocket,
    buffer: &mut Buffer,
    wait: Duration,
) -> Option<(usize, SocketAddr)> {
    // Zero would mean no timeout.
    let wait = wait.max(Duration::from_millis(1));
    let received = socket.set_read_timeout(Some(wait)).and_then(|()| socket.recv_from(buffer));
    match received {
        Ok(received) => Some(received),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => None,
        // On Windows an earlier send to a closed port is reported here as ConnectionReset.
        Err(_) => {
            std::thread::park_timeout(Duration::from_millis(1));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directed_broadcast_follows_from_address_and_prefix() {
        let directed = |ip: &str, prefixlen| {
            let netmask = Ipv4Addr::UNSPECIFIED;
            directed_broadcast(&Ifv4Addr { ip: ip.parse().unwrap(), netmask, prefixlen, broadcast: None })
        };
        assert_eq!(directed("10.77.0.1", 24), Some(Ipv4Addr::new(10, 77, 0, 255)));
        assert_eq!(directed("10.77.5.1", 20), Some(Ipv4Addr::new(10, 77, 15, 255)));
        assert_eq!(directed("10.77.0.1", 30), Some(Ipv4Addr::new(10, 77, 0, 3)));
        assert_eq!(directed("10.77.0.1", 31), None);
        assert_eq!(directed("10.77.0.1", 32), None);
    }

    #[test]
    fn loopback_comes_last() {
        let (lan, _) = Lan::read();
        assert_eq!(lan.broadcasts.last(), Some(&SocketAddr::from(([127, 255, 255, 255], DISCOVERY_PORT))));
    }
}
