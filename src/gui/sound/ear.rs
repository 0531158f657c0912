//! Stereo panning: the listener is in the middle of the view. Sounds on the left are heard on the left; beyond the
//! edge they fade with distance.

use macroquad::math::{Vec2, vec2};

use super::catalogue::{Kind, Priority};
use crate::gui::draw::Camera;

/// Gain of both channels for a centred sound.
pub(super) const MIDDLE: [f32; 2] = [std::f32::consts::FRAC_1_SQRT_2; 2];
/// Panning at the edge of the view, where 1 is fully to one side.
const WIDTH: f32 = 0.75;
/// Distances beyond the edge of the view at which the volume is half, and at which it is zero, in tiles.
const HALF_AT: f32 = 6.0;
const HEARD_TO: f32 = 30.0;

/// Visible part of the arena, in tiles.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ear {
    centre: Vec2,
    /// Distance from the centre to the edges.
    half: Vec2,
}

impl Ear {
    pub(crate) fn of(camera: &Camera) -> Self {
        let tile = camera.px_per_tile().max(f32::MIN_POSITIVE);
        let half = vec2(camera.viewport.w, camera.viewport.h) / tile / 2.0;
        Self { centre: camera.centre, half: half.max(Vec2::splat(1.0)) }
    }

    /// Returns the gains of the left and right channel for a sound at a position in tiles; `None` if it is out of
    /// earshot. Alerts are heard everywhere.
    pub(super) fn sides(&self, at: Vec2, kind: Kind) -> Option<[f32; 2]> {
        let from = at - self.centre;
        let beyond = (from.abs() - self.half).max(Vec2::ZERO).length();
        let is_danger = kind.entry().priority == Priority::Danger;
        if beyond > HEARD_TO && !is_danger {
            return None;
        }
        let gain = if is_danger { 1.0 } else { 1.0 / (1.0 + (beyond / HALF_AT).powi(2)) };
        let side = (from.x / self.half.x).clamp(-1.0, 1.0) * WIDTH;
        // Equal-power panning.
        let turn = (side + 1.0) * std::f32::consts::FRAC_PI_4;
        Some([turn.cos() * gain, turn.sin() * gain])
    }
}

#[cfg(test)]
mod tests {
    use macroquad::math::Rect;

    use super::*;

    /// 40 by 20 tiles around (10, 0).
    fn ear() -> Ear {
        let viewport = Rect::new(0.0, 50.0, 800.0, 400.0);
        Ear::of(&Camera { centre: vec2(10.0, 0.0), tiles_high: 20.0, viewport })
    }

    fn loudness([left, right]: [f32; 2]) -> f32 {
        left.hypot(right)
    }

    #[test]
    fn sounds_are_panned_and_equally_loud_within_the_view() {
        let sides = |x: f32, y: f32| ear().sides(vec2(x, y), Kind::SwordHit).expect("in view");
        let [left, right] = sides(-8.0, 0.0);
        assert!(left > 3.0 * right, "{left} {right}");
        let mirrored = sides(28.0, 0.0);
        assert!((mirrored[1] - left).abs() < 1e-5 && (mirrored[0] - right).abs() < 1e-5);
        assert!((sides(10.0, 9.0)[0] - MIDDLE[0]).abs() < 1e-5);
        for x in [-10.0, 0.0, 10.0, 29.0] {
            assert!((loudness(sides(x, 5.0)) - 1.0).abs() < 1e-4, "at {x}");
        }
    }

    #[test]
    fn sounds_out_of_view_fade_to_silence() {
        let loud = |x: f32, kind: Kind| ear().sides(vec2(x, 0.0), kind).map(loudness);
        let at_half = loud(30.0 + HALF_AT, Kind::SwordHit).expect("near");
        assert!((at_half - 0.5).abs() < 1e-4, "{at_half}");
        assert_eq!(loud(31.0 + HEARD_TO, Kind::SwordHit), None);
        assert!(loud(31.0 + HEARD_TO, Kind::CircleLost).is_some_and(|loud| loud > 0.99));
    }
}
