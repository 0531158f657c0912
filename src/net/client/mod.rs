//! The session of a client: sends its inputs ahead of their tick, and receives whole states with all ticks
//! that led to them.
//!
//! Sans-IO, with the verbs of [`super::LockstepSession`]. The caller's world runs the ticks that the server
//! has run; where an update has a state, its hash must match the world's.

mod chat;
mod jitter_buffer;
mod joining;
mod play;
mod rematch;
mod server_view;
mod snapshot_buffer;

use core::time::Duration;

pub use self::snapshot_buffer::UpdateCounts;

use self::chat::ChatLimits;
use self::jitter_buffer::JitterBuffer;
use self::rematch::{Again, Votes};
use self::server_view::ServerView;
use crate::connection::path::Trust;
use crate::connection::protection::{Opened, OpeningRoom};
use crate::connection::{CLOSE_WITHIN, Connection, PING_RUNNING, PING_SETUP, QUIET_AFTER, SILENT_AFTER};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{DueTick, End, Event, LinkStatus, StallCause, Traffic, WaitsFor};
use crate::join::{Applicant, Seat};
use crate::outbox::{Outbox, Source, Transmit};
use crate::table::link::Link;
use crate::table::local_inputs::TooManyCommands;
use crate::table::own_inputs::OwnInputs;
use crate::table::settings::{OnLoss, Settings};
use crate::table::wakeup::Wakeup;
use crate::time::Time;
use crate::wire::architecture::Architecture;
use crate::wire::given::Given;
use crate::wire::message::{Bye, MatchConfig, PacketId, Ping, Pong, Seats, Token, decode};
use crate::wire::update::TimedInputs;
use sim::{Command, GameState, HeroControl, PlayerId, StateHash, Tick};

/// Interval between reports to the server when there is nothing new to send.
const REPORT_EVERY: Duration = Duration::from_millis(50);

enum Phase {
    /// Other players are awaited.
    Waiting,
    /// The caller builds the world.
    Preparing {
        /// The round of the server's seating.
        round: u32,
    },
    /// The world is built; waiting for the start.
    Ready {
        round: u32,
        /// The hash of the state before tick 0.
        state_hash: u64,
        /// Whether this has been reported to the server.
        reported: bool,
    },
    Running,
    /// All ticks have run; client and server stay connected for a rematch vote.
    Over,
    /// All ticks have run, or this player is leaving.
    Ending {
        end: End,
        /// Time of the next report; for a player who leaves, the deadline for the goodbye to be acknowledged.
        send_at: Time,
    },
    Closed,
}

/// One client's view of a match.
pub struct ClientSession {
    now: Time,
    wakeup: Wakeup,
    settings: Settings,
    phase: Phase,
    config: MatchConfig,
    me: PlayerId,
    /// Settings for joining the next match.
    again: Again,
    link: Link,
    server: ServerView,
    own: OwnInputs,
    chat_limits: ChatLimits,
    votes: Votes,
    out: Outbox,
}

impl ClientSession {
    /// Takes the seat that a server gave.
    ///
    /// # Panics
    /// If a host among peers gave it: that is a [`super::LockstepSession`]'s.
    #[must_use]
    pub fn seated(now: Time, seat: Seat) -> Self {
        assert_ne!(seat.architecture(), Architecture::P2p, "a server's seat");
        let Seat { guest, confirm, protection, out } = seat;
        let Applicant { settings, host: at, code, cipher, mut rng, .. } = guest;
        let path = (&[at][..], Trust::Proven);
        let connection = Connection::new(now, path, protection, &mut rng);
        let (config, me) = (confirm.config, confirm.player);
        let mut own = OwnInputs::new(now, config.tick_rate, settings.input_delay, 1);
        own.delay = own.delay.for_server();
        let is_relay = config.architecture == Architecture::Relay;
        let jitter_buffer = is_relay.then(|| JitterBuffer::new(now, own.clock.tick_us()));
        let again = Again::new(at, code, confirm.token, (cipher, rng));
        let mut session = Self {
            now,
            wakeup: Wakeup::default(),
            settings,
            phase: Phase::Waiting,
            config,
            me,
            again,
            link: Link::new(now, PlayerId::NONE, connection),
            server: ServerView::new(now, usize::from(config.seats), jitter_buffer),
            own,
            chat_limits: ChatLimits::new(now),
            votes: Votes::default(),
            out,
        };
        session.out.event(Event::Confirmed { player: me, config });
        session
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        self.wake(now);
        self.out.count_received(bytes.len());
        let handled = self.dispatch(from.into(), bytes);
        self.out.traffic.count(handled);
    }

    fn wake(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.link.connection.forgive(self.now, self.wakeup.take_lateness(self.now));
    }

    fn dispatch(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let id = bytes.first().copied().and_then(PacketId::of).ok_or(DropCause::Malformed)?;
        let mut room = OpeningRoom::new();
        let Opened { body, is_newest, .. } = self.link.connection.protection.open(bytes, &mut room)?;
        self.link.connection.admit(self.now, id)?;
        self.link.connection.hear(self.now, (from, bytes.len()), is_newest, &mut self.out);
        self.server.is_lost = false;
        if core::mem::take(&mut self.link.connection.is_silent) {
            self.out.event(Event::Heard { player: PlayerId::NONE });
        }
        if self.link.connection.receive_path(from, id, body, &mut self.out)? {
            return Ok(());
        }
        match id {
            PacketId::GameStateUpdate => self.on_update(body),
            PacketId::Ping => self.on_ping(decode(body)?),
            PacketId::Pong => self.on_pong(decode(body)?),
            PacketId::Acknowledge => {
                self.link.connection.receive(body)?;
                self.take_messages();
                Ok(())
            }
            // The answer to an entry that was repeated before the first answer had arrived.
            PacketId::JoinConfirm => Err(DropCause::Stale),
            _ => Err(OutOfPlace),
        }
    }

    /// Handles the server's messages. While the caller builds the world before tick 0, they are queued.
    pub(super) fn take_messages(&mut self) {
        while !matches!(self.phase, Phase::Preparing { .. } | Phase::Closed)
            && let Some((id, body)) = self.link.connection.poll_message()
        {
            let admitted = self.link.connection.admit(self.now, id);
            let handled = admitted.and_then(|()| self.on_message(id, &body));
            self.out.traffic.count(handled);
        }
    }

    fn on_message(&mut self, id: PacketId, body: &[u8]) -> Handled {
        match id {
            PacketId::Seating => self.on_seating(decode(body)?),
            PacketId::Start => self.on_start(decode(body)?),
            PacketId::Chat => self.on_chat(decode(body)?),
            PacketId::Rematch => self.on_rematch(decode(body)?),
            PacketId::Lobby => self.on_lobby(decode(body)?),
            PacketId::Bye => self.on_bye(decode(body)?),
            _ => Err(OutOfPlace),
        }
    }

    /// Does everything that is due. Call it once [`Self::poll_timeout`] has passed; calling it earlier or
    /// later is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        self.wake(now);
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        let every = if self.server.snapshots.ran() > Tick(0) { PING_RUNNING } else { PING_SETUP };
        self.link.connection.ping(self.now, every, &mut self.out);
        match self.phase {
            Phase::Running => self.run(),
            Phase::Ending { .. } => self.end(),
            _ => {}
        }
        self.watch_silence();
    }

    /// Returns when [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let phase = match self.phase {
            Phase::Closed => return None,
            Phase::Running => Some(self.next_deadline()),
            Phase::Ending { send_at, .. } => Some(send_at),
            _ => None,
        };
        let due = [phase, Some(self.link.connection.ping_at), self.link.connection.poll_timeout()];
        self.wakeup.ask(self.now, due.into_iter().flatten().min())
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.out.is_empty() {
            self.link.connection.flush(self.now, &mut self.out);
        }
        self.out.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// The next tick that the server has run and the caller has not, once it is due here. Run it, then call [`Self::report`].
    pub fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        self.now = self.now.max(now);
        let (TimedInputs { inputs, given }, stall) = self.server.next_due(self.now, &self.own.clock)?;
        let sealed_at = self.sealed_at(inputs.tick);
        // The server may have added the count-down, behind what the player gave.
        let own = inputs
            .inputs
            .get(self.me.index())
            .map_or(0, |own| own.commands.iter().filter(|command| command.is_given()).count());
        let here = |(player, given): (usize, &Given)| {
            if player == self.me.index() {
                self.own.inputs.take_given(own)
            } else {
                self.link.connection.clock.all_here(given, self.now)
            }
        };
        let given = given.iter().enumerate().map(here).collect();
        let clock_error_us = self.link.connection.clock.error_us() + self.server.error_us;
        Some(DueTick { inputs, sealed_at, given, clock_error_us, stall })
    }

    /// Reports the world's hash after `tick`, the last tick that [`Self::poll_tick`] returned.
    pub fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        self.now = self.now.max(now);
        self.server.chain = self.server.chain.then(hash.whole);
        if !self.server.snapshots.ran_tick(tick, hash.whole) && !self.server.snapshots.wants_state() {
            // The server's result is authoritative.
            self.out.event(Event::Adopt { tick: tick.plus(1) });
        }
        let is_last = self.config.ticks.is_some_and(|ticks| tick.0 + 1 >= ticks);
        if is_last {
            self.finish();
        }
        self.close_if_finished();
    }

    /// The world reports that the match ended with the tick reported last.
    pub fn finish(&mut self) {
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Ending { end: End::Finished, send_at: self.now };
            self.say_that_it_stays();
            self.close_if_finished();
        }
    }

    /// The server's state whose next tick is `tick`, for [`Event::Adopt`].
    #[must_use]
    pub fn snapshot(&self, tick: Tick) -> Option<&GameState> {
        self.server.snapshots.state(tick)
    }

    /// The next tick to run of the newest state on which client and server agreed.
    #[must_use]
    pub const fn agreed(&self) -> Tick {
        self.server.snapshots.agreed()
    }

    /// The latest state on which client and server disagreed: its next tick, and the server's hash.
    #[must_use]
    pub const fn differed(&self) -> Option<(Tick, u64)> {
        self.server.snapshots.differed()
    }

    /// Submits a command given at `given`, for tick `not_before` or the earliest possible tick after it.
    ///
    /// # Errors
    /// If too many commands are queued already.
    pub fn submit_command(
        &mut self,
        not_before: Tick,
        given: Time,
        command: Command,
    ) -> Result<(), TooManyCommands> {
        self.own.inputs.command(not_before, given, command)
    }

    /// The first tick whose input is not committed: commands submitted now become part of it.
    #[must_use]
    pub fn open_tick(&self) -> Tick {
        self.own.inputs.next()
    }

    /// Sets the hero's held control from tick `not_before` on, or from the earliest possible tick after it.
    pub fn submit_hero(&mut self, not_before: Tick, hero: HeroControl) {
        self.own.inputs.hero(not_before, hero);
    }

    /// This player leaves; the server is notified.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Closed => {}
            Phase::Ending { end: End::Finished, .. } => self.close(End::Finished),
            Phase::Ending { .. } => {}
            _ if self.server.is_lost => self.close(End::Left),
            _ => {
                self.send(PacketId::Bye, &Bye::Left { tick: self.own.inputs.next().0 });
                self.phase = Phase::Ending { end: End::Left, send_at: self.now.plus(CLOSE_WITHIN) };
            }
        }
    }

    /// Returns the protection of the link.
    #[cfg(feature = "doors")]
    pub fn protections(&self) -> impl Iterator<Item = &crate::PacketProtection> {
        core::iter::once(&self.link.connection.protection)
    }

    /// Sends an arbitrary message over the reliable channel to the server.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, _to: core::net::SocketAddr, id: PacketId, body: &[u8]) {
        self.link.connection.forge(id, body);
    }

    /// Which player this is.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        self.me
    }

    /// The configuration of the match.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// The token that takes the seat back after a restart.
    #[must_use]
    pub const fn token(&self) -> Option<Token> {
        self.again.token()
    }

    /// The traffic on the link so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    /// The state of the link to the server.
    #[must_use]
    pub fn link(&self) -> LinkStatus {
        self.link.status(self.now)
    }

    /// Returns the time before its tick at which an input is committed, in microseconds: the uplink delay plus a
    /// reserve.
    #[must_use]
    pub const fn delay_us(&self) -> i64 {
        self.own.delay.delay_us()
    }

    /// Counts of the updates received, by outcome.
    #[must_use]
    pub const fn updates(&self) -> &UpdateCounts {
        self.server.snapshots.counts()
    }

    /// Returns how many of this client's messages and commands the server has rejected.
    #[must_use]
    pub const fn rejected(&self) -> u32 {
        self.server.rejected
    }

    /// The seats whose clients are silent at the moment, according to the server.
    #[must_use]
    pub const fn away(&self) -> Seats {
        self.server.seats[0]
    }

    /// Whether the seat was taken back while the match was running.
    #[must_use]
    pub const fn has_come_back(&self) -> bool {
        self.own.inputs.first().0 > 0
    }

    /// Returns when `tick` begins on the server, on this clock.
    #[must_use]
    pub fn server_time_of(&self, tick: Tick) -> Time {
        self.own.clock.at(tick)
    }

    /// The first tick for which no input of this player is committed yet, and the committed inputs that are
    /// not part of the ticks that have run here, in their canonical bytes.
    pub fn unconfirmed(&self) -> (Tick, impl Iterator<Item = (Tick, &[u8])>) {
        let from = Tick(self.server.snapshots.ran().0.saturating_sub(self.server.snapshots.lag()));
        let inputs = self.own.inputs.since(from).filter(move |sealed| sealed.tick >= from);
        (self.own.inputs.next(), inputs.map(|sealed| (sealed.tick, sealed.input())))
    }

    /// The server if nothing has arrived from it for 300 ms, and when it was last heard.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        let since = self.link.connection.heard_at;
        let waits = matches!(self.phase, Phase::Running) && self.now.since(since) >= QUIET_AFTER;
        waits.then_some(WaitsFor { player: PlayerId::NONE, since, cause: StallCause::Network })
    }

    /// The server while it is lost and the match waits for it, and when it was last heard.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        self.server.is_lost.then_some((PlayerId::NONE, self.link.connection.heard_at))
    }

    /// Stops waiting for a server that is lost. Has no effect while it is heard.
    pub fn claim(&mut self) {
        if self.server.is_lost {
            self.close(End::PeerLost(PlayerId::NONE));
        }
    }

    fn watch_silence(&mut self) {
        let silence = self.now.since(self.link.connection.heard_at);
        let waits = self.settings.on_loss == OnLoss::Wait && matches!(self.phase, Phase::Running);
        let is_lost = silence >= self.settings.timeout || self.link.connection.is_broken();
        if is_lost && waits {
            if !core::mem::replace(&mut self.server.is_lost, true) {
                self.link.connection.is_silent = true;
                self.out.event(Event::Waiting { player: PlayerId::NONE });
            }
        } else if is_lost {
            self.close(End::PeerLost(PlayerId::NONE));
        } else if silence >= SILENT_AFTER && !self.link.connection.is_silent {
            self.link.connection.is_silent = true;
            self.out.event(Event::Silent { player: PlayerId::NONE });
        }
    }

    fn close(&mut self, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.out.event(Event::Closed(end));
        }
    }

    fn send<T: serde::Serialize>(&mut self, id: PacketId, message: &T) {
        self.link.connection.send(&mut self.out, id, message);
    }

    fn on_ping(&mut self, ping: Ping) -> Handled {
        let clock_us = matches!(self.phase, Phase::Running).then(|| self.own.clock.position_us(self.now));
        let pong = Pong {
            echo_us: ping.time_us,
            clock_us,
            time_us: self.now.0,
            error_us: 0,
            lost_per_mille: self.link.connection.lost_here().unwrap_or(0),
        };
        self.send(PacketId::Pong, &pong);
        Ok(())
    }

    fn on_bye(&mut self, bye: Bye) -> Handled {
        match bye {
            Bye::Finished { ticks, .. } => {
                self.server.finished = Some(Tick(ticks));
                self.close_if_finished();
            }
            Bye::Left { .. } => {
                let is_over = matches!(self.phase, Phase::Ending { end: End::Finished, .. } | Phase::Over);
                self.close(if is_over { End::Finished } else { End::PeerLeft(PlayerId::NONE) });
            }
            // The server's reply about the world that was built here.
            Bye::StartState if matches!(self.phase, Phase::Ready { .. }) => self.close(End::StartState),
            Bye::Dropped => self.close(End::PeerLost(PlayerId::NONE)),
            Bye::Removed | Bye::Unready
                if matches!(self.phase, Phase::Waiting | Phase::Preparing { .. } | Phase::Ready { .. }) =>
            {
                self.close(if bye == Bye::Removed { End::Removed } else { End::Unready });
            }
            Bye::Expelled { rejected } => {
                self.server.rejected = rejected;
                self.close(End::Expelled);
            }
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// Closes once the server has said goodbye and its last tick has run here. Before tick 0 this ends a
    /// rematch for which not everyone came back.
    fn close_if_finished(&mut self) {
        let is_ending = matches!(self.phase, Phase::Ending { .. } | Phase::Over);
        if self.server.finished.is_some_and(|ticks| is_ending || self.server.snapshots.ran() == ticks) {
            self.close(End::Finished);
        }
    }
}
