//! Announces one room until it is stopped.

use std::fmt::Display;
use std::io;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use net::discovery::{Beacon, RoomInfo, answer};

use super::lan::{self, Buffer, Lan};
use super::service::Service;
use super::{Warning, Ways, note};

/// Interval between beacons.
const BEACON_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which the interfaces are read again and failures are retried.
const OPEN_INTERVAL: Duration = Duration::from_secs(5);
/// Maximum wait of the thread, after which it checks whether to stop.
const ROUND: Duration = Duration::from_millis(50);
/// Maximum number of answers between two beacons; further queries are answered by the next beacon.
const ANSWERS_PER_BEACON_MAX: u32 = 100;

/// Announces a room by mDNS and by a beacon each second, and answers broadcast queries. Dropping it takes
/// the announcement back, which takes up to about 0.4 s.
pub struct Announcer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Reason why a room cannot be announced at all.
#[derive(Debug, thiserror::Error)]
pub enum AnnounceError {
    /// Neither method works.
    #[error("the match cannot be announced: {}; others can still join by address", list(.0))]
    NoWay(Vec<Warning>),
    /// The system could not start a thread.
    #[error("the match cannot be announced: no thread is available ({0})")]
    Thread(io::Error),
}

struct Shared {
    beacon: Mutex<Beacon>,
    warnings: Mutex<Vec<Warning>>,
    stop: AtomicBool,
}

impl Announcer {
    /// Announces `beacon`, whose port is the game's. The socket there must [`answer`] queries, or nobody lists the
    /// room.
    pub fn start(beacon: Beacon) -> Result<Self, AnnounceError> {
        Self::start_by(Ways::ALL, beacon)
    }

    /// Announces a room by `ways` only.
    pub fn start_by(ways: Ways, beacon: Beacon) -> Result<Self, AnnounceError> {
        let shared = Shared {
            beacon: Mutex::new(beacon.clone()),
            warnings: Mutex::default(),
            stop: AtomicBool::new(false),
        };
        let shared = Arc::new(shared);
        let mut announcing =
            Announcing { shared: Arc::clone(&shared), ways, service: None, socket: None, announced: beacon };
        announcing.open();
        if announcing.service.is_none() && announcing.socket.is_none() {
            return Err(AnnounceError::NoWay(lock(&shared.warnings).clone()));
        }
        let thread = thread::Builder::new().name("announcer".into()).spawn(move || announcing.run());
        Ok(Self { shared, thread: Some(thread.map_err(AnnounceError::Thread)?) })
    }

    /// Sets the room's new announcement; the record and the next beacon follow within a second.
    pub fn update(&self, beacon: Beacon) {
        *lock(&self.shared.beacon) = beacon;
    }

    /// Returns the latest warning of each kind.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        lock(&self.shared.warnings).clone()
    }

    /// Takes the announcement back, like dropping it.
    pub fn stop(self) {}
}

impl Drop for Announcer {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join(); // a panic there has been printed
        }
    }
}

/// State of the thread.
struct Announcing {
    shared: Arc<Shared>,
    ways: Ways,
    service: Option<Service>,
    socket: Option<UdpSocket>,
    /// Beacon that the record contains.
    announced: Beacon,
}

impl Announcing {
    fn run(mut self) {
        let (mut lan, mut opened_at) = (self.read_lan(), Instant::now());
        let mut buffer: Buffer = [0; _];
        while !self.is_stopped() {
            if opened_at.elapsed() >= OPEN_INTERVAL {
                self.open();
                (lan, opened_at) = (self.read_lan(), Instant::now());
            }
            let beacon = lock(&self.shared.beacon).clone();
            self.send(&lan, &beacon);
            self.refresh(&beacon);
            self.answer_until(Instant::now() + BEACON_INTERVAL, &mut buffer);
        }
        let closed = Beacon { closed: true, ..lock(&self.shared.beacon).clone() };
        self.send(&lan, &closed);
        if let Some(service) = self.service.take() {
            service.unregister();
        }
        self.send(&lan, &closed); // broadcasts get lost, in the air above all
    }

    /// Opens the sockets and services that are not open.
    fn open(&mut self) {
        if self.ways.mdns && self.service.is_none() {
            let beacon = lock(&self.shared.beacon).clone();
            self.service = self.note(Warning::Mdns, Service::register(&beacon));
            self.announced = beacon;
        }
        if self.ways.broadcast && self.socket.is_none() {
            // A socket that cannot receive can still send.
            let listening = self.note(Warning::Listen, lan::listen());
            self.socket = listening.or_else(|| self.note(Warning::Broadcast, lan::ephemeral()));
        }
    }

    fn send(&self, lan: &Lan, beacon: &Beacon) {
        if let Some(socket) = &self.socket {
            let datagram = RoomInfo { nonce: 0, beacon: beacon.clone(), names: None }.encode();
            self.note(Warning::Broadcast, lan.broadcast(socket, &datagram));
        }
    }

    /// Updates the mDNS record to the room's announcement.
    fn refresh(&mut self, beacon: &Beacon) {
        let Some(service) = &mut self.service else { return };
        let updated = if self.announced == *beacon { Ok(()) } else { service.update(beacon) };
        let works = updated.map_err(|error| error.to_string()).and_then(|()| service.check());
        match self.note(Warning::Mdns, works) {
            Some(()) => self.announced = beacon.clone(),
            None => self.service = None, // until the next `open`
        }
    }

    fn answer_until(&self, end: Instant, buffer: &mut Buffer) {
        let mut answers = 0;
        while !self.is_stopped() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let listening = self.socket.as_ref().filter(|_| answers < ANSWERS_PER_BEACON_MAX);
            let Some(socket) = listening else {
                thread::park_timeout(left.min(ROUND));
                continue;
            };
            let Some((length, from)) = lan::receive(socket, buffer, left.min(ROUND)) else { continue };
            let beacon = lock(&self.shared.beacon).clone();
            if let Some(reply) = answer(&buffer[..length], &beacon, None) {
                answers += 1;
                let _ = socket.send_to(&reply, from); // the client repeats its query
            }
        }
    }

    fn read_lan(&self) -> Lan {
        let (lan, result) = Lan::read();
        self.note(Warning::Interfaces, result);
        lan
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }

    fn note<T, E: Display>(&self, kind: fn(String) -> Warning, result: Result<T, E>) -> Option<T> {
        note(&mut lock(&self.shared.warnings), kind, result)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each critical section is one assignment, so a panic elsewhere leaves nothing inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn list(warnings: &[Warning]) -> String {
    warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
