//! The UDP socket of a peer, and the thread that listens on it.

use arrayvec::ArrayVec;
use core::time::Duration;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::clock;
use crate::net::message::OWN_ADDRESSES_MAX;
use crate::net::{DATAGRAM_BYTES_MAX, DropCause, Expected, Origin, Time, Transmit};

/// The port that hosts listen on if it is free.
pub const DEFAULT_PORT: u16 = 4124;
/// The last port that a host tries when the default is taken.
pub const LAST_DEFAULT_PORT: u16 = 4133;
/// Most datagrams received and not yet taken; more are dropped, as in a full socket buffer.
const RECEIVED_MAX: usize = 512;
/// Once this many wait, those of strangers are dropped: the rest of the queue is for connections.
const STRANGERS_MAX: usize = RECEIVED_MAX / 2;
/// How often the receive thread checks whether it should stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long the receive thread rests after an error that may persist.
const REST_AFTER_ERROR: Duration = Duration::from_millis(10);

/// Which port to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortChoice {
    /// The default, or the next free one up to [`LAST_DEFAULT_PORT`].
    Default,
    /// Any free port.
    Any,
    /// This one and no other.
    Exactly(u16),
}

/// Why no socket could be bound.
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
    /// Anything else.
    #[error("cannot open UDP {address}: {error}")]
    Io {
        /// The requested address.
        address: SocketAddr,
        /// The system's error.
        error: std::io::Error,
    },
}

/// A datagram as it came in.
#[derive(Clone, Debug)]
pub struct Received {
    /// When the receive thread read it.
    pub at: Time,
    /// The sender's address.
    pub from: SocketAddr,
    /// Its bytes.
    pub bytes: ArrayVec<u8, DATAGRAM_BYTES_MAX>,
}

/// A bound UDP socket with its receive thread. It sends sealed datagrams and nothing else.
#[derive(Debug)]
pub struct Udp {
    socket: Arc<UdpSocket>,
    address: SocketAddr,
    received: Receiver<Received>,
    is_wanted: Arc<AtomicBool>,
    door: Arc<Door>,
    unsent: u64,
    /// What the receive thread knows.
    expected: Option<Expected>,
    thread: Option<JoinHandle<()>>,
}

/// What both threads know of the datagrams that come in.
#[derive(Debug, Default)]
struct Door {
    expected: Mutex<Option<Expected>>,
    /// Whether the receive thread has not seen it. It locks for a change alone, so that the other never waits for it.
    is_changed: AtomicBool,
    /// Not among those expected, by cause.
    refused: [AtomicU64; DropCause::ALL.len()],
    /// Too long, or beyond the room in the queue.
    dropped: AtomicU64,
}

impl Udp {
    /// Binds a port and begins to listen.
    ///
    /// # Errors
    /// If the port or address is not available.
    pub fn bind(ip: IpAddr, port: PortChoice) -> Result<Self, BindError> {
        let socket = match port {
            PortChoice::Exactly(port) => open(SocketAddr::new(ip, port))?,
            PortChoice::Any => open(SocketAddr::new(ip, 0))?,
            PortChoice::Default => {
                let try_port = |port| match open(SocketAddr::new(ip, port)) {
                    Err(BindError::InUse(_)) => None,
                    other => Some(other),
                };
                (DEFAULT_PORT..=LAST_DEFAULT_PORT).find_map(try_port).ok_or(BindError::AllInUse)??
            }
        };
        let io = |error| BindError::Io { address: SocketAddr::new(ip, 0), error };
        let address = socket.local_addr().map_err(io)?;
        socket.set_read_timeout(Some(LOOK_EVERY)).map_err(io)?;
        let socket = Arc::new(socket);
        let (sender, received) = bounded(RECEIVED_MAX);
        let (is_wanted, door) = (Arc::new(AtomicBool::new(true)), Arc::new(Door::default()));
        let thread = std::thread::Builder::new().name("udp-receive".into()).spawn({
            let (socket, is_wanted, door) = (socket.clone(), is_wanted.clone(), door.clone());
            move || receive(&socket, &sender, &is_wanted, &door)
        });
        let thread = Some(thread.map_err(io)?);
        Ok(Self { socket, address, received, is_wanted, door, unsent: 0, expected: None, thread })
    }

    /// The address it is bound to, with the port that was chosen.
    #[must_use]
    pub const fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Where others may find this socket: its address, or those of the machine's interfaces if it listens on
    /// all of them; loopback is left out then.
    #[must_use]
    pub fn reachable_at(&self) -> ArrayVec<SocketAddr, OWN_ADDRESSES_MAX> {
        let port = self.address.port();
        if !self.address.ip().is_unspecified() {
            return core::iter::once(self.address).collect();
        }
        // A machine that does not tell them is still found at the address that the host sees.
        let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
        let is_good = |ip: &IpAddr| !ip.is_loopback() && ip.is_ipv4() == self.address.is_ipv4();
        let ips = interfaces.iter().map(if_addrs::Interface::ip).filter(is_good);
        ips.map(|ip| SocketAddr::new(ip, port)).take(OWN_ADDRESSES_MAX).collect()
    }

    /// From now on only these datagrams come out; all, until this is called for the first time.
    pub fn expect(&mut self, expected: &Expected) {
        if self.expected.as_ref() == Some(expected) {
            return;
        }
        self.expected = Some(expected.clone());
        *self.door.expected.lock().unwrap_or_else(PoisonError::into_inner) = Some(expected.clone());
        self.door.is_changed.store(true, Ordering::Release);
    }

    /// How many datagrams were not among those that are expected since this was called last, by what they were.
    pub fn take_refused(&self) -> impl Iterator<Item = (DropCause, u64)> {
        let counts = DropCause::ALL.into_iter().zip(&self.door.refused);
        let counts = counts.filter(|(_, count)| count.load(Ordering::Relaxed) > 0);
        counts.map(|(cause, count)| (cause, count.swap(0, Ordering::Relaxed)))
    }

    /// Where received datagrams come out, to be waited on together with other channels.
    #[must_use]
    pub const fn received(&self) -> &Receiver<Received> {
        &self.received
    }

    /// Sends a datagram. If that fails it is counted and dropped, like a lost datagram; so is each that belongs to a
    /// connection without encryption, as only virtual runs have them.
    pub fn send(&mut self, transmit: &Transmit) {
        if transmit.datagram.is_plaintext()
            || self.socket.send_to(transmit.datagram.bytes(), transmit.to).is_err()
        {
            self.unsent += 1;
        }
    }

    /// Datagrams that the system refused to send.
    #[must_use]
    pub const fn unsent(&self) -> u64 {
        self.unsent
    }

    /// Datagrams dropped on arrival: too long, or the receive queue was full.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.door.dropped.load(Ordering::Relaxed)
    }
}

impl Drop for Udp {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends within LOOK_EVERY, and a panic in it has been printed already.
            let _ = thread.join();
        }
    }
}

/// Opens a socket without SO_REUSEADDR: a taken port is an error on every system.
fn open(address: SocketAddr) -> Result<UdpSocket, BindError> {
    let bind = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        socket.bind(&address.into())?;
        Ok(UdpSocket::from(socket))
    };
    bind().map_err(|error: std::io::Error| match error.kind() {
        ErrorKind::AddrInUse => BindError::InUse(address.port()),
        ErrorKind::AddrNotAvailable => BindError::NoSuchAddress(address.ip()),
        _ => BindError::Io { address, error },
    })
}

fn receive(socket: &UdpSocket, sender: &Sender<Received>, is_wanted: &AtomicBool, door: &Door) {
    // As long as any datagram: on Windows a datagram longer than the buffer is an error.
    let mut buffer = vec![0; usize::from(u16::MAX)];
    let mut expected = None;
    while is_wanted.load(Ordering::Relaxed) {
        match socket.recv_from(&mut buffer) {
            Ok((length, from)) => {
                door.renew(&mut expected);
                if !door.admits(expected.as_ref(), from, &buffer[..length], sender.len()) {
                    continue;
                }
                let Ok(bytes) = buffer[..length].try_into() else {
                    door.dropped.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                match sender.try_send(Received { at: clock::now(), from, bytes }) {
                    Ok(()) => {}
                    Err(TrySendError::Full(_)) => {
                        door.dropped.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(TrySendError::Disconnected(_)) => return,
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            // Windows tells of the ICMP answer to each datagram sent to a closed port: one error each, so no spin.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
            // Whatever else may come again at once.
            Err(_) => std::thread::sleep(REST_AFTER_ERROR),
        }
    }
}

impl Door {
    /// The receive thread takes over what is expected, if it has changed.
    fn renew(&self, expected: &mut Option<Expected>) {
        if self.is_changed.load(Ordering::Relaxed) && self.is_changed.swap(false, Ordering::Acquire) {
            expected.clone_from(&self.expected.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Whether a datagram joins the `waiting` ones; counted if not.
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
    use crate::net::discovery::RoomQuery;
    use crate::net::{PacketProtection, SealedPacket};
    use std::net::Ipv4Addr;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn datagrams_arrive_and_too_long_ones_are_counted() {
        let mut a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let raw = UdpSocket::bind((LOOPBACK, 0)).expect("a port");
        raw.send_to(&[0; DATAGRAM_BYTES_MAX + 5], b.local_address()).expect("sent");
        a.send(&Transmit { to: b.local_address(), datagram: SealedPacket::unconnected(&[1, 2, 3]) });
        let received = b.received().recv_timeout(Duration::from_secs(5)).expect("a datagram");
        assert_eq!((&received.bytes[..], received.from), (&[1, 2, 3][..], a.local_address()));
        assert_eq!(b.dropped(), 1);
    }

    #[test]
    fn what_the_session_cannot_use_never_reaches_it() {
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
    fn what_is_not_encrypted_never_leaves() {
        let mut a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let plaintext = PacketProtection::plaintext(1, 2).seal(5, &[1]);
        for datagram in [plaintext, SealedPacket::unconnected(&[9])] {
            a.send(&Transmit { to: b.local_address(), datagram });
        }
        let received = b.received().recv_timeout(Duration::from_secs(5)).expect("the second");
        assert_eq!((&received.bytes[..], a.unsent()), (&[9][..], 1));
    }

    #[test]
    fn what_the_system_refuses_to_send_is_counted_and_ends_nothing() {
        let mut a = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        let b = Udp::bind(LOOPBACK, PortChoice::Any).expect("a port");
        // A socket must ask before it may broadcast, and nothing can be sent to port 0.
        let refused = [(Ipv4Addr::BROADCAST, 9), (Ipv4Addr::LOCALHOST, 0)].map(SocketAddr::from);
        for to in refused.into_iter().chain([b.local_address()]) {
            a.send(&Transmit { to, datagram: SealedPacket::unconnected(&[7]) });
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
}
