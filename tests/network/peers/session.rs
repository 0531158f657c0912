//! One session of a peer: it asks for a seat, has it in a room, plays a match, and goes back into the room.

use std::net::SocketAddr;
use std::ops::{Deref, DerefMut};

use net::message::Choice;
use net::{
    ChatText, DueTick, Event, Guest, Host, Join, LinkStatus, Lockstep, MatchConfig, Room, Time, TooManyLines,
    Traffic, Transmit,
};
use sim::{PlayerId, StateHash};

/// A session that asks for its seat, has it in a room, and plays a match.
pub(crate) enum Session {
    Joining(Box<Join>),
    Host(Box<Host>),
    Guest(Box<Guest>),
    Playing(Box<Lockstep>),
    Between,
}

impl From<Join> for Session {
    fn from(join: Join) -> Self {
        Self::Joining(Box::new(join))
    }
}

impl From<Host> for Session {
    fn from(host: Host) -> Self {
        Self::Host(Box::new(host))
    }
}

impl Deref for Session {
    type Target = Lockstep;
    fn deref(&self) -> &Lockstep {
        self.playing().expect("it plays")
    }
}

impl DerefMut for Session {
    fn deref_mut(&mut self) -> &mut Lockstep {
        let Self::Playing(session) = self else { panic!("it does not play yet") };
        session
    }
}

macro_rules! each {
    ($session:expr, $inner:ident => $call:expr) => {
        match $session {
            Session::Joining($inner) => $call,
            Session::Host($inner) => $call,
            Session::Guest($inner) => $call,
            Session::Playing($inner) => $call,
            Session::Between => unreachable!(),
        }
    };
}

macro_rules! in_room {
    ($session:expr, $inner:ident => $call:expr, else $without:expr) => {
        match $session {
            Session::Host($inner) => $call,
            Session::Guest($inner) => $call,
            _ => $without,
        }
    };
}

/// The methods that all phases have.
impl Session {
    pub(crate) fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        each!(self, session => session.handle_datagram(now, from, bytes));
        if let Self::Joining(join) = self
            && let Some(seat) = join.take_seat()
        {
            *self = Self::Guest(Box::new(Guest::new(now, seat)));
        }
        self.start(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        each!(self, session => session.handle_timeout(now));
        self.start(now);
    }

    /// Begins the match once the room has agreed on tick 0.
    fn start(&mut self, now: Time) {
        if in_room!(self, room => room.is_agreed(), else false) {
            let started = match std::mem::replace(self, Self::Between) {
                Self::Host(host) => host.into_started(),
                Self::Guest(guest) => guest.into_started(),
                _ => unreachable!(),
            };
            *self = Self::Playing(Box::new(Lockstep::start(now, started)));
        }
    }

    /// Goes back into the room after a match.
    pub(crate) fn go_back(&mut self, now: Time) {
        if let Self::Playing(session) = std::mem::replace(self, Self::Between) {
            *self = match session.into_room(now) {
                Room::Host(host) => Self::Host(host),
                Room::Guest(guest) => Self::Guest(guest),
            };
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        each!(self, session => session.poll_timeout())
    }

    pub(crate) fn poll_transmit(&mut self) -> Option<Transmit> {
        each!(self, session => session.poll_transmit())
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        each!(self, session => session.poll_event())
    }

    pub(crate) fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        let Self::Playing(session) = self else { return None };
        session.poll_tick(now)
    }

    pub(crate) fn prepared(&mut self, now: Time, hash: &StateHash) {
        in_room!(self, room => room.prepared(now, hash), else ());
    }

    pub(crate) fn leave(&mut self) {
        each!(self, session => session.leave());
    }

    pub(crate) fn traffic(&self) -> &Traffic {
        each!(self, session => session.traffic())
    }

    pub(crate) fn delay_us(&self) -> Option<i64> {
        Some(self.playing()?.delay_us())
    }

    pub(crate) fn lost(&self) -> Option<(PlayerId, Time)> {
        self.playing()?.lost()
    }

    pub(crate) fn player(&self) -> PlayerId {
        match self {
            Self::Playing(session) => session.player(),
            _ => in_room!(self, room => room.player(), else PlayerId::NONE),
        }
    }

    pub(crate) fn config(&self) -> MatchConfig {
        match self {
            Self::Playing(session) => *session.config(),
            _ => in_room!(self, room => *room.config(), else panic!("it has no seat yet")),
        }
    }

    pub(crate) fn links(&self) -> Vec<LinkStatus> {
        match self {
            Self::Host(host) => host.links().collect(),
            Self::Guest(guest) => guest.links().collect(),
            Self::Playing(session) => session.links().collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        match self {
            Self::Playing(session) => session.submit_chat(now, text),
            _ => in_room!(self, room => room.submit_chat(now, text), else Ok(())),
        }
    }

    pub(crate) fn submit_choice(&mut self, now: Time, choice: Choice) {
        in_room!(self, room => room.submit_choice(now, choice), else ());
    }

    pub(crate) fn remove(&mut self, now: Time, player: PlayerId, bans: bool) {
        if let Self::Host(host) = self {
            host.remove(now, player, bans);
        }
    }

    pub(crate) fn want_rematch(&mut self, now: Time) {
        in_room!(self, room => room.want_rematch(now), else ());
    }

    pub(crate) fn playing(&self) -> Option<&Lockstep> {
        if let Self::Playing(session) = self { Some(session) } else { None }
    }
}
