//! A UDP socket that knows at which of the machine's addresses a datagram arrived, and answers from there.

use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use quinn_udp::{RecvMeta, UdpSocketState};

use net::Source;

/// Bound socket of one address family.
#[derive(Debug)]
pub(super) struct BoundSocket {
    socket: UdpSocket,
    pub(super) address: SocketAddr,
    /// Reads and sets local addresses. `None` if the socket is bound to one address, so that there is no choice, or
    /// if the system does not report them.
    local: Option<UdpSocketState>,
}

/// Datagrams that were read together, all of one source: the system joins some that arrive together.
pub(super) struct Read {
    pub(super) from: Source,
    pub(super) bytes: usize,
    /// Length of each datagram but the last, which may be shorter.
    pub(super) stride: usize,
}

impl BoundSocket {
    /// Binds without SO_REUSEADDR: a taken port is an error on every system. A socket of IPv6 takes no IPv4, which has a
    /// socket of its own.
    pub(super) fn bind(address: SocketAddr, read_timeout: Duration) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        socket.bind(&address.into())?;
        let socket = UdpSocket::from(socket);
        socket.set_read_timeout(Some(read_timeout))?;
        let is_any = address.ip().is_unspecified();
        let local = is_any.then(|| UdpSocketState::new((&socket).into()).ok()).flatten();
        if local.is_some() {
            // `UdpSocketState::new` makes the socket non-blocking and sets don't-fragment, which loses datagrams on
            // links with a small MTU.
            socket.set_nonblocking(false)?;
            allow_fragments(&socket);
        }
        Ok(Self { address: socket.local_addr()?, socket, local })
    }

    /// Sends from `local`, or from the address that the system chooses if that is unknown or no longer this
    /// machine's.
    pub(super) fn send(&self, bytes: &[u8], to: SocketAddr, local: Option<IpAddr>) -> io::Result<()> {
        if let (Some(state), Some(_)) = (&self.local, local) {
            let transmit = quinn_udp::Transmit {
                destination: to,
                ecn: None,
                contents: bytes,
                segment_size: None,
                src_ip: local,
            };
            if state.try_send((&self.socket).into(), &transmit).is_ok() {
                return Ok(());
            }
        }
        self.socket.send_to(bytes, to).map(drop)
    }

    /// Waits for datagrams until the timeout.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Read> {
        let Some(state) = &self.local else {
            let (bytes, address) = self.socket.recv_from(buffer)?;
            return Ok(Read { from: address.into(), bytes, stride: bytes });
        };
        let mut meta = [RecvMeta::default()];
        state.recv((&self.socket).into(), &mut [IoSliceMut::new(buffer)], &mut meta)?;
        let [RecvMeta { addr, len, stride, dst_ip, .. }] = meta;
        Ok(Read { from: Source { address: addr, local: dst_ip.filter(is_one) }, bytes: len, stride })
    }
}

/// Whether an answer can come from this address: not from the target of a broadcast or a multicast.
fn is_one(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => *ip != Ipv4Addr::BROADCAST && !ip.is_multicast() && !ip.is_unspecified(),
        IpAddr::V6(ip) => *ip != Ipv6Addr::UNSPECIFIED && !ip.is_multicast(),
    }
}

/// Lets the system fragment IPv4 datagrams for links with a smaller MTU.
#[cfg(target_os = "linux")]
fn allow_fragments(socket: &UdpSocket) {
    use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};
    // If it fails, only links with a small MTU suffer.
    let _ = set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::WANT);
}

#[cfg(not(target_os = "linux"))]
const fn allow_fragments(_: &UdpSocket) {}
