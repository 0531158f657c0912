//! Units, interpolated between two ticks.

use macroquad::math::{Vec2, vec2};
use sim::math::Angle;
use sim::{AttackBehaviour, ControlBehaviour, GameState, Glyph, PlayerId, Tick, UnitId, UnitRules};

use super::colours::{self, Side};
use super::view::{View, point, radians};

/// Minimum scale of bases, in pixels per tile: on a large map that is shown whole, they are drawn larger than to
/// scale.
const TILE_LEAST_PX: f32 = 10.0;
/// Maximum distance of a walk in a tick, in tiles; a longer move is a jump and is not interpolated.
const JUMP: f32 = 2.0;

/// Unit as seen in a frame.
pub(super) struct Body {
    pub(super) id: UnitId,
    pub(super) owner: PlayerId,
    pub(super) team: u8,
    pub(super) side: Side,
    pub(super) is_hero: bool,
    pub(super) attack: AttackBehaviour,
    pub(super) glyph: Glyph,
    /// Position, in pixels.
    pub(super) at: Vec2,
    /// Facing direction, on the screen.
    pub(super) forward: Vec2,
    /// Velocity on the screen, in tiles per second.
    pub(super) speed: Vec2,
    /// Radius of the base, in pixels.
    pub(super) radius: f32,
    /// Share of hit points left, from 0 to 1.
    pub(super) health: f32,
    /// Progress of the windup of its next attack, from 0 to 1.
    pub(super) windup: Option<f32>,
    /// Reach of its weapon, in pixels.
    pub(super) reach: f32,
}

impl Body {
    pub(super) fn new(view: &View<'_>, row: usize) -> Self {
        let state = view.state();
        let units = &state.units;
        let (id, control) = (units.id[row], units.control[row]);
        let rules = view.scene.setup.rules.unit(control, units.kind[row]);
        let is_hero = control == ControlBehaviour::Player;
        let (place, angle) = between(view.scene.previous, state, row, view.scene.alpha);
        let windup_ticks = view.scene.setup.tick_rate.ticks_in_ms(rules.windup_ms).max(1) as f32;
        // An attack that is due at a tick hits while that tick runs.
        let left = |due: Tick| due.0 as f32 + 1.0 - view.now;
        let windup = Some(units.strike_at[row]).filter(|&due| due != Tick::NEVER);
        Self {
            id,
            owner: units.owner[row],
            team: state.team(row),
            side: view.side(state.team(row)),
            is_hero,
            attack: rules.attack,
            glyph: rules.glyph(),
            at: view.px(place),
            forward: vec2(angle.cos(), -angle.sin()),
            speed: point(units.vx[row], -units.vy[row]) * view.hz,
            radius: radius(rules) * view.tile.max(TILE_LEAST_PX),
            health: f32::from(units.hp[row]) / f32::from(rules.hp),
            windup: windup.map(|due| (1.0 - left(due) / windup_ticks).clamp(0.0, 1.0)),
            reach: rules.reach as f32 / 1000.0 * view.tile,
        }
    }

    pub(super) fn colour(&self) -> macroquad::color::Color {
        colours::team(self.team)
    }
}

/// Returns the radius of a base, in tiles: that of the body in the simulation, so that neighbours do not hide each
/// other.
pub(super) fn radius(rules: &UnitRules) -> f32 {
    rules.radius as f32 / 1000.0
}

/// Interpolates the position and the facing angle of a unit of `current`, in tiles and radians.
fn between(previous: &GameState, current: &GameState, row: usize, alpha: f32) -> (Vec2, f32) {
    let units = &current.units;
    let (place, facing) = (point(units.x[row], units.y[row]), units.facing[row]);
    let Some(before) = previous.row(units.id[row]) else { return (place, radians(facing)) };
    let from = point(previous.units.x[before], previous.units.y[before]);
    let from = if from.distance(place) > JUMP { place } else { from };
    let looked = previous.units.facing[before];
    let turn = f32::from(looked.to(facing)) * alpha;
    (from.lerp(place, alpha), radians(Angle(looked.0.wrapping_add_signed(turn as i16))))
}
