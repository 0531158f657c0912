//! Whole matches on the virtual network: what the oracles must not see, and what they must.

use std::time::Duration;

use bot::BotLevel;
use campaign::{
    Act, CampaignOptions, Change, Sabotage, Scenario, Stop, VirtualMatch, VirtualResult, campaign,
    virtual_match,
};
use game::{ControllerChoice, Inject, MatchOutcome, Party, data};
use lab::{Fault, LinkFaults, PeerEnd, VirtualSetup};
use net::{Architecture, Time};
use sim::math::{Fx, Vec2};
use sim::{Command, ControlBehaviour, PlayerId, Selection, Target, Tick, When};

fn options(matches: u32, seed: u64, ticks: u32) -> CampaignOptions {
    CampaignOptions { has_faults: true, ..crate::campaigns::options(matches, seed, ticks) }
}

/// A match of probes that nothing in it ends before its last tick.
pub(crate) fn setup(seed: u64, peers: usize, ticks: u32) -> VirtualSetup {
    let rules = data::rules("endless").expect("built in");
    let options = CampaignOptions { peers: Some(peers), rules, ..options(1, seed, ticks) };
    let controllers = std::iter::repeat_n(ControllerChoice::Probe, peers).collect();
    VirtualSetup { controllers, numbered_every: None, ..options.setup(seed) }
}

fn link(delay_ms: u64) -> LinkFaults {
    LinkFaults { delay: Duration::from_millis(delay_ms), ..LinkFaults::default() }
}

fn play(setup: VirtualSetup, scenario: Scenario) -> VirtualResult {
    virtual_match(setup, scenario).play()
}

#[test]
fn whatever_goes_wrong_everything_holds_and_a_seed_repeats_it() {
    let options = options(40, 5_000, 1_800);
    let report = campaign(&options, |_| {});
    let again = campaign(&CampaignOptions { jobs: 1, ..options }, |_| {});
    assert_eq!(report.violations, []);
    assert!(report.first_desync.is_none());
    assert_eq!((report.log, report.counts), (again.log, again.counts));
    let fired = report.counts.iter().filter(|&(_, count)| count > 0).count();
    assert!(fired >= 28, "{fired} kinds of faults fired");
    assert_eq!(report.peers.len(), 3, "with two to four peers");
}

#[test]
fn a_link_that_is_relayed_draws_no_clock_along() {
    // Peers of three and four that no longer hear each other, on links that take longer one way than the other.
    let fair = CampaignOptions { is_fair: true, ..options(1, 5_110, 900) };
    for options in [options(1, 1_800, 3_600), fair] {
        assert_eq!(campaign(&options, |_| {}).violations, [], "seed {}", options.seed);
    }
}

#[test]
fn clocks_that_are_apart_when_the_path_becomes_shorter_come_together() {
    // Two peers 269 ms apart, which no round trip explains any more.
    assert_eq!(campaign(&options(1, 1_916, 3_600), |_| {}).violations, []);
}

#[test]
fn a_match_that_stands_outlives_bursts_of_eleven_losses() {
    // A ping from before is replayed. The bursts are not cut short, as a campaign's are.
    let options = options(1, 580, 3_600);
    let setup = options.setup(580);
    let mut scenario = options.scenario(&setup);
    for (_, act) in &mut scenario.acts {
        if let Act::Link(_, _, Change::Burst(Some(burst))) = act {
            burst.lasts_max = Duration::MAX;
        }
    }
    assert_eq!(play(setup, scenario).violations, []);
}

#[test]
fn bursts_of_losses_leave_no_peer_and_no_client_without_a_datagram_for_its_timeout() {
    // Without an end in time, bursts of 41 datagrams between peers and 66 from a server took 3.2 s.
    for (architecture, seed) in [(Architecture::P2p, 1_249), (Architecture::ClientServer, 1_367)] {
        let options = CampaignOptions { architecture, ..options(1, seed, 3_600) };
        assert_eq!(campaign(&options, |_| {}).violations, [], "{architecture}");
    }
}

#[test]
fn a_seat_whose_inputs_were_relayed_in_a_fair_match_commits_again() {
    // In the first the others kept 0.93 of their pace after it, in the second the only one who relayed crashed.
    for seed in [176, 219] {
        let fair = CampaignOptions { is_fair: true, ..options(1, seed, 3_600) };
        assert_eq!(campaign(&fair, |_| {}).violations, [], "seed {seed}");
    }
}

#[test]
fn no_fault_makes_a_client_end_otherwise_than_its_server() {
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        // In the second the clock of a client gains 0.4 s, so that tick 0 lies before its own zero.
        let report = campaign(&CampaignOptions { architecture, ..options(3, 1, 3_600) }, |_| {});
        assert_eq!(report.violations, [], "{architecture}");
        assert_eq!(report.outcomes.get("tick_limit"), Some(&3), "{architecture}");
    }
}

#[test]
fn with_a_server_all_end_alike_and_a_client_that_deviates_is_named() {
    for (architecture, peers) in [(Architecture::ClientServer, 2), (Architecture::Relay, 4)] {
        let controller = Some(ControllerChoice::Bot(BotLevel::Normal));
        let link = "delay=40ms,jitter=5ms,loss=3%".parse().expect("a link");
        let clean = CampaignOptions {
            architecture,
            peers: Some(peers),
            controller,
            link,
            has_faults: false,
            ..options(4, 70, 1_200)
        };
        let report = campaign(&clean, |_| {});
        assert_eq!(report.violations, [], "{architecture}");
        assert!(report.first_desync.is_none() && report.matches == 4 && report.ticks_compared > 4_000);
        let again = campaign(&CampaignOptions { jobs: 1, ..clean.clone() }, |_| {});
        assert_eq!(report.log, again.log, "{architecture}");

        // Between two updates of a server that sends states.
        let inject = Inject { tick: Tick(601), field: "units[2].hp".into() };
        let planted = CampaignOptions { inject: Some((1, inject)), ..clean };
        let report = campaign(&planted, |_| {});
        let (seed, found) = report.all.first_desync.clone().expect("named");
        assert_eq!((seed, found.part, found.field), (70, Some("units"), Some("hp")), "{architecture}");
        // A client of a server has the state of every third tick.
        let latest = if architecture == Architecture::Relay { 601 } else { 603 };
        assert!((601..=latest).contains(&found.tick), "{architecture}: {}", found.tick);
        assert_eq!(found.odd[..], [Party::Seat(PlayerId(1))], "{architecture}");
        assert_eq!(report.violations, [], "{architecture}: the match continues");
    }
}

#[test]
fn orders_for_the_units_of_others_do_nothing_and_cost_nobody_a_tick() {
    let mut game = virtual_match(setup(9, 2, 600), Scenario::steady(2, link(20)));
    let place = Vec2 { x: Fx::from_num(1), y: Fx::from_num(2) };
    let mut given = 0;
    while game.play_until(game.now().plus(Duration::from_millis(50))) {
        let Some(state) = game.world(1).map(|world| world.state().clone()) else { continue };
        let theirs = |row: &usize| {
            state.units.owner[*row] == PlayerId(0) && state.units.control[*row] == ControlBehaviour::Minion
        };
        // One alone goes to the very place; several stand around it.
        let units: Selection =
            (0..state.units.len()).filter(theirs).take(1).map(|row| state.units.id[row]).collect();
        given += u32::from(game.submit(1, Command::Move(units, Target::clamped(place), When::Now)));
        let moved = (0..state.units.len())
            .filter(theirs)
            .filter(|&row| Vec2 { x: state.units.goal_x[row], y: state.units.goal_y[row] } == place);
        assert_eq!(moved.count(), 0, "an order of player 1 moves units of player 0");
    }
    assert!(given > 100, "{given} orders were given");
    assert_eq!([0, 1].map(|peer| game.record(peer).next), [Tick(600); 2]);
}

#[test]
fn every_planted_fault_of_the_protocol_is_seen() {
    // Where one is not seen at once, another seed of the campaign brings the conditions for it.
    const SEEDS: u64 = 200;
    let options = CampaignOptions { peers: Some(2), ..options(1, 0, 1_200) };
    for &(sabotage, oracle) in Sabotage::ALL {
        let found = (0..SEEDS).find(|&seed| {
            let mut setup = options.setup(seed);
            if sabotage == Sabotage::WithheldHashes {
                setup.inject = Some((1, Inject { tick: Tick(500), field: "units[0].hp".into() }));
            }
            let scenario = Scenario { sabotage: Some(sabotage), ..options.scenario(&setup) };
            let is_clean = scenario.fatal.is_none();
            let result = play(setup, scenario);
            is_clean && result.violations.iter().any(|violation| violation.oracle == oracle)
        });
        assert!(found.is_some(), "{sabotage:?} is not seen by {oracle:?} in {SEEDS} seeds");
        println!("{sabotage:?}: seen by {oracle:?} with seed {}", found.unwrap_or_default());
    }
}

/// Fields of all tables that have rows from the start on, or soon.
const FIELDS: [&str; 28] = [
    "match[0].tick",
    "match[0].seed",
    "match[0].free_slot",
    "players[0].aim",
    "players[1].walk",
    "players[0].supply",
    "players[1].score",
    "players[0].births",
    "players[1].commands",
    "players[0].rally_x",
    "slots[0].generation",
    "units[0].hp",
    "units[1].x",
    "units[0].y",
    "units[1].facing",
    "units[0].order",
    "units[1].goal_x",
    "units[0].corner",
    "units[1].ready_at",
    "units[0].phase",
    "orders[0].x",
    "projectiles[0].vx",
    "projectiles[0].damage",
    "circles[0].progress",
    "circles[1].contested",
    "circles[0].owner",
    "cores[0].hp",
    "cores[1].open",
];

/// Has the first minion of seat 0 wait with an order, so that every table has a row.
fn queue_order(game: &mut VirtualMatch) {
    let state = game.world(0).expect("running").state();
    let is_own = |row: &usize| {
        state.units.owner[*row] == PlayerId(0) && state.units.control[*row] == ControlBehaviour::Minion
    };
    let minion = (0..state.units.len()).find(is_own).map(|row| state.units.id[row]);
    let minions: Selection = minion.into_iter().collect();
    let far = |x: i32| Target::try_from((x << 16, 0)).expect("near");
    assert!(game.submit(0, Command::Move(minions.clone(), far(-200), When::Now)));
    assert!(game.submit(0, Command::Move(minions, far(200), When::Queued)));
}

#[test]
fn a_difference_in_any_field_is_found_at_once_and_described_alike() {
    let one_way = Duration::from_millis(40);
    // Two ticks and the way there, and after that three times there and back to name it.
    let found = Duration::from_micros(2 * 16_667) + one_way;
    let named = found + 6 * one_way;
    let mut longest = [Duration::ZERO; 2];
    for (nth, field) in FIELDS.into_iter().enumerate() {
        for peers in [2, 3] {
            let result = (0..40).find_map(|later| {
                // Arrows are not there at every tick.
                let inject = Inject { tick: Tick(600 + 37 * later), field: field.into() };
                let controllers =
                    std::iter::repeat_n(ControllerChoice::Bot(BotLevel::Normal), peers).collect();
                let inject = Some((nth % peers, inject));
                let setup = VirtualSetup { inject, controllers, ..setup(7, peers, 2_400) };
                let mut game = virtual_match(setup, Scenario::steady(peers, link(40)));
                // Shortly before: bots give their minions new orders.
                let is_far = |game: &VirtualMatch| {
                    game.world(0).is_none_or(|world| world.state().tick().0 + 9 < 600 + 37 * later)
                };
                let mut now_us = 10_000_000;
                while is_far(&game) && game.play_until(Time(now_us)) {
                    now_us += 50_000;
                }
                queue_order(&mut game);
                let result = game.play();
                let has_row = !result.ends.iter().any(|end| matches!(end, PeerEnd::Failed(_)));
                has_row.then_some(result)
            });
            let result = result.unwrap_or_else(|| panic!("{field} never has a row"));
            assert_eq!(result.violations, [], "{field}, {peers} peers");
            for (peer, end) in result.ends.iter().enumerate() {
                // Of three the odd one goes, and the others play on.
                let is_over = peers == 2 || peer == nth % peers;
                let outcome = if is_over { MatchOutcome::Desync } else { MatchOutcome::TickLimit };
                assert_eq!((end.outcome(), end.desync().is_some()), (Some(outcome), true), "{field}, {peer}");
            }
            if peers > 2 {
                continue;
            }
            let times = [result.stopped_after, result.named_after].map(|after| after.expect("planted"));
            longest = [0, 1].map(|i| longest[i].max(times[i]));
        }
    }
    println!("from the planted tick to the last that runs, and to the end: at most {longest:?}");
    assert!(longest[0] <= found && longest[1] <= named, "{longest:?}, should be {found:?} and {named:?}");
}

/// Every step of a match, or one in several: `STEPS=all` takes them all.
fn steps() -> Vec<u64> {
    let all = std::env::var("STEPS").is_ok_and(|steps| steps == "all");
    // Every one of the handshake, then some of the match, and beyond its end.
    let (early, late) = if all { (1, 19) } else { (7, 61) };
    (1..40).step_by(early).chain((40..420).step_by(late)).collect()
}

#[test]
fn a_peer_may_crash_or_leave_with_any_datagram() {
    for peers in [2, 3] {
        for peer in 0..peers {
            for says_bye in [false, true] {
                for after in steps() {
                    let stop = Some(Stop { peer, after: after * (peers as u64 - 1), says_bye });
                    let fatal = Some(if says_bye { Fault::Leave } else { Fault::Crash });
                    let scenario = Scenario { stop, fatal, ..Scenario::steady(peers, link(20)) };
                    let result = play(setup(after, peers, 120), scenario);
                    let what = format!("{stop:?}, {peers} peers, seed {after}");
                    assert_eq!(result.violations, [], "{what}");
                }
            }
        }
    }
}

/// Where two peers are and how fast, between two instants.
fn ticks_between(game: &mut VirtualMatch, from: Time, to: Time) -> Vec<u32> {
    assert!(game.play_until(from));
    let first: Vec<Tick> = (0..2).map(|peer| game.record(peer).next).collect();
    assert!(game.play_until(to));
    (0..2).map(|peer| game.record(peer).next.since(first[peer])).collect()
}

#[test]
fn the_delay_follows_a_link_down_within_ten_seconds_and_up_within_one() {
    let seconds = |s: f64| Time((s * 1e6) as u64);
    let mut scenario = Scenario::steady(2, link(100));
    let step = |at: f64, ms: u64| {
        [(0, 1), (1, 0)]
            .map(|(a, b)| (seconds(at), Act::Link(a, b, Change::Delay(Duration::from_millis(ms), true))))
    };
    scenario.acts.extend(step(20.0, 10).into_iter().chain(step(50.0, 100)));
    let every = Some(Duration::from_millis(12));
    let mut game = virtual_match(VirtualSetup { numbered_every: every, ..setup(3, 2, 4_800) }, scenario);
    let mut delays_ms = |at: f64| {
        assert!(game.play_until(seconds(at)));
        [0, 1].map(|peer| game.link_of(peer).expect("running").1 / 1000)
    };
    let before = delays_ms(20.0);
    let down = delays_ms(30.0);
    let short = delays_ms(50.0);
    let up = delays_ms(51.2);
    println!(
        "RTT 200 ms: {before:?} ms; 10 s after 20 ms: {down:?}; 30 s: {short:?}; 1.2 s after 200: {up:?}"
    );
    for peer in 0..2 {
        assert!((100..=125).contains(&before[peer]), "{before:?} ms at RTT 200");
        assert!(down[peer] <= 25, "{down:?} ms ten seconds after the link became one of RTT 20");
        assert!(up[peer] >= 100, "{up:?} ms 1.2 s after it became one of RTT 200");
    }
    let given: usize = (0..2).map(|peer| game.record(peer).given()).sum();
    let result = game.play();
    assert!(given > 7_000, "{given} commands");
    assert_eq!(result.violations, []);
}

#[test]
fn after_an_outage_the_delay_is_what_it_was_though_the_link_has_just_changed() {
    let ms = |ms: u64| Time(ms * 1_000);
    let ways = [(0, 1), (1, 0)];
    let mut scenario = Scenario::steady(2, link(40));
    let mut act = |at: Time, change: fn() -> Change| {
        scenario.acts.extend(ways.map(|(from, to)| (at, Act::Link(from, to, change()))));
    };
    act(ms(18_400), || Change::Delay(Duration::from_millis(20), true));
    act(ms(20_000), || Change::Cut(Some(Fault::Outage)));
    act(ms(20_300), || Change::Cut(None));
    let mut game = virtual_match(setup(3, 2, 1_800), scenario);
    let mut delays_us = |at: Time| {
        assert!(game.play_until(at));
        [0, 1].map(|peer| game.link_of(peer).expect("running").1)
    };
    let before = delays_us(ms(20_000));
    for at in [23_300, 25_000, 27_000] {
        let after = delays_us(ms(at));
        let is_back = (0..2).all(|peer| (after[peer] - before[peer]).abs() <= 16_667);
        assert!(is_back, "{after:?} us instead of {before:?} at {at} ms");
    }
}

#[test]
fn ten_thousand_commands_run_once_and_in_order() {
    let every = Some(Duration::from_millis(12));
    let scenario = Scenario::from_seed(2, Duration::from_secs(70), Scenario::steady(2, link(20)));
    assert!(scenario.fatal.is_none());
    let mut game = virtual_match(VirtualSetup { numbered_every: every, ..setup(2, 2, 4_200) }, scenario);
    while game.play_until(game.now().max(Time(1)).plus(Duration::from_secs(1))) {}
    let given: usize = (0..2).map(|peer| game.record(peer).given()).sum();
    assert!(given >= 10_000, "{given} commands");
    assert_eq!(game.play().violations, []);
}

#[test]
fn after_an_outage_play_resumes_within_a_round_trip() {
    let one_way = Duration::from_millis(25);
    let (from, length) = (Time(20_000_000), Duration::from_millis(120));
    let mut scenario = Scenario::steady(2, link(25));
    for (a, b) in [(0, 1), (1, 0)] {
        scenario.acts.push((from, Act::Link(a, b, Change::Cut(Some(Fault::Outage)))));
        scenario.acts.push((from.plus(length), Act::Link(a, b, Change::Cut(None))));
    }
    scenario.acts.sort_by_key(|&(at, _)| at);
    let mut game = virtual_match(setup(1, 2, 3_600), scenario);
    let end = from.plus(length);
    assert!(game.play_until(end));
    let stopped = [0, 1].map(|peer| game.record(peer).next);
    assert!(game.play_until(end.plus(2 * one_way)));
    let resumed = [0, 1].map(|peer| game.record(peer).next);
    for peer in 0..2 {
        assert!(resumed[peer] > stopped[peer], "{stopped:?}, one RTT later {resumed:?}");
    }
    assert_eq!(game.play().violations, []);
}

#[test]
fn rates_are_equal_on_uneven_links_with_clocks_that_drift() {
    let mut scenario = Scenario::steady(2, link(10));
    scenario.links[2].delay = Duration::from_millis(200);
    scenario.clocks[0].drift_ppm = 5_000;
    scenario.clocks[1].drift_ppm = -5_000;
    let mut game = virtual_match(setup(1, 2, 3_600), scenario);
    let ticks = ticks_between(&mut game, Time(10_000_000), Time(50_000_000));
    println!("in 40 s: {ticks:?} ticks");
    assert!(ticks[0].abs_diff(ticks[1]) <= ticks[0] / 1_000, "{ticks:?} ticks in 40 s");
    assert!(ticks[0] > 2_376, "{ticks:?} ticks in 40 s");
    let result = game.play();
    assert_eq!(result.violations, []);
    assert!(result.ends.iter().all(|end| end.outcome() == Some(MatchOutcome::TickLimit)));
}

#[test]
fn who_is_gone_is_named_to_all_who_stay() {
    let mut scenario = Scenario { fatal: Some(Fault::Crash), ..Scenario::steady(2, link(20)) };
    scenario.acts.push((Time(8_000_000), Act::Crash(1)));
    let result = play(setup(1, 2, 1_800), scenario);
    assert_eq!(result.violations, []);
    assert_eq!(result.ends[0].outcome(), Some(MatchOutcome::PeerLost(PlayerId(1))));
    assert!(matches!(result.ends[1], PeerEnd::Crashed));
}

#[test]
fn a_suspended_computer_is_not_taken_for_a_slow_link() {
    let sleep = Duration::from_millis(900);
    let mut scenario = Scenario::steady(3, link(30));
    scenario.acts.push((Time(12_000_000), Act::Pause(2, sleep, Fault::Pause)));
    scenario.quiet_at = Time(13_000_000);
    let mut game = virtual_match(setup(1, 3, 3_000), scenario);
    let mut delays_ms = |at_ms: u64| {
        assert!(game.play_until(Time(at_ms * 1_000)));
        [0, 1, 2].map(|peer| game.link_of(peer).expect("running").1 / 1_000)
    };
    let (before, after) = (delays_ms(12_000), delays_ms(14_000));
    for peer in 0..3 {
        assert!(
            after[peer] <= before[peer] + 20,
            "{before:?} ms before, {after:?} ms a second after it woke"
        );
    }
    assert_eq!(game.play().violations, []);
}
