//! What a screen shows at one instant, and how far two screens are apart.

use crate::sim::{GameState, UnitId};

/// Where each unit is shown, in the order in which they were born.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture(Vec<(UnitId, [f64; 2])>);

impl Picture {
    /// The units of `state` where it has them.
    pub(super) fn take(&mut self, state: &GameState) {
        self.0.clear();
        let units = &state.units;
        let at = |row: usize| [units.x[row].to_num(), units.y[row].to_num()];
        self.0.extend((0..units.len()).map(|row| (units.id[row], at(row))));
    }

    /// Where a unit is; it is mostly the `row`-th here, too.
    fn find(&self, row: usize, unit: UnitId) -> Option<[f64; 2]> {
        let here = self.0.get(row).filter(|(id, _)| *id == unit);
        here.or_else(|| self.0.iter().find(|(id, _)| *id == unit)).map(|&(_, at)| at)
    }
}

/// How far screens are apart, over all looks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Divergence {
    sum: f64,
    count: u64,
    pub(super) max: f64,
}

impl Divergence {
    /// Two screens at one instant.
    pub(super) fn compare(&mut self, one: &Picture, other: &Picture) {
        for (row, &(unit, [x, y])) in one.0.iter().enumerate() {
            let Some([to_x, to_y]) = other.find(row, unit) else { continue };
            let distance = (x - to_x).hypot(y - to_y);
            self.sum += distance;
            self.count += 1;
            self.max = self.max.max(distance);
        }
    }

    /// Over all units and looks.
    pub(super) fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(units: &[(u16, f64)]) -> Picture {
        Picture(units.iter().map(|&(index, x)| (UnitId { index, generation: 0 }, [x, 0.0])).collect())
    }

    #[test]
    fn screens_are_compared_unit_by_unit() {
        let mut apart = Divergence::default();
        apart.compare(&picture(&[(1, 0.0), (2, 5.0), (3, 1.0)]), &picture(&[(2, 8.0), (3, 2.0)]));
        assert_eq!((apart.mean(), apart.max), (2.0, 3.0));
    }
}
