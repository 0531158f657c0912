//! Pauses as a state of the world.

use sim::{
    Command, GameState, Outcome, PAUSE_LONGEST_MS, PAUSES_MAX, Pause, PlayerId, RESUME_COUNTDOWN_MS, Tick,
    TickInputs, World,
};

use crate::common::setup;

/// Runs one tick in which these players give these commands.
fn step(world: &mut World, commands: &[(u8, Command)]) {
    let mut inputs = TickInputs::idle(world.state().tick(), world.state().players.len());
    for (player, command) in commands {
        inputs.inputs[usize::from(*player)].commands.push(command.clone());
    }
    world.step(&inputs);
}

fn run(world: &mut World, ticks: u32) {
    (0..ticks).for_each(|_| step(world, &[]));
}

fn ticks_in(world: &World, ms: u32) -> u32 {
    world.setup().tick_rate.ticks_in_ms(ms)
}

/// The state without what a paused tick moves.
fn without_ticks(state: &GameState) -> GameState {
    let mut rest = state.clone();
    (rest.globals.tick[0], rest.globals.paused[0]) = (Tick(0), 0);
    rest
}

#[test]
fn a_paused_tick_moves_nothing_but_its_count() {
    let mut world = World::new(setup("standard", "standard", 7, 60, false));
    run(&mut world, 100);
    let clock = world.state().clock();
    step(&mut world, &[(1, Command::Pause)]);
    let (before, until) = (world.state().clone(), 101 + ticks_in(&world, PAUSE_LONGEST_MS));
    assert_eq!(before.clock(), clock.plus(1), "the tick of the command runs");
    assert_eq!(before.pause(), Some(Pause { by: Some(PlayerId(1)), until: Tick(until) }));
    for paused in 1..=60 {
        step(&mut world, &[(0, Command::Banner)]);
        let state = world.state();
        assert_eq!((state.tick(), state.clock()), (before.tick().plus(paused), before.clock()));
        let mut expected = without_ticks(&before);
        expected.players.commands[0] += paused;
        assert_eq!(without_ticks(state).hash(), expected.hash(), "after {paused} paused ticks");
        assert_eq!(world.events(), []);
    }
}

#[test]
fn any_player_resumes_a_pause_and_else_it_ends_by_itself() {
    for resumed in [None, Some(0), Some(1)] {
        let mut world = World::new(setup("standard", "standard", 7, 60, false));
        step(&mut world, &[(0, Command::Pause)]);
        run(&mut world, 60);
        if let Some(player) = resumed {
            step(&mut world, &[(player, Command::Resume)]);
            // It takes no longer by being asked for again.
            run(&mut world, 10);
            step(&mut world, &[(0, Command::Resume), (1, Command::Resume)]);
        }
        while world.state().pause().is_some() {
            step(&mut world, &[]);
        }
        let countdown = 61 + ticks_in(&world, RESUME_COUNTDOWN_MS);
        let paused = if resumed.is_some() { countdown } else { ticks_in(&world, PAUSE_LONGEST_MS) };
        assert_eq!(world.state().globals.paused[0], paused, "{resumed:?}");
        let clock = world.state().clock();
        run(&mut world, 10);
        assert_eq!(world.state().clock(), clock.plus(10));
    }
}

#[test]
fn each_player_pauses_three_times_and_two_at_once_pause_once() {
    let mut world = World::new(setup("standard", "standard", 7, 60, false));
    let mut taken = [0; 2];
    for _ in 0..2 * PAUSES_MAX + 2 {
        step(&mut world, &[(0, Command::Pause), (1, Command::Pause)]);
        if let Some(pause) = world.state().pause() {
            taken[pause.by.expect("a player").index()] += 1;
            step(&mut world, &[(1, Command::Pause), (1, Command::Resume)]);
        }
        run(&mut world, 200);
    }
    assert_eq!(taken, [u32::from(PAUSES_MAX); 2]);
    assert_eq!(world.state().players.pauses, [PAUSES_MAX; 2]);
}

#[test]
fn who_surrenders_in_a_pause_of_two_ends_the_match_at_once() {
    let mut world = World::new(setup("standard", "standard", 7, 60, false));
    step(&mut world, &[(0, Command::Pause)]);
    run(&mut world, 30);
    step(&mut world, &[(0, Command::Surrender)]);
    assert_eq!((world.state().outcome(), world.state().winner()), (Outcome::Surrender, Some(1)));
    assert_eq!(world.state().pause(), None);
}

#[test]
fn a_stall_is_counted_down_once_in_two_minutes_however_many_ask() {
    let mut world = World::new(setup("standard", "standard", 7, 60, false));
    run(&mut world, 60);
    let countdown = ticks_in(&world, RESUME_COUNTDOWN_MS);
    step(&mut world, &[(0, Command::CountDown), (1, Command::CountDown)]);
    assert_eq!(world.state().pause(), Some(Pause { by: None, until: Tick(61 + countdown) }));
    run(&mut world, countdown);
    let minutes = ticks_in(&world, 120_000);
    for _ in 0..minutes - 1 {
        step(&mut world, &[(1, Command::CountDown)]);
        assert_eq!(world.state().pause(), None, "at clock {}", world.state().clock());
    }
    step(&mut world, &[(1, Command::CountDown)]);
    assert_eq!(world.state().pause().map(|pause| pause.by), Some(None));
    assert_eq!(world.state().players.commands, [0; 2], "no player gave them");
}
