//! The session of one peer in a lockstep match, from its seat to the goodbye.
//!
//! Sans-IO. Bytes and time go in through `handle_*`, the player's intents through `submit_*`, the world's
//! results through [`LockstepSession::prepared`], [`LockstepSession::report`] and
//! [`LockstepSession::provide_state`]. Datagrams, ticks and events come out. After every call drain all
//! output: [`LockstepSession::poll_transmit`], [`LockstepSession::poll_event`],
//! [`LockstepSession::poll_tick`] until they are empty, then sleep until [`LockstepSession::poll_timeout`]. A
//! stall is a `None`, not an error.

mod chat;
mod departure;
mod ending;
mod fair;
mod heads;
mod lobby;
mod play;
mod receive;
mod rematch;
mod search;
mod seating;
mod setup;
mod stalls;

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use rand_chacha::rand_core::Rng as _;
use zeroize::Zeroize as _;

use crate::event::{DueTick, End, Event, LinkStatus, StallCause, Traffic, WaitsFor};
use crate::table::settings::{HostConfig, Settings};

use self::chat::ChatLimits;
use self::heads::Signing;
use self::play::Play;
use self::rematch::Votes;
use self::seating::Seated;
use super::desync::Search;
use crate::connection::handshake::Listener;
use crate::connection::keys::{CipherKind, Entropy, SecretRng};
use crate::connection::pair_keys::{PairSecret, PublicKey};
use crate::connection::path::Trust;
use crate::connection::signing::{Signer, SigningKey};
use crate::connection::{Connection, QUIET_AFTER, SILENT_AFTER};
use crate::discovery::Beacon;
use crate::join::{Applicant, Seat};
use crate::outbox::{Outbox, Source, Transmit};
use crate::table::admission::{Admission, READY_WITHIN};
use crate::table::hosted_room::HostedRoom;
use crate::table::link::Link;
use crate::table::local_inputs::TooManyCommands;
use crate::table::wakeup::Wakeup;
use crate::time::Time;
use crate::wire::architecture::Architecture;
use crate::wire::message::{ADDRESSES_MAX, JoinConfirm, MatchConfig, PacketId, SeatInfo};
use sim::{Command, HeroControl, PLAYERS_MAX, PlayerId, StateHash, Tick};

/// How many ticks a peer commits beyond the last tick it ran, so that it does not stall others while it is
/// stalled itself.
pub const LEAD_TICKS_MAX: u32 = 32;
/// For this long after a late wake-up, received datagrams may have waited in the socket's buffer and are not
/// measured.
const SAMPLE_HOLDOFF: Duration = Duration::from_millis(100);

enum Role {
    Host {
        room: Box<HostedRoom>,
        teams: ArrayVec<u8, PLAYERS_MAX>,
        countdown: Duration,
        guests: Vec<Guest>,
    },
    Guest {
        via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
        pair_secret: PairSecret,
        cipher: CipherKind,
        /// Deadline for waiting for the start.
        give_up_at: Option<Time>,
    },
}

/// A guest of this host, in the order of the links.
struct Guest {
    seat: SeatInfo,
    is_ready: bool,
    confirm: JoinConfirm,
    addresses: ArrayVec<SocketAddr, ADDRESSES_MAX>,
    /// The connection id that the host uses to address this guest.
    connection_id: u32,
    public_key: PublicKey,
    signing_key: SigningKey,
}

enum Phase {
    /// Seats are being taken.
    Gathering,
    /// All players are there; the caller builds the world.
    Preparing,
    /// The guests connect to each other; the host waits until all have.
    Seating {
        since: Time,
    },
    /// Ticks run.
    Running,
    /// Hash chains differ; the first differing tick is being searched.
    Searching {
        search: Box<Search>,
        since: Time,
    },
    /// All ticks have run, all peers know it, and all stay for a rematch vote.
    Over,
    /// All ticks have run, or a player leaves: goodbyes are exchanged.
    Ending {
        end: End,
        /// Time at which inputs are sent again.
        send_at: Time,
        since: Time,
        /// Once goodbyes have been sent: how long to wait for their acknowledgement.
        until: Option<Time>,
    },
    Closed,
}

/// One peer's view of a lockstep match.
pub struct LockstepSession {
    now: Time,
    wakeup: Wakeup,
    settings: Settings,
    role: Role,
    phase: Phase,
    config: MatchConfig,
    me: PlayerId,
    /// A guest's first link is the one to its host.
    links: ArrayVec<Link, { PLAYERS_MAX - 1 }>,
    seated: Option<Seated>,
    play: Option<Play>,
    chat_limits: ChatLimits,
    votes: Votes,
    signing: Signing,
    rng: SecretRng,
    out: Outbox,
}

impl LockstepSession {
    /// Opens a room. `entropy` must be unpredictable: cookies, connection ids and keys are derived from it.
    ///
    /// # Panics
    /// If there are fewer than two seats, or the number of teams differs from the number of seats.
    #[must_use]
    pub fn host(now: Time, settings: Settings, host: HostConfig, entropy: impl Into<Entropy>) -> Self {
        assert!(
            host.config.seats >= 2 && host.teams.len() == usize::from(host.config.seats),
            "one team per seat"
        );
        let Entropy { seed, cipher } = entropy.into();
        let mut rng = SecretRng::new(&seed);
        let shared_address = host.admission.shared_address || !host.room_code.is_open();
        let listener = Listener::new(now, host.config, host.room_code, cipher, &mut rng);
        let give_up_at = settings.wait.map(|wait| now.plus(wait));
        let admission = Admission::new(now, host.admission.ready_within);
        let room = HostedRoom::new(now, listener, host.beacon, give_up_at, shared_address, admission);
        let room = Box::new(room);
        let mut drawn = [0; 32];
        rng.fill_bytes(&mut drawn);
        let signer = Signer::new(&drawn, cipher);
        drawn.zeroize();
        let signing = Signing::new(signer, cipher);
        let guests = Vec::with_capacity(PLAYERS_MAX - 1);
        let role = Role::Host { room, teams: host.teams, countdown: host.countdown, guests };
        Self::new(now, settings, role, host.config, (signing, rng))
    }

    /// Takes the seat that a host gave.
    ///
    /// # Panics
    /// If a server gave it: that is a [`super::super::ClientSession`]'s.
    #[must_use]
    pub fn seated(now: Time, seat: Seat) -> Self {
        assert_eq!(seat.architecture(), Architecture::P2p, "a seat among peers");
        let Seat { guest, confirm, protection, out } = seat;
        let Applicant { settings, host: at, cipher, pair_secret, signer, via, give_up_at, rng, .. } = guest;
        let role = Role::Guest { via, pair_secret, cipher, give_up_at };
        let mut session = Self::new(now, settings, role, confirm.config, (Signing::new(signer, cipher), rng));
        (session.me, session.out) = (confirm.player, out);
        let path = (&[at][..], Trust::Proven);
        let connection = Connection::new(now, path, protection, &mut session.rng);
        session.links.push(Link::new(now, PlayerId(0), connection));
        session.out.event(Event::Confirmed { player: confirm.player, config: confirm.config });
        session
    }

    fn new(
        now: Time,
        settings: Settings,
        role: Role,
        config: MatchConfig,
        (signing, rng): (Signing, SecretRng),
    ) -> Self {
        Self {
            now,
            wakeup: Wakeup::default(),
            settings,
            role,
            phase: Phase::Gathering,
            config,
            me: PlayerId(0),
            links: ArrayVec::new(),
            seated: None,
            play: None,
            chat_limits: ChatLimits::new(now),
            votes: Votes::default(),
            signing,
            rng,
            out: Outbox::new(Traffic::default()),
        }
    }

    /// Host: sets this computer's own addresses other than loopback, of which the first few are used: players
    /// at these may take all seats.
    pub fn set_own_addresses(&mut self, addresses: impl IntoIterator<Item = IpAddr>) {
        if let Role::Host { room, .. } = &mut self.role {
            room.set_own_addresses(addresses);
        }
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        self.wake(now);
        self.out.count_received(bytes.len());
        let handled = self.dispatch(from.into(), bytes);
        self.out.traffic.count(handled);
        self.note_stalls();
    }

    /// Does everything that is due: commits, sends, retransmits, times out. Call it once
    /// [`Self::poll_timeout`] has passed; calling it earlier or later is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        self.wake(now);
        self.ping_links();
        match self.phase {
            Phase::Gathering => self.gather(),
            Phase::Preparing | Phase::Over | Phase::Closed => {}
            Phase::Seating { .. } => self.seat(),
            Phase::Running => self.run(),
            Phase::Searching { .. } => self.search(),
            Phase::Ending { .. } => self.end(),
        }
        self.report_ready();
        self.watch_silence();
        self.watch_stalls();
        self.agree_on_suspects();
    }

    fn wake(&mut self, now: Time) {
        self.now = self.now.max(now);
        let overslept = self.wakeup.take_lateness(self.now);
        if overslept > Duration::ZERO {
            if let Some(play) = &mut self.play {
                play.ignore_samples_until = self.now.plus(SAMPLE_HOLDOFF);
                play.stalls.forgive(self.now, overslept);
            }
            // The datagrams sent meanwhile have not been read yet: this process was suspended, not the peers.
            for link in &mut self.links {
                link.connection.forgive(self.now, overslept);
            }
            if let (Some(play), Phase::Running) = (&mut self.play, &self.phase) {
                play.wake_late(self.now, self.me);
            }
        }
    }

    /// Returns when [`Self::handle_timeout`] or [`Self::poll_tick`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let pings =
            self.links.iter().filter(|link| self.is_direct(link)).map(|link| link.connection.ping_at).min();
        let phase = match &self.phase {
            Phase::Gathering | Phase::Preparing | Phase::Over => None,
            Phase::Closed => return None,
            Phase::Running => self.next_deadline(),
            Phase::Seating { since } => self.is_host().then(|| since.plus(READY_WITHIN)),
            Phase::Searching { .. } => self.search_until(),
            Phase::Ending { send_at, until, .. } => Some(until.map_or(*send_at, |until| until.min(*send_at))),
        };
        let is_waiting = match self.phase {
            Phase::Gathering => true,
            Phase::Seating { .. } => !self.is_host(),
            _ => false,
        };
        let patience = self.give_up_at().filter(|_| is_waiting);
        let agreeing = self.play.as_ref().filter(|_| self.is_agreeing());
        let suspicion = agreeing.and_then(|play| play.departures.due_at());
        let messages = self.links.iter().filter(|link| self.is_reachable(link));
        let messages = messages.filter_map(|link| link.connection.poll_timeout()).min();
        let closing = self.room().and_then(|room| room.closing.poll_timeout());
        let at = [pings, phase, patience, suspicion, messages, closing].into_iter().flatten().min();
        self.wakeup.ask(self.now, at)
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.out.is_empty() {
            for link in 0..self.links.len() {
                if self.links.get(link).is_some_and(|link| self.is_reachable(link))
                    && let Some(peer) = self.links.get_mut(link)
                {
                    peer.connection.flush(self.now, &mut self.out);
                }
            }
            if let Role::Host { room, .. } = &mut self.role {
                room.closing.flush(self.now, &mut self.out);
            }
        }
        self.out.poll_transmit()
    }

    /// Whether messages are sent to this link's peer. A peer that is given up for its silence may hear this one all the same,
    /// and must learn of it.
    fn is_reachable(&self, link: &Link) -> bool {
        self.is_direct(link) || self.now.since(link.connection.heard_at) < self.settings.timeout * 2
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// The next tick, if it is due and complete. Run it, then call [`Self::report`].
    pub fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        self.now = self.now.max(now);
        // Players who have left are disconnected before a tick could run without them.
        self.settle_leavers();
        if !matches!(self.phase, Phase::Running) {
            return None;
        }
        self.play.as_mut()?.pass(self.now, self.me, &self.links)
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
        match &mut self.play {
            Some(play) => play.own.inputs.command(not_before, given, command),
            None => Ok(()),
        }
    }

    /// The first tick whose input is not committed: commands submitted now become part of it.
    #[must_use]
    pub fn open_tick(&self) -> Tick {
        self.play.as_ref().map_or(Tick(0), |play| play.own.inputs.next())
    }

    /// Sets the hero's held control from tick `not_before` on, or from the earliest possible tick after it.
    pub fn submit_hero(&mut self, not_before: Tick, hero: HeroControl) {
        if let Some(play) = &mut self.play {
            play.own.inputs.hero(not_before, hero);
        }
    }

    /// Reports the world's hash after `tick`, the last tick that [`Self::poll_tick`] returned.
    ///
    /// # Panics
    /// If ticks are not reported in order.
    pub fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        self.now = self.now.max(now);
        let Some(play) = &mut self.play else { return };
        play.ran(self.now, tick, hash);
        let ran = play.history.ran();
        let last = play.end.is_some_and(|end| ran >= end);
        if !self.compare_chains(ran) && last {
            self.begin_ending(End::Finished);
        } else {
            self.settle_leavers();
            self.suspect_false_signers();
        }
    }

    /// The world reports that the match ended with the tick reported last.
    pub fn finish(&mut self) {
        if let (Some(play), Phase::Running) = (&mut self.play, &self.phase) {
            play.end = Some(play.history.ran());
            self.begin_ending(End::Finished);
        }
    }

    /// This player leaves; the other peers are notified.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Closed => {}
            _ if self.links.is_empty() => self.close(End::Left),
            Phase::Ending { end: End::Finished, .. } => self.close(End::Finished),
            Phase::Ending { .. } => {}
            Phase::Over => self.end_vote(),
            _ if self.is_waiting() => self.close(End::Left),
            _ if self.links.iter().all(|link| link.is_gone) => self.close(End::Left),
            _ => self.begin_ending(End::Left),
        }
    }

    /// Returns the protection of each link.
    #[cfg(feature = "doors")]
    pub fn protections(&self) -> impl Iterator<Item = &crate::PacketProtection> {
        self.links.iter().map(|link| &link.connection.protection)
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: SocketAddr, id: PacketId, body: &[u8]) {
        if let Some(link) = self.links.iter_mut().find(|link| link.connection.addresses().contains(&to)) {
            link.connection.forge(id, body);
        }
    }

    /// Commits each input only when its tick is due, as a player does that looks ahead.
    #[cfg(feature = "doors")]
    pub fn commit_late(&mut self) {
        if let Some(play) = &mut self.play {
            let (links, tick_us) = (self.links.len(), play.own.clock.tick_us());
            play.own.delay = crate::table::delay::DelayControl::new(self.now, links, 0, tick_us, true);
        }
    }

    /// Returns a player's input for `tick` if it is known here, whether or not it is time.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn peek(&self, player: PlayerId, tick: Tick) -> Option<sim::PlayerInput> {
        postcard::from_bytes(self.play.as_ref()?.gate.encoded(player, tick)?).ok()
    }

    /// This player's id.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        self.me
    }

    /// The configuration of the match.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.config
    }

    /// The first tick for which no input of this player is committed yet, and the committed inputs of ticks
    /// that have not run, in their canonical bytes; empty before tick 0 is agreed.
    pub fn unconfirmed(&self) -> (Tick, impl Iterator<Item = (Tick, &[u8])>) {
        let next = self.play.as_ref().map_or(Tick(0), |play| play.own.inputs.next());
        let inputs = self.play.iter().flat_map(|play| {
            let from = play.gate.next();
            play.own.inputs.since(from).filter(move |sealed| sealed.tick >= from)
        });
        (next, inputs.map(|sealed| (sealed.tick, &sealed.bytes[..])))
    }

    /// The traffic on all links so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    /// The links to peers that are still in the match, in the order in which they joined.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        self.links.iter().filter(|link| !link.is_gone).map(|link| link.status(self.now))
    }

    /// The input delay now, in microseconds; known once tick 0 is agreed.
    #[must_use]
    pub fn delay_us(&self) -> Option<i64> {
        self.play.as_ref().map(|play| play.own.delay.delay_us())
    }

    /// The player whose input the next tick waits for although it is due.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        let play = self.play.as_ref().filter(|_| matches!(self.phase, Phase::Running))?;
        let (player, since) = play.waits_for(self.now)?;
        let link = self.links.iter().find(|link| link.player == player)?;
        // A computer that is alive sends something in every tick.
        let is_silent = self.now.since(link.connection.heard_at) >= QUIET_AFTER / 2;
        let cause = if is_silent { StallCause::Network } else { StallCause::Computer };
        Some(WaitsFor { player, since, cause })
    }

    /// The room's beacon, while the room is open.
    #[must_use]
    pub fn beacon(&self) -> Option<&Beacon> {
        self.room()?.beacon.as_ref()
    }

    /// Reports peers that are silent, and gives up those that stay silent.
    fn watch_silence(&mut self) {
        for i in 0..self.links.len() {
            // When a link is removed before tick 0, those behind it move down.
            let Some(link) = self.links.get_mut(i).filter(|link| !link.is_gone) else { continue };
            let (player, silence) = (link.player, self.now.since(link.connection.heard_at));
            if (silence >= self.settings.timeout || link.connection.is_broken()) && !link.said_bye {
                self.on_lost(i);
            } else if link.connection.is_flooding() {
                self.on_flood(i);
            } else if silence >= SILENT_AFTER && !link.connection.is_silent {
                link.connection.is_silent = true;
                self.out.event(Event::Silent { player });
            }
        }
    }

    /// Whether tick 0 of this match was agreed: from then on links and seats are fixed.
    fn has_met(&self) -> bool {
        self.seated.as_ref().is_some_and(|seated| seated.begin.is_some())
            && !matches!(self.phase, Phase::Closed)
    }

    const fn is_host(&self) -> bool {
        matches!(self.role, Role::Host { .. })
    }

    /// Returns the deadline for waiting for the guests, or for the host.
    const fn give_up_at(&self) -> Option<Time> {
        match &self.role {
            Role::Host { room, .. } => room.give_up_at,
            Role::Guest { give_up_at, .. } => *give_up_at,
        }
    }

    fn room(&self) -> Option<&HostedRoom> {
        if let Role::Host { room, .. } = &self.role { Some(room) } else { None }
    }

    fn on_lost(&mut self, link: usize) {
        let Some(player) = self.links.get(link).map(|peer| peer.player) else { return };
        // A peer that claims a difference and is lost before proving it is treated as lost only.
        self.drop_search();
        match self.phase {
            Phase::Closed => {}
            // In a rematch seats are not open to other players.
            Phase::Preparing | Phase::Seating { .. } if self.votes.has_played() => {
                self.close(End::PeerLost(player));
            }
            Phase::Gathering | Phase::Preparing | Phase::Seating { .. } if self.is_host() => {
                self.turn_out(link)
            }
            // Without its host a guest has no match yet; detecting a missing guest is the host's task.
            Phase::Gathering | Phase::Preparing | Phase::Seating { .. } if link > 0 => {}
            Phase::Running if self.waits_for_lost(player) => self.wait_for(player),
            Phase::Running => self.suspect(player),
            Phase::Over => self.end_vote(),
            Phase::Searching { .. } => self.give_up_search(),
            Phase::Ending { end: End::Finished, .. } => self.suspect(player),
            Phase::Ending { .. } => self.end(),
            _ => self.close(End::PeerLost(player)),
        }
    }

    fn close(&mut self, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.out.event(Event::Closed(end));
        }
    }

    fn send<T: serde::Serialize>(&mut self, link: usize, id: PacketId, message: &T) {
        if let Some(peer) = self.links.get_mut(link) {
            peer.connection.send(&mut self.out, id, message);
        }
    }

    /// Sends a message to every peer that is still in the match.
    fn send_to_all<T: serde::Serialize>(&mut self, id: PacketId, message: &T) {
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|link| !link.is_gone) {
                self.send(link, id, message);
            }
        }
    }

    fn send_body(&mut self, link: usize, id: PacketId, body: &[u8]) {
        if let Some(peer) = self.links.get_mut(link) {
            peer.connection.transmit(&mut self.out, id, body);
        }
    }

    /// The retransmission timeout of this link, at least `least`.
    fn timeout_of(&self, link: usize, least: Duration) -> Duration {
        self.links.get(link).map_or(least, |peer| peer.connection.rtt.timeout(least))
    }
}
