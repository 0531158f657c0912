//! Validity of the study: checks that detect a wrong label, a broken prediction or a shifted clock.

use std::collections::{BTreeMap, BTreeSet};

use super::comparison::is_same_condition;
use super::metric::{LatencyKind, Measure, TICK_MS};
use super::plan::TRACE;
use super::preset::{path_of, slow_link_of};
use super::row::{Cell, Experiment, MatchRow, Quantiles, Source, Topology};
use super::statistics::{mean, wilson};
use super::summary::CellSummary;
use net::{Architecture, BITS_PER_S_USUAL};

/// Tolerance for latencies, which are rounded to a thousandth of a millisecond.
const ROUNDING_MS: f64 = 0.002;
/// Maximum share of a cell's commands that may be missing from the quantiles.
const CENSORED_MAX: f64 = 0.02;
/// Maximum share if one player's link is bad: on a slow upstream the commands of the last 300 ms arrive too late.
const CENSORED_BAD_LINK_MAX: f64 = 0.03;
/// Maximum lateness of timers in a real match, p99, in milliseconds.
const LATENESS_MAX_MS: f64 = 2.0;
/// Maximum tick rate of a node: 60 per second, and the margin of a clock that catches up.
const TICK_RATE_MAX: f64 = 66.0;
/// Maximum number of listed failures per check; the others are only counted.
const LISTED_MAX: usize = 20;

/// Results of the checks.
#[derive(Clone, Debug)]
pub struct Validity {
    /// Results of every check, in order.
    pub checks: Vec<CheckResult>,
}

/// Result of one check over the whole study.
#[derive(Clone, Debug, serde::Serialize)]
pub struct CheckResult {
    /// Name of the check.
    pub name: &'static str,
    /// Requirement.
    pub demand: &'static str,
    /// Number of evaluations.
    pub asked: usize,
    /// Number of failures.
    pub failed: usize,
    /// First failures, each with cell, seed and numbers.
    pub failures: Vec<String>,
}

impl Validity {
    /// Checks a study.
    #[must_use]
    pub fn of(cells: &[CellSummary<'_>]) -> Self {
        let checks = CHECKS.iter().map(|&(name, demand, ref run)| {
            let mut log = Log::default();
            match run {
                Run::Row(run) => cells.iter().for_each(|cell| {
                    cell.rows.iter().for_each(|row| run(row, &mut log.at(cell, Some(row.seed))));
                }),
                Run::Cell(run) => cells.iter().for_each(|cell| run(cell, &mut log.at(cell, None))),
                Run::Study(run) => run(cells, &mut log),
            }
            let Log { asked, failed, failures } = log;
            CheckResult { name, demand, asked, failed, failures }
        });
        Self { checks: checks.collect() }
    }

    /// Whether every check holds.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.checks.iter().all(|check| check.failed == 0)
    }
}

enum Run {
    Row(fn(&MatchRow, &mut Place<'_>)),
    Cell(fn(&CellSummary<'_>, &mut Place<'_>)),
    Study(fn(&[CellSummary<'_>], &mut Log)),
}

/// Name, requirement, and subject of a check.
type Check = (&'static str, &'static str, Run);

/// Declares the checks: `"name" Subject(check): "requirement";`.
macro_rules! checks {
    ($($name:literal $of:ident($check:ident): $demand:literal;)*) => {
        const CHECKS: &[Check] = &[$(($name, $demand, Run::$of($check)),)*];
    };
}

checks! {
    "bounds" Row(not_below_bounds): "no order is quicker than its path, less jitter and 2 ms for clocks";
    "median bounds" Cell(medians_not_below_bounds):
        "no median is below the path and half a tick, less jitter and 2 ms for clocks";
    "instants" Row(instants_in_order):
        "given, captured, decided, applied, shown and seen in a frame follow each other";
    "clocks" Cell(clocks_agree):
        "the seats' medians differ by less than a tick, the jitter and in lockstep an outage where their paths are alike";
    "prediction shows" Cell(prediction_shows):
        "from 50 ms RTT on, prediction shows own orders at least a tick before a server confirms them";
    "no prediction" Row(nothing_predicted):
        "without prediction own orders show when they are confirmed, with a server later";
    "labels" Row(labels_fit): "a server or a relay sends and receives, p2p has none, and only a server has updates, or repeats them";
    "repeats" Study(repeats_cost):
        "a server that repeats updates on a link that loses more than 1.5 % sends at least a fifth more than without";
    "bytes" Row(bytes_add_up): "bytes sent = received + lost + under way";
    "stalls" Row(stalls_add_up): "stalled time is the sum of its causes and of its seconds";
    "states" Row(states_agree): "all nodes end in the same state";
    "seeds" Study(seeds_agree): "the same seeds are played under every architecture";
    "orders" Study(orders_agree): "the same orders are given under every architecture";
    "censored" Cell(censored_is_bounded): "at most 2 % of a cell's orders are not applied by the end, 3 % with one bad link that is not slow";
    "fair" Cell(bots_are_equals): "bots with equal links win as often, but for chance (Wilson's interval at 99.9 %)";
    "timers" Row(timers_hold): "no node outruns its clock, and timers of real matches fire within 2 ms (p99)";
}

/// Progress of a check.
#[derive(Default)]
struct Log {
    asked: usize,
    failed: usize,
    failures: Vec<String>,
}

impl Log {
    const fn at<'a>(&'a mut self, cell: &'a CellSummary<'a>, seed: Option<u64>) -> Place<'a> {
        Place { log: self, cell, seed }
    }
}

/// Match or cell that is checked.
struct Place<'a> {
    log: &'a mut Log,
    cell: &'a CellSummary<'a>,
    seed: Option<u64>,
}

impl Place<'_> {
    fn demand(&mut self, holds: bool, numbers: impl FnOnce() -> String) {
        self.log.asked += 1;
        if holds {
            return;
        }
        self.log.failed += 1;
        if self.log.failures.len() < LISTED_MAX {
            let seed = self.seed.map_or_else(String::new, |seed| format!(", seed {seed}"));
            self.log.failures.push(format!("{}{seed}: {}", self.cell.cell, numbers()));
        }
    }
}

fn not_below_bounds(row: &MatchRow, place: &mut Place<'_>) {
    let bounds = place.cell.bounds();
    // A peer that has fallen behind runs its own command as soon as it is committed, and the others wait: in lockstep
    // only the median of a player's own commands is bounded by their path.
    let own_ms = if row.cell.architecture == Architecture::ClientServer { bounds.own_ms } else { 0.0 };
    let spans = [
        ("own", &row.own_ms, own_ms),
        ("own predicted", &row.own_predicted_ms, bounds.own_predicted_ms),
        ("opponent's", &row.opponent_confirmed_ms, bounds.opponent_ms),
    ];
    for (name, quantiles, bound) in spans {
        let Some((_, least)) = quantiles.iter().next() else { continue };
        place.demand(least >= bound - bounds.error_ms, || {
            format!("the quickest {name} order took {least:.1} ms, its path takes {bound:.1} ms")
        });
    }
}

fn medians_not_below_bounds(cell: &CellSummary<'_>, place: &mut Place<'_>) {
    let bounds = cell.bounds();
    // With a server in a player's process half of the commands have a different path from the other half.
    let is_mixed = cell.cell.topology == Topology::Listen && cell.cell.architecture != Architecture::P2p;
    for (name, span, bound) in [
        ("own", LatencyKind::Own, bounds.own_ms),
        ("opponent's", LatencyKind::OpponentConfirmed, bounds.opponent_ms),
    ] {
        let Some(found) = cell.mean(span.median()).filter(|_| !is_mixed) else {
            continue;
        };
        let (median, least) = (found.value, bound + bounds.wait_ms);
        place.demand(median >= least - bounds.error_ms, || {
            format!("the median {name} order took {median:.1} ms, its path and half a tick {least:.1} ms")
        });
    }
}

fn instants_in_order(row: &MatchRow, place: &mut Place<'_>) {
    // Commands that do not reach all players are in only some of the quantiles.
    if row.cell.experiment == Experiment::HostLost {
        return;
    }
    let zero = Quantiles::of(vec![0.0]);
    let spans = [
        ("given", &zero, "captured", &row.captured_ms),
        ("captured", &row.captured_ms, "decided", &row.authority_ms),
        ("decided", &row.authority_ms, "confirmed", &row.own_ms),
        ("decided", &row.authority_ms, "confirmed to the others", &row.opponent_confirmed_ms),
        ("confirmed to the others", &row.opponent_confirmed_ms, "seen by the others", &row.opponent_ms),
        ("captured", &row.captured_ms, "shown", &row.own_predicted_ms),
        ("shown", &row.own_predicted_ms, "confirmed", &row.own_ms),
        ("shown", &row.own_predicted_ms, "in a frame", &row.own_frame_ms),
        ("seen by the others", &row.opponent_ms, "in their frame", &row.opponent_frame_ms),
    ];
    for (first, earlier, second, later) in spans {
        if second == "confirmed" && first == "shown" && !row.cell.prediction {
            continue;
        }
        let mut pairs = earlier.iter().zip(later.iter());
        let wrong = pairs.find(|((_, earlier), (_, later))| *later < earlier - ROUNDING_MS);
        place.demand(wrong.is_none(), || {
            let ((share, earlier), (_, later)) = wrong.expect("just looked at");
            let share = 100.0 * share;
            format!(
                "{second} before {first}: {later:.1} ms and {earlier:.1} ms of {share:.0} % of the orders"
            )
        });
    }
    // A script submits its commands to the session immediately.
    if let Some(captured) = row.captured_ms.p50() {
        place.demand(captured <= TICK_MS, || {
            format!("half of the orders were captured after {captured:.1} ms")
        });
    }
    for (name, shown, frame) in [
        ("own", &row.own_predicted_ms, &row.own_frame_ms),
        ("opponent's", &row.opponent_ms, &row.opponent_frame_ms),
    ] {
        let Some((shown, frame)) = shown.p50().zip(frame.p50()) else { continue };
        place.demand(frame <= shown + TICK_MS + ROUNDING_MS, || {
            format!("the frame with an {name} order came {:.1} ms after it was there", frame - shown)
        });
    }
}

fn clocks_agree(cell: &CellSummary<'_>, place: &mut Place<'_>) {
    let Some(unfair) = mean(&cell.rows.iter().map(|row| row.unfair_ms).collect::<Vec<_>>()) else { return };
    // A recorded link has different conditions for each player at any time.
    let is_alike = cell.cell.preset != TRACE
        && (cell.cell.topology != Topology::Listen || cell.cell.architecture == Architecture::P2p);
    // Where a server's limit of bandwidth sets the rate, the updates of each client have instants of their own.
    let down = mean(&cell.rows.iter().map(|row| row.kbit_s_down).collect::<Vec<_>>()).unwrap_or(0.0);
    let is_limited = cell.cell.architecture == Architecture::ClientServer
        && down > 0.75 * BITS_PER_S_USUAL as f64 / 1000.0;
    if is_alike && !is_limited && cell.cell.experiment == Experiment::Defaults {
        // In lockstep an outage of one direction raises the input delay of one player for a while.
        let is_lockstep = cell.cell.architecture == Architecture::P2p;
        let outage = path_of(cell.cell).outages.filter(|_| is_lockstep);
        let most =
            TICK_MS + cell.cell.jitter_ms + outage.map_or(0.0, |outage| 1e3 * outage.length.as_secs_f64());
        place.demand(unfair <= most, || {
            format!("the seats' medians differ by {unfair:.1} ms, at most {most:.1}")
        });
    }
}

fn prediction_shows(cell: &CellSummary<'_>, place: &mut Place<'_>) {
    let is_asked = cell.cell.prediction
        && cell.cell.architecture == Architecture::ClientServer
        && cell.cell.topology != Topology::Listen
        && cell.cell.rtt_ms >= 50.0;
    let median = |span: LatencyKind| cell.mean(span.median()).map(|mean| mean.value);
    let Some((own, shown)) =
        median(LatencyKind::Own).zip(median(LatencyKind::OwnPredicted)).filter(|_| is_asked)
    else {
        return;
    };
    place
        .demand(shown <= own - TICK_MS, || format!("shown after {shown:.1} ms, confirmed after {own:.1} ms"));
}

fn nothing_predicted(row: &MatchRow, place: &mut Place<'_>) {
    if row.cell.prediction || row.own_ms.p50().is_none() {
        return;
    }
    let (shown, own) = (&row.own_predicted_ms, &row.own_ms);
    let mut pairs = shown.iter().zip(own.iter());
    // Without prediction a client interpolates a server's states, so that the player's own units are also shown late.
    let holds = match row.cell.architecture {
        Architecture::ClientServer => pairs.all(|((_, shown), (_, own))| shown >= own - ROUNDING_MS),
        Architecture::P2p | Architecture::Relay => shown == own,
    };
    place.demand(holds && shown.p50().is_some(), || {
        let median = |quantiles: &Quantiles| quantiles.p50().unwrap_or(f64::NAN);
        format!("shown after {:.1} ms, confirmed after {:.1} ms", median(shown), median(own))
    });
}

fn labels_fit(row: &MatchRow, place: &mut Place<'_>) {
    let (up, down) = (row.server_kbit_s_up, row.server_kbit_s_down);
    let (fits, says) = match row.cell.architecture {
        Architecture::P2p => (up == 0.0 && down == 0.0, "p2p has no server"),
        Architecture::ClientServer => (up > 0.0 && down > 0.0, "a server is never silent"),
        Architecture::Relay => (up > 0.0 && down > 0.0, "a relay is never silent"),
    };
    place.demand(fits, || format!("{says}, but it sends {up:.1} and receives {down:.1} kbit/s"));
    let has_states = row.cell.architecture == Architecture::ClientServer;
    let (updates, interpolation) = (row.cell.updates, row.cell.interpolation);
    let repeats = row.cell.repeat_updates;
    let fits = if has_states { updates > 0 } else { updates == 0 && interpolation == 0 && !repeats };
    place.demand(fits, || format!("{updates} updates/s, shown {interpolation} late"));
}

fn repeats_cost(cells: &[CellSummary<'_>], log: &mut Log) {
    // Updates are repeated from 1 % of measured loss on: near it a match may have no repeats.
    const LOSS_LEAST: f64 = 0.015;
    const MORE_LEAST: f64 = 1.2;
    for cell in cells.iter().filter(|cell| cell.cell.repeat_updates && cell.cell.loss > LOSS_LEAST) {
        let once = Cell { repeat_updates: false, ..cell.cell.clone() };
        let is_once = |other: &&CellSummary<'_>| other.source == cell.source && *other.cell == once;
        let sent = |cell: &CellSummary<'_>| Some(cell.mean(Measure::ServerUp)?.value);
        let Some((once, twice)) = cells.iter().find(is_once).and_then(sent).zip(sent(cell)) else { continue };
        log.at(cell, None).demand(twice >= MORE_LEAST * once, || {
            format!("the server sends {twice:.1} kbit/s, {once:.1} where it sends updates once")
        });
    }
}

fn bytes_add_up(row: &MatchRow, place: &mut Place<'_>) {
    let (sent, parts) = (row.bytes_sent, [row.bytes_received, row.bytes_lost, row.bytes_under_way]);
    let sum = parts.iter().try_fold(0u64, |sum, &part| sum.checked_add(part));
    place.demand(sum == Some(sent), || {
        let [received, lost, under_way] = parts;
        format!("{sent} sent, {received} received, {lost} lost, {under_way} under way")
    });
}

fn stalls_add_up(row: &MatchRow, place: &mut Place<'_>) {
    let (whole, causes) = (row.stall_ms, row.stall_network_ms + row.stall_computer_ms);
    // Each second is rounded to a thousandth.
    let is_near = |sum: f64, slots: usize| (sum - whole).abs() <= ROUNDING_MS * (1 + slots) as f64;
    place.demand(is_near(causes, 0), || format!("{whole:.3} ms stalled, {causes:.3} ms by cause"));
    let seconds = &row.stall_by_s.0;
    let sum: f64 = seconds.iter().sum();
    place.demand(is_near(sum, seconds.len()), || {
        format!("{whole:.3} ms stalled, {sum:.3} ms second by second")
    });
}

fn states_agree(row: &MatchRow, place: &mut Place<'_>) {
    place.demand(row.state_hash != 0, || "the nodes ended in different states".into());
}

fn bots_are_equals(cell: &CellSummary<'_>, place: &mut Place<'_>) {
    const AT_99_9: f64 = 3.291;
    let is_asked = cell.cell.experiment == Experiment::Outcome
        && cell.cell.bad_link.is_empty()
        && (cell.cell.topology != Topology::Listen || cell.cell.architecture == Architecture::P2p);
    if !is_asked {
        return;
    }
    let wins = cell.wins();
    let all: usize = wins.iter().sum();
    for won in wins {
        let share = wilson(won, all, AT_99_9);
        let is_fair =
            share.is_none_or(|share| share.interval.is_none_or(|[low, high]| low <= 0.5 && 0.5 <= high));
        place.demand(is_fair, || format!("{won} of {all} matches won"));
    }
}

fn timers_hold(row: &MatchRow, place: &mut Place<'_>) {
    let rate = row.tick_rate;
    place.demand((0.0..=TICK_RATE_MAX).contains(&rate), || format!("{rate:.2} ticks a second"));
    if row.source == Source::Real {
        let late = row.lateness_ms;
        place.demand(late.is_some_and(|late| late <= LATENESS_MAX_MS), || {
            late.map_or_else(
                || "no lateness measured".into(),
                |late| format!("timers fired {late:.1} ms late"),
            )
        });
    }
}

fn censored_is_bounded(cell: &CellSummary<'_>, place: &mut Place<'_>) {
    let sum = |count: fn(&MatchRow) -> u32| cell.rows.iter().map(|row| f64::from(count(row))).sum::<f64>();
    let (all, censored) = (sum(|row| row.commands), sum(|row| row.censored));
    // Without any applied command there is no latency to check: the cell is reported as not playable. A link may be too
    // slow for its load: its table has the share that is not applied.
    if cell.cell.experiment == Experiment::HostLost
        || cell.is_unplayable()
        || slow_link_of(cell.cell).is_some()
        || cell.cell.upstream_kbit_s > 0
    {
        return;
    }
    let most = if cell.cell.bad_link.is_empty() { CENSORED_MAX } else { CENSORED_BAD_LINK_MAX };
    place.demand(censored <= most * all, || format!("{censored} of {all} orders were not applied"));
}

/// Groups the cells with the same conditions, one per architecture.
fn conditions<'a>(cells: &'a [CellSummary<'a>]) -> Vec<Vec<&'a CellSummary<'a>>> {
    let mut groups: Vec<Vec<&CellSummary<'_>>> = Vec::new();
    for cell in cells {
        let is_same = |group: &&mut Vec<&CellSummary<'_>>| {
            group[0].source == cell.source && is_same_condition(group[0].cell, cell.cell)
        };
        match groups.iter_mut().rev().find(is_same) {
            Some(group) => group.push(cell),
            None => groups.push(vec![cell]),
        }
    }
    groups
}

fn seeds_agree(cells: &[CellSummary<'_>], log: &mut Log) {
    let seeds = |cell: &CellSummary<'_>| cell.rows.iter().map(|row| row.seed).collect::<BTreeSet<_>>();
    for group in conditions(cells) {
        let first = seeds(group[0]);
        for cell in group {
            let (found, matches) = (seeds(cell), cell.rows.len());
            log.at(cell, None).demand(found == first && found.len() == matches, || {
                format!(
                    "{matches} matches of {} seeds, {} under the first architecture",
                    found.len(),
                    first.len()
                )
            });
        }
    }
}

fn orders_agree(cells: &[CellSummary<'_>], log: &mut Log) {
    for group in conditions(cells) {
        // Bots react to the world, and a lost host gives no commands.
        if matches!(group[0].cell.experiment, Experiment::Outcome | Experiment::HostLost) {
            continue;
        }
        let first: BTreeMap<u64, u32> = group[0].rows.iter().map(|row| (row.seed, row.commands)).collect();
        for cell in group {
            for row in &cell.rows {
                let expected = first.get(&row.seed).copied();
                let is_same = expected.is_none_or(|expected| expected == row.commands);
                log.at(cell, Some(row.seed)).demand(is_same, || {
                    let (found, expected) = (row.commands, expected.unwrap_or(0));
                    format!("{found} orders, {expected} under the first architecture")
                });
            }
        }
    }
}
