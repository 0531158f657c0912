//! The engine of the study, trial by trial.

use std::time::Duration;

use mini_rts_arena::lab::compare::{Cell, MatchRow, Topology, Trial, View};
use mini_rts_arena::net::Architecture;

fn cell(architecture: Architecture) -> Cell {
    let (updates, interpolation) = if architecture == Architecture::ClientServer { (20, 2) } else { (0, 0) };
    Cell {
        view: View::Defaults,
        architecture,
        topology: Topology::Midway,
        preset: String::new(),
        prediction: true,
        interpolation,
        players: 2,
        rtt_ms: 100.0,
        jitter_ms: 5.0,
        loss: 0.02,
        updates,
        units: 14,
    }
}

fn play(cell: &Cell, seed: u64, seconds: u64) -> MatchRow {
    let trial = Trial { cell, seed, counted: Duration::from_secs(seconds), recorded: None };
    trial.play().unwrap_or_else(|error| panic!("{cell:?}: {error}"))
}

#[test]
fn all() {
    use mini_rts_arena::lab::compare::*;
    let size = match std::env::var("SIZE").as_deref() {
        Ok("quick") => Size::Quick,
        Ok("full") => Size::Full,
        _ => Size::Default,
    };
    let began = std::time::Instant::now();
    let rows = study(&StudyOptions { size, seeds: None, jobs: 2, recorded: None }, |_, _| ())
        .unwrap_or_else(|e| panic!("{e}"));
    println!("{} rows in {:?}", rows.len(), began.elapsed());
    let mut f = std::fs::File::create("/tmp/ht/rows.csv").unwrap();
    write_rows(&mut f, &rows).unwrap();
}

#[test]
fn look() {
    for architecture in [Architecture::P2p, Architecture::ClientServer] {
        for (prediction, units, players) in
            [(true, 14, 2), (false, 14, 2), (true, 200, 2), (true, 28, 4), (false, 2000, 4)]
        {
            let cell = Cell { prediction, units, players, ..cell(architecture) };
            let began = std::time::Instant::now();
            let row = play(&cell, 1000, 30);
            println!("{architecture} {prediction} {units} {players}: {:?}", began.elapsed());
            let p = |q: &mini_rts_arena::lab::compare::Quantiles| {
                format!("{:?} {:?} {:?} {:?}", q.iter().next().map(|x| x.1), q.p50(), q.p95(), q.p99())
            };
            println!("  commands {} censored {}", row.commands, row.censored);
            println!(
                "  captured {}\n  authority {}\n  own {}\n  ownpred {}\n  ownframe {}\n  oppconf {}\n  opp {}\n  oppframe {}",
                p(&row.captured_ms),
                p(&row.authority_ms),
                p(&row.own_ms),
                p(&row.own_predicted_ms),
                p(&row.own_frame_ms),
                p(&row.opponent_confirmed_ms),
                p(&row.opponent_ms),
                p(&row.opponent_frame_ms)
            );
            println!(
                "  apart {} {} corr {} stalls {} {} {} {}",
                row.apart_mean,
                row.apart_max,
                row.corrections,
                row.stalls,
                row.stall_ms,
                row.stall_network_ms,
                row.stall_computer_ms
            );
            println!(
                "  rate {} up {} down {} pk {} {} srv {} {}",
                row.tick_rate,
                row.kbit_s_up,
                row.kbit_s_down,
                row.packets_s_up,
                row.packets_s_down,
                row.server_kbit_s_up,
                row.server_kbit_s_down
            );
            println!(
                "  bytes {} {} {} {} unfair {} hash {:x}",
                row.bytes_sent,
                row.bytes_received,
                row.bytes_lost,
                row.bytes_under_way,
                row.unfair_ms,
                row.state_hash
            );
        }
    }
}
