//! A server and its clients as real processes, over real UDP.

use crate::arena::{Arena, Ended, run};
use serde_json::Value;
use std::path::Path;
use tempfile::TempDir;

fn home() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

const QUIET: [&str; 2] = ["--headless", "--json"];

fn serve(home: &Path, words: &[&str]) -> Arena {
    let usual = ["serve", "--json", "--port=0", "--bind=127.0.0.1", "--no-discovery"];
    Arena::run(home, &[&usual[..], words].concat())
}

fn join(home: &Path, port: u16, words: &[&str]) -> Arena {
    let address = format!("127.0.0.1:{port}");
    Arena::run(home, &[&["join", &address][..], &QUIET, words].concat())
}

fn verified(home: &Path, result: &Value) -> Value {
    let replay = result["replay"].as_str().unwrap_or_else(|| panic!("recorded: {result}"));
    let ended = run(home, &["replay", "verify", replay, "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.json()[0].clone()
}

fn value(ended: Ended) -> Value {
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.json()
}

/// A match of a server and two clients to its end; what all three say.
fn play(home: &Path, server: &[&str], client: [&str; 2]) -> [Value; 3] {
    let server = serve(home, server);
    let clients = client.map(|word| join(home, server.port(), &[word, "--bot=hard"]));
    let [one, other] = clients.map(Arena::end);
    [server.end(), one, other].map(value)
}

fn all_agree(home: &Path, results: &[Value; 3], architecture: &str, every: u64) {
    let [server, clients @ ..] = results;
    let recording = |of: &Value| std::fs::read(of["replay"].as_str().expect("recorded")).expect("a file");
    let ticks = server["ticks"].as_u64().expect("a number");
    assert_eq!(verified(home, server)["verdict"], "equal");
    for client in clients {
        for key in ["outcome", "ticks", "state_hash"] {
            assert_eq!(client[key], server[key], "{key}");
        }
        assert_eq!(client["architecture"], architecture);
        let updates = &client["updates"];
        let count = |key: &str| updates[key].as_u64().expect("a number");
        assert_eq!((count("differed"), count("refused")), (0, 0), "{updates}");
        assert_eq!(count("agreed"), count("applied"), "{updates}");
        assert!(count("applied") > ticks / every * 8 / 10, "{updates} of {ticks} ticks");
        assert_eq!(client["rejected_inputs"], 0);
        let replay = verified(home, client);
        assert_eq!((&replay["verdict"], &replay["ticks"]), (&Value::from("equal"), &Value::from(ticks)));
        let replays = [server, client].map(|result| result["replay"].as_str().expect("recorded"));
        assert_ne!(replays[0], replays[1]);
        // A relay's clients run the match themselves, and each records its own seat.
        assert_eq!(recording(client) == recording(server), architecture == "client-server");
    }
    for client in server["clients"].as_array().expect("a list") {
        assert_eq!(client["rejected_inputs"], 0, "{client}");
    }
}

#[test]
fn server_and_clients_agree_on_every_update_to_the_last() {
    let home = home();
    let results = play(home.path(), &["--ticks=900", "--seed=5"], ["", ""].map(|_| "--name=Ann"));
    all_agree(home.path(), &results, "client-server", 3);
    assert!(results[1]["commands"].as_u64() > Some(10), "{}", results[1]);
}

#[test]
fn a_relay_and_its_clients_agree_on_every_tick() {
    let home = home();
    let server = ["--architecture=relay", "--ticks=900", "--seed=5"];
    let results = play(home.path(), &server, ["", ""].map(|_| "--name=Ann"));
    all_agree(home.path(), &results, "relay", 1);
    assert!(results[1]["commands"].as_u64() > Some(10), "{}", results[1]);
    let refused = run(home.path(), &["serve", "--architecture=p2p", "--port=0"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_bad_link_loses_updates_and_nothing_else() {
    let home = home();
    // Every datagram twice: nobody is expelled for what the network repeats.
    let link = "delay=40ms,jitter=10ms,loss=5%,dup=100%,reorder=2%";
    let server = ["--ticks=900", "--seed=6", &format!("--link={link},seed=1")];
    let clients = [format!("--link={link},seed=2"), format!("--link={link},seed=3")];
    let server = serve(home.path(), &server);
    let clients = [0, 1].map(|at: usize| join(home.path(), server.port(), &[&clients[at], "--bot=normal"]));
    let [one, other] = clients.map(Arena::end);
    let [server, clients @ ..] = [server.end(), one, other].map(value);
    for client in &clients {
        assert_eq!(client["state_hash"], server["state_hash"]);
        assert_eq!(client["updates"]["differed"], 0);
        assert!(client["updates"]["agreed"].as_u64() > Some(200), "{}", client["updates"]);
        assert_eq!(verified(home.path(), client)["verdict"], "equal");
    }
}

/// Longer than the server's own time-out.
#[test]
fn a_server_that_was_suspended_loses_no_client() {
    let home = home();
    let server = serve(home.path(), &["--ticks=300"]);
    let mut clients = [0, 1].map(|_| join(home.path(), server.port(), &["--timeout=20"]));
    for client in &mut clients {
        client.wait_for_line("all players are here");
    }
    server.signal("STOP");
    std::thread::sleep(std::time::Duration::from_millis(3_600));
    server.signal("CONT");
    let [one, other] = clients.map(Arena::end);
    for result in [server.end(), one, other].map(value) {
        assert_eq!((&result["outcome"], &result["ticks"]), (&"tick_limit".into(), &300.into()), "{result}");
    }
}

#[test]
fn a_host_serves_and_plays() {
    for architecture in ["client-server", "relay"] {
        host_and_guest(architecture);
    }
}

fn host_and_guest(architecture: &str) {
    let (home, architecture) = (home(), format!("--architecture={architecture}"));
    let words = ["host", &architecture, "--port=0", "--bind=127.0.0.1", "--no-discovery"];
    let host = Arena::run(home.path(), &[&words[..], &QUIET, &["--ticks=300"]].concat());
    let guest = join(home.path(), host.port(), &[]);
    let results = [host.end(), guest.end()].map(value);
    assert_eq!(results[0]["state_hash"], results[1]["state_hash"]);
    assert_eq!((&results[0]["player"], &results[1]["player"]), (&Value::from(0), &Value::from(1)));
    assert_eq!(verified(home.path(), &results[0])["verdict"], "equal");
}

#[test]
fn a_killed_client_takes_its_seat_back_with_its_token() {
    let home = home();
    let mut server = serve(home.path(), &["--ticks=900", "--rejoin=45"]);
    let mut steady = join(home.path(), server.port(), &[]);
    // Seats are given in the order of joining.
    steady.wait_for_line("joined as player 0");
    server.wait_for_line("joined as player 0");
    let mut killed = join(home.path(), server.port(), &["--record=off"]);
    let token = killed.wait_for_line("token ");
    let token = token.split(' ').nth(1).expect("a token").to_owned();
    killed.wait_for_line("all players are here");
    killed.signal("KILL");
    drop(killed);
    let mut killed = join(home.path(), server.port(), &["--token", &token, "--record=off"]);
    killed.wait_for_line("joined as player 1");
    killed.wait_for_line("token ");
    killed.signal("KILL");
    drop(killed);
    // The program has kept the token itself.
    let back = Arena::run(home.path(), &[&["join", "--return"][..], &QUIET].concat());
    let [back, steady, server] = [back, steady, server].map(|arena| value(arena.end()));
    for client in [&back, &steady] {
        assert_eq!((&client["state_hash"], &client["ticks"]), (&server["state_hash"], &server["ticks"]));
        assert_eq!(client["updates"]["differed"], 0);
    }
    assert_eq!(back["player"], 1);
    assert_eq!(verified(home.path(), &steady)["verdict"], "equal");
    let none = Arena::run(home.path(), &[&["join", "--return"][..], &QUIET].concat()).end();
    assert_eq!(none.code, Some(2), "nothing is kept after the match: {none:?}");
    let refused = join(home.path(), 9, &["--token=zz"]).end();
    assert_eq!(refused.code, Some(2), "{refused:?}");
}

#[test]
fn a_killed_server_is_missed_and_leaves_what_it_had_recorded() {
    let home = home();
    let server = serve(home.path(), &["--record=off"]);
    let mut clients = [0, 1].map(|_| join(home.path(), server.port(), &["--timeout=1"]));
    clients[0].wait_for_line("all players are here");
    server.signal("KILL");
    for ended in clients.map(Arena::end) {
        let result = value(ended);
        assert_eq!(result["outcome"], "peer_lost");
        // What had arrived of the server's recording plays, and says that it is a part.
        if let Some(part) = result["replay"].as_str() {
            let verified = run(home.path(), &["replay", "verify", part, "--json"]);
            assert_eq!((verified.code, &verified.json()[0]["verdict"]), (Some(1), &Value::from("truncated")));
        }
    }
}

#[test]
fn a_server_that_is_interrupted_tells_everybody() {
    let home = home();
    let server = serve(home.path(), &[]);
    let mut clients = [0, 1].map(|_| join(home.path(), server.port(), &[]));
    clients[1].wait_for_line("all players are here");
    server.signal("INT");
    for ended in clients.map(Arena::end) {
        assert_eq!(value(ended)["outcome"], "peer_left");
    }
    assert_eq!(value(server.end())["outcome"], "interrupted");
}

#[test]
fn a_result_has_the_sheet_of_the_match_and_the_journal_of_a_server_its_line() {
    let home = home();
    let server = serve(home.path(), &["--ticks=120", "--seed=5", "--name=The room", "--map=duel"]);
    let client = |name| join(home.path(), server.port(), &[name, "--bot=hard", "--record=off"]);
    let clients = [client("--name=Ann"), client("--name=Ben")];
    let clients = clients.map(|client| value(client.end()));
    let ended = server.end();
    let line = ended.stderr.lines().find(|line| line.starts_with("match of ")).expect("a line");
    assert!(
        line.starts_with("match of The room on duel by standard rules, seed 5: nobody won by tick_limit")
    );
    assert!(line.contains("Ann 0 points, ") && line.contains("Ben 0 points, "), "{line}");
    let sheet = &value(ended)["match"];
    assert_eq!(
        (&sheet["room"], &sheet["map"], &sheet["rules"]),
        (&"The room".into(), &"duel".into(), &"standard".into())
    );
    assert_eq!(
        (&sheet["seed"], &sheet["winner"], &sheet["outcome"]),
        (&5.into(), &Value::Null, &"tick_limit".into())
    );
    let times = &sheet["times"];
    let seconds = times["seconds"].as_f64().expect("a number");
    assert!(
        (1.9..60.0).contains(&seconds) && times["started_unix_s"].as_u64() <= times["ended_unix_s"].as_u64()
    );
    for client in &clients {
        assert_eq!(client["match"]["seats"], sheet["seats"]);
        let seat = client["player"].as_u64().expect("a seat") as usize;
        let own = &sheet["seats"][seat];
        assert_eq!((&own["deaths"], &own["captures"]), (&client["deaths"], &client["captures"]));
        assert_eq!((&own["score"], &own["left_at"]), (&client["scores"][seat], &Value::Null));
    }
}

#[test]
fn who_leaves_is_on_the_sheet_with_the_tick() {
    let home = home();
    let server = serve(home.path(), &["--record=off"]);
    let mut clients = [0, 1].map(|_| join(home.path(), server.port(), &["--record=off"]));
    clients[1].wait_for_line("all players are here");
    clients[1].signal("INT");
    let [stays, _] = clients.map(|client| value(client.end()));
    let sheet = &value(server.end())["match"];
    let player = stays["player"].as_u64().expect("a seat") as usize;
    let [left, gone] = [player, 1 - player].map(|seat| &sheet["seats"][seat]["left_at"]);
    assert!(left.is_null() && gone.is_u64(), "{sheet}");
    assert_eq!(sheet["winner"], player, "{sheet}");
    assert!(stays["match"]["seats"][1 - player]["left_at"].is_u64(), "{stays}");
}

#[test]
fn a_refused_guest_is_in_the_journal_with_address_and_reason() {
    let home = home();
    let mut server = serve(home.path(), &["--record=off", "--ticks=60"]);
    let refused =
        run(home.path(), &["join", &format!("127.0.0.1:{}", server.port()), "--headless", "--ticks=61"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let line = server.wait_for_line("refused 127.0.0.1:");
    assert!(line.trim_end().ends_with(": another number of ticks"), "{line}");
    server.signal("INT");
    server.end();
}
