//! A server's match, advanced by its caller.

mod stage;
mod thread;

use core::time::Duration;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

pub use self::stage::Stage;
pub use self::thread::{ServerControl, ServerProgress, ServerThread};

use super::data::{announce, world_of};
use super::match_event::{MatchEvent, MatchEvents};
use super::node::Node;
use super::options::next_name;
use super::outcome::{MatchError, MatchOutcome};
use super::recording::Recording;
use super::sheet::MatchSheet;
use super::stats::Histogram;
use super::trace::{Applied, Trace};
use net::{
    AuthString, ClientStatus, End, Entropy, Event, Roster, ServerConfig, ServerTick, Source, Stall,
    StallCause, Time, TimedInputs, Transmit,
};
use sim::{Command, GameState, Map, Outcome, PlayerId, Rules, StateHash, World, fingerprint};
use transport::clock::cpu_time_us;

/// Options of a server for a match, other than its session.
#[derive(Debug, Default)]
pub struct ServerOptions {
    /// Rules that are not among the embedded ones.
    pub rules: Option<Arc<Rules>>,
    /// A map that is not among the embedded ones.
    pub map: Option<Arc<Map>>,
    /// Maps of the matches that follow, in turn, `map` after the last; without any, all are played on the same one.
    pub next_maps: VecDeque<Arc<Map>>,
    /// Matches that this room is open for, if it stays; `None` without end.
    pub matches: Option<u32>,
    /// State before tick 0 in place of that of the rules: see [`super::MatchOptions::first`].
    pub first: Option<Arc<GameState>>,
    /// Path of the recording, without the extension.
    pub record: Option<PathBuf>,
    /// Trace of the first match.
    pub trace: Option<Trace>,
    /// Whether clients may fetch the recording, which is then kept in memory.
    pub streams: bool,
    /// Seconds since 1970 at which the room was opened, for the replay's header.
    pub started_unix_s: u64,
}

impl ServerOptions {
    /// Returns the options of the next match on the same socket, with a file of its own.
    fn again(mut self) -> Self {
        if let Some(next) = self.next_maps.pop_front() {
            self.next_maps.extend(self.map.replace(next));
        }
        let matches = self.matches.map(|matches| matches.saturating_sub(1));
        Self { record: self.record.map(|path| next_name(&path)), matches, ..self }
    }
}

/// Summary of a match on its server.
#[derive(Clone, Debug)]
pub struct ServerSummary {
    /// Outcome of the match.
    pub outcome: MatchOutcome,
    /// The result sheet.
    pub sheet: MatchSheet,
    /// Number of ticks run.
    pub ticks: u32,
    /// Hash after the last tick.
    pub hash: StateHash,
    /// Authentication string of the table.
    pub words: Option<AuthString>,
    /// Status of the clients, by seat.
    pub clients: Vec<ClientStatus>,
    /// Lateness of ticks.
    pub lateness: Histogram,
    /// Path of the finished replay.
    pub replay: Option<PathBuf>,
    /// Incomplete files, each with the reason.
    pub not_written: Vec<String>,
}

/// Match as its server plays it: the only writer of its state.
pub struct Server {
    session: Stage,
    options: ServerOptions,
    /// Time at which the room was opened.
    opened: Time,
    roster: Roster,
    words: Option<AuthString>,
    world: Option<World>,
    recording: Recording,
    /// Time of tick 0, once it is agreed.
    begin: Option<Time>,
    /// Length of the match, once it is over.
    lasted: Duration,
    lateness: Histogram,
    trace: Trace,
    departed: Option<MatchOutcome>,
    finished: Option<Result<MatchOutcome, MatchError>>,
    events: MatchEvents,
    #[cfg(test)]
    pub(super) breaks_at: Option<sim::Tick>,
}

impl Node for Server {
    fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]) {
        self.session.handle_datagram(now, from, bytes);
        self.start(now);
    }

    fn advance(&mut self, now: Time) {
        loop {
            self.session.handle_timeout(now);
            self.start(now);
            let mut is_idle = true;
            while let Some(event) = self.session.poll_event() {
                is_idle = false;
                self.on_event(now, event);
            }
            while let Some(due) = self.session.poll_tick(now) {
                is_idle = false;
                self.run(now, due);
            }
            if is_idle {
                return;
            }
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.session.poll_transmit()
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        self.events.take()
    }

    fn poll_timeout(&self) -> Option<Time> {
        self.session.poll_timeout()
    }

    fn is_over(&self) -> bool {
        self.finished.is_some()
    }

    fn leave(&mut self) {
        self.session.leave();
    }
}

impl Server {
    /// Opens a room in which a match begins once all are ready. `entropy` must be unpredictable.
    ///
    /// # Panics
    /// As [`net::Host::serving`].
    #[must_use]
    pub fn new(now: Time, config: ServerConfig, entropy: impl Into<Entropy>, options: ServerOptions) -> Self {
        Self::with(Stage::new(now, config, entropy), options, now)
    }

    fn with(mut session: Stage, mut options: ServerOptions, opened: Time) -> Self {
        if let Some(room) = session.room_mut() {
            let mut config = *room.config();
            config.map = options.map.as_ref().map_or(config.map, |map| fingerprint(&**map));
            announce(room, &config, options.rules.as_ref(), options.map.as_ref());
        }
        let trace = options.trace.take().unwrap_or_default();
        Self {
            session,
            options,
            opened,
            roster: Roster::new(),
            words: None,
            world: None,
            recording: Recording::default(),
            begin: None,
            lasted: Duration::ZERO,
            lateness: Histogram::default(),
            trace,
            departed: None,
            finished: None,
            events: MatchEvents::default(),
            #[cfg(test)]
            breaks_at: None,
        }
    }

    /// Returns the current world, once all players have joined.
    #[must_use]
    pub const fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: std::net::SocketAddr, id: net::message::PacketId, body: &[u8]) {
        self.session.forge(to, id, body);
    }

    /// Returns the session.
    #[must_use]
    pub const fn session(&self) -> &Stage {
        &self.session
    }

    /// Returns the lateness of ticks so far.
    #[must_use]
    pub const fn lateness(&self) -> &Histogram {
        &self.lateness
    }

    /// Returns the summary, or why there was no match.
    ///
    /// # Errors
    /// If the match could not be played.
    ///
    /// # Panics
    /// If it is not over.
    pub fn into_summary(self) -> Result<ServerSummary, MatchError> {
        self.conclude().0
    }

    /// Ends with the match that runs, or at once if none does; nobody finds the room any more.
    pub fn drain(&mut self) {
        self.session.drain();
    }

    /// Returns the summary, and, if the room stays, that in which another match may follow.
    ///
    /// # Panics
    /// If it is not over.
    pub fn into_rematch(self, now: Time) -> (Result<ServerSummary, MatchError>, Option<Self>) {
        let opened = self.opened;
        let (result, session, options) = self.conclude();
        let next = session.into_room(now).map(|session| Self::with(session, options.again(), opened));
        (result, next)
    }

    fn conclude(mut self) -> (Result<ServerSummary, MatchError>, Stage, ServerOptions) {
        let finished = self.finished.take().expect("the match is over");
        let result = finished.map(|outcome| self.summary(outcome));
        (result, self.session, self.options)
    }

    fn summary(&mut self, outcome: MatchOutcome) -> ServerSummary {
        let world = self.world.as_ref().expect("a match that was played has a world");
        let state = world.state();
        let sheet = MatchSheet::new(world, &self.roster, &self.recording, state.winner(), outcome);
        ServerSummary {
            outcome,
            sheet: MatchSheet { room: self.session.name(), lasted: self.lasted, ..sheet },
            ticks: state.tick().0,
            hash: state.hash(),
            words: self.words,
            clients: self.session.clients().collect(),
            lateness: core::mem::take(&mut self.lateness),
            replay: self.recording.take_path(),
            not_written: [self.recording.take_error(), self.trace.failure()].into_iter().flatten().collect(),
        }
    }

    fn on_event(&mut self, now: Time, event: Event) {
        let told = MatchEvent::of(&event);
        match event {
            Event::Vacated { .. } => self.world = None,
            Event::Lobby(lobby) => {
                let (player, config) = (PlayerId::NONE, *self.session.config());
                let (rules, map) = (self.options.rules.clone(), self.options.map.clone());
                self.events.tell([MatchEvent::Lobby { player, config, lobby, rules, map }]);
            }
            Event::Prepare { roster } => self.prepare(now, roster),
            Event::Words(words) => self.words = Some(words),
            Event::Counting { begin } => {
                self.begin = Some(begin);
                self.begin_recording(self.options.started_unix_s + begin.since(self.opened).as_secs());
            }
            Event::Departed { player, tick, is_lost } => {
                self.recording.departed(player, tick, is_lost);
                self.departed = Some(MatchOutcome::departed(player, is_lost));
            }
            Event::Datagram(datagram) => self.trace.datagram(now, &datagram),
            Event::Over => self.on_closed(now, End::Finished),
            Event::Closed(end) => self.on_closed(now, end),
            // The other events concern players only.
            _ => {}
        }
        self.events.tell(told);
    }

    /// Begins the match once all have agreed on tick 0.
    fn start(&mut self, now: Time) {
        if let Some(world) = &self.world {
            let (is_last, is_traced) = (self.options.matches == Some(1), self.trace.is_open());
            self.session.start(now, world.state(), (is_last, is_traced));
        }
    }

    fn prepare(&mut self, now: Time, roster: Roster) {
        let Self { options, session, .. } = self;
        let ServerOptions { rules, map, first, .. } = &options;
        match world_of(session.config(), &roster, rules.as_ref(), map.as_ref(), first.as_deref()) {
            Ok(world) => {
                self.session.prepared(now, &world.hash());
                (self.world, self.roster) = (Some(world), roster);
            }
            Err(error) => self.fail(error.into()),
        }
    }

    fn fail(&mut self, error: MatchError) {
        self.finished = Some(Err(error));
        self.session.leave();
    }

    fn begin_recording(&mut self, started: u64) {
        let Some(world) = &self.world else { return };
        let failed = match (self.options.record.as_deref(), self.options.streams) {
            (path, true) => self.recording.begin_streaming(path, world, &self.roster, started),
            (Some(path), false) => self.recording.begin(path, world, &self.roster, None, started),
            (None, false) => None,
        };
        self.events.tell(failed);
        // Clients create their files before tick 0.
        self.stream();
    }

    /// Gives the clients what has been recorded since.
    fn stream(&mut self) {
        if let (Some(bytes), Some(session)) = (self.recording.stream(), self.session.session_mut()) {
            session.append_history(bytes);
            bytes.clear();
        }
    }

    /// The last tick has run: the recording is whole, and clients may fetch its end.
    fn end_recording(&mut self) {
        let Ok(outcome) = MatchOutcome::finished(self.world.as_ref(), self.departed) else { return };
        let winner = self.world.as_ref().and_then(|world| world.state().winner());
        self.recording.end(outcome.as_str(), winner);
        self.stream();
        if let Some(session) = self.session.session_mut() {
            session.end_history();
        }
    }

    fn run(&mut self, now: Time, mut due: ServerTick) {
        let Some(world) = &mut self.world else { return };
        #[cfg(test)]
        assert!(self.breaks_at != Some(due.timed.inputs.tick), "as the test wants");
        self.lateness.add(due.late);
        take_out_foreign(world.state(), &mut due.timed, |player| {
            if let Some(session) = self.session.session_mut() {
                session.reject_command(player);
            }
        });
        let paused_before = world.state().pause();
        world.step(&due.timed.inputs);
        self.events.tell(MatchEvent::of_pauses(paused_before, world.state().pause()));
        let hash = world.hash();
        trace_tick(&mut self.trace, (now, &due), (world.state(), &hash));
        self.recording.record(&due.timed.inputs, &hash, world.state());
        self.session.report(now, &due.timed, &hash, world);
        if let Some(session) =
            self.session.session_mut().filter(|_| world.state().outcome() != Outcome::Running)
        {
            session.finish(&hash, world.state());
        }
        let is_last = |ticks| world.state().tick().0 >= ticks;
        if world.state().outcome() != Outcome::Running || self.session.config().ticks.is_some_and(is_last) {
            self.end_recording();
        } else {
            self.stream();
        }
    }

    fn on_closed(&mut self, now: Time, end: End) {
        if self.finished.is_some() {
            return;
        }
        self.lasted = self.begin.map_or(Duration::ZERO, |begin| now.since(begin));
        let outcome = match end {
            End::Finished => MatchOutcome::finished(self.world.as_ref(), self.departed),
            // A guest has left between the agreement on tick 0 and that tick.
            end if self.world.is_none() => Err(MatchError::of(end)),
            End::PeerLeft(player) => Ok(MatchOutcome::PeerLeft(player)),
            End::PeerLost(player) => Ok(MatchOutcome::PeerLost(player)),
            _ if self.begin.is_some() => Ok(MatchOutcome::Interrupted),
            end => Err(MatchError::of(end)),
        };
        if let Ok(outcome) = outcome {
            let winner = self.world.as_ref().and_then(|world| world.state().winner());
            self.events.tell(self.recording.finish(outcome.as_str(), winner));
            self.events.tell([MatchEvent::Ended(outcome)]);
        }
        if let (Some(begin), Some(world)) = (self.begin, &self.world) {
            let traffic = self.session.traffic();
            let sent = (traffic.bytes_sent, traffic.packets_sent);
            self.trace.summary([begin, now], world.state().tick().0, cpu_time_us(), sent);
        }
        self.finished = Some(outcome);
    }
}

/// Writes a tick that has run and led to `state`: its lateness, its commands and the hash.
fn trace_tick(trace: &mut Trace, (now, due): (Time, &ServerTick), (state, hash): (&GameState, &StateHash)) {
    let inputs = &due.timed.inputs;
    let (tick, late) = (inputs.tick, due.late);
    if late >= Stall::LEAST {
        let began = Time(now.0.saturating_sub(late.as_micros() as u64));
        trace.stall(tick, &Stall { due: began, ran: now, peer: PlayerId::NONE, cause: StallCause::Computer });
    }
    for (player, input) in inputs.iter() {
        let ran = input.commands.iter().filter(|command| command.is_given()).count() as u32;
        let next = state.players.commands[player.index()];
        for id in next.saturating_sub(ran)..next {
            trace.applied(&Applied { id, player, tick, at: now, shown: None });
        }
    }
    trace.hash(tick, hash.whole);
}

/// Removes commands for living units of other players. An honest client never sends one.
fn take_out_foreign(state: &GameState, timed: &mut TimedInputs, mut reject: impl FnMut(PlayerId)) {
    let inputs = timed.inputs.inputs.iter_mut().zip(&mut timed.given);
    for (player, (input, given)) in inputs.enumerate() {
        let player = PlayerId(player as u8);
        let is_foreign = |unit| state.row(unit).is_some_and(|row| state.units.owner[row] != player);
        let is_own = |command: &Command| {
            !command.selection().is_some_and(|units| units.iter().any(|&unit| is_foreign(unit)))
        };
        let mut of = input.commands.iter();
        given.retain(|_| of.next().is_some_and(is_own));
        input.commands.retain(|command| {
            let is_own = is_own(command);
            if !is_own {
                reject(player);
            }
            is_own
        });
    }
}
