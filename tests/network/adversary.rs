//! Matches with an adversary that watches and chooses, on the virtual network.

use mini_rts_arena::game::data;
use mini_rts_arena::lab::{AdversaryOptions, Shard, adversary};
use mini_rts_arena::net::Architecture;
use mini_rts_arena::sim::TickRate;

fn options(architecture: Architecture, matches: u32, seed: u64) -> AdversaryOptions {
    AdversaryOptions {
        architecture,
        matches,
        seed,
        ticks: 600,
        tick_rate: TickRate::HZ_60,
        peers: None,
        rules: data::rules("endless").expect("built in"),
        maps: ["standard", "quad"].map(|name| data::map(name).expect("built in")),
        is_fair: false,
        shard: Shard::WHOLE,
        jobs: 2,
    }
}

#[test]
fn a_seed_repeats_what_an_adversary_does() {
    let options = options(Architecture::P2p, 8, 40);
    let [one, two] = [1, 2].map(|jobs| adversary(&AdversaryOptions { jobs, ..options.clone() }, |_| {}));
    assert_eq!((one.log, one.goals), (two.log, two.goals));
}
