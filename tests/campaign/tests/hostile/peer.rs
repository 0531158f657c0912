//! A session of any kind, or a whole match or server, and its caller.

use std::net::SocketAddr;

use super::damage::first_state;
use game::{Match, Node as _, Server, Session};
use net::message::PacketId;
use net::{
    Architecture, Authority, Event, Follower, Guest, Host, Join, Lockstep, ServerConfig, Source, Started,
    Time, TimedInputs, Transmit,
};
use sim::{Command, GameState, StateHash, Tick, TickInputs, World};

pub(crate) enum Node {
    Join(Box<Join>),
    Host(Box<Host>),
    Guest(Box<Guest>),
    Lockstep(Box<Lockstep>),
    Server(Box<Authority>),
    Client(Box<Follower>),
    Match(Box<Match>),
    MatchServer(Box<Server>),
    /// None of these: it is being replaced.
    Between,
}

/// Calls a method that all of them have.
macro_rules! each {
    ($node:expr, $session:ident => $call:expr) => {
        match $node {
            Node::Join($session) => $call,
            Node::Host($session) => $call,
            Node::Guest($session) => $call,
            Node::Lockstep($session) => $call,
            Node::Server($session) => $call,
            Node::Client($session) => $call,
            Node::Match($session) => $call,
            Node::MatchServer($session) => $call,
            Node::Between => unreachable!(),
        }
    };
}

/// Calls a method that all sessions have, and does nothing about whole matches.
macro_rules! session {
    ($node:expr, $session:ident => $call:expr) => {
        match $node {
            Node::Join($session) => $call,
            Node::Host($session) => $call,
            Node::Guest($session) => $call,
            Node::Lockstep($session) => $call,
            Node::Server($session) => $call,
            Node::Client($session) => $call,
            Node::Match(_) | Node::MatchServer(_) | Node::Between => Default::default(),
        }
    };
}

/// A session and its caller.
pub(crate) struct Peer {
    pub(crate) node: Node,
    /// The settings of a server, which its matches begin with.
    serves: ServerConfig,
    /// The world: it counts ticks, and its seed is what became of the inputs.
    pub(crate) state: GameState,
    /// Whether it builds a world when it is asked to.
    pub(crate) builds: bool,
    /// Whether it gives its state when a search asks for it.
    pub(crate) shows: bool,
    /// Whether nothing that it sends arrives.
    pub(crate) is_cut: bool,
    pub(crate) told: Vec<Event>,
}

/// Whether another match may follow this one in its room.
fn has_next(game: &Match) -> bool {
    let stays = match game.session() {
        Session::Lockstep(session) => session.stays(),
        Session::Client(session) => session.stays(),
        _ => false,
    };
    stays && game.is_over()
}

/// Runs a tick of such a world.
pub(crate) fn after(mut state: GameState, inputs: &TickInputs) -> GameState {
    let seed = inputs.inputs.iter().fold(state.globals.seed[0], |seed, input| {
        seed.rotate_left(5) ^ (input.commands.len() as u64 + u64::from(input.hero.walk.is_some()))
    });
    (state.globals.tick[0], state.globals.seed[0]) = (inputs.tick.plus(1), seed);
    state
}

impl Peer {
    pub(crate) fn new(node: Node, serves: ServerConfig) -> Self {
        Self {
            node,
            serves,
            state: first_state(),
            builds: true,
            shows: true,
            is_cut: false,
            told: Vec::new(),
        }
    }

    pub(crate) fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]) {
        each!(&mut self.node, session => session.handle_datagram(now, from, bytes));
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        each!(&self.node, session => session.poll_timeout())
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        each!(&mut self.node, session => session.poll_transmit())
    }

    pub(crate) fn has(&self, is_it: impl Fn(&Event) -> bool) -> bool {
        self.told.iter().any(is_it)
    }

    /// The world before tick 0 is built, whether anybody has asked for it or not.
    pub(crate) fn build(&mut self, now: Time) {
        self.state = first_state();
        let hash = self.state.hash();
        match &mut self.node {
            Node::Host(room) => room.prepared(now, &hash),
            Node::Guest(room) => room.prepared(now, &hash),
            _ => {}
        }
    }

    /// Continues with what follows a seat that was given, a tick 0 that is agreed, or a match after which all stay. Returns
    /// whether there was one of these.
    fn go_on(&mut self, now: Time) -> bool {
        let is_due = match &self.node {
            Node::Host(room) => room.is_agreed(),
            Node::Guest(room) => room.is_agreed(),
            Node::Lockstep(session) => session.stays(),
            Node::Server(session) => session.stays(),
            Node::Client(session) => session.stays(),
            Node::Match(game) => has_next(game),
            Node::MatchServer(server) => server.is_over() && server.session().stays(),
            _ => false,
        };
        if let Node::Join(join) = &mut self.node
            && let Some(seat) = join.take_seat()
        {
            self.node = Node::Guest(Box::new(Guest::new(now, seat)));
            return true;
        }
        if is_due {
            self.node = match std::mem::replace(&mut self.node, Node::Between) {
                Node::Host(room) => self.begin(now, room.into_started(), true),
                Node::Guest(room) => self.begin(now, room.into_started(), false),
                Node::Lockstep(session) => match session.into_room(now) {
                    net::Room::Host(room) => Node::Host(room),
                    net::Room::Guest(room) => Node::Guest(room),
                },
                Node::Server(session) => Node::Host(Box::new(session.into_room(now))),
                Node::Client(session) => Node::Guest(Box::new(session.into_room(now))),
                Node::Match(game) => Node::Match(Box::new(game.into_rematch(now).1.expect("all stay"))),
                Node::MatchServer(server) => {
                    Node::MatchServer(Box::new(server.into_rematch(now).1.expect("all stay")))
                }
                node => node,
            };
        }
        is_due
    }

    fn begin(&self, now: Time, started: Started, is_host: bool) -> Node {
        if started.config().architecture == Architecture::P2p {
            Node::Lockstep(Box::new(Lockstep::start(now, started)))
        } else if is_host {
            let session = Authority::start(now, started, self.serves.clone(), &self.state);
            Node::Server(Box::new(session))
        } else {
            Node::Client(Box::new(Follower::start(now, started, &self.state)))
        }
    }

    /// The real world, once there is one.
    pub(crate) fn world(&self) -> Option<&World> {
        match &self.node {
            Node::Match(game) => game.world(),
            Node::MatchServer(server) => server.world(),
            _ => None,
        }
    }

    /// Advances a whole match, which is its own caller.
    fn advance_real(&mut self, now: Time) {
        match &mut self.node {
            Node::Match(game) => {
                game.advance(now);
                while game.poll_event().is_some() {}
            }
            Node::MatchServer(server) => {
                server.advance(now);
                while server.poll_event().is_some() {}
            }
            _ => {}
        }
        self.go_on(now);
        self.state.globals.tick[0] = self.world().map_or(Tick(0), |world| world.state().tick());
    }

    /// Acts as the caller of a session until nothing more is due.
    pub(crate) fn advance(&mut self, now: Time) {
        if matches!(self.node, Node::Match(_) | Node::MatchServer(_)) {
            return self.advance_real(now);
        }
        loop {
            session!(&mut self.node, session => session.handle_timeout(now));
            while let Some(event) = session!(&mut self.node, session => session.poll_event()) {
                self.on_event(now, &event);
                self.told.push(event);
            }
            self.run_ticks(now);
            if !self.go_on(now) {
                return;
            }
        }
    }

    fn on_event(&mut self, now: Time, event: &Event) {
        match (event, &mut self.node) {
            (Event::Prepare { .. }, _) if self.builds => self.build(now),
            (Event::StateWanted { tick }, Node::Lockstep(session)) if self.shows => {
                session.provide_state(*tick, vec![1; 1500]);
            }
            (Event::Adopt { tick }, Node::Client(session)) => {
                if let Some(state) = session.snapshot(*tick) {
                    self.state = state.clone();
                }
            }
            _ => {}
        }
    }

    fn run_ticks(&mut self, now: Time) {
        if let Node::Client(session) = &mut self.node
            && let Some(tick) = session.poll_snapshot(now)
        {
            self.state = session.last_snapshot().expect("polled").state.clone();
            session.adopted(now, tick, false);
        }
        loop {
            let timed = match &mut self.node {
                Node::Lockstep(session) => session.poll_tick(now).map(|due| due.inputs.into()),
                Node::Server(session) => session.poll_tick(now).map(|due| due.timed),
                Node::Client(session) => session.poll_tick(now).map(|due| due.inputs.into()),
                _ => None,
            };
            let Some(timed): Option<TimedInputs> = timed else { return };
            let tick = timed.inputs.tick;
            self.step(&timed.inputs);
            let hash = self.state.hash();
            match &mut self.node {
                Node::Lockstep(session) => session.report(now, tick, &hash),
                Node::Server(session) => session.report(now, &timed, (&hash, &self.state), &[]),
                Node::Client(session) => session.report(now, tick, &hash),
                _ => {}
            }
        }
    }

    fn step(&mut self, inputs: &TickInputs) {
        self.state = after(self.state.clone(), inputs);
    }

    pub(crate) fn hash(&self) -> StateHash {
        self.world().map_or_else(|| self.state.hash(), World::hash)
    }

    pub(crate) fn order(&mut self, now: Time, command: Command) {
        // If the queue is full it is dropped.
        let _ = match &mut self.node {
            Node::Match(game) => {
                game.submit_command(now, command);
                Ok(())
            }
            Node::Lockstep(session) => session.submit_command(Tick(0), now, command),
            Node::Client(session) => session.submit_command(Tick(0), now, command),
            _ => Ok(()),
        };
    }

    /// Its session sends this in the reliable channel.
    pub(crate) fn forge(&mut self, to: SocketAddr, id: PacketId, body: &[u8]) {
        match &mut self.node {
            // It has no channel yet.
            Node::Join(_) | Node::Between => {}
            Node::Host(room) => room.forge(to, id, body),
            Node::Guest(room) => room.forge(to, id, body),
            Node::Lockstep(session) => session.forge(to, id, body),
            Node::Server(session) => session.forge(to, id, body),
            Node::Client(session) => session.forge(to, id, body),
            Node::Match(game) => game.forge(to, id, body),
            Node::MatchServer(server) => server.forge(to, id, body),
        }
    }

    pub(crate) fn leave(&mut self) {
        each!(&mut self.node, session => session.leave());
    }

    pub(crate) fn want_rematch(&mut self, now: Time) {
        match &mut self.node {
            Node::Host(room) => room.want_rematch(now),
            Node::Guest(room) => room.want_rematch(now),
            Node::Match(game) => game.want_rematch(now),
            _ => {}
        }
    }
}
