//! Updates that are sent a second time on links that lose.

use std::time::Duration;

use game::{MatchOptions, ServerOptions, data};
use net::message::PacketId;
use net::{Architecture, ClientInputsHeader, Notice, ServerConfig, Time, encode_client_inputs};
use sim::fingerprint;
use transport::{Impairment, LinkSpec};

use super::star::{BOT, Net, client_with, hash, legions, predicting, server_config, server_of};

/// From here on the loss is known: 128 datagrams have been counted.
const KNOWN: Time = Time(10_000_000);

/// Two clients whose commands are of no network, on `links` down; the way up loses nothing.
fn room(architecture: Architecture, repeat_updates: bool, links: [&str; 2]) -> Net {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    let config = ServerConfig { repeat_updates, ..server_config(architecture, rules, Some(2_400), 0, 2, 20) };
    let mut net = Net::new(config, "delay=20ms", &[None, None]);
    for (seat, link) in net.seats.iter_mut().zip(links) {
        let spec: LinkSpec = format!("{link},seed={}", 5 + seat.address.port()).parse().expect("a link");
        seat.down = Impairment::new(spec);
    }
    net
}

/// Plays it to the end; every client has ended where the server has.
fn played(mut net: Net, each: impl FnMut(&mut Net)) -> Net {
    net.run(Duration::from_secs(60), each);
    assert!(net.is_over(), "at tick {}", net.tick());
    for seat in &net.seats {
        let updates = seat.summary().updates.expect("of a server");
        assert_eq!((seat.summary().hash, updates.differed, updates.refused), (hash(&net), 0, 0));
    }
    net
}

/// When datagrams with updates came once the loss was known, and while ticks ran.
fn came(net: &Net, seat: usize, for_s: u64) -> Vec<Time> {
    let while_known = KNOWN..KNOWN.plus(Duration::from_secs(for_s));
    net.seats[seat].updates_at.iter().filter(|at| while_known.contains(at)).copied().collect()
}

fn gaps_ms(came: &[Time]) -> Vec<u64> {
    came.windows(2).map(|pair| pair[1].since(pair[0]).as_millis() as u64).collect()
}

/// How many came half a tick after another.
fn seconds(came: &[Time]) -> usize {
    gaps_ms(came).iter().filter(|gap| (7..=9).contains(*gap)).count()
}

/// How many updates came half a tick late, and how many not at all: one comes each 50 ms.
fn late_and_lost(mut came: Vec<Time>) -> [usize; 2] {
    let mut last = Time(0);
    came.retain(|&at| at.since(core::mem::replace(&mut last, at)) > Duration::from_millis(10));
    let gaps = gaps_ms(&came);
    [55..=60, 90..=250].map(|of| gaps.iter().filter(|gap| of.contains(*gap)).count())
}

#[test]
fn a_repeated_update_repairs_a_loss_before_the_next_comes() {
    let links = ["delay=20ms,loss=10%", "delay=20ms"];
    let [once, twice] = [false, true].map(|is| played(room(Architecture::ClientServer, is, links), |_| {}));
    let [plain, repeated] = [&once, &twice].map(|net| came(net, 0, 30));
    // Of 600 updates a tenth is lost, and of these nine tenths come with the second sending.
    assert!(seconds(&plain) == 0 && seconds(&repeated) > 450, "{} sent again", seconds(&repeated));
    let [plain, repeated] = [plain, repeated].map(late_and_lost);
    assert!(plain[0] == 0 && (40..80).contains(&plain[1]), "{plain:?} late and lost");
    assert!((40..80).contains(&repeated[0]) && repeated[1] < 15, "{repeated:?} late and lost");
    let applied = |net: &Net| net.seats[0].summary().updates.expect("of a server").applied;
    assert!(applied(&twice) > applied(&once) + 40, "{} and {}", applied(&twice), applied(&once));
    // The server sends more to the link that loses alone.
    let bits = |net: &Net, seat: usize| net.seats[seat].down_bits[10..40].iter().sum::<usize>();
    let [lossy, good] = [0, 1].map(|seat| bits(&twice, seat) as f64 / bits(&once, seat) as f64);
    assert!((1.6..2.1).contains(&lossy) && (0.99..1.01).contains(&good), "{lossy} and {good} times the bits");
    assert_eq!(once.seats[1].updates_at.len(), twice.seats[1].updates_at.len());
}

#[test]
fn an_acknowledged_update_is_not_repeated() {
    let seconds_of = |acknowledges: bool| {
        let links = ["delay=20ms,loss=10%", "delay=20ms"];
        let mut told = 0;
        let net = played(room(Architecture::ClientServer, true, links), |net| {
            if net.now == KNOWN {
                // What has been lost is known for a while, and what is acknowledged from here on arrives.
                net.seats[0].down = Impairment::new("delay=20ms".parse().expect("a link"));
            }
            let tick = net.tick();
            if acknowledges && net.now > KNOWN && tick > told && tick < 1_300 && tick.is_multiple_of(3) {
                told = tick;
                // Of no inputs, counted from a tick whose input is here for long.
                let first = tick as u16 - 20;
                let header = ClientInputsHeader { first, count: 0, updated: 20, notice: Notice::Nothing };
                net.forge(0, PacketId::PlayerInput, &encode_client_inputs(&header, [].into_iter()));
            }
        });
        seconds(&came(&net, 0, 10))
    };
    let (told, silent) = (seconds_of(true), seconds_of(false));
    assert!(silent > 190 && told < 3, "{told} instead of {silent} sent again");
}

#[test]
fn a_relay_repeats_nothing() {
    let links = ["delay=20ms,loss=10%", "delay=20ms"];
    let [off, on] = [false, true].map(|is| played(room(Architecture::Relay, is, links), |_| {}));
    assert_eq!(off.seats[0].updates_at, on.seats[0].updates_at);
}

#[test]
fn repeats_keep_to_the_limit_of_bandwidth() {
    let repeated = |bits_per_s: u64| {
        let (rules, link) = (legions(), "delay=20ms,loss=5%");
        let mut net = Net::with_rules(link, &rules, 1_800);
        let print = fingerprint(&*rules);
        let config = server_config(Architecture::ClientServer, print, Some(1_800), 0, 2, 20);
        let config = ServerConfig { repeat_updates: true, bits_per_s, ..config };
        let options = ServerOptions { rules: Some(rules.clone()), ..ServerOptions::default() };
        net.server = Some(server_of(config, options));
        for (n, seat) in net.seats.iter_mut().enumerate() {
            let options = MatchOptions { controller: BOT, rules: Some(rules.clone()), ..predicting() };
            seat.game = Some(client_with(Time(0), n as u8, None, options));
        }
        net.run(Duration::from_secs(45), |_| {});
        assert!(net.is_over(), "at tick {}", net.tick());
        let bits = net.seats[0].down_bits[2..28].iter().sum::<usize>() as u64 / 26;
        assert!(bits < bits_per_s + 5_000, "{bits} of {bits_per_s} bit/s");
        let came = came(&net, 0, 18);
        (seconds(&came), came.len())
    };
    // A second sending takes only what is left over, of a narrow limit nothing: if it could go into debt, as a first one
    // can, 48 of 461 would be second ones.
    let [wide, narrow] = [1_000_000, 200_000].map(repeated);
    assert!(wide.0 > 200 && narrow.0 < 10, "{wide:?} and {narrow:?} sent again, of all");
}
