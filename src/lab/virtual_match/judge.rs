//! Checks of a match after its end.

use core::fmt;
use core::time::Duration;

use super::{Interference, PeerEnd, VirtualMatch, VirtualResult};
use crate::audit::Oracle;
use crate::fault::Fault;
use crate::machine::{Machine, State};
use game::{Match, MatchOutcome, Summary};
use net::Time;
use sim::Tick;

/// Minimum time over which the pace is measured.
const PACE_OVER: Duration = Duration::from_secs(3);
/// Minimum number of ticks that must run of 10,000 that are due: 59.5 of 60.
const PACE_LEAST: u64 = 9_916;

/// Classes of ends; the peers of a match must not end in different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndClass {
    /// The match was completed.
    Finished,
    /// The connection to a peer failed, before or during the match.
    Broken,
    Desync,
    /// Only this player left or was interrupted.
    Own,
    Unfinished,
}

fn class(end: &PeerEnd) -> EndClass {
    match end {
        PeerEnd::Played(summary) => match summary.outcome {
            MatchOutcome::Rules(_) | MatchOutcome::TickLimit => EndClass::Finished,
            MatchOutcome::Desync => EndClass::Desync,
            MatchOutcome::Interrupted => EndClass::Own,
            _ => EndClass::Broken,
        },
        PeerEnd::Failed(_) => EndClass::Broken,
        PeerEnd::Crashed => EndClass::Own,
        PeerEnd::Unfinished => EndClass::Unfinished,
    }
}

impl<I: Interference> VirtualMatch<I> {
    /// Checks the match and returns its result.
    pub(super) fn judge(mut self) -> VirtualResult<I::Findings> {
        let is_usual = !self.interference.judges_alone();
        if is_usual {
            self.judge_pace();
        }
        let peers = core::mem::take(&mut self.world.players);
        let left: Vec<bool> = peers.iter().map(Machine::is_leaving).collect();
        let ended_at: Vec<Time> = peers.iter().map(|peer| peer.ended_at).collect();
        for _ in 0..peers.iter().map(|peer| peer.overflows).sum() {
            self.fired(Fault::SocketOverflow);
        }
        let ends: Vec<PeerEnd> = peers.into_iter().map(end).collect();
        if is_usual {
            let is_dropped = |end: &PeerEnd| class(end) == EndClass::Broken && ends.len() > 2;
            self.audit.compare(|peer| !matches!(ends[peer], PeerEnd::Crashed) && !is_dropped(&ends[peer]));
            self.judge_ends(&ends, &left, &ended_at);
        }
        I::judge(&mut self, &ends, &ended_at);
        if is_usual {
            let is_away = |player: usize| class(&ends[player]) != EndClass::Finished;
            self.judge_summaries(&ends, 0..ends.len(), is_away);
            self.judge_desync(&ends);
            for (peer, end) in ends.iter().enumerate() {
                if end.desync().is_some_and(|report| report.equivocation.is_some()) {
                    let what = "an honest player was proven to equivocate".into();
                    self.audit.violated(Oracle::Desync, peer, ended_at[peer], what);
                }
            }
        }
        for end in &ends {
            let hash = end.played().map_or(0, |summary| summary.hash.whole);
            self.world.network.log().note(b'e', hash, end.as_str().len() as u64);
        }
        let last = ended_at.iter().max().copied().unwrap_or_default();
        let ran_at = (0..ends.len()).map(|peer| self.audit.peer(peer).ran_at).max().unwrap_or_default();
        VirtualResult {
            violations: self.audit.violations().to_vec(),
            counts: *self.world.network.links.counts(),
            log: self.world.network.log().hash(),
            ticks: (0..ends.len()).map(|peer| self.audit.peer(peer).next.0).max().unwrap_or(0),
            took: last.since(Time(0)),
            stopped_after: self.planted_at.map(|at| ran_at.since(at)),
            named_after: self.planted_at.map(|at| last.since(at)),
            honest: (0..ends.len()).map(|peer| self.interference.is_honest(peer)).collect(),
            found: self.interference.into_findings(),
            ends,
        }
    }

    /// Checks that these peers' measurements match the observed ones, and that they ran all commands of players who are
    /// not away.
    pub fn judge_summaries(
        &mut self,
        ends: &[PeerEnd],
        peers: impl IntoIterator<Item = usize>,
        is_away: impl Fn(usize) -> bool,
    ) {
        for peer in peers {
            let (now, Some(summary)) = (self.world.now(), ends[peer].played()) else { continue };
            self.audit.check_stalls(peer, now, summary.stalls);
            if class(&ends[peer]) == EndClass::Finished {
                self.audit.check_commands(peer, now, &is_away);
            }
        }
    }

    /// Checks that ticks ran at the tick rate from five seconds after the last fault on.
    fn judge_pace(&mut self) {
        let Some((from, ticks)) = self.paced_from.take() else { return };
        let drift = self.conditions.clocks.iter().map(|clock| clock.drift_ppm).min().unwrap_or(0).min(0);
        for (peer, first) in ticks.into_iter().enumerate() {
            let record = self.audit.peer(peer);
            let (ran, until) = (record.next.since(first), record.ran_at);
            let is_running = self.world.players[peer].is_running();
            let until = if is_running { self.world.now() } else { until };
            if until.since(from) < PACE_OVER
                || first == Tick(0)
                || matches!(self.gone_before(peer, from), Some(()))
            {
                continue;
            }
            let hz = u64::from(self.setup.tick_rate.hz());
            // The number of ticks by the slowest clock.
            let us = until.since(from).as_micros() as u64;
            let expected = us * hz / 1_000_000 * 1_000_000_u64.saturating_add_signed(drift) / 1_000_000;
            if u64::from(ran) + 2 < expected * PACE_LEAST / 10_000 {
                let what = format!("{ran} ticks in {:.3} s, {expected} were due", us as f64 / 1e6);
                self.audit.violated(Oracle::Progress, peer, until, what);
            }
        }
    }

    fn gone_before(&self, peer: usize, from: Time) -> Option<()> {
        (self.audit.peer(peer).ran_at < from && !self.world.players[peer].is_running()).then_some(())
    }

    /// Checks that each peer ended as expected: all at the end of the match, except for the effects of the scenario.
    /// With two peers both lose each other; with more, at most one is lost, and the others play on.
    fn judge_ends(&mut self, ends: &[PeerEnd], left: &[bool], ended_at: &[Time]) {
        // Of three or more the deviating one stops, and the others play on.
        let odd = self.setup.inject.as_ref().map(|(seat, _)| *seat);
        let expected = |peer: usize| match odd {
            Some(odd) if ends.len() == 2 || odd == peer => EndClass::Desync,
            _ => EndClass::Finished,
        };
        let has_begun = (0..ends.len()).any(|peer| self.audit.peer(peer).next > Tick(0));
        let fatal = self.interference.fatal();
        let broken_max = match fatal {
            None => 0,
            Some(_) if ends.len() == 2 || !has_begun => ends.len(),
            Some(Fault::Crash | Fault::Leave) => 0,
            Some(_) => 1,
        };
        let mut broken = 0;
        let mut others = None;
        for (peer, end) in ends.iter().enumerate() {
            let class = class(end);
            if left[peer] || matches!(end, PeerEnd::Crashed) {
                continue;
            }
            broken += usize::from(class == EndClass::Broken);
            let may_be_over = class == EndClass::Finished && fatal.is_some();
            let is_expected =
                class == expected(peer) || may_be_over || (class == EndClass::Broken && broken <= broken_max);
            let is_alike = ends.len() > 2 || *others.get_or_insert(class) == class;
            if !is_expected || !is_alike {
                let said = ends.iter().map(PeerEnd::to_string).collect::<Vec<_>>().join(", ");
                self.audit.violated(Oracle::Outcome, peer, ended_at[peer], format!("the ends are {said}"));
            }
        }
    }

    /// Checks that all peers describe an injected desync correctly and in the same way.
    fn judge_desync(&mut self, ends: &[PeerEnd]) {
        let Some((_, inject)) = self.setup.inject.clone() else { return };
        let mut first = None;
        for (peer, end) in ends.iter().enumerate().filter(|(_, end)| matches!(end, PeerEnd::Played(_))) {
            let now = self.world.now();
            let Some(report) = end.desync() else {
                self.audit.violated(Oracle::Desync, peer, now, "no desync report".into());
                continue;
            };
            let (part, row, field) = (report.part, report.row, report.field);
            let found = part.zip(row).zip(field).map(|((part, row), field)| format!("{part}[{row}].{field}"));
            if (Tick(report.tick), found.as_deref()) != (inject.tick, Some(&*inject.field)) {
                let what = format!("found {found:?} in tick {}", report.tick);
                self.audit.violated(Oracle::Desync, peer, now, what);
            }
            match first {
                None => first = Some(report),
                Some(other) if other != report => {
                    self.audit.violated(
                        Oracle::Desync,
                        peer,
                        now,
                        "the desync report differs from another peer's".into(),
                    );
                }
                Some(_) => {}
            }
        }
    }
}

impl fmt::Display for PeerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(why) => why.fmt(f),
            Self::Played(summary) => write!(f, "{} after {} ticks", self.as_str(), summary.ticks),
            _ => f.write_str(self.as_str()),
        }
    }
}

impl PeerEnd {
    /// Returns the summary of the match, if it was played.
    #[must_use]
    pub fn played(&self) -> Option<&Summary> {
        if let Self::Played(summary) = self { Some(summary) } else { None }
    }
}

/// Returns the end of the match on a machine.
#[must_use]
pub fn end(machine: Machine<Match>) -> PeerEnd {
    match machine.into_state() {
        State::Over(game) => match game.into_summary() {
            Ok(summary) => PeerEnd::Played(Box::new(summary)),
            Err(error) => PeerEnd::Failed(error),
        },
        State::Absent(_) | State::Open(_) => PeerEnd::Unfinished,
        State::Crashed => PeerEnd::Crashed,
    }
}
