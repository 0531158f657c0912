//! A running match allocates nothing: not per tick, not per datagram.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

use mini_rts_arena::bot::{Bot, BotLevel};
use mini_rts_arena::game::{Match, MatchOptions, PilotChoice, data};
use mini_rts_arena::lab::Battlefield;
use mini_rts_arena::net::{
    Architecture, GuestConfig, HostConfig, InputDelay, LockstepSession, MatchConfig, PlayerName, Settings,
    Time,
};
use mini_rts_arena::sim::{
    AttackBehaviour, PlayerId, SeatSetup, Setup, Tick, TickInputs, TickRate, World, fingerprint,
};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: everything is passed on to the system's allocator; counting touches no memory of others.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn pair(pilot: PilotChoice) -> [(Match, SocketAddr); 2] {
    let (rules, map) = (data::rules("endless").expect("embedded"), data::map("standard").expect("embedded"));
    let settings = Settings {
        name: PlayerName::new("test").expect("a name"),
        hero: AttackBehaviour::Swordsman,
        input_delay: InputDelay::Auto,
        timeout: Duration::from_secs(3),
        wait: None,
    };
    let config = MatchConfig {
        room_id: 1,
        architecture: Architecture::P2p,
        seed: 7,
        tick_rate: TickRate::HZ_60,
        ticks: None,
        rules: fingerprint(&*rules),
        map: fingerprint(&*map),
        seats: 2,
    };
    let host = HostConfig {
        config,
        room_code: 0,
        teams: [0, 1].into_iter().collect(),
        countdown: Duration::from_millis(300),
        beacon: None,
    };
    let addresses = [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 4124)));
    let guest = GuestConfig::new(addresses[0]);
    let options = || MatchOptions { pilot: Some(pilot), ..MatchOptions::default() };
    let host = LockstepSession::host(Time(0), settings.clone(), host, [1; 32]);
    let guest = LockstepSession::join(Time(0), settings, guest, [2; 32]);
    [(Match::new(host, options()), addresses[0]), (Match::new(guest, options()), addresses[1])]
}

/// Advances both by a millisecond at a time until they have run `ticks`.
fn run(peers: &mut [(Match, SocketAddr); 2], now: &mut Time, ticks: u32) {
    let ran = |game: &Match| game.world().map_or(0, |world| world.state().tick().0);
    while ran(&peers[0].0) < ticks || ran(&peers[1].0) < ticks {
        *now = now.plus(Duration::from_millis(1));
        let [a, b] = &mut *peers;
        advance(*now, a, b);
        advance(*now, b, a);
    }
}

fn advance(now: Time, from: &mut (Match, SocketAddr), to: &mut (Match, SocketAddr)) {
    from.0.advance(now);
    while let Some(transmit) = from.0.poll_transmit() {
        to.0.handle_datagram(now, from.1, transmit.datagram.bytes());
    }
    while from.0.poll_event().is_some() {}
}

#[test]
fn a_match_in_its_stride_allocates_nothing() {
    let mut peers = pair(PilotChoice::Probe);
    let mut now = Time(0);
    run(&mut peers, &mut now, 3600);
    let before = ALLOCATIONS.with(Cell::get);
    run(&mut peers, &mut now, 4200);
    let allocations = ALLOCATIONS.with(Cell::get) - before;
    assert_eq!(allocations, 0, "in 600 ticks of two peers");
}

#[test]
fn a_battle_in_its_stride_allocates_nothing() {
    let (rules, map) = (data::rules("endless").expect("embedded"), data::map("standard").expect("embedded"));
    let seat = |team| SeatSetup { hero: AttackBehaviour::Archer, team };
    let seats = [seat(0), seat(1)].into_iter().collect();
    let rate = TickRate::HZ_60;
    let mut world = World::new(Setup { seed: 3, tick_rate: rate, seats, rules, map });
    let bots = [0, 1].map(|player| Bot::new(BotLevel::Hard, PlayerId(player), rate));
    let (mut during, mut deaths) = (0, 0);
    for tick in 0..6000 {
        let mut inputs = TickInputs::idle(Tick(tick), 2);
        for (input, bot) in inputs.inputs.iter_mut().zip(&bots) {
            *input = bot.think(&world);
        }
        let before = ALLOCATIONS.with(Cell::get);
        world.step(&inputs);
        std::hint::black_box(world.hash());
        if tick >= 3000 {
            during += ALLOCATIONS.with(Cell::get) - before;
        }
        deaths = world.state().players.deaths.iter().sum();
    }
    assert!(deaths > 40, "a battle: {deaths} died");
    assert_eq!(during, 0, "in 3000 ticks");
}

#[test]
fn a_large_battle_in_its_stride_allocates_nothing() {
    let mut battle = Battlefield::new(2_000, 7);
    battle.run(600);
    let fallen = battle.fallen();
    for tick in 0..300 {
        // Replacing the fallen is no part of a tick.
        battle.prepare();
        let before = ALLOCATIONS.with(Cell::get);
        battle.step();
        std::hint::black_box(battle.world().hash());
        assert_eq!(ALLOCATIONS.with(Cell::get) - before, 0, "in tick {tick} of 300");
    }
    assert!(battle.fallen() - fallen > 500, "a battle: {} fell", battle.fallen() - fallen);
}
