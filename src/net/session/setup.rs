//! Before tick 0: knocking, seats, the start barrier; and the pings that go on for ever.

use core::net::SocketAddr;
use core::time::Duration;

use super::play::Play;
use super::{End, Event, Guest, GuestConfig, LockstepSession, Phase, Role, Settings};
use crate::net::architecture::Architecture;
use crate::net::door::{Answer, Knock, REQUEST_EVERY, refuse};
use crate::net::link::{Link, PING_RUNNING, PING_SETUP};
use crate::net::message::{
    Acknowledge, Bye, JoinConfirm, JoinRequest, MatchConfig, PacketId, Ping, Pong, Refusal, Roster, SeatInfo,
    Start, handshake,
};
use crate::net::seal::Seal;
use crate::net::time::Time;
use crate::sim::{PlayerId, SIMULATION_BUILD, StateHash, Tick};
use rand_chacha::rand_core::Rng as _;

/// Between two Starts to a guest that has not acknowledged one.
const START_EVERY: Duration = Duration::from_millis(50);

/// The request that a guest sends, without a cookie yet.
pub(super) fn request(
    settings: &Settings,
    guest: &GuestConfig,
    nonce: u64,
    connection_id: u32,
) -> JoinRequest {
    JoinRequest {
        nonce,
        cookie: [0; 16],
        connection_id,
        simulation_build: SIMULATION_BUILD,
        name: settings.name,
        hero: settings.hero,
        seat: guest.seat,
        room: guest.room_code,
        rules: guest.rules,
        map: guest.map,
        ticks: guest.ticks,
        tick_rate: guest.tick_rate,
    }
}

impl LockstepSession {
    /// Host: somebody wants in.
    pub(super) fn on_knock(&mut self, from: SocketAddr, body: &[u8]) -> Option<()> {
        let Role::Host { door, guests, .. } = &self.role else { return None };
        let request = match door.knock(self.now, from, body).ok()? {
            Knock::Answer(answer) => {
                self.transmit(from, answer);
                return Some(());
            }
            Knock::Welcome(request) => request,
        };
        if let Some(known) = guests.iter().position(|guest| guest.nonce == request.nonce) {
            let confirm = guests[known].confirm.clone();
            self.transmit(from, confirm);
            return Some(());
        }
        match self.free_seat(&request) {
            Ok(player) => self.seat_guest(from, player, &request),
            Err(reason) => self.transmit(from, refuse(request.nonce, reason)),
        }
        Some(())
    }

    /// The seat a guest may take: the one it asks for, or the lowest that is free.
    fn free_seat(&self, request: &JoinRequest) -> Result<PlayerId, Refusal> {
        let seats = self.config.as_ref().map_or(0, |config| config.seats);
        let is_free = |seat: u8| {
            let player = PlayerId(seat);
            seat < seats && player != self.me && self.links.iter().all(|link| link.player != player)
        };
        if !matches!(self.phase, Phase::Gathering) {
            return Err(Refusal::Running);
        }
        match request.seat {
            Some(seat) if is_free(seat) => Ok(PlayerId(seat)),
            Some(seat) => Err(Refusal::Seat { seat, seats }),
            None => (0..seats).find(|&seat| is_free(seat)).map(PlayerId).ok_or(Refusal::Full { seats }),
        }
    }

    fn seat_guest(&mut self, from: SocketAddr, player: PlayerId, request: &JoinRequest) {
        let connection_id = self.rng.next_u32();
        let Role::Host { door, teams, guests, .. } = &mut self.role else { return };
        let confirm =
            JoinConfirm { nonce: request.nonce, player: player.0, connection_id, config: door.config };
        let confirm = handshake(PacketId::JoinConfirm, &confirm);
        let seat = SeatInfo { name: request.name, hero: request.hero, team: teams[player.index()] };
        guests.push(Guest { nonce: request.nonce, seat, confirm: confirm.clone() });
        let seal = Seal::new(connection_id, request.connection_id);
        self.links.push(Link::new(self.now, player, from, true, seal));
        self.transmit(from, confirm);
        self.event(Event::Joined { player, name: request.name });
        self.count_players();
        self.prepare_if_full();
    }

    /// Host: a guest that is gone before tick 0 is agreed loses its seat, and the room is open again.
    pub(super) fn vacate(&mut self, link: usize) {
        let player = self.links.remove(link).player;
        if let Role::Host { guests, .. } = &mut self.role {
            guests.remove(link);
        }
        self.phase = Phase::Gathering;
        self.play = None;
        for link in &mut self.links {
            link.has_started = false;
        }
        self.event(Event::Vacated { player });
        self.count_players();
    }

    fn count_players(&mut self) {
        let players = self.links.len() as u8 + 1;
        if let Some(beacon) = &mut self.beacon {
            beacon.players = players;
        }
    }

    fn prepare_if_full(&mut self) {
        let Role::Host { teams, guests, .. } = &self.role else { return };
        if self.links.len() + 1 < teams.len() {
            return;
        }
        let seat_of = |seat: usize| {
            let own = SeatInfo { name: self.settings.name, hero: self.settings.hero, team: teams[seat] };
            let guest = self.links.iter().position(|link| link.player.index() == seat);
            guest.map_or(own, |guest| guests[guest].seat)
        };
        self.roster = (0..teams.len()).map(seat_of).collect();
        self.phase = Phase::Preparing;
        self.event(Event::Prepare { roster: self.roster.clone() });
    }

    /// Guest: the host has answered.
    pub(super) fn on_answer(&mut self, from: SocketAddr, id: PacketId, body: &[u8]) -> Option<()> {
        let Role::Guest(asking) = &mut self.role else { return None };
        if from != asking.host || !self.links.is_empty() || !matches!(self.phase, Phase::Gathering) {
            return None;
        }
        match asking.answer(id, body).ok()? {
            Answer::Again => asking.ask_at = self.now,
            Answer::Confirmed(confirm) => self.on_confirmed(&confirm)?,
            Answer::Refused(reason) => self.close(End::Refused(reason)),
            Answer::Unrelated => return None,
        }
        Some(())
    }

    fn on_confirmed(&mut self, confirm: &JoinConfirm) -> Option<()> {
        let Role::Guest(asking) = &self.role else { return None };
        let MatchConfig { seats, architecture, .. } = confirm.config;
        if seats != 2 || confirm.player >= seats || architecture != Architecture::P2p {
            return None;
        }
        self.me = PlayerId(confirm.player);
        self.config = Some(confirm.config);
        // With two seats the other one is the host's.
        let host = PlayerId(1 - confirm.player);
        let seal = Seal::new(asking.request.connection_id, confirm.connection_id);
        self.links.push(Link::new(self.now, host, asking.host, false, seal));
        self.event(Event::Confirmed { player: self.me, config: confirm.config });
        Some(())
    }

    /// While seats are being taken: the guest asks again, the patience of both ends.
    pub(super) fn gather(&mut self) {
        if self.give_up_at.is_some_and(|at| self.now >= at) {
            self.close(End::NoAnswer);
            return;
        }
        let now = self.now;
        if let Role::Guest(asking) = &mut self.role
            && self.links.is_empty()
            && now >= asking.ask_at
        {
            asking.ask_at = now.plus(REQUEST_EVERY);
            let (to, datagram) = (asking.host, asking.datagram());
            self.transmit(to, datagram);
        }
    }

    /// The world before tick 0 is built, and this is its hash.
    ///
    /// # Panics
    /// If no [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash) {
        self.now = self.now.max(now);
        assert!(matches!(self.phase, Phase::Preparing), "nothing to prepare");
        let config = self.config.expect("confirmed");
        let (delay, links) = (self.settings.input_delay, self.links.len());
        self.play = Some(Play::new(self.now, &config, delay, self.delay_guess_us(), hash.whole, links));
        match &self.role {
            Role::Host { countdown, .. } => {
                let begin = self.now.plus(*countdown);
                self.phase = Phase::Barrier { begin, send_at: self.now };
            }
            // The Start that came with the roster is repeated until it is acknowledged, with a better time.
            Role::Guest(_) => {
                self.phase = Phase::Barrier { begin: self.now, send_at: self.now.plus(self.settings.timeout) }
            }
        }
    }

    /// The input delay to begin with: the longest way, and what may come on top of it.
    fn delay_guess_us(&self) -> i64 {
        let guess = |link: &Link| link.rtt.smoothed_us().unwrap_or(0) / 2 + link.rtt.deviation_us() / 4;
        self.links.iter().map(guess).max().unwrap_or(0).cast_signed()
    }

    /// Host: tell those who do not know yet when tick 0 is; begin once all do.
    pub(super) fn barrier(&mut self) {
        let Phase::Barrier { begin, send_at } = self.phase else { return };
        if matches!(self.role, Role::Guest(_)) || self.now < send_at {
            return;
        }
        // Tick 0 waits for the slowest acknowledgement.
        let begin = begin.max(self.now.plus(START_EVERY));
        let state_hash = self.play.as_ref().expect("prepared").start_hash;
        let begin_in_us = begin.since(self.now).as_micros() as u32;
        let start = Start { roster: self.roster.clone(), begin_in_us, state_hash };
        for link in 0..self.links.len() {
            if !self.links[link].has_started {
                self.send(link, PacketId::Start, &start);
            }
        }
        self.phase = Phase::Barrier { begin, send_at: self.now.plus(START_EVERY) };
    }

    /// Guest: all are there, and the host says when tick 0 is.
    pub(super) fn on_start(&mut self, link: usize, start: Start) -> Option<()> {
        let config = self.config?;
        if matches!(self.role, Role::Host { .. }) || start.roster.len() != usize::from(config.seats) {
            return None;
        }
        match self.phase {
            Phase::Gathering => {
                if start.roster.iter().any(|seat| usize::from(seat.team) >= crate::sim::PLAYERS_MAX) {
                    return None;
                }
                self.roster = start.roster;
                self.phase = Phase::Preparing;
                let roster: Roster = self.roster.clone();
                self.event(Event::Prepare { roster });
                Some(())
            }
            Phase::Barrier { .. } => {
                let state_hash = self.play.as_ref()?.start_hash;
                self.send(link, PacketId::Acknowledge, &Acknowledge::Start { state_hash });
                if start.state_hash != state_hash {
                    self.begin_ending(End::StartState);
                    return Some(());
                }
                let one_way = Duration::from_micros(self.links[link].rtt.smoothed_us().unwrap_or(0) / 2);
                let begin = self.now.plus(Duration::from_micros(u64::from(start.begin_in_us)));
                self.begin_running(Time(begin.0.saturating_sub(one_way.as_micros() as u64)));
                Some(())
            }
            // The acknowledgement was lost.
            Phase::Running => {
                let state_hash = self.play.as_ref()?.start_hash;
                self.send(link, PacketId::Acknowledge, &Acknowledge::Start { state_hash });
                Some(())
            }
            _ => None,
        }
    }

    /// Host: a guest knows when tick 0 is.
    pub(super) fn on_start_acknowledged(&mut self, link: usize, state_hash: u64) -> Option<()> {
        let Phase::Barrier { begin, .. } = self.phase else { return Some(()) };
        if state_hash != self.play.as_ref()?.start_hash {
            self.send(link, PacketId::Bye, &Bye::StartState);
            self.close(End::StartState);
            return Some(());
        }
        self.links[link].has_started = true;
        if self.links.iter().all(|link| link.has_started) {
            self.begin_running(begin);
        }
        Some(())
    }

    fn begin_running(&mut self, begin: Time) {
        let now = self.now;
        let play = self.play.as_mut().expect("prepared");
        play.begin(now, begin);
        for link in &mut self.links {
            link.resend_at = begin;
        }
        self.phase = Phase::Running;
        self.event(Event::Counting { begin });
    }

    /// Asks every peer for the time, more often before the match.
    pub(super) fn ping_links(&mut self) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        let is_begun = self.play.as_ref().is_some_and(|play| play.history.ran().0 > 0);
        for link in 0..self.links.len() {
            if self.now >= self.links[link].ping_at {
                self.links[link].ping_at = self.now.plus(if is_begun { PING_RUNNING } else { PING_SETUP });
                self.send(link, PacketId::Ping, &Ping { time_us: self.now.0 });
            }
        }
    }

    pub(super) fn on_ping(&mut self, link: usize, ping: Ping) -> Option<()> {
        let is_running = matches!(self.phase, Phase::Running);
        let clock_us = self.play.as_ref().filter(|_| is_running).map(|play| play.clock.position_us(self.now));
        let delay_us = u32::try_from(self.delay_us().unwrap_or(0)).unwrap_or(0);
        let lost_per_mille = self.links[link].lost_here;
        let pong = Pong { echo_us: ping.time_us, clock_us, delay_us, lost_per_mille };
        self.send(link, PacketId::Pong, &pong);
        Some(())
    }

    pub(super) fn on_pong(&mut self, link_index: usize, pong: Pong) -> Option<()> {
        // A hundred hours are far beyond every match that is still in step.
        const CLOCK_MAX_US: u64 = 100 * 3_600_000_000;
        if pong.echo_us > self.now.0 || pong.clock_us.is_some_and(|us| us.unsigned_abs() > CLOCK_MAX_US) {
            return None;
        }
        let sample = self.now.since(Time(pong.echo_us));
        let link = &mut self.links[link_index];
        link.rtt.observe(sample);
        link.lost_there = pong.lost_per_mille.min(1000);
        // A sample that took long says little about the other clock.
        let usual_us = link.rtt.smoothed_us().unwrap_or(0) + link.rtt.deviation_us();
        let guess_us = self.delay_guess_us();
        let Some(play) = &mut self.play else { return Some(()) };
        if play.sealer.next() == Tick(0) {
            play.delay.restart(guess_us);
        }
        let Some(theirs) = pong.clock_us.filter(|_| matches!(self.phase, Phase::Running)) else {
            return Some(());
        };
        let theirs = theirs + sample.as_micros() as i64 / 2;
        if sample.as_micros() as u64 <= usual_us {
            play.clock.observe(self.now, theirs);
            let ahead_us = play.clock.position_us(self.now) - theirs;
            self.links[link_index].seals_at = Some(ahead_us - i64::from(pong.delay_us));
        }
        Some(())
    }
}
