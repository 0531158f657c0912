//! The session of a match, of any kind, behind one interface for [`super::Match`].

use arrayvec::ArrayVec;
use core::net::IpAddr;
use core::time::Duration;

use super::predictor::Predictor;
use net::discovery::Beacon;
use net::message::Choice;
use net::{
    Architecture, ChatText, ClientSession, DropCause, DueTick, Event, Expected, Join, LinkStatus,
    LockstepSession, MatchConfig, Source, Time, TooManyCommands, TooManyLines, Traffic, Transmit, WaitsFor,
};
use sim::{Command, GameState, HeroControl, PLAYERS_MAX, PlayerId, StateHash, Tick, World};

/// Session of a match.
#[expect(clippy::large_enum_variant, reason = "there is one per match")]
pub enum Session {
    /// The player is asking for a seat.
    Joining(Join),
    /// Every peer runs the world as soon as it has all inputs.
    Lockstep(LockstepSession),
    /// A server runs the world, and sends the results.
    Client(ClientSession),
}

impl From<LockstepSession> for Session {
    fn from(session: LockstepSession) -> Self {
        Self::Lockstep(session)
    }
}

impl From<Join> for Session {
    fn from(join: Join) -> Self {
        Self::Joining(join)
    }
}

/// Makes the same call on any session.
macro_rules! each {
    ($session:expr, $inner:ident => $call:expr) => {
        match $session {
            Session::Joining($inner) => $call,
            Session::Lockstep($inner) => $call,
            Session::Client($inner) => $call,
        }
    };
}

/// Makes the same call on a session that has a seat, and returns `$without` if it is still joining.
macro_rules! seated {
    ($session:expr, $inner:ident => $call:expr, else $without:expr) => {
        match $session {
            Session::Joining(_) => $without,
            Session::Lockstep($inner) => $call,
            Session::Client($inner) => $call,
        }
    };
}

impl Session {
    pub(super) fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        each!(self, session => session.handle_datagram(now, from, bytes));
        let Self::Joining(join) = self else { return };
        let Some(seat) = join.take_seat() else { return };
        *self = match seat.architecture() {
            Architecture::P2p => Self::Lockstep(LockstepSession::seated(now, seat)),
            Architecture::ClientServer | Architecture::Relay => {
                Self::Client(ClientSession::seated(now, seat))
            }
        };
    }

    pub(super) fn expected(&self) -> Expected {
        each!(self, session => session.expected())
    }

    pub(super) fn count_refused(&mut self, cause: DropCause, times: u64) {
        each!(self, session => session.count_refused(cause, times));
    }

    /// Prepares the session for a rematch that all want: a client joins its server again.
    pub(super) fn again(&mut self) {
        if let Self::Client(client) = self {
            *self = Self::Joining(client.again());
        }
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
        seated!(self, session => session.poll_tick(now), else None)
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        each!(self, session => session.poll_timeout())
    }

    pub(super) fn prepared(&mut self, now: Time, hash: &StateHash, state: &GameState) {
        match self {
            Self::Joining(_) => {}
            Self::Lockstep(session) => session.prepared(now, hash),
            Self::Client(session) => session.prepared(now, hash, state),
        }
    }

    pub(super) fn submit_command(
        &mut self,
        wish: Tick,
        given: Time,
        command: Command,
    ) -> Result<(), TooManyCommands> {
        seated!(self, session => session.submit_command(wish, given, command), else Ok(()))
    }

    /// Returns the first tick whose input is not committed.
    pub(super) fn open_tick(&self) -> Tick {
        seated!(self, session => session.open_tick(), else Tick(0))
    }

    pub(super) fn submit_hero(&mut self, wish: Tick, hero: HeroControl) {
        seated!(self, session => session.submit_hero(wish, hero), else ());
    }

    pub(super) fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        seated!(self, session => session.report(now, tick, hash), else ());
    }

    pub(super) fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        if let Self::Lockstep(session) = self {
            session.set_own_addresses(addresses);
        }
    }

    pub(super) fn provide_state(&mut self, tick: Tick, state: Vec<u8>) {
        if let Self::Lockstep(session) = self {
            session.provide_state(tick, state);
        }
    }

    pub(super) fn finish(&mut self) {
        seated!(self, session => session.finish(), else ());
    }

    /// Claims the win over the last other player, who is lost.
    pub(super) fn claim(&mut self) {
        seated!(self, session => session.claim(), else ());
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
        seated!(self, session => session.submit_choice(now, choice), else ());
    }

    /// Removes a guest from the lobby. In a client-server or relayed match only the server can.
    pub(super) fn remove(&mut self, now: Time, player: PlayerId) {
        if let Self::Lockstep(session) = self {
            session.remove(now, player);
        }
    }

    /// Whether the match is over and the session stays for a rematch vote.
    pub(super) const fn stays(&self) -> bool {
        seated!(self, session => session.stays(), else false)
    }

    /// Votes for a rematch.
    pub(super) fn want_rematch(&mut self, now: Time) {
        seated!(self, session => session.want_rematch(now), else ());
    }

    pub(super) fn leave(&mut self) {
        each!(self, session => session.leave());
    }

    /// Returns the server's state whose next tick is `tick`, if it must be adopted.
    pub(super) fn snapshot(&self, tick: Tick) -> Option<&GameState> {
        self.client()?.snapshot(tick)
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
    pub(super) const fn is_served(&self) -> bool {
        matches!(self, Self::Client(client) if matches!(client.config().architecture, Architecture::ClientServer))
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
        seated!(self, session => {
            let (horizon, own) = session.unconfirmed();
            predictor.advance(now, confirmed, own, horizon);
        }, else ());
    }

    /// Returns this player's id; valid once confirmed.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        seated!(self, session => session.player(), else PlayerId(0))
    }

    /// Returns the configuration of the match; known once confirmed.
    #[must_use]
    pub const fn config(&self) -> Option<&MatchConfig> {
        match self {
            Self::Joining(_) => None,
            Self::Lockstep(session) => Some(session.config()),
            Self::Client(session) => Some(session.config()),
        }
    }

    /// Returns the traffic on the links so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        each!(self, session => session.traffic())
    }

    /// Iterates over the links to peers that are still in the match, in the order in which they joined.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        let links: ArrayVec<LinkStatus, PLAYERS_MAX> = match self {
            Self::Joining(_) => ArrayVec::new(),
            Self::Lockstep(session) => session.links().collect(),
            Self::Client(session) => core::iter::once(session.link()).collect(),
        };
        links.into_iter()
    }

    /// Returns the time before its tick at which an input is committed, in microseconds; known once tick 0 is agreed.
    #[must_use]
    pub fn delay_us(&self) -> Option<i64> {
        match self {
            Self::Joining(_) => None,
            Self::Lockstep(session) => session.delay_us(),
            Self::Client(session) => Some(session.delay_us()),
        }
    }

    /// Returns the player for whom the match waits, because the next tick is due and lacks that player's input; or a
    /// silent server.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        seated!(self, session => session.waits_for(), else None)
    }

    /// Returns the lost player for whom the match waits, and when that player was last heard; [`PlayerId::NONE`] for
    /// a server.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        seated!(self, session => session.lost(), else None)
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
        if let Self::Lockstep(session) = self { session.beacon() } else { None }
    }

    /// Returns the client session, if a server runs the match.
    #[must_use]
    pub const fn client(&self) -> Option<&ClientSession> {
        if let Self::Client(session) = self { Some(session) } else { None }
    }
}
