//! One peer on the virtual network: a match, a clock, a socket with a bounded buffer, a computer that may be
//! slow or stand still.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::game::{Match, MatchError, Node as _, Summary};
use crate::lab::scenario::PeerClock;
use crate::net::message::PacketId;
use crate::net::{DueTick, Time, Transmit};
use crate::sim::{Command, StateHash};

/// Datagrams that wait in the socket of a computer that stands still: what Linux keeps of small ones by
/// default.
const SOCKET_MAX: usize = 256;

/// A peer.
pub(super) struct Peer {
    pub(super) clock: PeerClock,
    /// What a step costs.
    pub(super) cost: Duration,
    /// Datagrams sent.
    pub(super) sent: u64,
    /// When the match was over here.
    pub(super) ended_at: Time,
    state: State,
    socket: VecDeque<(Time, SocketAddr, Vec<u8>)>,
    /// Until then the computer does something else, or nothing.
    busy_until: Time,
    is_paused: bool,
    numbered_at: Option<Time>,
    is_leaving: bool,
}

enum State {
    Absent(Time),
    Open(Box<Match>),
    Over(Box<Result<Summary, MatchError>>),
    Crashed,
}

impl PeerClock {
    /// What it shows at an instant of network time.
    pub(super) fn shows(self, now: Time) -> Time {
        let drift = now.0.cast_signed() * self.drift_ppm / 1_000_000;
        Time(self.offset_us + now.0.saturating_add_signed(drift))
    }

    /// The first instant of network time at which it shows `local` or later.
    fn instant(self, local: Time) -> Time {
        let elapsed = local.0.saturating_sub(self.offset_us);
        let guess = (u128::from(elapsed) * 1_000_000 / (1_000_000 + self.drift_ppm) as u128) as u64;
        let from = guess.saturating_sub(2);
        (from..).map(Time).find(|&at| self.shows(at) >= local).unwrap_or(Time(u64::MAX))
    }
}

impl Peer {
    pub(super) const fn new(clock: PeerClock, start: Time) -> Self {
        Self {
            clock,
            cost: Duration::ZERO,
            sent: 0,
            ended_at: Time(0),
            state: State::Absent(start),
            socket: VecDeque::new(),
            busy_until: Time(0),
            is_paused: false,
            numbered_at: None,
            is_leaving: false,
        }
    }

    /// Whether it is time for it to come.
    pub(super) fn begins(&self, now: Time) -> bool {
        matches!(self.state, State::Absent(start) if start <= now)
    }

    pub(super) fn begin(&mut self, game: Match) {
        self.state = State::Open(Box::new(game));
    }

    /// Its match, until that is over.
    pub(super) fn game(&self) -> Option<&Match> {
        if let State::Open(game) = &self.state { Some(game) } else { None }
    }

    pub(super) fn game_mut(&mut self) -> Option<&mut Match> {
        if let State::Open(game) = &mut self.state { Some(game) } else { None }
    }

    /// Whether it has yet to come, or plays.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.state, State::Absent(_) | State::Open(_))
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    pub(super) const fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    /// Whether this player has left by its own will.
    pub(super) const fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    pub(super) fn crash(&mut self) {
        self.state = State::Crashed;
        self.socket.clear();
    }

    /// Its session sends what it does not mean.
    pub(super) fn forge(&mut self, to: SocketAddr, id: PacketId, body: &[u8]) {
        if let State::Open(game) = &mut self.state {
            game.forge(to, id, body);
        }
    }

    pub(super) fn leave(&mut self) {
        if let State::Open(game) = &mut self.state {
            (self.is_leaving, self.numbered_at) = (true, None);
            game.leave();
        }
    }

    /// Stands still until `until`.
    pub(super) fn pause(&mut self, until: Time) {
        self.busy_until = self.busy_until.max(until);
        self.is_paused = true;
    }

    /// A datagram comes in. False if there was no room for it.
    pub(super) fn receive(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) -> bool {
        if !self.is_running() {
            return true;
        }
        if self.socket.len() >= SOCKET_MAX {
            return false;
        }
        self.socket.push_back((now, from, bytes.to_vec()));
        true
    }

    /// When it has something to do, in network time.
    pub(super) fn next_at(&self) -> Option<Time> {
        match &self.state {
            State::Absent(start) => Some(*start),
            State::Open(game) => {
                let socket = self.socket.front().map(|&(at, ..)| at);
                let timer = game.poll_timeout().map(|local| self.clock.instant(local));
                let next = [socket, timer, self.numbered_at].into_iter().flatten().min()?;
                Some(next.max(self.busy_until))
            }
            State::Over(_) | State::Crashed => None,
        }
    }

    /// Whether it has something to do now.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.is_running() && self.next_at().is_some_and(|at| at <= now)
    }

    /// Whether a numbered command is due; one comes each `every` from tick 0 on.
    pub(super) fn gives_at(&mut self, every: Duration, now: Time) -> bool {
        let State::Open(game) = &self.state else { return false };
        if game.begin().is_none() || self.is_leaving {
            return false;
        }
        let at = *self.numbered_at.get_or_insert(now);
        if at > now {
            return false;
        }
        self.numbered_at = Some(at.plus(every));
        true
    }

    pub(super) fn submit(&mut self, now: Time, command: Command) -> bool {
        let local = self.clock.shows(now);
        let State::Open(game) = &mut self.state else { return false };
        game.submit_command(local, command)
    }

    /// Takes in what has come and does what is due.
    ///
    /// # Errors
    /// With its message if the peer panics; it is gone then.
    pub(super) fn advance(&mut self, now: Time, ran: impl FnMut(&DueTick, &StateHash)) -> Result<(), String> {
        let local = self.clock.shows(now);
        let State::Open(game) = &mut self.state else { return Ok(()) };
        let (socket, clock, is_paused) = (&mut self.socket, self.clock, core::mem::take(&mut self.is_paused));
        let result = guarded(|| {
            for (at, from, bytes) in socket.drain(..) {
                // A thread of its own notes when a datagram comes, unless the whole computer stands still.
                let at = if is_paused { local } else { clock.shows(at) };
                game.handle_datagram(at, from, &bytes);
            }
            game.advance_with(local, ran);
            while game.poll_event().is_some() {}
        });
        self.busy_until = now.plus(self.cost);
        if result.is_err() {
            self.crash();
        }
        result
    }

    /// The next datagram to send. After the last of a match that is over, the match is.
    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        let State::Open(game) = &mut self.state else { return None };
        let next = game.poll_transmit();
        if next.is_none() && game.is_over() {
            let State::Open(game) = core::mem::replace(&mut self.state, State::Crashed) else { return None };
            self.state = State::Over(Box::new(game.into_summary()));
            self.socket.clear();
        }
        next
    }

    /// How its match ended, or `None` if it was gone before; an open one is given back.
    pub(super) fn into_end(self) -> Option<Result<Result<Summary, MatchError>, ()>> {
        match self.state {
            State::Over(result) => Some(Ok(*result)),
            State::Absent(_) | State::Open(_) => Some(Err(())),
            State::Crashed => None,
        }
    }
}

/// Takes a step of a program that may break down.
///
/// # Errors
/// With its message if it panics.
pub(in crate::lab) fn guarded(step: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(step)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("without a word").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_drifts_shows_each_instant_once() {
        for drift_ppm in [-10_000, -1, 0, 3, 10_000] {
            let clock = PeerClock { offset_us: 5_000_000, drift_ppm };
            for local in (5_000_000..5_400_000).step_by(997) {
                let at = clock.instant(Time(local));
                assert!(clock.shows(at) >= Time(local));
                assert!(at == Time(0) || clock.shows(Time(at.0 - 1)) < Time(local), "{drift_ppm} ppm");
            }
        }
        assert_eq!(PeerClock { offset_us: 0, drift_ppm: 10_000 }.shows(Time(1_000_000)), Time(1_010_000));
    }
}
