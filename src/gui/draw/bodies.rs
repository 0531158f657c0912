//! Units between two ticks.

use macroquad::math::{Vec2, vec2};
use sim::math::Angle;
use sim::{AttackBehaviour, ControlBehaviour, GameState, PlayerId, Tick, UnitId, UnitRules};

use super::colours::{self, Side};
use super::view::{View, point, radians, rules_of};

/// A base never looks smaller than on a map with this many pixels per tile: on a large map that is shown
/// whole, pieces are larger than to scale.
const TILE_LEAST_PX: f32 = 10.0;
/// Farther than this in a tick is no walk, tiles.
const JUMP: f32 = 2.0;

/// A unit as it is seen in a frame.
pub(super) struct Body {
    pub(super) id: UnitId,
    pub(super) owner: PlayerId,
    pub(super) team: u8,
    pub(super) side: Side,
    pub(super) is_hero: bool,
    pub(super) kind: AttackBehaviour,
    /// Pixels.
    pub(super) at: Vec2,
    /// Where it looks: a way on the screen.
    pub(super) forward: Vec2,
    /// Tiles per second, on the screen.
    pub(super) speed: Vec2,
    /// Radius of its base, pixels.
    pub(super) radius: f32,
    /// Hit points left, 0 to 1.
    pub(super) health: f32,
    /// How far its next blow is wound up, 0 to 1.
    pub(super) windup: Option<f32>,
    /// Reach of its weapon, pixels.
    pub(super) reach: f32,
}

impl Body {
    pub(super) fn new(view: &View<'_>, row: usize) -> Self {
        let state = view.state();
        let units = &state.units;
        let (id, control, kind) = (units.id[row], units.control[row], units.attack[row]);
        let rules = rules_of(view.scene.setup, control, kind);
        let is_hero = control == ControlBehaviour::Player;
        let (place, angle) = between(view.scene.previous, state, row, view.scene.alpha);
        let windup_ticks = view.scene.setup.tick_rate.ticks_in_ms(rules.windup_ms).max(1) as f32;
        // A blow that is due at a tick falls while that tick runs.
        let left = |due: Tick| due.0 as f32 + 1.0 - view.now;
        let windup = Some(units.strike_at[row]).filter(|&due| due != Tick::NEVER);
        Self {
            id,
            owner: units.owner[row],
            team: state.team(row),
            side: view.side(state.team(row)),
            is_hero,
            kind,
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

/// Radius of a base, tiles: what the body takes in the simulation, so that neighbours do not hide each other.
pub(super) fn radius(rules: &UnitRules) -> f32 {
    rules.radius as f32 / 1000.0
}

/// Where a unit of `current` is and looks, in tiles and radians.
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
