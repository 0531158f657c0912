//! While ticks run: commits, sends, receives, runs ticks, compares hashes.

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;
use core::time::Duration;

use super::departure::{ASK_LOST_EVERY, Departures};
use super::stalls::Stalls;
use super::{LEAD_TICKS_MAX, LockstepSession};
use crate::connection::LOSSY_PER_MILLE;
use crate::connection::protection::BODY_BYTES_MAX;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{DueTick, Stall, StallCause};
use crate::lockstep::desync::History;
use crate::lockstep::fair::FairPlay;
use crate::lockstep::gate::{CanonicalInput, Lockstep, canonical};
use crate::lockstep::heads::Heads;
use crate::table::clock::{LONG_STALL, TickClock};
use crate::table::delay::InputDelay;
use crate::table::link::{Front, Link};
use crate::table::local_inputs::COMMITTED_MAX;
use crate::table::own_inputs::OwnInputs;
use crate::table::settings::Settings;
use crate::time::Time;
use crate::wire::given::{Given, GivenTimes, decode_input};
use crate::wire::inputs::{HEADER_BYTES_MAX, INPUTS_PER_DATAGRAM_MAX, Inputs, InputsHeader, write_inputs};
use crate::wire::message::{Body, MatchConfig, PacketId};
use crate::wire::short::restore;
use sim::{
    Command, HashChain, HeroControl, PLAYERS_MAX, PlayerId, PlayerInput, Selection, StateHash, Tick,
    TickInputs,
};

/// Most time between the beginnings of two peers: as far as a start can be named ahead.
const START_APART_MAX: Duration = Duration::from_secs(10);
/// A peer that has not acknowledged an input for this long does not keep this one from committing more: others pass on
/// what it lacks.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(1);
/// Most datagrams sent over one link at once, if the missing inputs do not fit into one.
const BURST_MAX: usize = 4;

/// A peer's state while ticks run.
pub(super) struct Play {
    pub(super) own: OwnInputs,
    pub(super) gate: Lockstep,
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
    /// In a fair match: what all have committed to.
    pub(super) fair: Option<Box<FairPlay>>,
    /// In a match of three or more: what all have signed.
    pub(super) heads: Option<Box<Heads>>,
}

impl Play {
    pub(super) fn new(now: Time, config: &MatchConfig, settings: &Settings, links: usize) -> Self {
        let own = OwnInputs::new(now, config.tick_rate, settings.input_delay, links);
        let tick = Duration::from_micros(own.clock.tick_us().unsigned_abs());
        Self {
            own,
            gate: Lockstep::new(usize::from(config.seats)),
            history: History::new(),
            departures: Departures::default(),
            stalls: Stalls::new(tick, settings.timeout, settings.input_delay),
            slept: None,
            end: config.ticks.map(Tick),
            known_to_all: Tick(0),
            ran_at: now,
            ignore_samples_until: now,
            fresh: FreshInputs::new(),
            fair: None,
            heads: None,
        }
    }

    /// Tick 0 is agreed.
    pub(super) fn begin(&mut self, now: Time, begin: Time) {
        self.own.clock = TickClock::new(self.own.clock.rate(), now, begin);
        self.ran_at = begin;
        // Not all may have been told the same instant.
        self.stalls.excuse_all_until(begin.plus(START_APART_MAX));
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
            let known =
                link.and_then(|link| Some(link.connection.clock.all_here(link.given.of(inputs.tick)?, now)));
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
                self.gate.push(now, me, tick, own.input()).expect("within the lead");
                if let Some(fair) = &mut self.fair {
                    fair.commit(me, tick, own.input());
                }
            }
            sealed = true;
        }
        sealed
    }

    /// Writes the body of a datagram with what the peer lacks from there on; what did not fit.
    fn write_inputs_from(&self, me: PlayerId, link: &Link, from: Front, body: &mut Body) -> Front {
        body.clear();
        if let Some(fair) = &self.fair {
            return self.write_fair_inputs_from(fair, me, link, from, body);
        }
        // What is no longer kept others pass on.
        let from = from.inputs.max(self.own.inputs.first_kept());
        let (mut count, mut bytes) = (0, HEADER_BYTES_MAX);
        for sealed in self.own.inputs.since(from).take(INPUTS_PER_DATAGRAM_MAX) {
            bytes += 1 + if sealed.is_held { 0 } else { sealed.short.len() };
            if bytes > BODY_BYTES_MAX {
                break;
            }
            count += 1;
        }
        write_inputs(body, &self.header(link, from, count), self.short_inputs(from));
        let next = from.plus(u32::from(count));
        Front { inputs: next, commitments: next }
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

impl LockstepSession {
    /// Does everything that is due while ticks run.
    pub(super) fn run(&mut self) {
        let (now, me) = (self.now, self.me);
        let Some(play) = &mut self.play else { return };
        play.own.clock.slew(now);
        if let Some(moved) = play.own.advance_delay(now) {
            self.out.event(moved);
        }
        play.reveal(now);
        let sealed = play.commit_due(now, me);
        play.reveal(now);
        let is_new = sealed || play.must_reveal(now);
        for link in 0..self.links.len() {
            let Some(peer) = self.links.get(link).filter(|peer| self.is_direct(peer)) else { continue };
            let is_second = peer.second_at.is_some_and(|at| now >= at);
            let is_again = now >= peer.resend_at;
            let is_deferred = is_new && !is_second && !is_again && self.defers_inputs(link);
            if (is_new || is_second || is_again) && !is_deferred {
                self.send_inputs(link, is_new);
            }
        }
        if let Some(fair) = self.play.as_mut().and_then(|play| play.fair.as_mut()).filter(|_| is_new) {
            fair.has_left();
        }
        self.tell_heads();
    }

    /// Whether new inputs wait for those of the next tick, since the link cannot carry a datagram for each.
    fn defers_inputs(&mut self, link: usize) -> bool {
        let Some((play, link)) = self.play.as_ref().zip(self.links.get_mut(link)) else { return false };
        let tick = Duration::from_micros(play.own.clock.tick_us().unsigned_abs());
        let until = link.connection.pace.defers(self.now, tick);
        link.second_at = until.or(link.second_at);
        until.is_some()
    }

    /// The next instant at which [`Self::run`] or a tick is due.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        let play = self.play.as_ref()?;
        let seal = play.own.next_commit_at(play.commit_limit());
        let tick = play.gate.next();
        let is_over = play.end.is_some_and(|end| tick >= end);
        let run = (!is_over && play.gate.is_complete()).then(|| play.own.clock.at(tick));
        let here = self.links.iter().filter(|link| self.is_direct(link));
        let links = here.flat_map(|link| [link.second_at, Some(link.resend_at)]);
        let reveal = play.fair.as_ref().and_then(|fair| fair.reveal_at());
        let heads = play.heads.as_ref().filter(|_| play.stalls.is_signing(self.now));
        let sign = heads.and_then(|heads| heads.due_at(play.revealed()));
        [seal, run, reveal, sign].into_iter().chain(links).flatten().min()
    }

    /// Sends all inputs that the peer lacks, with our acknowledgements; schedules the next transmission.
    pub(super) fn send_inputs(&mut self, link: usize, is_new: bool) -> Option<Duration> {
        let now = self.now;
        let play = self.play.as_ref()?;
        let (peer, until) = (self.links.get(link)?, play.front());
        let mut from = peer.acked;
        let mut body = Body::new();
        for _ in 0..BURST_MAX {
            let (play, peer) = (self.play.as_ref()?, self.links.get(link)?);
            let next = play.write_inputs_from(self.me, peer, from, &mut body);
            self.send_body(link, PacketId::PlayerInput, &body);
            from = next;
            if from.inputs >= until.inputs && from.commitments >= until.commitments {
                break;
            }
        }
        if !is_new {
            self.out.traffic.retransmissions += 1;
        }
        let (play, link) = (self.play.as_ref()?, self.links.get_mut(link)?);
        let tick = Duration::from_micros(play.own.clock.tick_us().unsigned_abs());
        let is_lost = play.departures.awaited() == Some(link.player);
        (link.margin.least, link.commitment_margin.least) = (None, None);
        let is_repeated = is_new && link.connection.lost_there > LOSSY_PER_MILLE;
        let pace = &mut link.connection.pace;
        link.second_at = (is_repeated && pace.may_repeat()).then(|| now.plus(tick / 2));
        pace.sent(now);
        // While ticks are committed the next datagram follows within a tick or a few; the timer covers the case that
        // none are.
        let again = link.connection.rtt.timeout(link.connection.pace.apart(tick) + tick / 2);
        let again = if is_lost { again.max(ASK_LOST_EVERY) } else { again };
        link.resend_at = now.plus(again);
        Some(again)
    }

    /// A peer's inputs, with its acknowledgements of ours.
    pub(super) fn on_inputs(&mut self, link: usize, body: &[u8], newest: bool) -> Handled {
        let play = self.play.as_ref().ok_or(OutOfPlace)?;
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
        let fresh = self.take_inputs(link, first, &said)?;
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
        self.settle_leavers();
        let has_run = self.play.as_ref().is_some_and(|play| ran <= play.history.ran());
        if has_run {
            self.compare_chains(ran);
        }
        Ok(())
    }

    /// Inputs that every remaining peer has acknowledged need not be resent.
    pub(super) fn forget_what_all_know(&mut self) {
        let Some(play) = &self.play else { return };
        // Others pass on to the rest what they lack.
        let relayed = play.stalls.relayed(self.now);
        let is_asked = |link: &&Link| {
            let lacked = play.own.inputs.since(link.acked.inputs).next();
            let is_late = lacked.is_some_and(|lacked| self.now.since(lacked.at) >= ACKNOWLEDGED_WITHIN);
            self.is_direct(link) && !relayed.contains(link.player) && !is_late
        };
        let acked = self.links.iter().filter(is_asked).map(|link| link.acked.inputs).min();
        let Some(play) = &mut self.play else { return };
        play.known_to_all = acked.unwrap_or(play.own.inputs.next());
        play.own.inputs.forget(play.known_to_all);
    }

    /// Compares the hash chain after `ran` ticks with those that peers have reported. True if one differs,
    /// which begins a search.
    pub(super) fn compare_chains(&mut self, ran: Tick) -> bool {
        let Some(own) = self.play.as_ref().and_then(|play| play.history.chain_after(ran)) else {
            return false;
        };
        let differs = |chain: [u8; 2]| chain != low_bits(own);
        // A suspect is being disconnected already, and its claims would only stop the match again.
        let here = |link: &Link| self.is_direct(link) && link.claims.chain(ran).is_some_and(differs);
        let link = self.links.iter().position(here);
        if let Some(link) = link {
            self.begin_search(link);
        }
        link.is_some()
    }
}

/// The complete inputs of a datagram that are new here, and when the commands of those that have any were given.
/// Kept from datagram to datagram for its room: it has some 16 kB, too much to move about with each.
#[derive(Debug)]
pub(super) struct FreshInputs {
    pub(super) inputs: Vec<CanonicalInput>,
    pub(super) given: Vec<(Tick, Given)>,
}

impl FreshInputs {
    fn new() -> Self {
        let most = INPUTS_PER_DATAGRAM_MAX;
        Self { inputs: Vec::with_capacity(most), given: Vec::with_capacity(most) }
    }

    /// Takes in those of `inputs`, of the ticks from `first` on, that the gate lacks. `None` if any of them is
    /// invalid: then the gate takes none of them.
    pub(super) fn read(
        &mut self,
        gate: &Lockstep,
        player: PlayerId,
        first: Tick,
        inputs: Inputs<'_>,
    ) -> Option<()> {
        self.inputs.clear();
        self.given.clear();
        let lacked = gate.next_needed(player);
        // After a gap the held control and the named units are unknown. All inputs from the gap on are resent.
        let Some(known) = lacked.0.checked_sub(first.0) else { return Some(()) };
        let Some(mut held) = gate.held_before(player, lacked) else { return Some(()) };
        let mut named = gate.named(player).clone();
        for (tick, input) in (lacked.0..).map(Tick).zip(inputs.skip(known as usize)) {
            let input = match input {
                Some(short) => {
                    let (input, at) = read_short(&short, held, &mut named)?;
                    self.given.push((tick, at));
                    input
                }
                None => PlayerInput { hero: held, ..PlayerInput::default() },
            };
            held = input.hero;
            // No peer commits a longer input.
            self.inputs.push(canonical(&input)?);
        }
        Some(())
    }

    /// Forgets the inputs of the ticks from `until` on; `first` is that of the first input.
    pub(super) fn keep_before(&mut self, until: Tick, first: Tick) {
        self.inputs.truncate(until.since(first) as usize);
        self.given.retain(|&(tick, _)| tick < until);
    }
}

/// Expands the short form `short` of an input whose predecessor held `held` and named `named`, with when its
/// commands were given. `None` if it has a shorter form.
fn read_short(short: &[u8], held: HeroControl, named: &mut Selection) -> Option<(PlayerInput, Given)> {
    let (mut input, given) = decode_input(short).ok()?;
    let holds_only = input.commands.is_empty() && input.hero == held;
    restore(&mut input, named).filter(|()| !holds_only)?;
    Some((input, given))
}

/// The part of a hash chain that goes into every datagram.
pub(super) fn low_bits(chain: HashChain) -> [u8; 2] {
    (chain.0 as u16).to_le_bytes()
}
