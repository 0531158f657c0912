//! A server's session: its room until all are ready, then the match, and the room again.

use net::discovery::Beacon;
use net::{
    Authority, ClientStatus, DropCause, Entropy, Event, Expected, Host, MatchConfig, PlayerName,
    ServerConfig, ServerTick, Source, Time, TimedInputs, Transmit,
};
use sim::{GameState, StateHash, World};

/// A server's session.
pub struct Stage {
    config: ServerConfig,
    state: State,
}

enum State {
    Room(Box<Host>),
    Match(Box<Authority>),
    /// Neither: it is being replaced.
    Between,
}

/// Makes the same call on a room or a match.
macro_rules! each {
    ($stage:expr, $inner:ident => $call:expr) => {
        match $stage {
            State::Room($inner) => $call,
            State::Match($inner) => $call,
            State::Between => unreachable!(),
        }
    };
}

impl Stage {
    pub(super) fn new(now: Time, config: ServerConfig, entropy: impl Into<Entropy>) -> Self {
        let room = Host::serving(now, &config, entropy);
        Self { config, state: State::Room(Box::new(room)) }
    }

    pub(super) fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]) {
        each!(&mut self.state, it => it.handle_datagram(now, from, bytes));
    }

    /// Begins the match once its room has agreed on tick 0; `first` is the state before it. After the last match the
    /// room does not stay. `is_traced` says whether each datagram is an event.
    pub(super) fn start(&mut self, now: Time, first: &GameState, (is_last, is_traced): (bool, bool)) {
        if !matches!(&self.state, State::Room(room) if room.is_agreed()) {
            return;
        }
        if let State::Room(room) = core::mem::replace(&mut self.state, State::Between) {
            let config = ServerConfig { stays: self.config.stays && !is_last, ..self.config.clone() };
            let mut started = room.into_started();
            if is_traced {
                started.trace_datagrams();
            }
            let session = Authority::start(now, started, config, first);
            self.state = State::Match(Box::new(session));
        }
    }

    /// Goes back into the room after a match, if it stays.
    pub(super) fn into_room(self, now: Time) -> Option<Self> {
        match self.state {
            State::Match(session) if session.stays() => {
                let room = State::Room(Box::new(session.into_room(now)));
                Some(Self { config: self.config, state: room })
            }
            _ => None,
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        each!(&mut self.state, it => it.handle_timeout(now));
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        each!(&self.state, it => it.poll_timeout())
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        each!(&mut self.state, it => it.poll_transmit())
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        each!(&mut self.state, it => it.poll_event())
    }

    pub(super) fn expected(&self) -> Expected {
        each!(&self.state, it => it.expected())
    }

    pub(super) fn count_refused(&mut self, cause: DropCause, times: u64) {
        each!(&mut self.state, it => it.count_refused(cause, times));
    }

    pub(super) fn leave(&mut self) {
        each!(&mut self.state, it => it.leave());
    }

    /// Ends with the match that runs, or leaves the room.
    pub(super) fn drain(&mut self) {
        match &mut self.state {
            State::Match(session) => session.drain(),
            _ => self.leave(),
        }
    }

    /// Returns the room, while no match runs.
    pub(super) fn room_mut(&mut self) -> Option<&mut Host> {
        if let State::Room(room) = &mut self.state { Some(room) } else { None }
    }

    pub(super) fn prepared(&mut self, now: Time, hash: &StateHash) {
        if let Some(room) = self.room_mut() {
            room.prepared(now, hash);
        }
    }

    pub(super) fn poll_tick(&mut self, now: Time) -> Option<ServerTick> {
        self.session_mut()?.poll_tick(now)
    }

    /// Returns the match, once it has begun.
    pub(super) fn session_mut(&mut self) -> Option<&mut Authority> {
        if let State::Match(session) = &mut self.state { Some(session) } else { None }
    }

    pub(super) fn report(&mut self, now: Time, timed: &TimedInputs, hash: &StateHash, world: &World) {
        if let Some(session) = self.session_mut() {
            session.report(now, timed, (hash, world.state()), world.events());
        }
    }

    #[cfg(feature = "doors")]
    pub(super) fn forge(&mut self, to: core::net::SocketAddr, id: net::message::PacketId, body: &[u8]) {
        each!(&mut self.state, it => it.forge(to, id, body));
    }

    /// Whether a match is over, and its room stays.
    #[must_use]
    pub fn stays(&self) -> bool {
        matches!(&self.state, State::Match(session) if session.stays())
    }

    /// Returns the configuration of the match, or of the next one.
    #[must_use]
    pub fn config(&self) -> &MatchConfig {
        each!(&self.state, it => it.config())
    }

    /// Returns the traffic so far.
    #[must_use]
    pub fn traffic(&self) -> &net::Traffic {
        each!(&self.state, it => it.traffic())
    }

    /// Returns the room's name, if it has one.
    pub(super) fn name(&self) -> Option<PlayerName> {
        self.config.beacon.as_ref().map(|beacon| beacon.name)
    }

    /// Returns the room's announcement, while it is on the lists.
    #[must_use]
    pub fn beacon(&self) -> Option<&Beacon> {
        each!(&self.state, it => it.beacon())
    }

    /// Iterates over the clients, by seat in a match.
    pub fn clients(&self) -> impl Iterator<Item = ClientStatus> {
        let clients: Vec<ClientStatus> = match &self.state {
            State::Room(room) => room.guests().collect(),
            State::Match(session) => session.clients().collect(),
            State::Between => Vec::new(),
        };
        clients.into_iter()
    }
}
