//! Births, wounds, deaths and returns.

use alloc::vec::Vec;

use super::math::{Angle, Vec2, dist2, square};
use super::pace::Terms;
use super::state::{
    AttackBehaviour, Circle, ControlBehaviour, Core, GameState, Global, Order, Outcome, Player, Slot,
    UNITS_MAX, Unit, UnitId,
};
use super::tick::{PlayerId, Tick};
use super::world::{CoreHit, Scratch, SeatSetup};

/// The state before tick 0: heroes and minions around their bases, toward the centre.
pub(super) fn first_state(terms: &Terms, seed: u64, seats: &[SeatSetup]) -> GameState {
    let mut state = GameState::default();
    state.globals.push(Global { tick: Tick(0), seed, outcome: Outcome::Running, winner: PlayerId::NONE.0 });
    for seat in seats {
        state.players.push(first_player(terms, *seat));
        state.cores.push(Core { hp: terms.rules.core_hp, open: 0 });
    }
    for _ in &terms.arena.circles {
        let nobody = PlayerId::NONE;
        state.circles.push(Circle { owner: nobody, taker: nobody, progress: 0, contested: 0 });
    }
    for player in state.player_ids() {
        bear_hero(terms, &mut state, player);
        let swordsmen = (0..terms.rules.start_swordsmen).map(|_| AttackBehaviour::Swordsman);
        let archers = (0..terms.rules.start_archers).map(|_| AttackBehaviour::Archer);
        for (place, kind) in swordsmen.chain(archers).enumerate() {
            let at = muster(terms, player) + terms.base(player).formation(place + 1);
            bear(terms, &mut state, player, ControlBehaviour::Minion, kind, at);
        }
    }
    state
}

/// Applies what was hit in this tick, buries the dead, and lets heroes return and minions be born.
pub(super) fn advance(terms: &Terms, state: &mut GameState, scratch: &mut Scratch) {
    wound(state, scratch);
    wound_cores(state, &scratch.core_hits);
    credit_hero_kills(terms, state, scratch);
    bury(terms, state, &mut scratch.keep);
    for player in state.player_ids() {
        return_hero(terms, state, player);
        finish_training(terms, state, player);
    }
    if (state.tick().0 + 1).is_multiple_of(terms.rate.hz()) {
        regenerate(terms, state);
    }
}

fn first_player(terms: &Terms, seat: SeatSetup) -> Player {
    Player {
        team: seat.team,
        hero_kind: seat.hero,
        hero: UnitId::NONE,
        respawn_at: Tick::NEVER,
        walk: 8,
        striking: 0,
        aim: Angle::default(),
        dash_ready_at: Tick(0),
        banner_ready_at: Tick(0),
        banner_until: Tick(0),
        supply: i32::from(terms.rules.supply_start) * super::objectives::SUPPLY,
        training: 0,
        training_len: 0,
        training_done_at: Tick::NEVER,
        score: 0,
        core_damage: 0,
        surrendered: 0,
        deaths: 0,
        captures: 0,
        commands: 0,
    }
}

// Wounds.

fn wound(state: &mut GameState, scratch: &Scratch) {
    let now = state.tick();
    for hit in &scratch.hits {
        state.units.hp[hit.row] = state.units.hp[hit.row].saturating_sub(hit.damage);
        state.units.fought_at[hit.row] = now;
    }
}

fn wound_cores(state: &mut GameState, hits: &[CoreHit]) {
    for hit in hits {
        // What a core has left is shared by all who hit it in this tick: each is credited in full.
        let hp = &mut state.cores.hp[hit.core.index()];
        *hp = (*hp - hit.damage).max(0);
        let by = &mut state.players.core_damage[hit.by.index()];
        *by = by.saturating_add(hit.damage);
    }
}

/// Every team that struck a hero in the tick in which it fell has its points.
fn credit_hero_kills(terms: &Terms, state: &mut GameState, scratch: &Scratch) {
    for player in state.player_ids() {
        let Some(hero) = state.hero(player).filter(|&hero| state.units.hp[hero] <= 0) else { continue };
        for other in state.player_ids() {
            let team = state.team_of(other);
            if scratch.hits.iter().any(|hit| hit.row == hero && state.team_of(hit.by) == team) {
                let score = &mut state.players.score[other.index()];
                *score = score.saturating_add(terms.rules.hero_score);
            }
        }
    }
}

fn regenerate(terms: &Terms, state: &mut GameState) {
    for player in state.player_ids() {
        let Some(hero) = state.hero(player) else { continue };
        let full = terms.unit(&state.units, hero).hp;
        let peaceful = state.tick().since(state.units.fought_at[hero]) >= terms.pace.regeneration_after;
        let hp = &mut state.units.hp[hero];
        if peaceful && *hp < full {
            *hp = hp.saturating_add(terms.rules.regeneration_per_s).min(full);
        }
    }
}

// Deaths.

/// Removes the dead, and all units of those who are out of the match.
fn bury(terms: &Terms, state: &mut GameState, keep: &mut Vec<bool>) {
    keep.clear();
    for row in 0..state.units.len() {
        let lives = state.units.hp[row] > 0 && !is_out(state, state.units.owner[row]);
        keep.push(lives);
        if !lives {
            note_death(terms, state, row);
        }
    }
    if !keep.contains(&false) {
        return;
    }
    state.units.retain(keep);
    for (row, id) in state.units.id.iter().enumerate() {
        if let Some(slot) = state.slots.row.get_mut(usize::from(id.index)) {
            *slot = row as u16;
        }
    }
}

/// Whether a player gave up, or no member of the team has a core any more.
pub(super) fn is_out(state: &GameState, player: PlayerId) -> bool {
    let gave_up = state.players.surrendered.get(player.index()).is_none_or(|&gave_up| gave_up != 0);
    gave_up || !super::objectives::has_core(state, state.team_of(player))
}

fn note_death(terms: &Terms, state: &mut GameState, row: usize) {
    let (now, id, owner) = (state.tick(), state.units.id[row], state.units.owner[row]);
    if let Some(slot) = state.slots.row.get_mut(usize::from(id.index)) {
        *slot = u16::MAX;
    }
    let Some(deaths) = state.players.deaths.get_mut(owner.index()) else { return };
    *deaths = deaths.saturating_add(1);
    if state.players.hero[owner.index()] == id {
        state.players.hero[owner.index()] = UnitId::NONE;
        state.players.banner_until[owner.index()] = now;
        let minutes = now.0 / (60 * terms.rate.hz());
        let away =
            terms.rules.respawn_ms.saturating_add(terms.rules.respawn_per_minute_ms.saturating_mul(minutes));
        state.players.respawn_at[owner.index()] = now.plus(terms.rate.ticks_in_ms(away).max(1));
    }
}

// Births.

fn return_hero(terms: &Terms, state: &mut GameState, player: PlayerId) {
    let (now, at) = (state.tick(), player.index());
    if state.players.respawn_at[at] == Tick::NEVER {
        return;
    }
    if now.0 >= terms.pace.sudden_death || is_out(state, player) {
        state.players.respawn_at[at] = Tick::NEVER;
    } else if now >= state.players.respawn_at[at] {
        state.players.respawn_at[at] = Tick::NEVER;
        bear_hero(terms, state, player);
    }
}

fn finish_training(terms: &Terms, state: &mut GameState, player: PlayerId) {
    let (now, at) = (state.tick(), player.index());
    let players = &mut state.players;
    if players.training_len[at] == 0 || now < players.training_done_at[at] {
        return;
    }
    let kind =
        if players.training[at] & 1 == 0 { AttackBehaviour::Swordsman } else { AttackBehaviour::Archer };
    players.training[at] >>= 1;
    players.training_len[at] -= 1;
    let more = players.training_len[at] > 0;
    players.training_done_at[at] = if more { now.plus(terms.pace.training) } else { Tick::NEVER };
    if !is_out(state, player) {
        let place = birthplace(terms, state, player);
        bear(terms, state, player, ControlBehaviour::Minion, kind, place);
    }
}

/// The circle in which the hero stands, if its team holds it; else before the base.
fn birthplace(terms: &Terms, state: &GameState, player: PlayerId) -> Vec2 {
    let hero = state.hero(player).map(|hero| state.position(hero));
    let held = terms.arena.circles.iter().zip(&state.circles.owner).find(|&(&circle, &owner)| {
        owner != PlayerId::NONE
            && state.team_of(owner) == state.team_of(player)
            && hero.is_some_and(|hero| dist2(hero, circle) <= square(terms.pace.circle_radius))
    });
    held.map_or_else(|| muster(terms, player), |(&circle, _)| circle)
}

/// The place before a base where its units are born.
fn muster(terms: &Terms, player: PlayerId) -> Vec2 {
    let base = terms.base(player);
    let apart = terms.pace.core_radius + terms.pace.widest() * 4;
    base.at + base.forward.vector(apart)
}

fn bear_hero(terms: &Terms, state: &mut GameState, player: PlayerId) {
    let kind = state.players.hero_kind[player.index()];
    let born = bear(terms, state, player, ControlBehaviour::Player, kind, muster(terms, player));
    state.players.hero[player.index()] = born.unwrap_or(UnitId::NONE);
}

/// A new unit of `player` at the free place nearest to `at`; none when the world is full.
fn bear(
    terms: &Terms,
    state: &mut GameState,
    player: PlayerId,
    control: ControlBehaviour,
    attack: AttackBehaviour,
    at: Vec2,
) -> Option<UnitId> {
    if state.units.len() >= UNITS_MAX {
        return None;
    }
    let pace = terms.pace.of(control, attack);
    let base = terms.base(player);
    let at = (0..37).find_map(|place| terms.arena.cleared(at + base.formation(place), pace.radius))?;
    let now = state.tick();
    let id = take_slot(state, state.units.len());
    let order = match control {
        ControlBehaviour::Player => Order::Idle,
        ControlBehaviour::Minion => Order::Follow,
    };
    state.units.push(Unit {
        id,
        owner: player,
        attack,
        control,
        hp: pace.hp,
        x: at.x,
        y: at.y,
        vx: super::math::Fx::ZERO,
        vy: super::math::Fx::ZERO,
        facing: terms.base(player).forward,
        order,
        goal_x: at.x,
        goal_y: at.y,
        quarry: UnitId::NONE,
        target: UnitId::NONE,
        strike_at: Tick::NEVER,
        ready_at: now,
        fought_at: now,
        dash_until: now,
    });
    Some(id)
}

/// The lowest free slot, from now on of the unit in `row`.
fn take_slot(state: &mut GameState, row: usize) -> UnitId {
    let slots = &mut state.slots;
    let free = slots.row.iter().position(|&row| row == u16::MAX);
    let slot = match free {
        Some(slot) => {
            slots.generation[slot] = slots.generation[slot].wrapping_add(1);
            slot
        }
        None => slots.push(Slot { generation: 0, row: u16::MAX }),
    };
    slots.row[slot] = row as u16;
    UnitId { index: slot as u16, generation: slots.generation[slot] }
}
