//! Matches with an adversary that watches and chooses, on the virtual network: it takes nothing from the others.

use std::collections::BTreeSet;

use mini_rts_arena::game::data;
use mini_rts_arena::lab::{AdversaryOptions, Goal, Shard, adversary};
use mini_rts_arena::net::Architecture;
use mini_rts_arena::sim::TickRate;

fn options(architecture: Architecture, matches: u32, seed: u64) -> AdversaryOptions {
    AdversaryOptions {
        architecture,
        matches,
        seed,
        ticks: 2_400,
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
fn an_adversary_among_peers_takes_nothing_from_the_others() {
    let report = adversary(&options(Architecture::P2p, 24, 1), |_| {});
    assert_eq!(report.violations, []);
    let goals: BTreeSet<Goal> = report.goals.into_keys().collect();
    assert!(goals.len() > 7, "{goals:?}");
}

#[test]
fn an_adversary_among_clients_takes_nothing_from_the_others() {
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        let report = adversary(&options(architecture, 12, 1), |_| {});
        assert_eq!(report.violations, [], "{architecture}");
    }
}

#[test]
fn an_adversary_in_a_fair_match_takes_nothing_from_the_others() {
    let options = AdversaryOptions { is_fair: true, ..options(Architecture::P2p, 10, 500) };
    assert_eq!(adversary(&options, |_| {}).violations, []);
}

#[test]
fn a_seed_repeats_what_an_adversary_does() {
    let options = AdversaryOptions { ticks: 600, ..options(Architecture::P2p, 8, 40) };
    let [one, two] = [1, 2].map(|jobs| adversary(&AdversaryOptions { jobs, ..options.clone() }, |_| {}));
    assert_eq!((one.log, one.goals), (two.log, two.goals));
}
