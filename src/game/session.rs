//! The session of a match, of any kind, behind one interface for [`super::Match`].

use arrayvec::ArrayVec;
use core::time::Duration;

use super::predictor::Predictor;
use net::discovery::Beacon;
use net::message::{Choice, Unplayable};
use net::{
    Architecture, ChatText, DropCause, DueTick, Event, Expected, Follower, Guest, Host, Join, LinkStatus,
    Lockstep, MatchConfig, Room, Snapshot, Source, Started, Time, Token, TooManyCommands, TooManyLines,
    Traffic, Transmit, WaitsFor,
};
use sim::{Command, GameState, HeroControl, PLAYERS_MAX, PlayerId, StateHash, Tick, World};

/// Session of a match: from an address to a room, from there to the match, and back into the room.
pub enum Session {
    /// The player is asking for a seat.
    Joining(Box<Join>),
    /// The room of a player who hosts.
    Host(Box<Host>),
    /// The room of a guest, or of a server's client.
    Guest(Box<Guest>),
    /// Every peer runs the world as soon as it has all inputs.
    Lockstep(Box<Lockstep>),
    /// A server runs the world, and sends the results.
    Client(Box<Follower>),
    /// None of these: it is being replaced.
    Between,
}

impl From<Host> for Session {
    fn from(host: Host) -> Self {
        Self::Host(Box::new(host))
    }
}

impl From<Join> for Session {
    fn from(join: Join) -> Self {
        Self::Joining(Box::new(join))
    }
}

impl From<Room> for Session {
    fn from(room: Room) -> Self {
        match room {
            Room::Host(host) => Self::Host(host),
            Room::Guest(guest) => Self::Guest(guest),
        }
    }
}

/// Makes the same call on any session.
macro_rules! each {
    ($session:expr, $inner:ident => $call:expr) => {
        match $session {
            Session::Joining($inner) => $call,
            Session::Host($inner) => $call,
            Session::Guest($inner) => $call,
            Session::Lockstep($inner) => $call,
            Session::Client($inner) => $call,
            Session::Between => unreachable!(),
        }
    };
}

/// Makes the same call on a session that has a seat, and returns `$without` if it is still joining.
macro_rules! seated {
    ($session:expr, $inner:ident => $call:expr, else $without:expr) => {
        match $session {
            Session::Host($inner) => $call,
            Session::Guest($inner) => $call,
            Session::Lockstep($inner) => $call,
            Session::Client($inner) => $call,
            Session::Joining(_) | Session::Between => $without,
        }
    };
}

/// Makes the same call on a room, and returns `$without` if there is none.
macro_rules! in_room {
    ($session:expr, $inner:ident => $call:expr, else $without:expr) => {
        match $session {
            Session::Host($inner) => $call,
            Session::Guest($inner) => $call,
            _ => $without,
        }
    };
}

/// Makes the same call on a match, and returns `$without` if it has not begun.
macro_rules! playing {
    ($session:expr, $inner:ident => $call:expr, else $without:expr) => {
        match $session {
            Session::Lockstep($inner) => $call,
            Session::Client($inner) => $call,
            _ => $without,
        }
    };
}

impl Session {
    pub(super) fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        each!(self, session => session.handle_datagram(now, from, bytes));
        if let Self::Joining(join) = self
            && let Some(seat) = join.take_seat()
        {
            *self = Self::Guest(Box::new(Guest::new(now, seat)));
        }
    }

    /// Begins the match once its room has agreed on tick 0; `first` is the state before it. `is_traced` says whether
    /// each datagram is an event.
    pub(super) fn start(&mut self, now: Time, first: &GameState, is_traced: bool) {
        if in_room!(self, room => !room.is_agreed(), else true) {
            return;
        }
        let mut started = match core::mem::replace(self, Self::Between) {
            Self::Host(host) => host.into_started(),
            Self::Guest(guest) => guest.into_started(),
            _ => unreachable!("a room"),
        };
        if is_traced {
            started.trace_datagrams();
        }
        *self = Self::of_match(now, started, first);
    }

    fn of_match(now: Time, started: Started, first: &GameState) -> Self {
        match started.config().architecture {
            Architecture::P2p => Self::Lockstep(Box::new(Lockstep::start(now, started))),
            Architecture::ClientServer | Architecture::Relay => {
                Self::Client(Box::new(Follower::start(now, started, first)))
            }
        }
    }

    /// Goes back into the room after a match at whose end all have stayed; `None` after any other.
    pub(super) fn into_room(self, now: Time) -> Option<Self> {
        match self {
            Self::Lockstep(session) if session.stays() => Some(session.into_room(now).into()),
            Self::Client(session) if session.stays() => Some(Self::Guest(Box::new(session.into_room(now)))),
            _ => None,
        }
    }

    pub(super) fn expected(&self) -> Expected {
        each!(self, session => session.expected())
    }

    pub(super) fn count_refused(&mut self, cause: DropCause, times: u64) {
        each!(self, session => session.count_refused(cause, times));
    }

    #[cfg(feature = "doors")]
    pub(super) fn forge(&mut self, to: core::net::SocketAddr, id: net::message::PacketId, body: &[u8]) {
        seated!(self, session => session.forge(to, id, body), else ());
    }

    #[cfg(feature = "doors")]
    pub(super) fn sign_another(&mut self, to: core::net::SocketAddr, tick: u16, hero: HeroControl) {
        if let Self::Lockstep(session) = self {
            session.sign_another(to, tick, hero);
        }
    }

    /// Gives a command chosen after another player's input for the same tick, if that is known. Returns whether it was.
    #[cfg(feature = "doors")]
    pub(super) fn look_ahead(&mut self, now: Time) -> bool {
        let Self::Lockstep(session) = self else { return false };
        session.commit_late();
        let tick = session.open_tick();
        let others = (0..PLAYERS_MAX as u8).map(PlayerId).filter(|&player| player != session.player());
        let has_seen = { others }.any(|player| session.peek(player, tick).is_some());
        has_seen && session.submit_command(tick, now, Command::Banner).is_ok()
    }

    /// Returns the packet protection of the links.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn protections(&self) -> ArrayVec<net::PacketProtection, { PLAYERS_MAX - 1 }> {
        seated!(self, session => session.protections().cloned().collect(), else ArrayVec::new())
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        each!(self, session => session.handle_timeout(now));
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        each!(self, session => session.poll_transmit())
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        each!(self, session => session.poll_event())
    }

    pub(super) fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        playing!(self, session => session.poll_tick(now), else None)
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        each!(self, session => session.poll_timeout())
    }

    /// Reports that the world before tick 0 is built, with its hash.
    pub(super) fn prepared(&mut self, now: Time, hash: &StateHash) {
        in_room!(self, room => room.prepared(now, hash), else ());
    }

    pub(super) fn submit_command(
        &mut self,
        wish: Tick,
        given: Time,
        command: Command,
    ) -> Result<(), TooManyCommands> {
        playing!(self, session => session.submit_command(wish, given, command), else Ok(()))
    }

    /// Returns the first tick whose input is not committed.
    pub(super) fn open_tick(&self) -> Tick {
        playing!(self, session => session.open_tick(), else Tick(0))
    }

    pub(super) fn submit_hero(&mut self, wish: Tick, hero: HeroControl) {
        playing!(self, session => session.submit_hero(wish, hero), else ());
    }

    /// Asks the server for its recording.
    pub(super) fn fetch_recording(&mut self) {
        if let Self::Client(session) = self {
            session.fetch_recording();
        }
    }

    /// Returns the next bytes of the server's recording, and whether it ends with them.
    pub(super) fn poll_recording(&mut self) -> Option<(Vec<u8>, bool)> {
        let Self::Client(session) = self else { return None };
        let bytes = session.poll_recording()?;
        Some((bytes, session.fetched().is_some_and(|(_, _, is_whole)| is_whole)))
    }

    /// Returns the bytes of the server's recording that have arrived, and those that there are so far; `None` once all have.
    pub(super) fn fetching(&self) -> Option<(u32, u32)> {
        let (has, of, is_whole) = self.client()?.fetched()?;
        (!is_whole).then_some((has, of))
    }

    pub(super) fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        playing!(self, session => session.report(now, tick, hash), else ());
    }

    /// Returns the room, if this player hosts it and no match runs.
    pub(super) fn host_mut(&mut self) -> Option<&mut Host> {
        if let Self::Host(host) = self { Some(host) } else { None }
    }

    pub(super) fn provide_state(&mut self, tick: Tick, state: Vec<u8>) {
        if let Self::Lockstep(session) = self {
            session.provide_state(tick, state);
        }
    }

    pub(super) fn finish(&mut self) {
        playing!(self, session => session.finish(), else ());
    }

    /// Claims the win over the last other player, who is lost.
    pub(super) fn claim(&mut self) {
        playing!(self, session => session.claim(), else ());
    }

    /// Decides on [`Self::held_up`]: whether the match waits on for that player or continues without it.
    pub(super) fn decide_on_stall(&mut self, waits: bool) {
        match self {
            Self::Lockstep(session) if waits => session.wait_longer(),
            Self::Lockstep(session) => session.go_on_without(),
            _ => {}
        }
    }

    /// Sends a chat line to all others.
    pub(super) fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        seated!(self, session => session.submit_chat(now, text), else Ok(()))
    }

    /// Sets the hero and the readiness of this player in the lobby.
    pub(super) fn submit_choice(&mut self, now: Time, choice: Choice) {
        in_room!(self, room => room.submit_choice(now, choice), else ());
    }

    /// Gets ready for another match, in the room of the last one.
    pub(super) fn want_rematch(&mut self, now: Time) {
        in_room!(self, room => room.want_rematch(now), else ());
    }

    /// Leaves the room of a host because this player cannot play by its rules or on its map.
    pub(super) fn reject(&mut self, reason: Unplayable) {
        match self {
            Self::Guest(guest) => guest.reject(reason),
            _ => self.leave(),
        }
    }

    pub(super) fn leave(&mut self) {
        each!(self, session => session.leave());
    }

    /// Returns the server's state whose next tick is `tick`, while it is kept.
    pub(super) fn snapshot(&self, tick: Tick) -> Option<&GameState> {
        self.client()?.snapshot(tick)
    }

    /// Takes the newest state of a server that runs the world. Returns its tick.
    pub(super) fn poll_snapshot(&mut self, now: Time) -> Option<Tick> {
        if let Self::Client(session) = self { session.poll_snapshot(now) } else { None }
    }

    /// Returns the state that was taken last, and what happened before it.
    pub(super) fn last_snapshot(&self) -> Option<Snapshot<'_>> {
        self.client()?.last_snapshot()
    }

    /// Reports that the state of the snapshot of `tick` is this player's, and whether the match has ended with it.
    pub(super) fn adopted(&mut self, now: Time, tick: Tick, is_over: bool) {
        if let Self::Client(session) = self {
            session.adopted(now, tick, is_over);
        }
    }

    /// Counts a state that was no longer the server's.
    pub(super) fn count_differing(&mut self) {
        if let Self::Client(session) = self {
            session.count_differing();
        }
    }

    /// Whether the seat was taken back while the match ran.
    pub(super) fn has_come_back(&self) -> bool {
        matches!(self, Self::Client(session) if session.has_come_back())
    }

    /// Returns the player who most recently left or was lost in a match with a server; the flag is true if it was
    /// lost.
    pub(super) fn departed(&self) -> Option<(PlayerId, bool)> {
        self.client()?.departed()
    }

    /// Whether a server runs the world and sends the results.
    pub(super) fn is_served(&self) -> bool {
        self.config().is_some_and(|config| config.architecture == Architecture::ClientServer)
    }

    /// Returns the time at which a view that lags `behind` the server's ticks, for an even pace, reaches `tick`.
    /// `None` without a server.
    pub(super) fn seen_at(&self, tick: Tick, behind: Duration) -> Option<Time> {
        let Self::Client(client) = self else { return None };
        let one_way = Duration::from_micros(client.link().rtt_us.unwrap_or(0) / 2);
        self.is_served().then(|| client.server_time_of(tick).plus(one_way + behind))
    }

    /// Advances the prediction, using the player's own inputs that are committed and not confirmed.
    pub(super) fn predict(&self, now: Time, predictor: &mut Predictor, confirmed: &World) {
        playing!(self, session => {
            let (horizon, own) = session.unconfirmed();
            predictor.advance(now, confirmed, own, horizon);
        }, else ());
    }

    /// Returns this player's id; valid once confirmed.
    #[must_use]
    pub fn player(&self) -> PlayerId {
        seated!(self, session => session.player(), else PlayerId(0))
    }

    /// Returns the configuration of the match; known once confirmed.
    #[must_use]
    pub fn config(&self) -> Option<&MatchConfig> {
        seated!(self, session => Some(session.config()), else None)
    }

    /// Returns the token that takes the seat back from a server.
    #[must_use]
    pub(super) const fn token(&self) -> Option<Token> {
        if let Self::Guest(guest) = self { guest.token() } else { None }
    }

    /// Returns the traffic on the links so far.
    #[must_use]
    pub fn traffic(&self) -> &Traffic {
        each!(self, session => session.traffic())
    }

    /// Iterates over the links to peers that are still in the match, in the order in which they joined.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        let links: ArrayVec<LinkStatus, PLAYERS_MAX> = match self {
            Self::Host(host) => host.links().collect(),
            Self::Guest(guest) => guest.links().collect(),
            Self::Lockstep(session) => session.links().collect(),
            Self::Client(session) => core::iter::once(session.link()).collect(),
            Self::Joining(_) | Self::Between => ArrayVec::new(),
        };
        links.into_iter()
    }

    /// Returns the time before its tick at which an input is committed, in microseconds; known once tick 0 is agreed.
    #[must_use]
    pub fn delay_us(&self) -> Option<i64> {
        playing!(self, session => Some(session.delay_us()), else None)
    }

    /// Returns the player for whom the match waits, because the next tick is due and lacks that player's input; or a
    /// silent server.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        playing!(self, session => session.waits_for(), else None)
    }

    /// Returns the lost player for whom the match waits, and when that player was last heard; [`PlayerId::NONE`] for
    /// a server.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        playing!(self, session => session.lost(), else None)
    }

    /// Returns the player of three or more who has spent its budget of stalls, and when the match continues without
    /// it unless the user waits on.
    #[must_use]
    pub fn held_up(&self) -> Option<(PlayerId, Time)> {
        if let Self::Lockstep(session) = self { session.held_up() } else { None }
    }

    /// Returns the room's beacon, while the room is open.
    #[must_use]
    pub fn beacon(&self) -> Option<&Beacon> {
        match self {
            Self::Host(host) => host.beacon(),
            Self::Lockstep(session) => session.beacon(),
            _ => None,
        }
    }

    /// Returns the client session, while ticks run that a server decides.
    #[must_use]
    pub const fn client(&self) -> Option<&Follower> {
        if let Self::Client(session) = self { Some(session) } else { None }
    }
}
