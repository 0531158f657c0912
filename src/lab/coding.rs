//! Cost of state deltas that a server sends, in bytes and time, for a battle in which all units fight.

use super::battlefield::Battlefield;
use super::timing::{median, timed};
use sim::{DeltaCoder, GameState};

/// Number of ticks until the units' first attacks and losses no longer coincide.
const WARM_UP: u32 = 256;
/// Number of measurements; medians are reported.
const ROUNDS: usize = 15;
/// Seed of the battle.
const SEED: u64 = 7;

/// Cost of a state delta.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct CodingFigures {
    /// Number of units.
    pub units: usize,
    /// Distance of the two states, in ticks.
    pub ticks: u32,
    /// Share of units that changed, in percent.
    pub changed_percent: f64,
    /// Size in bytes, per unit of the battle.
    pub bytes_per_unit: f64,
    /// Encoding time in nanoseconds, per unit of the battle.
    pub encode_ns_per_unit: f64,
    /// Decoding time in nanoseconds, per unit of the battle. Includes encoding again, to check that the bytes are
    /// canonical.
    pub decode_ns_per_unit: f64,
}

/// Encodes the delta of two states of a battle of `units` units, once for each distance in `ticks`.
///
/// # Panics
/// If `units` is not 10 to [`sim::UNITS_MAX`].
#[must_use]
pub fn coding<const N: usize>(units: usize, ticks: [u32; N]) -> [CodingFigures; N] {
    let mut battle = Battlefield::new(units, SEED);
    battle.run(WARM_UP);
    ticks.map(|ticks| {
        let base = battle.world().state().clone();
        battle.run(ticks);
        figures(&base, battle.world().state())
    })
}

fn figures(base: &GameState, new: &GameState) -> CodingFigures {
    let (mut coder, mut bytes, mut decoded) = (DeltaCoder::default(), Vec::new(), GameState::default());
    let (mut encode, mut decode) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bytes.clear();
        encode.push(timed(|| coder.encode(base, new, &mut bytes)).as_nanos() as f64);
        let took = timed(|| coder.decode(base, &bytes, &mut decoded).expect("just encoded"));
        decode.push(took.as_nanos() as f64);
    }
    assert_eq!(decoded, *new, "exact");
    let same = (0..new.units.len()).filter(|&row| {
        let was = base.row(new.units.id[row]);
        was.is_some_and(|at| new.units.row(row) == base.units.row(at))
    });
    let units = new.units.len();
    CodingFigures {
        units,
        ticks: new.tick().since(base.tick()),
        changed_percent: 100.0 - 100.0 * same.count() as f64 / units as f64,
        bytes_per_unit: bytes.len() as f64 / units as f64,
        encode_ns_per_unit: median(encode) / units as f64,
        decode_ns_per_unit: median(decode) / units as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_units_take_few_bytes() {
        let [some, more] = coding(400, [3, 30]);
        assert!((some.ticks, more.ticks) == (3, 30) && some.changed_percent > 20.0, "{some:?}");
        assert!(more.changed_percent > some.changed_percent, "{some:?}, {more:?}");
        assert!(some.bytes_per_unit < 0.7 * more.bytes_per_unit, "{some:?}, {more:?}");
    }
}
