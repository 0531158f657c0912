//! What a bot does at once: its hero steps out of the way of blows and arrows.

use super::Bot;
use super::view::is_within;
use crate::sim::math::{Angle, Fx, Vec2, dist2, square};
use crate::sim::{AttackBehaviour, Direction, Tick, World};

/// Squared half width of what an arrow's way must be clear of: a hero's body, the arrow, and some more.
const CLEAR: Fx = Fx::from_bits(49_152);

/// Where the hero steps to avoid what is about to hit it, if anything is.
pub(super) fn side_step(world: &World, bot: &Bot) -> Option<Direction> {
    let (skill, state) = (bot.skill(), world.state());
    if !skill.side_steps {
        return None;
    }
    let at = state.position(state.hero(bot.player)?);
    let way = from_arrows(world, bot, at).or_else(|| from_blows(world, bot, at))?;
    Some(Direction::eighth((way.0.wrapping_add(0x1000) >> 13) as u8))
}

/// Across the way of the first arrow that would hit.
fn from_arrows(world: &World, bot: &Bot, at: Vec2) -> Option<Angle> {
    let (state, arrows) = (world.state(), &world.state().projectiles);
    let team = state.team_of(bot.player);
    let soon = i64::from(bot.rate.ticks_in_ms(600));
    let mut first: Option<(i64, Angle)> = None;
    for arrow in 0..arrows.len() {
        if state.team_of(arrows.owner[arrow]) == team {
            continue;
        }
        let bits = |v: Fx| i64::from(v.to_bits());
        let age = i64::from(state.tick().since(arrows.born_at[arrow]));
        let (vx, vy) = (bits(arrows.vx[arrow]), bits(arrows.vy[arrow]));
        // From the arrow to the hero.
        let (px, py) =
            (bits(at.x) - bits(arrows.x[arrow]) - vx * age, bits(at.y) - bits(arrows.y[arrow]) - vy * age);
        let speed2 = (vx * vx + vy * vy).max(1);
        let ticks = (px * vx + py * vy) / speed2;
        if ticks < i64::from(bot.reaction())
            || ticks > soon
            || state.tick().plus(ticks as u32) > arrows.dies_at[arrow]
        {
            continue;
        }
        let (dx, dy) = (px - vx * ticks, py - vy * ticks);
        let is_near = dx * dx + dy * dy < square(CLEAR);
        if is_near && first.is_none_or(|(other, _)| ticks < other) {
            let course = Angle::of(Vec2 { x: arrows.vx[arrow], y: arrows.vy[arrow] });
            let is_left = vx * py - vy * px >= 0;
            first = Some((ticks, course.turned(if is_left { 0x4000 } else { -0x4000 })));
        }
    }
    first.map(|(_, way)| way)
}

/// Away from the nearest sword that is raised against the hero.
fn from_blows(world: &World, bot: &Bot, at: Vec2) -> Option<Angle> {
    let state = world.state();
    let (units, team) = (&state.units, state.team_of(bot.player));
    let latest = state.tick().plus(bot.reaction() + bot.rate.ticks_in_ms(50));
    let raised = (0..units.len()).filter(|&row| {
        units.strike_at[row] != Tick::NEVER
            && units.strike_at[row] > latest
            && units.attack[row] == AttackBehaviour::Swordsman
            && state.team(row) != team
            && is_within(at, state.position(row), 2)
            && units.facing[row].to(Angle::of(at - state.position(row))).unsigned_abs() < 0x1400
    });
    let nearest = raised.min_by_key(|&row| dist2(at, state.position(row)))?;
    let from = Angle::of(at - state.position(nearest));
    // Half away, half out of the arc, on the side where the hero stands.
    let is_left = units.facing[nearest].to(from) >= 0;
    Some(from.turned(if is_left { 0x2000 } else { -0x2000 }))
}
