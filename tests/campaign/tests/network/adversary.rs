//! Matches with an adversary that watches and chooses, on the virtual network: it takes nothing from the others.

use campaign::{AdversaryOptions, AdversaryReport, Goal, adversary};
use game::data;
use lab::Shard;
use net::Architecture;
use sim::TickRate;

fn options(architecture: Architecture, seed: u64) -> AdversaryOptions {
    AdversaryOptions {
        architecture,
        matches: 1,
        seed,
        ticks: 1_200,
        tick_rate: TickRate::HZ_60,
        peers: None,
        rules: data::rules("endless").expect("built in"),
        maps: ["standard", "quad"].map(|name| data::map(name).expect("built in")),
        is_fair: false,
        shard: Shard::WHOLE,
        jobs: 1,
    }
}

/// Plays a match of each of these goals, from this seed on.
fn of_goals(architecture: Architecture, goals: &[Goal], from: u64) -> Vec<AdversaryReport> {
    let play = |&goal| {
        let seed = (from..).find(|&seed| options(architecture, seed).plan(seed).goal == goal);
        adversary(&options(architecture, seed.expect("a seed of each goal")), |_| {})
    };
    goals.iter().map(play).collect()
}

fn assert_holds(architecture: Architecture, goals: &[Goal], from: u64) {
    for report in of_goals(architecture, goals, from) {
        assert_eq!(report.violations, [], "{architecture}: {:?}", report.goals);
    }
}

#[test]
fn an_adversary_in_the_lobby_takes_nothing_from_the_others() {
    let goals = [Goal::Crowd, Goal::Hold, Goal::Exchange, Goal::Guess, Goal::Flood];
    for architecture in [Architecture::P2p, Architecture::ClientServer, Architecture::Relay] {
        assert_holds(architecture, &goals, 1);
    }
}

#[test]
fn a_seed_repeats_what_an_adversary_does() {
    let options = AdversaryOptions { matches: 6, ticks: 400, ..options(Architecture::P2p, 40) };
    let [one, two] = [1, 2].map(|jobs| adversary(&AdversaryOptions { jobs, ..options.clone() }, |_| {}));
    assert_eq!((one.log, one.goals), (two.log, two.goals));
}
