//! How one takes, keeps and loses a seat on a server, and what that costs the others: nothing that lasts longer than its
//! budget.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use game::MatchEvent;
use net::message::{Bye, Chat, PacketId};
use net::{AdmissionRules, Architecture, ChatText, Refusal, ServerConfig};
use transport::Impairment;

use super::insider::{Insider, all_played, ask, run_pinging, vacated};
use super::star::{BOT, BOTH, address, config, room};

#[test]
fn a_client_with_another_world_before_tick_0_loses_its_seat_alone() {
    for architecture in BOTH {
        let mut net = room(config(architecture, 300, 3), 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.acknowledge_seating(&mut net, false);
        net.run(Duration::from_millis(50), |_| {});
        assert_eq!(insider.byes(&mut net), [Bye::StartState], "{architecture}");
        assert_eq!(vacated(&mut net), 1, "{architecture}: its seat is free again");
        // A client that leaves all the same is let go.
        insider.say(&mut net, PacketId::Bye, &Bye::Left { tick: 0 });
        net.step();
        insider.heard(&mut net);
        assert!(insider.channel.is_idle(), "{architecture}: its farewell has arrived");
        net.enter("delay=10ms", BOT);
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 300);
    }
}

#[test]
fn a_client_that_returns_with_another_world_loses_its_seat_alone() {
    for architecture in BOTH {
        let config = ServerConfig { rejoin: Duration::from_secs(45), ..config(architecture, 600, 3) };
        let mut net = room(config, 2, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        insider.begin(&mut net);
        run_pinging(&mut net, &mut insider, Duration::from_secs(2), |_, _| {});
        assert!(net.tick() > 60, "{architecture}: at tick {}", net.tick());
        let token = insider.confirm.token;
        let mut insider = Insider::join_as(&mut net, address(21), 7, token).expect("its seat");
        insider.acknowledge_seating(&mut net, false);
        net.run(Duration::from_millis(50), |_| {});
        assert_eq!(insider.byes(&mut net), [Bye::StartState], "{architecture}");
        run_pinging(&mut net, &mut insider, Duration::from_secs(20), |_, _| {});
        all_played(&net, 600);
        let left = MatchEvent::Left(insider.player());
        assert!(net.seats.iter().all(|seat| seat.told.contains(&left)), "{architecture}");
    }
}

#[test]
fn a_client_that_never_acknowledges_the_seating_loses_its_seat() {
    for architecture in BOTH {
        let config = ServerConfig { wait: Some(Duration::from_secs(5)), ..config(architecture, 300, 2) };
        let mut net = room(config, 1, "delay=10ms");
        net.run(Duration::from_millis(300), |_| {});
        let mut insider = Insider::join(&mut net, 20);
        let began = net.now;
        let mut freed = None;
        run_pinging(&mut net, &mut insider, Duration::from_millis(5_500), |net, _| {
            if vacated(net) > 0 {
                freed = Some(net.now.since(began));
            }
        });
        let freed = freed.expect("its seat is free");
        assert!(freed > Duration::from_millis(4_500) && freed < Duration::from_millis(5_300), "{freed:?}");
        assert_eq!(insider.byes(&mut net).first(), Some(&Bye::Dropped), "{architecture}");
        // The room is open again, with the patience that it had.
        net.enter("delay=10ms", BOT);
        net.run(Duration::from_secs(20), |_| {});
        all_played(&net, 300);
    }
}

#[test]
fn a_client_gets_its_seat_whichever_answers_on_its_way_in_are_lost() {
    let down = |loss: u32| Impairment::new(format!("delay=10ms,loss={loss}%").parse().expect("a link"));
    for lost_from in (0..60).step_by(5) {
        let mut net = room(config(Architecture::ClientServer, 60, 2), 2, "delay=10ms");
        net.run(Duration::from_millis(lost_from), |_| {});
        net.seats[1].down = down(100);
        net.run(Duration::from_millis(60), |_| {});
        net.seats[1].down = down(0);
        net.run(Duration::from_secs(15), |_| {});
        all_played(&net, 60);
    }
}

#[test]
fn one_address_leaves_a_seat_to_others_unless_it_is_this_computer() {
    let at = |ip: Ipv4Addr, port| SocketAddr::new(IpAddr::V4(ip), port);
    for (seats, most) in [(2, 1), (4, 3)] {
        let (remote, local) = (Ipv4Addr::new(10, 0, 0, 9), Ipv4Addr::LOCALHOST);
        let mut net = room(config(Architecture::ClientServer, 300, seats), 0, "");
        for n in 0..u16::from(most) {
            let seat = ask(&mut net, at(remote, 5000 + n), n as u8, None).expect("an answer");
            assert_eq!(seat.err(), None, "{n} of {seats}");
        }
        let refused = ask(&mut net, at(remote, 6000), 100, None).expect("an answer");
        assert_eq!(refused.err(), Some(Refusal::Address { most }));
        assert!(ask(&mut net, address(1), 101, None).is_some_and(|seat| seat.is_ok()), "another may");
        let admission = AdmissionRules { shared_address: true, ready_within: None };
        let shared = ServerConfig { admission, ..config(Architecture::ClientServer, 300, seats) };
        let mut net = room(shared, 0, "");
        for n in 0..u16::from(seats) {
            let seat = ask(&mut net, at(remote, 5000 + n), n as u8, None).expect("an answer");
            assert_eq!(seat.err(), None, "{n} of {seats} behind one router");
        }
        let mut net = room(config(Architecture::ClientServer, 300, seats), 0, "");
        for n in 0..u16::from(seats) {
            let seat = ask(&mut net, at(local, 5000 + n), n as u8, None).expect("an answer");
            assert_eq!(seat.err(), None, "{n} of {seats}");
        }
    }
}

#[test]
fn a_new_connection_is_no_new_allowance_to_talk() {
    let config =
        ServerConfig { rejoin: Duration::from_secs(45), ..config(Architecture::ClientServer, 600, 2) };
    let mut net = room(config, 1, "delay=10ms");
    net.run(Duration::from_millis(300), |_| {});
    let mut insider = Insider::join(&mut net, 20);
    insider.begin(&mut net);
    let (began, token) = (net.now, insider.confirm.token);
    for n in 0..20 {
        let returned = Insider::join_as(&mut net, address(20), 50 + n, token);
        let Some(returned) = returned else { break };
        insider = returned;
        let (text, from) = (ChatText::new("buy gold").expect("a line"), insider.player());
        for _ in 0..10 {
            insider.say(&mut net, PacketId::Chat, &Chat { from, text });
            net.run(Duration::from_millis(25), |_| {});
        }
    }
    let seconds = net.now.since(began).as_secs();
    let heard = net.seats[0].told.iter().filter(|event| matches!(event, MatchEvent::Said(..))).count();
    assert!((5..=10 + seconds as usize + 1).contains(&heard), "{heard} lines in {seconds} s");
    assert!(net.server.is_none(), "it is expelled for what it says too much");
}
