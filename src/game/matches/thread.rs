//! A peer's match on its thread: what can be said to it, what it reports, and the view that a window shows.

use core::ops::ControlFlow;
use core::time::Duration;
use crossbeam_channel::Sender;
use std::net::IpAddr;

use super::Match;
use crate::game::controller::Controller;
use crate::game::match_event::MatchEvent;
use crate::game::node::Node as _;
use crate::game::outcome::{INTERNAL_ERROR, MatchError};
use crate::game::runner::{NodeThread, Threaded};
use crate::game::summary::Summary;
use crate::game::view::{ViewReader, ViewWriter};
use crate::net::discovery::Beacon;
use crate::net::{ChatText, Event, LinkStatus, Time, Traffic};
use crate::sim::{Command, HeroControl, Tick};
use crate::transport::{LinkSpec, Udp, clock};

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
pub type MatchThread = NodeThread<Match>;

impl MatchThread {
    /// Starts it on `udp`; what it sends goes through `link` first, if one is given.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(game: Match, udp: Udp, link: Option<LinkSpec>) -> std::io::Result<Self> {
        Self::spawn(game, udp, link, Watch::default())
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
        let watch = Watch { view: Some(view), last_link: None };
        Ok((Self::spawn(game.watched(), udp, link, watch)?, reader))
    }

    /// Where to say things.
    #[must_use]
    pub const fn control(&self) -> &Sender<Control> {
        &self.control
    }
}

/// What looks at a match.
#[derive(Default)]
pub struct Watch {
    /// Only if somebody watches.
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
        self.session.set_own_addresses(addresses);
    }

    fn control(&mut self, control: Control) {
        let now = clock::now();
        match control {
            Control::Command(command) => {
                self.submit_command(now, command);
            }
            Control::Hero(hero) => self.submit_hero(hero),
            Control::Resume => self.resume(now),
            Control::Chat(text) => {
                // Who writes too fast sees that the line does not appear.
                self.submit_chat(now, text);
            }
            Control::Claim => self.claim(),
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
        self.finished = Some(Err(error));
        (self.world, self.predictor, self.past, self.controller) = (None, None, None, Controller::None);
        if let Some(failure) = self.recording.finish(INTERNAL_ERROR, None) {
            self.tell(failure);
        }
        self.session.leave();
    }

    fn say_good_bye(&mut self, now: Time) -> bool {
        self.session.handle_timeout(now);
        core::iter::from_fn(|| self.session.poll_event()).any(|event| matches!(event, Event::Closed(_)))
    }

    fn conclude(self, watch: &mut Watch, cpu_us: u64) -> ControlFlow<Finished, (Self, Option<Progress>)> {
        let (traffic, link) = (*self.session().traffic(), watch.last_link.take());
        let delay_us = self.session().delay_us().unwrap_or(0);
        let (result, next) = self.into_rematch(clock::now());
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
