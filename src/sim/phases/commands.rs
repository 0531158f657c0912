//! The first phase: what the players sent. A command that is not allowed is a no-op on every peer.

use arrayvec::ArrayVec;

use super::orders::{self, Task};
use super::{formation, pause};
use crate::command::{
    Command, CommandRefusal, HeroControl, PlayerInput, SELECTION_MAX, Selection, TickInputs, When,
};
use crate::compiled_rules::CompiledRules;
use crate::event::{Event, Events};
use crate::math::{Angle, Vec2};
use crate::state::{ControlBehaviour, GameState, KindId, Order, SUPPLY, TRAINING_BITS, UnitId};
use crate::tick::{PlayerId, Tick};

/// `walk` in the players' table for no direction.
const NO_DIRECTION: u8 = 8;

/// The rows of a selection's units.
type Rows = ArrayVec<usize, SELECTION_MAX>;

/// Applies every player's held control, then their commands in order.
pub(crate) fn apply(rules: &CompiledRules, state: &mut GameState, events: &mut Events, inputs: &TickInputs) {
    for (player, input) in inputs.iter().take(state.players.len()) {
        if state.players.surrendered[player.index()] == 0 {
            apply_input(rules, state, events, player, input);
        }
    }
}

fn apply_input(
    rules: &CompiledRules,
    state: &mut GameState,
    events: &mut Events,
    player: PlayerId,
    input: &PlayerInput,
) {
    let PlayerInput { hero: HeroControl { walk, strike }, commands } = input;
    let at = player.index();
    state.players.walk[at] = walk.map_or(NO_DIRECTION, u8::from);
    state.players.striking[at] = u8::from(strike.is_some());
    state.players.aim[at] = strike.unwrap_or_default();
    for command in commands {
        state.players.commands[at] = state.players.commands[at].saturating_add(command.is_given().into());
        let _ = apply_command(rules, state, events, player, command);
    }
}

/// Applies a command, unless it is not allowed.
pub(crate) fn apply_command(
    rules: &CompiledRules,
    state: &mut GameState,
    events: &mut Events,
    player: PlayerId,
    command: &Command,
) -> Result<(), CommandRefusal> {
    match command {
        Command::HeroGo(target) => send_hero(rules, state, player, target.at()),
        Command::HeroAttack(quarry) => attack_with_hero(state, player, *quarry),
        Command::Dash(angle) => dash(rules, state, events, player, *angle),
        Command::Banner => raise_banner(rules, state, events, player),
        Command::Move(selection, target, when) => {
            send(rules, state, player, selection, Order::Move, target.at(), *when)
        }
        Command::AttackMove(selection, target, when) => {
            send(rules, state, player, selection, Order::AttackMove, target.at(), *when)
        }
        Command::Attack(selection, quarry, when) => attack(state, player, selection, *quarry, *when),
        Command::Stop(selection) => stand(state, player, selection, Order::Idle, When::Now),
        Command::Hold(selection, when) => stand(state, player, selection, Order::Hold, *when),
        Command::Follow(selection, when) => stand(state, player, selection, Order::Follow, *when),
        Command::Train(kind) => train(rules, state, events, player, *kind),
        Command::Rally(target) => {
            rally(rules, state, player, target.map(crate::command::Target::at));
            Ok(())
        }
        Command::Surrender => {
            state.players.surrendered[player.index()] = 1;
            Ok(())
        }
        Command::Pause => pause::begin(rules.rate, state, player),
        Command::Resume => {
            pause::resume(rules.rate, state);
            Ok(())
        }
        Command::CountDown => {
            pause::count_down(rules.rate, state);
            Ok(())
        }
    }
}

/// The rows of the living minions of `player` in `selection`, each once.
fn own_minions(state: &GameState, player: PlayerId, selection: &Selection) -> Result<Rows, CommandRefusal> {
    let rows = selection.iter().enumerate().filter_map(|(place, &id)| {
        // At most 32 ids, so a linear search for duplicates is cheap.
        if selection[..place].contains(&id) { None } else { state.row(id) }
    });
    let own = |&row: &usize| {
        state.units.owner[row] == player && state.units.control[row] == ControlBehaviour::Minion
    };
    let rows: Rows = rows.filter(own).collect();
    if rows.is_empty() { Err(CommandRefusal::NoUnits) } else { Ok(rows) }
}

/// Sends minions to their places in a formation around `target`, but for those who have theirs already.
fn send(
    rules: &CompiledRules,
    state: &mut GameState,
    player: PlayerId,
    selection: &Selection,
    order: Order,
    target: Vec2,
    when: When,
) -> Result<(), CommandRefusal> {
    let mut rows = own_minions(state, player, selection)?;
    if when == When::Now {
        rows = formation::without_sent(rules, state, rows, order, target);
    }
    for (row, place) in formation::places(rules, state, player, rows, target) {
        orders::give(state, row, Task::to(order, place), when);
    }
    Ok(())
}

fn attack(
    state: &mut GameState,
    player: PlayerId,
    selection: &Selection,
    quarry: UnitId,
    when: When,
) -> Result<(), CommandRefusal> {
    check_enemy(state, player, quarry)?;
    for row in own_minions(state, player, selection)? {
        let task = Task { order: Order::Attack, goal: state.position(row), quarry };
        orders::give(state, row, task, when);
    }
    Ok(())
}

/// Gives an order whose goal is where the unit stands.
fn stand(
    state: &mut GameState,
    player: PlayerId,
    selection: &Selection,
    order: Order,
    when: When,
) -> Result<(), CommandRefusal> {
    for row in own_minions(state, player, selection)? {
        orders::give(state, row, Task::to(order, state.position(row)), when);
    }
    Ok(())
}

fn rally(rules: &CompiledRules, state: &mut GameState, player: PlayerId, point: Option<Vec2>) {
    let at = player.index();
    let point =
        point.map(|point| rules.arena.obstacles.cleared(point, rules.per_tick.widest()).unwrap_or(point));
    state.players.rallies[at] = u8::from(point.is_some());
    let point = point.unwrap_or_default();
    (state.players.rally_x[at], state.players.rally_y[at]) = (point.x, point.y);
}

fn send_hero(
    rules: &CompiledRules,
    state: &mut GameState,
    player: PlayerId,
    goal: Vec2,
) -> Result<(), CommandRefusal> {
    let row = state.hero(player).ok_or(CommandRefusal::HeroDead)?;
    let radius = rules.unit(&state.units, row).radius;
    let goal = rules.arena.obstacles.cleared(goal, radius).unwrap_or(goal);
    orders::give(state, row, Task::to(Order::Move, goal), When::Now);
    Ok(())
}

fn attack_with_hero(state: &mut GameState, player: PlayerId, quarry: UnitId) -> Result<(), CommandRefusal> {
    check_enemy(state, player, quarry)?;
    let row = state.hero(player).ok_or(CommandRefusal::HeroDead)?;
    let task = Task { order: Order::Attack, goal: state.position(row), quarry };
    orders::give(state, row, task, When::Now);
    Ok(())
}

fn check_enemy(state: &GameState, player: PlayerId, unit: UnitId) -> Result<(), CommandRefusal> {
    let is_enemy = state.row(unit).is_some_and(|row| state.team(row) != state.team_of(player));
    if is_enemy { Ok(()) } else { Err(CommandRefusal::NoEnemy) }
}

fn dash(
    rules: &CompiledRules,
    state: &mut GameState,
    events: &mut Events,
    player: PlayerId,
    angle: Angle,
) -> Result<(), CommandRefusal> {
    let (now, per_tick) = (state.clock(), &rules.per_tick);
    let row = state.hero(player).ok_or(CommandRefusal::HeroDead)?;
    check_ready(now, state.players.dash_ready_at[player.index()])?;
    state.players.dash_ready_at[player.index()] = now.plus(per_tick.dash_cooldown);
    state.units.facing[row] = angle;
    state.players.dash_until[player.index()] = now.plus(per_tick.dash);
    // A dash cancels a wind-up.
    state.units.strike_at[row] = Tick::NEVER;
    events.push(Event::Dash { player, at: state.position(row) });
    Ok(())
}

fn raise_banner(
    rules: &CompiledRules,
    state: &mut GameState,
    events: &mut Events,
    player: PlayerId,
) -> Result<(), CommandRefusal> {
    let (now, at) = (state.clock(), player.index());
    let hero = state.hero(player).ok_or(CommandRefusal::HeroDead)?;
    check_ready(now, state.players.banner_ready_at[at])?;
    events.push(Event::Banner { player, at: state.position(hero) });
    state.players.banner_ready_at[at] = now.plus(rules.per_tick.banner_cooldown);
    state.players.banner_until[at] = now.plus(rules.per_tick.banner);
    Ok(())
}

fn train(
    rules: &CompiledRules,
    state: &mut GameState,
    events: &mut Events,
    player: PlayerId,
    kind: KindId,
) -> Result<(), CommandRefusal> {
    let (raw, now, at) = (&rules.raw, state.clock(), player.index());
    let minion = raw.minions.get(kind.index()).ok_or(CommandRefusal::NoKind)?;
    let cost = i32::from(minion.cost) * SUPPLY;
    let minions = state.minions(player);
    let players = &mut state.players;
    let waiting = players.training_len[at];
    if players.supply[at] < cost {
        let supply = players.supply[at] / SUPPLY;
        return Err(CommandRefusal::Supply { cost: minion.cost.into(), supply });
    }
    if waiting >= raw.training_max.min(8) {
        return Err(CommandRefusal::TrainingFull(waiting));
    }
    if minions >= usize::from(raw.minions_max) {
        return Err(CommandRefusal::ArmyFull(minions));
    }
    events.push(Event::Train { player, kind });
    players.supply[at] -= cost;
    players.training[at] |= u32::from(kind.0) << (TRAINING_BITS * u32::from(waiting));
    players.training_len[at] = waiting + 1;
    if waiting == 0 {
        players.training_done_at[at] = now.plus(rules.per_tick.training);
    }
    Ok(())
}

fn check_ready(now: Tick, ready_at: Tick) -> Result<(), CommandRefusal> {
    if now < ready_at { Err(CommandRefusal::NotReady(ready_at.since(now))) } else { Ok(()) }
}
