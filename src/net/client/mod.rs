//! A client's side of a match with a server, from tick 0 to the goodbye: sends its inputs ahead of their tick, and
//! receives states with what happened between them, or from a relay the ticks themselves.
//!
//! Sans-IO, with the verbs of [`super::Lockstep`]. With a server the caller adopts its states
//! ([`Follower::poll_snapshot`]) and runs no tick; with a relay its world runs the ticks ([`Follower::poll_tick`]), and
//! their results must have the relay's hashes.

mod jitter_buffer;
mod play;
mod relayed;
mod server_view;
mod snapshots;
mod states;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

pub use self::snapshots::UpdateCounts;
pub use self::states::{CommandRun, Snapshot};

use self::relayed::{Agreement, RelayedTicks};
use self::server_view::ServerView;
use crate::connection::protection::{Opened, OpeningRoom};
use crate::connection::{CLOSE_WITHIN, PING_RUNNING, PING_SETUP, QUIET_AFTER, SILENT_AFTER};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event, LinkStatus, StallCause, Traffic, WaitsFor};
use crate::expected::Expected;
use crate::outbox::{Outbox, Source, Transmit};
use crate::play::link::Link;
use crate::play::local_inputs::TooManyCommands;
use crate::play::own_inputs::OwnInputs;
use crate::play::stream::Fetch;
use crate::room::agreed::Handover;
use crate::room::chat::{ChatLimits, LINES_WAITING_MAX, TooManyLines};
use crate::room::guest::Guest;
use crate::room::settings::{OnLoss, Settings};
use crate::room::started::{Room, Started};
use crate::time::Time;
use crate::timer::{Timer, Timers};
use crate::wakeup::Wakeup;
use crate::wire::architecture::Architecture;
use crate::wire::chat_text::ChatText;
use crate::wire::input::EncodedInput;
use crate::wire::message::{Bye, Chat, FetchHistory, MatchConfig, PacketId, Ping, Pong, Seats, decode};
use sim::{Command, GameState, HeroControl, PlayerId, StateHash, Tick};

/// Interval between reports to the server when there is nothing new to send.
const REPORT_EVERY: Duration = Duration::from_millis(50);

enum Phase {
    Running,
    /// All ticks have run, and all stay: the caller takes the room back.
    Over,
    /// All ticks have run, or this player is leaving.
    Ending {
        end: End,
    },
    Closed,
}

/// One client's view of a match.
pub struct Follower {
    now: Time,
    wakeup: Wakeup,
    settings: Settings,
    room: Box<Guest>,
    phase: Phase,
    timers: Timers,
    config: MatchConfig,
    me: PlayerId,
    link: Link,
    server: ServerView,
    fetch: Option<Fetch>,
    own: OwnInputs,
    chat_limits: ChatLimits,
    out: Outbox,
}

impl Follower {
    /// Begins a match with what a client's room has agreed on, and the state before tick 0.
    ///
    /// # Panics
    /// If it is not the room of a server's client.
    #[must_use]
    pub fn start(now: Time, started: Started, state: &GameState) -> Self {
        let Started { given, room } = started;
        let Handover { now: noticed, agreed, mut peers, out } = given;
        let now = now.max(noticed);
        let Room::Guest(room) = room else { panic!("a client's room") };
        let (config, me, settings) = (*room.config(), room.player(), room.own().0.clone());
        assert_ne!(config.architecture, Architecture::P2p, "a client's room");
        let Some((player, connection)) = peers.take_all().next() else { panic!("connected to its server") };
        let mut own = OwnInputs::new(now, config.tick_rate, settings.input_delay, 1);
        own.delay = own.delay.for_server();
        let is_relay = config.architecture == Architecture::Relay;
        let relayed =
            is_relay.then(|| RelayedTicks::new(now, usize::from(config.seats), own.clock.tick_us()));
        let server = ServerView::new(state, relayed);
        let mut session = Self {
            now,
            wakeup: Wakeup::default(),
            settings,
            room,
            phase: Phase::Running,
            timers: Timers::default(),
            config,
            me,
            link: Link::new(player, connection),
            server,
            fetch: None,
            own,
            chat_limits: ChatLimits::new(now),
            out,
        };
        session.begin(agreed.begin);
        session.take_messages();
        session
    }

    /// The match is over, and all have stayed ([`Event::Over`]): the room for the next one.
    ///
    /// # Panics
    /// If they have not.
    #[must_use]
    pub fn into_room(mut self, now: Time) -> Guest {
        assert!(self.stays(), "all have stayed");
        self.room.again(now, core::iter::once((self.link.player, self.link.connection)), self.out);
        *self.room
    }

    /// Whether the match is over, and all have stayed.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        Expected::new(core::iter::once(self.link.connection.protection.local_id()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
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
        let Opened { body, is_newest, number, .. } =
            self.link.connection.open(bytes, &mut room, &mut self.out)?;
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
            PacketId::GameStateUpdate | PacketId::ServerTicks
                if self.link.connection.protection.is_stale(number) =>
            {
                Err(DropCause::Stale)
            }
            PacketId::GameStateUpdate => self.on_update(body),
            PacketId::ServerTicks => self.on_ticks(body),
            PacketId::Ping => self.on_ping(decode(body)?),
            PacketId::Pong => self.on_pong(decode(body)?),
            PacketId::Acknowledge => {
                self.link.connection.receive(body)?;
                self.take_messages();
                Ok(())
            }
            PacketId::Bulk => self.fetch.as_mut().ok_or(OutOfPlace)?.receive(body),
            // The answer to an entry that was repeated before the first answer had arrived.
            PacketId::JoinConfirm => Err(DropCause::Stale),
            _ => Err(OutOfPlace),
        }
    }

    /// Handles the server's messages. Its goodbye ends the match here, so what it says afterwards is for the room.
    pub(super) fn take_messages(&mut self) {
        while !matches!(self.phase, Phase::Over | Phase::Closed)
            && let Some((id, body)) = self.link.connection.poll_message()
        {
            let admitted = self.link.connection.admit(self.now, id);
            let handled = admitted.and_then(|()| self.on_message(id, &body));
            self.out.traffic.count(handled);
        }
    }

    fn on_message(&mut self, id: PacketId, body: &[u8]) -> Handled {
        match id {
            PacketId::Chat => self.on_chat(decode(body)?),
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
        let every = if self.server.ran() > Tick(0) { PING_RUNNING } else { PING_SETUP };
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
            Phase::Running => self.next_deadline(),
            _ => None,
        };
        let connection = &self.link.connection;
        let fetch = self.fetch.as_ref().and_then(|fetch| fetch.poll_timeout(connection));
        let due = [phase, fetch, self.timers.next(), connection.timers.next(), connection.poll_timeout()];
        self.wakeup.ask(self.now, due.into_iter().flatten().min())
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.out.is_empty() {
            self.link.connection.flush(self.now, &mut self.out);
            if let Some(fetch) = &mut self.fetch {
                fetch.flush(self.now, &mut self.link.connection, &mut self.out);
            }
        }
        self.out.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    pub(super) fn clock_error_us(&self) -> u64 {
        self.link.connection.clock.error_us() + self.server.error_us
    }

    /// Asks the server for its recording of the match, once: [`Self::poll_recording`] returns it from its first byte on, as
    /// it grows.
    pub fn fetch_recording(&mut self) {
        if self.fetch.is_none() {
            self.fetch = Some(Fetch::new(0));
            self.send(PacketId::FetchHistory, &FetchHistory { from: 0 });
        }
    }

    /// The next bytes of the recording. The server waits for their acknowledgement before it says goodbye.
    pub fn poll_recording(&mut self) -> Option<Vec<u8>> {
        match self.fetch.as_mut()?.poll() {
            Ok(bytes) => bytes,
            Err(cause) => {
                self.out.traffic.dropped.count(cause, 1);
                None
            }
        }
    }

    /// The bytes of the recording that have arrived, those that there are so far, and whether it is whole; `None` if it
    /// was not asked for.
    #[must_use]
    pub fn fetched(&self) -> Option<(u32, u32, bool)> {
        let fetch = self.fetch.as_ref()?;
        let (has, of) = fetch.progress();
        Some((has, of, fetch.is_whole()))
    }

    /// Reports the world's hash after `tick`, the last tick that [`Self::poll_tick`] returned.
    pub fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        self.now = self.now.max(now);
        self.server.chain = self.server.chain.then(hash.whole);
        let agreement = self.server.relayed.as_mut().map(|relayed| relayed.ran_tick(tick, hash.whole));
        match agreement {
            Some(Agreement::Agrees) => self.server.counts.agreed += 1,
            Some(Agreement::Differs) => self.server.counts.differed += 1,
            _ => {}
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
            self.phase = Phase::Ending { end: End::Finished };
            self.link.connection.timers.set(Timer::Resend, self.now);
            let (ticks, chain, stays) = (self.server.ran().0, self.server.chain.0, self.settings.stays);
            self.send(PacketId::Bye, &Bye::Finished { ticks, chain, stays });
            self.close_if_finished();
        }
    }

    /// The server's state whose next tick is `tick`, while it is kept: for [`Event::Adopt`].
    #[must_use]
    pub fn snapshot(&self, tick: Tick) -> Option<&GameState> {
        self.server.snapshots.state(tick)
    }

    /// The next tick to run of the newest state on which client and relay agreed; 0 without a relay.
    #[must_use]
    pub fn agreed(&self) -> Tick {
        self.server.relayed.as_ref().map_or(Tick(0), RelayedTicks::agreed)
    }

    /// The latest state on which client and relay disagreed: its next tick, and the relay's hash.
    #[must_use]
    pub fn differed(&self) -> Option<(Tick, u64)> {
        self.server.relayed.as_ref().and_then(RelayedTicks::differed)
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
            Phase::Ending { end: End::Finished } | Phase::Over => self.close(End::Finished),
            Phase::Ending { .. } => {}
            _ if self.server.is_lost => self.close(End::Left),
            _ => {
                self.send(PacketId::Bye, &Bye::Left { tick: self.own.inputs.next().0 });
                self.phase = Phase::Ending { end: End::Left };
                self.link.connection.timers.set(Timer::Resend, None);
                self.timers.set(Timer::Close, self.now.plus(CLOSE_WITHIN));
            }
        }
    }

    /// Sends a line to all players, this one included.
    ///
    /// # Errors
    /// If this player has reached the rate limit; the line is not sent.
    pub fn submit_chat(&mut self, now: Time, text: ChatText) -> Result<(), TooManyLines> {
        self.now = self.now.max(now);
        self.chat_limits.own.take(self.now)?;
        if self.link.connection.queued() < LINES_WAITING_MAX {
            self.send(PacketId::Chat, &Chat { from: self.me, text });
        }
        self.out.event(Event::Said { player: self.me, text });
        Ok(())
    }

    /// A player has sent a line.
    fn on_chat(&mut self, line: Chat) -> Handled {
        self.chat_limits.take(self.now, (line, self.me), self.config.seats)?;
        self.out.event(Event::Said { player: line.from, text: line.text });
        Ok(())
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
    pub const fn updates(&self) -> UpdateCounts {
        UpdateCounts { incomplete: self.server.snapshots.given_up(), ..self.server.counts }
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
    /// not part of the ticks that have run here.
    pub fn unconfirmed(&self) -> (Tick, impl Iterator<Item = (Tick, &EncodedInput)>) {
        let from = Tick(self.server.ran().0.saturating_sub(self.server.lag()));
        let inputs = self.own.inputs.since(from).filter(move |sealed| sealed.tick >= from);
        (self.own.inputs.next(), inputs.map(|sealed| (sealed.tick, &sealed.bytes)))
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
            let is_over = matches!(self.phase, Phase::Over);
            self.close(if is_over { End::Finished } else { End::PeerLost(PlayerId::NONE) });
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
            Bye::Finished { ticks, stays, .. } => {
                (self.server.finished, self.link.stays) = (Some(Tick(ticks)), stays);
                self.close_if_finished();
            }
            Bye::Left { .. } => {
                let is_over = matches!(self.phase, Phase::Ending { end: End::Finished } | Phase::Over);
                self.close(if is_over { End::Finished } else { End::PeerLeft(PlayerId::NONE) });
            }
            Bye::Dropped => self.close(End::PeerLost(PlayerId::NONE)),
            Bye::Expelled { rejected } => {
                self.server.rejected = rejected;
                self.close(End::Expelled);
            }
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// Ends once the server has said goodbye and its last tick has run here.
    fn close_if_finished(&mut self) {
        let has_finished = matches!(self.phase, Phase::Ending { end: End::Finished });
        let is_ending = matches!(self.phase, Phase::Ending { .. } | Phase::Over);
        if self.server.finished.is_none_or(|ticks| !is_ending && self.server.ran() != ticks) {
            return;
        }
        if has_finished && self.link.stays && self.settings.stays {
            self.phase = Phase::Over;
            self.link.connection.timers.set(Timer::Resend, None);
            self.out.event(Event::Over);
        } else {
            self.close(End::Finished);
        }
    }
}
