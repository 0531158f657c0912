//! `arena` as users and other programs use it: real processes, real UDP, real files.

use crate::arena::{Arena, Ended, Proxy, command, fails, run};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const LINKS: [&str; 2] =
    ["--link=delay=25ms,jitter=3ms,loss=3%,seed=1", "--link=delay=25ms,jitter=3ms,loss=3%,seed=2"];

fn home() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Plays a match of two processes and returns both results.
fn play(home: &Path, seed: u32, ticks: u32, both: &[&str], each: [&str; 2], proxied: bool) -> [Value; 2] {
    let (seed, ticks) = (seed.to_string(), ticks.to_string());
    let mut words = vec!["host", "--headless", "--json", "--port=0", "--no-discovery", each[0]];
    words.extend(["--seed", &seed, "--ticks", &ticks]);
    words.extend(both);
    words.retain(|word| !word.is_empty());
    let host = Arena::run(home, &words);
    let proxy = proxied.then(|| Proxy::start(host.port()));
    let address = format!("127.0.0.1:{}", proxy.as_ref().map_or(host.port(), |proxy| proxy.port));
    let mut words = vec!["join", &address, "--headless", "--json", each[1]];
    words.extend(both);
    words.retain(|word| !word.is_empty());
    let guest = Arena::run(home, &words);
    let ended = [host.end(), guest.end()];
    if let Some(proxy) = proxy {
        assert!(proxy.passed().iter().all(|&count| count > 100), "passed {:?}", proxy.passed());
    }
    for end in &ended {
        assert_eq!(end.code, Some(0), "{end:?}");
    }
    ended.map(|end| end.json())
}

fn same_end(results: &[Value; 2]) -> String {
    assert_eq!(results[0]["state_hash"], results[1]["state_hash"]);
    assert_eq!(results[0]["ticks"], results[1]["ticks"]);
    assert_eq!(results[0]["outcome"], results[1]["outcome"]);
    results[0]["state_hash"].as_str().expect("a hash").to_owned()
}

#[test]
fn the_seed_determines_the_match_on_any_link() {
    let home = home();
    let fixed = ["--bot=normal", "--input-delay=6", "--record=off"];
    let clean = same_end(&play(home.path(), 7, 480, &fixed, ["", ""], false));
    let lossy = same_end(&play(home.path(), 7, 480, &fixed, LINKS, false));
    let proxied = same_end(&play(home.path(), 7, 480, &fixed, LINKS, true));
    let other = same_end(&play(home.path(), 8, 480, &fixed, ["", ""], false));
    let fair = play(home.path(), 7, 480, &fixed, ["--fair", ""], false);
    assert!(fair.iter().all(|result| result["fair"] == true), "the host decides it for both");
    assert_eq!([&clean, &clean, &clean], [&lossy, &proxied, &same_end(&fair)]);
    assert_ne!(clean, other);
}

#[test]
fn an_automatic_delay_stays_short_and_both_ends_agree() {
    let home = home();
    let results = play(home.path(), 7, 600, &["--input-delay=auto"], LINKS, false);
    same_end(&results);
    for result in &results {
        let delay_ms = result["net"]["input_delay_ms"].as_f64().expect("a number");
        assert!((20.0..100.0).contains(&delay_ms), "{delay_ms} ms of delay at an RTT of 50");
        let rtt_ms = result["net"]["rtt_ms"].as_f64().expect("a number");
        assert!((40.0..80.0).contains(&rtt_ms), "{rtt_ms} ms");
        let replay = result["replay"].as_str().expect("recorded");
        let verified = run(home.path(), &["replay", "verify", replay, "--json"]);
        assert_eq!((verified.code, &verified.json()[0]["verdict"]), (Some(0), &Value::from("equal")));
    }
    assert_eq!(results[0]["player"], 0);
    assert_eq!(results[1]["player"], 1);
    assert!(results[0]["commands"].as_u64() > Some(10));
}

#[test]
fn the_trace_tells_every_tick_command_and_hash() {
    let home = home();
    let trace = home.path().join("trace.jsonl");
    let flag = format!("--trace={}", trace.display());
    let results = play(home.path(), 3, 240, &["--input-delay=4", "--bot=probe"], [&flag, ""], false);
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let with =
        |keys: &[&str]| lines.iter().filter(|line| keys.iter().all(|key| !line[*key].is_null())).count();
    assert_eq!(with(&["tick", "hash"]), 240);
    assert_eq!(with(&["tick", "t_capture_us", "t_apply_us"]), 240, "own inputs");
    assert_eq!(
        lines.iter().filter(|line| line["player"] == 1 && line.get("t_capture_us").is_some()).count(),
        240
    );
    let applied = |player| {
        let of = lines.iter().filter(|line| line["player"] == player && line.get("tick").is_some());
        of.filter_map(|line| line["cmd"].as_u64()).collect::<Vec<_>>()
    };
    let given = lines.iter().filter(|line| line["cmd"].is_u64() && line.get("tick").is_none()).count();
    for player in [0, 1] {
        let ids = applied(player);
        assert!(ids.len() > 10 && ids.iter().copied().eq(0..ids.len() as u64), "{ids:?}");
    }
    assert!(given >= applied(0).len());
    let last = lines.last().expect("a summary");
    assert_eq!((&last["summary"], &last["ticks"]), (&Value::from(1), &Value::from(240)));
    let last_hash = lines.iter().rev().find_map(|line| line["hash"].as_str());
    assert_eq!(last_hash, results[0]["state_hash"].as_str());
}

/// A match that is long enough to be disturbed.
fn long_match(home: &Path) -> (Arena, Arena) {
    let words =
        ["host", "--headless", "--json", "--port=0", "--no-discovery", "--ticks=7200", "--timeout=1.5"];
    let mut host = Arena::run(home, &words);
    let address = format!("127.0.0.1:{}", host.port());
    let words = ["join", &address, "--headless", "--json", "--timeout=1.5"];
    let mut guest = Arena::run(home, &words);
    host.wait_for_line("all players are here");
    guest.wait_for_line("all players are here");
    // Until a few ticks are certainly recorded.
    let deadline = Instant::now() + Duration::from_secs(20);
    while parts(home).iter().filter(|part| part.1 > 3000).count() < 2 {
        assert!(Instant::now() < deadline, "nothing is recorded: {:?}", parts(home));
        std::thread::yield_now();
    }
    (host, guest)
}

/// Unfinished replays below `home`, and their bytes.
fn parts(home: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let folder = home.join("mini-rts-arena/replays");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.filter(|file| file.path().to_string_lossy().ends_with(".mra.part"));
    files.map(|file| (file.path(), file.metadata().map_or(0, |data| data.len()))).collect()
}

#[test]
fn a_killed_peer_is_lost_and_both_replays_play() {
    let home = home();
    let (host, guest) = long_match(home.path());
    host.signal("KILL");
    let ended = guest.end();
    let result = ended.json();
    assert_eq!((ended.code, &result["outcome"]), (Some(0), &Value::from("peer_lost")));
    let verified =
        run(home.path(), &["replay", "verify", result["replay"].as_str().expect("recorded"), "--json"]);
    assert_eq!(verified.json()[0]["verdict"], "equal");
    let left = parts(home.path());
    let [(part, _)] = &left[..] else { panic!("one unfinished replay, not {left:?}") };
    let verified = run(home.path(), &["replay", "verify", part.to_str().expect("text"), "--json"]);
    assert_eq!((verified.code, &verified.json()[0]["verdict"]), (Some(1), &Value::from("truncated")));
    let info = run(home.path(), &["replay", "info", part.to_str().expect("text"), "--json"]);
    assert_eq!((info.code, &info.json()["verdict"]), (Some(0), &Value::from("truncated")));
    assert!(info.json()["last_good_tick"].as_u64() > Some(20));
}

#[test]
fn ctrl_c_leaves_properly() {
    let home = home();
    let (host, guest) = long_match(home.path());
    guest.signal("INT");
    let (host, guest) = (host.end(), guest.end());
    assert_eq!((guest.code, &guest.json()["outcome"]), (Some(0), &Value::from("interrupted")));
    assert_eq!((host.code, &host.json()["outcome"]), (Some(0), &Value::from("peer_left")));
    assert_eq!(host.json()["winner"], 0, "who leaves has lost");
    for ended in [host, guest] {
        let replay = ended.json()["replay"].as_str().expect("recorded").to_owned();
        assert!(ended.stderr.trim_end().ends_with(&replay), "the replay's path comes last: {}", ended.stderr);
        assert_eq!(run(home.path(), &["replay", "verify", &replay]).code, Some(0));
    }
}

#[test]
fn ctrl_c_before_anybody_came_is_no_error() {
    let home = home();
    let mut host = Arena::run(home.path(), &["host", "--headless", "--json", "--port=0", "--no-discovery"]);
    host.wait_for_line("waiting for another player");
    host.signal("INT");
    let ended = host.end();
    assert_eq!((ended.code, &ended.json()["outcome"]), (Some(0), &Value::from("interrupted")));
}

#[test]
fn a_flood_of_garbage_changes_nothing() {
    let home = home();
    let flags = ["--bot=normal", "--input-delay=6", "--record=off"];
    let clean = same_end(&play(home.path(), 5, 300, &flags, ["", ""], false));
    let mut words =
        vec!["host", "--headless", "--json", "--port=0", "--no-discovery", "--seed=5", "--ticks=300"];
    words.extend(flags);
    let host = Arena::run(home.path(), &words);
    let address = format!("127.0.0.1:{}", host.port());
    let mut words = vec!["join", &address, "--headless", "--json"];
    words.extend(flags);
    let guest = Arena::run(home.path(), &words);
    let target = guest.port().min(host.port())..=guest.port().max(host.port());
    let flood = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
    for n in 0..20_000u32 {
        let length = (n % 1300) as usize;
        let bytes: Vec<u8> =
            (0..length).map(|at| (n.wrapping_mul(2_654_435_761) >> (at % 24)) as u8 % 0x19).collect();
        for port in [*target.start(), *target.end()] {
            let _ = flood.send_to(&bytes, ("127.0.0.1", port));
        }
    }
    let results = [host.end().json(), guest.end().json()];
    assert_eq!(same_end(&results), clean);
    let dropped = |result: &Value| result["net"]["dropped"]["unauthenticated"].as_u64();
    assert!(results.iter().any(|result| dropped(result) > Some(1000)), "{results:?}");
}

#[test]
fn a_guest_joins_a_host_that_is_flooded() {
    let home = home();
    let host = ["host", "--headless", "--json", "--port=0", "--no-discovery", "--record=off", "--ticks=60"];
    let mut host = Arena::run(home.path(), &host);
    host.wait_for_line("waiting for another player");
    let to = ("127.0.0.1", host.port());
    let is_over = AtomicBool::new(false);
    let (host, guest, sent) = std::thread::scope(|scope| {
        let flood = scope.spawn(|| {
            let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
            let mut bytes = [0; 33];
            let mut sent = 0u64;
            while !is_over.load(Ordering::Relaxed) {
                bytes[..8].copy_from_slice(&sent.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
                // Every packet id there is, and some more.
                bytes[0] %= 0x28;
                let _ = socket.send_to(&bytes, to);
                sent += 1;
            }
            sent
        });
        let address = format!("127.0.0.1:{}", to.1);
        let guest = ["join", &address, "--headless", "--json", "--record=off", "--ticks=60"];
        let guest = Arena::run(home.path(), &guest).end();
        let host = host.end();
        is_over.store(true, Ordering::Relaxed);
        (host, guest, flood.join().expect("no panic"))
    });
    let results = [host.json(), guest.json()];
    assert_eq!(results.each_ref().map(|result| &result["outcome"]), [&Value::from("tick_limit"); 2]);
    let dropped = &results[0]["net"]["dropped"];
    let counted = ["malformed", "out_of_place", "unauthenticated"].map(|cause| dropped[cause].as_u64());
    assert!(sent > 1000 && counted.iter().all(|&count| count > Some(10)), "{sent} sent, {dropped}");
}

#[test]
fn check_is_silent_about_equals_and_names_what_differs() {
    let home = home();
    let equal = run(home.path(), &["check", "--ticks=300", "--seed=7", "--json"]);
    let json = equal.json();
    assert_eq!((equal.code, &json["verdict"]), (Some(0), &Value::from("equal")));
    assert_eq!((&json["ticks_compared"], &json["first_desync"]), (&Value::from(300), &Value::Null));
    for (inject, link, expected) in [
        ("200", "", ["units", "hp", "0.0"]),
        ("200:players[1].supply:0", "--link=delay=25ms,jitter=3ms,loss=3%", ["players", "supply", ""]),
    ] {
        let mut words = vec!["check", "--ticks=400", "--seed=7", "--json", "--inject-desync", inject, link];
        words.retain(|word| !word.is_empty());
        let found = run(home.path(), &words);
        let first = &found.json()["first_desync"];
        assert_eq!((found.code, &first["tick"]), (Some(1), &Value::from(200)), "{found:?}");
        let [part, field, unit] = expected;
        assert_eq!((&first["part"], &first["field"]), (&Value::from(part), &Value::from(field)));
        assert_eq!(first["unit"].as_str().unwrap_or(""), unit);
        let values = first["values"].as_object().expect("two values");
        assert!(values.len() == 2 && values["0"] != values["1"]);
        let report = std::fs::read_to_string(first["report"].as_str().expect("a file")).expect("a report");
        assert!(report.contains(part) && report.contains("\"tick\": 200"));
    }
}

#[test]
fn check_finds_the_client_that_deviates_from_its_server() {
    // The states of a server come after every third tick, and its clients have no other. Of a relay they have every
    // tick, with its hash.
    for (architecture, least, ticks) in [("client-server", 90, &[100, 101, 102][..]), ("relay", 270, &[101])]
    {
        let (home, architecture) = (home(), format!("--architecture={architecture}"));
        let words = ["check", &architecture, "--ticks=300", "--seed=7", "--json"];
        let equal = run(home.path(), &words);
        assert_eq!((equal.code, &equal.json()["verdict"]), (Some(0), &Value::from("equal")), "{equal:?}");
        assert!(equal.json()["ticks_compared"].as_u64() >= Some(least), "one for each update");
        for &tick in ticks {
            let inject = format!("--inject-desync={tick}:units[3].hp:0");
            let found = run(home.path(), &[&words[..], &[&inject]].concat());
            let first = &found.json()["first_desync"];
            let named = first["tick"].as_u64().expect("named");
            let latest = if ticks.len() > 1 { tick + 2 } else { tick };
            assert!(found.code == Some(1) && (tick..=latest).contains(&named), "{found:?}");
            assert_eq!((&first["part"], &first["field"]), (&Value::from("units"), &Value::from("hp")));
            assert!(first["values"]["0"] != first["values"]["server"]);
            let report =
                std::fs::read_to_string(first["report"].as_str().expect("a file")).expect("a report");
            let report: Value = serde_json::from_str(&report).expect("JSON");
            assert_eq!(report["odd"], serde_json::json!([0]), "the client, not the server");
        }
    }
}

#[test]
fn check_runs_between_two_machines() {
    let home = home();
    let free = UdpSocket::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("bound");
    let address = free.to_string();
    let connect_seat_0 = ["check", "--connect", &address, "--inject-desync=60:units[0].hp:0"];
    fails(&run(home.path(), &connect_seat_0), "seat 1 is played on this machine");
    fails(
        &run(home.path(), &["check", "--listen", "--inject-desync=60"]),
        "seat 0 is played on this machine",
    );
    for inject in [None, Some("--inject-desync=60")] {
        let shared = ["--json", "--matches=2"];
        let connect = [&["check", "--connect", &address][..], &shared, inject.as_slice()].concat();
        let listen = [&["check", "--listen", &address, "--ticks=120", "--seed=5"][..], &shared].concat();
        // Start order does not matter.
        let connected = Arena::run(home.path(), &connect);
        let listening = run(home.path(), &listen);
        let connected = connected.end();
        let (here, there) = (listening.json(), connected.json());
        let (code, verdict) = if inject.is_some() { (Some(1), "desync") } else { (Some(0), "equal") };
        assert_eq!((listening.code, connected.code), (code, code), "{listening:?} {connected:?}");
        assert_eq!((&here["verdict"], &there["verdict"]), (&verdict.into(), &verdict.into()));
        for key in ["tick", "field", "values", "seed"] {
            assert_eq!(here["first_desync"][key], there["first_desync"][key], "{key}");
        }
    }
}

#[test]
fn a_host_refuses_by_name_and_stays_open() {
    let home = home();
    let words = ["host", "--headless", "--json", "--port=0", "--no-discovery", "--ticks=60", "--room=secret"];
    let host = Arena::run(home.path(), &words);
    let address = format!("127.0.0.1:{}", host.port());
    let join = |more: &[&str]| {
        let mut words = vec!["join", &address, "--headless", "--json", "--record=off"];
        words.extend(more);
        run(home.path(), &words)
    };
    fails(&join(&[]), "--room");
    fails(&join(&["--room=secret", "--map=duel"]), "--map");
    fails(&join(&["--room=secret", "--rules=endless"]), "--rules");
    fails(&join(&["--room=secret", "--ticks=61"]), "60 ticks, not 61");
    fails(&join(&["--room=secret", "--tick-rate=30"]), "60 ticks/s, not 30");
    fails(&join(&["--room=secret", "--seat=0"]), "seat 0");
    // Nothing stands on the standard input; then the code does.
    fails(&join(&["--room=-"]), "a code needs a character");
    let code = home.path().join("code");
    let typed = |bytes: &[u8]| {
        std::fs::write(&code, bytes).expect("written");
        let words = ["join", &address, "--headless", "--json", "--room=-", "--wait=60"];
        let mut guest = command(home.path(), &words);
        guest.stdin(std::fs::File::open(&code).expect("a file"));
        Arena::start(guest)
    };
    fails(&typed(b"\xff\xfes\0e\0\r\0\n\0").end(), "it is UTF-16");
    let good = typed(b"\xef\xbb\xbf Secret\r\n");
    assert_eq!((good.end().code, host.end().code), (Some(0), Some(0)));
}

#[test]
fn damaged_replays_get_a_verdict_and_never_a_panic() {
    let home = home();
    let [host, _] = play(home.path(), 2, 90, &[], ["", "--record=off"], false);
    let replay = host["replay"].as_str().expect("recorded");
    let whole = std::fs::read(replay).expect("a file");
    let file = home.path().join("damaged.mra");
    let path = file.to_str().expect("text");
    let verify = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("a file");
        run(home.path(), &["replay", "verify", path, "--json"])
    };
    let judge = |ended: &Ended, expected: &[&str]| {
        let json = ended.json();
        let verdict = json[0]["verdict"].as_str().expect("a verdict");
        assert!(ended.code == Some(1) && expected.contains(&verdict), "{ended:?}");
    };
    let missing = home.path().join("missing.mra");
    let missing = run(home.path(), &["replay", "verify", missing.to_str().expect("text"), "--json"]);
    assert_eq!((missing.code, &missing.json()[0]["verdict"]), (Some(2), &Value::Null), "{missing:?}");
    judge(&verify(&[]), &["corrupt"]);
    judge(&verify(b"not a replay at all"), &["corrupt"]);
    for percent in [10, 50, 90, 99] {
        judge(&verify(&whole[..whole.len() * percent / 100]), &["truncated", "corrupt"]);
    }
    for at in (0..whole.len()).step_by(whole.len() / 23) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        judge(&verify(&flipped), &["corrupt", "mismatch", "unsupported", "foreign_build"]);
    }
    assert_eq!(verify(&whole).code, Some(0));
}

#[test]
fn a_replay_is_cut_compared_and_told() {
    let home = home();
    let both = play(home.path(), 7, 240, &[], ["", ""], false);
    let [host, guest] = both.each_ref().map(|result| result["replay"].as_str().expect("recorded").to_owned());
    let replay = |words: &[&str]| run(home.path(), &[&["replay"], words].concat());
    // Both recorded the same match, and its end is the state that they ended with.
    assert_eq!(replay(&["diff", &host, &guest]).code, Some(0));
    let end = replay(&["seek", &host, "--to", "240", "--json"]).json();
    assert_eq!((&end["tick"], &end["state_hash"]), (&240.into(), &both[0]["state_hash"]));
    fails(&replay(&["seek", &host, "--to", "241"]), "there is no tick 241");

    let part = home.path().join("part.mra");
    let part = part.to_str().expect("text");
    assert_eq!(replay(&["cut", &host, "--from", "60", "--to", "180", part]).code, Some(0));
    let verified = replay(&["verify", part, "--json"]).json();
    assert_eq!((&verified[0]["verdict"], &verified[0]["ticks"]), (&"equal".into(), &120.into()));
    let hashes = [&host, part].map(|file| replay(&["seek", file, "--to", "100", "--json"]).json());
    assert_eq!(hashes[0]["state_hash"], hashes[1]["state_hash"]);
    fails(&replay(&["cut", &host, "--from", "60", "--to", "180", part]), "exists already");
    fails(&replay(&["cut", &host, "--from", "300", "--to", "400", "new.mra"]), "from 0 to 240");
    assert!(!home.path().join("new.mra.part").exists(), "a part of nothing is left behind");

    let other = play(home.path(), 8, 240, &[], ["", "--record=off"], false);
    let other = other[0]["replay"].as_str().expect("recorded");
    let parted = replay(&["diff", &host, other, "--json"]);
    assert_eq!((parted.code, &parted.json()["setup"]), (Some(1), &"seed".into()));
    let listed = replay(&["list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(3), "{listed}");
    assert!(replay(&["watch", "--headless", &host]).stdout.ends_with("ended by tick_limit\n"));
    let orders = replay(&["export", &host, "--json"]).json();
    assert!(orders.as_array().is_some_and(|orders| orders.len() > 10), "{orders}");
    let rows = replay(&["export", &host, "--csv"]).stdout.lines().count();
    assert_eq!(Some(rows - 1), orders.as_array().map(Vec::len));
    fails(&replay(&["export", &host]), "<--csv|--json|--script>");
    fails(&replay(&["export", &host, "--script"]), "--player");
    fails(
        &replay(&["export", &host, "--script", "--player=2"]),
        "there is no player 2: they count from 0 to 1",
    );
    fails(&replay(&["export", &host, "--json", "--events", "--states=60"]), "cannot be used with");
    // What is exported can be given again.
    let own = orders.as_array().into_iter().flatten();
    let own = own.filter(|order| order["player"] == 0 && !order["command"].is_null()).count();
    let exported = replay(&["export", &host, "--script", "--player=0"]).stdout;
    assert_eq!(exported.lines().count(), own);
    let script = home.path().join("script");
    std::fs::write(&script, exported).expect("written");
    let script = format!("--script={}", script.display());
    let again = run(home.path(), &["play", "--headless", "--json", "--ticks=240", "--seed=7", &script]);
    assert_eq!(again.json()["commands"], own, "{again:?}");
    // A part has the rows of its ticks, and of the state that it ends with.
    let of_part = |file: &str, form: &str| replay(&["export", file, form, "--states=60"]).stdout;
    let whole = of_part(&host, "--csv");
    let within =
        |line: &&str| line.split(',').next().is_some_and(|tick| ["tick", "60", "120", "180"].contains(&tick));
    let expected: String = whole.lines().filter(within).map(|line| format!("{line}\n")).collect();
    assert_eq!(of_part(part, "--csv"), expected);

    let torn = home.path().join("torn.mra");
    let whole = std::fs::read(&host).expect("a file");
    std::fs::write(&torn, &whole[..whole.len() / 2]).expect("a file");
    let told = replay(&["export", torn.to_str().expect("text"), "--csv"]);
    assert!(told.code == Some(0) && told.stderr.contains("intact up to tick"), "{told:?}");
}

#[test]
fn a_desync_without_a_recording_leaves_its_report_and_says_where() {
    let home = home();
    let quiet = ["--headless", "--json", "--record=off"];
    let host = ["--port=0", "--no-discovery", "--ticks=120", "--inject-desync=30"];
    let host = Arena::run(home.path(), &[&["host"][..], &quiet, &host].concat());
    let address = format!("127.0.0.1:{}", host.port());
    let guest = Arena::run(home.path(), &[&["join", &address][..], &quiet].concat());
    let ended = [host.end(), guest.end()];
    let reports = ended.each_ref().map(|ended| {
        assert_eq!(ended.code, Some(1), "{ended:?}");
        let report = ended.json()["desync_report"].as_str().expect("a path").to_owned();
        assert!(report.starts_with(&home.path().join("mini-rts-arena/reports").display().to_string()));
        assert!(ended.stderr.contains(&format!("desync report {report}\n")), "{ended:?}");
        std::fs::read_to_string(report).expect("it was written")
    });
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn loss_is_measured_in_each_direction() {
    let home = home();
    let results = play(home.path(), 7, 600, &["--record=off"], ["--link=loss=30%,seed=1", ""], false);
    let share = |of: usize, key: &str| results[of]["net"][key].as_f64().expect("a share");
    // The host's datagrams are lost, and the guest's are not.
    for (worse, better) in [((0, "loss"), (0, "loss_in")), ((1, "loss_in"), (1, "loss"))] {
        let (worse, better) = (share(worse.0, worse.1), share(better.0, better.1));
        assert!(worse > 0.15 && better < 0.1, "{worse} and {better}: {results:?}");
    }
}

#[test]
fn without_a_display_a_match_plays_itself() {
    let home = home();
    let mut demo = Arena::start(command(home.path(), &[]));
    demo.wait_for_line("listening 127.0.0.1:");
    demo.wait_for_line("all players are here");
    demo.signal("INT");
    let ended = demo.end();
    let says = "no window (DISPLAY is not set): two bots play over loopback\n";
    assert!(ended.code == Some(0) && ended.stderr.starts_with(says), "{ended:?}");
    assert!(ended.stdout.contains("interrupted"), "{ended:?}");
}

#[test]
fn a_script_is_given_at_its_instants_and_a_bad_one_is_named() {
    let home = home();
    let (script, trace) = (home.path().join("script"), home.path().join("trace"));
    let at_ms = [3.5, 250.125, 250.125, 700.0];
    let line =
        |at_ms: &f64| format!("{{\"at_ms\":{at_ms},\"command\":{{\"HeroGo\":[-1200000,{at_ms:.0}]}}}}\n");
    std::fs::write(&script, at_ms.iter().map(line).collect::<String>()).expect("written");
    let (script, to) = (format!("--script={}", script.display()), format!("--trace={}", trace.display()));
    let both = ["--record=off", "--input-delay=2"];
    let results = play(home.path(), 3, 120, &[&both[..], &[&script]].concat(), [&to, ""], false);
    same_end(&results);
    assert_eq!([&results[0]["commands"], &results[1]["commands"]], [at_ms.len(), at_ms.len()]);
    let text = std::fs::read_to_string(&trace).expect("a trace");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let given = || lines.iter().filter(|line| line["t_taken_us"].is_u64());
    let begin = lines.last().expect("a summary")["t_start_us"].as_u64().expect("when it began");
    let intended = given().filter_map(|line| line["t_capture_us"].as_u64());
    assert!(intended.eq(at_ms.map(|ms| begin + (ms * 1000.0) as u64)), "{lines:?}");
    assert!(given().all(|line| line["t_taken_us"].as_u64() >= line["t_capture_us"].as_u64()));

    let bad = home.path().join("bad");
    std::fs::write(&bad, "\n{\"at_ms\":1}\n").expect("written");
    let ended = run(home.path(), &["host", "--headless", &format!("--script={}", bad.display())]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("bad is not a script of commands: line 2: missing field"), "{ended:?}");
}
