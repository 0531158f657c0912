//! What a client gets from a server that runs the world: its states, what happened between them, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use game::{Inject, Match, MatchOptions, Server, ServerOptions};
use net::message::PacketId;
use net::{
    Architecture, ENVELOPE_BYTES, RanCommand, ServerConfig, TAG_BYTES, Time, UpdatePart, decode_update,
    encode_update,
};
use sim::math::{Fx, Vec2, dist2, square};
use sim::{
    DeltaCoder, Event, GameState, PlayerId, Tick, TickEvent, UnitId, World, decode_events, encode_events,
};

use super::star::{
    BOT, Net, client_seen, client_with, hash, legions, predicting, server_config, server_of, server_session,
};
use super::time_to_come_back;

/// What happened, without the place of what is not told exactly; and that place.
fn told(event: TickEvent) -> (TickEvent, Vec2) {
    let TickEvent { tick, event } = event;
    let nowhere = Vec2::default();
    let (event, at) = match event {
        Event::Hit { unit, at, by, attack, damage } => {
            (Event::Hit { unit, at: nowhere, by, attack, damage }, at)
        }
        Event::Blow { unit, player, at } => (Event::Blow { unit, player, at: nowhere }, at),
        Event::Shot { unit, player, at } => (Event::Shot { unit, player, at: nowhere }, at),
        exact => (exact, nowhere),
    };
    (TickEvent { tick, event }, at)
}

/// A match in which this share of the datagrams is lost: all events of the server's world, and those of each client.
fn events_of(seed: u64) -> (Vec<TickEvent>, [Vec<TickEvent>; 2]) {
    let link = format!("delay={}ms,jitter=10ms,loss=10%,dup=1%,reorder=2%", 5 + seed % 60);
    let mut net = Net::new(server_session("standard", Some(4_800), 0, 2), &link, &[BOT, BOT]);
    // Each time others are lost.
    net.run(Duration::from_millis(seed), |_| {});
    let (mut all, mut heard, mut ran) = (Vec::new(), [Vec::new(), Vec::new()], Tick(0));
    let mut adopted = [Tick(0); 2];
    net.run(Duration::from_secs(100), |net| {
        if let Some(world) =
            net.server.as_ref().and_then(Server::world).filter(|world| world.state().tick() > ran)
        {
            let tick = ran;
            ran = world.state().tick();
            assert_eq!(ran, tick.plus(1), "one tick a millisecond at most");
            all.extend(world.events().iter().map(|&event| TickEvent { tick, event }));
        }
        for (seat, (heard, adopted)) in net.seats.iter().zip(heard.iter_mut().zip(&mut adopted)) {
            let Some(game) = &seat.game else { continue };
            let Some(snapshot) = game.session().client().and_then(net::Follower::last_snapshot) else {
                continue;
            };
            if snapshot.tick > *adopted {
                *adopted = snapshot.tick;
                heard.extend_from_slice(snapshot.events);
            }
        }
    });
    assert!(net.is_over(), "at tick {}", net.tick());
    (all, heard)
}

#[test]
fn every_event_reaches_every_client_once_and_in_order() {
    for seed in 0..crate::pauses::seeds() {
        let (all, heard) = events_of(seed);
        let kinds: BTreeSet<_> = all
            .iter()
            .map(|event| std::mem::discriminant(&event.event))
            .map(|it| format!("{it:?}"))
            .collect();
        assert!(all.len() > 300 && kinds.len() >= 10, "seed {seed}: {} events of {kinds:?}", all.len());
        for heard in heard {
            // The last state of a match that its clients leave may not be the server's.
            assert!(all.len() - heard.len() < 40, "seed {seed}: {} of {}", heard.len(), all.len());
            for (&sent, &got) in all.iter().zip(&heard) {
                let ((sent, was), (got, seen)) = (told(sent), told(got));
                assert_eq!(sent, got, "seed {seed}");
                assert!(
                    dist2(was, seen) <= square(Fx::ONE),
                    "seed {seed}: {sent:?} at {was:?}, and seen at {seen:?}"
                );
            }
        }
    }
}

#[test]
fn a_client_of_four_gets_states_and_events_and_no_command_of_another() {
    let session = server_session("standard", Some(1_800), 0, 4);
    let mut net = Net::new(session, "delay=20ms,loss=2%", &[BOT; 4]);
    net.seats[0].kept = Some(Vec::new());
    let mut first: Option<GameState> = None;
    net.run(Duration::from_secs(60), |net| {
        if first.is_none() {
            let world = net.seats[0].game.as_ref().and_then(Match::world);
            first = world.map(|world| World::new(world.setup().clone()).state().clone());
        }
    });
    assert!(net.is_over(), "at tick {}", net.tick());
    let first = first.expect("built");
    let datagrams = net.seats[0].kept.take().expect("kept");
    let begun = datagrams.iter().position(|bytes| bytes[0] == PacketId::GameStateUpdate as u8);
    let while_ticks_run = &datagrams[begun.expect("updates")..];
    let kinds: BTreeSet<u8> = while_ticks_run.iter().map(|bytes| bytes[0]).collect();
    let may_come = [PacketId::GameStateUpdate, PacketId::Ping, PacketId::Pong, PacketId::Acknowledge];
    assert!(kinds.iter().all(|kind| may_come.iter().any(|&id| id as u8 == *kind)), "{kinds:?}");
    let (mut states, mut coder) = (vec![first], DeltaCoder::default());
    let mut others = 0;
    for bytes in while_ticks_run.iter().filter(|bytes| bytes[0] == PacketId::GameStateUpdate as u8) {
        let body = &bytes[ENVELOPE_BYTES..bytes.len() - TAG_BYTES];
        let (part, piece) = UpdatePart::decode(body).expect("a part");
        assert_eq!(part.parts, 1, "a small match");
        let tick = part.tick_near(states.last().expect("one").tick()).expect("a tick");
        let update = decode_update(piece).expect("an update");
        let commands: Vec<RanCommand> = update.commands().collect();
        others += commands.iter().filter(|command| command.player != PlayerId(0)).count();
        // Every byte is of the report, of who gave a command when, of an event, or of the state.
        let mut again = Vec::new();
        encode_update(&update.header, commands.into_iter(), update.events, &mut again);
        again.extend(update.delta);
        assert_eq!(again, piece);
        let base = Tick(tick.0 - update.header.back);
        let base =
            states.iter().find(|state| state.tick() == base).expect("a base that was acknowledged").clone();
        let mut state = GameState::default();
        coder.decode(&base, update.delta, &mut state).expect("a state");
        assert_eq!(state.hash().whole, update.header.hash);
        let mut events = Vec::new();
        decode_events(&base, &state, update.events, &mut events).expect("events");
        let from = events.first().map_or(tick, |event| event.tick).min(tick);
        let of = |tick: u32| {
            let of_tick = events.iter().filter(move |event| event.tick == Tick(tick));
            of_tick.map(|event| event.event).collect::<Vec<_>>()
        };
        let by_tick: Vec<Vec<Event>> = (base.tick().0..tick.0).map(of).collect();
        let mut encoded = Vec::new();
        encode_events(&base, &state, by_tick.iter().map(|events| &events[..]), &mut encoded);
        assert!(from >= base.tick() && encoded == update.events, "canonical");
        states.push(state);
        if states.len() > 64 {
            states.remove(1);
        }
    }
    assert!(others > 100, "{others} commands of the others have run");
}

#[test]
fn a_client_whose_state_changes_is_put_right_by_the_next_update_and_nobody_else_notices() {
    let mut net = Net::new(server_session("standard", Some(1_200), 0, 2), "delay=40ms,loss=5%", &[BOT, BOT]);
    let inject = Inject { tick: Tick(700), field: "units[0].hp".into() };
    let options = MatchOptions { controller: BOT, inject: Some(inject), ..predicting() };
    net.seats[0].game = Some(client_with(Time(0), 0, None, options));
    net.run(Duration::from_secs(40), |_| {});
    assert!(net.is_over(), "at tick {}", net.tick());
    let [wrong, other] = [0, 1].map(|seat: usize| net.seats[seat].summary());
    let differed = |summary: &game::Summary| summary.updates.expect("served").differed;
    assert_eq!((differed(wrong), differed(other)), (1, 0));
    assert_eq!((wrong.hash, other.hash), (hash(&net), hash(&net)));
    let report = wrong.desync.as_ref().expect("named");
    assert_eq!((report.field, report.odd[..].to_vec()), (Some("hp"), vec![game::Party::Seat(PlayerId(0))]));
    assert!((700..710).contains(&report.tick) && other.desync.is_none(), "{report:?}");
}

#[test]
fn who_comes_back_plays_within_three_round_trips_and_a_fifth_of_a_second() {
    for seed in 0..20 {
        let link = "delay=50ms";
        let mut net = Net::new(server_session("standard", Some(1_800), 45, 2), link, &[BOT, BOT]);
        net.run(Duration::from_millis(8_000 + 7 * seed), |_| {});
        let back = time_to_come_back(&mut net);
        assert!(back <= Duration::from_millis(3 * 100 + 200), "seed {seed}: {back:?}");
        assert_eq!(net.seats[1].summary().hash, hash(&net));
    }
}

#[test]
fn a_limit_below_what_states_need_lowers_their_rate_and_freezes_no_match() {
    let rules = legions();
    let print = sim::fingerprint(&*rules);
    for (bits_per_s, least) in [(120_000, 200), (30_000, 45)] {
        let mut net = Net::with_rules("delay=30ms,loss=3%", &rules, 1_200);
        let config = server_config(Architecture::ClientServer, print, Some(1_200), 0, 2, 20);
        let options = ServerOptions { rules: Some(rules.clone()), ..ServerOptions::default() };
        net.server = Some(server_of(ServerConfig { bits_per_s, ..config }, options));
        net.run(Duration::from_secs(40), |_| {});
        assert!(net.is_over(), "at tick {}", net.tick());
        for seat in &net.seats {
            let (updates, bits) = (seat.summary().updates.expect("served"), &seat.down_bits[2..20]);
            let mean = bits.iter().sum::<usize>() / bits.len();
            println!("{bits_per_s} bit/s: {updates:?}, {mean} bit/s came");
            assert!(updates.applied >= least && updates.applied < 400, "{updates:?}");
            assert!(updates.gap_max < Duration::from_secs(3), "{updates:?}");
            assert!(mean < bits_per_s as usize * 13 / 10, "{mean}");
            assert_eq!(seat.summary().hash, hash(&net));
        }
    }
}

/// The longest way that a unit goes between two frames of the interpolated view, in tiles, and what its match was.
fn longest_jump(seed: u64, interpolation: u32) -> f64 {
    let link = "delay=50ms,jitter=5ms,loss=5%";
    let mut net = Net::new(server_session("standard", Some(2_400), 0, 2), link, &[BOT, BOT]);
    for (n, seat) in net.seats.iter_mut().enumerate() {
        let options = MatchOptions { controller: BOT, interpolation, ..MatchOptions::default() };
        seat.game = Some(client_seen(Time(0), n as u8, options));
    }
    net.run(Duration::from_millis(seed), |_| {});
    let (mut before, mut now) = (GameState::default(), GameState::default());
    let (mut jumps, mut dashes, mut frame) = (Vec::new(), Vec::new(), 0);
    net.run(Duration::from_secs(60), |net| {
        frame += 1;
        let Some(seen) = net.seats[1].game.as_ref().and_then(Match::seen) else { return };
        if frame % 17 != 0 {
            return;
        }
        seen.show(net.now, &mut now);
        let tick = now.tick();
        for (&hero, &until) in now.players.hero.iter().zip(&now.players.dash_until) {
            if now.clock() <= until && until != Tick::NEVER {
                dashes.push((hero, tick));
            }
        }
        for (row, &unit) in now.units.id.iter().enumerate() {
            let Some(was) = before.row(unit) else { continue };
            let way = dist2(before.position(was), now.position(row)) as f64;
            jumps.push((unit, tick, way.sqrt() / f64::from(1 << 16)));
        }
        before.copy_from(&now);
    });
    // A dash is on the way to the next state before the state at hand says so.
    let dashes = |unit, tick: Tick| {
        dashes.iter().any(|&(hero, at): &(UnitId, Tick)| hero == unit && at.0.abs_diff(tick.0) <= 15)
    };
    let longest = jumps.iter().filter(|&&(unit, tick, _)| !dashes(unit, tick)).map(|jump| jump.2);
    longest.fold(0.0, f64::max)
}

#[test]
fn no_unit_of_the_interpolated_view_jumps_farther_than_half_a_tile() {
    for interpolation in [0, 1, 2] {
        let jumps = (0..crate::pauses::seeds().min(10)).map(|seed| longest_jump(seed, interpolation));
        let longest = jumps.fold(0.0, f64::max);
        println!("{interpolation} updates in the past: at most {longest:.3} tiles in a frame");
        assert!(longest <= 0.5, "{interpolation}: {longest} tiles");
    }
}
