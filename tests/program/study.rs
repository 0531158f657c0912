//! A made-up study: latencies as a simple model has them, so that every check holds and differences are known.

use lab::compare::{Cell, Experiment, MatchRow, Quantiles, Series, Study, Topology, bounds};
use net::Architecture;

const TICK_MS: f64 = 1000.0 / 60.0;
const SECONDS: usize = 25;
const ORDERS: u32 = 250;

/// The base cell of an architecture.
pub(crate) fn cell(architecture: Architecture) -> Cell {
    let is_server = architecture == Architecture::ClientServer;
    Cell {
        experiment: Experiment::Defaults,
        architecture,
        topology: Topology::Midway,
        preset: String::new(),
        bad_link: String::new(),
        upstream_kbit_s: 0,
        upstream_queue_ms: 0.0,
        prediction: true,
        mixed: false,
        fixed_delay: 0,
        interpolation: if is_server { 2 } else { 0 },
        players: 2,
        rtt_ms: 100.0,
        jitter_ms: 5.0,
        loss: 0.02,
        updates: if is_server { 20 } else { 0 },
        repeat_updates: false,
        units: 14,
        tick_hz: 60,
        drift_ppm: 0,
        score_to_win: 0,
    }
}

/// Draws from a seed, 0 to 1.
pub(crate) struct Draws(u64);

impl Draws {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A match of a cell.
pub(crate) fn row(cell: &Cell, seed: u64) -> MatchRow {
    let mut draws = Draws::new(seed ^ (cell.rtt_ms as u64) << 20 ^ (cell.loss * 1000.0) as u64);
    let least = bounds(cell);
    let is_server = cell.architecture == Architecture::ClientServer;
    let interval_ms = if is_server { 1000.0 / f64::from(cell.updates) } else { 0.0 };
    let is_late = is_server && (!cell.prediction || cell.mixed);
    let late = if is_late { interval_ms * f64::from(cell.interpolation) } else { 0.0 };
    let mut spans: [Vec<f64>; 8] = Default::default();
    for _ in 0..ORDERS {
        let wait = draws.next() * TICK_MS;
        let resent = if draws.next() < cell.loss { TICK_MS * draws.next() } else { 0.0 };
        let authority = least.own_ms / 2.0 + wait + resent;
        let own = least.own_ms + 0.5 + wait + resent + interval_ms * draws.next();
        let shown = if cell.prediction { wait.min(own) } else { own + late };
        let update = interval_ms * draws.next();
        let confirmed = least.opponent_ms + wait + resent + update;
        let opponent = confirmed + late;
        let frame = TICK_MS * draws.next();
        let values = [0.0, authority, own, shown, shown + frame, confirmed, opponent, opponent + frame];
        spans.iter_mut().zip(values).for_each(|(span, value)| span.push(value));
    }
    let [captured, authority, own, shown, own_frame, confirmed, opponent, opponent_frame] =
        spans.map(Quantiles::of);
    let row = MatchRow {
        cell: cell.clone(),
        seed,
        seconds: SECONDS as f64,
        commands: ORDERS,
        censored: 1,
        captured_ms: captured,
        authority_ms: authority,
        own_predicted_ms: shown,
        own_frame_ms: own_frame,
        // With good links for all, those of the others are like all.
        others_own_ms: own.clone(),
        others_ms: if cell.players > 2 { confirmed.clone() } else { Quantiles::default() },
        own_ms: own,
        opponent_confirmed_ms: confirmed,
        opponent_ms: opponent,
        opponent_frame_ms: opponent_frame,
        winner: (cell.experiment == Experiment::Outcome).then_some((seed % 2) as u8),
        state_hash: seed,
        ..MatchRow::default()
    };
    with_rates(row, &mut draws)
}

/// The same with everything that is no latency.
fn with_rates(row: MatchRow, draws: &mut Draws) -> MatchRow {
    let cell = &row.cell;
    let (stalls, corrections) = seconds(cell, draws);
    let stall_ms = stalls.iter().sum();
    let is_server = cell.architecture == Architecture::ClientServer;
    let units = f64::from(cell.units);
    let sendings = if cell.repeat_updates { 2.0 } else { 1.0 };
    let (up, down) =
        if is_server { (9.0, 0.02 * sendings * f64::from(cell.updates) * units) } else { (26.0, 26.0) };
    let has_server = cell.architecture != Architecture::P2p;
    let players = f64::from(cell.players);
    MatchRow {
        apart_mean: 0.1 + draws.next() / 10.0,
        apart_max: 2.0,
        apart_p95: 0.2 + draws.next() / 10.0,
        apart_far: draws.next() / 100.0,
        corrections: corrections.iter().sum::<f64>() as u32,
        corrections_by_s: Series(corrections),
        stalls: stalls.iter().filter(|&&stall| stall > 0.0).count() as u32,
        stall_ms,
        stall_network_ms: stall_ms,
        stall_computer_ms: 0.0,
        stall_by_s: Series(stalls),
        freeze_ms: 100.0 * cell.loss * draws.next(),
        freeze_max_ms: 150.0 * draws.next(),
        others_freeze_ms: 100.0 * cell.loss * draws.next(),
        tick_rate: 60.0,
        others_kbit_s_up: up + draws.next(),
        whole_kbit_s_up: up + 1.0,
        whole_kbit_s_down: down + 1.0,
        kbit_s_up: up + draws.next(),
        kbit_s_down: down + draws.next(),
        packets_s_up: 60.0,
        packets_s_down: 60.0,
        server_kbit_s_up: if has_server { players * down } else { 0.0 },
        server_kbit_s_down: if has_server { players * up } else { 0.0 },
        bytes_sent: 100_000,
        bytes_received: 97_900,
        bytes_lost: 2_000,
        bytes_under_way: 100,
        unfair_ms: 2.0 * draws.next(),
        ..row
    }
}

/// The milliseconds of stalls and the corrections of each second.
fn seconds(cell: &Cell, draws: &mut Draws) -> (Vec<f64>, Vec<f64>) {
    let is_server = cell.architecture == Architecture::ClientServer;
    let stalls = (0..SECONDS)
        .map(|_| if draws.next() < 4.0 * cell.loss { (20.0 * draws.next()).round() } else { 0.0 })
        .collect();
    let corrections =
        (0..SECONDS).map(|_| if is_server && draws.next() < cell.loss { 1.0 } else { 0.0 }).collect();
    (stalls, corrections)
}

/// All cells of a small study.
pub(crate) fn cells() -> Vec<Cell> {
    let (p2p, server) = (cell(Architecture::P2p), cell(Architecture::ClientServer));
    let both = [&p2p, &server];
    let mut cells = Vec::new();
    for rtt_ms in [0.0, 50.0, 100.0, 200.0] {
        for loss in [0.0, 0.02, 0.05] {
            let jitter_ms = if rtt_ms > 0.0 { 5.0 } else { 0.0 };
            cells.extend(both.map(|cell| Cell { rtt_ms, jitter_ms, loss, ..cell.clone() }));
        }
    }
    for (preset, rtt_ms, topology) in
        [("lan", 0.5, Topology::Lan), ("transatlantic", 120.0, Topology::Remote)]
    {
        let named = |cell: &Cell| Cell { preset: preset.into(), rtt_ms, topology, ..cell.clone() };
        cells.extend(both.map(named));
    }
    for topology in [Topology::Remote, Topology::Listen] {
        cells.push(Cell { topology, ..server.clone() });
    }
    for units in [30, 200] {
        cells.extend(both.map(|cell| Cell { units, ..cell.clone() }));
    }
    cells.extend(both.map(|cell| Cell { players: 4, units: 28, ..cell.clone() }));
    cells.extend(both.map(|cell| Cell { prediction: false, ..cell.clone() }));
    cells.push(Cell { mixed: true, ..server.clone() });
    for updates in [10, 30, 60] {
        cells.push(Cell { updates, ..server.clone() });
    }
    cells.push(Cell { updates: 60, repeat_updates: true, ..server.clone() });
    for bad_link in ["", "outages-5"] {
        cells.extend(both.map(|cell| Cell {
            experiment: Experiment::OneBadLink,
            bad_link: bad_link.into(),
            players: 3,
            units: 21,
            ..cell.clone()
        }));
    }
    for bad_link in ["", "lag-200"] {
        let (experiment, bad_link) = (Experiment::Outcome, bad_link.to_owned());
        cells.extend(both.map(|cell| Cell { experiment, bad_link: bad_link.clone(), ..cell.clone() }));
    }
    cells
}

/// The study with this number of seeds.
pub(crate) fn study(seeds: u64) -> Study {
    let cells = cells();
    let rows = cells.iter().flat_map(|cell| (1000..1000 + seeds).map(|seed| row(cell, seed))).collect();
    let environment = vec![
        ("command".into(), "arena compare".into()),
        ("commit".into(), "unknown".into()),
        ("cpu".into(), "<b>A & B</b>".into()),
    ];
    Study::new(environment, rows).expect("in range")
}

/// Matches between armies of three sizes, which are in no other study.
pub(crate) fn armies() -> impl Iterator<Item = MatchRow> {
    let architectures = [Architecture::P2p, Architecture::ClientServer];
    [10, 100, 1_000].into_iter().flat_map(move |units| {
        architectures.map(|architecture| {
            let (experiment, prediction) = (Experiment::Scale, false);
            let cell = Cell { experiment, prediction, units, ..cell(architecture) };
            let of_server =
                |value: u32| (architecture == Architecture::ClientServer).then(|| f64::from(value));
            MatchRow {
                cpu_us_per_tick: Some(f64::from(units)),
                server_cpu_us_per_tick: of_server(2 * units),
                state_bytes: of_server(3 * units),
                ..row(&cell, 1000)
            }
        })
    })
}
