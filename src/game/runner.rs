//! The match thread: real time, a real socket, and channels to whoever plays and watches.

use core::time::Duration;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, never, select_biased};
use std::net::SocketAddr;
use std::thread::JoinHandle;

use super::internal::caught;
use super::match_event::MatchEvent;
use super::matches::Match;
use super::outcome::MatchError;
use super::summary::Summary;
use super::view::{ViewReader, ViewWriter};
use crate::net::discovery::Beacon;
use crate::net::{ChatText, LinkStatus, Time, Traffic};
use crate::sim::{Command, HeroControl, Tick};
use crate::transport::{Impairment, LinkSpec, Timer, Udp, clock};

/// Most controls and most reports that wait; more reports are left out, more controls wait.
const QUEUE_MAX: usize = 256;
/// Longest sleep when nothing is due.
const IDLE: Duration = Duration::from_millis(100);
/// How often progress is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);
/// Datagrams taken in before the match advances again.
const BATCH_MAX: usize = 64;
/// How long the others may take to hear that a match has broken down here.
pub(super) const GOOD_BYE_WITHIN: Duration = Duration::from_secs(2);

/// What can be said to a running match.
#[derive(Clone, Debug)]
pub enum Control {
    /// An order.
    Command(Command),
    /// What the hero's keys say now.
    Hero(HeroControl),
    /// Go on after a pause.
    Resume,
    /// A line to all others.
    Chat(ChatText),
    /// Claim the win of one who is lost.
    Claim,
    /// Play again, once the match is over.
    Rematch,
    /// Leave.
    Leave,
}

/// What a running match reports.
#[derive(Debug)]
pub enum Progress {
    /// Something happened.
    Event(MatchEvent),
    /// How far it is, ten times a second.
    At {
        /// The next tick to run.
        tick: Tick,
        /// What the first link looks like.
        link: Option<LinkStatus>,
        /// The input delay, in microseconds.
        delay_us: i64,
        /// What the room says of itself, while this is a host.
        beacon: Option<Beacon>,
    },
    /// The match is over, and the thread stays for a vote on a rematch ([`Control::Rematch`]). What is reported
    /// from now on is of the next match; if there is none, the thread ends with an error that says so.
    Over(Box<Finished>),
}

/// What remains when the thread has ended.
#[derive(Debug)]
pub struct Finished {
    /// The match, or why there was none.
    pub result: Result<Summary, MatchError>,
    /// What went over the links.
    pub traffic: Traffic,
    /// The way to the first peer, as it was last measured.
    pub link: Option<LinkStatus>,
    /// The input delay at the end, in microseconds.
    pub delay_us: i64,
    /// CPU time of the process while the match ran, in microseconds.
    pub cpu_us: u64,
}

/// A match on a thread of its own.
pub struct MatchThread {
    control: Sender<Control>,
    progress: Receiver<Progress>,
    thread: JoinHandle<Finished>,
}

impl MatchThread {
    /// Starts it on `udp`; what it sends goes through `link` first, if one is given.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(game: Match, udp: Udp, link: Option<LinkSpec>) -> std::io::Result<Self> {
        Self::spawn(game, udp, link, None)
    }

    /// The same, for a window: what the reader shows is always the latest, with all that happened before.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start_with_view(
        game: Match,
        udp: Udp,
        link: Option<LinkSpec>,
    ) -> std::io::Result<(Self, ViewReader)> {
        let view = ViewWriter::default();
        let reader = view.reader();
        Ok((Self::spawn(game.watched(), udp, link, Some(view))?, reader))
    }

    fn spawn(
        mut game: Match,
        udp: Udp,
        link: Option<LinkSpec>,
        view: Option<ViewWriter>,
    ) -> std::io::Result<Self> {
        game.set_own_addresses(udp.reachable_at().iter().map(SocketAddr::ip));
        let (control, controls) = bounded(QUEUE_MAX);
        let (reports, progress) = bounded(QUEUE_MAX);
        let link = link.map(Impairment::new);
        let timer = Timer::new()?;
        let runner = Runner { game, udp, timer, link, controls, reports, view, last_link: None };
        let thread = std::thread::Builder::new().name("match".into()).spawn(move || runner.run())?;
        Ok(Self { control, progress, thread })
    }

    /// Where to say things.
    #[must_use]
    pub const fn control(&self) -> &Sender<Control> {
        &self.control
    }

    /// The next report; `None` when none came within `patience`, an error when the thread has ended.
    ///
    /// # Errors
    /// If the match is over and everything it reported has been taken.
    pub fn progress(&self, patience: Duration) -> Result<Option<Progress>, MatchEnded> {
        match self.progress.recv_timeout(patience) {
            Ok(progress) => Ok(Some(progress)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(MatchEnded),
        }
    }

    /// Waits for the end.
    #[must_use]
    pub fn join(self) -> Finished {
        let broke_down = |_| Finished {
            result: Err(MatchError::Internal("the match thread broke down".into())),
            traffic: Traffic::default(),
            link: None,
            delay_us: 0,
            cpu_us: 0,
        };
        self.thread.join().unwrap_or_else(broke_down)
    }
}

/// The match thread has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the match has ended")]
pub struct MatchEnded;

struct Runner {
    game: Match,
    udp: Udp,
    timer: Timer,
    link: Option<Impairment>,
    controls: Receiver<Control>,
    reports: Sender<Progress>,
    /// Only if somebody watches.
    view: Option<ViewWriter>,
    last_link: Option<LinkStatus>,
}

impl Runner {
    fn run(mut self) -> Finished {
        loop {
            let cpu_before = cpu_us();
            if let Err(what) = caught(|| self.play()) {
                self.break_off(what);
            }
            let (traffic, link) = (*self.game.session().traffic(), self.last_link.take());
            let delay_us = self.game.session().delay_us().unwrap_or(0);
            let cpu_us = cpu_us() - cpu_before;
            let (result, next) = self.game.into_rematch(clock::now());
            let finished = Finished { result, traffic, link, delay_us, cpu_us };
            let Some(next) = next else { return finished };
            self.game = if self.view.is_some() { next.watched() } else { next };
            if let Some(view) = &mut self.view {
                view.restart();
            }
            // Whoever asked for this listens, or has gone.
            let _ = self.reports.send(Progress::Over(Box::new(finished)));
        }
    }

    /// Plays one match to its end.
    fn play(&mut self) {
        let mut report_at = clock::now();
        loop {
            // What is here is heard before anybody's silence is judged.
            self.receive();
            let now = clock::now();
            self.game.advance(now);
            self.send(now);
            self.last_link = self.game.session().links().next().or(self.last_link);
            self.report(now, &mut report_at);
            if let Some(view) = &mut self.view {
                view.show(now, &mut self.game);
            }
            if self.game.is_over() {
                break;
            }
            self.wait(now);
        }
        self.flush();
    }

    /// The program broke down: ends the match in order, as far as that can still be done.
    fn break_off(&mut self, what: String) {
        // What breaks down once more is not heard; the first panic is the one to report.
        let _ = caught(|| {
            self.game.break_off(MatchError::Internal(what));
            let until = clock::now().plus(GOOD_BYE_WITHIN);
            loop {
                let now = clock::now();
                let is_done = self.game.say_good_bye(now) || now >= until;
                self.send(now);
                if is_done {
                    break;
                }
                self.wait(now);
            }
            self.flush();
        });
    }

    fn send(&mut self, now: Time) {
        while let Some(transmit) = self.game.poll_transmit() {
            match &mut self.link {
                Some(link) => link.push(now, transmit),
                None => self.udp.send(&transmit),
            }
        }
        while let Some(transmit) = self.link.as_mut().and_then(|link| link.pop(now)) {
            self.udp.send(&transmit);
        }
    }

    fn report(&mut self, now: Time, report_at: &mut Time) {
        while let Some(event) = self.game.poll_event() {
            // Nobody listens, or not fast enough: the match does not wait for spectators.
            let _ = self.reports.try_send(Progress::Event(event));
        }
        if now < *report_at {
            return;
        }
        *report_at = now.plus(PROGRESS_EVERY);
        let session = self.game.session();
        let _ = self.reports.try_send(Progress::At {
            tick: self.game.world().map_or(Tick(0), |world| world.state().tick()),
            link: session.links().next(),
            delay_us: session.delay_us().unwrap_or(0),
            beacon: session.beacon().cloned(),
        });
    }

    /// Takes in what has come.
    fn receive(&mut self) {
        for received in self.udp.received().try_iter().take(BATCH_MAX) {
            self.game.handle_datagram(received.at, received.from, &received.bytes);
        }
    }

    /// Sleeps until something comes in or is due.
    fn wait(&mut self, now: Time) {
        let link = self.link.as_ref().and_then(Impairment::next_at);
        let due = [self.game.poll_timeout(), link].into_iter().flatten().min();
        let now = clock::now().max(now);
        let sleep = due.map_or(IDLE, |due| due.since(now)).min(IDLE);
        self.timer.arm(now.plus(sleep));
        select_biased! {
            recv(self.udp.received()) -> received => {
                if let Ok(received) = received {
                    self.game.handle_datagram(received.at, received.from, &received.bytes);
                }
            }
            recv(self.controls) -> control => match control {
                Ok(Control::Command(command)) => {
                    self.game.submit_command(clock::now(), command);
                }
                Ok(Control::Hero(hero)) => self.game.submit_hero(hero),
                Ok(Control::Resume) => self.game.resume(clock::now()),
                Ok(Control::Chat(text)) => {
                    // Who writes too fast sees that the line does not appear.
                    self.game.submit_chat(clock::now(), text);
                }
                Ok(Control::Claim) => self.game.claim(),
                Ok(Control::Rematch) => self.game.want_rematch(clock::now()),
                Ok(Control::Leave) => self.game.leave(),
                // Whoever played is gone: so is this player.
                Err(_) => {
                    self.controls = never();
                    self.game.leave();
                }
            },
            recv(self.timer.fired()) -> _ => {}
            default(sleep) => {}
        }
    }

    /// Lets the last datagrams leave a link that delays them.
    fn flush(&mut self) {
        while let Some(at) = self.link.as_ref().and_then(Impairment::next_at) {
            std::thread::sleep(at.since(clock::now()));
            self.send(clock::now());
        }
    }
}

fn cpu_us() -> u64 {
    let (user, system) = clock::cpu_time_us();
    user + system
}
