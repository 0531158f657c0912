//! A server on its thread: what it reports, and how it is shut down.

use core::ops::ControlFlow;
use core::time::Duration;
use crossbeam_channel::Sender;
use std::net::IpAddr;

use super::{Server, ServerSummary};
use crate::game::match_event::MatchEvent;
use crate::game::node::Node as _;
use crate::game::outcome::{INTERNAL_ERROR, MatchError};
use crate::game::runner::{NodeThread, Threaded};
use crate::net::discovery::Beacon;
use crate::net::{ClientStatus, Event, Time};
use crate::sim::Tick;
use crate::transport::{LinkSpec, Udp};

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

/// A server on a thread of its own. What remains is its last match, or why there was none.
pub type ServerThread = NodeThread<Server>;

impl ServerThread {
    /// Starts it on `udp`; what it sends goes through `link` first, if one is given.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(server: Server, udp: Udp, link: Option<LinkSpec>) -> std::io::Result<Self> {
        Self::spawn(server, udp, link, ())
    }

    /// Where to say that it shall shut down.
    #[must_use]
    pub const fn leave(&self) -> &Sender<()> {
        &self.control
    }
}

impl Threaded for Server {
    /// It shall shut down.
    type Control = ();
    type Progress = ServerProgress;
    type Finished = Result<ServerSummary, MatchError>;
    type Watch = ();

    const NAME: &'static str = "server";
    const STATUS_EVERY: Duration = Duration::from_secs(1);
    const EVENT: fn(MatchEvent) -> ServerProgress = ServerProgress::Event;

    fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        self.session.set_own_addresses(addresses);
    }

    fn control(&mut self, (): ()) {
        self.leave();
    }

    fn status(&self) -> ServerProgress {
        let client = |client: ClientStatus| {
            let rejected = client.rejected;
            (client.name.to_string(), client.traffic.bytes_sent, client.traffic.bytes_received, rejected)
        };
        ServerProgress::Status {
            tick: self.world().map_or(Tick(0), |world| world.state().tick()),
            late_p99_ms: self.lateness().percentiles().map_or(0.0, |late| late.p99),
            clients: self.session().clients().map(client).collect(),
            beacon: self.session().beacon().cloned(),
        }
    }

    fn look(&mut self, _: Time, (): &mut ()) {}

    fn break_off(&mut self, error: MatchError) {
        self.finished = Some(Err(error));
        self.world = None;
        if let Some(failure) = self.recording.finish(INTERNAL_ERROR, None) {
            self.tell(failure);
        }
        self.session.leave();
    }

    fn say_good_bye(&mut self, now: Time) -> bool {
        self.session.handle_timeout(now);
        core::iter::from_fn(|| self.session.poll_event()).any(|event| matches!(event, Event::Closed(_)))
    }

    fn conclude(self, (): &mut (), _: u64) -> ControlFlow<Self::Finished, (Self, Option<ServerProgress>)> {
        match self.into_rematch() {
            (_, Some(next)) => ControlFlow::Continue((next, None)),
            (result, None) => ControlFlow::Break(result),
        }
    }

    fn broken_down(error: MatchError) -> Self::Finished {
        Err(error)
    }
}
