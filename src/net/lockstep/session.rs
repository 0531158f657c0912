//! One peer of a lockstep match, from tick 0 to the goodbye. It begins with what a room has agreed on.
//!
//! Sans-IO. Bytes and time go in through `handle_*`, the player's intents through `submit_*`, the world's
//! results through [`Lockstep::report`] and [`Lockstep::provide_state`]. Datagrams, ticks and events come out. After every call drain all
//! output: [`Lockstep::poll_transmit`], [`Lockstep::poll_event`],
//! [`Lockstep::poll_tick`] until they are empty, then sleep until [`Lockstep::poll_timeout`]. A
//! stall is a `None`, not an error.

mod chat;
mod departure;
mod ending;
mod fair;
mod heads;
mod mesh;
mod pings;
mod play;
mod receive;
mod search;
mod stalls;

use alloc::boxed::Box;
use arrayvec::ArrayVec;
use core::time::Duration;

use crate::event::{DueTick, End, Event, LinkStatus, StallCause, Traffic, WaitsFor};

use self::chat::ChatLimits;
use self::heads::Signing;
use self::play::Play;
use super::desync::Search;
use crate::connection::{QUIET_AFTER, SILENT_AFTER};
use crate::discovery::Beacon;
use crate::outbox::{Outbox, Source, Transmit};
use crate::play::link::Link;
use crate::play::local_inputs::TooManyCommands;
use crate::room::agreed::Handover;
use crate::room::settings::Settings;
use crate::room::started::{Room, Started};
use crate::time::Time;
use crate::wakeup::Wakeup;
use crate::wire::architecture::Architecture;
use crate::wire::message::MatchConfig;
use sim::{Command, HeroControl, PLAYERS_MAX, PlayerId, StateHash, Tick};

/// How many ticks a peer commits beyond the last tick it ran, so that it does not stall others while it is
/// stalled itself.
pub const LEAD_TICKS_MAX: u32 = 32;
/// For this long after a late wake-up, received datagrams may have waited in the socket's buffer and are not
/// measured.
const SAMPLE_HOLDOFF: Duration = Duration::from_millis(100);

enum Phase {
    /// Ticks run.
    Running,
    /// Hash chains differ; the first differing tick is being searched.
    Searching {
        search: Box<Search>,
        since: Time,
    },
    /// All ticks have run, and all stay: the caller takes the room back.
    Over,
    /// All ticks have run, or a player leaves: goodbyes are exchanged.
    Ending {
        end: End,
        since: Time,
        /// Whether goodbyes have been said.
        is_closing: bool,
    },
    Closed,
}

/// The links to all peers, and the inputs that travel on them. It knows no phases of the session.
struct Mesh {
    now: Time,
    settings: Settings,
    config: MatchConfig,
    me: PlayerId,
    /// A guest's first link is the one to its host.
    links: ArrayVec<Link, { PLAYERS_MAX - 1 }>,
    play: Play,
    chat_limits: ChatLimits,
    signing: Signing,
    out: Outbox,
}

impl Phase {
    /// Whether ticks run.
    const fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// Whether an agreement on disconnects may be in progress.
    const fn is_agreeing(&self) -> bool {
        matches!(self, Self::Running | Self::Ending { end: End::Finished, .. })
    }
}

/// One peer's view of a lockstep match.
pub struct Lockstep {
    wakeup: Wakeup,
    room: Room,
    phase: Phase,
    mesh: Mesh,
}

impl Lockstep {
    /// Begins a match with what a room has agreed on.
    ///
    /// # Panics
    /// If it is a room of a match with a server: that is a [`super::super::Follower`]'s.
    #[must_use]
    pub fn start(now: Time, started: Started) -> Self {
        let Started { given, mut room } = started;
        let Handover { now: noticed, agreed, mut peers, out } = given;
        let now = now.max(noticed);
        let (config, me, begin) = (*room.config(), room.player(), agreed.begin);
        assert_eq!(config.architecture, Architecture::P2p, "a room of peers");
        let Some((settings, signer, cipher)) = room.own() else { unreachable!("a peer plays") };
        let (settings, signing) = (settings.clone(), Signing::new(signer.clone(), cipher));
        let links: ArrayVec<Link, { PLAYERS_MAX - 1 }> =
            peers.take_all().map(|(player, connection)| Link::new(player, connection)).collect();
        let mut play = Play::new((now, begin), &config, &settings, links.len());
        play.prepare_fair(now, &config, &agreed.seating, room.draw(), links.len());
        play.heads = signing.heads(now, (&agreed.seating, me), config.tick_rate);
        let chat_limits = ChatLimits::new(now);
        let mut mesh = Mesh { now, settings, config, me, links, play, chat_limits, signing, out };
        mesh.guess_delay();
        // Inputs are sent at tick 0 at the latest.
        mesh.resend_at(Some(begin));
        mesh.out.event(Event::Counting { begin });
        let mut session = Self { wakeup: Wakeup::default(), room, phase: Phase::Running, mesh };
        for link in 0..session.mesh.links.len() {
            session.take_messages(link);
        }
        session
    }

    /// The match is over, and all have stayed ([`Event::Over`]): the room for the next one.
    ///
    /// # Panics
    /// If they have not.
    #[must_use]
    pub fn into_room(self, now: Time) -> Room {
        assert!(self.stays(), "all have stayed");
        let peers = self.mesh.links.into_iter().map(|link| (link.player, link.connection));
        self.room.again(now, peers, self.mesh.out)
    }

    /// Whether the match is over, and all have stayed.
    #[must_use]
    pub const fn stays(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        self.wake(now);
        self.mesh.out.count_received(bytes.len());
        let handled = self.dispatch(from.into(), bytes);
        self.mesh.out.traffic.count(handled);
        self.mesh.note_stalls(self.phase.is_running());
    }

    /// Does everything that is due: commits, sends, retransmits, times out. Call it once
    /// [`Self::poll_timeout`] has passed; calling it earlier or later is harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        self.wake(now);
        match self.phase {
            Phase::Closed => return,
            Phase::Running => self.mesh.run(),
            Phase::Searching { .. } => self.search(),
            Phase::Ending { .. } => self.end(),
            Phase::Over => {}
        }
        self.mesh.ping_links();
        self.watch_silence();
        self.watch_stalls();
        self.agree_on_suspects();
    }

    fn wake(&mut self, now: Time) {
        self.mesh.now = self.mesh.now.max(now);
        let overslept = self.wakeup.take_lateness(self.mesh.now);
        if overslept > Duration::ZERO {
            self.mesh.play.ignore_samples_until = self.mesh.now.plus(SAMPLE_HOLDOFF);
            self.mesh.play.stalls.forgive(self.mesh.now, overslept);
            // The datagrams sent meanwhile have not been read yet: this process was suspended, not the peers.
            for link in &mut self.mesh.links {
                link.connection.forgive(self.mesh.now, overslept);
            }
            if matches!(self.phase, Phase::Running) {
                self.mesh.play.wake_late(self.mesh.now, self.mesh.me);
            }
        }
    }

    /// Returns when [`Self::handle_timeout`] or [`Self::poll_tick`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let phase = match &self.phase {
            Phase::Closed => return None,
            Phase::Running => self.mesh.next_deadline(),
            Phase::Searching { search, since } => Some(search.until(*since, &self.mesh)),
            Phase::Ending { .. } | Phase::Over => None,
        };
        let direct = self.mesh.links.iter().filter(|link| link.is_direct());
        let links = direct.filter_map(|link| link.connection.timers.next()).min();
        let reachable = self.mesh.links.iter().filter(|link| self.mesh.is_reachable(link));
        let messages = reachable.filter_map(|link| link.connection.poll_timeout()).min();
        let own = self.mesh.play.timers.next();
        let at = [phase, own, links, messages, self.room.poll_timeout()].into_iter().flatten().min();
        self.wakeup.ask(self.mesh.now, at)
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        if self.mesh.out.is_empty() {
            for link in 0..self.mesh.links.len() {
                if self.mesh.links.get(link).is_some_and(|link| self.mesh.is_reachable(link))
                    && let Some(peer) = self.mesh.links.get_mut(link)
                {
                    peer.connection.flush(self.mesh.now, &mut self.mesh.out);
                }
            }
            self.room.flush(self.mesh.now, &mut self.mesh.out);
        }
        self.mesh.out.poll_transmit()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.mesh.out.poll_event()
    }

    /// The next tick, if it is due and complete. Run it, then call [`Self::report`].
    pub fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        self.mesh.now = self.mesh.now.max(now);
        // Players who have left are disconnected before a tick could run without them.
        self.settle_leavers();
        if !matches!(self.phase, Phase::Running) {
            return None;
        }
        self.mesh.play.pass(self.mesh.now, self.mesh.me, &self.mesh.links)
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
        self.mesh.play.own.inputs.command(not_before, given, command)
    }

    /// The first tick whose input is not committed: commands submitted now become part of it.
    #[must_use]
    pub fn open_tick(&self) -> Tick {
        self.mesh.play.own.inputs.next()
    }

    /// Sets the hero's held control from tick `not_before` on, or from the earliest possible tick after it.
    pub fn submit_hero(&mut self, not_before: Tick, hero: HeroControl) {
        self.mesh.play.own.inputs.hero(not_before, hero);
    }

    /// Reports the world's hash after `tick`, the last tick that [`Self::poll_tick`] returned.
    ///
    /// # Panics
    /// If ticks are not reported in order.
    pub fn report(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        self.mesh.now = self.mesh.now.max(now);
        let play = &mut self.mesh.play;
        play.ran(self.mesh.now, tick, hash);
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
        if matches!(self.phase, Phase::Running) {
            self.mesh.play.end = Some(self.mesh.play.history.ran());
            self.begin_ending(End::Finished);
        }
    }

    /// This player leaves; the other peers are notified.
    pub fn leave(&mut self) {
        match self.phase {
            Phase::Closed => {}
            _ if self.mesh.links.is_empty() => self.close(End::Left),
            Phase::Ending { end: End::Finished, .. } => self.close(End::Finished),
            Phase::Ending { .. } => {}
            Phase::Over => self.close(End::Finished),
            Phase::Running if self.mesh.play.departures.awaited().is_some() => self.close(End::Left),
            _ if self.mesh.links.iter().all(|link| link.is_gone) => self.close(End::Left),
            _ => self.begin_ending(End::Left),
        }
    }

    /// Returns the protection of each link.
    #[cfg(feature = "doors")]
    pub fn protections(&self) -> impl Iterator<Item = &crate::PacketProtection> {
        self.mesh.links.iter().map(|link| &link.connection.protection)
    }

    /// Sends an arbitrary message over the reliable channel to this address.
    #[cfg(feature = "doors")]
    pub fn forge(&mut self, to: core::net::SocketAddr, id: crate::message::PacketId, body: &[u8]) {
        if let Some(link) = self.mesh.links.iter_mut().find(|link| link.connection.addresses().contains(&to))
        {
            link.connection.forge(id, body);
        }
    }

    /// Commits each input only when its tick is due, as a player does that looks ahead.
    #[cfg(feature = "doors")]
    pub fn commit_late(&mut self) {
        let (links, tick_us) = (self.mesh.links.len(), self.mesh.play.own.clock.tick_us());
        self.mesh.play.own.delay =
            crate::play::delay::DelayControl::new(self.mesh.now, links, 0, tick_us, true);
    }

    /// Returns a player's input for `tick` if it is known here, whether or not it is time.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn peek(&self, player: PlayerId, tick: Tick) -> Option<sim::PlayerInput> {
        self.mesh.play.gate.input(player, tick)
    }

    /// This player's id.
    #[must_use]
    pub const fn player(&self) -> PlayerId {
        self.mesh.me
    }

    /// The configuration of the match.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        &self.mesh.config
    }

    /// The first tick for which no input of this player is committed yet, and the committed inputs of ticks
    /// that have not run.
    pub fn unconfirmed(&self) -> (Tick, impl Iterator<Item = (Tick, &crate::EncodedInput)>) {
        let (own, from) = (&self.mesh.play.own.inputs, self.mesh.play.gate.next());
        let inputs = own.since(from).filter(move |sealed| sealed.tick >= from);
        (own.next(), inputs.map(|sealed| (sealed.tick, &sealed.bytes)))
    }

    /// The traffic on all links so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.mesh.out.traffic
    }

    /// The links to peers that are still in the match, in the order in which they joined.
    pub fn links(&self) -> impl Iterator<Item = LinkStatus> {
        self.mesh.links.iter().filter(|link| !link.is_gone).map(|link| link.status(self.mesh.now))
    }

    /// The input delay now, in microseconds.
    #[must_use]
    pub const fn delay_us(&self) -> i64 {
        self.mesh.play.own.delay.delay_us()
    }

    /// The player whose input the next tick waits for although it is due.
    #[must_use]
    pub fn waits_for(&self) -> Option<WaitsFor> {
        let is_running = matches!(self.phase, Phase::Running);
        let (player, since) = self.mesh.play.waits_for(self.mesh.now).filter(|_| is_running)?;
        let link = self.mesh.links.iter().find(|link| link.player == player)?;
        // A computer that is alive sends something in every tick.
        let is_silent = self.mesh.now.since(link.connection.heard_at) >= QUIET_AFTER / 2;
        let cause = if is_silent { StallCause::Network } else { StallCause::Computer };
        Some(WaitsFor { player, since, cause })
    }

    /// The room's beacon, while the room is open.
    #[must_use]
    pub const fn beacon(&self) -> Option<&Beacon> {
        self.room.beacon()
    }

    /// Reports peers that are silent, and gives up those that stay silent.
    fn watch_silence(&mut self) {
        for i in 0..self.mesh.links.len() {
            let Some(link) = self.mesh.links.get_mut(i).filter(|link| !link.is_gone) else { continue };
            let (player, silence) = (link.player, self.mesh.now.since(link.connection.heard_at));
            if (silence >= self.mesh.settings.timeout || link.connection.is_broken()) && !link.said_bye {
                self.on_lost(i);
            } else if link.connection.is_flooding() {
                match self.phase {
                    Phase::Searching { .. } => {}
                    // Also where the match would wait for a silent peer.
                    Phase::Running => self.suspect(player),
                    _ => self.on_lost(i),
                }
            } else if silence >= SILENT_AFTER && !link.connection.is_silent {
                link.connection.is_silent = true;
                self.mesh.out.event(Event::Silent { player });
            }
        }
    }

    fn on_lost(&mut self, link: usize) {
        let Some(player) = self.mesh.links.get(link).map(|peer| peer.player) else { return };
        // A peer that claims a difference and is lost before proving it is treated as lost only.
        self.drop_search();
        match self.phase {
            Phase::Closed => {}
            Phase::Running if self.mesh.waits_for_lost(player) => self.mesh.wait_for(player),
            Phase::Running => self.suspect(player),
            Phase::Over => self.close(End::Finished),
            Phase::Searching { .. } => self.give_up_search(),
            Phase::Ending { end: End::Finished, .. } => self.suspect(player),
            Phase::Ending { .. } => self.end(),
        }
    }

    fn close(&mut self, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.mesh.out.event(Event::Closed(end));
        }
    }
}
