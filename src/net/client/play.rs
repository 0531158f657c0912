//! While ticks run: commits and sends inputs, receives updates, follows the server's clock.

use super::snapshot_buffer::{Progress, Received};
use super::{ClientSession, End, Event, Phase, REPORT_EVERY};
use crate::net::connection::protection::BODY_BYTES_MAX;
use crate::net::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::net::event::{Stall, StallCause};
use crate::net::table::delay::{InputDelay, RESERVE_US};
use crate::net::table::local_inputs::COMMITTED_MAX;
use crate::net::time::Time;
use crate::net::wire::client_inputs::{CLIENT_HEADER_BYTES_MAX, ClientInputsHeader, encode_client_inputs};
use crate::net::wire::inputs::INPUTS_PER_DATAGRAM_MAX;
use crate::net::wire::message::{PacketId, Pong, Seats};
use crate::net::wire::update::{TimedInputs, UpdateHead, UpdatePart};
use crate::sim::{PlayerId, Tick};

/// How far the delay moves before an event reports it, in microseconds.
const DELAY_EVENT_US: i64 = 1_000;
/// Most ticks held back for an even pace; any beyond that run at once.
const HELD_BACK_MAX: usize = 64;

impl ClientSession {
    pub(super) fn begin_running(&mut self, begin: Time) {
        self.clock = crate::net::table::clock::TickClock::new(self.clock.rate(), self.now, begin);
        self.delay.restart(self.delay_guess_us());
        let guess_us = self.delay_guess_us();
        if let Some(jitter_buffer) = &mut self.jitter_buffer {
            jitter_buffer.restart(guess_us);
        }
        // A client that has rejoined has no inputs for the ticks before that.
        let position_us = self.clock.position_us(self.now) + self.delay.delay_us();
        if position_us > 0 && begin <= self.now {
            let first = Tick((position_us / self.clock.tick_us()) as u32 + 1);
            self.local_inputs.begin_at(first);
            (self.began_at, self.received, self.processed) = (first, first, first);
        }
        self.link.resend_at = self.now;
        self.phase = Phase::Running;
        self.out.event(Event::Counting { begin });
    }

    /// An estimate of the delay: the longest uplink delay, plus an allowance for jitter and losses.
    fn delay_guess_us(&self) -> i64 {
        self.link.connection.rtt.longest_way_us() + RESERVE_US
    }

    pub(super) fn run(&mut self) {
        let now = self.now;
        self.clock.slew(now);
        self.delay.advance(now);
        if let Some(jitter_buffer) = &mut self.jitter_buffer {
            jitter_buffer.advance(now);
        }
        let delay_us = self.delay.delay_us();
        if (delay_us - self.delay_told_us).abs() >= DELAY_EVENT_US {
            self.delay_told_us = delay_us;
            let tick = self.local_inputs.next();
            self.out.event(Event::DelayMoved { tick, delay_us });
        }
        if self.commit_due() || now >= self.link.resend_at {
            self.send_inputs();
        }
    }

    /// The first tick that may not be committed yet: bounds the inputs kept for a server that never
    /// acknowledges.
    fn commit_limit(&self) -> Tick {
        let limit = self.received.plus(COMMITTED_MAX as u32 / 2);
        self.config.ticks.map_or(limit, |end| limit.min(Tick(end)))
    }

    fn commit_at(&self, tick: Tick) -> Time {
        self.clock.at(tick).shifted(-self.delay.delay_us())
    }

    /// Commits every tick whose time has come. True if there was one.
    fn commit_due(&mut self) -> bool {
        let limit = self.commit_limit();
        let mut sealed = false;
        while self.local_inputs.next() < limit && self.now >= self.commit_at(self.local_inputs.next()) {
            let tick = self.local_inputs.next();
            let is_last = tick.plus(1) >= limit || self.now < self.commit_at(tick.plus(1));
            let held_only = !is_last && matches!(self.settings.input_delay, InputDelay::Auto);
            self.local_inputs.commit(self.now, self.clock.at(tick).minus(self.now), held_only);
            sealed = true;
        }
        sealed
    }

    pub(super) fn next_deadline(&self) -> Time {
        let next = self.local_inputs.next();
        let seal = (next < self.commit_limit()).then(|| self.commit_at(next));
        let tick = self.snapshots.next().and_then(|(tick, _)| self.due_at(tick));
        [seal, tick].into_iter().flatten().fold(self.link.resend_at, Time::min)
    }

    /// When `tick` is due here; `None` if it runs on arrival.
    fn due_at(&self, tick: Tick) -> Option<Time> {
        Some(self.jitter_buffer.as_ref()?.due_at(&self.clock, tick))
    }

    /// The next tick that has arrived, if it is due: its inputs, and the stall if it is late.
    pub(super) fn next_due(&mut self) -> Option<(TimedInputs, Option<Stall>)> {
        let (tick, waiting) = self.snapshots.next()?;
        let due = self.due_at(tick).filter(|_| waiting <= HELD_BACK_MAX);
        if due.is_some_and(|due| self.now < due) {
            return None;
        }
        let (inputs, came) = self.snapshots.take_next()?;
        let was_due = due.map(|due| due.max(self.handed_at));
        self.handed_at = self.now;
        let stall = was_due.filter(|&due| self.now.since(due) >= Stall::LEAST).map(|due| {
            let cause = if came > due { StallCause::Network } else { StallCause::Computer };
            Stall { due, ran: self.now, peer: PlayerId::NONE, cause }
        });
        Some((inputs, stall))
    }

    /// When the own input that became part of `tick` was committed, as far as that is known.
    pub(super) fn sealed_at(&self, tick: Tick) -> Time {
        let delay_us =
            self.local_inputs.committed(tick).map_or(self.delay.delay_us(), |sealed| sealed.delay_us);
        self.clock.at(tick).shifted(-delay_us).min(self.now)
    }

    /// Sends all inputs that the server lacks, and the tick of the newest update received.
    pub(super) fn send_inputs(&mut self) {
        let (mut count, mut bytes) = (0, CLIENT_HEADER_BYTES_MAX);
        for sealed in self.local_inputs.since(self.received).take(INPUTS_PER_DATAGRAM_MAX) {
            bytes += 1 + if sealed.is_held { 0 } else { sealed.bytes.len() };
            if bytes > BODY_BYTES_MAX {
                break;
            }
            count += 1;
        }
        let less = i64::from(self.snapshots.updated().0) - i64::from(self.received.0);
        let header = ClientInputsHeader {
            first: self.received.0 as u16,
            count,
            updated: less.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
            wants_state: self.snapshots.wants_state(),
        };
        let inputs = self.local_inputs.since(self.received);
        let inputs = inputs.map(|sealed| (!sealed.is_held).then_some(&sealed.bytes[..]));
        let body = encode_client_inputs(&header, inputs);
        self.link.connection.transmit(&mut self.out, PacketId::PlayerInput, &body);
        self.link.resend_at = self.now.plus(REPORT_EVERY);
    }

    /// A part of an update has arrived.
    pub(super) fn on_update(&mut self, body: &[u8]) -> Handled {
        let (part, piece) = UpdatePart::decode(body)?;
        if !matches!(self.phase, Phase::Running | Phase::Ending { .. }) {
            return Err(OutOfPlace);
        }
        match self.snapshots.receive(self.now, part, piece).ok_or(OutOfPlace)? {
            Received::Nothing => {}
            Received::Whole { head, tick, led } => {
                self.on_head(&head, tick);
                match led {
                    Progress::Ticks(first) => {
                        if let Some(jitter_buffer) = &mut self.jitter_buffer {
                            jitter_buffer.observe(self.now, &self.clock, first);
                        }
                    }
                    Progress::Adopted => {
                        self.handed_at = self.now;
                        self.out.event(Event::Adopt { tick });
                    }
                }
            }
        }
        Ok(())
    }

    fn on_head(&mut self, head: &UpdateHead, tick: Tick) {
        let received = tick.0.checked_add_signed(i32::from(head.received)).map(Tick);
        // The server cannot have an input that was not committed.
        if let Some(received) = received.filter(|&received| received <= self.local_inputs.next()) {
            let inputs = received.since(self.received);
            self.received = self.received.max(received);
            self.processed = self.processed.max(Tick(received.0.saturating_sub(head.waiting.into())));
            self.local_inputs.forget(self.received.min(self.processed));
            let margin_from = received.0.checked_sub(head.margin_tick.into()).map(Tick);
            if let Some(sealed) = margin_from
                .filter(|_| head.margin_tick > 0)
                .and_then(|tick| self.local_inputs.committed(tick))
            {
                let required_us = sealed.delay_us - i64::from(head.margin) * 100;
                self.delay.observe_worst(required_us, inputs);
            }
        }
        self.rejected = head.rejected;
        let before = core::mem::replace(&mut self.seats, [head.away, head.left, head.lost]);
        let [was, had_left, were_lost] = before;
        let away = head.away;
        for player in away.difference(was).iter() {
            self.out.event(Event::Silent { player });
        }
        for player in was.difference(away).iter() {
            self.out.event(Event::Heard { player });
        }
        for (seats, is_lost) in
            [(head.left.difference(had_left), false), (head.lost.difference(were_lost), true)]
        {
            for player in seats.iter() {
                self.out.event(Event::Departed { player, tick, is_lost });
            }
        }
    }

    pub(super) fn on_pong(&mut self, pong: Pong) -> Handled {
        let theirs_us = self.link.on_pong(self.now, &pong)?;
        self.server_error_us = pong.error_us.into();
        self.report_ready();
        if self.local_inputs.next() == Tick(0) {
            self.delay.restart(self.delay_guess_us());
        }
        if let Some(theirs_us) = theirs_us.filter(|_| matches!(self.phase, Phase::Running)) {
            self.clock.follow(self.clock.position_us(self.now) - theirs_us);
        }
        Ok(())
    }

    /// Repeats the report until the server says goodbye; a player who leaves stays until the goodbye is
    /// acknowledged.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end, send_at } = self.phase else { return };
        if end != End::Finished {
            if self.now >= send_at || self.link.connection.is_idle() {
                self.close(end);
            }
        } else if self.now >= send_at {
            self.send_inputs();
            self.phase = Phase::Ending { end, send_at: self.now.plus(REPORT_EVERY) };
        }
    }

    /// The player who most recently left or was lost, if any; the flag says whether it was lost.
    #[must_use]
    pub fn departed(&self) -> Option<(PlayerId, bool)> {
        let last = |seats: Seats| seats.iter().last();
        last(self.seats[2]).map(|player| (player, true)).or(last(self.seats[1]).map(|player| (player, false)))
    }
}
