//! Damage, deaths, respawns and spawns.

use arrayvec::ArrayVec;

use super::combat::note_fight;
use super::orders::{self, Task};
use super::scratch::{CoreHit, Hit, Scratch};
use crate::command::When;
use crate::compiled_rules::CompiledRules;
use crate::event::{Event, Events};
use crate::math::{Angle, Fx, Vec2, dist2, mul};
use crate::setup::SeatSetup;
use crate::state::{
    Circle, Circles, ControlBehaviour, Core, GameState, Global, KindId, NO_CORNER, Order, Outcome, Player,
    SUPPLY, Slot, TRAINING_BITS, TRAINING_MASK, UNITS_MAX, Unit, UnitId,
};
use crate::tick::{PLAYERS_MAX, PlayerId, Tick};

/// The state before tick 0: heroes and minions around their bases, toward the centre.
pub(crate) fn first_state(rules: &CompiledRules, seed: u64, seats: &[SeatSetup]) -> GameState {
    let mut state = GameState::default();
    let winner = PlayerId::NONE.0;
    state.globals.push(Global {
        tick: Tick(0),
        paused: 0,
        pause_until: Tick(0),
        pause_by: PlayerId::NONE.0,
        counted_down_at: Tick::NEVER,
        seed,
        outcome: Outcome::Running,
        winner,
        free_slot: 0,
    });
    for seat in seats {
        state.players.push(first_player(rules, *seat));
        state.cores.push(Core { hp: rules.raw.core_hp, open: 0 });
    }
    for _ in &rules.arena.circles {
        let nobody = PlayerId::NONE;
        state.circles.push(Circle { owner: nobody, taker: nobody, progress: 0, contested: 0 });
    }
    for player in state.player_ids() {
        spawn_hero(rules, &mut state, player);
        let minions = rules.raw.minion_kinds().zip(&rules.raw.minions);
        let kinds = minions.flat_map(|(kind, minion)| (0..minion.start).map(move |_| kind));
        for (place, kind) in kinds.enumerate() {
            let at = spawn_point(rules, player) + rules.base(player).formation(place + 1);
            spawn(rules, &mut state, player, ControlBehaviour::Minion, kind, at);
        }
    }
    state
}

/// Applies the hits of this tick, removes dead units, respawns heroes and spawns trained minions.
pub(crate) fn advance(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    apply_damage(state, scratch);
    apply_core_damage(state, scratch);
    credit_hero_kills(rules, state, scratch);
    despawn(rules, state, scratch);
    for player in state.player_ids() {
        respawn_hero(rules, state, &mut scratch.events, player);
        finish_training(rules, state, &mut scratch.events, player);
    }
    if (state.clock().0 + 1).is_multiple_of(rules.rate.hz()) {
        regenerate(rules, state);
    }
}

fn first_player(rules: &CompiledRules, seat: SeatSetup) -> Player {
    Player {
        team: seat.team,
        hero_kind: if seat.hero.index() < rules.raw.heroes.len() { seat.hero } else { KindId(0) },
        hero: UnitId::NONE,
        respawn_at: Tick::NEVER,
        walk: 8,
        striking: 0,
        aim: Angle::default(),
        dash_until: Tick(0),
        dash_ready_at: Tick(0),
        banner_ready_at: Tick(0),
        banner_until: Tick(0),
        fought_at: Tick(0),
        rallies: 0,
        rally_x: Fx::ZERO,
        rally_y: Fx::ZERO,
        supply: i32::from(rules.raw.supply_start) * SUPPLY,
        training: 0,
        training_len: 0,
        training_done_at: Tick::NEVER,
        score: 0,
        core_damage: 0,
        surrendered: 0,
        births: 0,
        deaths: 0,
        captures: 0,
        commands: 0,
        pauses: 0,
    }
}

// Damage.

fn apply_damage(state: &mut GameState, scratch: &mut Scratch) {
    for &Hit { row, by, attack, damage } in &scratch.hits {
        state.units.hp[row] = state.units.hp[row].saturating_sub(damage);
        note_fight(state, row);
        let (unit, at) = (state.units.id[row], state.position(row));
        scratch.events.push(Event::Hit { unit, at, by, attack, damage });
    }
}

fn apply_core_damage(state: &mut GameState, scratch: &mut Scratch) {
    for hit in &scratch.core_hits {
        let &CoreHit { core, by, damage } = hit;
        scratch.events.push(Event::CoreHit { core, by, damage });
        // All hits of a tick count in full for the attackers, even beyond what the core had left.
        let hp = &mut state.cores.hp[hit.core.index()];
        *hp = (*hp - hit.damage).max(0);
        let by = &mut state.players.core_damage[hit.by.index()];
        *by = by.saturating_add(hit.damage);
    }
}

/// Every team that hit a hero in the tick of its death scores.
fn credit_hero_kills(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    for player in state.player_ids() {
        let Some(hero) = state.hero(player).filter(|&hero| state.units.hp[hero] <= 0) else { continue };
        for other in state.player_ids() {
            let team = state.team_of(other);
            if scratch.hits.iter().any(|hit| hit.row == hero && state.team_of(hit.by) == team) {
                let score = &mut state.players.score[other.index()];
                *score = score.saturating_add(rules.raw.hero_score);
                let points = rules.raw.hero_score;
                if super::objectives::is_first_of_team(state, other) {
                    scratch.events.push(Event::Score { team, points });
                }
            }
        }
    }
}

fn regenerate(rules: &CompiledRules, state: &mut GameState) {
    for player in state.player_ids() {
        let Some(hero) = state.hero(player) else { continue };
        let full = rules.unit(&state.units, hero).hp;
        let peaceful =
            state.clock().since(state.players.fought_at[player.index()]) >= rules.per_tick.regeneration_after;
        let hp = &mut state.units.hp[hero];
        if peaceful && *hp < full {
            *hp = hp.saturating_add(rules.raw.regeneration_per_s).min(full);
        }
    }
}

// Deaths.

/// Removes dead units, and all units of players who are out of the match.
fn despawn(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    let Scratch { gone, events, .. } = scratch;
    gone.clear();
    let out: ArrayVec<bool, PLAYERS_MAX> = state.player_ids().map(|player| is_out(state, player)).collect();
    let any_out = out.contains(&true);
    // Few units die, so this many are tested at once.
    const ROWS: usize = 32;
    let columns = state.units.hp.chunks(ROWS).zip(state.units.owner.chunks(ROWS));
    for ((hp, owners), first) in columns.zip((0..).step_by(ROWS)) {
        if any_out || hp.iter().fold(i16::MAX, |least, &hp| least.min(hp)) <= 0 {
            let units = hp.iter().zip(owners).zip(first..);
            let dead = units.filter(|&((&hp, owner), _)| hp <= 0 || out[owner.index()]);
            gone.extend(dead.map(|(_, row)| row));
        }
    }
    let Some(&first) = gone.first() else { return };
    for &row in &*gone {
        note_death(rules, state, events, row);
    }
    state.units.remove_rows(gone);
    let GameState { units, slots, .. } = state;
    for (row, id) in units.id.iter().enumerate().skip(first) {
        if let Some(slot) = slots.row.get_mut(usize::from(id.index)) {
            *slot = row as u16;
        }
    }
}

/// Whether a player surrendered, or no player of the team has a core left.
#[must_use]
pub fn is_out(state: &GameState, player: PlayerId) -> bool {
    let gave_up = state.players.surrendered.get(player.index()).is_none_or(|&gave_up| gave_up != 0);
    gave_up || !super::objectives::has_core(state, state.team_of(player))
}

fn note_death(rules: &CompiledRules, state: &mut GameState, events: &mut Events, row: usize) {
    let (now, unit, owner) = (state.clock(), state.units.id[row], state.units.owner[row]);
    let (control, kind, at) = (state.units.control[row], state.units.kind[row], state.position(row));
    events.push(Event::Death { unit, owner, control, kind, at });
    orders::forget(state, row);
    if let Some(row) = state.slots.row.get_mut(usize::from(unit.index)) {
        *row = u16::MAX;
    }
    let free = &mut state.globals.free_slot[0];
    *free = unit.index.min(*free);
    let deaths = &mut state.players.deaths[owner.index()];
    *deaths = deaths.saturating_add(1);
    if state.players.hero[owner.index()] == unit {
        state.players.hero[owner.index()] = UnitId::NONE;
        state.players.banner_until[owner.index()] = now;
        state.players.dash_until[owner.index()] = now;
        let minutes = now.0 / (60 * rules.rate.hz());
        let away =
            rules.raw.respawn_ms.saturating_add(rules.raw.respawn_per_minute_ms.saturating_mul(minutes));
        state.players.respawn_at[owner.index()] = now.plus(rules.rate.ticks_in_ms(away).max(1));
    }
}

// Spawns.

fn respawn_hero(rules: &CompiledRules, state: &mut GameState, events: &mut Events, player: PlayerId) {
    let (now, at) = (state.clock(), player.index());
    if state.players.respawn_at[at] == Tick::NEVER {
        return;
    }
    if now.0 >= rules.per_tick.sudden_death || is_out(state, player) {
        state.players.respawn_at[at] = Tick::NEVER;
    } else if now >= state.players.respawn_at[at] {
        state.players.respawn_at[at] = Tick::NEVER;
        spawn_hero(rules, state, player);
        note_spawn(state, events, state.players.hero[at]);
    }
}

fn note_spawn(state: &GameState, events: &mut Events, unit: UnitId) {
    if let Some(row) = state.row(unit) {
        let (owner, control) = (state.units.owner[row], state.units.control[row]);
        events.push(Event::Spawn { unit, owner, control, at: state.position(row) });
    }
}

fn finish_training(rules: &CompiledRules, state: &mut GameState, events: &mut Events, player: PlayerId) {
    let (now, at) = (state.clock(), player.index());
    let players = &mut state.players;
    if players.training_len[at] == 0 || now < players.training_done_at[at] {
        return;
    }
    let kind = KindId(players.training[at] as u8 & TRAINING_MASK);
    players.training[at] >>= TRAINING_BITS;
    players.training_len[at] -= 1;
    let more = players.training_len[at] > 0;
    players.training_done_at[at] = if more { now.plus(rules.per_tick.training) } else { Tick::NEVER };
    if !is_out(state, player) {
        let place = training_site(rules, state, player);
        let born = spawn(rules, state, player, ControlBehaviour::Minion, kind, place);
        if let Some(unit) = born {
            rally(state, unit);
            note_spawn(state, events, unit);
        }
    }
}

/// Sends a new minion to its player's rally point, if there is one.
fn rally(state: &mut GameState, unit: UnitId) {
    let Some(row) = state.row(unit) else { return };
    let at = state.units.owner[row].index();
    if state.players.rallies[at] != 0 {
        let point = Vec2 { x: state.players.rally_x[at], y: state.players.rally_y[at] };
        orders::give(state, row, Task::to(Order::AttackMove, point), When::Now);
    }
}

/// Returns where a new minion of `player` appears: of the base and the circles that its team holds undisputed the one
/// nearest to the rally point or, without one, to the hero; the base while the hero is dead.
fn training_site(rules: &CompiledRules, state: &GameState, player: PlayerId) -> Vec2 {
    let (base, players, at) = (rules.base(player), &state.players, player.index());
    let hero = || state.hero(player).map(|hero| state.position(hero));
    let rally = Vec2 { x: players.rally_x[at], y: players.rally_y[at] };
    let front = if players.rallies[at] != 0 { Some(rally) } else { hero() };
    let Circles { owner, progress, contested, .. } = &state.circles;
    let is_held = |&circle: &usize| {
        owner[circle] != PlayerId::NONE
            && state.team_of(owner[circle]) == state.team_of(player)
            && (progress[circle], contested[circle]) == (0, 0)
    };
    let circles = (0..rules.arena.circles.len()).filter(is_held).map(|circle| rules.arena.circles[circle]);
    let sites = circles.chain([spawn_point(rules, player)]);
    // Of two equally near the one nearer to the base, then the one to its left: the same on every side of the map.
    let order = |site: &Vec2| {
        let left = base.forward.turned(0x4000).vector(Fx::ONE);
        let aside = mul(site.x, left.x) + mul(site.y, left.y);
        (dist2(*site, front.unwrap_or(base.at)), dist2(*site, base.at), -aside)
    };
    sites.min_by_key(order).unwrap_or(base.at)
}

/// The place in front of a base where its units spawn.
fn spawn_point(rules: &CompiledRules, player: PlayerId) -> Vec2 {
    let base = rules.base(player);
    let apart = rules.per_tick.core_radius + rules.per_tick.widest() * 4;
    base.at + base.forward.vector(apart)
}

fn spawn_hero(rules: &CompiledRules, state: &mut GameState, player: PlayerId) {
    let kind = state.players.hero_kind[player.index()];
    let born = spawn(rules, state, player, ControlBehaviour::Player, kind, spawn_point(rules, player));
    state.players.hero[player.index()] = born.unwrap_or(UnitId::NONE);
}

/// Spawns a unit of `player` at the free place nearest to `at`; `None` if the world is full.
pub(crate) fn spawn(
    rules: &CompiledRules,
    state: &mut GameState,
    player: PlayerId,
    control: ControlBehaviour,
    kind: KindId,
    at: Vec2,
) -> Option<UnitId> {
    let stats = rules.per_tick.of(control, kind);
    let base = rules.base(player);
    let free = |place| {
        let free = rules.arena.obstacles.cleared(at + base.formation(place), stats.radius)?;
        rules.arena.obstacles.grid_point_near(free, stats.radius)
    };
    let at = (0..37).find_map(free)?;
    let now = state.clock();
    let id = take_slot(state, state.units.len())?;
    let order = match control {
        ControlBehaviour::Player => Order::Idle,
        ControlBehaviour::Minion => Order::Follow,
    };
    state.units.push(Unit {
        id,
        owner: player,
        phase: state.players.births[player.index()],
        kind,
        control,
        hp: stats.hp,
        x: at.x,
        y: at.y,
        vx: Fx::ZERO,
        vy: Fx::ZERO,
        facing: rules.base(player).forward,
        order,
        goal_x: at.x,
        goal_y: at.y,
        quarry: UnitId::NONE,
        queued: 0,
        corner: NO_CORNER,
        target: UnitId::NONE,
        strike_at: Tick::NEVER,
        ready_at: now,
    });
    let births = &mut state.players.births[player.index()];
    *births = births.wrapping_add(1);
    Some(id)
}

/// Assigns the lowest free slot to the unit in `row`; `None` if the world is full.
fn take_slot(state: &mut GameState, row: usize) -> Option<UnitId> {
    if row >= UNITS_MAX {
        return None;
    }
    let (slots, from) = (&mut state.slots, usize::from(state.globals.free_slot[0]));
    let free = slots.row.iter().skip(from).position(|&row| row == u16::MAX);
    let slot = match free {
        Some(place) => {
            slots.generation[from + place] = slots.generation[from + place].wrapping_add(1);
            from + place
        }
        None => slots.push(Slot { generation: 0, row: u16::MAX }),
    };
    slots.row[slot] = row as u16;
    // There are at most UNITS_MAX slots: a new one is pushed only when all are taken.
    state.globals.free_slot[0] = slot as u16 + 1;
    Some(UnitId { index: slot as u16, generation: slots.generation[slot] })
}
