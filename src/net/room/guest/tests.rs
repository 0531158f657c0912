use super::*;
use crate::connection::keys::RoomCode;
use crate::room::settings::{InputDelay, OnLoss};
use crate::wire::message::{JoinConfirm, SeatInfo};
use crate::wire::name::PlayerName;
use core::time::Duration;
use sim::{KindId, TickRate};

fn config() -> MatchConfig {
    MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: None,
        rules: 11,
        map: 12,
        seats: 2,
        game: 0,
        is_fair: false,
    }
}

fn seat_info() -> SeatInfo {
    SeatInfo { name: PlayerName::new("Ann").expect("a name"), hero: KindId(0), team: 0 }
}

/// A guest in seat 1 of a room for two.
fn guest() -> Guest {
    let SeatInfo { name, hero, .. } = seat_info();
    let settings = Settings {
        name,
        hero,
        is_ready: true,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(3),
        wait: None,
        on_loss: OnLoss::End,
        stays: true,
    };
    let cipher = CipherKind::Null;
    let guest = Applicant {
        settings,
        host: core::net::SocketAddr::from(([10, 0, 0, 1], 4124)),
        code: RoomCode::OPEN,
        cipher,
        pair_secret: crate::connection::pair_keys::PairSecret::new([1; 32]),
        signer: Signer::new(&[2; 32], cipher),
        via: ArrayVec::new(),
        give_up_at: None,
        rng: SecretRng::new(&[3; 32]),
    };
    let confirm = JoinConfirm { player: PlayerId(1), config: config(), token: None };
    let protection = crate::PacketProtection::plaintext(1, 2);
    Guest::new(Time(0), Seat { guest, confirm, protection, out: Outbox::new(Traffic::default()) })
}

fn seating(round: u32) -> Seating {
    Seating {
        round,
        map: config().map,
        roster: [seat_info(); 2].into_iter().collect(),
        mesh_key: 5,
        addresses: [ArrayVec::new(), ArrayVec::new()].into_iter().collect(),
        public_keys: [[0; 32]; 2].into_iter().collect(),
        signing_keys: ArrayVec::new(),
        words: [[0; 8]; 2].into_iter().collect(),
    }
}

/// The keys between guests follow from a Seating: a second match with the same one would use them again.
#[test]
fn a_seating_counts_once_in_a_room_whatever_was_played_in_between() {
    let mut guest = guest();
    assert_eq!(guest.on_seating(seating(3)), Ok(()));
    // A match has been played, and this player is ready for the next one.
    guest.phase = Phase::Waiting;
    guest.again = Some(Again { roster: seating(3).roster, ready: Seats::default() });
    for round in [0, 2, 3] {
        assert_eq!(guest.on_seating(seating(round)), Err(OutOfPlace), "round {round}");
    }
    assert_eq!(guest.on_seating(seating(4)), Ok(()));
}

#[test]
fn after_a_match_a_seating_must_be_of_the_same_players_and_asked_for() {
    let mut guest = guest();
    guest.again = Some(Again { roster: seating(3).roster, ready: Seats::default() });
    let (mut other_name, mut other_team, mut other_hero) = (seating(4), seating(4), seating(4));
    other_name.roster[0].name = PlayerName::new("Eve").expect("a name");
    other_team.roster[0].team = 1;
    other_hero.roster[1].hero = KindId(1);
    for (what, seating) in [("name", other_name), ("team", other_team), ("own hero", other_hero)] {
        assert_eq!(guest.on_seating(seating), Err(OutOfPlace), "another {what}");
    }
    guest.settings.is_ready = false;
    assert_eq!(guest.on_seating(seating(4)), Err(OutOfPlace), "not ready");
    guest.settings.is_ready = true;
    assert_eq!(guest.on_seating(seating(4)), Ok(()));
}

#[test]
fn at_a_server_others_may_have_come_and_the_map_may_be_another_but_the_own_seat_is_the_same() {
    for architecture in [Architecture::P2p, Architecture::ClientServer] {
        let mut guest = guest();
        guest.config.architecture = architecture;
        guest.again = Some(Again { roster: seating(3).roster, ready: Seats::default() });
        let (mut other, mut other_map, mut other_team) = (seating(4), seating(5), seating(6));
        other.roster[0].name = PlayerName::new("Eve").expect("a name");
        other_map.map += 1;
        other_team.roster[1].team = 1;
        let mut wants = |seating: &Seating| guest.is_wanted(seating);
        let is_served = architecture != Architecture::P2p;
        assert_eq!([&other, &other_map, &other_team].map(&mut wants), [is_served, is_served, false]);
        // Before its first match all is as the host has said when it joined.
        guest.again = None;
        assert!(!guest.is_wanted(&other_map) && guest.is_wanted(&other), "{architecture}");
    }
}

#[test]
fn a_guest_sleeps_until_something_is_due_and_for_good_once_closed() {
    let mut guest = guest();
    guest.handle_timeout(Time(0));
    while guest.poll_transmit().is_some() {}
    assert!(guest.poll_timeout() > Some(Time(0)));
    guest.phase = Phase::Closed;
    assert_eq!(guest.poll_timeout(), None);
}
