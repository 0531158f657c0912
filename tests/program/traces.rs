//! Datagrams in traces: both ends of a lossy link tell the same story.

use crate::arena::run;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

/// Datagrams of one direction of a link in the trace of one end, by number.
type Datagrams = BTreeMap<u64, Value>;

/// Plays a match with losses and returns the lines of the trace of each of these processes.
fn traced(architecture: &str, ends: [&str; 2]) -> [Vec<Value>; 2] {
    let home = TempDir::new().expect("a folder");
    let flags = [
        format!("--architecture={architecture}"),
        format!("--trace={}", home.path().join("trace.jsonl").display()),
    ];
    let words = [
        "check",
        "--ticks=300",
        "--seed=7",
        "--bot=probe",
        "--link=delay=10ms,loss=10%",
        &flags[0],
        &flags[1],
    ];
    let checked = run(home.path(), &words);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    ends.map(|end| lines(&home.path().join(format!("trace-{end}.jsonl"))))
}

fn lines(file: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(file).expect("a trace");
    text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Returns the ticks of the datagrams to or from `peer` that these lines call `sent`, `received` or `lost`.
fn datagrams(lines: &[Value], peer: &Value, fate: &str) -> Datagrams {
    let of_peer = lines.iter().filter(|line| line["peer"] == *peer);
    of_peer.filter_map(|line| Some((line[fate].as_u64()?, line["ticks"].clone()))).collect()
}

/// Checks one direction of a link: what `from` sent to `to` according to each.
fn check((from, seat_of_from): (&[Value], &Value), (to, seat_of_to): (&[Value], &Value)) {
    let sent = datagrams(from, seat_of_to, "sent");
    let [received, lost] = ["received", "lost"].map(|fate| datagrams(to, seat_of_from, fate));
    // One end begins the match, or ends its trace, a little earlier than the other.
    let [first_sent, first_received] = [&sent, &received].map(|of| *of.keys().next().expect("some"));
    let first = first_sent.max(first_received);
    let newest = *received.keys().next_back().expect("some arrived");
    for (number, ticks) in sent.range(first..newest.saturating_sub(32)) {
        match received.get(number) {
            Some(arrived) => assert_eq!(arrived, ticks, "ticks of datagram {number}"),
            None => assert!(lost.contains_key(number), "datagram {number} neither arrived nor was lost"),
        }
    }
    // Of some 120 datagrams that are known to be lost or not, a tenth; none is one case in 300,000.
    assert!(!lost.is_empty(), "none of {} lost", sent.len());
    let last_sent = *sent.keys().next_back().expect("some");
    let of_match = |number: &&u64| (first..=last_sent).contains(*number);
    let never_sent =
        lost.keys().chain(received.keys()).filter(of_match).find(|number| !sent.contains_key(number));
    assert_eq!(never_sent, None);
    let last = sent.values().filter_map(|ticks| ticks[1].as_u64()).max();
    assert_eq!(last, Some(299), "the last tick");
}

#[test]
fn every_datagram_between_peers_arrives_or_counts_as_lost() {
    let [host, guest] = traced("p2p", ["seat0", "seat1"]);
    let (host, guest) = ((&host[..], &0.into()), (&guest[..], &1.into()));
    check(host, guest);
    check(guest, host);
}

#[test]
fn every_datagram_of_a_server_arrives_or_counts_as_lost() {
    let [server, client] = traced("client-server", ["server", "seat0"]);
    let (server, client) = ((&server[..], &Value::Null), (&client[..], &0.into()));
    check(server, client);
    check(client, server);
    let (server, client) = (server.0, client.0);
    let commands = |lines: &[Value]| -> Vec<Value> {
        let applied = lines.iter().filter(|line| line["player"] == 0 && line.get("tick").is_some());
        applied.filter_map(|line| line.get("cmd").cloned()).collect()
    };
    let (of_server, of_client) = (commands(server), commands(client));
    // The last state may arrive after the end of the client's trace.
    assert!(of_client.len() > 2 && of_server.starts_with(&of_client), "{of_client:?} of {of_server:?}");
    let hashes = server.iter().filter(|line| line.get("hash").is_some()).count();
    assert_eq!(hashes, 300);
}
