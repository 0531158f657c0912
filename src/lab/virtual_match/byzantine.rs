//! A match in which one seat keeps to no rule, and what must hold for the others.

use super::{PeerEnd, VirtualMatch};
use crate::audit::Oracle;
use crate::byzantine::{Attacker, Behaviour, ByzantineFigures, ByzantinePlan, Deed};
use game::{MatchOutcome, Node as _};
use net::Time;

impl VirtualMatch {
    /// The seat that keeps to no rule.
    pub(super) fn byzantine(&self) -> Option<usize> {
        self.setup.byzantine.as_ref().map(|plan| plan.seat)
    }

    /// What the byzantine seat does of its own.
    pub(super) fn attack(&mut self) {
        let (now, Some(attacker)) = (self.world.now(), &mut self.attacker) else { return };
        let seat = attacker.plan().seat;
        for deed in attacker.strike(now, &mut self.world.network) {
            let machine = &mut self.world.players[seat];
            let Some((game, local)) = machine.node_at(now) else { continue };
            match deed {
                Deed::Order(command) => {
                    game.submit_command(local, command);
                }
                Deed::Message(to, id, body) => game.forge(to, id, &body),
                Deed::LookAhead if game.look_ahead(local) => attacker.note(Behaviour::LookAhead),
                Deed::LookAhead => {}
                Deed::SignAnother(to, tick, hero) => game.sign_another(to, tick, hero),
                Deed::Rebind => self.world.network.rebind(seat),
                Deed::Leave => machine.leave(),
                Deed::Crash => machine.crash(),
            }
        }
    }

    /// Notes how an honest peer fares.
    pub(super) fn watch_honest(&mut self, peer: usize) {
        if self.byzantine().is_none_or(|seat| seat == peer) {
            return;
        }
        let (now, pace) = (self.world.now(), &mut self.paces[peer]);
        if let Some(game) = self.world.players[peer].node() {
            let delay_us = game.session().delay_us().unwrap_or(0);
            self.figures.delay_us = self.figures.delay_us.max(delay_us);
        } else if self.world.players[peer].is_over() {
            pace.over(now);
        }
    }

    /// Says what the byzantine seat did to the others.
    pub(super) fn judge_byzantine(
        &mut self,
        attacker: &Attacker,
        ends: &[PeerEnd],
        ended_at: &[Time],
    ) -> ByzantineFigures {
        let plan = attacker.plan();
        let is_here = |&peer: &usize| peer != plan.seat && !matches!(ends[peer], PeerEnd::Crashed);
        let honest: Vec<usize> = (0..ends.len()).filter(is_here).collect();
        let mut figures = core::mem::take(&mut self.figures);
        (figures.seat, figures.behaviours) = (plan.seat, attacker.done());
        for &peer in &honest {
            self.judge_time(peer, &ends[peer]);
            self.paces[peer].add_to(&mut figures, self.setup.tick_rate);
        }
        figures.proven = self.judge_proofs(plan, &honest, ends, ended_at);
        let has_begun = |&peer: &usize| self.paces[peer].first().is_some();
        let is_host = plan.seat == 0 || plan.crash.is_some_and(|(peer, _)| peer == 0);
        let is_off = !figures.has_begun || (is_host && !honest.iter().all(has_begun));
        if is_off {
            if let (Some(&first), false) = (honest.first(), plan.disturbs_setup()) {
                self.audit.violated(Oracle::Outcome, first, self.world.now(), "it did not begin".into());
            }
        } else if ends.len() > 2 && !plan.splits() {
            figures.lost = self.judge_alike(plan, &honest, ends, ended_at);
            self.judge_summaries(ends, honest.iter().copied(), |player| !honest.contains(&player));
        }
        figures
    }

    /// Whether no honest seat is proven to have told different inputs, and the byzantine one is by all if it does nothing
    /// else and states parted over it. How many have the proof.
    fn judge_proofs(
        &mut self,
        plan: &ByzantinePlan,
        honest: &[usize],
        ends: &[PeerEnd],
        ended_at: &[Time],
    ) -> u32 {
        let mut proven = 0;
        for &peer in honest {
            let Some(report) = ends[peer].desync() else { continue };
            let is_proven = match &report.equivocation {
                Some(found) if found.seat.index() != plan.seat || !found.holds() => {
                    let what = format!("a false proof of player {}", found.seat);
                    self.audit.violated(Oracle::Desync, peer, ended_at[peer], what);
                    continue;
                }
                found => found.is_some(),
            };
            proven += u32::from(is_proven);
            if !is_proven && plan.only_equivocates() && ends.len() > 2 {
                let what = "different inputs were told, and that is not proven".into();
                self.audit.violated(Oracle::Desync, peer, ended_at[peer], what);
            }
        }
        proven
    }

    /// Whether an honest peer began or was off in time, never stood for too long, and came to some end.
    pub(super) fn judge_time(&mut self, peer: usize, end: &PeerEnd) {
        let now = self.world.now();
        if matches!(end, PeerEnd::Unfinished) {
            self.audit.violated(Oracle::Outcome, peer, now, "it is not over after any patience".into());
            self.paces[peer].over(now);
        }
        for what in self.paces[peer].complaints(now) {
            self.audit.violated(Oracle::Progress, peer, now, what);
        }
    }

    /// Whether all honest peers saw the same match through to the same end; how many did not.
    fn judge_alike(
        &mut self,
        plan: &ByzantinePlan,
        honest: &[usize],
        ends: &[PeerEnd],
        ended_at: &[Time],
    ) -> u32 {
        self.audit.compare(|peer| honest.contains(&peer));
        let said = |peer: usize| ends[peer].played().map(|end| (end.outcome, end.ticks, end.hash.whole));
        let is_through = |peer: usize| {
            ends[peer].played().is_some_and(|end| match end.outcome {
                MatchOutcome::Rules(_) | MatchOutcome::TickLimit => true,
                // The last team there is has won.
                MatchOutcome::PeerLost(gone) | MatchOutcome::PeerLeft(gone) => {
                    end.winner.is_some() && !honest.contains(&gone.index())
                }
                _ => false,
            })
        };
        // Two of four whose others are gone at once are no majority: their match ends.
        let is_minority = honest.len() * 2 <= ends.len();
        if is_minority && !honest.iter().any(|&peer| is_through(peer)) {
            return 0;
        }
        let mut lost = 0;
        for &peer in honest {
            let is_through = is_through(peer);
            lost += u32::from(!is_through);
            if !is_through || said(peer) != said(honest[0]) {
                let ends = ends.iter().map(PeerEnd::to_string).collect::<Vec<_>>().join(", ");
                let what = format!("the ends are {ends}, and seat {} is byzantine", plan.seat);
                self.audit.violated(Oracle::Outcome, peer, ended_at[peer], what);
            }
        }
        lost
    }
}
