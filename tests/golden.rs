//! Golden hashes: the same matches give the same states on every machine, in debug and in release.
//!
//! A change that moves one of these changes the simulation or the bots. If the simulation is meant to
//! change, `SIMULATION_BUILD` grows with it.

mod common;

use common::{BotMatch, setup};
use mini_rts_arena::bot::BotLevel;
use mini_rts_arena::sim::HashChain;

/// Map, ticks per second, ticks, chain of the hashes of all ticks.
const GOLDEN: [(&str, u32, u32, u64); 4] = [
    ("standard", 60, 1_800, 7_207_271_972_867_063_302),
    ("standard", 30, 900, 17_797_565_464_415_187_762),
    ("duel", 60, 1_800, 5_364_265_234_626_920_036),
    ("duel", 30, 900, 286_151_629_446_339_999),
];

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
