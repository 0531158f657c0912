//! What the server remembers for its updates, and the updates themselves.

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::client::Standing;
use super::{Phase, ServerSession};
use crate::net::message::{Body, PacketId};
use crate::net::update::{
    Held, PART_HEADER_BYTES, PIECE_BYTES_MAX, UPDATE_BYTES_MAX, UPDATE_TICKS_MAX, UpdateHead, UpdatePart,
    encode_update,
};
use crate::sim::{DeltaCoder, GameState, HeroControl, StateHash, Tick, TickInputs, TickRate};

/// States kept as bases: a client acknowledges each within a round trip.
const BASES: usize = 32;
/// IP and UDP headers, with which a link is measured.
const HEADERS_BYTES: usize = 28;
/// Envelope of a datagram.
const ENVELOPE_BYTES: usize = 9;

/// The last ticks and states.
pub(super) struct Updates {
    /// Ticks from one update to the next.
    every: u32,
    /// The state before tick 0, which every client builds for itself.
    first: GameState,
    states: Vec<Kept>,
    newest: usize,
    inputs: Vec<TickInputs>,
    coder: DeltaCoder,
    bytes: Vec<u8>,
    players: usize,
    /// How often the last update has been sent.
    sending: u8,
}

struct Kept {
    tick: Tick,
    hash: u64,
    state: GameState,
}

impl Updates {
    pub(super) fn new(rate: TickRate, per_s: u32) -> Self {
        let per_s = per_s.max(1);
        Self {
            every: ((rate.hz() + per_s / 2) / per_s).max(1),
            first: GameState::default(),
            states: Vec::with_capacity(BASES),
            newest: 0,
            inputs: Vec::with_capacity(UPDATE_TICKS_MAX),
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

    /// Whether an update leaves after so many ticks.
    pub(super) const fn is_due(&self, ran: Tick) -> bool {
        ran.0.is_multiple_of(self.every)
    }

    pub(super) fn keep(&mut self, inputs: &TickInputs) {
        if self.inputs.len() < UPDATE_TICKS_MAX {
            self.inputs.push(inputs.clone());
        } else {
            self.inputs[inputs.tick.0 as usize % UPDATE_TICKS_MAX].clone_from(inputs);
        }
    }

    pub(super) fn keep_state(&mut self, tick: Tick, hash: &StateHash, state: &GameState) {
        if self.states.len() < BASES {
            self.newest = self.states.len();
            self.states.push(Kept { tick, hash: hash.whole, state: state.clone() });
            return;
        }
        self.newest = (self.newest + 1) % BASES;
        let kept = &mut self.states[self.newest];
        (kept.tick, kept.hash) = (tick, hash.whole);
        kept.state.copy_from(state);
    }

    fn inputs_of(&self, tick: Tick) -> Option<&TickInputs> {
        self.inputs.get(tick.0 as usize % UPDATE_TICKS_MAX).filter(|inputs| inputs.tick == tick)
    }

    /// What was held in the tick before `tick`.
    fn held_before(&self, tick: Tick) -> Held {
        let before = tick.0.checked_sub(1).and_then(|before| self.inputs_of(Tick(before)));
        let held = |player: usize| before.map_or(HeroControl::default(), |inputs| inputs.inputs[player].hero);
        (0..self.players).map(held).collect()
    }

    /// Puts the newest state together for a client that has the update of `updated`. False if it is too large.
    fn encode(&mut self, updated: Option<Tick>, head: UpdateHead) -> bool {
        let (mut bytes, mut coder) = (core::mem::take(&mut self.bytes), core::mem::take(&mut self.coder));
        let Some(kept) = self.states.get(self.newest) else { return false };
        let known = updated.unwrap_or(Tick(0));
        let base = self.states.iter().find(|state| state.tick == known && known < kept.tick);
        let (base_tick, base) = base.map_or((Tick(0), &self.first), |base| (base.tick, &base.state));
        let (ticks, behind) = (kept.tick.since(known), kept.tick.since(base_tick));
        // A client that has come back cannot use what was before.
        let goes_on = updated.is_some() && ticks as usize <= UPDATE_TICKS_MAX;
        let from = if goes_on { known } else { Tick(kept.tick.0.saturating_sub(1)) };
        let held = if goes_on {
            self.held_before(from)
        } else {
            (0..self.players).map(|_| HeroControl::default()).collect()
        };
        let ticks: ArrayVec<&TickInputs, UPDATE_TICKS_MAX> =
            (from.0..kept.tick.0).filter_map(|tick| self.inputs_of(Tick(tick))).collect();
        let head = UpdateHead { base: Some(behind), goes_on, hash: kept.hash, ..head };
        bytes.clear();
        encode_update(&head, &held, ticks.iter().copied(), &mut bytes);
        drop(ticks);
        coder.encode(base, &kept.state, &mut bytes);
        let fits = bytes.len() <= UPDATE_BYTES_MAX;
        (self.bytes, self.coder) = (bytes, coder);
        fits
    }

    fn newest_tick(&self) -> Tick {
        self.states.get(self.newest).map_or(Tick(0), |kept| kept.tick)
    }
}

impl ServerSession {
    /// The last state once more.
    pub(super) fn send_last_again(&mut self) {
        self.updates.sending = self.updates.sending.wrapping_add(1);
        self.send_updates();
    }

    /// The newest state, to every client that plays.
    pub(super) fn send_updates(&mut self) {
        let away = self.seats_of(|client| matches!(client.standing, Standing::Away { .. }));
        let left = self.seats_of(|client| client.standing == Standing::Left);
        let lost = self.seats_of(|client| client.standing == Standing::Lost);
        let tick = self.updates.newest_tick();
        for seat in 0..self.clients.len() {
            let Some(client) = self.clients[seat].as_ref().filter(|client| client.is_playing()) else {
                continue;
            };
            if client.updated >= Some(tick) {
                continue;
            }
            let received = client.queue.received().unwrap_or(tick);
            let less = i64::from(received.0) - i64::from(tick.0);
            let (slack_of, slack) = client.link.slack.map_or((0, 0), |(of, slack_us)| {
                let tenths = (slack_us / 100).clamp(i64::from(i16::MIN), i64::from(i16::MAX));
                (received.since(of) as u16, tenths as i16)
            });
            let head = UpdateHead {
                base: None,
                goes_on: false,
                received: less.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
                waiting: received.since(client.queue.processed()) as u16,
                slack_of,
                slack: if slack_of == 0 { 0 } else { slack },
                rejected: client.rejections(),
                away,
                left,
                lost,
                hash: 0,
            };
            let updated = client.updated;
            if self.updates.encode(updated, head) {
                self.send_parts(seat, tick);
            } else if let Some(client) = &mut self.clients[seat] {
                client.skipped += 1;
            }
        }
    }

    fn send_parts(&mut self, seat: usize, tick: Tick) {
        let is_last = matches!(self.phase, Phase::Ending { .. }) || self.end == Some(tick);
        let bytes = core::mem::take(&mut self.updates.bytes);
        let parts = bytes.len().div_ceil(PIECE_BYTES_MAX);
        let sending = self.updates.sending % 4;
        let each = HEADERS_BYTES + ENVELOPE_BYTES + PART_HEADER_BYTES;
        let bits = 8 * (bytes.len() + parts * each) as u64;
        if let Some(client) = &mut self.clients[seat] {
            if !client.bits.overdraw(self.now, bits) && !is_last {
                client.skipped += 1;
                self.updates.bytes = bytes;
                return;
            }
            client.link.slack = None;
        }
        for (part, piece) in bytes.chunks(PIECE_BYTES_MAX).enumerate() {
            let head = UpdatePart { part: part as u8, parts: parts as u8, sending, tick: tick.0 as u16 };
            let body: Body = head.encode().into_iter().chain(piece.iter().copied()).collect();
            self.send_body(seat, PacketId::GameStateUpdate, &body);
        }
        self.updates.bytes = bytes;
    }
}
