//! The UDP sockets of a peer, and the threads that listen on them.

use arrayvec::ArrayVec;
use core::time::Duration;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::clock;
use super::socket::{BoundSocket, Read};
use net::message::OWN_ADDRESSES_MAX;
use net::{DATAGRAM_BYTES_MAX, DropCause, Expected, Origin, Source, Time, Transmit};

/// Port that hosts listen on if it is free.
pub const DEFAULT_PORT: u16 = 4124;
/// Last port that a host tries when the default is taken.
pub const LAST_DEFAULT_PORT: u16 = 4133;
/// Maximum number of datagrams in the receive queue; more are dropped, as in a full socket buffer.
const RECEIVED_MAX: usize = 512;
/// Queue length above which datagrams of strangers are dropped: the rest of the queue is for connections.
const STRANGERS_MAX: usize = RECEIVED_MAX / 2;
/// Maximum number of free ports of one family to try until one is free in the other, too.
const ANY_PORT_TRIES: u32 = 16;
/// Interval at which the receive thread checks whether to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Time for which the receive thread sleeps after an error that may persist.
const REST_AFTER_ERROR: Duration = Duration::from_millis(10);

/// Port to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// The default, or the next free one up to [`LAST_DEFAULT_PORT`].
    Default,
    /// Any free port.
    Any,
    /// This one and no other.
    Exactly(u16),
}

/// Reason why no socket could be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The port belongs to another process.
    #[error("UDP port {0} is in use; choose another with --port, or 0 for any")]
    InUse(u16),
    /// All default ports belong to other processes.
    #[error(
        "UDP ports {DEFAULT_PORT} to {LAST_DEFAULT_PORT} are all in use; choose one with --port, or 0 for any"
    )]
    AllInUse,
    /// The address does not belong to this machine.
    #[error("{0} is not an address of this machine; `arena doctor` lists them, or leave --bind out")]
    NoSuchAddress(IpAddr),
    /// Another error of the system.
    #[error("cannot open UDP {address}: {error}")]
    Io {
        /// Requested address.
        address: SocketAddr,
        /// Error of the system.
        error: std::io::Error,
    },
}

/// Received datagram.
#[derive(Clone, Debug)]
pub struct Received {
    /// Time at which the receive thread read it.
    pub at: Time,
    /// Address of the sender, and the local one at which it arrived.
    pub from: Source,
    /// Payload.
    pub bytes: ArrayVec<u8, DATAGRAM_BYTES_MAX>,
}

/// UDP sockets of a peer, one for each address family and both with one port, with a receive thread each. It sends
/// only encrypted datagrams.
#[derive(Debug)]
pub struct Udp {
    /// Sockets, IPv4 before IPv6; at least one.
    sockets: ArrayVec<Arc<BoundSocket>, 2>,
    received: Receiver<Received>,
    is_wanted: Arc<AtomicBool>,
    door: Arc<Door>,
    unsent: u64,
    /// Datagrams that the receive threads accept.
    expected: Option<Expected>,
    threads: ArrayVec<JoinHandle<()>, 2>,
}

/// State that both threads share about accepted datagrams.
#[derive(Debug, Default)]
struct Door {
    expected: Mutex<Option<Expected>>,
    /// Number of changes. A receive thread takes the lock only after a change, so that the others never wait for it.
    changes: AtomicU64,
    /// Number of datagrams that were not expected, by cause.
    refused: [AtomicU64; DropCause::ALL.len()],
    /// Number of datagrams that were too long or did not fit into the queue.
    dropped: AtomicU64,
}

impl Udp {
    /// Binds a port and begins to listen: `0.0.0.0` at all addresses of IPv4, `::` at all addresses of both families,
    /// as far as the system has them.
    ///
    /// # Errors
    /// If the port or address is not available.
    pub fn bind(ip: IpAddr, port: PortChoice) -> Result<Self, BindError> {
        let sockets = match port {
            PortChoice::Exactly(port) => open(ip, port)?,
            PortChoice::Any => {
                // Another process may use the port in the other family.
                let mut tries = (0..ANY_PORT_TRIES).map(|_| open(ip, 0));
                let is_other = |tried: &Result<_, _>| !matches!(tried, Err(BindError::InUse(_)));
                tries.find(is_other).unwrap_or_else(|| open(ip, 0))?
            }
            PortChoice::Default => {
                let try_port = |port| match open(ip, port) {
                    Err(BindError::InUse(_)) => None,
                    other => Some(other),
                };
                (DEFAULT_PORT..=LAST_DEFAULT_PORT).find_map(try_port).ok_or(BindError::AllInUse)??
            }
        };
        let (sender, received) = bounded(RECEIVED_MAX);
        let (is_wanted, door) = (Arc::new(AtomicBool::new(true)), Arc::new(Door::default()));
        let threads = ArrayVec::new();
        let mut udp = Self { sockets, received, is_wanted, door, unsent: 0, expected: None, threads };
        for socket in &udp.sockets {
            let (socket, sender) = (socket.clone(), sender.clone());
            let (is_wanted, door) = (udp.is_wanted.clone(), udp.door.clone());
            let thread = std::thread::Builder::new().name("udp-receive".into());
            let thread = thread.spawn(move || receive(&socket, &sender, &is_wanted, &door));
            udp.threads
                .push(thread.map_err(|error| BindError::Io { address: SocketAddr::new(ip, 0), error })?);
        }
        Ok(udp)
    }

    /// Iterates over the bound addresses, IPv4 first, with the port that was chosen.
    pub fn local_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.iter().map(|socket| socket.address)
    }

    /// Returns the first bound address.
    ///
    /// # Panics
    /// Never: there is at least one socket.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.local_addresses().next().expect("a socket")
    }

    /// Returns the addresses at which others may find it: its own, or those of the machine's interfaces if it listens
    /// on all of them, IPv4 first. Loopback and the link-local addresses of IPv6 are left out then, since they mean
    /// nothing to others.
    #[must_use]
    pub fn reachable_at(&self) -> ArrayVec<SocketAddr, OWN_ADDRESSES_MAX> {
        let address = self.local_address();
        if !address.ip().is_unspecified() {
            return core::iter::once(address).collect();
        }
        // A machine that does not report them can still be reached at the address that the host sees.
        let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
        let of = |is_ipv4: bool| {
            let is_here = self.local_addresses().any(|own| own.is_ipv4() == is_ipv4);
            let is_good = move |ip: &IpAddr| {
                is_here && ip.is_ipv4() == is_ipv4 && !ip.is_loopback() && !is_link_local_v6(ip)
            };
            interfaces.iter().map(if_addrs::Interface::ip).filter(is_good)
        };
        // At least one address of each family is kept.
        let ipv4_max = OWN_ADDRESSES_MAX - usize::from(of(false).next().is_some());
        let ips = of(true).take(ipv4_max).chain(of(false));
        ips.map(|ip| SocketAddr::new(ip, address.port())).take(OWN_ADDRESSES_MAX).collect()
    }

    /// Restricts reception to these datagrams; before the first call, all are accepted.
    pub fn expect(&mut self, expected: &Expected) {
        if self.expected.as_ref() == Some(expected) {
            return;
        }
        self.expected = Some(expected.clone());
        *self.door.expected.lock().unwrap_or_else(PoisonError::into_inner) = Some(expected.clone());
        self.door.changes.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of unexpected datagrams since the last call, by cause.
    pub fn take_refused(&self) -> impl Iterator<Item = (DropCause, u64)> {
        let counts = DropCause::ALL.into_iter().zip(&self.door.refused);
        let counts = counts.filter(|(_, count)| count.load(Ordering::Relaxed) > 0);
        counts.map(|(cause, count)| (cause, count.swap(0, Ordering::Relaxed)))
    }

    /// Returns the channel of received datagrams, to be waited on together with other channels.
    #[must_use]
    pub const fn received(&self) -> &Receiver<Received> {
        &self.received
    }

    /// Sends a datagram. If that fails it is counted and dropped, like a lost datagram; so is each one of an
    /// unencrypted connection, which exists only in virtual time.
    pub fn send(&mut self, transmit: &Transmit) {
        let Transmit { to, local, datagram } = transmit;
        let socket = self.sockets.iter().find(|socket| socket.address.is_ipv4() == to.is_ipv4());
        let socket = socket.filter(|_| !datagram.is_plaintext());
        if socket.is_none_or(|socket| socket.send(datagram.bytes(), *to, *local).is_err()) {
            self.unsent += 1;
        }
    }

    /// Returns the number of datagrams that the system refused to send.
    #[must_use]
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Returns the number of datagrams dropped on arrival: too long, or the receive queue was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.door.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Udp {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // It ends within LOOK_EVERY, and a panic in it has been printed already.
            let _ = thread.join();
        }
    }
}

/// Opens a socket for each address family that `ip` stands for. If it stands for both, one is enough.
fn open(ip: IpAddr, port: u16) -> Result<ArrayVec<Arc<BoundSocket>, 2>, BindError> {
    let one = |ip: IpAddr, port: u16| {
        let address = SocketAddr::new(ip, port);
        BoundSocket::bind(address, LOOK_EVERY).map(Arc::new).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => BindError::InUse(port),
            ErrorKind::AddrNotAvailable => BindError::NoSuchAddress(ip),
            _ => BindError::Io { address, error },
        })
    };
    let mut sockets = ArrayVec::new();
    if ip != IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        sockets.push(one(ip.to_canonical(), port)?);
        return Ok(sockets);
    }
    let ipv4 = one(IpAddr::V4(Ipv4Addr::UNSPECIFIED), port);
    if let Err(BindError::InUse(_)) = ipv4 {
        return ipv4.map(|_| sockets);
    }
    sockets.extend(ipv4.ok());
    if !sockets.is_empty() && !has_ipv6() {
        return Ok(sockets);
    }
    match one(ip, sockets.first().map_or(port, |ipv4: &Arc<BoundSocket>| ipv4.address.port())) {
        Ok(ipv6) => sockets.push(ipv6),
        // The system has no IPv6.
        Err(error) if matches!(error, BindError::InUse(_)) || sockets.is_empty() => return Err(error),
        Err(_) => {}
    }
    Ok(sockets)
}

/// Whether a match can be opened on this port now, in both address families as far as the system has them.
pub(super) fn is_free(port: u16) -> bool {
    open(IpAddr::V6(Ipv6Addr::UNSPECIFIED), port).is_ok()
}

/// Whether IPv6 is switched on: then at least loopback has an address of it. A socket can be bound without one, and
/// reaches nobody.
fn has_ipv6() -> bool {
    if_addrs::get_if_addrs().map_or(true, |all| all.iter().any(|interface| interface.ip().is_ipv6()))
}

/// Whether others need the interface to reach this address.
const fn is_link_local_v6(ip: &IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local())
}

fn receive(socket: &BoundSocket, sender: &Sender<Received>, is_wanted: &AtomicBool, door: &Door) {
    // Large enough for any datagram: on Windows a datagram longer than the buffer is an error.
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut known = (None, 0);
    while is_wanted.load(Ordering::Relaxed) {
        match socket.receive(&mut buffer) {
            Ok(Read { from, bytes, stride }) => {
                door.renew(&mut known);
                let mut rest = &buffer[..bytes.min(buffer.len())];
                loop {
                    let (datagram, more) = rest.split_at(stride.max(1).min(rest.len()));
                    if !door.take(known.0.as_ref(), from, datagram, sender) {
                        return;
                    }
                    rest = more;
                    if rest.is_empty() {
                        break;
                    }
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            // Windows reports the ICMP answer to each datagram sent to a closed port: one error each, so no spin.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            // Any other error may recur immediately.
            Err(_) => std::thread::sleep(REST_AFTER_ERROR),
        }
    }
}

impl Door {
    /// Updates a receive thread's copy of the expected datagrams, if they have changed.
    fn renew(&self, (expected, seen): &mut (Option<Expected>, u64)) {
        let changes = self.changes.load(Ordering::Acquire);
        if changes != *seen {
            *seen = changes;
            expected.clone_from(&self.expected.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Queues a datagram if it is accepted. Returns false if the receiver is gone.
    fn take(
        &self,
        expected: Option<&Expected>,
        from: Source,
        bytes: &[u8],
        sender: &Sender<Received>,
    ) -> bool {
        if !self.admits(expected, from.address, bytes, sender.len()) {
            return true;
        }
        let Ok(bytes) = bytes.try_into() else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        let queued = sender.try_send(Received { at: clock::now(), from, bytes });
        if matches!(queued, Err(TrySendError::Full(_))) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        !matches!(queued, Err(TrySendError::Disconnected(_)))
    }

    /// Whether a datagram may join the `waiting` ones; counts it if not.
    fn admits(&self, expected: Option<&Expected>, from: SocketAddr, bytes: &[u8], waiting: usize) -> bool {
        match expected.map(|expected| expected.check(from, bytes)) {
            None | Some(Ok(Origin::Connection)) => return true,
            Some(Ok(Origin::Stranger)) if waiting < STRANGERS_MAX => return true,
            Some(Ok(Origin::Stranger)) => &self.dropped,
            Some(Err(cause)) => &self.refused[cause as usize],
        }
        .fetch_add(1, Ordering::Relaxed);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::discovery::RoomQuery;
    use net::{PacketProtection, SealedPacket};
    use std::net::UdpSocket;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn datagrams_arrive_and_too_long_ones_are_counted() {
        let mut a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let raw = UdpSocket::bind((LOOPBACK, 0)).expect("a port");
        raw.send_to(&[0; DATAGRAM_BYTES_MAX + 5], b.local_address()).expect("sent");
        a.send(&Transmit {
            to: b.local_address(),
            local: None,
            datagram: SealedPacket::unconnected(&[1, 2, 3]),
        });
        let received = b.received().recv_timeout(Duration::from_secs(5)).expect("a datagram");
        assert_eq!((&received.bytes[..], received.from.address), (&[1, 2, 3][..], a.local_address()));
        assert_eq!(b.dropped(), 1);
    }

    #[test]
    fn unexpected_datagrams_never_reach_the_session() {
        let mut b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let raw = UdpSocket::bind((LOOPBACK, 0)).expect("a port");
        let (address, received) = (b.local_address(), b.received().clone());
        let send = |bytes: &[u8]| raw.send_to(bytes, address).map(|_| ()).expect("sent");
        let next = || received.recv_timeout(Duration::from_secs(5)).expect("a datagram").bytes;
        send(&[0; 40]);
        assert_eq!(next().len(), 40, "nobody has said what is expected");
        let question = RoomQuery { nonce: 1 }.encode();
        let door = b.door.clone();
        b.expect(&Expected::default());
        send(&[0; 40]);
        send(PacketProtection::encrypted((1, 0), [2; 32], [3; 32]).seal(5, &[]).bytes());
        send(&question);
        assert_eq!(next()[..], question);
        let refused: Vec<_> = b.take_refused().collect();
        assert_eq!(refused, [(DropCause::Malformed, 1), (DropCause::Unauthenticated, 1)]);
        assert_eq!((b.take_refused().count(), b.dropped()), (0, 0));
        let admits = |waiting| door.admits(Some(&Expected::default()), address, &question, waiting);
        assert!(admits(STRANGERS_MAX - 1) && !admits(STRANGERS_MAX), "the rest is for the connections");
        assert_eq!(b.dropped(), 1);
    }

    #[test]
    fn unencrypted_datagrams_are_never_sent() {
        let mut a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let plaintext = PacketProtection::plaintext(1, 2).seal(5, &[1]);
        for datagram in [plaintext, SealedPacket::unconnected(&[9])] {
            a.send(&Transmit { to: b.local_address(), local: None, datagram });
        }
        let received = b.received().recv_timeout(Duration::from_secs(5)).expect("the second");
        assert_eq!((&received.bytes[..], a.unsent()), (&[9][..], 1));
    }

    #[test]
    fn send_errors_are_counted_and_tolerated() {
        let mut a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        // Broadcasting needs a socket option, and port 0 cannot be sent to.
        let refused = [(Ipv4Addr::BROADCAST, 9), (Ipv4Addr::LOCALHOST, 0)].map(SocketAddr::from);
        for to in refused.into_iter().chain([b.local_address()]) {
            a.send(&Transmit { to, local: None, datagram: SealedPacket::unconnected(&[7]) });
        }
        let received = b.received().recv_timeout(Duration::from_secs(5)).expect("the last");
        assert_eq!((&received.bytes[..], a.unsent()), (&[7][..], 2));
    }

    #[test]
    fn a_taken_port_is_an_error_that_names_it() {
        let a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let port = a.local_address().port();
        let error = Udp::bind(LOOPBACK, PortChoice::Exactly(port)).expect_err("taken");
        assert!(error.to_string().contains(&port.to_string()) && matches!(error, BindError::InUse(_)));
        let error =
            Udp::bind(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)), PortChoice::Any).expect_err("foreign");
        assert!(matches!(error, BindError::NoSuchAddress(_)), "{error}");
    }

    #[test]
    fn both_families_share_a_port_and_an_answer_leaves_from_the_address_that_was_asked() {
        let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        let mut host = Udp::bind(any, PortChoice::Any).expect("a port");
        let port = host.local_address().port();
        assert!(host.local_address().is_ipv4() && host.local_addresses().all(|own| own.port() == port));
        // All of 127.0.0.0/8 is this machine; the system answers from 127.0.0.1 unless a datagram names another.
        let second = SocketAddr::from((Ipv4Addr::new(127, 0, 0, 2), port));
        let ipv6 = host.local_addresses().nth(1).map(|_| SocketAddr::from((Ipv6Addr::LOCALHOST, port)));
        for to in [Some(second), ipv6].into_iter().flatten() {
            let raw = UdpSocket::bind(SocketAddr::new(if to.is_ipv4() { LOOPBACK } else { any }, 0))
                .expect("a port");
            raw.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
            raw.send_to(&[1], to).expect("sent");
            let asked = host.received().recv_timeout(Duration::from_secs(20)).expect("a datagram").from;
            assert_eq!(asked.local, Some(to.ip()));
            host.send(&Transmit {
                to: asked.address,
                local: asked.local,
                datagram: SealedPacket::unconnected(&[2]),
            });
            assert_eq!(raw.recv_from(&mut [0; 4]).expect("an answer"), (1, to));
            // An address that is not this machine's is left to the system.
            let gone = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))).filter(|_| to.is_ipv4());
            host.send(&Transmit {
                to: asked.address,
                local: gone,
                datagram: SealedPacket::unconnected(&[3]),
            });
            assert_eq!(raw.recv_from(&mut [0; 4]).expect("an answer").0, 1);
            assert_eq!(host.unsent(), 0);
        }
    }
}
