//! Reflexes of a bot: its hero dodges attacks and arrows.

use std::ops::RangeInclusive;

use super::Bot;
use super::view::{is_within, seat_from};
use sim::math::{Angle, Fx, Vec2, dist2, square};
use sim::{AttackBehaviour, Direction, Tick, World};

/// Minimum distance at which the centre of an arrow passes a hero's to miss, with a margin: 0.75 tiles.
const CLEAR: Fx = Fx::from_bits(49_152);
/// Maximum angle between the facing of a unit with a sword and a hero that expects its attack, in 65,536ths of a turn.
const ARC: u16 = 0x1400;
/// Arrows farther away than this are ignored, in milliseconds of flight.
const SOON_MS: u32 = 600;
/// Arrows nearer than this are ignored by a hero with a bow, in milliseconds of flight: he finishes his shot. Without this
/// the quickest bots evade nearly every arrow, and an army of bows with such a hero beats every hero with a sword.
const SHOT_MS: u32 = 420;

/// Returns the direction in which the hero dodges the next hit, if one is coming.
pub(super) fn side_step(world: &World, bot: &Bot) -> Option<Direction> {
    if !bot.skill().side_steps {
        return None;
    }
    let hero = world.state().hero(bot.player)?;
    let way = from_arrows(world, bot, hero).or_else(|| from_blows(world, bot, hero))?;
    Some(Direction::eighth((way.0.wrapping_add(0x1000) >> 13) as u8))
}

/// Returns a direction perpendicular to the path of the first arrow that would hit.
fn from_arrows(world: &World, bot: &Bot, hero: usize) -> Option<Angle> {
    let state = world.state();
    let least_ms = match world.unit_rules(hero).attack {
        AttackBehaviour::Swordsman => 0,
        AttackBehaviour::Archer => SHOT_MS,
    };
    let soonest = bot.reaction().max(bot.rate.ticks_in_ms(least_ms));
    let in_time = i64::from(soonest)..=i64::from(bot.rate.ticks_in_ms(SOON_MS));
    let hostile = |&arrow: &usize| state.team_of(state.projectiles.owner[arrow]) != state.team_of(bot.player);
    let arrows = (0..state.projectiles.len()).filter(hostile);
    let at = state.position(hero);
    let first =
        arrows.filter_map(|arrow| meeting(world, bot, at, arrow, &in_time)).min_by_key(|meeting| meeting.0);
    first.map(|(_, way)| way)
}

/// Predicts when an arrow will hit a hero that stays at `at`, in ticks, with the tie-break and the direction out of
/// its path. `None` if it misses, or not within the ticks `in_time`.
fn meeting(
    world: &World,
    bot: &Bot,
    at: Vec2,
    arrow: usize,
    in_time: &RangeInclusive<i64>,
) -> Option<((i64, i64, u8), Angle)> {
    let (state, arrows) = (world.state(), &world.state().projectiles);
    let bits = |v: Fx| i64::from(v.to_bits());
    let age = i64::from(state.clock().since(arrows.born_at[arrow]));
    let (vx, vy) = (bits(arrows.vx[arrow]), bits(arrows.vy[arrow]));
    // From the arrow to the hero.
    let px = bits(at.x) - bits(arrows.x[arrow]) - vx * age;
    let py = bits(at.y) - bits(arrows.y[arrow]) - vy * age;
    let ticks = (px * vx + py * vy) / (vx * vx + vy * vy).max(1);
    if !in_time.contains(&ticks) || state.clock().plus(ticks as u32) > arrows.dies_at[arrow] {
        return None;
    }
    let (dx, dy) = (px - vx * ticks, py - vy * ticks);
    let apart = dx * dx + dy * dy;
    let course = Angle::of(Vec2 { x: arrows.vx[arrow], y: arrows.vy[arrow] });
    let is_left = vx * py - vy * px >= 0;
    let way = course.turned(if is_left { 0x4000 } else { -0x4000 });
    let seat = seat_from(bot.player, arrows.owner[arrow]);
    (apart < square(CLEAR)).then_some(((ticks, apart, seat), way))
}

/// Returns a direction away from the nearest sword that is raised against the hero.
fn from_blows(world: &World, bot: &Bot, hero: usize) -> Option<Angle> {
    let state = world.state();
    let at = state.position(hero);
    let (units, team) = (&state.units, state.team_of(bot.player));
    let latest = state.clock().plus(bot.reaction() + bot.rate.ticks_in_ms(50));
    let raised = (0..units.len()).filter(|&row| {
        units.strike_at[row] != Tick::NEVER
            && units.strike_at[row] > latest
            && world.unit_rules(row).attack == AttackBehaviour::Swordsman
            && state.team(row) != team
            && is_within(at, state.position(row), 2)
            && units.facing[row].to(Angle::of(at - state.position(row))).unsigned_abs() < ARC
    });
    let nearest = raised
        .min_by_key(|&row| (dist2(at, state.position(row)), seat_from(bot.player, units.owner[row])))?;
    let from = Angle::of(at - state.position(nearest));
    // Half away and half out of the arc, toward the side where the hero stands.
    let is_left = units.facing[nearest].to(from) >= 0;
    Some(from.turned(if is_left { 0x2000 } else { -0x2000 }))
}
