//! A desync in one file: the last common state, the inputs of the tick that broke it, and each peer's state
//! after it. Running that tick again shows which peer deviates.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use arrayvec::ArrayVec;
use sim::{
    GameState, Map, PLAYERS_MAX, PlayerId, Rules, SIMULATION_BUILD, SeatSetup, Setup, Tick, TickInputs,
    TickRate, World,
};

/// The first bytes of the file.
const MAGIC: [u8; 8] = *b"MRADSYNC";
/// Version of the format.
const FORMAT: u16 = 1;
/// Longest file that is read: four states of the longest kind, plus everything else.
pub const BUNDLE_BYTES_MAX: u64 = 32 << 20;

/// The inputs and states before the first differing tick, and the states after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesyncBundle {
    build: u32,
    seed: u64,
    tick_rate: TickRate,
    seats: ArrayVec<SeatSetup, PLAYERS_MAX>,
    rules: Rules,
    map: Map,
    tick: Tick,
    /// The snapshot before `tick`; empty for the state before tick 0.
    before: Vec<u8>,
    inputs: TickInputs,
    /// Each peer's snapshot after `tick`; empty if the peer had none.
    after: ArrayVec<(PlayerId, Vec<u8>), PLAYERS_MAX>,
}

/// Verdict on one peer after running the tick again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideVerdict {
    /// The peer.
    pub player: PlayerId,
    /// Hash of its state after the tick; `None` if the bundle has no such state.
    pub hash: Option<u64>,
    /// First difference between its state and the one computed here, if any: table, row, unit, column, and the values
    /// here and there.
    pub deviation: Option<sim::Difference>,
}

/// Result of running the bundle's tick again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleVerdict {
    /// The tick.
    pub tick: Tick,
    /// The seed of the match.
    pub seed: u64,
    /// Hash of the state computed here.
    pub hash: u64,
    /// Verdict on each peer, in the order of seats.
    pub sides: Vec<SideVerdict>,
}

/// Reason why a bundle cannot be read or run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// It does not begin like one.
    #[error("not a desync bundle")]
    NotABundle,
    /// It is of another version of the format.
    #[error("bundle format {0}; this program reads {FORMAT}")]
    Format(u16),
    /// It is truncated or corrupted.
    #[error("the bundle is damaged: {0} bytes cannot be decoded")]
    Damaged(usize),
    /// It comes from another simulation.
    #[error(
        "recorded by simulation build {theirs}, this is arena {} with {SIMULATION_BUILD}: run it with that version",
        replay::VERSION
    )]
    ForeignBuild {
        /// The build that wrote it.
        theirs: u32,
    },
}

impl DesyncBundle {
    pub(super) fn new(
        setup: &Setup,
        tick: Tick,
        before: Option<&GameState>,
        inputs: TickInputs,
        after: ArrayVec<(PlayerId, Vec<u8>), PLAYERS_MAX>,
    ) -> Self {
        let mut after = after;
        after.sort_by_key(|&(player, _)| player);
        Self {
            build: SIMULATION_BUILD,
            seed: setup.seed,
            tick_rate: setup.tick_rate,
            seats: setup.seats.clone(),
            rules: Rules::clone(&setup.rules),
            map: Map::clone(&setup.map),
            tick,
            before: before.map(GameState::encode).unwrap_or_default(),
            inputs,
            after,
        }
    }

    /// Encodes the bundle.
    #[must_use]
    #[expect(clippy::expect_used, reason = "it fails only without memory")]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        let body = postcard::to_allocvec(self).expect("plain data encodes");
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// Decodes a bundle.
    ///
    /// # Errors
    /// If the bytes are not a bundle of this format and this simulation.
    pub fn decode(bytes: &[u8]) -> Result<Self, BundleError> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(BundleError::NotABundle)?;
        let damaged = || BundleError::Damaged(bytes.len());
        let (format, rest) = rest.split_first_chunk().ok_or_else(damaged)?;
        let format = u16::from_le_bytes(*format);
        if format != FORMAT {
            return Err(BundleError::Format(format));
        }
        let (crc, body) = rest.split_first_chunk().ok_or_else(damaged)?;
        if u32::from_le_bytes(*crc) != crc32fast::hash(body) {
            return Err(damaged());
        }
        // The build comes first, so that a foreign one is named even if the rest has another form.
        let (build, _) = postcard::take_from_bytes::<u32>(body).map_err(|_| damaged())?;
        if build != SIMULATION_BUILD {
            return Err(BundleError::ForeignBuild { theirs: build });
        }
        postcard::from_bytes(body).map_err(|_| damaged())
    }

    /// Runs the tick again and compares every peer's state with the result.
    ///
    /// # Errors
    /// If the bundle's contents are not a state of its own match.
    pub fn run(&self) -> Result<BundleVerdict, BundleError> {
        let damaged = || BundleError::Damaged(self.before.len());
        let seats = self.seats.len();
        let teams = self.seats.iter().all(|seat| usize::from(seat.team) < PLAYERS_MAX);
        let is_sound = seats >= 2 && teams && self.rules.check().is_ok() && self.map.check(seats).is_ok();
        if !is_sound || self.inputs.tick != self.tick || self.inputs.inputs.len() != self.seats.len() {
            return Err(damaged());
        }
        let setup = Setup {
            seed: self.seed,
            tick_rate: self.tick_rate,
            seats: self.seats.clone(),
            rules: Arc::new(self.rules.clone()),
            map: Arc::new(self.map.clone()),
        };
        let mut world = if self.before.is_empty() {
            World::new(setup)
        } else {
            let state = GameState::decode(&self.before).map_err(|_| damaged())?;
            World::restore(setup, state).map_err(|_| damaged())?
        };
        if world.state().tick() != self.tick {
            return Err(damaged());
        }
        world.step(&self.inputs);
        let side = |(player, bytes): &(PlayerId, Vec<u8>)| {
            if bytes.is_empty() {
                return Ok(SideVerdict { player: *player, hash: None, deviation: None });
            }
            let damaged = |_| BundleError::Damaged(bytes.len());
            let state = GameState::decode_to_compare(bytes).map_err(damaged)?;
            Ok(SideVerdict {
                player: *player,
                hash: Some(state.hash().whole),
                deviation: world.state().difference(&state),
            })
        };
        Ok(BundleVerdict {
            tick: self.tick,
            seed: self.seed,
            hash: world.hash().whole,
            sides: self.after.iter().map(side).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use sim::KindId;

    /// Builds the bundle of a match in which seat 1 computed tick 5 incorrectly.
    fn bundle() -> DesyncBundle {
        let seat = |team| SeatSetup { hero: KindId(0), team };
        let setup = Setup {
            seed: 3,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: data::rules("standard").expect("built in"),
            map: data::map("standard").expect("built in"),
        };
        let mut world = World::new(setup.clone());
        for tick in 0..5 {
            world.step(&TickInputs::idle(Tick(tick), 2));
        }
        let before = world.state().clone();
        let inputs = TickInputs::idle(Tick(5), 2);
        world.step(&inputs);
        let right = world.state().encode();
        world.disturb("units[2].hp").expect("a field");
        let after = [(PlayerId(1), world.state().encode()), (PlayerId(0), right)].into_iter().collect();
        DesyncBundle::new(&setup, Tick(5), Some(&before), inputs, after)
    }

    #[test]
    fn the_deviating_side_is_named_with_the_field() {
        let read = DesyncBundle::decode(&bundle().encode()).expect("a bundle");
        assert_eq!(read, bundle());
        let verdict = read.run().expect("a sound one");
        assert_eq!((verdict.tick, verdict.sides.len()), (Tick(5), 2));
        assert_eq!((verdict.sides[0].player, &verdict.sides[0].deviation), (PlayerId(0), &None));
        let deviation = verdict.sides[1].deviation.as_ref().expect("seat 1 deviates");
        assert_eq!((deviation.part, deviation.row, deviation.field), ("units", 2, "hp"));
    }

    #[test]
    fn damage_is_refused_at_every_byte() {
        let bytes = bundle().encode();
        for at in (0..bytes.len()).step_by(37) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(DesyncBundle::decode(&changed).is_err(), "byte {at}");
            assert!(DesyncBundle::decode(&bytes[..at]).is_err(), "cut at {at}");
        }
        assert_eq!(DesyncBundle::decode(b"something else"), Err(BundleError::NotABundle));
    }

    #[test]
    fn a_bundle_that_claims_an_impossible_match_is_refused() {
        for change in [
            (|b| b.inputs.tick = Tick(9)) as fn(&mut DesyncBundle),
            |b| b.before.truncate(10),
            |b| b.seats.truncate(1),
            |b| b.rules.minions[0].unit.hp = 0,
            |b| b.tick = Tick(6),
        ] {
            let mut bundle = bundle();
            change(&mut bundle);
            assert!(bundle.run().is_err());
        }
    }

    #[test]
    fn a_state_whose_columns_have_different_lengths_is_damage() {
        let ragged: [fn(&mut GameState); 4] = [
            |state| state.units.hp.truncate(1),
            |state| state.globals.seed.extend([1; 40]),
            |state| state.circles.contested.clear(),
            |state| state.globals = Default::default(),
        ];
        for change in ragged {
            let mut bundle = bundle();
            let (_, bytes) = &mut bundle.after[1];
            let mut state = GameState::decode(bytes).expect("a state");
            change(&mut state);
            *bytes = state.encode();
            let length = bytes.len();
            assert_eq!(bundle.run(), Err(BundleError::Damaged(length)));
        }
    }
}
