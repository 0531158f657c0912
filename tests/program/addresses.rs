//! Hosts and servers with several addresses, and guests that ask for one of them in every form that people type: between
//! two network namespaces.

use crate::arena::{Arena, Ended, fails, run};
use crate::cable::{A, B, Cable, Row, listening};
use std::net::SocketAddr;

const HOST: &[&str] = &["host"];
const SERVE: &[&str] = &["serve", "--shared-address"];

/// An address of either family at each end.
const PLAIN: &[&str] = &[
    "-n {a} addr add 10.78.0.1/24 dev va",
    "-n {b} addr add 10.78.0.2/24 dev vb",
    "-n {a} -6 addr add fd78::1/64 dev va nodad",
    "-n {b} -6 addr add fd78::2/64 dev vb nodad",
];
/// The same without IPv4, and a link-local address that is known.
const IPV6: &[&str] = &[
    "-n {a} -6 addr add fe80::a:1/64 dev va nodad",
    "-n {b} -6 addr add fe80::b:1/64 dev vb nodad",
    "-n {a} -6 addr add fd78::1/64 dev va nodad",
    "-n {b} -6 addr add fd78::2/64 dev vb nodad",
];

/// Has `host` and then `serve` open matches at the ends of these rows, each joined at the address from the other end.
fn plays_with_either(cable: &Cable, rows: &[(usize, &str)]) {
    for command in [HOST, SERVE] {
        let rows: Vec<_> = rows.iter().map(|&(end, address)| (end, command, 1 - end, address)).collect();
        cable.plays(&rows);
    }
}

#[test]
fn a_card_with_several_addresses_is_joined_at_each() {
    let more = [
        "-n {a} addr add 10.78.0.101/24 dev va",
        "-n {b} addr add 10.78.0.102/24 dev vb",
        "-n {a} -6 addr add fd78::101/64 dev va nodad",
        "-n {b} -6 addr add fd78::102/64 dev vb nodad",
    ];
    let Some(cable) = Cable::lay("m", &[PLAIN, &more].concat()) else { return };
    let rows = [
        (A, "10.78.0.1:{port}"),
        (B, "10.78.0.2:{port}"),
        (A, "10.78.0.101:{port}"),
        (B, "udp://10.78.0.102:{port}/"),
        (A, "[fd78::1]:{port}"),
        (B, "[fd78::2]:{port}"),
        (A, "[fd78::101]:{port}"),
        (B, "  \"[fd78::102]:{port}\", "),
    ];
    plays_with_either(&cable, &rows);
}

#[test]
fn an_address_that_only_a_route_leads_to_is_joined() {
    let more = [
        "-n {a} addr add 10.79.0.1/32 dev lo",
        "-n {b} route add 10.79.0.1/32 via 10.78.0.1",
        "-n {b} addr add 10.79.0.2/32 dev lo",
        "-n {a} route add 10.79.0.2/32 via 10.78.0.2",
        "-n {a} -6 addr add fd79::1/128 dev lo nodad",
        "-n {b} -6 route add fd79::1/128 via fd78::1",
        "-n {b} -6 addr add fd79::2/128 dev lo nodad",
        "-n {a} -6 route add fd79::2/128 via fd78::2",
    ];
    let Some(cable) = Cable::lay("r", &[PLAIN, &more].concat()) else { return };
    let rows =
        [(A, "10.79.0.1:{port}"), (B, "10.79.0.2:{port}"), (A, "[fd79::1]:{port}"), (B, "[fd79::2]:{port}")];
    plays_with_either(&cable, &rows);
}

#[test]
fn a_machine_with_two_cards_on_one_network_is_joined_at_either() {
    let steps = [
        "link add wa netns {a} type veth peer name wb netns {b}",
        "-n {b} link add name lan type bridge",
        "-n {b} link set vb master lan",
        "-n {b} link set wb master lan",
        "-n {b} link set lan up",
        "-n {a} link set wa up",
        "-n {b} link set wb up",
        "-n {a} addr add 10.78.0.1/24 dev va",
        "-n {a} addr add 10.78.0.3/24 dev wa",
        "-n {b} addr add 10.78.0.2/24 dev lan",
    ];
    let Some(cable) = Cable::lay("c", &steps) else { return };
    let rows = [
        (A, "10.78.0.1:{port}"),
        (A, "10.78.0.3:{port}"),
        // Asked by the machine with two cards.
        (B, "10.78.0.2:{port}"),
    ];
    plays_with_either(&cable, &rows);
}

#[test]
fn a_network_of_ipv6_alone_is_enough() {
    let Some(cable) = Cable::lay("v", IPV6) else { return };
    let cable = cable.with_names("10.78.0.1 left\nfd78::1 left\n10.78.0.2 right\nfd78::2 right\n");
    let rows = [
        (A, "[fd78::1]:{port}"),
        (B, "[fd78::2]:{port}"),
        (A, "[fe80::a:1%vb]:{port}"),
        (B, "[fe80::b:1%va]:{port}"),
        (A, "[fe80::a:1]:{port}"),
        (B, "[fe80::b:1]:{port}"),
        // The record of IPv4 leads nowhere.
        (A, "left:{port}"),
        (B, "right:{port}"),
    ];
    plays_with_either(&cable, &rows);
    // A guest that looks for a match finds it by mDNS.
    let homes = [tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder")];
    let host = cable.start(A, homes[0].path(), &["host", "--headless", "--json", "--ticks=60", "--wait=60"]);
    let guest = cable.start(B, homes[1].path(), &["join", "--headless", "--json", "--wait=60"]);
    for ended in [host.end(), guest.end()] {
        assert_eq!((ended.code, &ended.json()["ticks"]), (Some(0), &60.into()), "{ended:?}");
    }
}

#[test]
fn a_name_is_joined_at_whichever_of_its_records_answers() {
    let Some(cable) = Cable::lay("n", PLAIN) else { return };
    let cable = cable.with_names(
        "10.78.0.1 left4 left\nfd78::1 left6 left\n10.78.0.2 right4 right\nfd78::2 right6 right\n\
         10.78.0.99 old4\nfd78::1 old4\n10.78.0.1 old6\nfd78::99 old6\n",
    );
    let rows = [
        (A, "left4:{port}"),
        (B, "right4:{port}"),
        (A, "left6:{port}"),
        (B, "right6:{port}"),
        (A, "left:{port}"),
        (B, "right.:{port}"),
        // Nobody has the other record's address any more.
        (A, "old4:{port}"),
        (A, "old6:{port}"),
    ];
    plays_with_either(&cable, &rows);
    cable.plays(&[
        // Nobody listens at the address of the other record.
        (A, &["host", "--bind=10.78.0.1"], B, "left:{port}"),
        (A, &["host", "--bind=fd78::1"], B, "left:{port}"),
        // `localhost` has both, whatever the file says.
        (A, &["host", "--bind=127.0.0.1"], A, "localhost:{port}"),
        (B, &["host", "--bind=::1"], B, "localhost:{port}"),
        (B, &["serve", "--bind=::"], B, "LOCALHOST:{port}"),
    ]);
}

#[test]
fn where_ipv6_is_off_ipv4_is_used_without_a_word() {
    let Some(cable) = Cable::lay("o", &PLAIN[..2]) else { return };
    let cable = cable.without_ipv6();
    let rows: &[Row<'_>] = &[
        (A, HOST, B, "10.78.0.1:{port}"),
        (B, HOST, A, "10.78.0.2:{port}"),
        (A, SERVE, B, "10.78.0.1:{port}"),
        (B, SERVE, A, "10.78.0.2:{port}"),
        (A, &["host", "--bind=::"], A, "localhost:{port}"),
    ];
    for ended in cable.plays(rows).concat() {
        listens(&ended, &["0.0.0.0"]);
        let has_word = ["IPv6", "::", "family", "warning"].iter().any(|word| ended.stderr.contains(word));
        assert!(!has_word, "{}", ended.stderr);
    }
    cable.doctor_agrees(A, &["10.78.0.1/24"], "10.78.0.2:{port}");
    let home = tempfile::tempdir().expect("a folder");
    let ended = cable.run(A, home.path(), &["join", "[fd78::2]:4124", "--headless", "--wait=60"]);
    fails(&ended, "this machine has no IPv6: give the host's address of IPv4");
}

#[test]
fn the_doctor_agrees_on_a_network_of_either_kind() {
    // Doctors at both ends of IPv4 hear each other, and then nobody need be looked for.
    let cables = (Cable::lay("d", PLAIN), Cable::lay("g", PLAIN), Cable::lay("e", IPV6));
    let (Some(one), Some(other), Some(ipv6)) = cables else { return };
    std::thread::scope(|scope| {
        let ipv6 = &ipv6;
        for (end, networks, address) in [
            (A, ["fd78::1/64", "fe80::a:1/64"], "[fd78::2]:{port}"),
            (B, ["fd78::2/64", "fe80::b:1/64"], "[fd78::1]:{port}"),
        ] {
            scope.spawn(move || ipv6.doctor_agrees(end, &networks, address));
        }
        scope.spawn(|| one.doctor_agrees(A, &["10.78.0.1/24"], "10.78.0.2:{port}"));
        scope.spawn(|| other.doctor_agrees(B, &["10.78.0.2/24"], "[fd78::1]:{port}"));
    });
}

#[test]
fn doctors_at_both_ends_do_not_take_each_other_for_a_match_that_is_mute() {
    let Some(cable) = Cable::lay("t", PLAIN) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let doctors = [A, B].map(|end| cable.start(end, home.path(), &["doctor", "--json", "--for=3"]));
    for ended in doctors.map(Arena::end) {
        let found = ended.json();
        assert!(found["heard"][0]["beacons"].as_u64() > Some(0), "they hear each other: {found}");
        assert_eq!((&found["works"], &found["advice"]), (&true.into(), &serde_json::json!([])), "{found}");
    }
}

#[test]
fn the_doctor_lists_ports_that_are_free_in_both_families() {
    let Some(cable) = Cable::lay("f", PLAIN) else { return };
    let home = tempfile::tempdir().expect("a folder");
    let hosts =
        [["--bind=127.0.0.1", "--port=4124"], ["--bind=::1", "--port=4126"], ["--bind=::", "--port=4129"]];
    let _hosts = hosts.map(|[bind, port]| {
        let words = ["host", "--headless", "--no-discovery", "--wait=60", bind, port];
        cable.start(A, home.path(), &words)
    });
    let found = cable.run(A, home.path(), &["doctor", "--json", "--for=0.1"]).json();
    assert_eq!(found["free_ports"], serde_json::json!([4125, 4127, 4128, 4130, 4131, 4132, 4133]), "{found}");
    // The next that is free in both is what a host takes.
    let host = cable.start(A, home.path(), &["host", "--headless", "--no-discovery", "--wait=60"]);
    assert_eq!(host.port(), 4125);
}

/// Asserts that this process printed a line for a socket at each of these addresses, and its port in the result.
fn listens(ended: &Ended, at: &[&str]) {
    let port = u16::try_from(ended.json()["port"].as_u64().expect("a port")).expect("a port");
    let expected: Vec<_> =
        at.iter().map(|ip| SocketAddr::new(ip.parse().expect("an address"), port)).collect();
    assert_eq!(listening(ended), expected, "{ended:?}");
}

#[test]
fn a_line_is_printed_for_each_socket() {
    let Some(cable) = Cable::lay("l", PLAIN) else { return };
    let rows: &[(Row<'_>, &[&str])] = &[
        ((A, HOST, B, "10.78.0.1:{port}"), &["0.0.0.0", "::"]),
        ((A, &["host", "--architecture=client-server"], B, "[fd78::1]:{port}"), &["0.0.0.0", "::"]),
        ((A, SERVE, B, "10.78.0.1:{port}"), &["0.0.0.0", "::"]),
        ((A, &["host", "--bind=0.0.0.0"], B, "10.78.0.1:{port}"), &["0.0.0.0"]),
        ((A, &["host", "--bind=127.0.0.1"], A, "127.0.0.1:{port}"), &["127.0.0.1"]),
        ((A, &["serve", "--bind=fd78::1", "--shared-address"], B, "[fd78::1]:{port}"), &["fd78::1"]),
    ];
    let played = cable.plays(&rows.iter().map(|&(row, _)| row).collect::<Vec<_>>());
    for (played, (_, expected)) in played.iter().zip(rows) {
        let [opened, guests @ ..] = &played[..] else { panic!("nobody") };
        listens(opened, expected);
        guests.iter().for_each(|guest| listens(guest, &["0.0.0.0", "::"]));
    }
}

#[test]
fn pasted_addresses_are_joined() {
    let home = tempfile::tempdir().expect("a folder");
    let words =
        ["--port=0", "--bind=127.0.0.1", "--players=4", "--ticks=60", "--rules=endless", "--no-discovery"];
    let host =
        Arena::run(home.path(), &[&["host", "--headless", "--json", "--wait=60"], &words[..]].concat());
    let port = host.port();
    let pasted = [
        format!("  udp://127.0.0.1:{port}/, "),
        format!("\u{201c}\u{ff11}27\u{3002}0.0.1\u{ff1a}{port}\u{201d}\n"),
        format!("<[::ffff:127.0.0.1]:{port}>"),
    ];
    let guests = pasted.map(|address| {
        Arena::run(home.path(), &["join", &address, "--headless", "--json", "--wait=60", "--bind=127.0.0.1"])
    });
    for ended in [host].into_iter().chain(guests).map(Arena::end) {
        assert_eq!((ended.code, &ended.json()["ticks"]), (Some(0), &60.into()), "{ended:?}");
        listens(&ended, &["127.0.0.1"]);
    }
    for (address, why) in [(":4124", "give the host's address before it"), ("127.0.0.1:0", "not a UDP port")]
    {
        fails(&run(home.path(), &["join", address, "--headless", "--wait=60"]), why);
    }
}
