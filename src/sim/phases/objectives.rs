//! Circles, shields, supply, score and the end of the match.

use super::scratch::Scratch;
use crate::compiled_rules::CompiledRules;
use crate::event::{Event, Events};
use crate::math::{dist2, square};
use crate::rules::MapCircle;
use crate::space::grid::Grid;
use crate::state::{CAPTURED, GameState, Outcome, SUPPLY};
use crate::tick::{PLAYERS_MAX, PlayerId};

/// Percent of the supply income after the escalation and in sudden death.
const ESCALATED_PERCENT: [i64; 2] = [150, 200];

/// Circles and shields in every tick; supply, score and burning cores once a second; then the result.
pub(crate) fn advance(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    let Scratch { grid, events, .. } = scratch;
    for circle in 0..state.circles.len() {
        let presence = Presence::of(rules, grid, circle);
        advance_circle(rules, state, events, circle, &presence);
    }
    open_cores(rules, state, events);
    let mut burnt = false;
    if (state.clock().0 + 1).is_multiple_of(rules.rate.hz()) {
        pay(rules, state);
        add_score(rules, state, events);
        burnt = burn(rules, state);
    }
    judge(rules, state, burnt);
}

/// Whether some player of a team still has a core and has not surrendered.
pub(crate) fn has_core(state: &GameState, team: u8) -> bool {
    state.player_ids().any(|player| {
        state.team_of(player) == team
            && state.cores.hp[player.index()] > 0
            && state.players.surrendered[player.index()] == 0
    })
}

// Circles.

/// The units in a circle when the tick began, by player.
struct Presence {
    units: [u16; PLAYERS_MAX],
    /// Sum of the weights with which they capture, in thousandths.
    weight: [i32; PLAYERS_MAX],
}

impl Presence {
    fn of(rules: &CompiledRules, grid: &Grid, circle: usize) -> Self {
        let mut here = Self { units: [0; PLAYERS_MAX], weight: [0; PLAYERS_MAX] };
        let (at, radius) = (rules.arena.circles[circle], rules.per_tick.circle_radius);
        for body in grid.near(at, radius) {
            if dist2(body.at(), at) <= square(radius) {
                let owner = body.owner.index();
                here.units[owner] += 1;
                here.weight[owner] += rules.per_tick.kind(body.kind).capture;
            }
        }
        here
    }

    /// The only team in the circle, its player with most units, and the weight of its units; `Err` with whether
    /// several teams are there.
    fn alone(&self, state: &GameState) -> Result<(u8, PlayerId, i32), bool> {
        let here = || state.player_ids().filter(|player| self.units[player.index()] > 0);
        let Some(first) = here().next() else { return Err(false) };
        let team = state.team_of(first);
        if here().any(|player| state.team_of(player) != team) {
            return Err(true);
        }
        // Of a team's players with equally many units, the one in the lowest seat.
        let most = here().rev().max_by_key(|player| self.units[player.index()]).unwrap_or(first);
        Ok((team, most, here().map(|player| self.weight[player.index()]).sum()))
    }
}

fn advance_circle(
    rules: &CompiledRules,
    state: &mut GameState,
    events: &mut Events,
    circle: usize,
    presence: &Presence,
) {
    let alone = presence.alone(state);
    let circles = &state.circles;
    let (owner, taker, progress) = (circles.owner[circle], circles.taker[circle], circles.progress[circle]);
    let per_tick = &rules.per_tick;
    let contested = alone == Err(true);
    let (mut next_taker, mut next_progress) = (taker, progress);
    match alone {
        Err(true) => {}
        Err(false) => next_progress = progress - per_tick.capture_decay,
        Ok((team, player, weight)) => {
            let step = i64::from(per_tick.capture) * i64::from(weight) / 1000;
            let step = step.min(per_tick.capture_most.into()) as i32;
            let owns = owner != PlayerId::NONE && state.team_of(owner) == team;
            if owns {
                next_progress = progress - step;
            } else if progress == 0 || state.team_of(taker) == team {
                // The first player of a team to arrive captures, and only another team replaces that player.
                next_taker = if progress == 0 { player } else { taker };
                next_progress = progress + step;
            } else {
                next_progress = progress - step;
            }
        }
    }
    next_progress = next_progress.clamp(0, CAPTURED);
    let taken = next_progress == CAPTURED;
    let circles = &mut state.circles;
    circles.contested[circle] = u8::from(contested);
    circles.progress[circle] = if taken { 0 } else { next_progress };
    circles.taker[circle] = if taken || next_progress == 0 { PlayerId::NONE } else { next_taker };
    if taken {
        circles.owner[circle] = next_taker;
        events.push(Event::Capture { circle: circle as u8, player: next_taker });
        if let Some(captures) = state.players.captures.get_mut(next_taker.index()) {
            *captures = captures.saturating_add(1);
        }
    }
}

/// A core has no shield while an enemy team holds more than half of the circles, and in sudden death.
fn open_cores(rules: &CompiledRules, state: &mut GameState, events: &mut Events) {
    if rules.raw.endless {
        return;
    }
    let sudden = state.clock().0 >= rules.per_tick.sudden_death;
    for player in state.player_ids() {
        let team = state.team_of(player);
        let besieged = state.player_ids().any(|enemy| {
            let other = state.team_of(enemy);
            other != team && state.circles_held(other) * 2 > state.circles.len()
        });
        let open = sudden || besieged;
        if u8::from(open) != state.cores.open[player.index()] {
            events.push(Event::Shield { core: player, open });
        }
        state.cores.open[player.index()] = u8::from(open);
    }
}

// Once a second.

fn pay(rules: &CompiledRules, state: &mut GameState) {
    let raw = &rules.raw;
    let now = state.clock().0 + 1;
    let [escalated, sudden] = ESCALATED_PERCENT;
    let percent = match now {
        now if now >= rules.per_tick.sudden_death => sudden,
        now if now >= rules.per_tick.escalation => escalated,
        _ => 100,
    };
    for player in state.player_ids() {
        let circles = held(rules, state, state.team_of(player), |circle| circle.supply.into());
        let income = i64::from(raw.supply_per_minute) + i64::from(circles);
        let share = if is_behind(state, state.team_of(player)) { raw.behind_supply_percent } else { 100 };
        // Supply per minute, times a percentage, is six-thousandths of supply per second.
        let income = income * i64::from(share) * percent / 100;
        let supply = &mut state.players.supply[player.index()];
        let full = (i32::from(raw.supply_max) * SUPPLY).max(*supply);
        *supply = i64::from(full).min(i64::from(*supply) + income) as i32;
    }
}

/// The points of a team's circles beyond those of the best enemy team.
fn add_score(rules: &CompiledRules, state: &mut GameState, events: &mut Events) {
    for player in state.player_ids() {
        let team = state.team_of(player);
        let lead = lead(state, team, |team| held(rules, state, team, |circle| circle.score));
        if lead > 0 && is_first_of_team(state, player) {
            events.push(Event::Score { team, points: lead });
        }
        let score = &mut state.players.score[player.index()];
        *score = score.saturating_add(lead.max(0));
    }
}

/// Returns the sum of what the circles of a team give.
fn held(rules: &CompiledRules, state: &GameState, team: u8, given: impl Fn(&MapCircle) -> i32) -> i32 {
    let owners = state.circles.owner.iter().zip(&rules.arena.map_circles);
    let held = owners.filter(|&(&owner, _)| owner != PlayerId::NONE && state.team_of(owner) == team);
    held.map(|(_, circle)| given(circle)).sum()
}

/// Returns how much more a team has than the best other team.
fn lead(state: &GameState, team: u8, has: impl Fn(u8) -> i32) -> i32 {
    let others = state.player_ids().map(|player| state.team_of(player)).filter(|&other| other != team);
    has(team) - others.map(&has).max().unwrap_or(0)
}

/// Sudden death: cores burn unless their team alone holds most circles. Returns whether a core fell.
fn burn(rules: &CompiledRules, state: &mut GameState) -> bool {
    if state.clock().0 < rules.per_tick.sudden_death {
        return false;
    }
    let mut fell = false;
    for player in state.player_ids() {
        let burns = match lead(state, state.team_of(player), |team| state.circles_held(team) as i32) {
            1.. => 0,
            0 => rules.raw.burn_shared,
            _ => rules.raw.burn_behind,
        };
        let hp = &mut state.cores.hp[player.index()];
        fell |= *hp > 0 && *hp <= burns;
        *hp = (*hp - burns).max(0);
    }
    fell
}

// The result.

/// Ends the match if at most one team has a core, or one has enough points. `burnt`: whether a core burnt down in this
/// tick.
pub(crate) fn judge(rules: &CompiledRules, state: &mut GameState, burnt: bool) {
    let standing = |team: u8| has_core(state, team);
    let gave_up = teams(state).any(|team| {
        !standing(team) && members(state, team).all(|player| state.players.surrendered[player.index()] != 0)
    });
    let left = teams(state).filter(|&team| standing(team)).count();
    let verdict = if left <= 1 {
        let reason = match (burnt, gave_up) {
            (true, _) => Outcome::SuddenDeath,
            (false, true) => Outcome::Surrender,
            (false, false) => Outcome::Core,
        };
        Some((reason, if left == 1 { teams(state).find(|&team| standing(team)) } else { best(state) }))
    } else {
        let reached = teams(state).any(|team| score(state, team) >= rules.raw.score_to_win);
        (reached && !rules.raw.endless).then(|| (Outcome::Score, best(state)))
    };
    match verdict {
        None => {}
        Some((reason, Some(team))) => {
            (state.globals.outcome[0], state.globals.winner[0]) = (reason, team);
        }
        Some((_, None)) => state.globals.outcome[0] = Outcome::Draw,
    }
}

/// Each team once.
fn teams(state: &GameState) -> impl Iterator<Item = u8> + '_ {
    let team = |player: PlayerId| state.team_of(player);
    state.player_ids().filter(|&player| is_first_of_team(state, player)).map(team)
}

/// Whether the player has the lowest seat of its team.
pub(crate) fn is_first_of_team(state: &GameState, player: PlayerId) -> bool {
    members(state, state.team_of(player)).next() == Some(player)
}

fn members(state: &GameState, team: u8) -> impl Iterator<Item = PlayerId> + '_ {
    state.player_ids().filter(move |&player| state.team_of(player) == team)
}

/// Whether another team has more points.
fn is_behind(state: &GameState, team: u8) -> bool {
    teams(state).any(|other| score(state, other) > score(state, team))
}

fn score(state: &GameState, team: u8) -> i32 {
    members(state, team).map(|player| state.players.score[player.index()]).max().unwrap_or(0)
}

/// The team with the most points, then the most damage to cores; `None` on a tie in both.
fn best(state: &GameState) -> Option<u8> {
    let merit = |team: u8| {
        let damage = members(state, team).map(|player| i64::from(state.players.core_damage[player.index()]));
        (score(state, team), damage.sum::<i64>())
    };
    let most = teams(state).map(merit).max()?;
    let mut first = teams(state).filter(|&team| merit(team) == most);
    first.next().filter(|_| first.next().is_none())
}
