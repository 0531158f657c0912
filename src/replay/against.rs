//! A recording as the other side of a desync check: its match is simulated here, and every recorded state hash is
//! compared.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::io::{Read, Seek};

use super::format::HeaderError;
use super::reader::{End, Record, Replay, world_of};
use sim::{Difference, GameState, Tick, World};

/// Result of the comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Number of ticks simulated.
    pub ticks: u32,
    /// Number of state hashes and keyframes compared.
    pub compared: u32,
    /// First tick after which a recorded hash differs from that of the state here: hashes are recorded after every
    /// tenth tick, so the states diverge at most nine ticks before.
    pub first_bad_tick: Option<Tick>,
    /// First difference of the states in the next keyframe, and its tick: the value here, and the recorded one.
    pub difference: Option<(Tick, Difference)>,
    /// Outcome of the match, as recorded.
    pub outcome: Option<String>,
    /// Whether the file ends as a finished recording does; missing parts were not compared.
    pub is_whole: bool,
}

/// Simulates a recorded match, as far as the file is intact, or up to the keyframe that shows the difference.
///
/// # Errors
/// If its header cannot be played here.
pub fn compare<R: Read + Seek>(mut replay: Replay<R>) -> Result<Comparison, HeaderError> {
    let setup = replay.header().setup()?;
    let mut world = World::new(setup.clone());
    let mut found = Comparison::default();
    for record in replay.by_ref() {
        match record {
            Record::Tick { inputs, hash } => {
                world.step(&inputs);
                found.ticks = found.ticks.saturating_add(1);
                if let Some(recorded) = hash {
                    found.compare(world.hash().whole == recorded, inputs.tick);
                }
            }
            Record::Keyframe { tick, snapshot } if found.ticks == 0 => {
                // The first state of a cut match: there is nothing yet to compare with.
                match world_of(&setup, tick, &snapshot) {
                    Some(begun) => world = begun,
                    None => break,
                }
            }
            Record::Keyframe { tick, snapshot } => {
                let is_equal = world.state().encode() == snapshot;
                found.compare(is_equal, Tick(tick.0.saturating_sub(1)));
                if found.first_bad_tick.is_some() {
                    let recorded = GameState::decode_to_compare(&snapshot).ok();
                    let difference = recorded.and_then(|recorded| world.state().difference(&recorded));
                    found.difference = difference.map(|difference| (tick, difference));
                    return Ok(found);
                }
            }
            Record::Event { .. } => {}
        }
    }
    found.outcome = replay.trailer().map(|trailer| trailer.result.outcome.clone());
    let last = replay.trailer().and_then(|trailer| trailer.final_hash);
    if let (Some(recorded), Some(tick)) = (last, world.state().tick().0.checked_sub(1)) {
        found.compare(world.hash().whole == recorded, Tick(tick));
    }
    found.is_whole = replay.end() == Some(&End::Complete);
    Ok(found)
}

impl Comparison {
    fn compare(&mut self, is_equal: bool, tick: Tick) {
        self.compared = self.compared.saturating_add(1);
        if !is_equal {
            self.first_bad_tick.get_or_insert(tick);
        }
    }
}
