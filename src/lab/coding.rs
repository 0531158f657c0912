//! What the difference of two states costs that a server sends: bytes and time, in a battle in which all fight.

use super::battlefield::Battlefield;
use super::timing::{median, timed};
use sim::{DeltaCoder, GameState};

/// Ticks until the first losses and blows no longer come in step.
const WARM_UP: u32 = 256;
/// Times that each is measured; medians are reported.
const ROUNDS: usize = 15;
/// The seed of the battle.
const SEED: u64 = 7;

/// What a difference costs.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct CodingFigures {
    /// How many units.
    pub units: usize,
    /// Ticks from one state to the other.
    pub ticks: u32,
    /// How many of them have changed, percent.
    pub changed_percent: f64,
    /// Bytes for each unit of the battle.
    pub bytes_per_unit: f64,
    /// Nanoseconds for each unit of the battle.
    pub encode_ns_per_unit: f64,
    /// The same to decode, which encodes again to see whether the bytes are canonical.
    pub decode_ns_per_unit: f64,
}

/// Encodes the difference of two states of a battle of `units` units, once for each distance in `ticks`.
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
    fn what_does_not_change_costs_little() {
        let [some, more] = coding(400, [3, 30]);
        assert!((some.ticks, more.ticks) == (3, 30) && some.changed_percent > 20.0, "{some:?}");
        assert!(more.changed_percent > some.changed_percent, "{some:?}, {more:?}");
        assert!(some.bytes_per_unit < 0.7 * more.bytes_per_unit, "{some:?}, {more:?}");
    }
}
