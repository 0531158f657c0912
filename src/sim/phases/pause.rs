//! Pauses. While the match is paused ticks run on, and only the tick and the number of paused ticks advance: the clock
//! of the match and all timers stand.

use super::objectives;
use crate::command::{Command, CommandRefusal, TickInputs};
use crate::compiled_rules::CompiledRules;
use crate::state::GameState;
use crate::tick::{PlayerId, TickRate};

/// Pauses of each player in a match; further ones are not allowed.
pub const PAUSES_MAX: u8 = 3;
/// The longest pause, with the count-down at its end, in milliseconds.
pub const PAUSE_LONGEST_MS: u32 = 30_000;
/// The count-down from the command that resumes the match to its first tick, in milliseconds.
pub const RESUME_COUNTDOWN_MS: u32 = 3_000;
/// The least time of the match's clock from one count-down after a stall to the next, in milliseconds: a player who
/// stalls again and again gains no more time by them.
const COUNTDOWNS_APART_MS: u32 = 120_000;

/// Runs a paused tick: of its commands only those count that end the pause or the match.
pub(crate) fn hold(rules: &CompiledRules, state: &mut GameState, inputs: &TickInputs) {
    let mut gave_up = false;
    for (player, input) in inputs.iter().take(state.players.len()) {
        let at = player.index();
        if state.players.surrendered[at] != 0 {
            continue;
        }
        for command in &input.commands {
            state.players.commands[at] = state.players.commands[at].saturating_add(command.is_given().into());
            match command {
                Command::Resume => resume(rules.rate, state),
                Command::Surrender => {
                    state.players.surrendered[at] = 1;
                    gave_up = true;
                }
                _ => {}
            }
        }
    }
    if gave_up {
        objectives::judge(rules, state, false);
    }
    state.globals.paused[0] += 1;
}

/// Pauses the match after this tick, if it is not paused by it already and the player has a pause left.
pub(crate) fn begin(rate: TickRate, state: &mut GameState, player: PlayerId) -> Result<(), CommandRefusal> {
    if state.pause().is_some() {
        return Err(CommandRefusal::Paused);
    }
    if state.players.pauses[player.index()] >= PAUSES_MAX {
        return Err(CommandRefusal::NoPause);
    }
    state.players.pauses[player.index()] += 1;
    stand(rate, state, player, PAUSE_LONGEST_MS);
    Ok(())
}

/// Counts down after this tick, since the match has stalled. Nobody is named: an outage has no author.
pub(crate) fn count_down(rate: TickRate, state: &mut GameState) {
    let (clock, last) = (state.clock(), state.globals.counted_down_at[0]);
    let is_early = last <= clock && clock.since(last) < rate.ticks_in_ms(COUNTDOWNS_APART_MS);
    if !is_early && state.pause().is_none() {
        state.globals.counted_down_at[0] = clock;
        stand(rate, state, PlayerId::NONE, RESUME_COUNTDOWN_MS);
    }
}

/// Ends the pause with a count-down, if that is sooner.
pub(crate) fn resume(rate: TickRate, state: &mut GameState) {
    let until = state.tick().plus(1 + rate.ticks_in_ms(RESUME_COUNTDOWN_MS));
    state.globals.pause_until[0] = state.globals.pause_until[0].min(until);
}

/// Pauses the match for so long after this tick, at the request of `by`.
fn stand(rate: TickRate, state: &mut GameState, by: PlayerId, ms: u32) {
    state.globals.pause_until[0] = state.tick().plus(1 + rate.ticks_in_ms(ms));
    state.globals.pause_by[0] = by.0;
}
