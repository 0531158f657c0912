//! Conversion of a match's traces to its row. All processes of a machine share the clock of their traces.

use core::time::Duration;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

use super::super::latencies::{Latencies, Seen};
use super::super::row::{Cell, MatchRow, Series, Source};
use super::super::trial::{Display, Freezes, WARM_UP};
use game::Script;
use net::{Architecture, Time};
use sim::PLAYERS_MAX;

/// Size of an IPv4 and a UDP header, in bytes.
const HEADER_BYTES: u64 = 28;
/// Maximum number of lines of a trace: an hour of four players.
const LINES_MAX: usize = 4_000_000;

/// Trace of one player's process. Times are in microseconds of the shared clock.
pub(super) struct NodeTrace {
    /// Time of tick 0.
    begin: u64,
    /// Intended and capture time of each of the player's commands.
    given: Vec<(u64, u64)>,
    /// Commands in the order in which they ran, by player.
    applied: [Vec<Applied>; PLAYERS_MAX],
    /// Time at which this node ran each tick.
    ran_at: BTreeMap<u64, u64>,
    stalls: Vec<Stalled>,
}

/// Command that ran here.
#[derive(Clone, Copy)]
struct Applied {
    /// Time at which the confirmed world ran it.
    at: u64,
    /// Time at which the view first showed it.
    shown: u64,
}

struct Stalled {
    from: u64,
    to: u64,
    is_network: bool,
}

impl NodeTrace {
    /// Reads the trace of `player` with the commands of `script`.
    pub(super) fn read(from: impl BufRead, player: usize, script: &Script) -> io::Result<Self> {
        let mut trace = Self {
            begin: 0,
            given: Vec::new(),
            applied: Default::default(),
            ran_at: BTreeMap::new(),
            stalls: Vec::new(),
        };
        for line in from.lines().take(LINES_MAX) {
            trace.line(&serde_json::from_str(&line?)?, player);
        }
        let first = trace.given.first().zip(script.lines().first());
        let first = first.ok_or_else(|| io::Error::other("no command of the script was given"))?;
        trace.begin = first.0.0.saturating_sub(first.1.at_us);
        Ok(trace)
    }

    fn line(&mut self, line: &Value, me: usize) {
        let number = |key: &str| line[key].as_u64();
        let player = number("player").unwrap_or(0) as usize;
        if line.get("cmd").is_some() {
            if let (Some(meant), Some(captured)) = (number("t_capture_us"), number("t_taken_us")) {
                self.given.push((meant, captured));
            } else if let (Some(at), Some(shown)) = (number("t_apply_us"), number("t_shown_us"))
                && player < PLAYERS_MAX
            {
                self.applied[player].push(Applied { at, shown });
            }
        } else if let (Some(tick), Some(at)) = (number("tick"), number("t_apply_us"))
            && player == me
        {
            self.ran_at.insert(tick, at);
        } else if let (Some(from), Some(to)) = (number("t0_us"), number("t1_us")) {
            self.stalls.push(Stalled { from, to, is_network: line["cause"] == "network" });
        }
    }

    /// Returns the measurement window, in the clock of the traces.
    fn window(&self, counted: Duration) -> [u64; 2] {
        let from = self.begin + WARM_UP.as_micros() as u64;
        [from, from + counted.as_micros() as u64]
    }
}

/// Computes the row of a match. Times inside a server, the fate of bytes in the network, the content of views except
/// commands, and a client's stalls are known only in virtual time.
pub(super) fn row(
    cell: &Cell,
    seed: u64,
    counted: Duration,
    traces: &[NodeTrace],
    results: &[Value],
) -> MatchRow {
    let is_p2p = cell.architecture == Architecture::P2p;
    let mut latencies = Latencies::new(traces.len());
    for (player, trace) in traces.iter().enumerate() {
        let [from, to] = trace.window(counted);
        for (number, &(meant, captured)) in trace.given.iter().enumerate() {
            if (from..to).contains(&meant) {
                let instants = [meant, captured];
                add(&mut latencies, (player, number), instants, traces, (seed, is_p2p));
            }
        }
    }
    let seconds = counted.as_secs_f64();
    let players = traces.len() as f64;
    let (stall_by_s, stalls, causes) = stalls(traces, counted);
    let net = Traffic::of(&results[..traces.len()]);
    let freezes: Vec<Freezes> = traces.iter().map(|trace| freezes(trace, counted, cell)).collect();
    latencies.into_row(MatchRow {
        stalls,
        stall_ms: causes[0] + causes[1],
        stall_network_ms: causes[0],
        stall_computer_ms: causes[1],
        stall_by_s,
        freeze_ms: freezes.iter().map(|freezes| freezes.ms).sum::<f64>() / players,
        freeze_max_ms: freezes.iter().map(|freezes| freezes.max_ms).fold(0.0, f64::max),
        others_freeze_ms: freezes.iter().rev().skip(1).map(|it| it.ms).sum::<f64>() / (players - 1.0),
        tick_rate: traces.iter().map(|trace| ticks_in(trace, counted)).min().unwrap_or(0) as f64 / seconds,
        kbit_s_up: net.kbit_s(net.sent) / players,
        kbit_s_down: net.kbit_s(net.received) / players,
        whole_kbit_s_up: net.kbit_s(net.sent) / players,
        whole_kbit_s_down: net.kbit_s(net.received) / players,
        packets_s_up: net.packets_sent as f64 / net.seconds / players,
        packets_s_down: net.packets_received as f64 / net.seconds / players,
        // The server sends what the players receive, and receives what they send.
        server_kbit_s_up: if is_p2p { 0.0 } else { net.kbit_s(net.received) },
        server_kbit_s_down: if is_p2p { 0.0 } else { net.kbit_s(net.sent) },
        cpu_us_per_tick: mean(results, "cpu_us_per_tick"),
        // The server's result is the last.
        memory_bytes: results.last().and_then(|result| result["memory_bytes"].as_u64()),
        state_hash: hash(&results[0]),
        source: Source::Real,
        cell: cell.clone(),
        seed,
        seconds,
        ..MatchRow::default()
    })
}

/// Adds a command of `player`, with its index, and its intended and capture times. Without `is_decided_here` no node
/// with a trace decides the tick of the command.
fn add(
    latencies: &mut Latencies,
    (player, number): (usize, usize),
    [meant, captured]: [u64; 2],
    traces: &[NodeTrace],
    (seed, is_decided_here): (u64, bool),
) {
    let seen = |trace: &NodeTrace| trace.applied[player].get(number).copied();
    let Some(seen) = traces.iter().map(seen).collect::<Option<Vec<_>>>() else {
        return latencies.censor();
    };
    // The clock is shared, so differences of times are exact.
    let after = |at: u64| at.saturating_sub(meant) as f64 / 1000.0;
    let decided = seen.iter().map(|applied| applied.at).min().filter(|_| is_decided_here);
    let seen = seen.iter().enumerate().map(|(node, &Applied { at, shown })| {
        let begin = traces[node].begin;
        let frame = begin + Display::of(node, seed).frame_after(shown.saturating_sub(begin));
        Seen { player: node, confirmed: after(at), shown: after(shown), frame: after(frame) }
    });
    latencies.add(player, after(captured), decided.map(after), seen);
}

/// Returns stalled milliseconds by second, the number of stalls, and milliseconds by network and computer; all but the
/// count are means over the players.
fn stalls(traces: &[NodeTrace], counted: Duration) -> (Series, u32, [f64; 2]) {
    let mut by_s = vec![0.0; counted.as_secs_f64().ceil() as usize];
    let (mut count, mut causes) = (0, [0.0; 2]);
    for trace in traces {
        let [begin, end] = trace.window(counted);
        for stall in &trace.stalls {
            let (from, to) = (stall.from.max(begin), stall.to.min(end));
            if from >= to {
                continue;
            }
            count += 1;
            for (second, sum) in by_s.iter_mut().enumerate() {
                let [first, last] = [second, second + 1].map(|at| begin + at as u64 * 1_000_000);
                let ms = to.min(last).saturating_sub(from.max(first)) as f64 / 1000.0 / traces.len() as f64;
                *sum += ms;
                causes[usize::from(!stall.is_network)] += ms;
            }
        }
    }
    (Series::of(by_s.into_iter()), count, causes)
}

fn freezes(trace: &NodeTrace, counted: Duration, cell: &Cell) -> Freezes {
    let window = trace.window(counted).map(Time);
    let mut freezes = Freezes::new(window, cell);
    let mut ran_at: Vec<u64> = trace.ran_at.values().copied().collect();
    ran_at.sort_unstable();
    for pair in ran_at.windows(2) {
        freezes.add(Time(pair[0]), Time(pair[1]));
    }
    freezes
}

fn ticks_in(trace: &NodeTrace, counted: Duration) -> usize {
    let [from, to] = trace.window(counted);
    trace.ran_at.values().filter(|&&at| (from..to).contains(&at)).count()
}

/// Traffic of all players together in the whole match, with headers.
struct Traffic {
    sent: u64,
    received: u64,
    packets_sent: u64,
    packets_received: u64,
    seconds: f64,
}

impl Traffic {
    fn of(players: &[Value]) -> Self {
        let sum = |key: &str| players.iter().filter_map(|result| result["net"][key].as_u64()).sum::<u64>();
        let [packets_sent, packets_received] = ["packets_sent", "packets_received"].map(sum);
        let ticks = players.first().and_then(|result| result["ticks"].as_f64()).unwrap_or(0.0);
        Self {
            sent: sum("bytes_sent") + HEADER_BYTES * packets_sent,
            received: sum("bytes_received") + HEADER_BYTES * packets_received,
            packets_sent,
            packets_received,
            seconds: (ticks / 60.0).max(1.0),
        }
    }

    fn kbit_s(&self, bytes: u64) -> f64 {
        bytes as f64 * 8.0 / 1000.0 / self.seconds
    }
}

fn mean(results: &[Value], key: &str) -> Option<f64> {
    let values: Vec<f64> = results.iter().filter_map(|result| result[key].as_f64()).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn hash(result: &Value) -> u64 {
    result["state_hash"].as_str().and_then(|text| u64::from_str_radix(text, 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Quantiles, base_cell};
    use game::ScriptLine;
    use sim::Command;

    /// Returns the traces of two players; the first gives one command at 6 s, which both run 40 ms later in tick 362.
    fn traces() -> Vec<NodeTrace> {
        let line = |at_us| ScriptLine { at_us, command: Command::Banner };
        let own = [
            r#"{"cmd":0,"player":0,"t_capture_us":7000000,"t_taken_us":7000100}"#,
            r#"{"stall":361,"t0_us":6990000,"t1_us":7010000,"peer":1,"cause":"network"}"#,
            r#"{"tick":362,"player":0,"t_capture_us":7001000,"t_apply_us":7040000}"#,
            r#"{"cmd":0,"player":0,"tick":362,"t_apply_us":7040000,"t_shown_us":7005000}"#,
            r#"{"tick":362,"hash":"00000000000000aa"}"#,
        ];
        let other = [
            r#"{"cmd":0,"player":1,"t_capture_us":1000000,"t_taken_us":1000000}"#,
            r#"{"cmd":0,"player":0,"tick":362,"t_apply_us":7044000,"t_shown_us":7045000}"#,
            r#"{"tick":362,"player":0,"t_capture_us":null,"t_apply_us":7045000}"#,
            r#"{"tick":362,"player":1,"t_capture_us":7001000,"t_apply_us":7044000}"#,
        ];
        let read = |lines: &[&str], player: usize, at_us| {
            let script: Script = [line(at_us)].into_iter().collect();
            NodeTrace::read(lines.join("\n").as_bytes(), player, &script).expect("whole lines")
        };
        vec![read(&own, 0, 6_000_000), read(&other, 1, 0)]
    }

    #[test]
    fn a_row_has_each_latency_of_a_command() {
        let result: Value = serde_json::json!({
            "ticks": 960, "state_hash": "00000000000000aa", "cpu_us_per_tick": 100.0,
            "net": { "bytes_sent": 1000, "packets_sent": 10, "bytes_received": 900, "packets_received": 9 },
        });
        let cell = base_cell(Architecture::P2p);
        let row = row(&cell, 1000, Duration::from_secs(10), &traces(), &[result.clone(), result]);
        assert_eq!((row.commands, row.censored), (1, 0));
        let p50 = |quantiles: &Quantiles| quantiles.p50().expect("one command");
        let of = [
            &row.captured_ms,
            &row.own_ms,
            &row.own_predicted_ms,
            &row.opponent_confirmed_ms,
            &row.opponent_ms,
        ];
        assert_eq!(of.map(p50), [0.1, 40.0, 5.0, 44.0, 45.0]);
        assert!(p50(&row.opponent_frame_ms) > 45.0 && p50(&row.opponent_frame_ms) < 62.0);
        assert_eq!((row.stall_ms, row.stalls, row.state_hash), (10.0, 1, 0xaa));
        assert_eq!(row.stall_by_s.0.iter().sum::<f64>(), 10.0);
        assert_eq!(row.kbit_s_up, (1000.0 + 280.0) * 8.0 / 1000.0 / 16.0);
    }

    #[test]
    fn a_command_that_did_not_run_everywhere_is_censored() {
        let mut traces = traces();
        traces[1].applied[0].clear();
        let row = row(
            &base_cell(Architecture::P2p),
            1000,
            Duration::from_secs(10),
            &traces,
            &[Value::Null, Value::Null],
        );
        assert_eq!((row.commands, row.censored), (1, 1));
        assert_eq!(row.own_ms.p50(), None);
    }
}
