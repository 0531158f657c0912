//! The history that the server keeps for its updates, and the updates themselves.
//!
//! A relay's update is one datagram: the inputs that the client lacks, the oldest first, and the hash of the
//! state that they lead to. Only a client that has no state to continue from gets one, as from any server.

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::client::{ClientConnection, Standing};
use super::{Authority, Phase};
use crate::connection::LOSSY_PER_MILLE;
use crate::timer::Timer;
use crate::wire::limits::{ENVELOPE_BYTES, TAG_BYTES};
use crate::wire::message::{Body, PacketId, Seats};
use crate::wire::update::{
    HeldControls, PART_HEADER_BYTES, PIECE_BYTES_MAX, StateForm, TimedInputs, UPDATE_BYTES_MAX,
    UPDATE_TICKS_MAX, UpdateHead, UpdatePart, encode_update,
};
use sim::{DeltaCoder, GameState, HeroControl, StateHash, Tick, TickRate};

/// States kept as delta bases: a client acknowledges each within a round trip.
const BASES: usize = 32;
/// Most ticks of inputs that a relay sends in one datagram: a client that acknowledges within a second is
/// never delayed by this.
const RELAYED_TICKS_MAX: u32 = 64;
/// IP and UDP headers, which count toward a link's bandwidth.
const HEADERS_BYTES: usize = 28;

/// The last ticks and states.
pub(super) struct Updates {
    rate: TickRate,
    /// States per second; unless this is a relay, also updates.
    per_s: u32,
    /// Whether this is a relay: inputs are sent after every tick, and states only to clients that have none.
    is_relay: bool,
    /// The state before tick 0, which every client builds for itself.
    first: GameState,
    states: Vec<StoredSnapshot>,
    newest: usize,
    past: Vec<Past>,
    /// Ticks that have run.
    ran: Tick,
    coder: DeltaCoder,
    bytes: Vec<u8>,
    players: usize,
    /// Number of times that the last update has been sent.
    sending: u8,
}

/// A tick that has run.
struct Past {
    timed: TimedInputs,
    /// The hash of the state after it.
    hash: u64,
}

/// A state, and the next tick to run of it.
struct StoredSnapshot {
    tick: Tick,
    hash: u64,
    state: GameState,
}

impl Updates {
    pub(super) fn new(rate: TickRate, per_s: u32, is_relay: bool) -> Self {
        Self {
            rate,
            per_s: per_s.max(1),
            is_relay,
            first: GameState::default(),
            states: Vec::with_capacity(BASES),
            newest: 0,
            past: Vec::with_capacity(UPDATE_TICKS_MAX),
            ran: Tick(0),
            coder: DeltaCoder::default(),
            bytes: Vec::with_capacity(UPDATE_BYTES_MAX),
            players: 0,
            sending: 0,
        }
    }

    /// The state before tick 0.
    pub(super) fn begin(&mut self, state: &GameState, players: usize) {
        self.first = state.clone();
        self.players = players;
    }

    /// Whether an update is due now.
    pub(super) fn is_due(&self) -> bool {
        self.is_relay || self.is_turn()
    }

    /// Whether the current state must be kept; `is_wanted` if a client cannot continue from its own state.
    pub(super) fn is_state_due(&self, is_wanted: bool) -> bool {
        self.is_turn() && (is_wanted || !self.is_relay)
    }

    /// Whether another state's share of a second has passed with this tick.
    fn is_turn(&self) -> bool {
        let states = |ticks: u32| u64::from(ticks) * u64::from(self.per_s) / u64::from(self.rate.hz());
        self.ran.0.checked_sub(1).is_none_or(|before| states(self.ran.0) > states(before))
    }

    /// Whether a client whose newest update is `updated` can continue from its own state.
    pub(super) fn continues(&self, updated: Option<Tick>) -> bool {
        // The controls held before the first of them must be known, too.
        updated.is_some_and(|known| (self.ran.since(known) as usize) < UPDATE_TICKS_MAX)
    }

    /// A tick has run, and led to this hash.
    pub(super) fn keep(&mut self, timed: &TimedInputs, hash: u64) {
        let tick = timed.inputs.tick;
        self.ran = tick.plus(1);
        match self.past.get_mut(tick.0 as usize % UPDATE_TICKS_MAX) {
            Some(past) => {
                past.timed.clone_from(timed);
                past.hash = hash;
            }
            None => self.past.push(Past { timed: timed.clone(), hash }),
        }
    }

    /// Keeps the current state, unless it is kept already.
    pub(super) fn keep_state(&mut self, hash: &StateHash, state: &GameState) {
        let tick = self.ran;
        if self.states.get(self.newest).is_some_and(|kept| kept.tick == tick) {
            return;
        }
        if self.states.len() < BASES {
            self.newest = self.states.len();
            self.states.push(StoredSnapshot { tick, hash: hash.whole, state: state.clone() });
            return;
        }
        self.newest = (self.newest + 1) % BASES;
        if let Some(kept) = self.states.get_mut(self.newest) {
            (kept.tick, kept.hash) = (tick, hash.whole);
            kept.state.copy_from(state);
        }
    }

    fn past(&self, tick: Tick) -> Option<&Past> {
        self.past.get(tick.0 as usize % UPDATE_TICKS_MAX).filter(|past| past.timed.inputs.tick == tick)
    }

    fn inputs_between(&self, from: Tick, to: Tick) -> ArrayVec<&TimedInputs, UPDATE_TICKS_MAX> {
        (from.0..to.0).filter_map(|tick| Some(&self.past(Tick(tick))?.timed)).collect()
    }

    /// The controls held in the tick before `tick`.
    fn held_before(&self, tick: Tick) -> HeldControls {
        let before = tick.0.checked_sub(1).and_then(|before| self.past(Tick(before)));
        let held = |player: usize| {
            let input = before.and_then(|past| past.timed.inputs.inputs.get(player));
            input.map_or(HeroControl::default(), |input| input.hero)
        };
        (0..self.players).map(held).collect()
    }

    /// Encodes an update for a client whose newest update is `updated`, and returns its tick; `None` if it is
    /// too large, or if the client needs a state and there is none yet.
    fn encode(&mut self, updated: Option<Tick>, head: impl Fn(Tick) -> UpdateHead) -> Option<Tick> {
        match updated {
            Some(known) if self.is_relay && self.continues(updated) => Some(self.encode_inputs(known, head)),
            _ => self.encode_state(updated, head),
        }
    }

    /// The inputs from `known` on, as many as fit into one datagram.
    fn encode_inputs(&mut self, known: Tick, head: impl Fn(Tick) -> UpdateHead) -> Tick {
        let held = self.held_before(known);
        let mut count = self.ran.since(known).min(RELAYED_TICKS_MAX);
        loop {
            let tick = known.plus(count);
            let hash = self.past(Tick(tick.0.saturating_sub(1))).map_or(0, |past| past.hash);
            let head = UpdateHead { carried: StateForm::Inputs, continues: true, hash, ..head(tick) };
            let mut bytes = core::mem::take(&mut self.bytes);
            bytes.clear();
            encode_update(&head, &held, self.inputs_between(known, tick).iter().copied(), &mut bytes);
            self.bytes = bytes;
            // Those of a single tick always fit.
            if self.bytes.len() <= PIECE_BYTES_MAX || count == 1 {
                return tick;
            }
            count /= 2;
        }
    }

    /// The current state, and the inputs that lead to it from the state of `updated`.
    fn encode_state(&mut self, updated: Option<Tick>, head: impl Fn(Tick) -> UpdateHead) -> Option<Tick> {
        let kept = self.states.get(self.newest).filter(|kept| kept.tick == self.ran)?;
        let (mut bytes, mut coder) = (core::mem::take(&mut self.bytes), core::mem::take(&mut self.coder));
        let known = updated.unwrap_or(Tick(0));
        let base = self.states.iter().find(|state| state.tick == known && known < kept.tick);
        let (base_tick, base) = base.map_or((Tick(0), &self.first), |base| (base.tick, &base.state));
        let behind = kept.tick.since(base_tick);
        // A client that has rejoined cannot use earlier inputs.
        let continues = self.continues(updated);
        let from = if continues { known } else { Tick(kept.tick.0.saturating_sub(1)) };
        let held = if continues {
            self.held_before(from)
        } else {
            (0..self.players).map(|_| HeroControl::default()).collect()
        };
        let (carried, hash) = (StateForm::Since(behind), kept.hash);
        let head = UpdateHead { carried, continues, hash, ..head(kept.tick) };
        bytes.clear();
        encode_update(&head, &held, self.inputs_between(from, kept.tick).iter().copied(), &mut bytes);
        coder.encode(base, &kept.state, &mut bytes);
        let fits = bytes.len() <= UPDATE_BYTES_MAX;
        (self.bytes, self.coder) = (bytes, coder);
        fits.then_some(self.ran)
    }
}

impl Authority {
    /// Sends the last state again.
    pub(super) fn send_last_again(&mut self) {
        self.updates.sending = self.updates.sending.wrapping_add(1);
        self.send_updates();
    }

    /// Sends every playing client what is new to it.
    pub(super) fn send_updates(&mut self) {
        let away = self.seats_of(|client| matches!(client.standing, Standing::Away { .. }));
        let left = self.seats_of(|client| client.standing == Standing::Left);
        let lost = self.seats_of(|client| client.standing == Standing::Lost);
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients.at_mut(seat).filter(|client| client.is_playing()) else {
                continue;
            };
            if client.updated >= Some(self.updates.ran) {
                continue;
            }
            let head = |tick| UpdateHead { away, left, lost, ..head_of(client, tick) };
            match self.updates.encode(client.updated, head) {
                Some(tick) => self.send_parts(seat, tick),
                // A relay keeps states less often than it sends.
                None if self.updates.is_relay => {}
                None => client.counts.skipped += 1,
            }
        }
    }

    fn send_parts(&mut self, seat: usize, tick: Tick) {
        let is_last = matches!(self.phase, Phase::Ending { .. }) || self.ticks.end == Some(tick);
        let bytes = core::mem::take(&mut self.updates.bytes);
        let sending = self.updates.sending % 4;
        let is_repeated = self.settings.repeat_updates && !self.updates.is_relay;
        let half_a_tick = Duration::from_micros(self.ticks.clock.tick_us().unsigned_abs() / 2);
        let Some(client) = self.clients.at_mut(seat) else { return };
        client.link.connection.timers.set(Timer::Repeat, None);
        if client.bits.overdraw(self.now, bits_of(&bytes)) || is_last {
            client.link.margin.least = None;
            if is_repeated && client.link.connection.lost_there > LOSSY_PER_MILLE {
                client.link.connection.timers.set(Timer::Repeat, self.now.plus(half_a_tick));
                (client.last_update.tick, client.last_update.sending) = (tick, sending);
                client.last_update.bytes.clone_from(&bytes);
            }
            self.send_pieces(seat, tick, sending, &bytes);
        } else {
            client.counts.skipped += 1;
        }
        self.updates.bytes = bytes;
    }

    fn send_pieces(&mut self, seat: usize, tick: Tick, sending: u8, bytes: &[u8]) {
        let pieces = bytes.chunks(PIECE_BYTES_MAX);
        let parts = pieces.len() as u8;
        for (part, piece) in pieces.enumerate() {
            let head = UpdatePart { part: part as u8, parts, sending, tick: tick.0 as u16 };
            let body: Body = head.encode().into_iter().chain(piece.iter().copied()).collect();
            self.send_body(seat, PacketId::GameStateUpdate, &body);
        }
    }

    /// Sends updates a second time where that is due, unless they have been acknowledged, or the limit of bandwidth leaves
    /// no room for all of it.
    pub(super) fn send_second_updates(&mut self) {
        let now = self.now;
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients.at_mut(seat) else { continue };
            let timers = &mut client.link.connection.timers;
            if !timers.is_due(Timer::Repeat, now) {
                continue;
            }
            timers.set(Timer::Repeat, None);
            let last = core::mem::take(&mut client.last_update);
            let is_lacked = client.is_playing() && client.updated < Some(last.tick);
            if is_lacked && client.bits.take(now, bits_of(&last.bytes)) {
                self.send_pieces(seat, last.tick, last.sending, &last.bytes);
                self.out.traffic.retransmissions += 1;
            }
            if let Some(client) = self.clients.at_mut(seat) {
                client.last_update = last;
            }
        }
    }
}

/// Returns the size of an update of `bytes` on a link, with all headers.
fn bits_of(bytes: &[u8]) -> u64 {
    let each = HEADERS_BYTES + ENVELOPE_BYTES + PART_HEADER_BYTES + TAG_BYTES;
    8 * (bytes.len() + bytes.len().div_ceil(PIECE_BYTES_MAX) * each) as u64
}

/// The header of the update of `tick` for this client; the fields on its content are filled in when it is
/// encoded.
fn head_of(client: &ClientConnection, tick: Tick) -> UpdateHead {
    let received = client.queue.received().unwrap_or(tick);
    let less = i64::from(received.0) - i64::from(tick.0);
    let (margin_tick, margin) = client.link.margin.least.map_or((0, 0), |(of, margin_us)| {
        let tenths = (margin_us / 100).clamp(i64::from(i16::MIN), i64::from(i16::MAX));
        (received.since(of) as u16, tenths as i16)
    });
    UpdateHead {
        carried: StateForm::Inputs,
        continues: false,
        received: less.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
        waiting: received.since(client.queue.processed()) as u16,
        margin_tick,
        margin: if margin_tick == 0 { 0 } else { margin },
        rejected: client.counts.rejected,
        away: Seats::default(),
        left: Seats::default(),
        lost: Seats::default(),
        hash: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_continue_only_from_a_tick_that_is_kept() {
        let mut updates = Updates::new(TickRate::HZ_60, 20, false);
        for tick in 0..300 {
            updates.keep(&sim::TickInputs::idle(Tick(tick), 2).into(), 0);
        }
        let known = |behind: u32| Tick(300 - behind);
        let is_remembered = |from: Tick| updates.past(Tick(from.0 - 1)).is_some();
        for behind in 1..=UPDATE_TICKS_MAX as u32 + 2 {
            let from = known(behind);
            assert_eq!(updates.continues(Some(from)), is_remembered(from), "{behind} ticks behind");
        }
        assert!(!updates.continues(None));
    }

    #[test]
    fn there_are_as_many_updates_a_second_as_were_asked_for() {
        for (hz, per_s) in [30, 40, 50, 60].into_iter().flat_map(|hz| (1..=60).map(move |per_s| (hz, per_s)))
        {
            let mut updates = Updates::new(TickRate::new(hz).expect("a rate"), per_s, false);
            let due = (1..=10 * hz).filter(|&ran| {
                updates.ran = Tick(ran);
                updates.is_due()
            });
            assert_eq!(due.count() as u32, 10 * per_s.min(hz), "{per_s} a second of {hz} ticks");
        }
    }
}
