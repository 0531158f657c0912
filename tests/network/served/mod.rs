//! A server and its clients on virtual links in virtual time: whole matches with real worlds.

mod cheats;
mod recording;
mod repeats;
pub(crate) mod star;
mod states;
mod talk;

use std::collections::BTreeMap;
use std::time::Duration;

use game::{
    ControllerChoice, Inject, Match, MatchEvent, MatchOptions, MatchOutcome, Node as _, Server, Trace, data,
};
use net::{Architecture, ServerConfig, Time};
use sim::{Command, Direction, GameState, HeroControl, PlayerId, Tick, fingerprint, math::Vec2};

use self::star::{
    BOT, Net, address, client, client_with, hash, legions, predicting, relay_session, server_session,
    session_with,
};

#[test]
fn a_match_on_bad_links_ends_alike_for_all() {
    let link = "delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=2%";
    let mut net = Net::new(server_session("standard", None, 0, 2), link, &[BOT, BOT]);
    net.run(Duration::from_secs(500), |_| {});
    assert!(net.is_over(), "at tick {}", net.tick());
    let hash = hash(&net);
    for seat in &net.seats {
        let summary = seat.summary();
        let updates = summary.updates.expect("of a server");
        assert_eq!((summary.hash, updates.differed, updates.refused), (hash, 0, 0));
        assert!(updates.agreed == updates.applied && updates.stale > 0, "{updates:?}");
        assert!(matches!(summary.outcome, MatchOutcome::Rules(_)), "{:?}", summary.outcome);
        let mut bits = seat.down_bits[2..seat.down_bits.len() - 2].to_vec();
        bits.sort_unstable();
        let at = |percent: usize| bits[bits.len() * percent / 100];
        let seconds = f64::from(summary.ticks) / 60.0;
        let up = seat.up_bits as f64 / seconds / 1000.0;
        println!("down p50 {} p95 {} bit/s, up {up:.1} kbit/s, {updates:?}", at(50), at(95));
        assert!(at(50) <= 40_000 && at(95) <= 80_000, "p50 {}, p95 {} bit/s down", at(50), at(95));
        assert!(up <= 33.0, "{up} kbit/s up");
    }
}

#[test]
fn two_hundred_units_stay_within_the_cap() {
    let mut net = Net::with_rules("delay=5ms,jitter=1ms", &legions(), 3600);
    net.run(Duration::from_secs(80), |_| {});
    assert!(net.is_over(), "at tick {}", net.tick());
    for seat in &net.seats {
        let bits = &seat.down_bits[2..];
        let mut bits = bits.to_vec();
        bits.sort_unstable();
        let (p50, p95) = (bits[bits.len() / 2], bits[bits.len() * 95 / 100]);
        let updates = seat.summary().updates.expect("of a server");
        println!("200 units: down p50 {p50} p95 {p95} bit/s, {updates:?}");
        assert!(p95 <= 250_000, "{p95} bit/s");
        assert!(updates.applied > 600, "they come less often, and still come: {updates:?}");
        assert_eq!(seat.summary().hash, hash(&net));
    }
}

/// Half a minute of orders at random instants on this link; each player's trace.
fn probed(session: ServerConfig, link: &str) -> [Vec<serde_json::Value>; 2] {
    let folder = tempfile::tempdir().expect("a folder");
    let mut net = Net::new(session, link, &[BOT, BOT]);
    for (n, seat) in net.seats.iter_mut().enumerate() {
        let trace = Trace::create(&folder.path().join(format!("{n}"))).expect("a file");
        let options =
            MatchOptions { controller: Some(ControllerChoice::Probe), trace: Some(trace), ..predicting() };
        seat.game = Some(client_with(Time(0), n as u8, None, options));
    }
    net.run(Duration::from_secs(80), |_| {});
    assert!(net.is_over());
    [0, 1].map(|n| {
        let text = std::fs::read_to_string(folder.path().join(format!("{n}"))).expect("a trace");
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    })
}

/// What lines say of this player's commands, by their ids.
fn said(trace: &[serde_json::Value], player: usize, key: &str) -> BTreeMap<u64, u64> {
    let commands = trace.iter().filter(|line| line["cmd"].is_u64() && line["player"] == player);
    commands.filter_map(|line| Some((line["cmd"].as_u64()?, line[key].as_u64()?))).collect()
}

/// From the instant at which a command was given, in milliseconds: the 50th and the 99th percentile.
fn after(given: &BTreeMap<u64, u64>, seen: &BTreeMap<u64, u64>) -> [f64; 2] {
    let waits = seen.iter().filter_map(|(id, at)| Some((at - given.get(id)?) as f64 / 1000.0));
    let mut waits: Vec<f64> = waits.collect();
    waits.sort_unstable_by(f64::total_cmp);
    assert!(waits.len() > 200, "{}", waits.len());
    [waits[waits.len() / 2], waits[waits.len() * 99 / 100]]
}

#[test]
fn an_order_shows_at_once_here_and_in_time_there() {
    let traces = probed(server_session("endless", Some(3600), 0, 2), "delay=50ms,jitter=10ms,loss=5%");
    for player in [0, 1] {
        let given = said(&traces[player], player, "t_capture_us");
        let there = after(&given, &said(&traces[1 - player], player, "t_apply_us"));
        let here = after(&given, &said(&traces[player], player, "t_apply_us"));
        let shown = after(&given, &said(&traces[player], player, "t_shown_us"));
        println!("player {player}: there {there:?}, here {here:?}, shown {shown:?} ms");
        // Up, its jitter, half a tick, down, two updates, a tick.
        let bound = 50.0 + 10.0 + 8.3 + 50.0 + 100.0 + 16.7;
        assert!(there[0] <= bound, "{there:?}, bound {bound}");
        assert!(shown[0] <= 17.7, "{shown:?}");
    }
}

#[test]
fn a_relayed_order_runs_everywhere_after_up_and_down_and_their_reserves() {
    // On each way a reserve for jitter and 2 ms; with losses a tick on the way down, for the next datagram; and
    // the virtual clock's milliseconds: one until the probe acts on what it meant, one on each way.
    for (link, jitter, lost) in [
        ("delay=50ms", 0.0, 0.0),
        ("delay=50ms,jitter=10ms", 10.0, 0.0),
        ("delay=50ms,jitter=10ms,loss=5%", 10.0, 16.7),
    ] {
        let traces = probed(relay_session("endless", Some(3600), 0), link);
        let bound = 50.0 + jitter + 2.0 + 8.3 + 50.0 + jitter + 2.0 + lost + 3.0;
        for player in [0, 1] {
            let given = said(&traces[player], player, "t_capture_us");
            let there = after(&given, &said(&traces[1 - player], player, "t_apply_us"));
            let here = after(&given, &said(&traces[player], player, "t_apply_us"));
            let shown = after(&given, &said(&traces[player], player, "t_shown_us"));
            println!(
                "{link}, player {player}: there {there:?}, here {here:?}, shown {shown:?} ms, bound {bound}"
            );
            assert!(there[0] <= bound && here[0] <= bound, "{there:?}, {here:?}, bound {bound}");
            assert!(shown[0] <= 17.7, "{shown:?}");
        }
        // Ticks run evenly: of a hundred steps from one to the next, hardly one is off by more than half a tick.
        let runs = ran_at(&traces[0], 1);
        let steps: Vec<f64> = runs.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1000.0).collect();
        let uneven = steps.iter().filter(|&&step| (step - 16.67).abs() > 8.3).count();
        let stalls = traces[0].iter().filter(|line| line["stall"].is_u64() && line["peer"].is_null());
        // The virtual clock is a millisecond late at most.
        let long = stalls.filter(|line| line["t1_us"].as_u64() > line["t0_us"].as_u64().map(|t0| t0 + 1500));
        let long = long.count();
        println!("{link}: {uneven} of {} steps are uneven, {long} stalls", steps.len());
        assert!(steps.len() > 3500 && uneven * 50 < steps.len() && long * 50 < steps.len());
    }
}

/// Some inputs come late, and few, however often the server says how early they came: that none does would cost all
/// of them time.
#[test]
fn few_inputs_come_late_at_any_rate_of_updates() {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    let kinds = [10, 20, 30, 60].map(|updates| (Architecture::ClientServer, updates));
    for (architecture, updates) in kinds.into_iter().chain([(Architecture::Relay, 20)]) {
        for link in ["delay=50ms,jitter=10ms", "delay=50ms,jitter=10ms,loss=5%"] {
            let session = session_with(architecture, rules, Some(3600), 0, 2, updates);
            let mut net = Net::new(session, link, &[BOT, BOT]);
            net.run(Duration::from_secs(30), |_| {});
            let settled = counts(&net);
            net.run(Duration::from_secs(25), |_| {});
            for (from, to) in settled.into_iter().zip(counts(&net)) {
                let (inputs, late) = (to[0] - from[0], to[1] - from[1]);
                let percent = 100.0 * f64::from(late) / f64::from(inputs);
                let client = net.seats[0].game.as_ref().and_then(|game| game.session().client());
                let delay = client.map_or(0, |client| client.delay_us());
                println!("{architecture:?} {updates} updates/s, {link}: {percent:.1} % late, {delay} us");
                assert!(inputs > 1400 && (0.5..13.0).contains(&percent), "{percent:.1} % of {inputs}");
            }
        }
    }
}

/// By client: inputs that came, and those that came late.
fn counts(net: &Net) -> Vec<[u32; 2]> {
    let clients = net.server.as_ref().expect("runs").session().clients();
    clients.map(|client| [client.counts.inputs, client.counts.late]).collect()
}

/// When each tick ran with this player's input.
fn ran_at(trace: &[serde_json::Value], player: usize) -> Vec<u64> {
    let ticks = trace.iter().filter(|line| line["cmd"].is_null() && line["player"] == player);
    ticks.filter_map(|line| line["t_apply_us"].as_u64()).collect()
}

#[test]
fn a_relayed_match_on_bad_links_ends_alike_for_all() {
    let link = "delay=50ms,jitter=10ms,loss=5%,dup=1%,reorder=2%";
    let mut net = Net::new(relay_session("standard", None, 0), link, &[BOT, BOT]);
    net.run(Duration::from_secs(500), |_| {});
    assert!(net.is_over(), "at tick {}", net.tick());
    let hash = hash(&net);
    for seat in &net.seats {
        let summary = seat.summary();
        let updates = summary.updates.expect("of a relay");
        assert_eq!((summary.hash, updates.differed, updates.refused), (hash, 0, 0));
        assert_eq!(summary.config.architecture, Architecture::Relay);
        // Each that was not overtaken was checked.
        assert!(updates.agreed == updates.applied && updates.agreed * 10 > u64::from(summary.ticks) * 8);
        assert!(matches!(summary.outcome, MatchOutcome::Rules(_)), "{:?}", summary.outcome);
        let seconds = f64::from(summary.ticks) / 60.0;
        let down = seat.down_bits.iter().sum::<usize>() as f64 / seconds / 1000.0;
        let up = seat.up_bits as f64 / seconds / 1000.0;
        println!("down {down:.1} up {up:.1} kbit/s, {updates:?}");
        assert!(down <= 45.0 && up <= 40.0, "{down} kbit/s down, {up} up");
    }
}

/// Crashes seat 1, brings it back two seconds later with its token, and plays to the end of the match. Returns the time from
/// its return until it was within 12 ticks of the server.
fn time_to_come_back(net: &mut Net) -> Duration {
    net.seats[1].game = None;
    net.run(Duration::from_secs(2), |_| {});
    let token = net.seats[1].token.expect("told");
    (net.seats[1].game, net.seats[1].envelope) = (Some(client(net.now, 9, BOT, Some(token))), (0, 0));
    net.seats[1].address = address(7);
    let began = net.now;
    let mut back = None;
    net.run(Duration::from_secs(60), |net| {
        let tick = |game: &Match| game.world().map_or(0, |world| world.state().tick().0);
        let at = net.seats[1].game.as_ref().map_or(0, tick);
        if back.is_none() && at > 0 && at + 12 >= net.tick() {
            back = Some(net.now.since(began));
        }
    });
    assert!(net.is_over(), "at tick {}", net.tick());
    back.expect("seat 1 has come back")
}

#[test]
fn a_relay_gives_a_state_to_who_comes_back_and_to_who_has_gone_wrong() {
    let link = "delay=25ms,jitter=5ms,loss=2%";
    let mut net = Net::new(relay_session("standard", Some(1800), 45), link, &[BOT, BOT]);
    let inject = Inject { tick: Tick(700), field: "units[0].hp".into() };
    let options = MatchOptions { controller: BOT, inject: Some(inject), ..predicting() };
    net.seats[0].game = Some(client_with(Time(0), 0, None, options));
    net.run(Duration::from_secs(6), |_| {});
    let back = time_to_come_back(&mut net);
    println!("back after {back:?}");
    assert!(back <= Duration::from_secs(2), "{back:?}");
    let hash = hash(&net);
    let [wrong, returned] = [0, 1].map(|n: usize| net.seats[n].summary());
    assert_eq!((wrong.hash, returned.hash), (hash, hash));
    assert_eq!(
        (wrong.updates.expect("relayed").differed, returned.updates.expect("relayed").differed),
        (1, 0)
    );
}

#[test]
fn a_client_that_takes_the_last_state_over_ends_with_the_match() {
    // The server hears of it before, in and after its last tick.
    for tick in 588..600 {
        let mut net = Net::new(relay_session("standard", Some(600), 0), "delay=40ms", &[BOT, BOT]);
        let inject = Inject { tick: Tick(tick), field: "units[0].hp".into() };
        let options = MatchOptions { controller: BOT, inject: Some(inject), ..predicting() };
        net.seats[0].game = Some(client_with(Time(0), 0, None, options));
        net.run(Duration::from_secs(13), |_| {});
        assert!(net.is_over(), "tick {tick} went wrong");
        let summary = net.seats[0].summary();
        assert_eq!((summary.hash, summary.outcome), (hash(&net), MatchOutcome::TickLimit), "tick {tick}");
        assert_eq!(summary.updates.expect("relayed").differed, 1, "tick {tick}");
    }
}

/// Walks 60 % of the time, turning every second.
fn stroll(now: Time) -> HeroControl {
    let ms = now.as_micros() / 1000;
    let walk = (ms % 1000 < 600).then(|| Direction::eighth((ms / 1000 % 8) as u8));
    HeroControl { walk, strike: None }
}

#[test]
fn a_walking_hero_is_predicted_and_updates_keep_coming() {
    let link = "delay=50ms,jitter=10ms,loss=5%";
    let mut net = Net::new(server_session("endless", Some(7200), 0, 2), link, &[BOT, None]);
    let (mut held, mut moved_after) = (HeroControl::default(), Vec::new());
    let mut waits: Option<(Time, sim::math::Vec2)> = None;
    net.run(Duration::from_secs(200), |net| {
        let now = net.now;
        let Some(game) = net.seats[1].game.as_mut().filter(|game| game.predictor().is_some()) else { return };
        let next = stroll(now);
        let place = |game: &Match| {
            let state = game.predictor().expect("predicts").state();
            state.hero(game.session().player()).map(|row| state.position(row))
        };
        let at = place(game);
        if let (Some((since, from)), Some(at)) = (waits, at)
            && from != at
        {
            moved_after.push(now.since(since));
            waits = None;
        }
        if next != held {
            if held.walk.is_none() {
                waits = at.map(|at| (now, at));
            }
            held = next;
            game.submit_hero(next);
        }
    });
    assert!(net.is_over(), "at tick {}", net.tick());
    moved_after.sort_unstable();
    let slowest = moved_after[moved_after.len() * 95 / 100];
    let seat = &net.seats[1];
    let counts = seat.summary().prediction.clone().expect("predicted");
    let gaps = seat.updates_at.windows(2).map(|pair| pair[1].since(pair[0]));
    let mut gaps: Vec<Duration> = gaps.collect();
    gaps.sort_unstable();
    let gap = gaps[gaps.len() * 999 / 1000];
    println!(
        "moved after p50 {:?} p95 {slowest:?}; {counts:?}; gap p99.9 {gap:?}",
        moved_after[moved_after.len() / 2]
    );
    assert!(moved_after.len() > 80 && slowest <= Duration::from_millis(18), "{slowest:?}");
    assert!(counts.corrections <= 2, "{counts:?}");
    // Two updates in a row are lost now and then.
    assert!(gap <= Duration::from_millis(170), "{gap:?}");
}

/// The confirmed state of a seat.
fn state_of(net: &Net, seat: usize) -> &GameState {
    net.seats[seat].game.as_ref().and_then(|game| game.world()).expect("a world").state()
}

fn endless(relayed: bool) -> ServerConfig {
    if relayed {
        relay_session("endless", Some(3600), 0)
    } else {
        server_session("endless", Some(3600), 0, 2)
    }
}

#[test]
fn a_pause_stops_the_clock_of_all_after_the_same_tick_until_one_resumes() {
    for relayed in [false, true] {
        let mut net = Net::new(endless(relayed), "delay=50ms,jitter=5ms,loss=5%", &[BOT, BOT]);
        let say = |net: &mut Net, seat: usize, command: Command| {
            let now = net.now;
            net.seats[seat].game.as_mut().expect("plays").submit_command(now, command);
        };
        net.run(Duration::from_secs(4), |_| {});
        // A player resumes the first two, the third ends by itself, and a fourth is none.
        for round in 0..4 {
            say(&mut net, 0, Command::Pause);
            net.run(Duration::from_secs(1), |_| {});
            let stood = [0, 1].map(|seat| state_of(&net, seat).clock());
            net.run(Duration::from_secs(2), |_| {});
            let clocks = [0, 1].map(|seat| state_of(&net, seat).clock());
            if round == 3 {
                assert!(clocks[0] > stood[0].plus(100) && clocks[1] > stood[1].plus(100), "{clocks:?}");
                break;
            }
            assert_eq!((clocks, stood[0]), (stood, stood[1]), "round {round}");
            for state in [0, 1].map(|seat| state_of(&net, seat)) {
                let pause = state.pause().expect("paused");
                let left = pause.until.since(state.tick());
                assert!(pause.by == Some(PlayerId(0)) && (1_610..1_650).contains(&left), "{left} ticks");
            }
            let from = net.now;
            if round < 2 {
                say(&mut net, 1 - round, Command::Resume);
            }
            while state_of(&net, 0).clock() == stood[0] && net.now < from.plus(Duration::from_secs(29)) {
                net.step();
            }
            let took = net.now.since(from).as_millis();
            let expected = if round < 2 { 3_034..3_400 } else { 26_800..27_250 };
            assert!(expected.contains(&took), "relayed {relayed}, round {round}: {took} ms");
            net.run(Duration::from_secs(1), |_| {});
        }
        net.run(Duration::from_secs(30), |_| {});
        assert!(net.is_over());
        for seat in &net.seats {
            let (summary, told) = (seat.summary(), &seat.told);
            assert_eq!((summary.hash, summary.updates.expect("served").differed), (hash(&net), 0));
            let paused = told.iter().filter(|told| matches!(told, MatchEvent::Paused(_))).count();
            let resumed = told.iter().filter(|told| **told == MatchEvent::Resumed).count();
            assert_eq!(paused, resumed, "{told:?}");
            assert!(!told.iter().any(|told| matches!(told, MatchEvent::Silent(_))), "{told:?}");
        }
    }
}

#[test]
fn states_stay_equal_whenever_clients_pause_and_resume() {
    for (seed, relayed) in (0..crate::pauses::seeds()).flat_map(|seed| [(seed, false), (seed, true)]) {
        let session = if relayed {
            relay_session("endless", Some(600), 0)
        } else {
            server_session("endless", Some(600), 0, 2)
        };
        let mut net = Net::new(session, "delay=50ms,jitter=5ms,loss=5%", &[BOT, BOT]);
        // Each time other datagrams are lost around the commands.
        net.run(Duration::from_millis(2_500 + 7 * seed), |_| {});
        for (seat, command) in [(0, Command::Pause), (1, Command::Resume)] {
            let now = net.now;
            net.seats[seat].game.as_mut().expect("plays").submit_command(now, command);
            net.run(Duration::from_millis(900), |_| {});
        }
        assert!(state_of(&net, 0).pause().is_some(), "{relayed} {seed}");
        net.run(Duration::from_secs(15), |_| {});
        assert!(net.is_over(), "{relayed} {seed}");
        for seat in &net.seats {
            let summary = seat.summary();
            assert_eq!((summary.hash, summary.updates.expect("served").differed), (hash(&net), 0));
            let pauses = [MatchEvent::Paused(Some(PlayerId(0))), MatchEvent::Resumed];
            let told: Vec<_> = seat.told.iter().filter(|told| pauses.contains(told)).collect();
            assert_eq!(told, pauses.iter().collect::<Vec<_>>(), "{relayed} {seed}");
        }
    }
}

#[test]
fn who_leaves_in_a_pause_of_two_ends_the_match() {
    for relayed in [false, true] {
        let mut net = Net::new(endless(relayed), "delay=40ms", &[BOT, BOT]);
        net.run(Duration::from_secs(4), |_| {});
        let now = net.now;
        net.seats[0].game.as_mut().expect("plays").submit_command(now, Command::Pause);
        net.run(Duration::from_secs(1), |_| {});
        assert!(state_of(&net, 1).pause().is_some());
        net.seats[0].game.as_mut().expect("plays").leave();
        net.run(Duration::from_secs(2), |_| {});
        assert!(net.is_over(), "relayed {relayed}: at tick {}", net.tick());
    }
}

#[test]
fn without_prediction_the_others_move_evenly_two_updates_in_the_past() {
    let link = "delay=50ms,jitter=10ms,loss=5%";
    let mut net = Net::new(server_session("endless", Some(1800), 0, 2), link, &[None, None]);
    for (n, seat) in net.seats.iter_mut().enumerate() {
        seat.game = Some(client_with(Time(0), n as u8, None, MatchOptions::default()));
    }
    // Player 0 walks to and fro; player 1 looks on.
    let (mut last, mut ages) = (None, Vec::new());
    let (mut steps, mut still) = (Vec::new(), 0);
    net.run(Duration::from_secs(60), |net| {
        let now = net.now;
        if let Some(game) = &mut net.seats[0].game {
            let walk = Some(Direction::eighth(if (now.0 / 1_000_000).is_multiple_of(2) { 0 } else { 4 }));
            game.submit_hero(HeroControl { walk, strike: None });
        }
        let ran = net.tick();
        let Some(seen) = net.seats[1].game.as_ref().and_then(Match::seen) else { return };
        let state = seen.state();
        if !(120..1790).contains(&ran) {
            return;
        }
        let hero = state.players.hero[0];
        let at = state.row(hero).map(|row| state.position(row)).expect("alive");
        ages.push(ran - state.tick().0);
        still += 1;
        if last.is_some_and(|(tick, _)| tick != state.tick()) {
            let (tick, before): (Tick, Vec2) = last.expect("seen");
            steps.push((state.tick().since(tick), still, (at.x - before.x).abs().to_num::<f64>()));
            still = 0;
        }
        last = Some((state.tick(), at));
    });
    assert!(net.is_over());
    ages.sort_unstable();
    let whole: f64 = steps.iter().map(|&(_, _, way)| way).fold(0.0, f64::max);
    let longest = steps.iter().map(|&(_, ms, _)| ms).max().expect("steps");
    let single = steps.iter().filter(|&&(ticks, ..)| ticks == 1).count();
    println!(
        "{} steps, {single} of one tick; the longest stood {longest} ms; {whole} tiles at most; {} ticks old",
        steps.len(),
        ages[ages.len() / 2]
    );
    // The way, two updates, and the tick that runs.
    assert!((8..=10).contains(&ages[ages.len() / 2]), "{}", ages[ages.len() / 2]);
    assert!(steps.len() > 1600 && single * 100 >= steps.len() * 99, "{single} of {}", steps.len());
    assert!(longest <= 34, "{longest} ms");
    for seat in &net.seats {
        let summary = seat.summary();
        assert_eq!((summary.hash, summary.updates.expect("served").differed), (hash(&net), 0));
        assert!(summary.prediction.is_none());
    }
}

#[test]
fn a_client_that_comes_back_with_its_token_has_the_right_state() {
    for (seconds, rejoin) in [(2, 45), (9, 45)] {
        let link = "delay=25ms,jitter=5ms,loss=2%";
        let mut net = Net::new(server_session("standard", Some(1800), rejoin, 2), link, &[BOT, BOT]);
        net.run(Duration::from_secs(6), |_| {});
        // It is killed, and says nothing.
        net.seats[1].game = None;
        net.run(Duration::from_secs(seconds), |_| {});
        let token = net.seats[1].token.expect("told");
        let began = net.now;
        (net.seats[1].game, net.seats[1].envelope) = (Some(client(began, 9, BOT, Some(token))), (0, 0));
        net.seats[1].address = address(7);
        let mut back = None;
        net.run(Duration::from_secs(60), |net| {
            let server = net.server.as_ref().and_then(Server::world).map(|world| world.state().tick().0);
            let client =
                net.seats[1].game.as_ref().and_then(Match::world).map(|world| world.state().tick().0);
            if let (None, Some(server), Some(client)) = (back, server, client)
                && client > 0
                && client + 12 >= server
            {
                back = Some(net.now.since(began));
            }
        });
        assert!(net.is_over(), "at tick {}", net.tick());
        let back = back.expect("back");
        println!("back after {back:?}");
        assert!(back <= Duration::from_secs(2), "{back:?}");
        let hash = hash(&net);
        for seat in &net.seats {
            assert_eq!(
                (seat.summary().hash, seat.summary().updates.expect("of a server").differed),
                (hash, 0)
            );
        }
        let told = &net.seats[0].told;
        if seconds > 3 {
            use sim::PlayerId;
            assert!(told.contains(&MatchEvent::Silent(PlayerId(1))), "{told:?}");
            assert!(told.contains(&MatchEvent::Heard(PlayerId(1))), "{told:?}");
        }
    }
}

#[test]
fn a_seat_that_is_not_taken_back_surrenders() {
    use sim::PlayerId;
    for gone in 0..2 {
        let mut net = Net::new(server_session("standard", None, 2, 2), "delay=10ms", &[BOT, BOT]);
        net.run(Duration::from_secs(4), |_| {});
        net.seats[gone].game = None;
        net.run(Duration::from_secs(20), |_| {});
        assert!(net.is_over(), "without seat {gone}");
        let lost = MatchOutcome::PeerLost(PlayerId(gone as u8));
        assert_eq!(net.seats[1 - gone].summary().outcome, lost);
        let served = net.served.as_ref().expect("over").as_ref().expect("played");
        assert_eq!(served.outcome, lost);
    }
}

#[test]
fn clients_say_within_three_and_a_half_seconds_that_the_server_is_gone() {
    let mut net = Net::new(server_session("standard", None, 0, 2), "delay=10ms", &[BOT, BOT]);
    net.run(Duration::from_secs(4), |_| {});
    net.server = None;
    net.run(Duration::from_millis(3_500), |_| {});
    for seat in &net.seats {
        assert!(matches!(seat.summary().outcome, MatchOutcome::PeerLost(_)));
    }
}

#[test]
fn a_server_that_shuts_down_says_so() {
    let mut net = Net::new(server_session("standard", None, 0, 2), "delay=10ms,loss=5%", &[BOT, BOT]);
    net.run(Duration::from_secs(4), |_| {});
    net.server.as_mut().expect("runs").leave();
    net.run(Duration::from_secs(2), |_| {});
    assert!(net.is_over());
    for seat in &net.seats {
        assert!(matches!(seat.summary().outcome, MatchOutcome::PeerLeft(_)), "{:?}", seat.summary().outcome);
    }
}
