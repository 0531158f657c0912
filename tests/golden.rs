//! Golden hashes: the same matches give the same states on every machine, in debug and in release.
//!
//! A change that moves one of these changes the simulation or the bots. If the simulation is meant to
//! change, `SIMULATION_BUILD` grows with it.

mod common;

use common::{BotMatch, setup};
use mini_rts_arena::bot::BotLevel;
use mini_rts_arena::sim::HashChain;

/// Map, ticks per second, ticks, chain of the hashes of all ticks.
const GOLDEN: [(&str, u32, u32, u64); 4] =
    [("standard", 60, 1_800, 0), ("standard", 30, 900, 0), ("duel", 60, 1_800, 0), ("duel", 30, 900, 0)];

#[test]
fn matches_of_bots_run_as_they_always_did() {
    let played = GOLDEN.map(|(map, hz, ticks, _)| {
        let mut game = BotMatch::new(setup("standard", map, 7, hz, true), BotLevel::Normal);
        let mut chain = HashChain::default();
        for _ in 0..ticks {
            game.step();
            chain = chain.then(game.world.hash().whole);
        }
        (map, hz, ticks, chain.0)
    });
    assert_eq!(played, GOLDEN, "played, and golden");
}
