//! A headless match through the library: `cargo run --example headless_match --no-default-features`.
//!
//! Two bots play five seconds of lockstep in real time over UDP on loopback, each on its own match thread, as
//! two processes on two machines would. Both must end with the same state hash.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bot::BotLevel;
use game::{ControllerChoice, Match, MatchOptions, MatchThread, data};
use net::{
    AdmissionRules, Architecture, GuestConfig, Host, HostConfig, InputDelay, Join, MatchConfig, OnLoss,
    PlayerName, RoomCode, Settings,
};
use sim::{KindId, TickRate, fingerprint};
use transport::{PortChoice, Udp, clock};

fn settings(name: &str) -> Result<Settings, Box<dyn Error>> {
    Ok(Settings {
        name: PlayerName::new(name)?,
        hero: KindId(0),
        is_ready: true,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(3),
        wait: Some(Duration::from_secs(10)),
        on_loss: OnLoss::End,
        stays: false,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (host_udp, guest_udp) =
        (Udp::bind(loopback, PortChoice::Any)?, Udp::bind(loopback, PortChoice::Any)?);
    let config = MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: Some(300),
        // Peers compare fingerprints; each loads rules and map itself.
        rules: fingerprint(&*data::rules("standard")?),
        map: fingerprint(&*data::map("standard")?),
        seats: 2,
        game: 0,
        is_fair: false,
    };
    let teams = [0, 1].into_iter().collect();
    let countdown = Duration::from_millis(300);
    let host = HostConfig {
        config,
        room_code: RoomCode::OPEN,
        teams,
        countdown,
        beacon: None,
        admission: AdmissionRules::default(),
    };
    let guest = GuestConfig::new(host_udp.local_address());
    // The last argument is the session's entropy: use unpredictable bytes outside of a demonstration.
    let host = Host::new(clock::now(), settings("ann")?, host, [1; 32]);
    let guest = Join::new(clock::now(), settings("ben")?, guest, [2; 32]);
    let options =
        |level| MatchOptions { controller: Some(ControllerChoice::Bot(level)), ..MatchOptions::default() };
    let host = MatchThread::start(Match::new(host, options(BotLevel::Hard)), host_udp, None)?;
    let guest = MatchThread::start(Match::new(guest, options(BotLevel::Normal)), guest_udp, None)?;
    let (ann, ben) = (host.join().result?, guest.join().result?);
    println!("{} after {} ticks", ann.outcome.as_str(), ann.ticks);
    assert_eq!(ann.hash, ben.hash, "both peers computed the same match");
    println!("both peers have the same state");
    Ok(())
}
