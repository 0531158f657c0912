//! The thread that runs a [`Node`]: real time, a real socket, and channels to players and viewers.
//!
//! Datagrams come from the receive thread of [`Udp`] through its bounded channel; this thread alone touches
//! session and world.

use core::ops::ControlFlow;
use core::time::Duration;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, never, select_biased};
use std::net::IpAddr;
use std::thread::JoinHandle;

use super::clock::MatchClock;
use super::internal::caught;
use super::match_event::MatchEvent;
use super::node::Node;
use super::outcome::MatchError;
use net::{DropCause, Expected, Time};
use transport::{Impairment, LinkSpec, Timer, Udp, clock};

/// Capacity of the queues of controls and reports; excess reports are dropped, senders of excess controls block.
const QUEUE_MAX: usize = 256;
/// Maximum sleep if nothing is due.
const IDLE: Duration = Duration::from_millis(100);
/// Maximum number of datagrams handled before the match advances again.
const BATCH_MAX: usize = 256;
/// Time for the others to acknowledge that this match has failed.
const GOOD_BYE_WITHIN: Duration = Duration::from_secs(2);

/// Requirements of a node's thread, in addition to [`Node`].
pub trait Threaded: Node + Sized + Send + 'static {
    /// Type of control messages.
    type Control: Send + 'static;
    /// Type of progress reports.
    type Progress: Send + 'static;
    /// Type of the result of an ended thread.
    type Finished: Send + 'static;
    /// Type of the observer, which is called after every step.
    type Watch: Send + 'static;

    /// Name of the thread.
    const NAME: &'static str;
    /// Interval between reports of [`Self::status`].
    const STATUS_EVERY: Duration;
    /// Converts an event to a report.
    const EVENT: fn(MatchEvent) -> Self::Progress;

    /// Sets this computer's own addresses.
    fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>);

    /// Returns the datagrams that the session can use now.
    fn expected(&self) -> Expected;

    /// Counts datagrams that were dropped as unexpected.
    fn count_refused(&mut self, cause: DropCause, times: u64);

    /// Returns the clock that decides when something is due.
    fn clock(&self) -> MatchClock {
        MatchClock::default()
    }

    /// Executes a control that was given at `now`.
    fn control(&mut self, now: Time, control: Self::Control);

    /// Returns the current status.
    fn status(&self) -> Self::Progress;

    /// Updates the observer.
    fn look(&mut self, now: Time, watch: &mut Self::Watch);

    /// Ends the match after a panic with this error, closes the recording with the ticks so far, and notifies the
    /// others. The world may be inconsistent, so it is not used any more.
    fn break_off(&mut self, error: MatchError);

    /// Continues to notify the others after [`Self::break_off`]. Returns true once all have acknowledged, or none of
    /// them answers.
    fn say_good_bye(&mut self, now: Time) -> bool;

    /// Returns the result of a match that is over and used this much CPU time of the process; or the next match, with
    /// a report of the last.
    fn conclude(
        self,
        watch: &mut Self::Watch,
        cpu_us: u64,
    ) -> ControlFlow<Self::Finished, (Self, Option<Self::Progress>)>;

    /// Returns the result if the thread itself panicked.
    fn broken_down(error: MatchError) -> Self::Finished;
}

/// Node on a thread of its own.
pub struct NodeThread<N: Threaded> {
    pub(super) control: Sender<N::Control>,
    progress: Receiver<N::Progress>,
    thread: JoinHandle<N::Finished>,
}

impl<N: Threaded> NodeThread<N> {
    /// Starts the thread on `udp`; datagrams that it sends pass through `link` first, if one is given.
    pub(super) fn spawn(
        mut node: N,
        udp: Udp,
        link: Option<LinkSpec>,
        watch: N::Watch,
    ) -> std::io::Result<Self> {
        node.set_own_addresses(udp.reachable_at().iter().map(std::net::SocketAddr::ip));
        let (control, controls) = bounded(QUEUE_MAX);
        let (reports, progress) = bounded(QUEUE_MAX);
        let link = link.map(Impairment::new);
        let clock = node.clock();
        let runner = Runner { node, clock, udp, timer: Timer::new()?, link, controls, reports, watch };
        let thread = std::thread::Builder::new().name(N::NAME.into()).spawn(move || runner.run())?;
        Ok(Self { control, progress, thread })
    }

    /// Returns the next report; `None` if there is none within `patience`.
    ///
    /// # Errors
    /// If the thread has ended and all its reports have been taken.
    pub fn progress(&self, patience: Duration) -> Result<Option<N::Progress>, MatchEnded> {
        match self.progress.recv_timeout(patience) {
            Ok(progress) => Ok(Some(progress)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(MatchEnded),
        }
    }

    /// Waits for the end of the thread.
    #[must_use]
    pub fn join(self) -> N::Finished {
        let error = || MatchError::Internal(format!("the {} thread panicked", N::NAME));
        self.thread.join().unwrap_or_else(|_| N::broken_down(error()))
    }
}

/// End of the match thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the match has ended")]
pub struct MatchEnded;

struct Runner<N: Threaded> {
    node: N,
    clock: MatchClock,
    udp: Udp,
    timer: Timer,
    link: Option<Impairment>,
    controls: Receiver<N::Control>,
    reports: Sender<N::Progress>,
    watch: N::Watch,
}

impl<N: Threaded> Runner<N> {
    fn run(mut self) -> N::Finished {
        loop {
            let cpu_before = cpu_us();
            if let Err(what) = caught(|| self.play()) {
                self.break_off(what);
            }
            match self.node.conclude(&mut self.watch, cpu_us() - cpu_before) {
                ControlFlow::Break(finished) => return finished,
                ControlFlow::Continue((next, report)) => {
                    self.node = next;
                    // The receiver of this is waiting, or has gone.
                    let _ = report.map(|report| self.reports.send(report));
                }
            }
        }
    }

    /// Plays one match to its end.
    fn play(&mut self) {
        let mut status_at = self.clock.now();
        loop {
            // Received datagrams are handled before silence is judged.
            self.receive();
            let now = self.clock.now();
            self.node.advance(now);
            // Must be set before anything that will be answered is sent.
            self.udp.expect(&self.node.expected());
            self.send(now);
            self.report(now, &mut status_at);
            self.node.look(now, &mut self.watch);
            if self.node.is_over() {
                break;
            }
            self.wait();
        }
        self.flush();
    }

    /// Ends the match after a panic, as cleanly as still possible.
    fn break_off(&mut self, what: String) {
        // A second panic is ignored; the first one is to be reported.
        let _ = caught(|| {
            self.node.break_off(MatchError::Internal(what));
            let until = self.clock.now().plus(GOOD_BYE_WITHIN);
            loop {
                let now = self.clock.now();
                let is_done = self.node.say_good_bye(now) || now >= until;
                self.send(now);
                if is_done {
                    break;
                }
                self.wait();
            }
            self.flush();
        });
    }

    fn send(&mut self, now: Time) {
        while let Some(transmit) = self.node.poll_transmit() {
            match &mut self.link {
                Some(link) => link.push(now, transmit),
                None => self.udp.send(&transmit),
            }
        }
        while let Some(transmit) = self.link.as_mut().and_then(|link| link.pop(now)) {
            self.udp.send(&transmit);
        }
    }

    fn report(&mut self, now: Time, status_at: &mut Time) {
        while let Some(event) = self.node.poll_event() {
            // No reader, or a slow one: the match does not wait for viewers.
            let _ = self.reports.try_send(N::EVENT(event));
        }
        if now >= *status_at {
            *status_at = now.plus(N::STATUS_EVERY);
            let _ = self.reports.try_send(self.node.status());
        }
    }

    /// Handles the received datagrams.
    fn receive(&mut self) {
        for (cause, times) in self.udp.take_refused() {
            self.node.count_refused(cause, times);
        }
        for received in self.udp.received().try_iter().take(BATCH_MAX) {
            let at = self.clock.at(received.at);
            self.node.handle_datagram(at, received.from, &received.bytes);
        }
    }

    /// Waits for a control, a datagram or a deadline. Controls come first: anybody can send datagrams, and a flood of
    /// them must not block the player's controls.
    fn wait(&mut self) {
        let link = self.link.as_ref().and_then(Impairment::next_at);
        let due = [self.node.poll_timeout(), link].into_iter().flatten().min();
        let now = self.clock.now();
        let sleep = due.map_or(IDLE, |due| due.since(now)).min(IDLE);
        // The timer uses the machine's clock.
        self.timer.arm(clock::now().plus(sleep));
        select_biased! {
            recv(self.controls) -> control => match control {
                Ok(control) => self.node.control(self.clock.now(), control),
                // The controlling end is gone, so this node leaves.
                Err(_) => {
                    self.controls = never();
                    self.node.leave();
                }
            },
            recv(self.udp.received()) -> received => {
                if let Ok(received) = received {
                    let at = self.clock.at(received.at);
                    self.node.handle_datagram(at, received.from, &received.bytes);
                }
            }
            recv(self.timer.fired()) -> _ => {}
            default(sleep) => {}
        }
    }

    /// Sends the last datagrams that a delaying link still holds.
    fn flush(&mut self) {
        while let Some(at) = self.link.as_ref().and_then(Impairment::next_at) {
            std::thread::sleep(at.since(self.clock.now()));
            self.send(self.clock.now());
        }
    }
}

fn cpu_us() -> u64 {
    let (user, system) = clock::cpu_time_us();
    user + system
}
