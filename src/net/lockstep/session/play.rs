//! While ticks run: commits, sends, receives, runs ticks, compares hashes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::departure::{ASK_LOST_EVERY, Departures};
use super::stalls::Stalls;
use super::{LEAD_TICKS_MAX, Lockstep, Mesh};
use crate::connection::{Connection, LOSSY_PER_MILLE};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{DueTick, Stall, StallCause};
use crate::lockstep::desync::History;
use crate::lockstep::fair::FairPlay;
use crate::lockstep::gate::Gate;
use crate::lockstep::heads::Heads;
use crate::play::clock::{LONG_STALL, TickClock};
use crate::play::link::{Front, Link};
use crate::play::local_inputs::COMMITTED_MAX;
use crate::play::own_inputs::OwnInputs;
use crate::room::settings::InputDelay;
use crate::room::settings::Settings;
use crate::time::Time;
use crate::timer::{Timer, Timers};
use crate::wire::given::{Given, GivenTimes};
use crate::wire::input::{EncodedInput, INPUTS_PER_DATAGRAM_MAX, Inputs, count_fitting, encode_input};
use crate::wire::inputs::{HEADER_BYTES_MAX, InputsHeader, encode_inputs};
use crate::wire::limits::BODY_BYTES_MAX;
use crate::wire::message::{Body, Malformed, MatchConfig, PacketId};
use crate::wire::short::restore;
use sim::{Command, HashChain, PLAYERS_MAX, PlayerId, PlayerInput, StateHash, Tick, TickInputs};

/// Most time between the beginnings of two peers: as far as a start can be named ahead.
const START_APART_MAX: Duration = Duration::from_secs(10);
/// A peer that has not acknowledged an input for this long does not keep this one from committing more: others pass on
/// what it lacks.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(1);
/// Most datagrams sent over one link at once, if the missing inputs do not fit into one.
const BURST_MAX: usize = 4;
/// Longest time until unacknowledged inputs are resent while the match stands. Some bursts of losses last for a number of
/// datagrams, so a sender that resends seldom would prolong them; the few inputs are small. Resent twice as often,
/// they fill the queue of a slow upstream with copies of what is in it already.
const AGAIN_MAX: Duration = Duration::from_millis(200);

/// A peer's state while ticks run.
pub(super) struct Play {
    pub(super) own: OwnInputs,
    pub(super) gate: Gate,
    pub(super) history: History,
    pub(super) departures: Departures,
    pub(super) stalls: Stalls,
    /// The stall that this process was suspended for, until the next tick reports it.
    slept: Option<Stall>,
    /// The number of ticks of the match, once that is known.
    pub(super) end: Option<Tick>,
    /// Every peer has our inputs before this tick.
    known_to_all: Tick,
    ran_at: Time,
    /// Until when arrivals are not used to measure the network.
    pub(super) ignore_samples_until: Time,
    pub(super) fresh: FreshInputs,
    pub(super) timers: Timers,
    /// In a fair match: what all have committed to.
    pub(super) fair: Option<Box<FairPlay>>,
    /// In a match of three or more: what all have signed.
    pub(super) heads: Option<Box<Heads>>,
}

impl Play {
    /// Before tick 0, which is due at `begin`.
    pub(super) fn new(
        (now, begin): (Time, Time),
        config: &MatchConfig,
        settings: &Settings,
        links: usize,
    ) -> Self {
        let mut own = OwnInputs::new(now, config.tick_rate, settings.input_delay, links);
        own.clock = TickClock::new(own.clock.rate(), now, begin);
        let tick = Duration::from_micros(own.clock.tick_us().unsigned_abs());
        let mut stalls = Stalls::new(tick, settings.timeout, settings.input_delay);
        // Not all may have been told the same instant.
        stalls.excuse_all_until(begin.plus(START_APART_MAX));
        Self {
            own,
            gate: Gate::new(usize::from(config.seats)),
            history: History::new(),
            departures: Departures::default(),
            stalls,
            slept: None,
            end: config.ticks.map(Tick),
            known_to_all: Tick(0),
            ran_at: begin,
            ignore_samples_until: now,
            fresh: FreshInputs::new(),
            timers: Timers::default(),
            fair: None,
            heads: None,
        }
    }

    /// Takes out the next tick if it is due and complete.
    pub(super) fn pass(&mut self, now: Time, me: PlayerId, links: &[Link]) -> Option<DueTick> {
        let tick = self.gate.next();
        let is_over = self.end.is_some_and(|end| tick >= end);
        // A tick that was polled must be reported before the next one.
        let is_reported = tick == self.history.ran();
        if is_over || !is_reported || now < self.own.clock.at(tick) {
            return None;
        }
        let (peer, completed_at) = self.gate.completed_by()?;
        let sealed_at = self.gate.arrival(me, tick)?;
        let due = self.due();
        let stall = (now.since(due) >= Stall::LEAST).then(|| {
            let is_network = completed_at > due && peer != me;
            let cause = if is_network { StallCause::Network } else { StallCause::Computer };
            Stall { due, ran: now, peer: if is_network { peer } else { me }, cause }
        });
        // All peers move their clocks by the same stall: it began when the late peer committed.
        let one_way_us = |link: &Link| link.connection.rtt.smoothed_us().unwrap_or(0) / 2;
        let way = links.iter().find(|link| link.player == peer).map_or(0, one_way_us);
        self.own.clock.forgive(now.shifted(-way.cast_signed()), tick);
        let clock_error_us = links.iter().map(|link| link.connection.clock.error_us()).max().unwrap_or(0);
        let inputs = TickInputs { tick, inputs: ArrayVec::new() };
        let mut due = DueTick { inputs, sealed_at, given: ArrayVec::new(), clock_error_us, stall: None };
        self.gate.pop_into(&mut due.inputs)?;
        due.stall = match (self.slept.take(), stall) {
            // An input was still lacking.
            (Some(slept), Some(more)) => Some(Stall { ran: more.ran, ..slept }),
            (slept, more) => slept.or(more),
        };
        if due.stall.is_some_and(|stall| stall.ran.since(stall.due) >= LONG_STALL) {
            self.ask_for_count_down(now);
        }
        due.given = self.given(now, &due.inputs, me, links);
        Some(due)
    }

    /// By player: when each command of a tick was given.
    fn given(
        &mut self,
        now: Time,
        inputs: &TickInputs,
        me: PlayerId,
        links: &[Link],
    ) -> ArrayVec<GivenTimes, PLAYERS_MAX> {
        let given = |(player, input): (PlayerId, &PlayerInput)| {
            let count = input.commands.len();
            if count == 0 {
                return GivenTimes::new();
            }
            if player == me {
                return self.own.inputs.take_given(count);
            }
            let link = links.iter().find(|link| link.player == player);
            let given = self.gate.given(player, inputs.tick);
            let known = link.zip(given).map(|(link, given)| link.connection.clock.all_here(&given, now));
            known.unwrap_or_default()
        };
        inputs.iter().map(given).collect()
    }

    /// Returns when the next tick is due here, whether or not its inputs have arrived.
    pub(super) fn due(&self) -> Time {
        self.own.clock.at(self.gate.next()).max(self.ran_at)
    }

    /// Whether the next tick is due.
    pub(super) fn is_due(&self, now: Time) -> bool {
        let is_over = self.end.is_some_and(|end| self.gate.next() >= end);
        now > self.due() && !is_over
    }

    /// The player whose input for the next tick is missing although the tick is due, and since when. Of several the one
    /// who has held the match up the longest: the others may wait for it, too.
    pub(super) fn waits_for(&self, now: Time) -> Option<(PlayerId, Time)> {
        let withholding = self.withholding();
        let lacks = |player: &PlayerId| {
            if withholding.is_empty() { self.gate.lacks(*player) } else { withholding.contains(*player) }
        };
        let lacking = (0..PLAYERS_MAX as u8).map(PlayerId).filter(lacks);
        let player = lacking.max_by_key(|&player| self.stalls.spent(player, now))?;
        self.is_due(now).then_some((player, self.due()))
    }

    /// This process was suspended, and may have stalled the match: then the next tick is due now, and the next input
    /// asks for a count-down.
    pub(super) fn wake_late(&mut self, now: Time, me: PlayerId) {
        let due = self.due();
        if self.is_due(now) && now.since(due) >= LONG_STALL {
            self.slept = Some(Stall { due, ran: now, peer: me, cause: StallCause::Computer });
            self.own.clock.set(now, self.gate.next());
            self.ran_at = now;
            self.ask_for_count_down(now);
        }
    }

    /// The match has stalled for long: the players get a moment before it continues. The world counts down once, however
    /// many ask.
    fn ask_for_count_down(&mut self, now: Time) {
        // A player whose queue is full is at work already.
        let _ = self.own.inputs.command(Tick(0), now, Command::CountDown);
    }

    /// A tick has run.
    pub(super) fn ran(&mut self, now: Time, tick: Tick, hash: &StateHash) {
        self.history.push(tick, hash, self.gate.chain());
        if tick == Tick(0) {
            self.stalls.excuse_all_until(now);
        }
        if let Some(heads) = &mut self.heads {
            heads.extend(&self.gate);
        }
        self.ran_at = now;
        self.stalls.ran(now);
    }

    /// The first tick that may not be committed yet.
    fn commit_limit(&self) -> Tick {
        let ran = self.history.ran();
        let lead = match self.own.asked {
            InputDelay::Auto => LEAD_TICKS_MAX,
            InputDelay::Ticks(ticks) => ticks.max(1),
        };
        // Bounds the inputs kept. Nobody runs ahead of what others acknowledge: see `on_inputs`.
        let limit = ran.plus(lead).min(self.known_to_all.plus(COMMITTED_MAX as u32 / 2));
        self.end.map_or(limit, |end| end.min(limit))
    }

    /// Commits every tick whose time has come. True if there was one.
    fn commit_due(&mut self, now: Time, me: PlayerId) -> bool {
        let limit = self.commit_limit();
        let mut sealed = false;
        while let Some(tick) = self.own.commit_next(now, limit) {
            // The local input takes the same path as all others: encoded, pushed, decoded.
            if let Some(own) = self.own.inputs.committed(tick) {
                #[expect(clippy::expect_used, reason = "the commit limit is within what the gate accepts")]
                self.gate.push(now, me, tick, core::iter::once(&own.bytes)).expect("within the lead");
                if let Some(fair) = &mut self.fair {
                    fair.commit(me, tick, own.bytes.alone());
                }
            }
            sealed = true;
        }
        sealed
    }

    /// The body of a datagram with what the peer lacks from there on, and what did not fit.
    fn encode_inputs_from(&self, me: PlayerId, link: &Link, from: Front) -> (Body, Front) {
        if let Some(fair) = &self.fair {
            return self.encode_fair_inputs_from(fair, me, link, from);
        }
        // What is no longer kept others pass on.
        let from = from.inputs.max(self.own.inputs.first_kept());
        let count = count_fitting(self.short_inputs(from), BODY_BYTES_MAX - HEADER_BYTES_MAX, 0);
        let body = encode_inputs(&self.header(link, from, count), self.short_inputs(from));
        let next = from.plus(u32::from(count));
        (body, Front { inputs: next, commitments: next })
    }

    /// The own inputs from `from` on, as they follow a header.
    pub(super) fn short_inputs(&self, from: Tick) -> impl Iterator<Item = Option<&[u8]>> {
        self.own.inputs.since(from).map(|sealed| (!sealed.is_held).then_some(&sealed.short[..]))
    }

    /// The header of `count` inputs from `from` on.
    pub(super) fn header(&self, link: &Link, from: Tick, count: u8) -> InputsHeader {
        let wanted = self.gate.next_needed(link.player);
        let (margin_tick, margin) = link.margin.report(wanted);
        let less = i64::from(wanted.0) - i64::from(from.0);
        InputsHeader {
            first: from.0 as u16,
            count,
            // A peer never commits far beyond the ticks it has run.
            wanted: less.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
            behind: wanted.since(self.history.ran()) as u16,
            chain: low_bits(self.history.chain()),
            margin_tick,
            margin,
        }
    }
}

impl Mesh {
    /// Does everything that is due while ticks run.
    pub(super) fn run(&mut self) {
        let (now, me) = (self.now, self.me);
        let play = &mut self.play;
        play.own.clock.slew(now);
        if let Some(moved) = play.own.advance_delay(now) {
            self.out.event(moved);
        }
        play.reveal(now);
        let sealed = play.commit_due(now, me);
        play.reveal(now);
        let is_new = sealed || play.must_reveal(now);
        for link in 0..self.links.len() {
            let Some(peer) = self.links.get(link).filter(|peer| peer.is_direct()) else { continue };
            let timers = &peer.connection.timers;
            let is_due = timers.is_due(Timer::Repeat, now) || timers.is_due(Timer::Resend, now);
            let is_deferred = is_new && !is_due && self.defers_inputs(link);
            if (is_new || is_due) && !is_deferred {
                self.send_inputs(link, is_new);
            }
        }
        if let Some(fair) = self.play.fair.as_mut().filter(|_| is_new) {
            fair.has_left();
        }
        self.tell_heads();
    }

    /// Whether new inputs wait for those of the next tick, since the link cannot carry a datagram for each.
    fn defers_inputs(&mut self, link: usize) -> bool {
        let (play, Some(link)) = (&self.play, self.links.get_mut(link)) else { return false };
        let tick = Duration::from_micros(play.own.clock.tick_us().unsigned_abs());
        let until = link.connection.pace.defers(self.now, tick);
        if let Some(until) = until {
            link.connection.timers.set(Timer::Repeat, until);
        }
        until.is_some()
    }

    /// The next instant at which a tick, or something of the own inputs, is due.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let play = &self.play;
        let seal = play.own.next_commit_at(play.commit_limit());
        let tick = play.gate.next();
        let is_over = play.end.is_some_and(|end| tick >= end);
        let run = (!is_over && play.gate.is_complete()).then(|| play.own.clock.at(tick));
        let reveal = play.fair.as_ref().and_then(|fair| fair.reveal_at());
        let heads = play.heads.as_ref().filter(|_| play.stalls.is_signing(self.now));
        let sign = heads.and_then(|heads| heads.due_at(play.revealed()));
        [seal, run, reveal, sign].into_iter().flatten().min()
    }

    /// Sends all inputs that the peer lacks, with our acknowledgements; schedules the next transmission.
    pub(super) fn send_inputs(&mut self, link: usize, is_new: bool) -> Option<()> {
        let now = self.now;
        let play = &self.play;
        let (peer, until) = (self.links.get(link)?, play.front());
        let mut from = peer.acked;
        for _ in 0..BURST_MAX {
            let (play, peer) = (&self.play, self.links.get(link)?);
            let (body, next) = play.encode_inputs_from(self.me, peer, from);
            self.send_body(link, PacketId::PlayerInput, &body);
            from = next;
            if from.inputs >= until.inputs && from.commitments >= until.commitments {
                break;
            }
        }
        if !is_new {
            self.out.traffic.retransmissions += 1;
        }
        let (play, link) = (&self.play, self.links.get_mut(link)?);
        let tick = Duration::from_micros(play.own.clock.tick_us().unsigned_abs());
        let is_lost = play.departures.awaited() == Some(link.player);
        (link.margin.least, link.commitment_margin.least) = (None, None);
        let is_repeated = is_new && link.connection.lost_there > LOSSY_PER_MILLE;
        let Connection { pace, timers, rtt, .. } = &mut link.connection;
        timers.set(Timer::Repeat, (is_repeated && pace.may_repeat()).then(|| now.plus(tick / 2)));
        pace.sent(now);
        // While ticks are committed the next datagram follows within a tick or a few; the timer covers the case that
        // none are.
        let least = pace.apart(tick) + tick / 2;
        let again = rtt.timeout(least).min(AGAIN_MAX.max(least));
        let again = if is_lost { again.max(ASK_LOST_EVERY) } else { again };
        timers.set(Timer::Resend, now.plus(again));
        Some(())
    }

    /// Takes in a datagram of inputs. Returns how many ticks its sender has run.
    fn take_datagram(
        &mut self,
        link: usize,
        (body, newest): (&[u8], bool),
        is_running: bool,
    ) -> Result<Tick, DropCause> {
        let play = &self.play;
        let said = play.read(body)?;
        let (header, player) = (&said.header, self.links.get(link).ok_or(OutOfPlace)?.player);
        let first = header.first_near(play.gate.next_needed(player)).ok_or(OutOfPlace)?;
        let wanted = Tick(first.0.checked_add_signed(i32::from(header.wanted)).ok_or(OutOfPlace)?);
        let ran = Tick(wanted.0.checked_sub(u32::from(header.behind)).ok_or(OutOfPlace)?);
        // A peer cannot have an input that was not committed, nor run a tick whose inputs it lacks.
        let acked = play.acknowledged(wanted, &said).filter(|_| first <= Tick::MAX).ok_or(OutOfPlace)?;
        // Nor commit inputs far ahead of an input that it lacks. So a peer that runs on has told that it has this peer's
        // inputs, and no peer can keep this one from committing by acknowledging nothing.
        if first.plus(u32::from(header.count)) > wanted.plus(LEAD_TICKS_MAX) {
            return Err(OutOfPlace);
        }
        let last = acked.commitments.0.checked_sub(1).map(Tick);
        let sent = last.and_then(|last| Some(play.own.inputs.committed(last)?.at));
        let now = self.now;
        let fresh = self.take_inputs(link, first, &said, is_running)?;
        let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
        peer.acknowledge(now, acked, sent);
        let ran_before = peer.claims.ran;
        peer.claims.ran = ran_before.max(ran);
        peer.claims.keep_chain(ran, header.chain);
        // After an interruption a peer reports how late that made inputs.
        if newest && !peer.connection.rtt.is_interrupted() {
            self.hear_margins(link, wanted, &said)?;
        }
        self.forget_what_all_know();
        if let Some(lacked) = fresh.inputs {
            self.relay_onward(player, lacked);
            self.check_head_of(player);
        }
        if let Some(from) = fresh.commitments {
            self.relay_released(link, from);
        }
        self.relay_claimed(player, ran_before, ran);
        Ok(ran)
    }

    /// Inputs that every remaining peer has acknowledged need not be resent.
    pub(super) fn forget_what_all_know(&mut self) {
        let play = &self.play;
        // Others pass on to the rest what they lack.
        let relayed = play.stalls.relayed(self.now);
        let is_asked = |link: &&Link| {
            let lacked = play.own.inputs.since(link.acked.inputs).next();
            let is_late = lacked.is_some_and(|lacked| self.now.since(lacked.at) >= ACKNOWLEDGED_WITHIN);
            link.is_direct() && !relayed.contains(link.player) && !is_late
        };
        let acked = self.links.iter().filter(is_asked).map(|link| link.acked.inputs).min();
        let play = &mut self.play;
        play.known_to_all = acked.unwrap_or(play.own.inputs.next());
        play.own.inputs.forget(play.known_to_all);
    }
}

impl Lockstep {
    /// A peer's inputs, with its acknowledgements of ours.
    pub(super) fn on_inputs(&mut self, link: usize, body: &[u8], newest: bool) -> Handled {
        let taken = self.mesh.take_datagram(link, (body, newest), self.phase.is_running());
        if let (Err(DropCause::FalseReveal), Some(peer)) = (taken, self.mesh.links.get(link))
            && self.phase.is_agreeing()
        {
            // It has chosen its input after it has seen those of others, or would have liked to.
            self.suspect(peer.player);
        }
        let ran = taken?;
        self.suspect_false_signers();
        self.settle_leavers();
        if ran <= self.mesh.play.history.ran() {
            self.compare_chains(ran);
        }
        Ok(())
    }

    /// Compares the hash chain after `ran` ticks with those that peers have reported. True if one differs,
    /// which begins a search.
    pub(super) fn compare_chains(&mut self, ran: Tick) -> bool {
        let Some(own) = self.mesh.play.history.chain_after(ran) else { return false };
        let differs = |chain: [u8; 2]| chain != low_bits(own);
        // A suspect is being disconnected already, and its claims would only stop the match again.
        let here = |link: &Link| link.is_direct() && link.claims.chain(ran).is_some_and(differs);
        let link = self.mesh.links.iter().position(here);
        if let Some(link) = link {
            self.begin_search(link);
        }
        link.is_some()
    }
}

/// The complete inputs of a datagram that are new here. Kept from datagram to datagram for its room: it has some 30 kB,
/// too much to move about with each.
#[derive(Debug)]
pub(super) struct FreshInputs {
    pub(super) inputs: Vec<EncodedInput>,
    /// Room for the input that is being read.
    input: PlayerInput,
}

impl FreshInputs {
    fn new() -> Self {
        Self { inputs: Vec::with_capacity(INPUTS_PER_DATAGRAM_MAX), input: PlayerInput::default() }
    }

    /// Takes in those of `inputs`, of the ticks from `first` on, that the gate lacks. The gate takes none of them if one
    /// is malformed.
    pub(super) fn read(
        &mut self,
        gate: &Gate,
        player: PlayerId,
        first: Tick,
        mut inputs: Inputs<'_>,
    ) -> Result<(), Malformed> {
        self.inputs.clear();
        let lacked = gate.next_needed(player);
        // After a gap the held control and the named units are unknown. All inputs from the gap on are resent.
        let held = (first <= lacked).then(|| gate.held_before(player, lacked)).flatten();
        let Some(mut held) = held else { return inputs.finish() };
        let (mut named, mut given) = (gate.named(player).clone(), Given::new());
        inputs.pass(lacked.since(first) as usize)?;
        while !inputs.is_done() {
            inputs.read(held, &mut self.input, &mut given)?;
            held = self.input.hero;
            restore(&mut self.input, &mut named).ok_or(Malformed::NotCanonical(given.len()))?;
            // No peer commits a longer input.
            let input = encode_input(&self.input, &given).ok_or(Malformed::Body(given.len()))?;
            self.inputs.push(input);
        }
        inputs.finish()
    }
}

/// The part of a hash chain that goes into every datagram.
pub(super) fn low_bits(chain: HashChain) -> [u8; 2] {
    (chain.0 as u16).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::input::append_inputs;
    use sim::{Direction, HeroControl, Selection, UnitId, When};

    const AUTHOR: PlayerId = PlayerId(1);

    fn walks(eighth: u8, commands: &[Command]) -> PlayerInput {
        let hero = HeroControl { walk: Some(Direction::eighth(eighth)), strike: None };
        PlayerInput { hero, commands: commands.iter().cloned().collect() }
    }

    fn hold(units: &[u16]) -> Command {
        let units: Selection = units.iter().map(|&index| UnitId { index, generation: 0 }).collect();
        Command::Hold(units, When::Now)
    }

    fn run(inputs: &[Option<PlayerInput>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let inputs = inputs.iter().map(|input| Some(encode_input(input.as_ref()?, &[7]).expect("short")));
        append_inputs(&mut bytes, inputs);
        bytes
    }

    /// A gate that has the first two ticks of its author, who walks, and has named a unit.
    fn gate() -> Gate {
        let mut gate = Gate::new(2);
        let inputs =
            [walks(1, &[]), walks(2, &[hold(&[5])])].map(|input| encode_input(&input, &[]).expect("short"));
        gate.push(Time(0), AUTHOR, Tick(0), inputs.iter()).expect("near");
        gate
    }

    fn read(first: u32, bytes: &[u8], count: u8) -> Result<Vec<EncodedInput>, Malformed> {
        let mut fresh = FreshInputs::new();
        let inputs = Inputs::of_datagram(bytes, count)?;
        fresh.read(&gate(), AUTHOR, Tick(first), inputs).map(|()| fresh.inputs)
    }

    #[test]
    fn an_input_is_completed_by_what_was_held_and_named_before_it() {
        let told =
            [Some(walks(1, &[])), Some(walks(2, &[hold(&[5])])), None, Some(walks(3, &[hold(&[])])), None];
        let fresh = read(0, &run(&told), 5).expect("canonical");
        let whole = [walks(2, &[]), walks(3, &[hold(&[5])]), walks(3, &[])];
        assert_eq!(fresh.iter().map(EncodedInput::decode).collect::<Vec<_>>(), whole);
        assert_eq!(fresh[1].given()[..], [7]);
        let again = read(2, &run(&told[2..]), 3).expect("canonical");
        assert_eq!(again, fresh, "with or without what is here");
        assert!(read(2, &run(&[Some(walks(2, &[]))]), 1).is_err(), "said although it is held");
        assert!(read(2, &run(&[Some(walks(2, &[hold(&[5])]))]), 1).is_err(), "units named again");
    }

    #[test]
    fn nothing_is_taken_of_a_datagram_that_is_malformed_anywhere() {
        let bytes = run(&[None, Some(walks(4, &[Command::Banner])), None]);
        // From what is lacking on; behind a gap, where nothing can be taken; and of what is here.
        for (first, taken) in [(2, 3), (3, 0), (0, 1)] {
            assert_eq!(read(first, &bytes, 3).expect("canonical").len(), taken, "from tick {first}");
            assert!(read(first, &[&bytes[..], &[0]].concat(), 3).is_err(), "a byte more, from tick {first}");
            assert!(read(first, &bytes[..bytes.len() - 1], 3).is_err(), "a byte less, from tick {first}");
        }
    }
}
