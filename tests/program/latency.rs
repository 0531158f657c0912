//! What a process says of latency is what all traces together show, in every architecture.

use crate::arena::Arena;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// By how much a percentile of a process may differ from that of the traces, in milliseconds.
const AGREES_MS: f64 = 0.5;
/// One way between two processes, in milliseconds.
const WAY_MS: f64 = 15.0;
/// What is given earlier does not count, in microseconds from tick 0.
const WARM_UP_US: u64 = 3_000_000;
const TICKS: &str = "--ticks=900";

/// A player's process, when it has ended.
struct Played {
    result: Value,
    trace: Vec<Value>,
}

/// Plays a match of two probes, 15 ms apart in each direction.
fn play(home: &Path, architecture: &str) -> [Played; 2] {
    let host = ["--port=0", "--no-discovery", "--rules=endless", TICKS, "--json", "--record=off"];
    let own = ["--headless", "--bot=probe", "--json", "--record=off", "--link=delay=15ms"];
    let trace = |player: usize| home.join(format!("{architecture}-{player}.jsonl"));
    let flag = |path: PathBuf| format!("--trace={}", path.display());
    let architecture = format!("--architecture={architecture}");
    let flags = [0, 1].map(|player| flag(trace(player)));
    let (server, host) = if architecture.ends_with("p2p") {
        let words = [&["host", &flags[0]], &own[..], &host[..4]].concat();
        (None, Arena::run(home, &words))
    } else {
        let server = Arena::run(home, &[&["serve", &architecture, "--link=delay=15ms"], &host[..]].concat());
        let address = format!("127.0.0.1:{}", server.port());
        let words = [&["join", &address, "--seat=0", &flags[0]], &own[..]].concat();
        (Some(server), Arena::run(home, &words))
    };
    let address = format!("127.0.0.1:{}", server.as_ref().unwrap_or(&host).port());
    let guest = Arena::run(home, &[&["join", &address, "--seat=1", &flags[1]], &own[..]].concat());
    let ended = [host.end(), guest.end()];
    if let Some(server) = server {
        assert_eq!(server.end().code, Some(0));
    }
    let mut ended = ended.into_iter().enumerate().map(|(player, ended)| {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let text = std::fs::read_to_string(trace(player)).expect("a trace");
        let trace = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
        Played { result: ended.json(), trace }
    });
    [0, 1].map(|_| ended.next().expect("two players"))
}

/// Of the commands of `player`, by number: the instants that lines of this trace tell by `key`.
fn told(trace: &[Value], player: usize, key: &str) -> BTreeMap<u64, u64> {
    let of = trace.iter().filter(|line| line["cmd"].is_u64() && line["player"] == player);
    of.filter_map(|line| Some((line["cmd"].as_u64()?, line[key].as_u64()?))).collect()
}

/// The median from `given` to `until`, in milliseconds, of the commands that count.
fn median(given: &BTreeMap<u64, u64>, until: &BTreeMap<u64, u64>, begin: u64) -> f64 {
    let counted = given.iter().filter(|(_, at)| **at >= begin + WARM_UP_US);
    let mut after: Vec<u64> =
        counted.filter_map(|(id, at)| Some(until.get(id)?.saturating_sub(*at))).collect();
    after.sort_unstable();
    assert!(after.len() > 30, "{} commands", after.len());
    after[after.len().div_ceil(2) - 1] as f64 / 1000.0
}

/// No line tells an instant that is later than that of a tick line after it.
fn assert_no_line_is_of_the_future(trace: &[Value]) {
    let mut latest = 0;
    for (at, line) in trace.iter().enumerate() {
        let runs_tick = line["cmd"].is_null() && line["player"].is_u64();
        if let (true, Some(ran)) = (runs_tick, line["t_apply_us"].as_u64()) {
            assert!(latest <= ran, "line {at}: {line} comes after a line of {latest}");
        }
        let keys = ["t_capture_us", "t_taken_us", "t_apply_us", "t_shown_us", "t0_us", "t1_us"];
        latest = keys.iter().filter_map(|key| line[key].as_u64()).fold(latest, u64::max);
    }
}

#[test]
fn a_process_tells_the_latencies_that_the_traces_show() {
    let home = tempfile::tempdir().expect("a folder");
    for architecture in ["p2p", "client-server", "relay"] {
        let played = play(home.path(), architecture);
        let given: Vec<BTreeMap<u64, u64>> =
            (0..2).map(|player| told(&played[player].trace, player, "t_capture_us")).collect();
        for (here, Played { result, trace }) in played.iter().enumerate() {
            assert_eq!((&result["architecture"], &result["player"]), (&architecture.into(), &here.into()));
            assert_no_line_is_of_the_future(trace);
            let begin = trace.last().expect("a summary")["t_start_us"].as_u64().expect("when it began");
            let said = &result["latency_ms"];
            let error = result["clock_error_ms"].as_f64().expect("a bound");
            // Half of each way there and back that lies between the players; what a busy machine adds to them is no
            // more certain than the clocks.
            let ways = if architecture == "p2p" { WAY_MS } else { 2.0 * WAY_MS };
            assert!(
                error >= ways - 0.1,
                "{architecture}: no clock is known to {error} ms over {ways} ms of way"
            );
            for (whose, player) in [("own", here), ("opponent", 1 - here)] {
                for (said, key) in [(&said[whose], "t_apply_us"), (&said["shown"][whose], "t_shown_us")] {
                    let shown = median(&given[player], &told(trace, player, key), begin);
                    let said = said["p50"].as_f64().unwrap_or_else(|| panic!("{architecture}: {result}"));
                    println!("{architecture}, player {here}, {whose}, {key}: {said} ms, traces {shown} ms");
                    let busy = if whose == "own" { 0.0 } else { error - ways };
                    assert!(
                        (said - shown).abs() <= AGREES_MS + busy,
                        "{architecture}, {whose}, {key}: {said} ms, but {shown} ms in the traces"
                    );
                }
            }
        }
    }
}

#[test]
fn a_bot_counts_from_the_tick_that_it_means_and_the_trace_says_so() {
    let home = tempfile::tempdir().expect("a folder");
    let trace = home.path().join("trace.jsonl");
    let flag = format!("--trace={}", trace.display());
    // Long enough for a bot that holds back.
    let host = ["host", "--headless", "--json", "--port=0", "--no-discovery", "--ticks=2400", "--record=off"];
    let own = ["--bot=normal", "--rules=endless", "--seed=7", &flag];
    let host = Arena::run(home.path(), &[&host[..], &own].concat());
    let address = format!("127.0.0.1:{}", host.port());
    let guest = Arena::run(home.path(), &["join", &address, "--headless", "--json", "--record=off"]);
    let (host, guest) = (host.end(), guest.end());
    assert_eq!((host.code, guest.code), (Some(0), Some(0)), "{host:?} {guest:?}");
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let trace: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let begin = trace.last().expect("a summary")["t_start_us"].as_u64().expect("when it began");
    let shown = median(&told(&trace, 0, "t_capture_us"), &told(&trace, 0, "t_apply_us"), begin);
    let said = host.json()["latency_ms"]["own"]["p50"].as_f64().expect("commands ran");
    assert!((said - shown).abs() <= AGREES_MS, "{said} ms, but {shown} ms in the trace");
    assert_no_line_is_of_the_future(&trace);
}
