//! Model of a computer and its process, observed from outside: a clock with errors, a socket with a bounded buffer, a
//! processor that may be slow or suspended, its processor time, and the state of the process.

use core::cell::Cell;
use core::time::Duration;
use std::collections::VecDeque;

use crate::jobs::guarded;
use crate::timing::Cpu;
use game::{Match, MatchEvent, MatchOutcome, Node};
use net::{Source, Time, Transmit};

/// Maximum number of small datagrams in the socket buffer of a suspended computer: Linux's default.
const SOCKET_MAX: usize = 256;

/// Clock of a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerClock {
    /// Offset at the start, in microseconds.
    pub offset_us: u64,
    /// Drift in parts per million; positive if the clock is fast.
    pub drift_ppm: i64,
}

/// Computer. Its times are those of the network; its node sees those of its clock.
pub struct Machine<N> {
    /// Clock of the computer.
    pub clock: PeerClock,
    /// Processor time of a step.
    pub cost: Duration,
    /// Number of datagrams dropped because the socket buffer was full.
    pub overflows: u32,
    /// Time at which the match ended here.
    pub ended_at: Time,
    /// Processor time of the node, if it is measured.
    pub(crate) cpu: Cpu,
    /// Outcome that the node has reported.
    outcome: Option<MatchOutcome>,
    /// Time of tick 0 that the node has reported, by its clock.
    counting: Option<Time>,
    state: State<N>,
    socket: VecDeque<(Time, Source, Vec<u8>)>,
    /// Time until which the computer is busy or suspended.
    busy_until: Time,
    is_paused: bool,
    numbered_at: Option<Time>,
    /// Time at which the node is due, whatever its timer.
    woken_at: Option<Time>,
    is_leaving: bool,
    /// Cache of the node's next timeout; cleared by every access to the node.
    timer: Cell<Option<Option<Time>>>,
}

/// State of a node.
pub enum State<N> {
    /// The node begins at this time.
    Absent(Time),
    /// The match runs.
    Open(Box<N>),
    /// The match is over.
    Over(Box<N>),
    /// The node disappeared without a message.
    Crashed,
}

impl PeerClock {
    /// Returns the time that the clock shows at a network time.
    #[must_use]
    pub fn shows(self, now: Time) -> Time {
        let drift = now.0.cast_signed() * self.drift_ppm / 1_000_000;
        Time(self.offset_us + now.0.saturating_add_signed(drift))
    }

    /// Returns the first network time at which the clock shows `local` or later.
    #[must_use]
    pub fn instant(self, local: Time) -> Time {
        let elapsed = local.0.saturating_sub(self.offset_us);
        // Two steps, since the time multiplied by a million would overflow.
        let shown_per_s = 1_000_000_u64.saturating_add_signed(self.drift_ppm).max(1);
        let guess = elapsed / shown_per_s * 1_000_000 + elapsed % shown_per_s * 1_000_000 / shown_per_s;
        let from = guess.saturating_sub(2);
        (from..).map(Time).find(|&at| self.shows(at) >= local).unwrap_or(Time(u64::MAX))
    }
}

impl<N: Node> Machine<N> {
    /// Creates a computer on which a node begins at `start`.
    #[must_use]
    pub fn new(clock: PeerClock, start: Time) -> Self {
        Self {
            clock,
            cost: Duration::ZERO,
            overflows: 0,
            ended_at: Time(0),
            cpu: Cpu::default(),
            outcome: None,
            counting: None,
            state: State::Absent(start),
            socket: VecDeque::new(),
            busy_until: Time(0),
            is_paused: false,
            numbered_at: None,
            woken_at: None,
            is_leaving: false,
            timer: Cell::new(None),
        }
    }

    /// Whether the node is due to begin.
    #[must_use]
    pub fn begins(&self, now: Time) -> bool {
        matches!(self.state, State::Absent(start) if start <= now)
    }

    /// Starts this node.
    pub fn begin(&mut self, node: N) {
        self.timer.set(None);
        self.state = State::Open(Box::new(node));
    }

    /// Returns the node, until the match is over.
    #[must_use]
    pub fn node(&self) -> Option<&N> {
        if let State::Open(node) = &self.state { Some(node) } else { None }
    }

    /// Returns the node, during the match and after it.
    #[must_use]
    pub fn last_node(&self) -> Option<&N> {
        if let State::Open(node) | State::Over(node) = &self.state { Some(node) } else { None }
    }

    /// Returns the outcome that the node has reported.
    pub(crate) const fn outcome(&self) -> Option<MatchOutcome> {
        self.outcome
    }

    /// Returns the time of tick 0 that the node has reported.
    pub(crate) fn counting(&self) -> Option<Time> {
        self.counting.map(|local| self.clock.instant(local))
    }

    /// Makes the node due immediately.
    pub(crate) const fn wake(&mut self, now: Time) {
        self.woken_at = Some(now);
    }

    /// Returns the node and the time of its clock, until the match is over.
    pub fn node_at(&mut self, now: Time) -> Option<(&mut N, Time)> {
        let local = self.clock.shows(now);
        Some((self.touch()?, local))
    }

    /// Returns the node, until the match is over, and clears the cached timeout, since the caller may change it.
    fn touch(&mut self) -> Option<&mut N> {
        self.timer.set(None);
        if let State::Open(node) = &mut self.state { Some(node) } else { None }
    }

    /// Returns the network time of the node's next timeout.
    fn fires_at(&self, node: &N) -> Option<Time> {
        let timer = || node.poll_timeout().map(|local| self.clock.instant(local));
        let at = self.timer.get().unwrap_or_else(timer);
        self.timer.set(Some(at));
        at
    }

    /// Whether the node has yet to start, or its match runs.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        matches!(self.state, State::Absent(_) | State::Open(_))
    }

    /// Whether the node's match runs.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether the player has left voluntarily.
    #[must_use]
    pub const fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Removes the node without a message.
    pub fn crash(&mut self) {
        self.state = State::Crashed;
        self.socket.clear();
    }

    /// Suspends the computer until this time.
    pub fn pause(&mut self, until: Time) {
        self.busy_until = self.busy_until.max(until);
        self.is_paused = true;
    }

    /// Passes the received datagrams to the node.
    ///
    /// # Errors
    /// The panic's message if the node panics; the node has crashed then.
    pub fn receive(&mut self, now: Time) -> Result<(), String> {
        if self.socket.is_empty() {
            return Ok(());
        }
        let local = self.clock.shows(now);
        let State::Open(node) = &mut self.state else { return Ok(()) };
        self.timer.set(None);
        let (socket, clock, cpu, is_paused) = (&mut self.socket, self.clock, &mut self.cpu, self.is_paused);
        let received = guarded(|| {
            for (at, from, bytes) in socket.drain(..) {
                // A separate thread timestamps a datagram on arrival, unless the whole computer is suspended.
                let at = if is_paused { local } else { clock.shows(at) };
                cpu.spend(|| node.handle_datagram(at, from, &bytes));
            }
        });
        if received.is_err() {
            self.crash();
        }
        received
    }

    /// Passes the received datagrams to the node, and runs `advance`.
    ///
    /// # Errors
    /// The panic's message if the node panics; the node has crashed then.
    pub fn run(&mut self, now: Time, advance: impl FnOnce(&mut N, Time)) -> Result<(), String> {
        let received = self.receive(now);
        (self.is_paused, self.woken_at) = (false, None);
        self.timer.set(None);
        let local = self.clock.shows(now);
        let State::Open(node) = &mut self.state else { return received };
        let cpu = &mut self.cpu;
        let result = guarded(|| cpu.spend(|| advance(node, local)));
        self.listen();
        self.busy_until = now.plus(self.cost);
        if result.is_err() {
            self.crash();
        }
        result
    }

    /// Records the node's events.
    fn listen(&mut self) {
        let State::Open(node) = &mut self.state else { return };
        while let Some(event) = node.poll_event() {
            match event {
                MatchEvent::Ended(outcome) => self.outcome = Some(outcome),
                MatchEvent::Counting(begin) => self.counting = Some(begin),
                _ => {}
            }
        }
    }

    /// Returns the final state of the node.
    #[must_use]
    pub fn into_state(self) -> State<N> {
        self.state
    }
}

impl Machine<Match> {
    /// Whether a numbered command is due; one is due at each interval `every` from tick 0 on.
    pub fn gives_at(&mut self, every: Duration, now: Time) -> bool {
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
}

impl<N: Node> Node for Machine<N> {
    fn handle_datagram(&mut self, now: Time, from: Source, bytes: &[u8]) {
        if !self.is_running() {
            return;
        }
        if self.socket.len() >= SOCKET_MAX {
            self.overflows += 1;
        } else {
            self.socket.push_back((now, from, bytes.to_vec()));
        }
    }

    fn advance(&mut self, now: Time) {
        // The state records a panic.
        let _ = self.run(now, Node::advance);
    }

    /// Returns the next datagram. Once there is none and the match is over, the state changes to `State::Over`.
    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.timer.set(None);
        let State::Open(node) = &mut self.state else { return None };
        let next = self.cpu.spend(|| node.poll_transmit());
        if next.is_some() {
            return next;
        }
        let is_over = node.is_over();
        self.listen();
        if is_over {
            let State::Open(node) = core::mem::replace(&mut self.state, State::Crashed) else { return None };
            self.state = State::Over(node);
            self.socket.clear();
        }
        None
    }

    fn poll_event(&mut self) -> Option<MatchEvent> {
        self.node_at(Time(0))?.0.poll_event()
    }

    fn poll_timeout(&self) -> Option<Time> {
        match &self.state {
            State::Absent(start) => Some(*start),
            State::Open(node) => {
                let socket = self.socket.front().map(|&(at, ..)| at);
                let next = [socket, self.fires_at(node), self.numbered_at, self.woken_at]
                    .into_iter()
                    .flatten()
                    .min()?;
                Some(next.max(self.busy_until))
            }
            State::Over(_) | State::Crashed => None,
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    fn leave(&mut self) {
        if let Some(node) = self.touch() {
            node.leave();
            (self.is_leaving, self.numbered_at) = (true, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drifting_clock_converts_to_network_time_and_back() {
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
