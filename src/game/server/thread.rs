//! A server on its own thread: its controls and its reports.

use core::ops::ControlFlow;
use core::time::Duration;
use crossbeam_channel::Sender;
use std::net::IpAddr;

use super::{Server, ServerSummary};
use crate::match_event::MatchEvent;
use crate::node::Node as _;
use crate::outcome::{INTERNAL_ERROR, MatchError};
use crate::runner::{NodeThread, Threaded};
use net::discovery::Beacon;
use net::{ClientStatus, DropCause, Event, Expected, Time};
use sim::{PlayerId, Tick};
use transport::{LinkSpec, Udp, clock};

/// Controls of a running server.
#[derive(Clone, Copy, Debug)]
pub enum ServerControl {
    /// Remove this client from the lobby.
    Remove {
        /// The client.
        player: PlayerId,
        /// Whether the room admits it no more.
        bans: bool,
    },
    /// End with the match that runs, or at once if none does; take no more guests.
    Drain,
    /// Shut down.
    Leave,
}

/// Reports of a running server.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
pub enum ServerProgress {
    /// An event.
    Event(MatchEvent),
    /// The status, reported once a second.
    Status {
        /// Next tick to run.
        tick: Tick,
        /// 99th percentile of tick lateness so far, in milliseconds.
        late_p99_ms: f64,
        /// Clients: name, bytes sent and received so far, and rejections.
        clients: Vec<(String, u64, u64, u32)>,
        /// Beacon of the room.
        beacon: Option<Beacon>,
    },
    /// A match is over, and its room stays for the next one.
    Over(Box<Result<ServerSummary, MatchError>>),
}

/// Server on a thread of its own. Its result is its last match, or why there was none.
pub type ServerThread = NodeThread<Server>;

impl ServerThread {
    /// Starts the thread on `udp`; datagrams that it sends pass through `link` first, if one is given.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub fn start(server: Server, udp: Udp, link: Option<LinkSpec>) -> std::io::Result<Self> {
        Self::spawn(server, udp, link, ())
    }

    /// Returns the channel for controls.
    #[must_use]
    pub const fn control(&self) -> &Sender<ServerControl> {
        &self.control
    }
}

impl Threaded for Server {
    type Control = ServerControl;
    type Progress = ServerProgress;
    type Finished = Result<ServerSummary, MatchError>;
    type Watch = ();

    const NAME: &'static str = "server";
    const STATUS_EVERY: Duration = Duration::from_secs(1);
    const EVENT: fn(MatchEvent) -> ServerProgress = ServerProgress::Event;

    fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        if let Some(room) = self.session.room_mut() {
            room.set_own_addresses(addresses);
        }
    }

    fn expected(&self) -> Expected {
        self.session.expected()
    }

    fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.session.count_refused(cause, times);
    }

    fn control(&mut self, now: Time, control: ServerControl) {
        match control {
            ServerControl::Remove { player, bans } => {
                if let Some(room) = self.session.room_mut() {
                    room.remove(now, player, bans);
                }
            }
            ServerControl::Drain => self.drain(),
            ServerControl::Leave => self.leave(),
        }
    }

    fn status(&self) -> ServerProgress {
        let client = |client: ClientStatus| {
            let rejected = client.counts.rejected;
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
        self.world = None;
        self.events.tell(self.recording.finish(INTERNAL_ERROR, None));
        self.fail(error);
    }

    fn say_good_bye(&mut self, now: Time) -> bool {
        self.session.handle_timeout(now);
        core::iter::from_fn(|| self.session.poll_event()).any(|event| matches!(event, Event::Closed(_)))
    }

    fn conclude(self, (): &mut (), _: u64) -> ControlFlow<Self::Finished, (Self, Option<ServerProgress>)> {
        match self.into_rematch(clock::now()) {
            (result, Some(next)) => {
                ControlFlow::Continue((next, Some(ServerProgress::Over(Box::new(result)))))
            }
            (result, None) => ControlFlow::Break(result),
        }
    }

    fn broken_down(error: MatchError) -> Self::Finished {
        Err(error)
    }
}
