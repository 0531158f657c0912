//! While ticks run: commits and sends inputs, receives updates, follows the server's clock.

use super::snapshots::Received;
use super::{End, Event, Follower, Phase, REPORT_EVERY};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::DueTick;
use crate::play::delay::RESERVE_US;
use crate::play::local_inputs::COMMITTED_MAX;
use crate::time::Time;
use crate::timer::Timer;
use crate::wire::client_inputs::{CLIENT_HEADER_BYTES_MAX, ClientInputsHeader, encode_client_inputs};
use crate::wire::given::Given;
use crate::wire::input::count_fitting;
use crate::wire::limits::BODY_BYTES_MAX;
use crate::wire::message::{PacketId, Pong};
use crate::wire::report::Report;
use crate::wire::server_ticks::{TimedInputs, decode_server_ticks};
use crate::wire::update::UpdatePart;
use sim::{PlayerId, Tick};

impl Follower {
    /// Tick 0 is due at `begin`.
    pub(super) fn begin(&mut self, begin: Time) {
        self.own.clock = crate::play::clock::TickClock::new(self.own.clock.rate(), self.now, begin);
        self.own.delay.restart(self.delay_guess_us());
        let guess_us = self.delay_guess_us();
        if let Some(relayed) = &mut self.server.relayed {
            relayed.jitter_buffer.restart(guess_us);
        }
        // A client that has rejoined has no inputs for the ticks before that.
        let position_us = self.own.clock.position_us(self.now) + self.own.delay.delay_us();
        if position_us > 0 && begin <= self.now {
            let first = Tick((position_us / self.own.clock.tick_us()) as u32 + 1);
            self.own.inputs.begin_at(first);
            (self.link.acked.inputs, self.server.processed) = (first, first);
        }
        self.link.connection.timers.set(Timer::Resend, self.now);
        self.out.event(Event::Counting { begin });
    }

    /// An estimate of the delay: the longest uplink delay, plus an allowance for jitter and losses.
    fn delay_guess_us(&self) -> i64 {
        self.link.connection.rtt.longest_way_us() + RESERVE_US
    }

    pub(super) fn run(&mut self) {
        let now = self.now;
        self.own.clock.slew(now);
        if let Some(moved) = self.own.advance_delay(now) {
            self.out.event(moved);
        }
        if let Some(relayed) = &mut self.server.relayed {
            relayed.jitter_buffer.advance(now);
        }
        if self.commit_due() || self.link.connection.timers.is_due(Timer::Resend, now) {
            self.send_inputs();
        }
    }

    /// The first tick that may not be committed yet: bounds the inputs kept for a server that never
    /// acknowledges.
    fn commit_limit(&self) -> Tick {
        let limit = self.link.acked.inputs.plus(COMMITTED_MAX as u32 / 2);
        self.config.ticks.map_or(limit, |end| limit.min(Tick(end)))
    }

    /// Commits every tick whose time has come. True if there was one.
    fn commit_due(&mut self) -> bool {
        let (now, limit) = (self.now, self.commit_limit());
        core::iter::from_fn(|| self.own.commit_next(now, limit)).count() > 0
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        let seal = self.own.next_commit_at(self.commit_limit());
        let tick = self.server.relayed.as_ref().and_then(|relayed| relayed.next_due_at(&self.own.clock));
        [seal, tick].into_iter().flatten().min()
    }

    /// Returns when this player's input for `tick` was committed, as far as that is known.
    #[must_use]
    pub fn sealed_at(&self, tick: Tick) -> Time {
        let delay_us =
            self.own.inputs.committed(tick).map_or(self.own.delay.delay_us(), |sealed| sealed.delay_us);
        self.own.clock.at(tick).shifted(-delay_us).min(self.now)
    }

    /// Sends all inputs that the server lacks, and the tick of the newest update received.
    pub(super) fn send_inputs(&mut self) {
        let lacked = self.link.acked.inputs;
        let inputs = || {
            let lacking = self.own.inputs.since(lacked);
            lacking.map(|sealed| (!sealed.is_held).then_some(&sealed.bytes[..]))
        };
        let count = count_fitting(inputs(), BODY_BYTES_MAX - CLIENT_HEADER_BYTES_MAX, 0);
        let less = i64::from(self.server.updated().0) - i64::from(lacked.0);
        let header = ClientInputsHeader {
            first: lacked.0 as u16,
            count,
            updated: less.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
            notice: self.server.notice(),
        };
        let body = encode_client_inputs(&header, inputs());
        self.link.connection.transmit(&mut self.out, PacketId::PlayerInput, &body);
        self.link.connection.timers.set(Timer::Resend, self.now.plus(REPORT_EVERY));
    }

    /// A part of an update has arrived.
    pub(super) fn on_update(&mut self, body: &[u8]) -> Handled {
        let (part, piece) = UpdatePart::decode(body)?;
        if !matches!(self.phase, Phase::Running | Phase::Ending { .. }) {
            return Err(OutOfPlace);
        }
        // A client that has diverged takes the state of the tick that it has reached, too.
        let after = Tick(self.server.updated().0.saturating_sub(self.server.wants_state().into()));
        let (me, now, inputs, clock) = (self.me, self.now, &mut self.own.inputs, &self.link.connection.clock);
        let given_here = |player, given| {
            if player == me { inputs.take_given(1).pop().flatten() } else { clock.here(given, now) }
        };
        match self.server.snapshots.receive(part, piece, after, given_here) {
            None => {
                self.server.counts.refused += 1;
                return Err(OutOfPlace);
            }
            Some(Received::More) => {}
            Some(Received::Stale) => self.server.counts.stale += 1,
            Some(Received::State { report, tick }) => {
                self.server.counts.apply(self.now, &mut self.server.updated_at);
                self.on_report(&report, tick);
                let lag = self.server.snapshots.lag();
                match &mut self.server.relayed {
                    Some(relayed) => {
                        relayed.adopt(self.now, tick, lag);
                        self.out.event(Event::Adopt { tick });
                    }
                    None => self.server.counts.agreed += 1,
                }
            }
        }
        Ok(())
    }

    /// A relay's ticks have arrived.
    pub(super) fn on_ticks(&mut self, body: &[u8]) -> Handled {
        if !matches!(self.phase, Phase::Running | Phase::Ending { .. }) {
            return Err(OutOfPlace);
        }
        let relayed = self.server.relayed.as_mut().ok_or(OutOfPlace)?;
        let ticks = decode_server_ticks(body, self.config.seats.into())?;
        let (report, tick) =
            (ticks.header.report, ticks.header.tick_near(relayed.known()).ok_or(OutOfPlace)?);
        if tick <= relayed.known() {
            self.server.counts.stale += 1;
            return Ok(());
        }
        let Some(first) = relayed.receive(self.now, tick, ticks) else {
            self.server.counts.refused += 1;
            return Err(OutOfPlace);
        };
        relayed.jitter_buffer.observe(self.now, &self.own.clock, first);
        self.server.counts.apply(self.now, &mut self.server.updated_at);
        self.on_report(&report, tick);
        Ok(())
    }

    /// The next tick that a relay has sent and the caller has not run, once it is due here. Run it, then call
    /// [`Self::report`].
    pub fn poll_tick(&mut self, now: Time) -> Option<DueTick> {
        self.now = self.now.max(now);
        let relayed = self.server.relayed.as_mut()?;
        let (TimedInputs { inputs, given }, stall) = relayed.next_due(self.now, &self.own.clock)?;
        let sealed_at = self.sealed_at(inputs.tick);
        // The server may have added the count-down, behind what the player gave.
        let own = inputs
            .inputs
            .get(self.me.index())
            .map_or(0, |own| own.commands.iter().filter(|command| command.is_given()).count());
        let here = |(player, given): (usize, &Given)| {
            if player == self.me.index() {
                self.own.inputs.take_given(own)
            } else {
                self.link.connection.clock.all_here(given, self.now)
            }
        };
        let given = given.iter().enumerate().map(here).collect();
        let clock_error_us = self.clock_error_us();
        Some(DueTick { inputs, sealed_at, given, clock_error_us, stall })
    }

    fn on_report(&mut self, report: &Report, tick: Tick) {
        let received = tick.0.checked_add_signed(i32::from(report.received)).map(Tick);
        // The server cannot have an input that was not committed.
        if let Some(received) = received.filter(|&received| received <= self.own.inputs.next()) {
            let acked = &mut self.link.acked.inputs;
            let inputs = received.since(*acked);
            *acked = received.max(*acked);
            let processed = Tick(received.0.saturating_sub(report.waiting.into()));
            self.server.processed = self.server.processed.max(processed);
            self.own.inputs.forget(self.server.processed.min(*acked));
            let margin_from = received.0.checked_sub(report.margin_tick.into()).map(Tick);
            if let Some(sealed) = margin_from
                .filter(|_| report.margin_tick > 0)
                .and_then(|tick| self.own.inputs.committed(tick))
            {
                let required_us = sealed.delay_us - i64::from(report.margin) * 100;
                self.own.delay.observe_worst(required_us, inputs);
            }
        }
        self.server.hear_seats(report, tick, |event| self.out.event(event));
    }

    pub(super) fn on_pong(&mut self, pong: Pong) -> Handled {
        let theirs_us = self.link.on_pong(self.now, &pong)?;
        self.server.error_us = pong.error_us.into();
        if self.own.inputs.next() == Tick(0) {
            self.own.delay.restart(self.delay_guess_us());
        }
        if let Some(theirs_us) = theirs_us.filter(|_| matches!(self.phase, Phase::Running)) {
            let has_stalled = self.own.clock.follow(self.own.clock.position_us(self.now) - theirs_us);
            let guess_us = self.delay_guess_us();
            if let Some(relayed) = self.server.relayed.as_mut().filter(|_| has_stalled) {
                // Ticks came late because the server stalled, not because of the way.
                relayed.jitter_buffer.restart(guess_us);
            }
        }
        Ok(())
    }

    /// Repeats the report until the server says goodbye; a player who leaves stays until the goodbye is
    /// acknowledged.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end } = self.phase else { return };
        if end != End::Finished {
            if self.timers.is_due(Timer::Close, self.now) || self.link.connection.is_idle() {
                self.close(end);
            }
        } else if self.link.connection.timers.is_due(Timer::Resend, self.now) {
            self.send_inputs();
        }
    }

    /// The player who most recently left or was lost, if any; the flag says whether it was lost.
    #[must_use]
    pub fn departed(&self) -> Option<(PlayerId, bool)> {
        self.server.departed()
    }
}
