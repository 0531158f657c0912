//! The session of a match, of either kind: the rest of [`super::Match`] does not distinguish them.

use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use super::predictor::Predictor;
use crate::net::discovery::Beacon;
use crate::net::message::PacketId;
use crate::net::{
    Architecture, ChatText, ClientSession, DueTick, Event, LinkStatus, LockstepSession, MatchConfig, Pause,
    Time, TooManyCommands, TooManyLines, Traffic, Transmit,
};
use crate::sim::{Command, GameState, HeroControl, PLAYERS_MAX, PlayerId, StateHash, Tick, World};

/// The session of a match. Every session starts its handshake as a lockstep guest; if a server answers, it
/// continues as a client.
#[expect(clippy::large_enum_variant, reason = "there is one per match")]
pub enum Session {
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

/// Makes the same call on either kind of session.
macro_rules! either {
    ($session:expr, $inner:ident => $call:expr) => {
        match $session {
            Session::Lockstep($inner) => $call,
            Session::Client($inner) => $call,
        }
    };
}

impl Session {
    pub(super) fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        either!(self, session => session.handle_datagram(now, from, bytes));
        let Self::Lockstep(guest) = self else { return };
        let Some(served) = guest.served() else { return };
        let client = ClientSession::new(now, guest.settings().clone(), served, *guest.traffic());
        // An inconsistent confirmation from a server counts as no answer.
        if let Some(client) = client {
            *self = Self::Client(client);
        }
    }

    pub(super) fn forge(&mut self, to: SocketAddr, id: PacketId, body: &[u8]) {
        either!(self, session => session.forge(to, id, body));
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        either!(self, session => session.handle_timeout(now));
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = either!(self, session => session.poll_transmit());
        // Only once it has output everything.
        if let (None, Self::Client(client)) = (&transmit, &*self)
            && client.is_rematch()
        {
            *self = Self::Lockstep(client.again());
        }
        transmit
    }

    pub(super) fn poll_event(&mut self) -> Option<Event> {
        either!(self, session => session.poll_event())
    }

    pub(super) fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        either!(self, session => session.poll_tick(now))
    }

    pub(super) fn poll_timeout(&self) -> Option<Time> {
        either!(self, session => session.poll_timeout())
    }

    pub(super) fn prepared(&mut self, now: Time, hash: &StateHash, state: &GameState) {
        match self {
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
        either!(self, session => session.submit_command(wish, given, command))
    }

    /// The first tick whose input is not committed.
    pub(super) fn open_tick(&self) -> Tick {
        either!(self, session => session.open_tick())
    }

    pub(super) fn submit_hero(&mut self, wish: Tick, hero: HeroControl) {
        either!(self, session => session.submit_hero(wish, hero));
    }

    pub(super) fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        either!(self, session => session.report(now, tick, hash));
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
        either!(self, session => session.finish());
    }

    /// Ends a pause.
    pub(super) fn resume(&mut self, now: Time) {
        match self {
            Self::Lockstep(session) => session.resume(now),
            Self::Client(session) => session.resume(),
        }
    }

    /// Stops waiting for the last other player, who is lost.
    pub(super) fn claim(&mut self) {
        either!(self, session => session.claim());
    }

    /// Sends a chat line to all others.
    pub(super) fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        either!(self, session => session.submit_chat(now, text))
    }

    /// Whether the match is over and the session stays for a rematch vote.
    pub(super) const fn stays(&self) -> bool {
        either!(self, session => session.stays())
    }

    /// Votes for a rematch.
    pub(super) fn want_rematch(&mut self, now: Time) {
        either!(self, session => session.want_rematch(now));
    }

    pub(super) fn leave(&mut self) {
        either!(self, session => session.leave());
    }

    /// The server's state whose next tick is `tick`, where it must be adopted.
    pub(super) fn snapshot(&self, tick: Tick) -> Option<&GameState> {
        match self {
            Self::Lockstep(_) => None,
            Self::Client(session) => session.snapshot(tick),
        }
    }

    /// Whether the seat was taken back while the match ran.
    pub(super) fn has_come_back(&self) -> bool {
        matches!(self, Self::Client(session) if session.has_come_back())
    }

    /// In a match with a server, the player who most recently left or was lost; the flag says whether it was
    /// lost.
    pub(super) fn departed(&self) -> Option<(PlayerId, bool)> {
        match self {
            Self::Lockstep(_) => None,
            Self::Client(session) => session.departed(),
        }
    }

    /// Whether a server runs the world and sends the results.
    pub(super) const fn is_served(&self) -> bool {
        matches!(self, Self::Client(client) if matches!(client.config().architecture, Architecture::ClientServer))
    }

    /// When a view that lags `behind` the server's ticks, for an even pace, reaches `tick`. `None` without a
    /// server.
    pub(super) fn seen_at(&self, tick: Tick, behind: Duration) -> Option<Time> {
        let Self::Client(client) = self else { return None };
        let one_way = Duration::from_micros(client.link().rtt_us.unwrap_or(0) / 2);
        self.is_served().then(|| client.server_time_of(tick).plus(one_way + behind))
    }

    /// Advances the prediction, using the own inputs that are committed and not confirmed.
    pub(super) fn predict(&self, now: Time, predictor: &mut Predictor, confirmed: &World) {
        match self {
            Self::Lockstep(session) => {
                let (horizon, own) = session.unconfirmed();
                predictor.advance(now, confirmed, own, horizon);
            }
            Self::Client(session) => {
                let (horizon, own) = session.unconfirmed();
                predictor.advance(now, confirmed, own, horizon);
            }
        }
    }

    /// This player's id; valid once confirmed.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        either!(self, session => session.player())
    }

    /// The configuration of the match; known once confirmed.
    #[must_use]
    pub const fn config(&self) -> Option<&MatchConfig> {
        match self {
            Self::Lockstep(session) => session.config(),
            Self::Client(session) => Some(session.config()),
        }
    }

    /// The traffic on the links so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        either!(self, session => session.traffic())
    }

    /// The links to peers that are still in the match, in the order in which they joined.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        let links: ArrayVec<LinkStatus, PLAYERS_MAX> = match self {
            Self::Lockstep(session) => session.links().collect(),
            Self::Client(session) => core::iter::once(session.link()).collect(),
        };
        links.into_iter()
    }

    /// How long before its tick an input is committed, in microseconds; known once tick 0 is agreed.
    #[must_use]
    pub fn delay_us(&self) -> Option<i64> {
        match self {
            Self::Lockstep(session) => session.delay_us(),
            Self::Client(session) => Some(session.delay_us()),
        }
    }

    /// The player whose input the next tick waits for although it is due, and since when. With a server no
    /// tick waits.
    #[must_use]
    pub fn waits_for(&self) -> Option<(PlayerId, Time)> {
        match self {
            Self::Lockstep(session) => session.waits_for(),
            Self::Client(_) => None,
        }
    }

    /// The lost player for whom the match waits, and when that player was last heard; [`PlayerId::NONE`] for
    /// a server.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        either!(self, session => session.lost())
    }

    /// The pause in progress, if any.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        match self {
            Self::Lockstep(session) => session.pause(),
            Self::Client(session) => session.pause(),
        }
    }

    /// The room's beacon, while the room is open.
    #[must_use]
    pub const fn beacon(&self) -> Option<&Beacon> {
        match self {
            Self::Lockstep(session) => session.beacon(),
            Self::Client(_) => None,
        }
    }

    /// The client session, if a server runs the match.
    #[must_use]
    pub const fn client(&self) -> Option<&ClientSession> {
        match self {
            Self::Lockstep(_) => None,
            Self::Client(session) => Some(session),
        }
    }
}
