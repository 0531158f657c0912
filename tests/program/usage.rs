//! Wrong use of `arena`, one line each; what its flags refuse, and that they do what they say.

use crate::arena::{Arena, command, fails, run};
use serde_json::Value;
use std::net::UdpSocket;
use std::path::Path;
use tempfile::TempDir;

fn home() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// Every case fails in one line that says this.
fn all_fail(cases: &[(&[&str], &str)]) {
    let home = home();
    for (words, expected) in cases {
        fails(&run(home.path(), words), expected);
    }
}

#[test]
fn wrong_use_is_one_line_and_exit_2() {
    let taken = UdpSocket::bind(("0.0.0.0", 0)).expect("a port");
    let port = taken.local_addr().expect("bound").port().to_string();
    all_fail(&[
        (&["host", "--headless", "--port", &port], "is in use"),
        (&["host", "--headless", "--bind", "203.0.113.9"], "not an address of this machine"),
        (&["host", "--headless", "--no-discovery", "--port=0", "--wait=0.2"], "nobody came"),
        (&["join", "no-such-host.invalid", "--headless"], "no such host"),
        (&["join", "127.0.0.1:9", "--headless", "--wait=0.3"], "no answer from 127.0.0.1:9 within 0.3 s"),
        (&["join", "127.0.0.1:9", "--headless", "--wait=0.3"], "`arena doctor 127.0.0.1:9`"),
        (&["join", "10.9.8.7:99999", "--headless"], "\"99999\" is not a UDP port"),
        (&["join", "::1", "--headless", "--bind=0.0.0.0"], "leave --bind out"),
        (&["join", "--headless", "--no-discovery"], "needs an address"),
        (&["host", "--headless", "--port=0", "--map=nowhere"], "nowhere"),
        (&["host", "--headless", "--port=0", "--rules=/no/such.toml"], "/no/such.toml"),
        (&["host", "--headless", "--port=0", "--record=/no/such/place/match"], "/no/such/place"),
        (&["host", "--headless", "--port=0", "--record="], "a value is required"),
        (&["host", "--headless", "--port=0", "--record=/tmp/"], "--record /tmp/ is a folder"),
        (&["host", "--headless", "--port=0", "--trace=/no/such/place/t"], "/no/such/place"),
        (&["host", "--headless", "--link=loss=5"], "0% to 100%"),
        (&["host", "--headless", "--tick-rate=61"], "30, 40, 50 or 60"),
        (&["host", "--headless", "--ticks=0"], "--ticks"),
        (&["host", "--headless", "--name=this name is far too long"], "at most 16"),
        (&["host", "--headless", "--frobnicate"], "--frobnicate"),
        (&["host", "--headless", "--rejoin=x"], "expected 0, or seconds from 0.01 to 86400"),
        (&["host", "--headless", "--teams"], "add --players 4"),
        (&["host", "--headless", "--teams=0,7"], "expected a team from 0 to 3"),
        (&["host", "--headless", "--players=4", "--map=duel"], "map duel has 2 seats, not 4"),
        (&["frobnicate"], "frobnicate"),
        (&["check", "--link=speed=1"], "speed=1"),
        (&["check", "--link=foo"], "--link"),
        (&["check", "--inject-desync=x"], "TICK"),
        (&["check", "--against=/nowhere.mra"], "/nowhere.mra"),
        (&["check", "--listen", "--peers=3"], "two peers"),
        (&["check", "--ticks=5", "--inject-desync=3:units[99].hp"], "no such row at that tick"),
        (&["check", "--ticks=5", "--inject-desync=3:foo"], "a path is TABLE[ROW].FIELD"),
        (
            &["check", "--virtual", "--ticks=5", "--inject-desync=3:unit[0].hp"],
            "no such table; there are match",
        ),
        (
            &["check", "--virtual", "--ticks=5", "--inject-desync=3:units[0].hpp"],
            "no such field; units have id",
        ),
        (&["check", "--virtual", "--ticks=5", "--inject-desync=3:units[99].hp"], "injected in 1 of 1 match:"),
        (&["check", "--virtual", "--map=duell"], "duell is neither built in (standard, duel and quad are)"),
        (&["check", "--virtual", "--peers=4", "--map=duel"], "map duel has 2 seats, not 4"),
        (&["check", "--virtual", "--faults"], "--faults"),
        (&["balance"], "balance"),
        (&["replay", "info", "/no/such.mra"], "/no/such.mra"),
        (&["replay", "info", "src"], "it is a folder"),
        (&["replay", "verify", "/no/such.mra"], "/no/such.mra"),
        (&["replay", "export", "x"], "<--csv|--json|--script>"),
        (&["replay"], "--help"),
        (&["play"], "`arena play --headless`"),
        (&["host", "--port=0"], "`arena host --headless`"),
        (&["watch-both"], "`arena compare`"),
        (&["replay", "watch", "replays/seed7-600.mra"], "`arena replay watch --headless`"),
    ]);
}

#[test]
fn a_number_below_its_range_is_refused_by_its_flag() {
    all_fail(&[
        (&["join", "--seat", "-1"], "--seat"),
        (&["doctor", "--for", "-1"], "expected seconds"),
        (&["replay", "seek", "replays/seed7-600.mra", "--to", "-1"], "-1 is not in 0.."),
        (&["host", "--port", "-1"], "-1 is not in 0..=65535"),
        (&["compare", "--seeds", "-3"], "-3 is not in 1..=1000"),
    ]);
}

#[test]
fn what_the_system_says_is_said_once() {
    let home = home();
    for words in [
        &["replay", "seek", "/no/such.mra", "--to=1"][..],
        &["replay", "cut", "/no/such.mra", "--from=1", "--to=2", "out"],
        &["replay", "export", "/no/such.mra", "--csv"],
        &["replay", "diff", "/no/such.mra", "/no/such.mra"],
        &["replay", "watch", "--headless", "/no/such.mra"],
        &["check", "--against=/no/such.mra"],
        &["compare", "--from=/no/such.mra"],
        &["host", "--headless", "--port=0", "--rules=/no/such.toml"],
    ] {
        let ended = run(home.path(), words);
        fails(&ended, "/no/such");
        assert_eq!(ended.stderr.matches("os error 2").count(), 1, "{words:?}: {ended:?}");
    }
}

#[test]
fn a_command_refuses_what_it_would_ignore() {
    // A server plays no seat; a guest keeps none; a host in lockstep has no server.
    for flag in [
        "--inject-desync=1",
        "--hero=archer",
        "--bot=hard",
        "--script=s",
        "--input-delay=3",
        "--prediction=off",
        "--interpolation=3",
        "--token=00",
        "--desync-report=r",
        "--seat=0",
    ] {
        let name = flag.split('=').next().expect("a flag");
        all_fail(&[(&["serve", flag], &format!("unexpected argument '{name}' found; it is a flag of "))]);
    }
    all_fail(&[
        (&["join", "--rejoin=3"], "it is a flag of host, serve"),
        (&["join", "--architecture=p2p"], "it is a flag of host, serve, check"),
        (&["host", "--token=00"], "it is a flag of join"),
        (&["host", "--headless", "--updates=30"], "--updates needs a match with a server"),
        (&["host", "--headless", "--repeat-updates"], "--repeat-updates needs a match with a server"),
        (&["serve", "--architecture=relay", "--repeat-updates"], "--repeat-updates needs client-server"),
        (&["host", "--headless", "--interpolation=3"], "--interpolation needs a match with a server"),
        (&["host", "--headless", "--rejoin=3"], "--rejoin needs a match with a server"),
        (&["host", "--headless", "--fair", "--architecture=relay"], "--fair needs a match without a server"),
        (&["check", "--virtual", "--fair", "--architecture=client-server"], "--fair needs a match without"),
        (&["join", "--fair"], "it is a flag of host, check"),
        (&["serve", "--fair"], "it is a flag of host, check"),
        (&["host", "--json"], "--headless"),
        (&["host", "--headless", "--seat=1"], "a host sits in seat 0"),
        (&["host", "--headless", "--inject-desync=5:units[0].hp:1"], "the seat is this player's"),
        (&["check", "--connect=127.0.0.1", "--seed=3"], "--seed"),
        (&["check", "--connect=127.0.0.1", "--ticks=30"], "--ticks"),
        (&["check", "--against=replays/seed7-600.mra", "--seed=3"], "--seed"),
        (&["check", "--bundle=b", "--matches=3"], "--matches"),
    ]);
}

#[test]
fn an_injection_that_plants_nothing_is_an_error() {
    let late = "no tick 60 in a match of 60; give one from 0 to 59";
    let away = "there is no seat 2 here; 2 peers have seats 0 to 1";
    for kind in [
        &["check"][..],
        &["check", "--virtual"],
        &["check", "--architecture=client-server"],
        &["check", "--virtual", "--architecture=relay"],
    ] {
        let with = |flag: &'static str| [kind, &["--ticks=60", "--seed=1", "--json", flag]].concat();
        all_fail(&[(&with("--inject-desync=60"), late), (&with("--inject-desync=30:units[0].hp:2"), away)]);
        let found = run(home().path(), &with("--inject-desync=59:units[0].hp:0"));
        assert_eq!((found.code, &found.json()["verdict"]), (Some(1), &Value::from("desync")), "{found:?}");
    }
    all_fail(&[(&["host", "--headless", "--port=0", "--ticks=60", "--inject-desync=60"], late)]);
}

#[test]
fn a_match_that_ends_before_its_injection_is_an_error() {
    let home = home();
    let own = edited(home.path(), "assets/rules/standard.toml", "name = \"standard\"", "name = \"own\"");
    let rules = edited(home.path(), &own, "score_to_win = 900", "score_to_win = 1");
    for kind in
        [&["check"][..], &["check", "--virtual"], &["check", "--virtual", "--architecture=client-server"]]
    {
        let words = [kind, &["--rules", &rules, "--seed=1", "--ticks=4000", "--tick-rate=30"]].concat();
        fails(&run(home.path(), &[&words[..], &["--inject-desync=3999"]].concat()), "nothing was injected");
    }
}

#[test]
fn a_server_to_which_nobody_comes_says_so() {
    let usual = ["--port=0", "--no-discovery", "--headless", "--wait=0.3"];
    for words in
        [&["serve"][..], &["host", "--architecture=client-server"], &["host", "--architecture=relay"]]
    {
        all_fail(&[(&[words, &usual].concat(), "nobody came")]);
    }
}

#[test]
fn a_guest_joins_by_an_address_of_ipv6() {
    if UdpSocket::bind("[::1]:0").is_err() {
        return;
    }
    let home = home();
    let words = ["host", "--headless", "--json", "--port=0", "--bind=::1", "--no-discovery", "--ticks=30"];
    let host = Arena::run(home.path(), &words);
    let address = format!("[::1]:{}", host.port());
    let guest = run(home.path(), &["join", &address, "--headless", "--json"]);
    assert_eq!((guest.code, host.end().code), (Some(0), Some(0)), "{guest:?}");
}

#[test]
fn play_does_what_host_does_and_needs_nobody() {
    let home = home();
    let play = |words: &[&str]| {
        let ended = run(home.path(), &[&["play", "--headless", "--json"], words].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json()
    };
    let (record, trace) = (home.path().join("own.mra"), home.path().join("trace"));
    let (record, trace) = (record.to_str().expect("text"), trace.to_str().expect("text"));
    let words = [
        "--seed=7",
        "--ticks=120",
        "--tick-rate=30",
        "--map=quad",
        "--rules=endless",
        "--players=4",
        "--teams",
        "--bot=hard",
    ];
    let more = [
        "--record",
        record,
        "--trace",
        trace,
        "--input-delay=3",
        "--prediction=off",
        "--name=Ann",
        "--hero=archer",
    ];
    let result = play(&[&words[..], &more].concat());
    for (key, expected) in [("ticks", 120), ("seed", 7), ("tick_rate", 30), ("player", 0)]
        .map(|(key, value)| (key, Value::from(value)))
    {
        assert_eq!(result[key], expected, "{key}");
    }
    assert_eq!((&result["architecture"], &result["prediction"]), (&"p2p".into(), &Value::Null));
    let info = run(home.path(), &["replay", "info", record, "--json"]).json();
    assert_eq!((&info["map"], &info["rules"]), (&"quad".into(), &"endless".into()));
    let seats = info["seats"].as_array().expect("seats");
    let said = |key: &str| seats.iter().map(|seat| seat[key].clone()).collect::<Vec<_>>();
    assert_eq!(said("name"), ["Ann", "Hard bot 1", "Hard bot 2", "Hard bot 3"]);
    assert_eq!((said("team"), &said("hero")[0]), ([0, 0, 1, 1].map(Value::from).to_vec(), &"archer".into()));
    assert!(std::fs::read_to_string(trace).expect("a trace").contains("\"summary\":1"));

    // The seed determines the match, and the rules are those of the file.
    let fixed = ["--seed=5", "--ticks=120", "--input-delay=6", "--record=off"];
    let hash = |more: &[&str]| play(&[&fixed[..], more].concat())["state_hash"].clone();
    let usual = hash(&[]);
    assert_eq!(hash(&["--link=delay=20ms"]), usual);
    assert_ne!(hash(&["--bot=none"]), usual);
}

#[test]
fn an_opponent_of_the_ladder_brings_map_rules_teams_and_bots() {
    let home = home();
    let file = |name: &str| home.path().join(format!("{name}.mra")).to_str().expect("text").to_owned();
    for (opponent, map, rules, names, teams) in [
        ("8", "standard", "dusk", &["Ann", "Falk"][..], &[0, 1][..]),
        ("ida and uno", "quad", "standard", &["Ann", "Ida", "Finn", "Uno"], &[0, 1, 0, 1]),
    ] {
        let record = file(map);
        let words =
            ["play", "--headless", "--ticks=60", "--name=Ann", "--opponent", opponent, "--record", &record];
        assert_eq!(run(home.path(), &words).code, Some(0), "{opponent}");
        let info = run(home.path(), &["replay", "info", &record, "--json"]).json();
        assert_eq!((&info["map"], &info["rules"]), (&map.into(), &rules.into()));
        let seats = info["seats"].as_array().expect("seats");
        assert!(seats.iter().map(|seat| &seat["name"]).eq(names), "{seats:?}");
        assert!(seats.iter().map(|seat| &seat["team"]).eq(teams), "{seats:?}");
        assert_eq!(run(home.path(), &["replay", "verify", &record]).code, Some(0), "{opponent}");
    }
    fails(&run(home.path(), &["play", "--opponent=11"]), "there is no such opponent; give 1 to 10 or Pip, ");
    fails(&run(home.path(), &["play", "--opponent=pip", "--map=duel"]), "cannot be used with '--map");
    let kept = home.path().join("mini-rts-arena/ladder.toml");
    assert!(!kept.exists(), "a match without a window does not count");
}

#[test]
fn a_match_against_bots_is_left_by_ctrl_c() {
    let home = home();
    let mut play = Arena::start(command(home.path(), &["play", "--headless", "--json", "--record=off"]));
    play.wait_for_line("all players are here");
    play.signal("INT");
    let ended = play.end();
    assert_eq!((ended.code, &ended.json()["outcome"]), (Some(0), &Value::from("interrupted")));
}

#[test]
fn a_damaged_header_is_an_error_on_stderr() {
    let home = home();
    let file = home.path().join("damaged.mra");
    let mut bytes = std::fs::read("replays/seed7-600.mra").expect("the repository has it");
    bytes[60] ^= 0x10;
    std::fs::write(&file, bytes).expect("written");
    fails(&run(home.path(), &["replay", "info", file.to_str().expect("text")]), "header");
    let json = run(home.path(), &["replay", "info", file.to_str().expect("text"), "--json"]);
    assert_eq!((json.code, &json.json()["verdict"]), (Some(2), &Value::from("corrupt")), "{json:?}");
}

#[test]
fn a_refusal_names_what_is_built_in() {
    let home = home();
    let host = |flag: &str| {
        let words = ["host", "--headless", "--port=0", "--no-discovery", "--record=off", "--wait=20", flag];
        let host = Arena::run(home.path(), &words);
        let address = format!("127.0.0.1:{}", host.port());
        (host, address)
    };
    let join =
        |address: &str, flag: &str| run(home.path(), &["join", address, "--headless", "--record=off", flag]);
    let own = edited(home.path(), "assets/maps/standard.toml", "name = \"standard\"", "name = \"own\"");
    let own = format!("--map={own}");
    let (_standard, address) = host("--map=standard");
    fails(&join(&address, "--map=duel"), "its map: standard, not duel; leave --map out");
    fails(&join(&address, "--rules=endless"), "its rules: standard, not endless; leave --rules out");
    fails(&join(&address, &own), "its map: standard, not your file's; leave --map out");
    let (_own, address) = host(&own);
    fails(&join(&address, "--map=duel"), "not duel; leave --map out");
}

/// A file of the repository, with one word changed.
fn edited(home: &Path, file: &str, old: &str, new: &str) -> String {
    let text = std::fs::read_to_string(file).expect("the repository has it");
    assert!(text.contains(old), "{file} has no {old:?}");
    let to = home.join(new.replace(['"', ' ', '='], "_")).with_extension("toml");
    std::fs::write(&to, text.replacen(old, new, 1)).expect("written");
    to.to_str().expect("text").to_owned()
}
