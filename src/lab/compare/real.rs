//! Validation of the virtual network: the same matches between real processes, over sockets of the loopback interface
//! with links impaired in the processes.
//!
//! Cells are played in random order, seed by seed. A match is repeated if the machine's own timers fired late during
//! it.

mod trace;

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde_json::Value;
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Instant;

use self::trace::{NodeTrace, row};
use super::metric::Percentile;
use super::plan::{ARCHITECTURES, CROSSED_UPDATES, FIRST_SEED, Size, slow_upstreams};
use super::row::base_cell;
use super::row::{Cell, MatchRow, Quantiles, Source};
use super::script::drawn_scripts;
use super::study::{StudyError, StudyOptions, study_of};
use super::trial::{WARM_UP, setup_of};
use crate::jobs;
use crate::process::{Process, ProcessError, flag};
use crate::sessions::hero_of;
use game::Script;
use net::Architecture;
use sim::{ControlBehaviour, KindName, Rules, World};

/// Maximum lateness of timers, p99, during a valid match.
pub const LATENESS_MAX: Duration = Duration::from_millis(2);
/// Maximum number of times that a match is played because timers fired late; the last attempt counts, and its row
/// records the lateness.
const TRIES_MAX: u32 = 4;
/// Time after the measurement window in which the last commands arrive.
const TAIL: Duration = Duration::from_secs(1);
/// Round trips in milliseconds and losses of the cells, crossed.
const RTTS_MS: [f64; 4] = [0.0, 50.0, 100.0, 200.0];
const LOSSES: [f64; 2] = [0.0, 0.02];
/// Loss at the base's round trip alone.
const MORE_LOSS: f64 = 0.05;
/// Maximum number of players of whom one has a slow upstream.
const SLOW_PLAYERS_MAX: u8 = 3;

/// Options of the matches between processes.
#[derive(Clone, Debug)]
pub struct RealOptions {
    /// Program that each node runs.
    pub program: PathBuf,
    /// Size of the study.
    pub size: Size,
    /// Number of matches per cell, in place of the size's.
    pub seeds: Option<u32>,
    /// Number of matches to run in parallel.
    pub jobs: usize,
    /// Empty folder for scripts and traces.
    pub folder: PathBuf,
}

/// Results of the matches between processes.
#[derive(Clone, Debug, Default)]
pub struct RealStudy {
    /// Rows of all matches, cell by cell, after those of the same matches on the virtual network.
    pub rows: Vec<MatchRow>,
    /// Number of matches repeated because timers fired late.
    pub repeated: u32,
}

/// Reason why a match between processes has no row.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// A process gave no result.
    #[error("{cell}, seed {seed}: {error}")]
    Process {
        /// Configuration of the match.
        cell: Box<Cell>,
        /// Seed of the match.
        seed: u64,
        /// Error of the process.
        error: ProcessError,
    },
    /// The match ended early, or its nodes ended in different states.
    #[error("{cell}, seed {seed}: unexpected end of the match: {what}")]
    Ended {
        /// Configuration of the match.
        cell: Box<Cell>,
        /// Seed of the match.
        seed: u64,
        /// Results of the processes.
        what: String,
    },
    /// The same match failed on the virtual network.
    #[error(transparent)]
    Twin(#[from] StudyError),
    /// A script or a trace cannot be written or read.
    #[error("{}: {error}", file.display())]
    File {
        /// Path of the file.
        file: PathBuf,
        /// Error of the system or the parser.
        error: std::io::Error,
    },
}

/// Lists the cells of [`super::plan()`] that are measured in both ways: round trip and loss crossed, more loss, an update
/// in every tick, and one bad link. That is a slow upstream, since a process impairs all that it sends alike. Between
/// peers `.ci/upstream` measures it: a process is slow from its handshake on, which lengthens the input delay of the
/// others for some 17 s, while the virtual network is slow from tick 0 on.
#[must_use]
pub fn real_cells() -> Vec<Cell> {
    let [.., each_tick] = CROSSED_UPDATES;
    let of = |architecture| {
        let base = base_cell(architecture);
        let on = |rtt_ms: f64, loss| {
            let jitter_ms = if rtt_ms == 0.0 { 0.0 } else { base.jitter_ms };
            Cell { rtt_ms, jitter_ms, loss, ..base.clone() }
        };
        let mut cells: Vec<Cell> =
            RTTS_MS.into_iter().flat_map(|rtt_ms| LOSSES.map(|loss| on(rtt_ms, loss))).collect();
        cells.push(on(base.rtt_ms, MORE_LOSS));
        if base.updates > 0 {
            cells.extend(LOSSES.map(|loss| Cell { updates: each_tick, ..on(base.rtt_ms, loss) }));
        }
        if architecture != Architecture::P2p {
            cells.extend(slow_upstreams(&base).filter(|cell| cell.players <= SLOW_PLAYERS_MAX));
        }
        cells
    };
    ARCHITECTURES.into_iter().flat_map(of).collect()
}

/// Returns the number of matches per cell, and the length of the measurement window: enough to validate the virtual
/// network.
const fn amount(size: Size) -> (u32, Duration) {
    match size {
        Size::Quick => (1, Duration::from_secs(5)),
        Size::Default => (2, Duration::from_secs(10)),
        Size::Full => (5, Duration::from_secs(20)),
    }
}

/// Plays the same matches on the virtual network, with the same length.
fn twins(
    cells: &[Cell],
    options: &RealOptions,
    seeds: u32,
    counted: Duration,
) -> Result<Vec<MatchRow>, StudyError> {
    let plan: Vec<_> = cells.iter().map(|cell| (cell.clone(), seeds)).collect();
    let options = StudyOptions {
        size: options.size,
        jobs: options.jobs,
        most: Some(counted),
        ..StudyOptions::default()
    };
    let rows = study_of(&plan, &options, |_, _| {}, |_| {})?;
    Ok(rows.into_iter().map(|row| MatchRow { source: Source::Twin, ..row }).collect())
}

/// Plays all matches; `progress` gets the number of finished ones and the total.
///
/// # Errors
/// If a match cannot be played; the remaining matches are not played.
///
/// # Panics
/// If `progress` panics.
pub fn real(options: &RealOptions, progress: impl Fn(usize, usize) + Sync) -> Result<RealStudy, RealError> {
    real_of(&real_cells(), options, progress)
}

/// Plays these cells as [`real`] does.
///
/// # Errors
/// As [`real`].
///
/// # Panics
/// As [`real`].
pub fn real_of(
    cells: &[Cell],
    options: &RealOptions,
    progress: impl Fn(usize, usize) + Sync,
) -> Result<RealStudy, RealError> {
    let (seeds, counted) = amount(options.size);
    let seeds = options.seeds.unwrap_or(seeds);
    let order = order(cells.len(), seeds);
    let repeated = AtomicU32::new(0);
    let mut results = jobs::run(options.jobs, order.into_iter(), progress, |(cell, seed)| {
        let game = RealMatch { options, cell: &cells[cell], seed, counted };
        let row = game.play_until_quiet(&repeated)?;
        Ok::<_, RealError>((cell, seed, row))
    })?;
    results.sort_by_key(|&(cell, seed, _)| (cell, seed));
    let mut rows = twins(cells, options, seeds, counted)?;
    rows.extend(results.into_iter().map(|(_, _, row)| row));
    Ok(RealStudy { rows, repeated: repeated.into_inner() })
}

/// Returns cells and seeds, seed by seed, with the cells of each in random order: changes of the machine's speed do not
/// favour an architecture.
fn order(cells: usize, seeds: u32) -> Vec<(usize, u64)> {
    let mut order = Vec::new();
    for seed in (FIRST_SEED..).take(seeds as usize) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut block: Vec<usize> = (0..cells).collect();
        for at in (1..cells).rev() {
            block.swap(at, (rng.next_u64() % (at as u64 + 1)) as usize);
        }
        order.extend(block.into_iter().map(|cell| (cell, seed)));
    }
    order
}

/// Match between processes.
struct RealMatch<'a> {
    options: &'a RealOptions,
    cell: &'a Cell,
    seed: u64,
    counted: Duration,
}

impl RealMatch<'_> {
    fn play_until_quiet(&self, repeated: &AtomicU32) -> Result<MatchRow, RealError> {
        for _ in 1..TRIES_MAX {
            let row = self.play()?;
            if row.lateness_ms.is_some_and(|late| late <= LATENESS_MAX.as_secs_f64() * 1e3) {
                return Ok(row);
            }
            repeated.fetch_add(1, Ordering::Relaxed);
        }
        self.play()
    }

    fn play(&self) -> Result<MatchRow, RealError> {
        let players = usize::from(self.cell.players);
        let setup = setup_of(self.cell, self.seed);
        let length = WARM_UP + self.counted + TAIL;
        let scripts = drawn_scripts(&World::new(setup.clone()), self.seed, length.as_secs_f64());
        for (player, script) in scripts.iter().enumerate() {
            self.write_script(player, script, &setup.rules)?;
        }
        let lateness = Lateness::watch();
        let process_error =
            |error| RealError::Process { cell: Box::new(self.cell.clone()), seed: self.seed, error };
        let results = self.run(length).map_err(process_error)?;
        let lateness_ms = lateness.p99_ms();
        self.check(&results, players)?;
        let traces = (0..players).map(|player| self.read_trace(player, &scripts[player]));
        let traces = traces.collect::<Result<Vec<_>, _>>()?;
        let row = row(self.cell, self.seed, self.counted, &traces, &results);
        Ok(MatchRow { lateness_ms: Some(lateness_ms), ..row })
    }

    /// Runs all processes to their ends. Returns the players' results in the order of their seats, then the server's.
    fn run(&self, length: Duration) -> Result<Vec<Value>, ProcessError> {
        let is_served = self.cell.architecture != Architecture::P2p;
        let program = &self.options.program;
        let mut host: Vec<OsString> = self.shared();
        let ticks = (length.as_secs_f64() * 60.0) as u64;
        host.extend([
            "--bind=127.0.0.1".into(),
            "--port=0".into(),
            format!("--seed={}", self.seed).into(),
            format!("--ticks={ticks}").into(),
            format!("--players={}", self.cell.players).into(),
            format!("--architecture={}", self.cell.architecture).into(),
        ]);
        host.extend(self.cell.repeat_updates.then(|| "--repeat-updates".into()));
        if !is_served {
            host.extend(self.playing(0));
        }
        host.extend(self.link(usize::from(self.cell.players)));
        let mut first = Process::start(program, if is_served { "serve" } else { "host" }, &host)?;
        let port = first.port()?;
        let mut guests = Vec::new();
        for seat in usize::from(!is_served)..usize::from(self.cell.players) {
            let mut guest = vec![format!("127.0.0.1:{port}").into(), format!("--seat={seat}").into()];
            guest.extend(self.shared());
            guest.extend(self.playing(seat));
            guest.extend(self.link(seat));
            guests.push(Process::start(program, "join", &guest)?);
        }
        let first = [first.result()?];
        let guests = guests.into_iter().map(Process::result).collect::<Result<Vec<_>, _>>()?;
        Ok(if is_served { [guests, first.into()].concat() } else { [first.into(), guests].concat() })
    }

    fn shared(&self) -> Vec<OsString> {
        let updates = self.cell.updates;
        let updates = (updates > 0).then(|| format!("--updates={updates}").into());
        ["--rules=endless".into()].into_iter().chain(updates).collect()
    }

    fn playing(&self, seat: usize) -> Vec<OsString> {
        let Cell { updates, interpolation, .. } = self.cell;
        let interpolation = (*updates > 0).then(|| format!("--interpolation={interpolation}").into());
        let mut playing = vec![
            flag("--script=", &self.file(seat, "script")),
            flag("--trace=", &self.file(seat, "trace")),
            format!("--prediction={}", if self.cell.prediction { "on" } else { "off" }).into(),
            format!("--hero={}", self.hero(seat)).into(),
        ];
        playing.extend(interpolation);
        playing
    }

    /// Names the hero of a seat.
    fn hero(&self, seat: usize) -> KindName {
        let rules = setup_of(self.cell, self.seed).rules;
        rules.unit(ControlBehaviour::Player, hero_of(self.seed, seat)).name
    }

    /// Returns the impairment of a node's outgoing link: the whole path between players, or half of it to or from a
    /// server half-way. Either half has jitter of its own, as on the virtual network.
    fn link(&self, node: usize) -> Option<OsString> {
        let Cell { architecture, rtt_ms, jitter_ms, loss, upstream_kbit_s, upstream_queue_ms, .. } =
            self.cell;
        let is_half = *architecture != Architecture::P2p;
        let (share, halves) = if is_half { (0.5, 1) } else { (1.0, 2) };
        let loss = if is_half { 1.0 - (1.0 - loss).sqrt() } else { *loss };
        let (delay_ms, jitter_ms) = (rtt_ms / 2.0 * share, jitter_ms * share);
        let is_slow = *upstream_kbit_s > 0 && node + 1 == usize::from(self.cell.players);
        (delay_ms > 0.0 || loss > 0.0 || is_slow).then(|| {
            let seed = 8 * self.seed + node as u64;
            let limit = if is_slow {
                format!(",rate={upstream_kbit_s}kbit,queue={upstream_queue_ms}ms")
            } else {
                String::new()
            };
            format!(
                "--link=delay={delay_ms}ms,jitter={jitter_ms}ms:{halves},loss={}%{limit},seed={seed}",
                100.0 * loss
            )
            .into()
        })
    }

    fn check(&self, results: &[Value], players: usize) -> Result<(), RealError> {
        let said = |result: &Value| {
            (result["outcome"].clone(), result["ticks"].clone(), result["state_hash"].clone())
        };
        let is_whole = results.iter().all(|result| said(result) == said(&results[0]));
        if is_whole && results[0]["outcome"] == "tick_limit" && results.len() >= players {
            return Ok(());
        }
        let what =
            results.iter().map(|result| format!("{:?}", said(result))).collect::<Vec<_>>().join(" and ");
        Err(RealError::Ended { cell: Box::new(self.cell.clone()), seed: self.seed, what })
    }

    fn write_script(&self, player: usize, script: &Script, rules: &Rules) -> Result<(), RealError> {
        let file = self.file(player, "script");
        let write = || script.write(rules, File::create(&file)?);
        write().map_err(|error| RealError::File { file: file.clone(), error })
    }

    fn read_trace(&self, player: usize, script: &Script) -> Result<NodeTrace, RealError> {
        let file = self.file(player, "trace");
        let read = || NodeTrace::read(BufReader::new(File::open(&file)?), player, script);
        read().map_err(|error| RealError::File { file: file.clone(), error })
    }

    /// Returns the path of a file. Parallel matches have separate files; a repeated match overwrites its own.
    fn file(&self, player: usize, what: &str) -> PathBuf {
        let Cell { architecture, rtt_ms, loss, updates, players, upstream_kbit_s, .. } = self.cell;
        let cell = format!("{architecture}-{rtt_ms}-{loss}-{updates}-{players}-{upstream_kbit_s}");
        let name = format!("{cell}-{}-{player}.{what}", self.seed);
        Path::new(&self.options.folder).join(name)
    }
}

/// Lateness of the machine's timers during a match.
struct Lateness {
    is_over: std::sync::Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Vec<f64>>,
}

impl Lateness {
    fn watch() -> Self {
        const EVERY: Duration = Duration::from_millis(2);
        let is_over = std::sync::Arc::new(AtomicBool::new(false));
        let stop = is_over.clone();
        let thread = std::thread::spawn(move || {
            let mut late = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let due = Instant::now() + EVERY;
                std::thread::sleep(EVERY);
                late.push(due.elapsed().as_secs_f64() * 1e3);
            }
            late
        });
        Self { is_over, thread }
    }

    fn p99_ms(self) -> f64 {
        self.is_over.store(true, Ordering::Relaxed);
        let late = self.thread.join().unwrap_or_default();
        // Without a measurement the match is not valid.
        Quantiles::of(late).at(Percentile::P99).unwrap_or(f64::from(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::preset::path_of;
    use crate::simnet::{LinkSchedule, SimNetwork, address};
    use net::{SealedPacket, Time, Transmit};
    use std::collections::BTreeSet;
    use transport::{Impairment, LinkSpec};

    /// Returns the 5th, 50th and 95th percentile of delays in microseconds, with a datagram every 5 ms.
    fn delays_us(mut taken_us: Vec<u64>) -> [u64; 3] {
        taken_us.sort_unstable();
        [5, 50, 95].map(|percent| taken_us[taken_us.len() * percent / 100])
    }

    fn virtual_us(cell: &Cell) -> Vec<u64> {
        let mut links = LinkSchedule::new(cell.topology.places(2, false), &path_of(cell), 5);
        links.origin = Some(Time(0));
        let mut network = SimNetwork::new(2, links);
        let one = |n: u64| {
            let now = Time(n * 5_000);
            network.send(now, 0, address(1, 0), &[0; 60]);
            let at = network.next_at()?;
            while network.pop(Time(u64::MAX)).is_some() {}
            Some(at.0 - now.0)
        };
        (0..20_000).filter_map(one).collect()
    }

    fn options() -> RealOptions {
        RealOptions {
            program: PathBuf::new(),
            size: Size::Quick,
            seeds: None,
            jobs: 1,
            folder: PathBuf::new(),
        }
    }

    fn real_us(cell: &Cell) -> Vec<u64> {
        let game = RealMatch { options: &options(), cell, seed: 1, counted: Duration::ZERO };
        let link = game.link(0).and_then(|link| link.into_string().ok()).expect("impaired");
        let spec: LinkSpec = link.strip_prefix("--link=").and_then(|spec| spec.parse().ok()).expect("a link");
        let mut link = Impairment::new(spec);
        let one = |n: u64| {
            let (now, datagram) = (Time(n * 5_000), SealedPacket::unconnected(&[0; 60]));
            link.push(now, Transmit { to: address(1, 0), datagram, local: None });
            let at = link.next_at()?;
            link.pop(at)?;
            Some(at.0 - now.0)
        };
        (0..20_000).filter_map(one).collect()
    }

    #[test]
    fn delay_and_jitter_of_a_path_match_the_virtual_network() {
        let cell = base_cell(Architecture::P2p);
        let (simulated, real) = (virtual_us(&cell), real_us(&cell));
        assert!(simulated.len().abs_diff(real.len()) < 200, "{} and {} arrived", simulated.len(), real.len());
        let (simulated, real) = (delays_us(simulated), delays_us(real));
        // With a single draw 5 % and 95 % would be a fifth of the jitter farther out.
        assert!((46_000..47_200).contains(&simulated[0]), "{simulated:?}");
        for (simulated, real) in simulated.into_iter().zip(real) {
            assert!(simulated.abs_diff(real) < 200, "{simulated} and {real} us");
        }
    }

    #[test]
    fn every_block_has_every_cell_once_in_a_different_order() {
        let order = order(16, 3);
        let blocks: Vec<Vec<usize>> =
            order.chunks(16).map(|block| block.iter().map(|it| it.0).collect()).collect();
        for block in &blocks {
            let mut sorted = block.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..16));
        }
        assert!(blocks[0] != blocks[1] && blocks[1] != blocks[2]);
    }

    #[test]
    fn every_real_cell_is_one_of_the_plan() {
        let plan = super::super::plan(Size::Default, None, None);
        for cell in real_cells() {
            assert!(plan.iter().any(|(planned, _)| *planned == cell), "{cell}");
        }
    }

    #[test]
    fn each_cell_has_files_of_its_own_and_a_slow_upstream_is_the_last_players() {
        let (options, cells) = (options(), real_cells());
        let all = |cell| RealMatch { options: &options, cell, seed: 1, counted: Duration::ZERO };
        let files: BTreeSet<PathBuf> = cells.iter().map(|cell| all(cell).file(0, "trace")).collect();
        assert_eq!(files.len(), cells.len());
        for cell in &cells {
            let nodes = usize::from(cell.players) + 1;
            let limited = |&node: &usize| {
                let link = all(cell).link(node).unwrap_or_default();
                link.into_string().is_ok_and(|link| link.contains(",rate=48kbit,queue=200ms,"))
            };
            let slow: Vec<usize> = (0..nodes).filter(limited).collect();
            let last = usize::from(cell.players) - 1;
            assert_eq!(slow, if cell.upstream_kbit_s > 0 { vec![last] } else { vec![] }, "{cell}");
        }
    }
}
