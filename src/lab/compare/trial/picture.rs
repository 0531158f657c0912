//! What a screen shows at one instant, and how far two screens are apart.

use std::collections::VecDeque;

use crate::net::Time;
use crate::sim::math::Fx;
use crate::sim::{GameState, UnitId};

/// States kept of a view that lies in the past.
const KEPT_MAX: usize = 256;

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

    /// Puts the units of `state` where they are shown.
    pub(super) fn put(&self, state: &mut GameState) {
        for row in 0..state.units.len() {
            if let Some([x, y]) = self.find(row, state.units.id[row]) {
                // What was taken from a state fits into one.
                (state.units.x[row], state.units.y[row]) = (Fx::from_num(x), Fx::from_num(y));
            }
        }
    }

    /// Where a unit is; it is mostly the `row`-th here, too.
    fn find(&self, row: usize, unit: UnitId) -> Option<[f64; 2]> {
        let here = self.0.get(row).filter(|(id, _)| *id == unit);
        here.or_else(|| self.0.iter().find(|(id, _)| *id == unit)).map(|&(_, at)| at)
    }
}

/// Pictures that wait for their time: a view that lies in the past, to move evenly.
#[derive(Debug, Default)]
pub(super) struct Past {
    kept: VecDeque<(Time, Picture)>,
}

impl Past {
    /// `state` is to be shown at `at`.
    pub(super) fn keep(&mut self, at: Time, state: &GameState) {
        let mut picture = if self.kept.len() >= KEPT_MAX {
            self.kept.pop_front().expect("some").1
        } else {
            Picture::default()
        };
        picture.take(state);
        self.kept.push_back((at, picture));
    }

    /// The picture of `now`, half-way between the two around it if it lies half-way.
    pub(super) fn show(&mut self, now: Time, picture: &mut Picture) {
        while self.kept.len() > 2 && self.kept[1].0 <= now {
            self.kept.pop_front();
        }
        let Some((from, first)) = self.kept.front() else { return };
        picture.0.clone_from(&first.0);
        let Some((to, second)) = self.kept.get(1).filter(|_| *from <= now) else { return };
        let (passed, whole) = (now.since(*from).as_secs_f64(), to.since(*from).as_secs_f64());
        let share = if whole > 0.0 { (passed / whole).min(1.0) } else { 1.0 };
        for (row, (unit, at)) in picture.0.iter_mut().enumerate() {
            if let Some(then) = second.find(row, *unit) {
                *at = [0, 1].map(|axis| at[axis] + (then[axis] - at[axis]) * share);
            }
        }
    }
}

/// How far screens are apart, over all looks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Apart {
    sum: f64,
    count: u64,
    pub(super) max: f64,
}

impl Apart {
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
        let mut apart = Apart::default();
        apart.compare(&picture(&[(1, 0.0), (2, 5.0), (3, 1.0)]), &picture(&[(2, 8.0), (3, 2.0)]));
        assert_eq!((apart.mean(), apart.max), (2.0, 3.0));
    }

    #[test]
    fn a_past_view_moves_evenly_and_waits_where_nothing_came() {
        let mut past = Past::default();
        for (at, x) in [(100, 0.0), (200, 1.0), (400, 2.0)] {
            past.kept.push_back((Time(at), picture(&[(1, x)])));
        }
        let mut shown = Picture::default();
        let at = [50, 100, 150, 250, 300, 400, 900].map(|now| {
            past.show(Time(now), &mut shown);
            shown.0[0].1[0]
        });
        assert_eq!(at, [0.0, 0.0, 0.5, 1.25, 1.5, 2.0, 2.0]);
    }
}
