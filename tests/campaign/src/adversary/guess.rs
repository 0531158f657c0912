//! A guest that waits at a false host, in virtual time.

use core::time::Duration;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::AdversaryOptions;
use super::false_host::FalseHost;
use super::oracles::GUESSES_MAX;
use super::plan::AdversaryPlan;
use super::stage::Played;
use lab::sessions::{Table, hero_of, settings};
use lab::{Audit, Oracle};
use net::{Architecture, Event, GuestConfig, InputDelay, Join, RoomCode, Settings, Time};

/// How long the guest waits, as `arena join` does.
const WAIT: Duration = Duration::from_secs(30);
const HOST: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 4124);
const GUEST: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 4124);

/// Lets a false host try codes at a guest until the guest gives up.
pub(super) fn play(options: &AdversaryOptions, seed: u64, plan: AdversaryPlan) -> Played {
    let table = Table {
        seed,
        architecture: Architecture::P2p,
        tick_rate: options.tick_rate,
        ticks: None,
        rules: &options.rules,
        map: &options.maps[0],
        teams: [0, 1].into_iter().collect(),
        is_fair: false,
        is_encrypted: true,
    };
    let settings = Settings { wait: Some(WAIT), ..settings(1, hero_of(seed, 1), InputDelay::Auto) };
    let codes = (0..plan.code).map(|nth| RoomCode::of(&format!("wrong {nth}")));
    let codes = codes.chain([RoomCode::of("right")]).collect();
    let mut entropy = [7; 32];
    entropy[..8].copy_from_slice(&seed.to_le_bytes());
    let mut host = FalseHost::new(settings.clone(), table.host_config(), codes, entropy);
    let guest = GuestConfig { room_code: RoomCode::of("right"), ..GuestConfig::new(HOST) };
    entropy[31] = 8;
    let mut join = Join::new(Time(0), settings, guest, entropy);
    let (way, mut now, mut in_flight) = (plan.access[0], Time(0), VecDeque::new());
    let mut ended = false;
    while !ended && host.found().is_none() && now < Time(0).plus(WAIT) {
        let next = [join.poll_timeout(), in_flight.front().map(|&(at, ..): &(Time, bool, Vec<u8>)| at)];
        let next = next.into_iter().flatten().chain([host.next_at().max(now.plus(Duration::from_millis(1)))]);
        now = next.min().unwrap_or(now).max(now);
        while let Some((_, is_to_host, bytes)) = in_flight.pop_front_if(|(at, ..)| *at <= now) {
            if is_to_host {
                host.handle_datagram(now, GUEST, &bytes);
            } else {
                join.handle_datagram(now, HOST, &bytes);
            }
        }
        host.act(now);
        join.handle_timeout(now);
        let at = now.plus(way * 2);
        while let Some(transmit) = join.poll_transmit() {
            in_flight.push_back((at, true, transmit.datagram.bytes().to_vec()));
        }
        while let Some(transmit) = host.poll_transmit() {
            in_flight.push_back((at, false, transmit.datagram.bytes().to_vec()));
        }
        ended = core::iter::from_fn(|| join.poll_event()).any(|event| matches!(event, Event::Closed(_)));
    }
    let mut audit = Audit::new(2, false);
    if let Some(number) = host.found().filter(|&number| number >= GUESSES_MAX) {
        audit.violated(Oracle::Guesses, 1, now, format!("the room code is found as number {}", number + 1));
    }
    Played {
        plan,
        violations: audit.violations().to_vec(),
        log: now.0,
        took: now.since(Time(0)),
        ticks: 0,
        outcome: "not_begun",
        has_departed: ended,
    }
}
