//! The session of a client: its inputs go up before their tick, whole states come down, and every tick that led
//! to them.
//!
//! Sans-IO, with the verbs of [`super::LockstepSession`], which knocks for it: [`super::Served`]. The world of
//! the caller runs the ticks that the server has run; where an update has a state, its hash must be theirs.

mod chat;
mod confirmed;
mod pause;
mod play;
mod playout;
mod rematch;

use core::net::SocketAddr;
use core::time::Duration;

pub use self::confirmed::UpdateCounts;

use self::chat::Talk;
use self::confirmed::Confirmed;
use self::pause::Pauses;
use self::playout::Playout;
use self::rematch::Votes;
use super::architecture::Architecture;
use super::clock::TickClock;
use super::delay::{DelayControl, InputDelay};
use super::given::Given;
use super::link::{Link, PING_RUNNING, PING_SETUP};
use super::message::{
    Acknowledge, Bye, MatchConfig, PacketId, Ping, Pong, Roster, Seating, Seats, Start, Token, decode,
};
use super::outbox::Outbox;
use super::seal::{Seal, Sealed, connection_id};
use super::sealer::{Sealer, TooManyCommands};
use super::session::{
    DueTick, End, Event, LinkStatus, OnLoss, SILENT_AFTER, Served, Settings, Traffic, Transmit,
};
use super::time::Time;
use super::update::TimedInputs;
use super::wakeup::Wakeup;
use crate::sim::{Command, GameState, HashChain, HeroControl, PlayerId, PlayerInput, StateHash, Tick};

/// How often a farewell is said before one goes without an answer.
const BYES: u8 = 8;
/// Between two farewells.
const BYE_EVERY: Duration = Duration::from_millis(60);
/// Between two lines to a server that has nothing new from here.
const REPORT_EVERY: Duration = Duration::from_millis(50);

enum Phase {
    /// Others are awaited.
    Waiting,
    /// The caller builds the world.
    Preparing,
    /// It is built; the start is awaited.
    Ready,
    Running,
    /// All ticks have run, and client and server stay for a vote.
    Over,
    /// All ticks have run, or this player leaves.
    Ending {
        end: End,
        byes_left: u8,
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
    token: Option<Token>,
    roster: Roster,
    seating: Option<Seating>,
    first_hash: Option<u64>,
    server: SocketAddr,
    link: Link,
    clock: TickClock,
    delay: DelayControl,
    delay_told_us: i64,
    sealer: Sealer,
    /// The first tick of which there is an input.
    began_at: Tick,
    /// The server has every input before this one.
    received: Tick,
    /// The server has processed every input before this one.
    processed: Tick,
    confirmed: Confirmed,
    /// Whether and when ticks that have come wait for their time.
    playout: Option<Playout>,
    pauses: Pauses,
    /// When the last tick was handed out.
    handed_at: Time,
    /// By how much the server may be wrong about when the others gave their commands, in microseconds.
    server_error_us: u64,
    /// Whose clients are not heard, who has left, who was lost; as the newest update has them.
    seats: [Seats; 3],
    chain: HashChain,
    rejected: u32,
    talk: Talk,
    votes: Votes,
    room_code: u64,
    entropy: [u8; 32],
    /// Whether the server has been silent for the timeout, and the match waits for it.
    is_lost: bool,
    out: Outbox,
}

impl ClientSession {
    /// Takes the seat that a server gave. Traffic before it is carried on.
    ///
    /// `None` if what the server said makes no sense.
    #[must_use]
    pub fn new(now: Time, settings: Settings, served: &Served, traffic: Traffic) -> Option<Self> {
        let Served { server, connection_id, confirm, room_code, entropy } = *served;
        let (config, me) = (confirm.config, confirm.player);
        if me.0 >= config.seats {
            return None;
        }
        let seal = Seal::new(connection_id, confirm.connection_id);
        let clock = TickClock::new(config.tick_rate, now, now);
        let (start_us, fixed) = match settings.input_delay {
            InputDelay::Auto => (0, false),
            InputDelay::Ticks(ticks) => (config.tick_rate.micros_to(Tick(ticks)).cast_signed(), true),
        };
        let is_relay = config.architecture == Architecture::Relay;
        let playout = is_relay.then(|| Playout::new(now, clock.tick_us()));
        let mut session = Self {
            now,
            wakeup: Wakeup::default(),
            settings,
            phase: Phase::Waiting,
            config,
            me,
            token: confirm.token,
            roster: Roster::new(),
            seating: None,
            first_hash: None,
            server,
            link: Link::new(now, PlayerId::NONE, &[server], false, seal),
            clock,
            delay: DelayControl::new(now, 1, start_us, clock.tick_us(), fixed).for_server(),
            delay_told_us: 0,
            sealer: Sealer::new(),
            began_at: Tick(0),
            received: Tick(0),
            processed: Tick(0),
            confirmed: Confirmed::new(usize::from(config.seats)),
            playout,
            pauses: Pauses::default(),
            handed_at: now,
            server_error_us: 0,
            seats: [Seats::default(); 3],
            chain: HashChain::default(),
            rejected: 0,
            talk: Talk::new(now),
            votes: Votes::default(),
            room_code,
            entropy,
            is_lost: false,
            out: Outbox::new(traffic),
        };
        session.out.event(Event::Confirmed { player: me, config });
        Some(session)
    }

    /// Takes a datagram in.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        self.now = self.now.max(now);
        self.out.count_received(bytes.len());
        if self.dispatch(from, bytes).is_none() {
            self.out.traffic.dropped += 1;
        }
    }

    fn dispatch(&mut self, from: SocketAddr, bytes: &[u8]) -> Option<()> {
        let id = PacketId::of(*bytes.first()?)?;
        if connection_id(bytes)? != self.link.seal.local_id() {
            return None;
        }
        let (_, body, newest) = self.link.seal.open(self.now, bytes).ok()?;
        self.link.hear(self.now, from, newest);
        self.is_lost = false;
        if core::mem::take(&mut self.link.is_silent) {
            self.out.event(Event::Heard { player: PlayerId::NONE });
        }
        match id {
            PacketId::GameStateUpdate => self.on_update(body),
            PacketId::Ping => self.on_ping(decode(body).ok()?),
            PacketId::Pong => self.on_pong(decode(body).ok()?),
            PacketId::Seating => self.on_seating(decode(body).ok()?),
            PacketId::Resume => self.on_resume(decode(body).ok()?),
            PacketId::Chat => self.on_chat(decode(body).ok()?),
            PacketId::Rematch => self.on_rematch(decode(body).ok()?),
            PacketId::Start => self.on_start(decode(body).ok()?),
            PacketId::Acknowledge => self.on_acknowledge(decode(body).ok()?),
            PacketId::Bye => self.on_bye(decode(body).ok()?),
            _ => None,
        }
    }

    /// Does what time brings. Call it whenever [`Self::poll_timeout`] has come; earlier or later does no harm.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        // While this process was suspended, nothing could be heard.
        let suspended = self.wakeup.take_lateness(self.now);
        self.link.heard_at = self.link.heard_at.plus(suspended).min(self.now);
        if self.now >= self.link.ping_at {
            let is_calm = self.confirmed.ran() > Tick(0);
            self.link.ping_at = self.now.plus(if is_calm { PING_RUNNING } else { PING_SETUP });
            self.link.rtt.ping(self.now);
            self.send(PacketId::Ping, &Ping { time_us: self.now.0 });
        }
        match self.phase {
            Phase::Running => self.run(),
            Phase::Ending { .. } => self.say_bye(),
            _ => {}
        }
        self.watch_silence();
        self.pursue_talk();
        self.pursue_vote();
    }

    /// When [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let phase = match self.phase {
            Phase::Closed => return None,
            Phase::Running => Some(self.next_deadline()),
            Phase::Ending { send_at, .. } => Some(send_at),
            _ => None,
        };
        let due = [phase, Some(self.link.ping_at), self.talk.due_at(), self.vote_due_at()];
        self.wakeup.ask(self.now, due.into_iter().flatten().min())
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.out.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// The next tick that the server has run and the caller has not, once it is due here. Run it, then call [`Self::report`].
    pub fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        self.now = self.now.max(now);
        let (TimedInputs { inputs, given }, stall) = self.next_due()?;
        let sealed_at = self.sealed_at(inputs.tick);
        self.pause_with(&inputs);
        let here = |(player, given): (usize, &Given)| {
            if player == self.me.index() {
                self.sealer.take_given(given.len())
            } else {
                self.link.clock.all_here(given, self.now)
            }
        };
        let given = given.iter().enumerate().map(here).collect();
        let clock_error_us = self.link.clock.error_us() + self.server_error_us;
        Some(DueTick { inputs, sealed_at, given, clock_error_us, stall })
    }

    /// Says what the world's hash is after `tick`, the last that [`Self::poll_tick`] gave.
    pub fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        self.now = self.now.max(now);
        self.chain = self.chain.then(hash.whole);
        if !self.confirmed.ran_tick(tick, hash.whole) && !self.confirmed.wants_state() {
            // The server's word counts.
            self.out.event(Event::Adopt { tick: tick.plus(1) });
        }
        let is_last = self.config.ticks.is_some_and(|ticks| tick.0 + 1 >= ticks);
        if is_last {
            self.finish();
        }
    }

    /// The world says that the match is over with the tick reported last.
    pub fn finish(&mut self) {
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Ending { end: End::Finished, byes_left: BYES, send_at: self.now };
        }
    }

    /// The server's state whose next tick is `tick`, for [`Event::Adopt`].
    #[must_use]
    pub fn snapshot(&self, tick: Tick) -> Option<&GameState> {
        self.confirmed.state(tick)
    }

    /// The next tick to run of the newest state that was the same here and at the server.
    #[must_use]
    pub const fn agreed(&self) -> Tick {
        self.confirmed.agreed()
    }

    /// Where the world here was last another than the server's: the next tick of that state, and the server's hash
    /// of it.
    #[must_use]
    pub const fn differed(&self) -> Option<(Tick, u64)> {
        self.confirmed.differed()
    }

    /// Orders something that was given at `given`, in tick `wish` or as soon after it as can be.
    ///
    /// # Errors
    /// If too many commands wait already.
    pub fn submit_command(
        &mut self,
        wish: Tick,
        given: Time,
        command: Command,
    ) -> Result<(), TooManyCommands> {
        self.sealer.command(wish, given, command)
    }

    /// The first tick that is not sealed: what is ordered now is part of it.
    #[must_use]
    pub fn open_tick(&self) -> Tick {
        self.sealer.next()
    }

    /// Sets the hero's held control, from tick `wish` on or as soon after it as can be.
    pub fn submit_hero(&mut self, wish: Tick, hero: HeroControl) {
        self.sealer.hero(wish, hero);
    }

    /// The world before tick 0 is built, and this is its state. Nothing comes of it if the server has said good-bye
    /// since [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash, state: &GameState) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Preparing) {
            return;
        }
        self.first_hash = Some(hash.whole);
        self.confirmed.begin(state);
        self.phase = Phase::Ready;
        self.acknowledge_seating();
    }

    /// This player leaves: the server is told.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Closed => {}
            Phase::Ending { end: End::Finished, .. } => self.close(End::Finished),
            Phase::Ending { .. } => {}
            _ if self.is_lost => self.close(End::Left),
            _ => self.phase = Phase::Ending { end: End::Left, byes_left: BYES, send_at: self.now },
        }
    }

    /// Which player this is.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        self.me
    }

    /// What is played.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// By which the seat is taken back after a restart.
    #[must_use]
    pub const fn token(&self) -> Option<Token> {
        self.token
    }

    /// What went over the link so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    /// The way to the server.
    #[must_use]
    pub fn link(&self) -> LinkStatus {
        LinkStatus {
            player: self.link.player,
            rtt_us: self.link.rtt.smoothed_us(),
            jitter_us: self.link.rtt.deviation_us(),
            lost_per_mille: self.link.lost_here.unwrap_or(0),
            silent_for: self.now.since(self.link.heard_at),
        }
    }

    /// How long before its tick an input is sealed, in microseconds: the way up and a reserve.
    #[must_use]
    pub const fn delay_us(&self) -> i64 {
        self.delay.delay_us()
    }

    /// What became of the updates.
    #[must_use]
    pub const fn updates(&self) -> &UpdateCounts {
        self.confirmed.counts()
    }

    /// How much of what this client sent the server has refused.
    #[must_use]
    pub const fn rejected(&self) -> u32 {
        self.rejected
    }

    /// The seats whose clients the server does not hear at the moment.
    #[must_use]
    pub const fn away(&self) -> Seats {
        self.seats[0]
    }

    /// Whether the seat was taken back while the match ran.
    #[must_use]
    pub const fn has_come_back(&self) -> bool {
        self.began_at.0 > 0
    }

    /// When `tick` begins on the server, on this clock.
    #[must_use]
    pub fn server_time_of(&self, tick: Tick) -> Time {
        self.clock.at(tick)
    }

    /// The first tick for which no input of this player is sealed yet, and of those before it the sealed ones
    /// that are not part of the ticks that have run here.
    pub fn unconfirmed(&self) -> (Tick, impl Iterator<Item = (Tick, PlayerInput)>) {
        let from = Tick(self.confirmed.ran().0.saturating_sub(self.confirmed.lag()));
        let inputs = self.sealer.since(from).filter(move |sealed| sealed.tick >= from);
        let inputs =
            inputs.filter_map(|sealed| Some((sealed.tick, postcard::from_bytes(sealed.input()).ok()?)));
        (self.sealer.next(), inputs)
    }

    /// That the match waits for the server since it is lost, and when it was last heard.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        self.is_lost.then_some((PlayerId::NONE, self.link.heard_at))
    }

    /// Waits no longer for a server that is lost. Nothing comes of it while it is heard.
    pub fn claim(&mut self) {
        if self.is_lost {
            self.close(End::PeerLost(PlayerId::NONE));
        }
    }

    fn watch_silence(&mut self) {
        let silence = self.now.since(self.link.heard_at);
        let waits = self.settings.on_loss == OnLoss::Wait && matches!(self.phase, Phase::Running);
        if silence >= self.settings.timeout && !self.link.said_bye && waits {
            if !core::mem::replace(&mut self.is_lost, true) {
                self.link.is_silent = true;
                self.out.event(Event::Waiting { player: PlayerId::NONE });
            }
        } else if silence >= self.settings.timeout && !self.link.said_bye {
            self.close(End::PeerLost(PlayerId::NONE));
        } else if silence >= SILENT_AFTER && !self.link.is_silent {
            self.link.is_silent = true;
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
        self.send_body(id, &super::message::encode(message));
    }

    fn send_body(&mut self, id: PacketId, body: &[u8]) {
        let Some(&to) = self.link.addresses.first() else { return };
        let datagram: Sealed = self.link.seal.seal(id as u8, body);
        self.out.transmit(to, datagram);
    }

    fn on_ping(&mut self, ping: Ping) -> Option<()> {
        let clock_us = matches!(self.phase, Phase::Running).then(|| self.clock.position_us(self.now));
        let pong = Pong {
            echo_us: ping.time_us,
            clock_us,
            time_us: self.now.0,
            error_us: 0,
            lost_per_mille: self.link.lost_here.unwrap_or(0),
        };
        self.send(PacketId::Pong, &pong);
        Some(())
    }

    fn on_acknowledge(&mut self, what: Acknowledge) -> Option<()> {
        match what {
            Acknowledge::Left if matches!(self.phase, Phase::Ending { end: End::Left, .. }) => {
                self.close(End::Left);
            }
            Acknowledge::Left => {}
            Acknowledge::Chat { number } => self.on_chat_acknowledged(number),
            Acknowledge::Rematch { wanted, .. } => self.on_rematch_acknowledged(wanted),
            _ => return None,
        }
        Some(())
    }

    fn on_bye(&mut self, bye: Bye) -> Option<()> {
        match bye {
            Bye::Finished { ticks, chain } => {
                // The last ticks may still have to run here, or the last state to come: then it is said again. Before
                // tick 0 it ends a rematch that not all have come back to.
                let is_ending = matches!(self.phase, Phase::Ending { .. } | Phase::Over);
                if is_ending || self.confirmed.ran() == Tick(ticks) {
                    self.link.said_bye = true;
                    self.send(PacketId::Bye, &Bye::Finished { ticks, chain });
                    self.close(End::Finished);
                }
            }
            Bye::Left { .. } => {
                self.send(PacketId::Acknowledge, &Acknowledge::Left);
                let is_over = matches!(self.phase, Phase::Ending { end: End::Finished, .. } | Phase::Over);
                self.close(if is_over { End::Finished } else { End::PeerLeft(PlayerId::NONE) });
            }
            // The answer to the world that was built here.
            Bye::StartState if matches!(self.phase, Phase::Ready) => self.close(End::StartState),
            Bye::Dropped => self.close(End::PeerLost(PlayerId::NONE)),
            Bye::Expelled { rejected } => {
                self.rejected = rejected;
                self.close(End::Expelled);
            }
            _ => return None,
        }
        Some(())
    }

    fn on_seating(&mut self, seating: Seating) -> Option<()> {
        let seats = usize::from(self.config.seats);
        if seating.roster.len() != seats {
            return None;
        }
        let is_new = self.seating.as_ref() != Some(&seating);
        match self.phase {
            Phase::Waiting | Phase::Ready if is_new => {
                self.roster.clone_from(&seating.roster);
                self.seating = Some(seating);
                self.phase = Phase::Preparing;
                self.out.event(Event::Prepare { roster: self.roster.clone() });
            }
            Phase::Ready | Phase::Running if !is_new => self.acknowledge_seating(),
            _ => return None,
        }
        Some(())
    }

    fn acknowledge_seating(&mut self) {
        let (Some(seating), Some(state_hash)) = (&self.seating, self.first_hash) else { return };
        let (round, unheard) = (seating.round, Seats::default());
        self.send(PacketId::Acknowledge, &Acknowledge::Seating { round, state_hash, unheard });
    }

    fn on_start(&mut self, start: Start) -> Option<()> {
        if matches!(self.phase, Phase::Ready) {
            let one_way = self.link.rtt.smoothed_us().unwrap_or(0).cast_signed() / 2;
            self.begin_running(self.now.shifted(i64::from(start.begin_in_us) - one_way));
        }
        // Also where the acknowledgement was lost.
        self.send(PacketId::Acknowledge, &Acknowledge::Start);
        Some(())
    }
}
