//! One peer's match, advanced by its caller.

mod ending;
mod preparing;
mod served;
mod thread;

use core::time::Duration;

pub use self::thread::{Control, Finished, MatchThread, Progress};

use super::backlog::EventBacklog;
use super::bundle::DesyncBundle;
use super::clock::MatchClock;
use super::controller::Controller;
use super::data::{announce, rules_and_map};
use super::deviation::deviation;
use super::history::History;
use super::interpolated::Interpolated;
use super::match_event::{MatchEvent, MatchEvents};
use super::measures::Measures;
use super::node::Node;
use super::options::MatchOptions;
use super::outcome::{MatchError, MatchOutcome};
use super::predictor::Predictor;
use super::recent::RecentTicks;
use super::recording::Recording;
use super::report::{DesyncReport, Party, Side};
use super::session::Session;
use super::stats::Latencies;
use net::discovery::RoomId;
use net::message::Choice;
use net::{
    AuthString, ChatText, CommandRun, DueTick, End, Equivocation, Event, Roster, Source, Time, Transmit,
};
use sim::{
    Command, GameState, HeroControl, Outcome, PLAYERS_MAX, PlayerId, StateHash, Tick, TickEvent, World,
};

/// Match between peers, as one of them plays it.
pub struct Match {
    session: Session,
    options: MatchOptions,
    roster: Roster,
    world: Option<World>,
    /// Hash of the world's state, unless the state was adopted.
    state_hash: Option<StateHash>,
    controller: Controller,
    begin: Time,
    words: Option<AuthString>,
    recording: Recording,
    recent: RecentTicks,
    measures: Measures,
    history: History,
    predictor: Option<Predictor>,
    interpolated: Option<Interpolated>,
    desync: Option<DesyncReport>,
    bundle: Option<DesyncBundle>,
    finished: Option<Result<MatchOutcome, MatchError>>,
    /// Length of the match, once it is over.
    lasted: Duration,
    /// Whether this player has claimed the win over a lost player.
    has_claimed: bool,
    events: MatchEvents,
    /// World events not yet taken; `None` unless the match is watched.
    backlog: Option<EventBacklog>,
    #[cfg(test)]
    pub(super) breaks_at: Option<Tick>,
}

/// Cause of a new confirmed state.
#[derive(Clone, Copy, Debug)]
pub enum Confirmed<'a> {
    /// A tick has run here.
    Tick(&'a DueTick),
    /// A server's state has been adopted.
    Snapshot {
        /// The last tick before that state.
        tick: Tick,
        /// The commands that have run since the state before.
        commands: &'a [CommandRun],
    },
}

impl Confirmed<'_> {
    /// The last tick before the confirmed state.
    #[must_use]
    pub const fn tick(&self) -> Tick {
        match self {
            Self::Tick(due) => due.inputs.tick,
            Self::Snapshot { tick, .. } => *tick,
        }
    }
}

/// View that is not the confirmed state.
#[derive(Clone, Copy)]
pub enum Seen<'a> {
    /// The confirmed state, and what this player has done since.
    Predicted(&'a Predictor),
    /// Between states of the server.
    Interpolated(&'a Interpolated),
}

impl<'a> Seen<'a> {
    /// Returns the state shown, without what corrections leave for a moment.
    #[must_use]
    pub fn state(self) -> &'a GameState {
        match self {
            Self::Predicted(predictor) => predictor.state(),
            Self::Interpolated(view) => view.state(),
        }
    }

    /// Writes the state shown into `picture`, with corrected units still blending.
    pub fn show(self, now: Time, picture: &mut GameState) {
        match self {
            Self::Predicted(predictor) => predictor.show(now, picture),
            Self::Interpolated(view) => view.show(now, picture),
        }
    }
}

impl Node for Match {
    fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]) {
        self.session.handle_datagram(now, from, bytes);
        self.start(now);
    }

    fn advance(&mut self, now: Time) {
        self.advance_with(now, |_, _| {});
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.session.poll_transmit()
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        self.events.take()
    }

    fn poll_timeout(&self) -> Option<Time> {
        // Until tick 0 is agreed, a controller does nothing.
        let controller = self.begin().and_then(|begin| self.controller.acts_at(begin));
        let view = self.interpolated.as_ref().and_then(|view| view.ahead(self.bridged()).next());
        let view = view.and_then(|tick| self.session.seen_at(tick, self.behind()));
        [self.session.poll_timeout(), controller, view].into_iter().flatten().min()
    }

    fn is_over(&self) -> bool {
        self.finished.is_some()
    }

    fn leave(&mut self) {
        self.session.leave();
    }
}

impl Match {
    /// Creates a match over this session.
    #[must_use]
    pub fn new(session: impl Into<Session>, mut options: MatchOptions) -> Self {
        let measures = Measures::new(options.trace.take().unwrap_or_default());
        let mut session = session.into();
        if let Some(room) = session.host_mut() {
            let config = *room.config();
            announce(room, &config, options.rules.as_ref(), options.map.as_ref());
        }
        Self {
            session,
            options,
            roster: Roster::new(),
            world: None,
            state_hash: None,
            controller: Controller::None,
            begin: Time::default(),
            words: None,
            recording: Recording::default(),
            recent: RecentTicks::default(),
            measures,
            history: History::default(),
            predictor: None,
            interpolated: None,
            desync: None,
            bundle: None,
            finished: None,
            lasted: Duration::ZERO,
            has_claimed: false,
            events: MatchEvents::default(),
            backlog: None,
            #[cfg(test)]
            breaks_at: None,
        }
    }

    /// Sets the clock, which other nodes may share.
    #[must_use]
    pub fn with_clock(mut self, clock: MatchClock) -> Self {
        self.options.clock = clock;
        self
    }

    /// Enables a backlog of world events for a viewer.
    pub(super) fn watched(self) -> Self {
        Self { backlog: Some(EventBacklog::default()), ..self }
    }

    /// Returns the backlog of events, if one is kept.
    pub(super) const fn backlog(&mut self) -> Option<&mut EventBacklog> {
        self.backlog.as_mut()
    }

    /// Like [`Node::advance`]; `ran` is called with what led to each confirmed state, and with its hash.
    pub fn advance_with(&mut self, now: Time, mut ran: impl FnMut(Confirmed<'_>, &StateHash)) {
        loop {
            self.session.handle_timeout(now);
            self.start(now);
            self.measures.opened(now, self.session.open_tick(), self.session.player());
            let mut is_idle = true;
            while let Some((bytes, is_whole)) = self.session.poll_recording() {
                is_idle = false;
                let failed = self.recording.append(&bytes, is_whole);
                self.events.tell(failed);
            }
            while let Some(event) = self.session.poll_event() {
                is_idle = false;
                self.on_event(now, event);
            }
            self.act(now);
            while let Some(due) = self.session.poll_tick(now) {
                is_idle = false;
                if let Some(hash) = self.run(now, &due) {
                    ran(Confirmed::Tick(&due), &hash);
                }
            }
            is_idle &= !self.adopt_newest(now, &mut ran);
            if is_idle {
                break;
            }
        }
        self.predict(now);
        self.interpolate(now);
        if let Some(world) = &self.world {
            let predicted = self.predictor.as_ref().map(Predictor::state);
            let drawn = predicted.or_else(|| self.interpolated.as_ref().map(Interpolated::state));
            let (confirmed, me) = (world.state(), self.session.player());
            self.measures.look(now, confirmed, drawn.unwrap_or(confirmed), me);
        }
    }

    /// Begins the match once all have agreed on tick 0.
    fn start(&mut self, now: Time) {
        if let Some(world) = &self.world {
            self.session.start(now, world.state(), self.measures.trace.is_open());
        }
    }

    /// Runs the predicted world up to the last committed input.
    fn predict(&mut self, now: Time) {
        let (Some(world), true) = (&self.world, self.options.prediction && self.finished.is_none()) else {
            return;
        };
        if self.begin == Time::default() {
            return;
        }
        let me = self.session.player();
        let mut predictor = self.predictor.take().unwrap_or_else(|| Predictor::new(world, me));
        self.session.predict(now, &mut predictor, world);
        self.predictor = Some(predictor);
    }

    /// Returns the predicted world, if there is one.
    #[must_use]
    pub const fn predictor(&self) -> Option<&Predictor> {
        self.predictor.as_ref()
    }

    /// Returns the latencies of the commands that have run here.
    #[must_use]
    pub const fn latencies(&self) -> &Latencies {
        &self.measures.latencies
    }

    /// Returns the view shown on screen if it is not the confirmed state: the predicted one, or with a server and without
    /// prediction the interpolated one.
    #[must_use]
    pub fn seen(&self) -> Option<Seen<'_>> {
        let predicted = self.predictor.as_ref().map(Seen::Predicted);
        predicted.or_else(|| self.interpolated.as_ref().map(Seen::Interpolated))
    }

    /// Submits a command of this player for the next open tick. Returns false if the queue is full.
    pub fn submit_command(&mut self, now: Time, command: Command) -> bool {
        self.give(now, None, Tick(0), command)
    }

    /// Sets this player's held hero controls.
    pub fn submit_hero(&mut self, hero: HeroControl) {
        self.session.submit_hero(Tick(0), hero);
    }

    /// Claims the win over the last other player, who is lost, instead of waiting. Has no effect while nobody is
    /// lost.
    pub fn claim(&mut self) {
        self.has_claimed = self.session.lost().is_some_and(|(player, _)| player != PlayerId::NONE);
        self.session.claim();
    }

    /// Waits on for the player who has spent its budget of stalls, or lets the match continue without it. Has no
    /// effect if there is none.
    pub fn decide_on_stall(&mut self, waits: bool) {
        self.session.decide_on_stall(waits);
    }

    /// Sends a chat line to all others. Returns false at the rate limit.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> bool {
        self.session.submit_chat(now, text).is_ok()
    }

    /// Sets the hero and the readiness of this player in the lobby.
    pub fn submit_choice(&mut self, now: Time, choice: Choice) {
        self.session.submit_choice(now, choice);
    }

    /// Gets ready for another match, in the room of the last one.
    pub fn want_rematch(&mut self, now: Time) {
        self.session.want_rematch(now);
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: std::net::SocketAddr, id: net::message::PacketId, body: &[u8]) {
        self.session.forge(to, id, body);
    }

    /// Signs a forged control of the hero in one tick for one peer only; see [`Session`].
    #[cfg(feature = "doors")]
    pub fn sign_another(&mut self, to: std::net::SocketAddr, tick: u16, hero: HeroControl) {
        self.session.sign_another(to, tick, hero);
    }

    /// Peeks at another player's input, if possible; see [`Session`].
    #[cfg(feature = "doors")]
    pub fn look_ahead(&mut self, now: Time) -> bool {
        self.session.look_ahead(now)
    }

    /// Returns the current world, once all players have joined.
    #[must_use]
    pub const fn world(&self) -> Option<&World> {
        self.world.as_ref()
    }

    /// Returns the players, once all have joined.
    #[must_use]
    pub const fn roster(&self) -> &Roster {
        &self.roster
    }

    /// Returns the authentication string of the table, once all seats are taken.
    #[must_use]
    pub const fn words(&self) -> Option<AuthString> {
        self.words
    }

    /// Returns the local time of tick 0, once that is agreed.
    #[must_use]
    pub fn begin(&self) -> Option<Time> {
        (self.begin != Time::default()).then_some(self.begin)
    }

    /// Returns the session.
    #[must_use]
    pub const fn session(&self) -> &Session {
        &self.session
    }

    fn on_event(&mut self, now: Time, event: Event) {
        let told = MatchEvent::of(&event);
        match event {
            Event::Vacated { .. } => self.world = None,
            Event::Lobby(lobby) => {
                let player = self.session.player();
                if let Some(&config) = self.session.config() {
                    let MatchOptions { rules, map, .. } = &self.options;
                    let (rules, map) = rules_and_map(&config, rules.as_ref(), map.as_ref());
                    self.events.tell([MatchEvent::Lobby { player, config, lobby, rules, map }]);
                }
            }
            Event::Setup(bytes) => self.receive_setup(&bytes),
            Event::Confirmed { player, .. } => {
                self.events.tell([MatchEvent::Confirmed(player)]);
                let token = self.session.token();
                let room = self.session.config().map(|config| RoomId(config.room_id));
                self.events.tell(token.zip(room).map(|(token, room)| MatchEvent::Token(token, room)));
            }
            Event::Prepare { roster } => match self.prepare(roster) {
                Ok(hash) => self.session.prepared(now, &hash),
                Err(error) => self.fail(error),
            },
            Event::Words(words) => self.words = Some(words),
            Event::Counting { begin } => {
                self.begin = begin;
                self.measures.begin(begin);
                self.begin_recording();
            }
            Event::Over => self.on_closed(now, End::Finished),
            Event::DelayMoved { tick, delay_us } => self.measures.delay_moved(tick, delay_us),
            Event::Datagram(datagram) => self.measures.trace.datagram(now, &datagram),
            Event::StateWanted { tick } => {
                let state = self.recent.state(tick).map(GameState::encode).unwrap_or_default();
                self.session.provide_state(tick, state);
            }
            Event::Desync { tick, states, equivocation } => {
                self.on_desync(tick, states, equivocation.as_deref())
            }
            Event::Departed { player, tick, is_lost } => self.recording.departed(player, tick, is_lost),
            Event::Adopt { tick } => self.adopt(tick),
            Event::Closed(end) => self.on_closed(now, end),
            // The other events are only reported.
            _ => {}
        }
        self.events.tell(told);
    }

    /// Adopts a relay's state. The ticks before it are unknown here, so recording stops.
    fn adopt(&mut self, tick: Tick) {
        let (Some(state), Some(world)) = (self.session.snapshot(tick), &mut self.world) else { return };
        if let Some((client, theirs)) =
            self.session.client().and_then(|client| Some((client, client.differed()?)))
        {
            let (me, agreed) = (self.session.player(), client.agreed());
            // A relay sends its state after the hash.
            let of_then = Some(state).filter(|state| state.tick() == theirs.0);
            // Only the first divergence is examined: later ones follow from it, and the server's state is
            // authoritative.
            let found = || deviation(world, &self.recent, me, agreed, theirs, of_then);
            self.desync = self.desync.take().or_else(found);
        }
        self.state_hash = None;
        if world.adopt(state).is_err() {
            return self.fail(MatchError::StartState);
        }
        self.measures.give_up_unshown();
        if self.recording.stop() {
            let why = "the ticks before the server's state are not known here";
            self.events.tell([MatchEvent::RecordingStopped(why.into())]);
        }
    }

    /// Ends a match that cannot be played, and notifies the others.
    fn fail(&mut self, error: MatchError) {
        match &error {
            MatchError::World(why) => self.session.reject(why.unplayable()),
            _ => self.session.leave(),
        }
        self.finished = Some(Err(error));
    }

    /// Gives the commands of a probe or a script that are due.
    fn act(&mut self, now: Time) {
        if self.begin == Time::default() {
            return;
        }
        while let Some(world) = &self.world
            && let Some((due, command)) = self.controller.act(now, self.begin, world)
        {
            self.give(now, Some(due), Tick(0), command);
        }
    }

    /// Submits a command, scheduled for the instant `due` if given.
    fn give(&mut self, now: Time, due: Option<Time>, wish: Tick, mut command: Command) -> bool {
        // A command to no units is ignored.
        let is_none = command.selection_mut().is_some_and(|units| units.is_empty());
        let is_taken = self.session.submit_command(wish, due.unwrap_or(now), command).is_ok();
        if is_taken && !is_none {
            self.measures.given(now, due, (wish, self.session.open_tick()), self.session.player());
        }
        is_taken
    }

    /// Runs a tick. Returns the hash after it, unless the match fails.
    fn run(&mut self, now: Time, due: &DueTick) -> Option<StateHash> {
        let world = self.world.as_mut().expect("prepared");
        let tick = due.inputs.tick;
        #[cfg(test)]
        assert!(self.breaks_at != Some(tick), "as the test wants");
        let paused_before = world.state().pause();
        let mut hash = match (&self.options.steps, self.state_hash.take()) {
            (Some(steps), Some(before)) => steps.run(world, &before, &due.inputs),
            _ => {
                world.step(&due.inputs);
                world.hash()
            }
        };
        if let Some(backlog) = &mut self.backlog {
            backlog.add(tick, world.events());
        }
        if let Some(inject) = self.options.inject.take_if(|inject| inject.tick == tick) {
            if let Err(error) = world.disturb(&inject.field) {
                self.fail(MatchError::Inject { field: inject.field, error });
                return None;
            }
            hash = world.hash();
        }
        self.state_hash = Some(hash);
        self.events.tell(MatchEvent::of_pauses(paused_before, world.state().pause()));
        let events = world.events().iter().map(|&event| TickEvent { tick, event });
        self.history.observe(world, events);
        self.recent.keep(&due.inputs, world.state());
        self.recording.record(&due.inputs, &hash, world.state());
        let is_over = world.state().outcome() != Outcome::Running;
        self.measures.ran(now, due, (world.state(), &hash), self.session.player());
        self.session.report(now, tick, &hash);
        if is_over {
            self.session.finish();
        } else {
            self.think(now);
        }
        self.events.tell(self.recording.failure());
        Some(hash)
    }

    /// Lets a bot decide after the tick that ran.
    fn think(&mut self, now: Time) {
        let world = self.world.as_ref().expect("prepared");
        let Some((wish, wants)) = self.controller.think(world) else { return };
        // Set every tick, so that controls a bot no longer holds are released.
        self.session.submit_hero(wish, wants.hero);
        for command in wants.commands {
            self.give(now, None, wish, command);
        }
    }

    fn on_desync(
        &mut self,
        tick: Option<Tick>,
        theirs: Vec<(PlayerId, Vec<u8>)>,
        equivocation: Option<&Equivocation>,
    ) {
        let (Some(tick), Some(world)) = (tick, &self.world) else { return };
        let me = self.session.player();
        let decoded: Vec<_> = theirs
            .iter()
            .map(|(player, state)| (*player, GameState::decode_to_compare(state).ok()))
            .collect();
        let others = decoded.iter().map(|(player, state)| (Party::Seat(*player), state.as_ref()));
        let own: Side<'_> = (Party::Seat(me), self.recent.state(tick));
        let sides = core::iter::once(own).chain(others).take(PLAYERS_MAX).collect();
        let report = DesyncReport::new(tick, world.setup().seed, sides);
        self.desync = Some(DesyncReport { equivocation: equivocation.cloned(), ..report });
        let before = tick.0.checked_sub(1).map(|before| self.recent.state(Tick(before)));
        let inputs = self.recent.inputs(tick).and_then(|bytes| postcard::from_bytes(bytes).ok());
        // A tick that is no longer kept cannot be run again.
        if let (None | Some(Some(_)), Some(inputs)) = (before, inputs) {
            let own = (me, own.1.map(GameState::encode).unwrap_or_default());
            // The bundle contains states only.
            let theirs = theirs.into_iter().zip(&decoded);
            let theirs = theirs.map(|((player, bytes), (_, state))| {
                (player, if state.is_some() { bytes } else { Vec::new() })
            });
            let after = core::iter::once(own).chain(theirs).take(PLAYERS_MAX).collect();
            self.bundle = Some(DesyncBundle::new(world.setup(), tick, before.flatten(), inputs, after));
        }
    }
}
