//! Schedule and sending of updates: a server's states to each client, or a relay's ticks.
//!
//! Only a client that has no state to continue from gets one from a relay.

use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::Authority;
use super::client::{ClientConnection, Standing};
use super::relayed::RelayedTicks;
use super::sent::{OVERTAKEN_PARTS_MAX, bits_of};
use super::snapshots::Snapshots;
use crate::connection::LOSSY_PER_MILLE;
use crate::timer::Timer;
use crate::wire::message::{Body, PacketId};
use crate::wire::report::Report;
use crate::wire::server_ticks::TimedInputs;
use crate::wire::update::{PartSet, UPDATE_TICKS_MAX};
use sim::{Event, GameState, StateHash, Tick, TickRate};

/// Most parts of an update that a client is sent in a tick: a larger one is spread over several, so that it does not
/// fill a queue, and the client gets its updates at a lower rate.
const PARTS_A_TICK_MAX: usize = 4;
/// Time beyond a round trip after which a part that has not arrived counts as lost, in microseconds.
const LACKED_AFTER_US: i64 = 10_000;

/// The updates of all clients: their rate, and the history that they are made of.
pub(super) struct Updates {
    rate: TickRate,
    /// States per second; unless this is a relay, also updates.
    per_s: u32,
    snapshots: Snapshots,
    /// A relay's ticks: they are sent after each, and states only to clients that have none.
    relayed: Option<RelayedTicks>,
    /// Ticks that have run.
    ran: Tick,
    bytes: Vec<u8>,
}

impl Updates {
    /// `first` is the state before tick 0.
    pub(super) fn new(rate: TickRate, per_s: u32, first: &GameState, relayed: Option<RelayedTicks>) -> Self {
        let (per_s, snapshots) = (per_s.max(1), Snapshots::new(first));
        Self { rate, per_s, snapshots, relayed, ran: Tick(0), bytes: Vec::new() }
    }

    /// Whether an update is due now.
    pub(super) fn is_due(&self) -> bool {
        self.relayed.is_some() || self.is_turn()
    }

    /// Whether the current state must be kept; `is_wanted` if a client cannot continue from its own state.
    pub(super) fn is_state_due(&self, is_wanted: bool) -> bool {
        self.is_turn() && (is_wanted || self.relayed.is_none())
    }

    /// Whether another state's share of a second has passed with this tick.
    fn is_turn(&self) -> bool {
        let states = |ticks: u32| u64::from(ticks) * u64::from(self.per_s) / u64::from(self.rate.hz());
        self.ran.0.checked_sub(1).is_none_or(|before| states(self.ran.0) > states(before))
    }

    /// Whether a client whose newest update is `updated` can continue from its own state.
    pub(super) fn continues(&self, updated: Option<Tick>) -> bool {
        // The controls held before the first of a relay's ticks must be known, too.
        updated.is_some_and(|known| (self.ran.since(known) as usize) < UPDATE_TICKS_MAX)
    }

    /// A tick has run, with these events, and led to this hash.
    pub(super) fn keep(&mut self, timed: &TimedInputs, hash: u64, events: &[Event]) {
        self.ran = timed.inputs.tick.plus(1);
        match &mut self.relayed {
            Some(relayed) => relayed.keep(timed, hash),
            None => self.snapshots.keep(timed, events),
        }
    }

    /// Keeps the current state, unless it is kept already.
    pub(super) fn keep_state(&mut self, hash: &StateHash, state: &GameState) {
        self.snapshots.keep_state(self.ran, hash, state);
    }
}

impl Authority {
    /// Sends the last state again.
    pub(super) fn send_last_again(&mut self) {
        self.send_updates();
    }

    /// Sends every playing client what is new to it.
    pub(super) fn send_updates(&mut self) {
        for seat in 0..self.clients.len() {
            self.send_update(seat);
        }
    }

    /// Sends a client what is new to it, if it plays.
    pub(super) fn send_update(&mut self, seat: usize) {
        let away = self.seats_of(|client| matches!(client.standing, Standing::Away { .. }));
        let left = self.seats_of(|client| client.standing == Standing::Left);
        let lost = self.seats_of(|client| client.standing == Standing::Lost);
        let Some(client) = self.clients.at_mut(seat).filter(|client| client.is_playing()) else { return };
        let (now, ran, updates) = (self.now, self.updates.ran, &mut self.updates);
        if client.updated >= Some(ran) {
            return;
        }
        let report = |tick| Report { away, left, lost, ..report_of(client, tick) };
        if let (Some(relayed), true) = (&updates.relayed, updates.continues(client.updated)) {
            let (known, mut bytes) =
                (client.updated.unwrap_or_default(), core::mem::take(&mut updates.bytes));
            let continues = known > client.state_sent;
            relayed.encode((known, ran), continues, report, &mut bytes);
            self.send_ticks(seat, &bytes);
            self.updates.bytes = bytes;
            return;
        }
        if client.sent.is_through(now, client.updated, client.link.connection.rtt.longest_way_us()) {
            let mut bytes = core::mem::take(&mut client.sent.bytes);
            let report = |tick| Report { away, left, lost, ..report_of(client, tick) };
            // A relay's ticks continue from the newest.
            let oldest = if updates.relayed.is_some() { ran } else { Tick(0) };
            let encoded = updates.snapshots.encode(oldest, client.updated, report, &mut bytes);
            client.sent.bytes = bytes;
            let Some(tick) = encoded else {
                // A relay keeps states less often than it sends.
                client.counts.skipped += u32::from(updates.relayed.is_none());
                return;
            };
            client.sent.begin(tick);
            client.state_sent = tick;
        }
        self.send_parts(seat);
    }

    fn send_ticks(&mut self, seat: usize, bytes: &[u8]) {
        let now = self.now;
        let Some(client) = self.clients.at_mut(seat) else { return };
        if client.bits.overdraw(now, bits_of(bytes.len())) {
            client.link.margin.least = None;
            let body: Body = bytes.iter().copied().collect();
            self.send_body(seat, PacketId::ServerTicks, &body);
        } else {
            client.counts.skipped += 1;
        }
    }

    /// Continues the updates that are spread over several ticks.
    pub(super) fn continue_updates(&mut self) {
        for seat in 0..self.clients.len() {
            if self.clients.at(seat).is_some_and(|client| client.is_playing()) {
                self.send_parts(seat);
            }
        }
    }

    /// Sends the next parts of an update, as many as a tick and the limit of bandwidth have room for.
    fn send_parts(&mut self, seat: usize) {
        let now = self.now;
        let is_repeated = self.settings.repeat_updates && self.updates.relayed.is_none();
        let half_a_tick = Duration::from_micros(self.ticks.clock.tick_us().unsigned_abs() / 2);
        for _ in 0..PARTS_A_TICK_MAX {
            let Some(client) = self.clients.at_mut(seat) else { return };
            let Some(part) = client.sent.next_part() else { return };
            if !client.bits.overdraw(now, client.sent.bits_of(part)) {
                client.counts.skipped += u32::from(part == 0);
                client.sent.give_up_unbegun();
                return;
            }
            if part == 0 {
                client.link.margin.least = None;
                let is_lossy = is_repeated && client.link.connection.lost_there > LOSSY_PER_MILLE;
                let at = is_lossy.then(|| now.plus(half_a_tick));
                client.link.connection.timers.set(Timer::Repeat, at);
            }
            self.send_part(seat, part);
        }
    }

    fn send_part(&mut self, seat: usize, part: usize) {
        let now = self.now;
        let Some(sent) = self.clients.at_mut(seat).map(|client| &mut client.sent) else { return };
        let Some((body, at)) = sent.part(part).zip(sent.sent_at.get_mut(part)) else { return };
        *at = Some(now);
        self.send_body(seat, PacketId::GameStateUpdate, &body);
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
            let is_lacked = client.is_playing() && client.updated < Some(client.sent.tick);
            let (parts, sent) = (0..client.sent.parts(), &client.sent);
            let bits = parts.clone().map(|part| sent.bits_of(part)).sum();
            if is_lacked && sent.next_part().is_none() && client.bits.take(now, bits) {
                self.out.traffic.retransmissions += 1;
                parts.for_each(|part| self.send_part(seat, part));
            }
        }
    }

    /// A client says which parts of a large update it lacks: those that should have arrived are sent again.
    pub(super) fn send_lacked(&mut self, seat: usize, tick: u16, lacked: &PartSet) {
        let now = self.now;
        let Some(client) = self.clients.at_mut(seat).filter(|client| client.is_playing()) else { return };
        let way_us = client.link.connection.rtt.longest_way_us();
        if !client.sent.is_of(tick) || client.sent.parts() <= OVERTAKEN_PARTS_MAX {
            return;
        }
        let is_lost = |&part: &usize| {
            let at = client.sent.sent_at.get(part).copied().flatten();
            lacked.contains(part as u8) && at.is_some_and(|at| now.minus(at) > 2 * way_us + LACKED_AFTER_US)
        };
        let lost: ArrayVec<usize, PARTS_A_TICK_MAX> =
            (0..client.sent.parts()).filter(is_lost).take(PARTS_A_TICK_MAX).collect();
        for part in lost {
            let Some(client) = self.clients.at_mut(seat) else { return };
            if !client.bits.overdraw(now, client.sent.bits_of(part)) {
                return;
            }
            self.out.traffic.retransmissions += 1;
            self.send_part(seat, part);
        }
    }
}

/// The report as of `tick` to this client, without the seats of others.
fn report_of(client: &ClientConnection, tick: Tick) -> Report {
    let received = client.queue.received().unwrap_or(tick);
    let less = i64::from(received.0) - i64::from(tick.0);
    let (margin_tick, margin) = client.link.margin.least.map_or((0, 0), |(of, margin_us)| {
        let tenths = (margin_us / 100).clamp(i64::from(i16::MIN), i64::from(i16::MAX));
        (received.since(of) as u16, tenths as i16)
    });
    Report {
        received: less.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
        // Before its first input nothing waits.
        waiting: client
            .queue
            .received()
            .map_or(0, |received| received.since(client.queue.processed()) as u16),
        margin_tick,
        margin: if margin_tick == 0 { 0 } else { margin },
        rejected: client.counts.rejected,
        ..Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(rate: TickRate, per_s: u32) -> Updates {
        Updates::new(rate, per_s, &GameState::default(), None)
    }

    #[test]
    fn inputs_continue_only_from_a_tick_that_is_kept() {
        let mut updates = updates(TickRate::HZ_60, 20);
        updates.ran = Tick(300);
        for behind in 1..=UPDATE_TICKS_MAX as u32 + 2 {
            let continues = updates.continues(Some(Tick(300 - behind)));
            assert_eq!(continues, behind < UPDATE_TICKS_MAX as u32, "{behind} ticks behind");
        }
        assert!(!updates.continues(None));
    }

    #[test]
    fn there_are_as_many_updates_a_second_as_were_asked_for() {
        for (hz, per_s) in [30, 40, 50, 60].into_iter().flat_map(|hz| (1..=60).map(move |per_s| (hz, per_s)))
        {
            let mut updates = updates(TickRate::new(hz).expect("a rate"), per_s);
            let due = (1..=10 * hz).filter(|&ran| {
                updates.ran = Tick(ran);
                updates.is_due()
            });
            assert_eq!(due.count() as u32, 10 * per_s.min(hz), "{per_s} a second of {hz} ticks");
        }
    }
}
