//! The first phase: what the players want. A command that cannot be carried out is a no-op on every peer.

use super::command::{Command, HeroControl, PlayerInput, Selection, TickInputs};
use super::math::{Angle, Vec2};
use super::pace::Terms;
use super::state::{AttackBehaviour, ControlBehaviour, GameState, Order, UnitId};
use super::tick::{PlayerId, Tick};

/// `walk` in the players' table without a direction.
const NO_DIRECTION: u8 = 8;

/// Takes over every player's held control and carries out their commands in order.
pub(super) fn apply(terms: &Terms, state: &mut GameState, inputs: &TickInputs) {
    for (player, input) in inputs.iter().take(state.players.len()) {
        if state.players.surrendered[player.index()] == 0 {
            apply_input(terms, state, player, input);
        }
    }
}

fn apply_input(terms: &Terms, state: &mut GameState, player: PlayerId, input: &PlayerInput) {
    let PlayerInput { hero: HeroControl { walk, strike }, commands } = input;
    let at = player.index();
    state.players.walk[at] = walk.map_or(NO_DIRECTION, u8::from);
    state.players.striking[at] = u8::from(strike.is_some());
    state.players.aim[at] = strike.unwrap_or_default();
    for command in commands {
        state.players.commands[at] = state.players.commands[at].saturating_add(1);
        apply_command(terms, state, player, command);
    }
}

fn apply_command(terms: &Terms, state: &mut GameState, player: PlayerId, command: &Command) {
    match command {
        Command::HeroGo(target) => order_hero(terms, state, player, Order::Move, target.at(), UnitId::NONE),
        Command::HeroAttack(quarry) => attack_with_hero(terms, state, player, *quarry),
        Command::Dash(angle) => dash(terms, state, player, *angle),
        Command::Banner => raise_banner(terms, state, player),
        Command::Move(selection, target) => send(terms, state, player, selection, Order::Move, target.at()),
        Command::AttackMove(selection, target) => {
            send(terms, state, player, selection, Order::AttackMove, target.at());
        }
        Command::Attack(selection, quarry) => attack(state, player, selection, *quarry),
        Command::Stop(selection) => stand(state, player, selection, Order::Idle),
        Command::Hold(selection) => stand(state, player, selection, Order::Hold),
        Command::Follow(selection) => stand(state, player, selection, Order::Follow),
        Command::Train(kind) => train(terms, state, player, *kind),
        Command::Surrender => state.players.surrendered[player.index()] = 1,
    }
}

/// The rows of those of `selection` that are living minions of `player`, each once.
fn own_minions<'a>(
    state: &'a GameState,
    player: PlayerId,
    selection: &'a Selection,
) -> impl Iterator<Item = usize> + use<'a> {
    let rows = selection.iter().enumerate().filter_map(move |(place, &id)| {
        // Named twice counts once: at most 32 names, so the search costs little.
        if selection[..place].contains(&id) { None } else { state.row(id) }
    });
    rows.filter(move |&row| {
        state.units.owner[row] == player && state.units.control[row] == ControlBehaviour::Minion
    })
}

/// Sends minions to places around `target`, in the order in which they are named.
fn send(
    terms: &Terms,
    state: &mut GameState,
    player: PlayerId,
    selection: &Selection,
    order: Order,
    target: Vec2,
) {
    let base = terms.base(player);
    let rows: arrayvec::ArrayVec<usize, { super::command::SELECTION_MAX }> =
        own_minions(state, player, selection).collect();
    for (place, row) in rows.into_iter().enumerate() {
        let radius = terms.unit(&state.units, row).radius;
        // Where no body fits, the unit goes as near as it can.
        let wanted = target + base.formation(place);
        let goal = terms.arena.cleared(wanted, radius).unwrap_or(wanted);
        set_order(state, row, order, goal, UnitId::NONE);
    }
}

fn attack(state: &mut GameState, player: PlayerId, selection: &Selection, quarry: UnitId) {
    if !is_enemy(state, player, quarry) {
        return;
    }
    let rows: arrayvec::ArrayVec<usize, { super::command::SELECTION_MAX }> =
        own_minions(state, player, selection).collect();
    for row in rows {
        set_order(state, row, Order::Attack, state.position(row), quarry);
    }
}

/// An order that needs no goal but the place where the unit stands.
fn stand(state: &mut GameState, player: PlayerId, selection: &Selection, order: Order) {
    let rows: arrayvec::ArrayVec<usize, { super::command::SELECTION_MAX }> =
        own_minions(state, player, selection).collect();
    for row in rows {
        set_order(state, row, order, state.position(row), UnitId::NONE);
    }
}

fn set_order(state: &mut GameState, row: usize, order: Order, goal: Vec2, quarry: UnitId) {
    let units = &mut state.units;
    units.order[row] = order;
    units.goal_x[row] = goal.x;
    units.goal_y[row] = goal.y;
    units.quarry[row] = quarry;
    units.target[row] = quarry;
}

fn order_hero(
    terms: &Terms,
    state: &mut GameState,
    player: PlayerId,
    order: Order,
    goal: Vec2,
    quarry: UnitId,
) {
    if let Some(row) = state.hero(player) {
        let radius = terms.unit(&state.units, row).radius;
        let goal = terms.arena.cleared(goal, radius).unwrap_or(goal);
        set_order(state, row, order, goal, quarry);
    }
}

fn attack_with_hero(terms: &Terms, state: &mut GameState, player: PlayerId, quarry: UnitId) {
    if is_enemy(state, player, quarry)
        && let Some(row) = state.hero(player)
    {
        order_hero(terms, state, player, Order::Attack, state.position(row), quarry);
    }
}

fn is_enemy(state: &GameState, player: PlayerId, unit: UnitId) -> bool {
    state.row(unit).is_some_and(|row| state.team(row) != state.team_of(player))
}

fn dash(terms: &Terms, state: &mut GameState, player: PlayerId, angle: Angle) {
    let (now, pace) = (state.tick(), &terms.pace);
    let Some(row) = state.hero(player) else { return };
    if now < state.players.dash_ready_at[player.index()] {
        return;
    }
    state.players.dash_ready_at[player.index()] = now.plus(pace.dash_cooldown);
    state.units.facing[row] = angle;
    state.units.dash_until[row] = now.plus(pace.dash);
    // A dash breaks off the blow.
    state.units.strike_at[row] = Tick::NEVER;
}

fn raise_banner(terms: &Terms, state: &mut GameState, player: PlayerId) {
    let (now, at) = (state.tick(), player.index());
    if state.hero(player).is_none() || now < state.players.banner_ready_at[at] {
        return;
    }
    state.players.banner_ready_at[at] = now.plus(terms.pace.banner_cooldown);
    state.players.banner_until[at] = now.plus(terms.pace.banner);
}

fn train(terms: &Terms, state: &mut GameState, player: PlayerId, kind: AttackBehaviour) {
    let (rules, now, at) = (&terms.rules, state.tick(), player.index());
    let cost = match kind {
        AttackBehaviour::Swordsman => rules.swordsman_cost,
        AttackBehaviour::Archer => rules.archer_cost,
    };
    let cost = i32::from(cost) * super::objectives::SUPPLY;
    let minions = state.minions(player);
    let players = &mut state.players;
    let waiting = players.training_len[at];
    if players.supply[at] < cost
        || waiting >= rules.training_max.min(8)
        || minions >= usize::from(rules.minions_max)
    {
        return;
    }
    players.supply[at] -= cost;
    players.training[at] |= u8::from(kind == AttackBehaviour::Archer) << waiting;
    players.training_len[at] = waiting + 1;
    if waiting == 0 {
        players.training_done_at[at] = now.plus(terms.pace.training);
    }
}
