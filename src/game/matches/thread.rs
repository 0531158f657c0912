//! A peer's match on its own thread: its controls, its reports, and the view that a window shows.

use core::ops::ControlFlow;
use core::time::Duration;
use crossbeam_channel::Sender;
use std::net::IpAddr;

use super::Match;
use crate::clock::MatchClock;
use crate::controller::Controller;
use crate::match_event::MatchEvent;
use crate::node::Node as _;
use crate::outcome::{INTERNAL_ERROR, MatchError};
use crate::runner::{NodeThread, Threaded};
use crate::summary::Summary;
use crate::view::{ViewReader, ViewWriter};
use net::discovery::Beacon;
use net::message::Choice;
use net::{ChatText, DropCause, Event, Expected, LinkStatus, Time, Traffic};
use sim::{Command, HeroControl, PlayerId, Tick};
use transport::{LinkSpec, Udp};

/// Controls of a running match.
#[derive(Clone, Debug)]
pub enum Control {
    /// Command for the world.
    Command(Command),
    /// Held hero controls.
    Hero(HeroControl),
    /// Hero and readiness in the lobby.
    Choose(Choice),
    /// Remove this guest from the lobby; only a host can.
    Remove {
        /// The guest.
        player: PlayerId,
        /// Whether the room admits it no more.
        bans: bool,
    },
    /// Chat line to all others.
    Chat(ChatText),
    /// Claim the win over a lost player.
    Claim,
    /// Wait on for the player who has spent its budget of stalls, or continue without it.
    DecideOnStall {
        /// Whether the match waits.
        waits: bool,
    },
    /// Get ready for another match, once this one is over.
    Rematch,
    /// Leave the match.
    Leave,
}

/// Reports of a running match.
#[derive(Debug)]
pub enum Progress {
    /// Event of the match.
    Event(MatchEvent),
    /// Progress, reported ten times a second.
    At {
        /// Next tick to run.
        tick: Tick,
        /// State of the first link.
        link: Option<LinkStatus>,
        /// Input delay, in microseconds.
        delay_us: i64,
        /// Beacon of the room, if this is a host.
        beacon: Option<Beacon>,
    },
    /// The match is over, and the thread stays for another one ([`Control::Rematch`]). Later reports are of the
    /// next match; if there is none, the thread ends with an error that says so.
    Over(Box<Finished>),
}

/// Result of an ended thread.
#[derive(Debug)]
pub struct Finished {
    /// Summary of the match, or why there was none.
    pub result: Result<Summary, MatchError>,
    /// Traffic on all links.
    pub traffic: Traffic,
    /// State of the link to the first peer, as last measured.
    pub link: Option<LinkStatus>,
    /// Input delay at the end, in microseconds.
    pub delay_us: i64,
    /// CPU time of the process while the match ran, in microseconds.
    pub cpu_us: u64,
}

/// Thread that runs a match.
pub type MatchThread = NodeThread<Match>;

impl MatchThread {
    /// Starts the thread on `udp`; datagrams that it sends pass through `link` first, if one is given.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start(game: Match, udp: Udp, link: Option<LinkSpec>) -> std::io::Result<Self> {
        Self::spawn(game, udp, link, Watch::default())
    }

    /// Starts the thread for a window: the reader always shows the latest view, with all events up to it.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start_with_view(
        game: Match,
        udp: Udp,
        link: Option<LinkSpec>,
    ) -> std::io::Result<(Self, ViewReader)> {
        let view = ViewWriter::default();
        let reader = view.reader();
        let watch = Watch { view: Some(view), last_link: None };
        Ok((Self::spawn(game.watched(), udp, link, watch)?, reader))
    }

    /// Returns the channel for controls.
    #[must_use]
    pub const fn control(&self) -> &Sender<Control> {
        &self.control
    }
}

/// Observers of a match.
#[derive(Default)]
pub struct Watch {
    /// Writer of the view; `None` unless the match is watched.
    view: Option<ViewWriter>,
    last_link: Option<LinkStatus>,
}

impl Threaded for Match {
    type Control = Control;
    type Progress = Progress;
    type Finished = Finished;
    type Watch = Watch;

    const NAME: &'static str = "match";
    const STATUS_EVERY: Duration = Duration::from_millis(100);
    const EVENT: fn(MatchEvent) -> Progress = Progress::Event;

    fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        if let Some(host) = self.session.host_mut() {
            host.set_own_addresses(addresses);
        }
    }

    fn expected(&self) -> Expected {
        self.session.expected()
    }

    fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.session.count_refused(cause, times);
    }

    fn clock(&self) -> MatchClock {
        self.options.clock.clone()
    }

    fn control(&mut self, now: Time, control: Control) {
        match control {
            Control::Command(command) => {
                self.submit_command(now, command);
            }
            Control::Hero(hero) => self.submit_hero(hero),
            Control::Choose(choice) => self.submit_choice(now, choice),
            Control::Remove { player, bans } => {
                if let Some(host) = self.session.host_mut() {
                    host.remove(now, player, bans);
                }
            }
            Control::Chat(text) => {
                // A player over the chat rate limit notices that the line does not appear.
                self.submit_chat(now, text);
            }
            Control::Claim => self.claim(),
            Control::DecideOnStall { waits } => self.decide_on_stall(waits),
            Control::Rematch => self.want_rematch(now),
            Control::Leave => self.leave(),
        }
    }

    fn status(&self) -> Progress {
        let session = self.session();
        Progress::At {
            tick: self.world().map_or(Tick(0), |world| world.state().tick()),
            link: session.links().next(),
            delay_us: session.delay_us().unwrap_or(0),
            beacon: session.beacon().cloned(),
        }
    }

    fn look(&mut self, now: Time, watch: &mut Watch) {
        watch.last_link = self.session().links().next().or(watch.last_link);
        if let Some(view) = &mut watch.view {
            view.show(now, self);
        }
    }

    fn break_off(&mut self, error: MatchError) {
        (self.world, self.predictor, self.interpolated) = (None, None, None);
        self.controller = Controller::None;
        self.events.tell(self.recording.finish(INTERNAL_ERROR, None));
        self.fail(error);
    }

    fn say_good_bye(&mut self, now: Time) -> bool {
        self.session.handle_timeout(now);
        core::iter::from_fn(|| self.session.poll_event()).any(|event| matches!(event, Event::Closed(_)))
    }

    fn conclude(self, watch: &mut Watch, cpu_us: u64) -> ControlFlow<Finished, (Self, Option<Progress>)> {
        let (traffic, link) = (*self.session().traffic(), watch.last_link.take());
        let delay_us = self.session().delay_us().unwrap_or(0);
        let now = self.options.clock.now();
        let (result, next) = self.into_rematch(now);
        let finished = Finished { result, traffic, link, delay_us, cpu_us };
        let Some(next) = next else { return ControlFlow::Break(finished) };
        let over = Some(Progress::Over(Box::new(finished)));
        let Some(view) = &mut watch.view else { return ControlFlow::Continue((next, over)) };
        view.restart();
        ControlFlow::Continue((next.watched(), over))
    }

    fn broken_down(error: MatchError) -> Finished {
        Finished { result: Err(error), traffic: Traffic::default(), link: None, delay_us: 0, cpu_us: 0 }
    }
}
