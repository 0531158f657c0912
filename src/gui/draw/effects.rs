//! Visual effects that outlast the tick in which they begin: hits, deaths, arrows that missed. They are derived from
//! the events of a tick, and where there is no event, from the difference between two states.

use std::collections::VecDeque;

use game::EventBacklog;
use macroquad::math::{Vec2, vec2};
use sim::{
    self, AttackBehaviour, ControlBehaviour, Event, GameState, KindId, PLAYERS_MAX, PlayerId, Setup, Tick,
    UnitId,
};

use super::bodies;
use super::canvas::Canvas;
use super::colours::{self, GROUND, INK, NEUTRAL, WHITE, alpha, mix};
use super::outlines::{body_points, turned};
use super::view::{View, circle_place, ease_out, milli, point, radians};

/// Lifetime of the marks of dead units and of stuck arrows, in seconds.
const FALLEN_S: f32 = 10.0;
const STUCK_S: f32 = 3.0;
/// Opacity of a dead unit's mark under living units, and the distances from these at which it is lowest and full, in
/// tiles.
const FALLEN_IN_CROWD: f32 = 0.12;
const FALLEN_ROOM: (f32, f32) = (0.6, 1.6);
/// Lifetime of a chip and of a ring, in seconds.
const CHIP_S: f32 = 0.4;
const PULSE_S: f32 = 0.45;
/// Time in which a dead unit folds flat, in seconds.
const FOLD_S: f32 = 0.18;
/// Maximum number of effects of each kind; the oldest are dropped first.
const MOST: usize = 512;
/// Maximum distance of an attacker from its hit, and of an arrow from its target, in tiles.
const NEAR: f32 = 1.0;
const ARROW_NEAR: f32 = 1.2;
const LONG_AGO: f32 = -1.0e6;

/// Effect state of a unit.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    generation: u16,
    /// Distance walked, in tiles.
    pub(super) walked: f32,
    /// Time of the last hit on the unit, in ticks, and the direction in which it pushed, on the screen.
    pub(super) hit_at: f32,
    pub(super) hit_away: Vec2,
    /// Time of the unit's last attack, in ticks.
    pub(super) struck_at: f32,
}

const NOTHING: Memory =
    Memory { generation: 0, walked: 0.0, hit_at: LONG_AGO, hit_away: Vec2::ZERO, struck_at: LONG_AGO };

struct Fallen {
    at: Vec2,
    angle: f32,
    since: f32,
    team: u8,
    control: ControlBehaviour,
    kind: KindId,
}

/// Moving effect: a stuck arrow, a chip, or a ring.
struct Mark {
    at: Vec2,
    way: Vec2,
    since: f32,
    team: u8,
}

/// All effects that outlast a tick. Positions are in tiles.
pub(super) struct Effects {
    slots: Vec<Memory>,
    fallen: VecDeque<Fallen>,
    stuck: VecDeque<Mark>,
    chips: VecDeque<Mark>,
    /// Rings; `way.x` is the final radius.
    pulses: VecDeque<Mark>,
    core_hits: [f32; PLAYERS_MAX],
}

impl Default for Effects {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            fallen: VecDeque::new(),
            stuck: VecDeque::new(),
            chips: VecDeque::new(),
            pulses: VecDeque::new(),
            core_hits: [LONG_AGO; PLAYERS_MAX],
        }
    }
}

impl Effects {
    pub(super) fn memory(&self, id: UnitId) -> Memory {
        let memory = self.slots.get(usize::from(id.index)).copied();
        memory.filter(|memory| memory.generation == id.generation).unwrap_or(NOTHING)
    }

    /// Returns the time of the last hit on a core, in ticks.
    pub(super) fn core_hit(&self, player: PlayerId) -> f32 {
        self.core_hits.get(player.index()).copied().unwrap_or(LONG_AGO)
    }

    /// Records the ticks between two states and their events.
    pub(super) fn observe(
        &mut self,
        setup: &Setup,
        previous: &GameState,
        current: &GameState,
        events: &EventBacklog,
    ) {
        let now = current.clock().0 as f32;
        self.slots.resize(current.slots.len().max(self.slots.len()), NOTHING);
        for row in 0..current.units.len() {
            let id = current.units.id[row];
            if let Some(before) = previous.row(id) {
                self.remember(id).walked += place(previous, before).distance(place(current, row));
            }
        }
        for happened in events.iter() {
            // Effects of a tick are visible in the state after it. Nothing happens in a paused tick.
            let when = clock_of(current, happened.tick) + 1.0;
            match happened.event {
                Event::Hit { unit, at, by, attack, .. } => {
                    let way = blow_direction(previous, events, happened.tick, (at, by, attack));
                    self.hit((previous, current), unit, to_tiles(at), way, when);
                }
                Event::Blow { player, at, .. } => self.strike(setup, current, player, to_tiles(at), when),
                Event::Death { unit, owner, control, kind, at } => {
                    let angle = previous.row(unit).map_or(0.0, |row| radians(previous.units.facing[row]));
                    let team = current.team_of(owner);
                    let fallen = Fallen { at: to_tiles(at), angle, since: when, team, control, kind };
                    self.fall(unit, fallen);
                }
                Event::Spawn { owner, control: ControlBehaviour::Player, at, .. } => {
                    self.pulse(to_tiles(at), 2.5, when, current.team_of(owner));
                }
                Event::Capture { circle, player } => {
                    let at = circle_place(&setup.map, circle.into());
                    let radius = setup.rules.circle_radius as f32 / 1000.0 + 1.4;
                    self.pulse(at, radius, when, current.team_of(player));
                }
                _ => {}
            }
        }
        self.observe_arrows(setup, previous, current, events);
        self.observe_cores(setup, previous, current, now);
        self.prune(now, setup.tick_rate.hz() as f32);
    }

    /// Returns the effect state of a unit, created on demand.
    fn remember(&mut self, id: UnitId) -> &mut Memory {
        let slot = usize::from(id.index);
        if slot >= self.slots.len() {
            self.slots.resize(slot + 1, NOTHING);
        }
        let memory = &mut self.slots[slot];
        if memory.generation != id.generation {
            *memory = Memory { generation: id.generation, ..NOTHING };
        }
        memory
    }

    /// Records a hit; `way` is its direction, if known.
    fn hit(
        &mut self,
        (previous, current): (&GameState, &GameState),
        unit: UnitId,
        at: Vec2,
        way: Option<Vec2>,
        when: f32,
    ) {
        let side = |state: &GameState| {
            let row = state.row(unit)?;
            Some((state.team(row), -Vec2::from_angle(radians(state.units.facing[row]))))
        };
        // A unit that was born and died between two states has no effects.
        let Some((team, back)) = side(previous).or_else(|| side(current)) else { return };
        let away = way.unwrap_or(back);
        let memory = self.remember(unit);
        (memory.hit_at, memory.hit_away) = (when, vec2(away.x, -away.y));
        self.scatter(at, away, when, team, 3, u32::from(unit.index));
    }

    /// Swings the blade of the unit at this position.
    fn strike(&mut self, setup: &Setup, current: &GameState, player: PlayerId, at: Vec2, when: f32) {
        let units = &current.units;
        let attack = |row: usize| setup.rules.unit(units.control[row], units.kind[row]).attack;
        let own = |&row: &usize| units.owner[row] == player && attack(row) == AttackBehaviour::Swordsman;
        let apart = |row: usize| place(current, row).distance(at);
        let rows = (0..current.units.len()).filter(own).map(|row| (apart(row), row));
        if let Some((_, row)) = rows.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|(apart, _)| *apart < NEAR) {
            self.remember(current.units.id[row]).struck_at = when;
        }
    }

    fn fall(&mut self, unit: UnitId, fallen: Fallen) {
        let Fallen { at, angle, since, team, control, .. } = fallen;
        let is_hero = control == ControlBehaviour::Player;
        let memory = self.memory(unit);
        // Whether a hit killed it: units of an eliminated team die without one.
        let was_hit = memory.hit_at == since;
        let away =
            if was_hit { vec2(memory.hit_away.x, -memory.hit_away.y) } else { -Vec2::from_angle(angle) };
        push(&mut self.fallen, fallen);
        self.scatter(at, away, since, team, if is_hero { 18 } else { 8 }, u32::from(unit.index));
        if is_hero {
            self.pulse(at, 3.0, since, team);
        }
    }

    /// Adds a ring that spreads to a radius, in tiles.
    fn pulse(&mut self, at: Vec2, radius: f32, since: f32, team: u8) {
        push(&mut self.pulses, Mark { at, way: vec2(radius, 0.0), since, team });
    }

    /// Adds chips of a team's colour that fly away from a hit.
    fn scatter(&mut self, at: Vec2, away: Vec2, now: f32, team: u8, count: u32, seed: u32) {
        for chip in 0..count {
            let (turn, speed) = (noise(now as u32, seed, chip * 2), noise(now as u32, seed, chip * 2 + 1));
            let way = away.rotate(Vec2::from_angle((turn - 0.5) * 2.6)) * (1.2 + 2.6 * speed);
            push(&mut self.chips, Mark { at, way, since: now, team });
        }
    }

    /// Sticks arrows that vanished without a hit into the ground. No event reports a miss.
    fn observe_arrows(
        &mut self,
        setup: &Setup,
        previous: &GameState,
        current: &GameState,
        events: &EventBacklog,
    ) {
        let now = current.clock().0 as f32;
        for arrow in gone_arrows(previous, current) {
            let (at, way) =
                (arrow_place(previous, arrow, previous.clock().0 as f32), arrow_way(previous, arrow));
            let owner = previous.projectiles.owner[arrow];
            let team = previous.team_of(owner);
            let end = at + way * 0.6;
            let hit = events.iter().any(|happened| {
                matches!(happened.event, Event::Hit { at, by, attack: AttackBehaviour::Archer, .. }
                    if by == owner && to_tiles(at).distance(end) < ARROW_NEAR)
            });
            let core = setup
                .map
                .bases
                .iter()
                .find(|&&base| milli(base).distance(end) < setup.rules.core_radius as f32 / 1000.0 + 0.4);
            if let Some(&core) = core {
                let edge = milli(core) + (end - milli(core)).normalize_or_zero() * 2.4;
                self.pulse(edge, 0.5, now, team);
            } else if !hit {
                let way = way.normalize_or_zero();
                push(&mut self.stuck, Mark { at: end, way, since: now, team });
            }
        }
    }

    /// Records cores that lost hit points, by an attack or by sudden death, for which there is no event.
    fn observe_cores(&mut self, setup: &Setup, previous: &GameState, current: &GameState, now: f32) {
        for player in current.player_ids() {
            let seat = player.index();
            let (before, after) = (previous.cores.hp[seat], current.cores.hp[seat]);
            let Some(&base) = setup.map.bases.get(seat).filter(|_| after < before) else { continue };
            self.core_hits[seat] = now;
            let chips = if after == 0 { 40 } else { 2 };
            for chip in 0..chips {
                let out = Vec2::from_angle(noise(now as u32, chip, 7) * std::f32::consts::TAU);
                self.scatter(milli(base) + out, out, now, current.team_of(player), 1, chip);
            }
        }
    }

    fn prune(&mut self, now: f32, hz: f32) {
        let old = |since: f32, lasts: f32| now - since > lasts * hz;
        while self.fallen.front().is_some_and(|mark| old(mark.since, FALLEN_S)) {
            self.fallen.pop_front();
        }
        for (marks, lasts) in
            [(&mut self.stuck, STUCK_S), (&mut self.chips, CHIP_S), (&mut self.pulses, PULSE_S)]
        {
            while marks.front().is_some_and(|mark| old(mark.since, lasts)) {
                marks.pop_front();
            }
        }
    }

    // Drawing.

    /// Draws the marks on the ground.
    pub(super) fn draw_marks(&self, canvas: &mut Canvas, view: &View<'_>) {
        for fallen in &self.fallen {
            draw_fallen(canvas, view, fallen);
        }
        if view.look.is_minimal {
            return;
        }
        for stuck in &self.stuck {
            let left = 1.0 - view.age(stuck.since) / STUCK_S;
            let (tip, colour) = (view.px(stuck.at), mix(GROUND, colours::team(stuck.team), 0.75));
            let tail = view.px(stuck.at - stuck.way * 0.55);
            let fade = (left * 4.0).clamp(0.0, 1.0);
            canvas.line(tip, tail, view.line * 1.4, alpha(INK, 0.8 * fade));
            canvas.line(tip, tail, view.line * 0.6, alpha(colour, fade));
            canvas.disc(tip, view.line, alpha(INK, 0.8 * fade));
        }
        for pulse in &self.pulses {
            let share = view.age(pulse.since) / PULSE_S;
            if (0.0..1.0).contains(&share) {
                let colour = alpha(colours::team(pulse.team), 0.8 * (1.0 - share));
                canvas.ring(view.px(pulse.at), pulse.way.x * ease_out(share) * view.tile, view.line, colour);
            }
        }
    }

    pub(super) fn draw_chips(&self, canvas: &mut Canvas, view: &View<'_>) {
        for chip in self.chips.iter().filter(|_| !view.look.is_minimal) {
            let share = view.age(chip.since) / CHIP_S;
            if !(0.0..1.0).contains(&share) {
                continue;
            }
            // Chips slow down in flight.
            let at = chip.at + chip.way * CHIP_S * (share - share * share / 2.0) * 2.0;
            let way = chip.way.normalize_or_zero().rotate(Vec2::from_angle(share * 6.0));
            let corners = [vec2(0.16, 0.0), vec2(-0.1, 0.1), vec2(-0.1, -0.1)];
            let shape = turned(view.px(at), way, &corners, view.tile * (1.0 - 0.5 * share));
            canvas.convex(&shape, alpha(colours::team(chip.team), 1.0 - share * share));
        }
    }

    /// Draws arrows in flight.
    pub(super) fn draw_arrows(&self, canvas: &mut Canvas, view: &View<'_>) {
        let state = view.state();
        for arrow in 0..state.projectiles.len() {
            let way = arrow_way(state, arrow);
            let tip = arrow_place(state, arrow, view.now);
            if !view.sees(view.px(tip), view.tile) {
                continue;
            }
            let team = state.team_of(state.projectiles.owner[arrow]);
            let colour = colours::light(colours::team(team));
            let is_hero = state.projectiles.control[arrow] == ControlBehaviour::Player;
            let size = if is_hero { 1.35 } else { 1.0 };
            let back = way.normalize_or_zero() * 0.85 * size;
            let (a, b) = (view.px(tip), view.px(tip - back));
            let shade = Vec2::splat(0.22 * view.tile);
            canvas.line(a + shade, b + shade, view.line, alpha(INK, 0.35));
            canvas.line(a, b, view.line * 2.0 * size, INK);
            canvas.line(a, b, view.line * 0.8 * size, colour);
            let head = [vec2(0.18, 0.0), vec2(-0.2, 0.17), vec2(-0.2, -0.17)];
            let head = turned(a, way.normalize_or_zero(), &head, view.tile * size);
            canvas.outlined(&head, colours::team(team), INK, view.line * 0.6);
        }
    }
}

/// Draws a dead unit that folds flat, and its mark.
fn draw_fallen(canvas: &mut Canvas, view: &View<'_>, fallen: &Fallen) {
    let age = view.age(fallen.since);
    if age < 0.0 {
        return;
    }
    let fold = 1.0 - 0.45 * ease_out(age / FOLD_S);
    let room = if age < FOLD_S { 1.0 } else { FALLEN_IN_CROWD.max(room_at(view.state(), fallen.at)) };
    let fade = ((FALLEN_S - age) / 2.0).clamp(0.0, 1.0) * room;
    let flash = if view.look.flashes && age < 0.05 { 1.0 } else { 0.0 };
    let rules = view.scene.setup.rules.unit(fallen.control, fallen.kind);
    let radius = bodies::radius(rules) * view.tile;
    let at = view.px(fallen.at);
    let flat = |point: &Vec2| vec2(point.x, at.y + (point.y - at.y) * fold);
    let colour = mix(mix(GROUND, colours::team(fallen.team), 0.38), WHITE, flash);
    let shape: super::shapes::Points =
        body_points(&canvas.circle, at, radius, fallen.team).iter().map(flat).collect();
    canvas.outlined(&shape, alpha(colour, fade), alpha(INK, 0.6 * fade), view.line * 0.6);
    // The weapon lies across the base.
    let way = Vec2::from_angle(-fallen.angle + 0.9);
    let length = radius * if rules.attack == AttackBehaviour::Archer { 0.7 } else { 0.95 };
    let (a, b) = (flat(&(at - way * length)), flat(&(at + way * length)));
    canvas.line(a, b, view.line * 1.8, alpha(INK, 0.7 * fade));
    canvas.line(a, b, view.line * 0.7, alpha(mix(GROUND, NEUTRAL, 0.55), fade));
}

/// Returns 0 where a living unit stands, 1 far from all of them.
fn room_at(state: &GameState, at: Vec2) -> f32 {
    let apart = (0..state.units.len()).map(|row| place(state, row).distance_squared(at));
    let nearest = apart.fold(f32::INFINITY, f32::min).sqrt();
    let (near, far) = FALLEN_ROOM;
    ((nearest - near) / (far - near)).clamp(0.0, 1.0)
}

fn push<T>(list: &mut VecDeque<T>, item: T) {
    if list.len() == MOST {
        list.pop_front();
    }
    list.push_back(item);
}

/// Returns the direction of a hit that player `by` landed at `at`: away from the nearest of the player's blades that
/// struck in that tick, or along the player's nearest arrow.
fn blow_direction(
    previous: &GameState,
    events: &EventBacklog,
    tick: Tick,
    (at, by, attack): (sim::math::Vec2, PlayerId, AttackBehaviour),
) -> Option<Vec2> {
    let at = to_tiles(at);
    let nearest = match attack {
        AttackBehaviour::Swordsman => {
            let blows = events.iter().filter(|happened| happened.tick == tick).filter_map(|happened| {
                let Event::Blow { player, at, .. } = happened.event else { return None };
                (player == by).then(|| to_tiles(at))
            });
            let blows = blows.map(|from| (from.distance(at), at - from));
            blows.min_by(|a, b| a.0.total_cmp(&b.0))
        }
        AttackBehaviour::Archer => {
            let arrows = &previous.projectiles;
            let own = (0..arrows.len()).filter(|&arrow| arrows.owner[arrow] == by);
            let now = clock_of(previous, tick);
            let apart = |arrow| arrow_place(previous, arrow, now).distance(at);
            let ways = own.map(|arrow| (apart(arrow), arrow_way(previous, arrow)));
            ways.min_by(|a, b| a.0.total_cmp(&b.0))
        }
    };
    nearest.and_then(|(_, way)| way.try_normalize())
}

/// Iterates over arrows of `previous` that no longer exist. Both lists are in order of creation.
fn gone_arrows<'a>(previous: &'a GameState, current: &'a GameState) -> impl Iterator<Item = usize> + 'a {
    let key = |state: &GameState, arrow: usize| {
        (state.projectiles.born_at[arrow], state.projectiles.shooter[arrow])
    };
    let mut next = 0;
    (0..previous.projectiles.len()).filter(move |&arrow| {
        let still = next < current.projectiles.len() && key(previous, arrow) == key(current, next);
        next += usize::from(still);
        !still
    })
}

/// Returns the position of the unit in `row`, in tiles.
fn place(state: &GameState, row: usize) -> Vec2 {
    point(state.units.x[row], state.units.y[row])
}

fn to_tiles(at: sim::math::Vec2) -> Vec2 {
    point(at.x, at.y)
}

fn arrow_way(state: &GameState, arrow: usize) -> Vec2 {
    point(state.projectiles.vx[arrow], state.projectiles.vy[arrow])
}

/// Returns the clock of the match at a tick that is not before the last pause of this state.
fn clock_of(state: &GameState, tick: Tick) -> f32 {
    tick.since(Tick(state.globals.paused[0])) as f32
}

/// Returns the position of an arrow when the clock of the match is at `now`, in tiles.
fn arrow_place(state: &GameState, arrow: usize, now: f32) -> Vec2 {
    let flown = (now - state.projectiles.born_at[arrow].0 as f32).max(0.0);
    point(state.projectiles.x[arrow], state.projectiles.y[arrow]) + arrow_way(state, arrow) * flown
}

/// Returns a pseudo-random number, uniform from 0 to 1, that depends only on the arguments.
fn noise(a: u32, b: u32, c: u32) -> f32 {
    let mut mixed = a.wrapping_mul(0x9e37_79b9) ^ b.wrapping_mul(0x85eb_ca6b) ^ c.wrapping_mul(0xc2b2_ae35);
    mixed ^= mixed >> 15;
    mixed = mixed.wrapping_mul(0x2c1b_3c6d);
    mixed ^= mixed >> 12;
    mixed = mixed.wrapping_mul(0x297a_2d39);
    mixed ^= mixed >> 15;
    (mixed >> 8) as f32 / (1 << 24) as f32
}
