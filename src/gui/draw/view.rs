//! A scene at the instant of a frame, in pixels.

use std::f32::consts::TAU;

use macroquad::math::{Rect, Vec2, vec2};
use sim::math::{Angle, Fx};
use sim::{GameState, Map, MilliPoint, PlayerId, Tick};

use super::colours::Side;
use super::{Camera, Look, Scene};

/// Scene and camera, with values derived from both.
pub(super) struct View<'a> {
    pub(super) camera: &'a Camera,
    pub(super) scene: &'a Scene<'a>,
    pub(super) window: Rect,
    /// Pixels per tile.
    pub(super) tile: f32,
    /// Width of an outline, in pixels: 2 at 20 pixels per tile.
    pub(super) line: f32,
    /// Instant of the frame, in ticks.
    pub(super) now: f32,
    /// Ticks per second.
    pub(super) hz: f32,
    pub(super) look: Look,
    /// Whether it is the backdrop of a menu: then nothing is marked or shaded.
    pub(super) is_backdrop: bool,
}

impl<'a> View<'a> {
    pub(super) fn new(camera: &'a Camera, scene: &'a Scene<'a>, window: Rect) -> Self {
        let tile = camera.px_per_tile();
        let (before, after) = (scene.previous.clock().0 as f32, scene.current.clock().0 as f32);
        Self {
            camera,
            scene,
            window,
            tile,
            line: (tile / 10.0).clamp(1.5, 4.0),
            now: before + (after - before) * scene.alpha,
            hz: scene.setup.tick_rate.hz() as f32,
            look: Look::default(),
            is_backdrop: false,
        }
    }

    pub(super) fn state(&self) -> &'a GameState {
        self.scene.current
    }

    pub(super) fn px(&self, tiles: Vec2) -> Vec2 {
        self.camera.to_screen(tiles)
    }

    /// Returns the seconds since an instant in ticks.
    pub(super) fn age(&self, since: f32) -> f32 {
        (self.now - since) / self.hz
    }

    /// Whether an object of this size around `px` is visible.
    pub(super) fn sees(&self, px: Vec2, radius: f32) -> bool {
        let seen = self.camera.viewport;
        px.x + radius > seen.x
            && px.x - radius < seen.right()
            && px.y + radius > seen.y
            && px.y - radius < seen.bottom()
    }

    pub(super) fn base(&self, player: PlayerId) -> Vec2 {
        self.scene.setup.map.bases.get(player.index()).map_or(Vec2::ZERO, |&base| milli(base))
    }

    pub(super) fn my_team(&self) -> Option<u8> {
        self.scene.me.map(|me| self.state().team_of(me))
    }

    /// Whether a team is an enemy of `me`; false for a spectator.
    pub(super) fn is_enemy(&self, team: u8) -> bool {
        self.my_team().is_some_and(|mine| mine != team)
    }

    /// Returns the style of a team's pieces; for a spectator it alternates.
    pub(super) fn side(&self, team: u8) -> Side {
        let is_own = self.my_team().map_or(team.is_multiple_of(2), |mine| mine == team);
        if is_own { Side::Own } else { Side::Other }
    }

    /// Whether sudden death has begun.
    pub(super) fn is_sudden(&self) -> bool {
        self.state().clock() >= self.sudden_death()
    }

    /// Returns the clock at which sudden death begins.
    pub(super) fn sudden_death(&self) -> Tick {
        self.scene.setup.sudden_death()
    }

    pub(super) fn name(&self, player: PlayerId) -> &'a str {
        const TEAMS: [&str; 4] = ["Blue", "Orange", "Violet", "Mint"];
        let given = self.scene.names.get(player.index()).map(String::as_str).filter(|name| !name.is_empty());
        given.unwrap_or(TEAMS[player.index() % TEAMS.len()])
    }
}

/// Converts a position of a map file to tiles.
pub(super) fn milli((x, y): MilliPoint) -> Vec2 {
    vec2(x as f32, y as f32) / 1000.0
}

/// Returns the centre of a circle, in tiles; the middle of the map if it has no such circle.
pub(crate) fn circle_place(map: &Map, circle: usize) -> Vec2 {
    map.circles.get(circle).map_or(Vec2::ZERO, |circle| milli(circle.at))
}

/// Converts the position of a circle or a base to tiles; the middle of the map if it has none.
pub(crate) fn place(at: Option<&MilliPoint>) -> Vec2 {
    at.map_or(Vec2::ZERO, |&at| milli(at))
}

pub(super) fn point(x: Fx, y: Fx) -> Vec2 {
    vec2(x.to_num(), y.to_num())
}

/// Converts an angle to radians, anticlockwise from the right with y up.
pub(super) fn radians(angle: Angle) -> f32 {
    f32::from(angle.0) * TAU / 65_536.0
}

/// Ease-out from 0 to 1.
pub(super) fn ease_out(share: f32) -> f32 {
    let left = 1.0 - share.clamp(0.0, 1.0);
    1.0 - left * left * left
}
