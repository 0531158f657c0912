//! Oracles of matches with interference.

use core::time::Duration;

use super::VirtualMatch;
use crate::byzantine::{Attacker, ByzantineFigures, ByzantinePlan};
use crate::scenario::Act;
use game::MatchOutcome;
use lab::sessions::{TIMEOUT, WAIT};
use lab::{Oracle, PeerEnd};
use net::Time;

/// A peer whose others are gone is over so long after its timeout, or after its wait.
const OVER_AFTER: Duration = Duration::from_secs(1);

/// Says what the byzantine seat did to the others.
pub(super) fn judge_byzantine(
    game: &mut VirtualMatch,
    attacker: &Attacker,
    ends: &[PeerEnd],
    ended_at: &[Time],
) -> ByzantineFigures {
    let plan = attacker.plan();
    let is_here = |&peer: &usize| peer != plan.seat && !matches!(ends[peer], PeerEnd::Crashed);
    let honest: Vec<usize> = (0..ends.len()).filter(is_here).collect();
    let mut figures = core::mem::take(&mut game.interference.figures);
    (figures.seat, figures.behaviours) = (plan.seat, attacker.done());
    for &peer in &honest {
        judge_time(game, peer, &ends[peer]);
        game.interference.paces[peer].add_to(&mut figures, game.setup.tick_rate);
    }
    figures.proven = judge_proofs(game, plan, &honest, ends, ended_at);
    let has_begun = |&peer: &usize| game.interference.paces[peer].first().is_some();
    let is_host = plan.seat == 0 || plan.crash.is_some_and(|(peer, _)| peer == 0);
    let is_off = !figures.has_begun || (is_host && !honest.iter().all(has_begun));
    if is_off {
        if let (Some(&first), false) = (honest.first(), plan.disturbs_setup()) {
            game.audit.violated(Oracle::Outcome, first, game.world.now(), "it did not begin".into());
        }
    } else if ends.len() > 2 && !plan.splits() {
        figures.lost = judge_alike(game, plan, &honest, ends, ended_at);
        game.judge_summaries(ends, honest.iter().copied(), |player| !honest.contains(&player));
    }
    figures
}

/// Whether no honest seat is proven to have told different inputs, and the byzantine one is by all if it does nothing
/// else and states parted over it. How many have the proof.
fn judge_proofs(
    game: &mut VirtualMatch,
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
                game.audit.violated(Oracle::Desync, peer, ended_at[peer], what);
                continue;
            }
            found => found.is_some(),
        };
        proven += u32::from(is_proven);
        if !is_proven && plan.only_equivocates() && ends.len() > 2 {
            let what = "different inputs were told, and that is not proven".into();
            game.audit.violated(Oracle::Desync, peer, ended_at[peer], what);
        }
    }
    proven
}

/// Whether an honest peer began or was off in time, never stood for too long, and came to some end.
fn judge_time(game: &mut VirtualMatch, peer: usize, end: &PeerEnd) {
    let now = game.world.now();
    if matches!(end, PeerEnd::Unfinished) {
        game.audit.violated(Oracle::Outcome, peer, now, "it is not over after any patience".into());
        game.interference.paces[peer].over(now);
    }
    for what in game.interference.paces[peer].complaints(now) {
        game.audit.violated(Oracle::Progress, peer, now, what);
    }
}

/// Whether all honest peers saw the same match through to the same end; how many did not.
fn judge_alike(
    game: &mut VirtualMatch,
    plan: &ByzantinePlan,
    honest: &[usize],
    ends: &[PeerEnd],
    ended_at: &[Time],
) -> u32 {
    game.audit.compare(|peer| honest.contains(&peer));
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
            game.audit.violated(Oracle::Outcome, peer, ended_at[peer], what);
        }
    }
    lost
}

/// Whether the others began or were off in time and never stood for too long.
pub(super) fn judge_cost(game: &mut VirtualMatch, attacker: &Attacker, ends: &[PeerEnd]) -> ByzantineFigures {
    let mut figures = core::mem::take(&mut game.interference.figures);
    (figures.seat, figures.behaviours) = (attacker.plan().seat, attacker.done());
    for seat in game.honest().collect::<Vec<_>>() {
        judge_time(game, seat, &ends[seat]);
        game.interference.paces[seat].add_to(&mut figures, game.setup.tick_rate);
    }
    figures
}

/// After a crash or a goodbye no peer keeps waiting.
pub(super) fn judge_patience(game: &mut VirtualMatch, ends: &[PeerEnd], ended_at: &[Time]) {
    if ends.len() > 2 || !ends.iter().any(|end| matches!(end, PeerEnd::Crashed)) {
        return;
    }
    let Some(gone_at) = game.interference.gone_at else { return };
    for (peer, end) in ends.iter().enumerate() {
        let patience = if matches!(end, PeerEnd::Failed(_)) { WAIT + TIMEOUT } else { TIMEOUT };
        // The time in which it was suspended itself is not silence of the other.
        let suspended = game.interference.scenario.acts.iter().filter_map(|&(at, act)| match act {
            Act::Pause(who, length, _) if who == peer => {
                Some(at.plus(length).min(ended_at[peer]).since(at.max(gone_at)))
            }
            _ => None,
        });
        let waited = ended_at[peer].since(gone_at).saturating_sub(suspended.sum());
        if !matches!(end, PeerEnd::Crashed) && waited > patience + patience / 50 + OVER_AFTER {
            let what = format!("over {:.3} s after the other peer was gone", waited.as_secs_f64());
            game.audit.violated(Oracle::Outcome, peer, ended_at[peer], what);
        }
    }
}
