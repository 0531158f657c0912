//! Whom a stall is held against, whatever one says of it, and who keeps a seat on bad links.

use std::time::Duration;

use crate::peers::{Peer, address, honest_finish, mesh, run, with_header};
use campaign::{Act, CampaignOptions, Change, Scenario, virtual_match};
use game::{ControllerChoice, data};
use lab::{Fault, LinkFaults, VirtualSetup};
use net::message::{Bye, DesyncHashes, PacketId, encode};
use net::{InputDelay, Time};
use sim::PlayerId;

const LINK: &str = "delay=20ms,jitter=2ms";

/// By then every match here runs.
const PLAYING: Time = Time(2_500_000);

const PATIENCE: Duration = Duration::from_secs(200);

/// Numbers that look random.
struct Draws(u64);

impl Draws {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Forges one message of the insider to one of the others, whatever it may bring about.
fn forge(draws: &mut Draws, peers: &mut [Peer]) {
    let to = address([0, 2][draws.below(2) as usize]);
    let tick = (peers[1].inputs.len() as u32).saturating_sub(draws.below(80) as u32);
    let forge = |peers: &mut [Peer], id: PacketId, body: &[u8]| peers[1].session.forge(to, id, body);
    match draws.below(3) {
        0 => {
            let count = draws.below(4);
            let hashes = (0..count).collect();
            let inputs = (0..count).map(|n| [n as u8; 4]).collect();
            let list = DesyncHashes { first: tick, hashes, asks: draws.below(2) == 0, inputs };
            forge(peers, PacketId::DesyncHashes, &encode(&list));
        }
        1 => forge(
            peers,
            PacketId::Bye,
            &encode(&Bye::Finished { ticks: tick, chain: draws.below(9), stays: false }),
        ),
        _ => {
            forge(peers, PacketId::Bye, &encode(&Bye::Unreachable { seat: PlayerId(0), other: PlayerId(2) }))
        }
    }
}

/// Changes or drops a datagram of the insider.
fn mistreats(kind: u64, bytes: &[u8]) -> Option<Vec<u8>> {
    match kind {
        0 => Some(with_header(bytes, |header| header.count = 0)),
        1 => Some(with_header(bytes, |header| header.chain[0] ^= 1)),
        2 => Some(with_header(bytes, |header| header.behind += 7)),
        3 => Some(with_header(bytes, |header| header.wanted = header.wanted.saturating_sub(20))),
        4 if bytes[0] == PacketId::Acknowledge as u8 => None,
        5 if bytes[0] == PacketId::PlayerInput as u8 => None,
        _ => Some(bytes.to_vec()),
    }
}

/// No sequence of messages by one moves the books that the second keeps on the third: beyond the 3 s that it takes until
/// the third no longer needs the first, nothing is charged to it.
#[test]
fn nothing_that_one_peer_sends_moves_what_another_is_judged_by() {
    for seed in 0..8 {
        let mut peers = mesh(3, 1_800, InputDelay::Auto, LINK);
        let spell = std::rc::Rc::new(std::cell::Cell::new((9, 0)));
        let (mut draws, current) = (Draws(seed), spell.clone());
        peers[1].wire = Box::new(move |_, to, bytes| {
            let (kind, at) = current.get();
            if to == address(at) { mistreats(kind, bytes) } else { Some(bytes.to_vec()) }
        });
        let (mut change_at, mut say_at, mut most) = (PLAYING, PLAYING, Duration::ZERO);
        run(&mut peers, PATIENCE, |now, peers| {
            if now >= change_at {
                change_at = now.plus(Duration::from_millis(100 + draws.below(1_500)));
                spell.set((draws.below(8), [0, 2][draws.below(2) as usize]));
            }
            if now >= say_at && peers[1].ends.is_empty() {
                say_at = now.plus(Duration::from_millis(50 + draws.below(600)));
                forge(&mut draws, peers);
            }
            for (by, of) in [(0, 2), (2, 0)] {
                if let Some(judge) = peers[by].session.playing() {
                    most = most.max(judge.stalled(PlayerId(of)));
                }
            }
        });
        assert!(most < Duration::from_millis(4_500), "seed {seed}: {most:?}");
        honest_finish(&peers, 1, 1_800, &format!("seed {seed}"));
    }
}

fn setup(seed: u64, peers: usize, ticks: u32) -> VirtualSetup {
    let rules = data::rules("endless").expect("built in");
    let options = CampaignOptions { peers: Some(peers), rules, ..crate::campaigns::options(1, seed, ticks) };
    let controllers = std::iter::repeat_n(ControllerChoice::Probe, peers).collect();
    VirtualSetup { controllers, numbered_every: None, ..options.setup(seed) }
}

fn steady(peers: usize, delay_ms: u64) -> Scenario {
    let link = LinkFaults {
        delay: Duration::from_millis(delay_ms),
        jitter: Duration::from_millis(2),
        ..LinkFaults::default()
    };
    Scenario::steady(peers, link)
}

/// Seeds of a campaign: `SEEDS=200 cargo test --release --test network stalls:: -- --nocapture`. Without it one seed plays
/// the first part of each match.
fn seeds() -> Option<u64> {
    std::env::var("SEEDS").ok()?.parse().ok()
}

/// Plays the scenario with all seeds: nobody departs.
fn nobody_departs(what: &str, seconds: u32, scenario: impl Fn(u64) -> Scenario) {
    let ticks = 60 * if seeds().is_some() { seconds } else { seconds.min(15) };
    for seed in 0..seeds().unwrap_or(1) {
        let mut scenario = scenario(seed);
        // The pace counts once all is well again.
        scenario.quiet_at =
            scenario.acts.last().map_or(scenario.quiet_at, |(at, _)| at.plus(Duration::from_secs(3)));
        let setup = setup(seed, scenario.clocks.len(), ticks);
        let result = virtual_match(setup, scenario).play();
        let ends: Vec<String> = result.ends.iter().map(ToString::to_string).collect();
        let all = format!("tick_limit after {ticks} ticks");
        assert!(ends.iter().all(|end| *end == all), "{what}, seed {seed}: {ends:?}");
        assert_eq!(result.violations, [], "{what}, seed {seed}");
    }
}

/// Times at which something happens, every `every_ms` from `first_ms` on, shifted a little by the seed.
fn times(seed: u64, first_ms: u64, every_ms: u64, count: u64) -> impl Iterator<Item = Time> {
    (0..count).map(move |n| Time(1_000 * (first_ms + every_ms * n) + seed * 7_919 % 1_000_000))
}

#[test]
fn a_laptop_suspended_for_two_seconds_ten_times_keeps_its_seat() {
    nobody_departs("suspended", 330, |seed| {
        let mut scenario = steady(3, 20);
        let pause = Act::Pause(1, Duration::from_secs(2), Fault::Sleep);
        scenario.acts.extend(times(seed, 5_000, 30_000, 10).map(|at| (at, pause)));
        scenario
    });
}

#[test]
fn a_link_with_outages_costs_nobody_a_seat() {
    nobody_departs("outages", 90, |seed| {
        let mut scenario = steady(3, 20);
        for at in times(seed, 5_000, 2_400, 35) {
            for (from, to) in [(0, 1), (1, 0)] {
                scenario.acts.push((at, Act::Link(from, to, Change::Cut(Some(Fault::Outage)))));
                let end = at.plus(Duration::from_millis(120));
                scenario.acts.push((end, Act::Link(from, to, Change::Cut(None))));
            }
        }
        scenario.acts.sort_by_key(|&(at, _)| at);
        scenario
    });
}

#[test]
fn a_processor_that_stops_now_and_then_keeps_its_seat() {
    nobody_departs("stops", 90, |seed| {
        let mut scenario = steady(3, 20);
        let pause = Act::Pause(1, Duration::from_millis(80), Fault::Sleep);
        scenario.acts.extend(times(seed, 4_000, 1_000, 90).map(|at| (at, pause)));
        scenario
    });
}

#[test]
fn a_peer_far_away_keeps_its_seat() {
    nobody_departs("far away", 180, |seed| {
        let mut scenario = steady(3, 20);
        for other in 0..2 {
            for way in [other * 3 + 2, 6 + other] {
                let link = &mut scenario.links[way];
                link.delay = Duration::from_millis(200);
                link.jitter = Duration::from_millis(seed % 40);
                link.loss = (seed % 3) as u32 * 10_000;
            }
        }
        scenario
    });
}
