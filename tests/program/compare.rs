//! The matches of the study: the same every time, fair to every architecture, and never quicker than light.

use std::time::Duration;

use lab::compare::{
    ARCHITECTURES, Cell, Experiment, MatchRow, Percentile, Quantiles, Recorded, Size, StudyOptions, Topology,
    Trial, WARM_UP, base_cell, bounds, drawn_scripts, study_of,
};
use net::Architecture;
use replay::Replay;
use sim::Command;

fn play(cell: &Cell, seed: u64, seconds: u64) -> MatchRow {
    let trial = Trial { cell, seed, counted: Duration::from_secs(seconds), recorded: None, trace: None };
    trial.play().unwrap_or_else(|error| panic!("{cell}: {error}"))
}

fn least(quantiles: &Quantiles) -> f64 {
    quantiles.iter().next().expect("measured").1
}

/// What must hold of every row.
fn check(row: &MatchRow) {
    let cell = &row.cell;
    let sum = row.bytes_received + row.bytes_lost + row.bytes_under_way;
    assert_eq!(row.bytes_sent, sum, "{cell}: every byte arrives, is lost or is under way");
    let is_same = |a: f64, b: f64| (a - b).abs() < 1e-6 * a.max(1.0);
    let by_cause = row.stall_network_ms + row.stall_computer_ms;
    assert!(is_same(row.stall_ms, by_cause), "{cell}: {} of {by_cause} ms", row.stall_ms);
    let by_second: f64 = row.stall_by_s.0.iter().sum();
    // Each second is rounded to a thousandth.
    assert!(
        (row.stall_ms - by_second).abs() < 0.001 * row.stall_by_s.0.len() as f64,
        "{cell}: {} of {by_second} ms",
        row.stall_ms
    );
    assert!(row.stall_by_s.0.iter().all(|&ms| ms <= 1000.1), "{cell}: {:?}", row.stall_by_s);
    assert!(is_same(f64::from(row.corrections), row.corrections_by_s.0.iter().sum()), "{cell}");
    assert_ne!(row.state_hash, 0, "{cell}: all ran alike");
    assert!(row.apart_mean <= row.apart_max, "{cell}");
    if cell.experiment == Experiment::Outcome {
        return;
    }
    assert!(row.censored <= row.commands && row.commands > 0, "{cell}");
    let bounds = bounds(cell);
    for (what, quantiles, bound) in [
        ("own", &row.own_ms, bounds.own_ms),
        ("own predicted", &row.own_predicted_ms, bounds.own_predicted_ms),
        ("opponent", &row.opponent_confirmed_ms, bounds.opponent_ms),
        ("opponent shown", &row.opponent_ms, bounds.opponent_ms),
        ("opponent's frame", &row.opponent_frame_ms, bounds.opponent_ms),
    ] {
        let least = least(quantiles);
        // After a stall of seconds the clocks of peers differ for a while: a peer that is behind runs its own command as
        // soon as it is committed, and the others wait.
        let is_bound = what != "own"
            || cell.experiment != Experiment::HostLost
            || cell.architecture != Architecture::P2p;
        assert!(!is_bound || least >= bound - bounds.error_ms, "{cell}: {what} {least} ms, bound {bound} ms");
        let p50 = quantiles.p50().expect("measured");
        let wait = bound + bounds.wait_ms;
        assert!(p50 >= wait - bounds.error_ms, "{cell}: {what} p50 {p50} ms, bound and wait {wait} ms");
    }
    // From the instant to the state, to the frame.
    let steps = [&row.captured_ms, &row.own_predicted_ms, &row.own_frame_ms];
    for pair in steps.windows(2) {
        assert!(pair[0].iter().zip(pair[1].iter()).all(|((_, a), (_, b))| a <= b), "{cell}");
    }
    for (state, frame) in
        [(&row.own_predicted_ms, &row.own_frame_ms), (&row.opponent_ms, &row.opponent_frame_ms)]
    {
        assert!(state.iter().zip(frame.iter()).all(|((_, a), (_, b))| a < b && b - a <= 16.7), "{cell}");
    }
}

#[test]
fn the_same_study_gives_the_same_rows_on_any_number_of_cores() {
    let cells: Vec<(Cell, u32)> = ARCHITECTURES
        .into_iter()
        .flat_map(|architecture| {
            let base = base_cell(architecture);
            let wifi = Cell { preset: "wifi".into(), ..base.clone() };
            let remote = Cell { topology: Topology::Remote, ..base.clone() };
            [(base, 2), (wifi, 2), (remote, 1)]
        })
        .collect();
    let play = |jobs| {
        let options = StudyOptions { size: Size::Quick, jobs, ..StudyOptions::default() };
        study_of(&cells, &options, |_, _| {}, |_| {}).unwrap_or_else(|error| panic!("{error}"))
    };
    let rows = play(1);
    assert_eq!(rows, play(2));
    let planned = cells.iter().flat_map(|(cell, seeds)| vec![cell; *seeds as usize]);
    assert!(rows.iter().map(|row| &row.cell).eq(planned), "in the order of the plan");
    rows.iter().for_each(check);
    assert_ne!(rows[0].own_ms, rows[1].own_ms, "another seed is another match");
    let served = rows.len() / ARCHITECTURES.len();
    assert!(rows[served + 4].own_ms.p50() > rows[served].own_ms.p50(), "a server far off takes longer");
}

#[test]
fn every_place_of_the_server_keeps_the_bounds() {
    for architecture in ARCHITECTURES {
        for topology in [Topology::Lan, Topology::Midway, Topology::Remote, Topology::Listen] {
            for loss in [0.0, 0.05] {
                let cell = Cell { topology, loss, ..base_cell(architecture) };
                let row = play(&cell, 3, 8);
                check(&row);
                assert_eq!(row.censored, 0, "{cell}");
                assert!((59.0..=61.0).contains(&row.tick_rate), "{cell}: {}", row.tick_rate);
                // Who has the server in its own computer is better off, and nobody else.
                let is_host = topology == Topology::Listen && architecture != Architecture::P2p;
                assert!(row.unfair_ms < 20.0, "{cell}: {} ms", row.unfair_ms);
                assert_eq!(least(&row.own_ms) < 20.0, is_host, "{cell}: {}", least(&row.own_ms));
            }
        }
    }
}

#[test]
fn prediction_shows_own_orders_at_once_and_nothing_else_does() {
    for architecture in ARCHITECTURES {
        let on = play(&base_cell(architecture), 5, 8);
        let off = play(&Cell { prediction: false, ..base_cell(architecture) }, 5, 8);
        check(&off);
        let shown = |row: &MatchRow| row.own_predicted_ms.p50().expect("measured");
        assert!(shown(&on) < 17.0, "{architecture}: {}", shown(&on));
        assert!(shown(&off) >= off.own_ms.p50().expect("measured"), "{architecture}: {}", shown(&off));
        assert_eq!((off.corrections, on.commands), (0, off.commands));
        assert_eq!(on.opponent_ms, on.opponent_confirmed_ms, "{architecture}: what is predicted is not late");
        // Two pictures of what is known to both are nearer to each other than two of what is guessed.
        assert!(off.apart_mean < on.apart_mean, "{} {}", off.apart_mean, on.apart_mean);
    }
}

#[test]
fn a_picture_in_the_past_shows_each_update_later() {
    let base = Cell { prediction: false, ..base_cell(Architecture::ClientServer) };
    let seen = [0, 1, 2].map(|interpolation| {
        let row = play(&Cell { interpolation, ..base.clone() }, 5, 8);
        check(&row);
        let behind = |share: fn(&Quantiles) -> Option<f64>| {
            share(&row.opponent_ms).expect("measured") - share(&row.opponent_confirmed_ms).expect("measured")
        };
        assert!(behind(Quantiles::p50) >= 0.0, "{row:?}");
        row.opponent_ms.p50().expect("measured")
    });
    // An update is 50 ms; the first of them is partly there anyway, as a tick waits for its update.
    assert!(seen[1] > seen[0] + 10.0 && (45.0..55.0).contains(&(seen[2] - seen[1])), "{seen:?}");
}

#[test]
fn who_stays_plays_on_without_a_server_and_commands_count_through_stalls() {
    let lost = |architecture, players: u8| {
        let units = 7 * u32::from(players);
        let row = play(
            &Cell { experiment: Experiment::HostLost, players, units, ..base_cell(architecture) },
            7,
            12,
        );
        check(&row);
        row
    };
    let peers = lost(Architecture::P2p, 4);
    // HalfPath of 12 s and the last, without the 3 s of waiting.
    assert!(peers.ticks_after_loss.is_some_and(|ticks| ticks > 200), "{:?}", peers.ticks_after_loss);
    let longest = peers.opponent_ms.iter().last().expect("measured").1;
    assert!((2_500.0..3_500.0).contains(&longest), "{longest}: from the instant at which it was wanted");
    // A fifth of all commands comes in the 3 s in which nothing runs: a peer that waited with them would not show it.
    let p95 = peers.opponent_ms.at(Percentile::P95).expect("measured");
    assert!(p95 > 1_000.0, "{p95}");
    assert!(peers.stall_ms > 1_500.0 && peers.censored < 10, "{} {}", peers.stall_ms, peers.censored);
    let served = lost(Architecture::ClientServer, 4);
    assert!(served.ticks_after_loss.is_some_and(|ticks| ticks < 30), "{:?}", served.ticks_after_loss);
    assert!(served.censored > served.commands / 3, "{} of {}", served.censored, served.commands);
    assert_eq!(lost(Architecture::P2p, 2).ticks_after_loss.map(|ticks| ticks < 30), Some(true));
}

#[test]
fn a_recorded_match_is_a_script() {
    let replay = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/replays"))
        .expect("golden replays")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "mra"))
        .expect("a replay");
    let recorded = Recorded::read(Replay::open(&replay).expect("whole")).expect("valid");
    let world = sim::World::new(recorded.setup.clone());
    let named =
        recorded.scripts.iter().flat_map(|script| script.lines()).filter_map(|line| match &line.command {
            Command::Move(units, ..) | Command::AttackMove(units, ..) | Command::Attack(units, ..) => {
                Some(units)
            }
            _ => None,
        });
    let named: Vec<_> = named.flatten().collect();
    assert!(!named.is_empty() && named.iter().all(|unit| world.state().row(**unit).is_some()), "{named:?}");
    let players = recorded.setup.seats.len() as u8;
    for (architecture, rtt_ms) in ARCHITECTURES.into_iter().flat_map(|it| [(it, 0.0), (it, 200.0)]) {
        // A match that goes otherwise from way to way.
        let cell = Cell { players, rtt_ms, ..base_cell(architecture) };
        let trial = Trial {
            cell: &cell,
            seed: 1,
            counted: Duration::from_secs(20),
            recorded: Some(&recorded),
            trace: None,
        };
        let row = trial.play().unwrap_or_else(|error| panic!("{cell}: {error}"));
        check(&row);
        let window = WARM_UP.as_micros() as u64..(WARM_UP + trial.counted).as_micros() as u64;
        let scripts = recorded.scripts(1);
        let given = scripts.iter().flat_map(|script| script.lines());
        let given = given.filter(|line| window.contains(&line.at_us)).count() as u32;
        assert_eq!((row.commands, row.censored), (given, 0), "{cell}");
        assert!(given > 10, "{given}");
    }
}

#[test]
fn a_mixed_view_shows_own_orders_at_once_and_the_others_late() {
    let base = play(&base_cell(Architecture::ClientServer), 5, 8);
    let mixed = play(&Cell { mixed: true, ..base_cell(Architecture::ClientServer) }, 5, 8);
    check(&mixed);
    let p50 = |quantiles: &Quantiles| quantiles.p50().expect("measured");
    assert!(p50(&mixed.own_predicted_ms) < 17.0, "{}", p50(&mixed.own_predicted_ms));
    // Two updates of 50 ms.
    let late = p50(&mixed.opponent_ms) - p50(&mixed.opponent_confirmed_ms);
    assert!((60.0..=125.0).contains(&late), "{late}");
    // A view changes nothing on the network, and what is late on one screen and not on the other is apart.
    assert_eq!(mixed.opponent_confirmed_ms, base.opponent_confirmed_ms);
    assert!(mixed.bytes_sent.abs_diff(base.bytes_sent) < base.bytes_sent / 100);
    assert!(mixed.apart_p95 > base.apart_p95, "{} {}", mixed.apart_p95, base.apart_p95);
}

#[test]
fn repeated_updates_cost_bytes_and_bring_what_was_lost() {
    let play = |loss, repeat_updates| {
        let cell = Cell { loss, repeat_updates, updates: 60, ..base_cell(Architecture::ClientServer) };
        let row = play(&cell, 7, 20);
        check(&row);
        // The others' orders are late most of all where they are lost on the way up, which nothing repeats.
        (row.server_kbit_s_up, row.own_ms.at(Percentile::P95).expect("measured"))
    };
    let ((once, late), (twice, repaired)) = (play(0.05, false), play(0.05, true));
    assert!((1.7..2.1).contains(&(twice / once)), "{once} and {twice} kbit/s");
    assert!(repaired < late - 2.0, "p95 {late} and {repaired} ms");
    assert_eq!(play(0.0, false), play(0.0, true), "where nothing is lost nothing is repeated");
}

#[test]
fn one_bad_link_holds_up_all_peers_and_with_a_server_its_owner_alone() {
    let p95 = |architecture, bad_link: &str| {
        let cell = Cell {
            experiment: Experiment::OneBadLink,
            bad_link: bad_link.into(),
            prediction: false,
            players: 3,
            units: 21,
            rtt_ms: 50.0,
            loss: 0.0,
            ..base_cell(architecture)
        };
        let row = play(&cell, 1000, 10);
        assert_ne!(row.state_hash, 0, "{cell}");
        (row.others_ms.at(Percentile::P95).expect("measured"), row.others_freeze_ms, row.freeze_max_ms)
    };
    let ((good, ..), (bad, frozen, _)) = (p95(Architecture::P2p, ""), p95(Architecture::P2p, "outages-5"));
    assert!(bad > good + 30.0 && frozen > 100.0, "{good} {bad} {frozen}");
    for architecture in [Architecture::Relay, Architecture::ClientServer] {
        let ((good, ..), (bad, frozen, longest)) = (p95(architecture, ""), p95(architecture, "outages-5"));
        assert_eq!((good, frozen), (bad, 0.0), "{architecture}: the others notice nothing");
        assert!(longest > 100.0, "{architecture}: {longest}");
    }
}

#[test]
fn bots_play_to_the_end() {
    let row = play(&Cell { experiment: Experiment::Outcome, ..base_cell(Architecture::P2p) }, 9, 1);
    check(&row);
    assert!(row.winner.is_some() && row.seconds > 60.0, "{:?} after {} s", row.winner, row.seconds);
    assert_eq!(row.commands, 0);
}

#[test]
fn matches_of_bots_may_be_shorter() {
    let of = |score_to_win| {
        let cell = Cell { experiment: Experiment::Outcome, score_to_win, ..base_cell(Architecture::P2p) };
        play(&cell, 9, 1)
    };
    let (short, whole) = (of(100), of(0));
    check(&short);
    assert!(
        short.winner.is_some() && short.seconds < whole.seconds / 2.0,
        "{} {}",
        short.seconds,
        whole.seconds
    );
}

#[test]
fn more_units_cost_processors_and_above_all_the_links_of_a_server() {
    let of = |architecture, units| {
        let scale = Cell { experiment: Experiment::Scale, prediction: false, ..base_cell(architecture) };
        let row = play(&Cell { units, ..scale }, 4, 4);
        check(&row);
        assert_eq!(row.censored, 0, "{architecture}");
        row
    };
    for architecture in ARCHITECTURES {
        let (few, many) = (of(architecture, 30), of(architecture, 1_000));
        let cpu = |row: &MatchRow| row.cpu_us_per_tick.expect("measured");
        assert!(cpu(&many) > 2.0 * cpu(&few), "{architecture}: {} {}", cpu(&few), cpu(&many));
        let is_served = architecture == Architecture::ClientServer;
        assert_eq!(few.server_cpu_us_per_tick.is_some(), architecture != Architecture::P2p, "{architecture}");
        assert_eq!(few.state_bytes.is_some(), is_served, "{architecture}");
        if is_served {
            // Beyond the 242 kbit/s that a server usually sends to each.
            assert!(many.kbit_s_down > 250.0, "{}", many.kbit_s_down);
            let needed = many.state_bytes.expect("measured") * 20.0 * 8.0 / 1000.0;
            assert!((0.7..1.5).contains(&(needed / many.kbit_s_down)), "{needed} of {}", many.kbit_s_down);
        } else {
            // An order names up to 32 of them.
            assert!(many.kbit_s_up < 2.0 * few.kbit_s_up, "{} {}", few.kbit_s_up, many.kbit_s_up);
        }
    }
}

/// Within the minute the others give up a player whose upstream is too slow, and it has run a tick more than they know of.
#[test]
fn who_is_given_up_makes_no_difference_of_states() {
    let good = Cell { rtt_ms: 50.0, loss: 0.0, prediction: false, ..base_cell(Architecture::P2p) };
    let cell = Cell {
        experiment: Experiment::OneBadLink,
        bad_link: "slow-upstream".into(),
        upstream_kbit_s: 16,
        upstream_queue_ms: 200.0,
        players: 4,
        units: 28,
        ..good
    };
    assert_ne!(play(&cell, 1004, 60).state_hash, 0);
}

/// Four peers on 28.8 kbit/s give each other up one after the other, and in the end each is alone: seats 1 and 3 have run
/// ticks with inputs of seat 3 that never reached seats 0 and 2, which continued without the two.
#[test]
fn peers_who_have_all_given_each_other_up_need_not_have_the_same_states() {
    let base = Cell { experiment: Experiment::Scale, prediction: false, ..base_cell(Architecture::P2p) };
    let links = Cell { preset: "28.8k".into(), rtt_ms: 200.0, jitter_ms: 10.0, loss: 0.0, ..base };
    let cell = Cell { players: 4, units: 1500, ..links };
    assert_ne!(play(&cell, 1001, 60).state_hash, 0);
}

#[test]
fn three_players_play_where_one_can_send_48_kbit_a_second() {
    let play_with = |upstream_kbit_s, seed| {
        let cell = Cell {
            experiment: Experiment::OneBadLink,
            bad_link: "slow-upstream".into(),
            upstream_kbit_s,
            upstream_queue_ms: 200.0,
            players: 3,
            units: 21,
            rtt_ms: 50.0,
            jitter_ms: 0.0,
            loss: 0.0,
            prediction: false,
            ..base_cell(Architecture::P2p)
        };
        let row = play(&cell, seed, 60);
        check(&row);
        row
    };
    for seed in [1000, 1001, 1002, 1004] {
        let row = play_with(48, seed);
        let p95 = row.others_ms.at(Percentile::P95).expect("measured");
        assert!(p95 < 250.0 && row.tick_rate > 57.0, "seed {seed}: p95 {p95} ms, {} ticks/s", row.tick_rate);
    }
    // A link that carries all is left alone: a datagram per tick to each of the two others.
    let [wide, none] = [256, 0].map(|kbit_s| play_with(kbit_s, 1000).packets_s_up);
    assert!(wide == none && wide >= 2.0 * 60.0, "{wide} and {none} datagrams a second");
}

#[test]
fn wrong_clocks_change_nothing() {
    for architecture in ARCHITECTURES {
        let of = |drift_ppm| play(&Cell { drift_ppm, ..base_cell(architecture) }, 6, 25);
        let (right, wrong) = (of(0), of(500));
        check(&wrong);
        assert_ne!(right.bytes_sent, wrong.bytes_sent, "{architecture}: it is another match");
        let p50 = |row: &MatchRow| {
            [&row.opponent_confirmed_ms, &row.own_ms, &row.own_predicted_ms]
                .map(|it| it.p50().expect("measured"))
        };
        for (right, wrong) in p50(&right).into_iter().zip(p50(&wrong)) {
            assert!((right - wrong).abs() < 3.0, "{architecture}: {right} {wrong}");
        }
        // After half a minute clocks that nobody corrects are 30 ms apart: one player would be sooner than the other.
        let [right_ms, wrong_ms] = [&right, &wrong].map(|row| row.unfair_ms);
        assert!((right_ms - wrong_ms).abs() < 3.0, "{architecture}: {right_ms} {wrong_ms}");
        assert!(
            wrong.stall_ms < right.stall_ms + 100.0,
            "{architecture}: {} {}",
            right.stall_ms,
            wrong.stall_ms
        );
        assert!((wrong.tick_rate - right.tick_rate).abs() < 0.2, "{architecture}: {}", wrong.tick_rate);
    }
}

#[test]
fn a_drawn_script_is_the_same_for_all_and_comes_at_any_time() {
    let world = sim::World::new(setup());
    let scripts = drawn_scripts(&world, 11, 200.0);
    assert_eq!(scripts, drawn_scripts(&world, 11, 200.0));
    assert_ne!(scripts, drawn_scripts(&world, 12, 200.0));
    assert_ne!(scripts[0].lines()[0].at_us, scripts[1].lines()[0].at_us);
    for script in &scripts {
        let lines = script.lines();
        assert!((900..1_100).contains(&lines.len()), "{}", lines.len());
        // Each is unlike those before it, so that it is known again.
        let is_new = |(n, line): (usize, &game::ScriptLine)| {
            lines[n.saturating_sub(100)..n].iter().all(|before| before.command != line.command)
        };
        assert!(lines.iter().enumerate().all(is_new));
        // Uniform against ticks: each tenth of a tick has its share.
        let mut tenths = [0; 10];
        lines.iter().for_each(|line| tenths[(line.at_us * 60 % 1_000_000 / 100_000) as usize] += 1);
        assert!(tenths.iter().all(|count| (60..150).contains(count)), "{tenths:?}");
    }
}

fn setup() -> sim::Setup {
    use game::data;
    use sim::{KindId, SeatSetup, Setup, TickRate};
    let seat = |team| SeatSetup { hero: KindId(0), team };
    Setup {
        seed: 1,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("endless").expect("built in"),
        map: data::map("standard").expect("built in"),
    }
}
