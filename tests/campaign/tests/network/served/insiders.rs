//! What one client can do to the match of the others with a seat, or with an address alone: nothing that lasts longer
//! than its budget.

use std::time::Duration;

use game::{MatchError, MatchEvent, MatchOptions, Node as _};
use net::message::{Bye, PacketId, Ping, Ready, Seats, decode, encode};
use net::{ClientInputsHeader, DropCause, Notice, ServerConfig, Settings, Time, encode_client_inputs};
use sim::PlayerInput;

use super::insider::{Insider, all_played, heard, run_pinging, vacated};
use super::star::{
    BOT, BOTH, Net, address, client_of, config, datagram, predicting, room, settings, staying,
};

/// Every farewell there is, with numbers that fit and numbers that do not.
fn every_bye() -> Vec<Bye> {
    let bytes: [&[u8]; 10] =
        [&[0, 0, 0, 0], &[0, 200, 1, 5, 1], &[2], &[3], &[4, 0, 1], &[4, 1, 2], &[5], &[6, 1], &[7], &[1, 0]];
    bytes.into_iter().map(|bytes| decode(bytes).expect("a farewell")).collect()
}

#[test]
fn no_farewell_of_a_client_ends_more_than_its_own_match() {
    for architecture in BOTH {
        // While seats are taken: only a client that leaves loses its seat by it.
        let mut net = room(config(architecture, 300, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        for n in 0..2 {
            let mut insider = Insider::join(&mut net, 20 + n);
            if n == 1 {
                insider.wait_for(&mut net, PacketId::Seating);
            }
            for bye in every_bye() {
                assert_eq!(vacated(&mut net), 0, "{architecture} before {bye:?}");
                insider.say(&mut net, PacketId::Bye, &bye);
                net.run(Duration::from_millis(20), |_| {});
            }
            assert_eq!(vacated(&mut net), 1, "{architecture}: it has left");
        }
        // While ticks run, and after the last.
        let mut insider = Insider::join(&mut net, 30);
        insider.begin(&mut net);
        let mut byes = every_bye().into_iter().cycle().filter(|bye| !matches!(bye, Bye::Left { .. }));
        run_pinging(&mut net, &mut insider, Duration::from_secs(30), |net, insider| {
            insider.say(net, PacketId::Bye, &byes.next().expect("for ever"));
        });
        all_played(&net, 300);
    }
}

#[test]
fn a_client_believes_only_farewells_that_fit_what_it_does() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 2), 2, "delay=10ms");
        net.run(Duration::from_secs(3), |_| {});
        assert!(net.tick() > 60);
        for bye in every_bye() {
            // A goodbye that names a later tick is accepted once that tick has run.
            let is_later = matches!(bye, Bye::Finished { ticks, .. } if ticks > net.tick());
            let ends = is_later || matches!(bye, Bye::Left { .. } | Bye::Dropped | Bye::Expelled { .. });
            if !ends {
                net.forge_message_down(0, PacketId::Bye, &encode(&bye));
                net.run(Duration::from_millis(20), |_| {});
                assert!(net.seats[0].game.is_some(), "{architecture}: ended by {bye:?}");
            }
        }
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 300);
    }
}

#[test]
fn a_client_that_acknowledges_nothing_holds_up_neither_ticks_nor_the_end() {
    for architecture in BOTH {
        // It says nothing of updates, or asks for the whole state each time.
        for asks_for_states in [false, true] {
            let mut net = room(config(architecture, 600, 2), 1, "delay=10ms");
            net.run(Duration::from_millis(300), |_| {});
            let mut insider = Insider::join(&mut net, 20);
            insider.begin(&mut net);
            let began = net.now;
            let mut bytes = 0;
            run_pinging(&mut net, &mut insider, Duration::from_secs(60), |net, insider| {
                if asks_for_states {
                    let notice = Notice::WantsState;
                    let header = ClientInputsHeader { first: 0, count: 0, updated: 0, notice };
                    let body = encode_client_inputs(&header, [].into_iter());
                    insider.say_bytes(net, PacketId::PlayerInput, &body);
                }
                bytes += heard(net, insider.from).iter().map(|datagram| datagram.len() + 28).sum::<usize>();
            });
            all_played(&net, 600);
            let took = net.now.since(began);
            println!("{architecture}, states {asks_for_states}: {took:?}, {bytes} bytes to the insider");
            // The match, the budget for the last update, and farewells.
            assert!(took < Duration::from_secs(10 + 5 + 3), "{architecture}: {took:?}");
            assert!(bytes < 16 * 31_250, "{architecture}: {bytes} bytes, 250 kbit/s");
        }
    }
}

#[test]
fn a_client_that_builds_no_world_holds_a_rematch_up_for_seconds() {
    for architecture in BOTH {
        let mut net = staying(architecture, "delay=10ms");
        // One of the three is ready for a rematch, too, and then only pings.
        let mut since = None;
        net.run(Duration::from_secs(60), |net| {
            let now = net.now;
            for (n, seat) in net.seats.iter_mut().enumerate() {
                let Some(game) = seat.game.as_mut().filter(|_| seat.ended.is_some()) else { continue };
                let wants = |event: &MatchEvent| *event == MatchEvent::RematchWanted(game.session().player());
                let has_said = seat.told.iter().any(wants);
                game.want_rematch(now);
                if n == 2 && has_said {
                    (seat.game, since) = (None, Some(now));
                }
            }
            if since.is_some() && now.0.is_multiple_of(100_000) {
                net.forge(2, PacketId::Ping, &encode(&Ping { time_us: now.0 }));
            }
        });
        let took = net.now.since(since.expect("it went"));
        println!("{architecture}: {took:?}");
        assert!(net.is_over(), "{architecture}");
        assert!(took < Duration::from_secs(5 + 3), "{architecture}: {took:?}");
        for seat in &net.seats[..2] {
            assert_eq!(seat.earlier.len(), 1, "{architecture}: one match was played");
            let ended = seat.ended.as_ref().map(|ended| ended.as_ref().map(|summary| summary.outcome));
            assert!(matches!(ended, Some(Err(MatchError::NoRematch))), "{architecture}: {ended:?}");
        }
    }
}

#[test]
fn a_link_that_doubles_datagrams_expels_nobody() {
    for architecture in BOTH {
        for percent in [0, 10, 25, 50, 100] {
            let link = format!("delay=10ms,jitter=3ms,dup={percent}%");
            let mut net = room(config(architecture, 1800, 2), 2, &link);
            net.run(Duration::from_secs(60), |_| {});
            all_played(&net, 1800);
            let served = net.served.as_ref().expect("over").as_ref().expect("played");
            for client in &served.clients {
                let repeated = client.traffic.dropped.of(DropCause::Repeated);
                assert_eq!(client.traffic.dropped.total(), repeated, "{architecture} {percent} %");
                assert_eq!(client.counts.rejected, 0, "{architecture} {percent} %");
                assert_eq!(repeated > 0, percent > 0, "{architecture} {percent} %: {repeated} repetitions");
            }
            let told = net.seats.iter().map(|seat| seat.summary().rejected);
            assert!(told.sum::<u32>() == 0, "{architecture} {percent} %: none of it is held against them");
        }
    }
}

#[test]
fn what_others_repeat_or_make_up_expels_nobody() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 600, 2), 2, "delay=10ms");
        net.run(Duration::from_secs(3), |_| {});
        let elsewhere = address(99);
        net.run(Duration::from_secs(30), |net| {
            let (connection, newest) = net.seats[1].envelope;
            for back in 0..4 {
                let bytes = datagram(connection, newest - 40 - back, PacketId::Ping, &[]);
                if let Some(server) = &mut net.server {
                    server.handle_datagram(net.now, elsewhere.into(), &bytes);
                    server.handle_datagram(net.now, elsewhere.into(), &bytes[..7]);
                }
            }
        });
        all_played(&net, 600);
    }
}

/// Clients that wait for 20 s.
fn patient(net: &mut Net) {
    for (n, seat) in net.seats.iter_mut().enumerate() {
        let settings = Settings { timeout: Duration::from_secs(20), ..settings() };
        let options = MatchOptions { controller: BOT, ..predicting() };
        seat.game = Some(client_of(Time(0), n as u8, None, options, settings));
    }
}

#[test]
fn a_server_that_was_suspended_blames_nobody() {
    for architecture in BOTH {
        // In a room that is not full, and in a match; without and with seats that are kept.
        for (honest, rejoin) in [(1, 0), (2, 0), (2, 1)] {
            let rejoin = Duration::from_secs(rejoin);
            let config = ServerConfig { rejoin, wait: None, ..config(architecture, 300, 2) };
            let mut net = room(config, honest, "delay=10ms");
            patient(&mut net);
            net.run(Duration::from_secs(2), |_| {});
            net.is_suspended = true;
            net.run(Duration::from_millis(3_600), |_| {});
            net.is_suspended = false;
            net.run(Duration::from_secs(1), |_| {});
            for seat in net.seats.iter().filter(|_| honest == 2) {
                let state = seat.game.as_ref().expect("it plays").world().expect("a world").state();
                let left = state.pause().expect("a count-down").until.since(state.tick());
                assert!((110..=135).contains(&left), "{architecture}: {left} ticks to go");
            }
            if honest == 1 {
                assert_eq!(vacated(&mut net), 0, "{architecture}");
                net.enter("delay=10ms", BOT);
            }
            net.run(Duration::from_secs(20), |_| {});
            all_played(&net, 300);
        }
    }
}

#[test]
fn a_client_that_was_suspended_does_not_miss_its_server() {
    for architecture in BOTH {
        let config = ServerConfig { timeout: Duration::from_secs(20), ..config(architecture, 600, 2) };
        let mut net = room(config, 2, "delay=10ms");
        net.run(Duration::from_secs(3), |_| {});
        net.seats[1].is_suspended = true;
        net.run(Duration::from_millis(3_600), |_| {});
        net.seats[1].is_suspended = false;
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 600);
    }
}

#[test]
fn lies_about_hashes_change_nothing_for_the_others() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        let began = net.now;
        run_pinging(&mut net, &mut insider, Duration::from_secs(30), |net, insider| {
            let (ticks, chain) = (net.tick(), 0xbad);
            let (round, state_hash) = (1, 0xbad);
            let unheard = Seats::default();
            insider.say(net, PacketId::Ready, &Ready { round, state_hash, unheard });
            insider.say(net, PacketId::Bye, &Bye::Finished { ticks, chain, stays: true });
            if net.tick() > u32::from(insider.inputs) {
                insider.order(net, &PlayerInput::default(), Notice::WantsState);
            }
        });
        all_played(&net, 300);
        let took = net.now.since(began);
        assert!(took < Duration::from_secs(5 + 5 + 3), "{architecture}: {took:?}");
    }
}
