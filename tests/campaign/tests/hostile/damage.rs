//! States that nobody has.

use sim::{GameState, Global, Outcome, PlayerId, Tick};

use super::draw::Draw;

/// Fields of tables that always have rows.
const FIELDS: [&str; 12] = [
    "match[0].tick",
    "match[0].free_slot",
    "players[0].aim",
    "players[1].supply",
    "slots[0].generation",
    "units[0].hp",
    "units[1].x",
    "units[0].order",
    "units[1].ready_at",
    "units[0].phase",
    "circles[0].owner",
    "cores[0].hp",
];

/// This state, or nearly.
pub(crate) fn damaged(draw: &mut Draw, state: &GameState) -> GameState {
    let mut state = state.clone();
    for _ in 0..draw.below(4) {
        // Where there is no such row all stays as it is.
        let field = *draw.pick(&FIELDS);
        let _ = state.disturb(field);
    }
    state
}

/// Tables whose columns differ in length.
pub(crate) fn ragged(draw: &mut Draw, state: &mut GameState) {
    match draw.below(7) {
        0 => drop(state.units.hp.pop()),
        1 => state.units.x.clear(),
        2 => drop(state.globals.tick.pop()),
        3 => state.cores = Default::default(),
        4 => state.globals.tick.extend([Tick(1); 400]),
        5 => (0..9).for_each(|_| state.circles.progress.extend_from_within(..)),
        _ => state.globals.seed.extend([1; 40]),
    }
}

/// A state of this tick, more or less this one or the first.
pub(crate) fn drawn(draw: &mut Draw, state: Option<&GameState>, tick: Tick) -> GameState {
    let mut drawn = match state {
        Some(state) => damaged(draw, state),
        None => first_state(),
    };
    drawn.globals.tick[0] = tick;
    if state.is_none() {
        drawn.globals.seed[0] = draw.below(2);
    }
    drawn
}

/// The world before tick 0.
pub(crate) fn first_state() -> GameState {
    let (nobody, mut state) = (PlayerId::NONE.0, GameState::default());
    state.globals.push(Global {
        tick: Tick(0),
        paused: 0,
        pause_until: Tick(0),
        pause_by: nobody,
        counted_down_at: Tick::NEVER,
        seed: 0,
        outcome: Outcome::Running,
        winner: nobody,
        free_slot: 0,
    });
    state
}
