//! Keeps the list of rooms until it is dropped.

use std::fmt::Display;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::Time;
use net::discovery::{Directory, Dropped, FoundBy, Room};

use super::lan::{self, Buffer, Lan};
use super::service::Services;
use super::{Warning, Ways, note};

/// Interval between broadcast queries.
const QUERY_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which mDNS records are verified again.
const HINT_INTERVAL: Duration = Duration::from_secs(2);
/// Interval at which the interfaces are read again and failures are retried.
const OPEN_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum wait on the socket of the probes, short for a precise round-trip time; beacons and mDNS are polled as
/// often.
const ROUND: Duration = Duration::from_millis(20);
/// Maximum number of beacons handled in one round. The system's buffer drops the rest of a flood.
const BEACONS_PER_ROUND_MAX: usize = 64;

/// Searches for rooms by mDNS, by beacons and by broadcast queries, on one thread. Dropping it stops it.
pub struct Browser {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Reason why rooms cannot be searched for at all.
#[derive(Debug, thiserror::Error)]
pub enum BrowseError {
    /// The socket of the probes cannot be opened.
    #[error("cannot search for matches: no UDP socket ({0}); join by address instead")]
    Socket(io::Error),
    /// The system has no random numbers.
    #[error("cannot search for matches: no random numbers ({0})")]
    Random(getrandom::Error),
    /// The system could not start a thread.
    #[error("cannot search for matches: no thread is available ({0})")]
    Thread(io::Error),
}

struct Shared {
    seen: Mutex<Seen>,
    changed: Condvar,
    stop: AtomicBool,
}

#[derive(Default)]
struct Seen {
    rooms: Vec<Room>,
    beyond: usize,
    warnings: Vec<Warning>,
    dropped: Dropped,
}

impl Browser {
    /// Starts the search.
    pub fn start() -> Result<Self, BrowseError> {
        Self::start_by(Ways::ALL)
    }

    /// Starts the search by `ways` only.
    pub fn start_by(ways: Ways) -> Result<Self, BrowseError> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(BrowseError::Random)?;
        let probes = lan::ephemeral().map_err(BrowseError::Socket)?;
        let shared = Shared { seen: Mutex::default(), changed: Condvar::new(), stop: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let browsing = Browsing {
            shared: Arc::clone(&shared),
            ways,
            began: Instant::now(),
            directory: Directory::new(seed),
            published: 0,
            probes,
            probes_v6: lan::ephemeral_v6(0),
            is_on_ipv4: true,
            beacons: None,
            services: None,
        };
        let thread = thread::Builder::new().name("browser".into()).spawn(move || browsing.run());
        Ok(Self { shared, thread: Some(thread.map_err(BrowseError::Thread)?) })
    }

    /// Returns the rooms that answer now, in the order of their names, and those of one name of their addresses.
    #[must_use]
    pub fn rooms(&self) -> Vec<Room> {
        self.shared.lock().rooms.clone()
    }

    /// Returns the number of rooms that answer, too, but for which the list has no place.
    #[must_use]
    pub fn beyond(&self) -> usize {
        self.shared.lock().beyond
    }

    /// Waits until `ready` accepts the list, and returns it; `None` when `deadline` comes first.
    pub fn wait_for(&self, deadline: Instant, mut ready: impl FnMut(&[Room]) -> bool) -> Option<Vec<Room>> {
        let mut seen = self.shared.lock();
        loop {
            if ready(&seen.rooms) {
                return Some(seen.rooms.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            let waited = self.shared.changed.wait_timeout(seen, left);
            seen = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns the latest warning of each kind.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        self.shared.lock().warnings.clone()
    }

    /// Returns counts of dropped datagrams and hints.
    #[must_use]
    pub fn dropped(&self) -> Dropped {
        self.shared.lock().dropped
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic there has been printed
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        // Each critical section is one assignment, so a panic elsewhere leaves nothing inconsistent.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State of the thread.
struct Browsing {
    shared: Arc<Shared>,
    ways: Ways,
    began: Instant,
    directory: Directory,
    /// Revision of the directory that [`Seen`] shows.
    published: u64,
    /// Socket for probes and queries, and for their answers.
    probes: UdpSocket,
    /// The same for IPv6, if the system has it.
    probes_v6: Option<UdpSocket>,
    /// Whether this machine is on an IPv4 network: then it is searched for rooms.
    is_on_ipv4: bool,
    beacons: Option<UdpSocket>,
    services: Option<Services>,
}

impl Browsing {
    fn run(mut self) {
        let mut buffer: Buffer = [0; _];
        let mut lan = self.open();
        let (mut open_at, mut query_at, mut hint_at) = (OPEN_INTERVAL, Duration::ZERO, Duration::ZERO);
        while !self.shared.stop.load(Ordering::Acquire) {
            let elapsed = self.began.elapsed();
            if elapsed >= open_at {
                open_at = elapsed + OPEN_INTERVAL;
                lan = self.open();
            }
            if elapsed >= query_at && self.ways.broadcast {
                query_at = elapsed + QUERY_INTERVAL;
                self.query(&lan);
            }
            if self.handle_services() || elapsed >= hint_at {
                hint_at = elapsed + HINT_INTERVAL;
                self.hint();
            }
            self.handle_beacons(&mut buffer);
            self.directory.handle_timeout(self.now());
            self.transmit();
            self.publish();
            let wait = self.directory.poll_timeout().map_or(ROUND, |due| due.since(self.now()).min(ROUND));
            self.handle_answers(&mut buffer, wait);
        }
    }

    /// Opens the sockets that are not open, and reads this machine's networks.
    fn open(&mut self) -> Lan {
        if self.ways.broadcast && self.beacons.is_none() {
            let opened = lan::listen().and_then(|socket| socket.set_nonblocking(true).map(|()| socket));
            self.beacons = self.note(Warning::Listen, opened);
        }
        if self.ways.mdns && self.services.is_none() {
            self.services = self.note(Warning::Mdns, Services::browse());
        }
        let (lan, result) = Lan::read();
        self.note(Warning::Interfaces, result);
        self.is_on_ipv4 = lan.networks.iter().any(|network| network.address.is_ipv4());
        self.directory.set_networks(lan.networks.iter().copied());
        lan
    }

    fn query(&mut self, lan: &Lan) {
        let query = self.directory.broadcast_query();
        self.note(Warning::Broadcast, lan.broadcast(&self.probes, &query));
    }

    /// Handles mDNS events. Returns whether there were any.
    fn handle_services(&mut self) -> bool {
        let Some(services) = &mut self.services else { return false };
        let events = services.handle_events();
        if events.is_err() {
            self.services = None; // until the next `open`
        }
        self.note(Warning::Mdns, events).unwrap_or(false)
    }

    fn hint(&mut self) {
        let now = self.now();
        for hint in self.services.iter().flat_map(Services::hints) {
            // IPv6 is used only without a common IPv4 network, since its addresses are harder to read and to type.
            let ipv4 = hint.addresses.iter().take_while(|address| address.is_ipv4()).count();
            let is_by_ipv4 = self.is_on_ipv4 && ipv4 > 0;
            let addresses = if is_by_ipv4 { &hint.addresses[..ipv4] } else { &hint.addresses[..] };
            self.directory.hint(now, FoundBy::Mdns, hint.id, addresses);
        }
    }

    fn handle_beacons(&mut self, buffer: &mut Buffer) {
        let Some(socket) = &self.beacons else { return };
        for _ in 0..BEACONS_PER_ROUND_MAX {
            let Ok((length, from)) = socket.recv_from(buffer) else { return };
            self.directory.handle_datagram(self.now(), from, &buffer[..length]);
        }
    }

    /// Waits for the answers to probes: in one family, and then briefly in the other.
    fn handle_answers(&mut self, buffer: &mut Buffer, wait: Duration) {
        let sockets = [(Some(&self.probes), self.is_on_ipv4), (self.probes_v6.as_ref(), !self.is_on_ipv4)];
        for (socket, is_main) in sockets {
            let Some(socket) = socket else { continue };
            let wait = if is_main { wait } else { Duration::ZERO };
            if let Some((length, from)) = lan::receive(socket, buffer, wait) {
                self.directory.handle_datagram(self.now(), from, &buffer[..length]);
            }
        }
    }

    fn transmit(&mut self) {
        while let Some((to, query)) = self.directory.poll_transmit() {
            let socket = if to.is_ipv4() { Some(&self.probes) } else { self.probes_v6.as_ref() };
            // An address that cannot be reached does not answer.
            let _ = socket.map(|socket| socket.send_to(&query, to));
        }
    }

    fn publish(&mut self) {
        let mut seen = self.shared.lock();
        seen.dropped = self.directory.dropped();
        if self.published != self.directory.revision() {
            self.published = self.directory.revision();
            seen.rooms = self.directory.rooms().cloned().collect();
            seen.rooms.sort_by_key(|room| (room.name, room.address));
            seen.beyond = self.directory.beyond();
            self.shared.changed.notify_all();
        }
    }

    fn now(&self) -> Time {
        Time::default().plus(self.began.elapsed())
    }

    fn note<T, E: Display>(&self, kind: fn(String) -> Warning, result: Result<T, E>) -> Option<T> {
        note(&mut self.shared.lock().warnings, kind, result)
    }
}
