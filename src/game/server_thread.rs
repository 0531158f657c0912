//! The simulation thread of a server: real time, a real socket, and channels to whoever runs it.
//!
//! Datagrams come from the receive thread of [`Udp`] through its bounded channel; this thread gives each to its
//! client's connection, which puts the inputs into their queue, and is the only one that touches the world.

use core::time::Duration;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, select_biased};
use std::net::SocketAddr;
use std::thread::JoinHandle;

use super::internal::caught;
use super::match_event::MatchEvent;
use super::outcome::MatchError;
use super::runner::{GOOD_BYE_WITHIN, MatchEnded};
use super::server::{Server, ServerSummary};
use crate::net::Time;
use crate::net::discovery::Beacon;
use crate::sim::Tick;
use crate::transport::{Impairment, LinkSpec, Timer, Udp, clock};

/// Most reports that wait; more are left out.
const QUEUE_MAX: usize = 256;
/// Longest sleep when nothing is due.
const IDLE: Duration = Duration::from_millis(100);
/// How often its state is reported.
const STATUS_EVERY: Duration = Duration::from_secs(1);
/// Datagrams taken in before the match advances again.
const BATCH_MAX: usize = 256;

/// What a running server reports.
#[derive(Clone, Debug)]
pub enum ServerProgress {
    /// Something happened.
    Event(MatchEvent),
    /// How it does, once a second.
    Status {
        /// The next tick to run.
        tick: Tick,
        /// How late ticks ran so far, 99 of 100, in milliseconds.
        late_p99_ms: f64,
        /// Clients, their bytes sent and received so far, and what was refused.
        clients: Vec<(String, u64, u64, u32)>,
        /// What the room says of itself.
        beacon: Option<Beacon>,
    },
}

/// What remains when the thread has ended.
#[derive(Debug)]
pub struct ServerFinished {
    /// The match, or why there was none.
    pub result: Result<ServerSummary, MatchError>,
}

/// A server on a thread of its own.
pub struct ServerThread {
    leave: Sender<()>,
    progress: Receiver<ServerProgress>,
    thread: JoinHandle<ServerFinished>,
}

impl ServerThread {
    /// Starts it on `udp`; what it sends goes through `link` first, if one is given.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(mut server: Server, udp: Udp, link: Option<LinkSpec>) -> std::io::Result<Self> {
        server.set_own_addresses(udp.reachable_at().iter().map(SocketAddr::ip));
        let (leave, leaves) = bounded(1);
        let (reports, progress) = bounded(QUEUE_MAX);
        let link = link.map(Impairment::new);
        let timer = Timer::new()?;
        let runner = Runner { server, udp, timer, link, leaves, reports, status_at: Time(0) };
        let thread = std::thread::Builder::new().name("server".into()).spawn(move || runner.run())?;
        Ok(Self { leave, progress, thread })
    }

    /// Where to say that it shall shut down.
    #[must_use]
    pub const fn leave(&self) -> &Sender<()> {
        &self.leave
    }

    /// The next report; `None` when none came within `patience`.
    ///
    /// # Errors
    /// If the match is over and everything it reported has been taken.
    pub fn progress(&self, patience: Duration) -> Result<Option<ServerProgress>, MatchEnded> {
        match self.progress.recv_timeout(patience) {
            Ok(progress) => Ok(Some(progress)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(MatchEnded),
        }
    }

    /// Waits for the end.
    #[must_use]
    pub fn join(self) -> ServerFinished {
        let broke_down = |_| {
            let result = Err(MatchError::Internal("the server's thread broke down".into()));
            ServerFinished { result }
        };
        self.thread.join().unwrap_or_else(broke_down)
    }
}

struct Runner {
    server: Server,
    udp: Udp,
    timer: Timer,
    link: Option<Impairment>,
    leaves: Receiver<()>,
    reports: Sender<ServerProgress>,
    status_at: Time,
}

impl Runner {
    fn run(mut self) -> ServerFinished {
        loop {
            if let Err(what) = caught(|| self.play()) {
                self.break_off(what);
            }
            let (result, next) = self.server.into_rematch();
            match next {
                Some(next) => self.server = next,
                None => return ServerFinished { result },
            }
        }
    }

    /// Runs one match to its end.
    fn play(&mut self) {
        loop {
            // What is here is heard before anybody's silence is judged.
            self.receive();
            let now = clock::now();
            self.server.advance(now);
            self.send(now);
            self.report(now);
            if self.server.is_over() {
                break;
            }
            self.wait();
        }
        self.flush();
    }

    /// The program broke down: ends the match in order, as far as that can still be done.
    fn break_off(&mut self, what: String) {
        // What breaks down once more is not heard; the first panic is the one to report.
        let _ = caught(|| {
            self.server.break_off(MatchError::Internal(what));
            let until = clock::now().plus(GOOD_BYE_WITHIN);
            loop {
                let now = clock::now();
                let is_done = self.server.say_good_bye(now) || now >= until;
                self.send(now);
                if is_done {
                    break;
                }
                self.wait();
            }
            self.flush();
        });
    }

    /// Lets the last datagrams leave a link that delays them.
    fn flush(&mut self) {
        while let Some(at) = self.link.as_ref().and_then(Impairment::next_at) {
            std::thread::sleep(at.since(clock::now()));
            self.send(clock::now());
        }
    }

    fn send(&mut self, now: Time) {
        while let Some(transmit) = self.server.poll_transmit() {
            match &mut self.link {
                Some(link) => link.push(now, transmit),
                None => self.udp.send(&transmit),
            }
        }
        while let Some(transmit) = self.link.as_mut().and_then(|link| link.pop(now)) {
            self.udp.send(&transmit);
        }
    }

    fn report(&mut self, now: Time) {
        while let Some(event) = self.server.poll_event() {
            // Nobody listens, or not fast enough: the match does not wait for spectators.
            let _ = self.reports.try_send(ServerProgress::Event(event));
        }
        if now < self.status_at {
            return;
        }
        self.status_at = now.plus(STATUS_EVERY);
        let client = |client: crate::net::ClientStatus| {
            let rejected = client.rejected;
            (client.name.to_string(), client.traffic.bytes_sent, client.traffic.bytes_received, rejected)
        };
        let _ = self.reports.try_send(ServerProgress::Status {
            tick: self.server.world().map_or(Tick(0), |world| world.state().tick()),
            late_p99_ms: self.server.lateness().percentiles().map_or(0.0, |late| late.p99),
            clients: self.server.session().clients().map(client).collect(),
            beacon: self.server.session().beacon().cloned(),
        });
    }

    /// Takes in what has come.
    fn receive(&mut self) {
        for received in self.udp.received().try_iter().take(BATCH_MAX) {
            self.server.handle_datagram(received.at, received.from, &received.bytes);
        }
    }

    /// Sleeps until something comes in or is due.
    fn wait(&mut self) {
        let link = self.link.as_ref().and_then(Impairment::next_at);
        let due = [self.server.poll_timeout(), link].into_iter().flatten().min();
        let now = clock::now();
        let sleep = due.map_or(IDLE, |due| due.since(now)).min(IDLE);
        self.timer.arm(now.plus(sleep));
        select_biased! {
            recv(self.udp.received()) -> received => {
                if let Ok(received) = received {
                    self.server.handle_datagram(received.at, received.from, &received.bytes);
                }
            }
            recv(self.leaves) -> said => {
                self.server.leave();
                if said.is_err() {
                    self.leaves = crossbeam_channel::never();
                }
            }
            recv(self.timer.fired()) -> _ => {}
            default(sleep) => {}
        }
    }
}
