//! Corrections of a view: a unit that is shown in the wrong place blends to the right one.

use core::time::Duration;

use net::Time;
use sim::math::{Fx, Vec2};
use sim::{GameState, UnitId};

/// Time in which a corrected unit blends to its right position.
pub(super) const BLEND: Duration = Duration::from_millis(100);
/// Error above which a unit snaps to its position: one tile.
const SNAP: Fx = Fx::ONE;

/// Units that blend to their right positions.
#[derive(Clone, Debug, Default)]
pub(super) struct Smoothing(Vec<Correction>);

/// Unit that blends to its right position.
#[derive(Clone, Copy, Debug)]
struct Correction {
    unit: UnitId,
    /// Its error at `since`.
    off: Vec2,
    since: Time,
}

impl Smoothing {
    /// Creates a list that holds at most this many units; others snap.
    pub(super) fn with_capacity(units: usize) -> Self {
        Self(Vec::with_capacity(units))
    }

    /// Whether no unit has been corrected for a while.
    #[cfg(test)]
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Begins to blend from what was shown to what is right. Calls `each` with the id and the error of every unit that was
    /// in another place, along the axis in which it is larger.
    pub(super) fn correct(
        &mut self,
        now: Time,
        shown: &GameState,
        right: &GameState,
        mut each: impl FnMut(UnitId, Fx),
    ) {
        self.0.retain(|correction| now.since(correction.since) < BLEND);
        for (row, &unit) in right.units.id.iter().enumerate() {
            let Some(was) = shown.row(unit) else { continue };
            let mut off = shown.position(was) - right.position(row);
            if off == Vec2::default() {
                continue;
            }
            each(unit, size(off));
            // The remaining offset of an earlier correction is carried over.
            if let Some(at) = self.0.iter().position(|correction| correction.unit == unit) {
                off = off + self.0.swap_remove(at).left(now);
            }
            if size(off) <= SNAP && self.0.len() < self.0.capacity() {
                self.0.push(Correction { unit, off, since: now });
            }
        }
    }

    /// Moves units that still blend to where they are shown.
    pub(super) fn apply(&self, now: Time, picture: &mut GameState) {
        for correction in &self.0 {
            if let Some(row) = picture.row(correction.unit) {
                let left = correction.left(now);
                picture.units.x[row] += left.x;
                picture.units.y[row] += left.y;
            }
        }
    }
}

impl Correction {
    /// Returns the remaining error of the view.
    fn left(&self, now: Time) -> Vec2 {
        let (passed, whole) = (now.since(self.since).min(BLEND).as_micros() as i32, BLEND.as_micros() as i32);
        let part = |off: Fx| sim::math::mul_div(off, whole - passed, whole);
        Vec2 { x: part(self.off.x), y: part(self.off.y) }
    }
}

fn size(off: Vec2) -> Fx {
    off.x.abs().max(off.y.abs())
}
