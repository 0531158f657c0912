//! The worth of looking ahead, with and without commitments.

use std::time::Duration;

use crate::campaigns::options;
use crate::peers::{Peer, address, fair_mesh, mesh, run};
use campaign::{CampaignOptions, campaign};
use net::{InputDelay, Time};
use sim::{Command, PlayerId, PlayerInput, Target, Tick};

const MINUTE: Duration = Duration::from_secs(60);
const PLAYING: Time = Time(4_000_000);

#[test]
fn an_input_whose_commitment_was_lost_on_the_way_is_no_false_reveal() {
    let fair = |seed| CampaignOptions { is_fair: true, ..options(1, seed, 900) };
    let large_ones_are_lost = CampaignOptions { has_faults: true, ..fair(6_754) };
    let others_relay = CampaignOptions { has_byzantine: true, ..fair(1_166) };
    for options in [large_ones_are_lost, others_relay] {
        assert_eq!(campaign(&options, |_| {}).violations, [], "seed {}", options.seed);
    }
}

/// Seat 1 commits as late as it can, and answers what it knows of a victim's input for the same tick by an order that
/// shows it: in how many ticks that succeeded, and in how many the victim gave an order.
fn looked_ahead(mut peers: Vec<Peer>, victim: u8) -> (usize, usize) {
    let place = |x: usize, y: i32| Target::try_from((x as i32, y)).expect("near");
    let answer = |n: usize| Command::HeroGo(place(n, 1));
    let (seat, victim) = (usize::from(victim), PlayerId(victim));
    let order_in = |input: &PlayerInput| {
        let Some(Command::HeroGo(target)) = input.commands.last() else { return None };
        (0..2_000).find(|&n| place(n, 0) == *target)
    };
    let mut given = 0;
    run(&mut peers, MINUTE * 2, |now, peers| {
        if peers[seat].inputs.len() > 3 + given {
            peers[seat].session.submit_command(Tick(0), now, Command::HeroGo(place(given, 0))).expect("room");
            given += 1;
        }
        if peers[1].inputs.len() > 3 {
            let session = &mut peers[1].session;
            session.commit_late();
            let tick = session.open_tick();
            if let Some(n) = session.peek(victim, tick).and_then(|input| order_in(&input)) {
                session.submit_command(tick, now, answer(n)).expect("room");
            }
        }
    });
    let ticks =
        peers[0].inputs.iter().filter_map(|tick| Some((order_in(&tick.inputs[seat])?, &tick.inputs[1])));
    let ticks: Vec<_> = ticks.collect();
    let answered = ticks.iter().filter(|(n, input)| input.commands.contains(&answer(*n)));
    (answered.count(), ticks.len())
}

#[test]
fn who_looks_ahead_succeeds_and_in_a_fair_match_never() {
    for seats in [2, 3] {
        let link = "delay=30ms,jitter=2ms";
        let (answered, ticks) = looked_ahead(mesh(seats, 600, InputDelay::Auto, link), 0);
        assert!(ticks > 400 && answered * 10 > ticks * 8, "{answered} of {ticks} inputs were answered");
        let (answered, ticks) = looked_ahead(fair_mesh(seats, 600, InputDelay::Auto, link), 0);
        assert!(ticks > 400 && answered == 0, "{answered} of {ticks} inputs were answered");
    }
}

/// Seat 2 does not wait for the commitments of a peer that it cannot hear; seat 0, which relays, does.
#[test]
fn who_pretends_not_to_hear_a_peer_learns_nothing_of_it_in_advance() {
    let mut peers = fair_mesh(3, 600, InputDelay::Auto, "delay=30ms,jitter=2ms");
    for (from, to) in [(1, 2), (2, 1)] {
        peers[from].wire = Box::new(move |now, at, bytes| {
            let is_cut = now > PLAYING && at == address(to);
            (!is_cut).then(|| bytes.to_vec())
        });
    }
    let (answered, ticks) = looked_ahead(peers, 2);
    assert!(ticks > 300 && answered == 0, "{answered} of {ticks} inputs were answered");
}
