//! Contents of views at one instant, and the distance between two views.

use sim::{GameState, UnitId};

/// Number of bins for the distances of moving units; the last has all larger ones.
const BINS: usize = 512;
/// Bins per tile.
const BINS_PER_TILE: f64 = 64.0;
/// Distance above which units count as far apart, in tiles.
const FAR_TILES: f64 = 0.5;

/// Unit in a view.
#[derive(Clone, Copy, Debug)]
struct Shown {
    unit: UnitId,
    at: [f64; 2],
    /// Whether it has moved since the last sample.
    has_moved: bool,
}

/// Positions of all units in a view, in the order of their creation.
#[derive(Clone, Debug, Default)]
pub(super) struct RenderedView {
    units: Vec<Shown>,
    before: Vec<Shown>,
}

impl RenderedView {
    /// Takes a sample of the units of `state`.
    pub(super) fn take(&mut self, state: &GameState) {
        core::mem::swap(&mut self.units, &mut self.before);
        self.units.clear();
        for (row, &unit) in state.units.id.iter().enumerate() {
            let at = [state.units.x[row].to_num(), state.units.y[row].to_num()];
            let has_moved = find(&self.before, row, unit).is_some_and(|before| before.at != at);
            self.units.push(Shown { unit, at, has_moved });
        }
    }
}

/// Finds a unit in a view, where its row is usually also `row`.
fn find(units: &[Shown], row: usize, unit: UnitId) -> Option<&Shown> {
    let here = units.get(row).filter(|shown| shown.unit == unit);
    here.or_else(|| units.iter().find(|shown| shown.unit == unit))
}

/// Distances between views, over all samples.
#[derive(Clone, Debug)]
pub(super) struct Divergence {
    sum: f64,
    count: u64,
    pub(super) max: f64,
    /// Number of samples of moving units, by distance.
    moving: [u64; BINS],
}

impl Default for Divergence {
    fn default() -> Self {
        Self { sum: 0.0, count: 0, max: 0.0, moving: [0; BINS] }
    }
}

impl Divergence {
    /// Adds the distances between two views at the same instant.
    pub(super) fn compare(&mut self, one: &RenderedView, other: &RenderedView) {
        for (row, here) in one.units.iter().enumerate() {
            let Some(there) = find(&other.units, row, here.unit) else { continue };
            let distance = (here.at[0] - there.at[0]).hypot(here.at[1] - there.at[1]);
            self.sum += distance;
            self.count += 1;
            self.max = self.max.max(distance);
            if here.has_moved || there.has_moved {
                self.moving[((distance * BINS_PER_TILE) as usize).min(BINS - 1)] += 1;
            }
        }
    }

    /// Returns the mean distance over all units and samples.
    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }

    /// Returns the 95th percentile of the distances of moving units, rounded up to a 64th of a tile; 8 at most.
    pub(super) fn p95(&self) -> f64 {
        let all: u64 = self.moving.iter().sum();
        let mut sum = 0;
        let bin = self.moving.iter().position(|&count| {
            sum += count;
            all > 0 && 20 * sum >= 19 * all
        });
        bin.map_or(0.0, |bin| (bin + 1) as f64 / BINS_PER_TILE)
    }

    /// Returns the share of the samples of moving units that are more than half a tile apart.
    pub(super) fn far(&self) -> f64 {
        let far: u64 = self.moving[(FAR_TILES * BINS_PER_TILE) as usize..].iter().sum();
        far as f64 / self.moving.iter().sum::<u64>().max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(units: &[(u16, f64)]) -> RenderedView {
        let shown = |&(index, x)| Shown {
            unit: UnitId { index, generation: 0 },
            at: [x, 0.0],
            has_moved: index != 3,
        };
        RenderedView { units: units.iter().map(shown).collect(), before: Vec::new() }
    }

    #[test]
    fn views_are_compared_unit_by_unit() {
        let mut apart = Divergence::default();
        apart.compare(&view(&[(1, 0.0), (2, 5.0), (3, 1.0)]), &view(&[(2, 8.0), (3, 2.0)]));
        assert_eq!((apart.mean(), apart.max), (2.0, 3.0));
        // The third unit moves in neither view.
        assert_eq!((apart.far(), apart.p95()), (1.0, 3.0 + 1.0 / 64.0));
        for _ in 0..19 {
            apart.compare(&view(&[(2, 5.0)]), &view(&[(2, 5.25)]));
        }
        assert_eq!((apart.far(), apart.p95()), (0.05, 0.25 + 1.0 / 64.0));
    }
}
