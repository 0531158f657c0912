//! Control: what every unit does in this tick, decided from the positions of all units before it.

use super::combat::open_core_near;
use super::orders;
use super::scratch::Scratch;
use crate::command::Direction;
use crate::compiled_rules::{CompiledRules, UnitStats};
use crate::math::{Angle, Fx, Reciprocal, Vec2, dist2, length, mul, mul_div, square, with_length};
use crate::space::grid::{Body, Grid};
use crate::space::navigation::Corner;
use crate::state::kind::is_hero;
use crate::state::{AttackBehaviour, ControlBehaviour, GameState, NO_CORNER, Order, UnitId};
use crate::tick::Tick;

/// A unit this near to its goal has arrived.
const ARRIVED: Fx = Fx::from_bits(5_243);
/// A unit this near has arrived if the crowd no longer lets it move.
const NEARLY_ARRIVED: Fx = Fx::from_bits(49_152);
/// A unit this near has arrived if it touches a friendly unit that has: 3 tiles, room for 24 minions.
const CROWD: Fx = Fx::from_bits(196_608);
/// Two units touch with at most this gap: an eighth of a tile.
const LEANING: Fx = Fx::from_bits(8_192);
/// A following minion stops this near to its place beside the hero.
const AT_HEEL: Fx = Fx::from_bits(39_322);
/// A minion switches to an enemy nearer than this fraction of the distance to its target: 3/4. Two enemies at
/// nearly the same distance do not make it turn back and forth.
const NEARER: Fx = Fx::from_bits(49_152);
/// A unit this near to a corner looks for the next one in every tick.
const AT_CORNER: Fx = Fx::from_bits(13_107);
/// A unit this near to a corner looks for the next one in its search tick: 1.5 tiles.
const NEAR_CORNER: Fx = Fx::from_bits(98_304);

/// Decides for every unit, from the positions of all. Of the decisions of the same tick a unit sees only that
/// an older unit of its side has arrived. Both sides run in the order of age, so neither has an advantage.
pub(crate) fn decide(rules: &CompiledRules, state: &mut GameState, scratch: &mut Scratch) {
    let Scratch { grid, targets, activities, desired, .. } = scratch;
    // All targets are looked up together, so that cache misses overlap: in a large battle targets are
    // scattered over memory.
    targets.clear();
    let found = state.units.target.iter().map(|&target| unit(state, grid, target));
    targets.extend(found.zip(grid.units()).map(|(target, body)| *target.unwrap_or(body)));
    desired.clear();
    desired.resize(targets.len(), Vec2::default());
    activities.sort(rules, state, grid.units(), targets);
    activities.decide_routine(rules, state, grid.units(), targets, desired);
    for &row in activities.undecided() {
        let row = usize::from(row);
        let mind = Mind::of(rules, state, grid, &grid.units()[row], &targets[row]);
        let intent = if is_hero(mind.body.kind) { mind.at_pace().hero() } else { mind.minion() };
        desired[row] = intent.walk;
        carry_out(rules, state, row, &intent);
    }
}

/// The body of a living unit.
fn unit<'a>(state: &GameState, grid: &'a Grid, id: UnitId) -> Option<&'a Body> {
    let slots = &state.slots;
    let slot = usize::from(id.index);
    let row = *slots.row.get(slot).filter(|_| slots.generation[slot] == id.generation)?;
    grid.units().get(usize::from(row))
}

/// The decision of a unit.
struct Intent {
    /// Tiles to walk in this tick.
    walk: Vec2,
    /// The new facing.
    facing: Angle,
    /// The corner of the map it walks to, or [`NO_CORNER`].
    corner: u16,
    /// Whether a wind-up starts, along the facing.
    winds_up: bool,
    /// The unit it fights.
    target: UnitId,
    /// Whether its order is complete.
    done: bool,
}

fn carry_out(rules: &CompiledRules, state: &mut GameState, row: usize, intent: &Intent) {
    let units = &mut state.units;
    units.facing[row] = intent.facing;
    units.target[row] = intent.target;
    units.corner[row] = intent.corner;
    if intent.winds_up {
        let (now, cooldown) = (state.clock(), cooldown(rules, state, row));
        let units = &mut state.units;
        units.strike_at[row] = now.plus(rules.unit(units, row).windup);
        units.ready_at[row] = now.plus(cooldown);
    }
    if intent.done {
        orders::next(state, row);
    }
}

/// Ticks between strikes; shorter for a minion near its hero's banner.
fn cooldown(rules: &CompiledRules, state: &GameState, row: usize) -> u32 {
    let cooldown = rules.unit(&state.units, row).cooldown;
    let owner = state.units.owner[row];
    let until = state.players.banner_until.get(owner.index()).copied().unwrap_or_default();
    let minion = state.units.control[row] == ControlBehaviour::Minion;
    let reached = minion
        && state.clock() < until
        && state.hero(owner).is_some_and(|hero| {
            dist2(state.position(row), state.position(hero)) <= square(rules.per_tick.banner_radius)
        });
    if reached { (cooldown * rules.raw.banner_cooldown_percent).div_ceil(100) } else { cooldown }
}

/// A place and the distance from it within which a unit fights.
type Leash = (Vec2, Fx);

/// Something to fight: a unit, or a core, which is hit at its wall.
#[derive(Clone, Copy)]
struct Foe {
    id: UnitId,
    /// Of a unit; `None` for a core.
    row: Option<u16>,
    at: Vec2,
    /// Distance from `at` to the surface that can be hit.
    depth: Fx,
}

impl Foe {
    fn unit(state: &GameState, body: &Body) -> Self {
        let id = state.units.id[usize::from(body.row)];
        Self { id, row: Some(body.row), at: body.at(), depth: Fx::ZERO }
    }

    /// Tiles per tick.
    fn velocity(&self, state: &GameState) -> Vec2 {
        let velocity = |row| Vec2 { x: state.units.vx[row], y: state.units.vy[row] };
        self.row.map_or_else(Vec2::default, |row| velocity(usize::from(row)))
    }
}

/// A unit and what it needs to decide.
struct Mind<'a> {
    rules: &'a CompiledRules,
    state: &'a GameState,
    grid: &'a Grid,
    body: &'a Body,
    /// The unit it fights, if that lives; else itself.
    target: &'a Body,
    row: usize,
    at: Vec2,
    stats: &'a UnitStats,
    /// Tiles per tick.
    speed: Fx,
}

impl<'a> Mind<'a> {
    fn of(
        rules: &'a CompiledRules,
        state: &'a GameState,
        grid: &'a Grid,
        body: &'a Body,
        target: &'a Body,
    ) -> Self {
        let (row, at, stats) = (usize::from(body.row), body.at(), rules.per_tick.kind(body.kind));
        Self { rules, state, grid, body, target, row, at, stats, speed: stats.speed }
    }

    // The two kinds of units.

    /// A hero at the pace of the slowest minion that follows it nearby: a leader does not outrun its army.
    fn at_pace(self) -> Self {
        let within = self.rules.per_tick.pace_radius;
        let follows = |body: &&Body| {
            body.owner == self.body.owner
                && self.state.units.order[usize::from(body.row)] == Order::Follow
                && dist2(body.at(), self.at) <= square(within)
        };
        let followers = self.grid.near(self.at, within).filter(follows);
        let slowest = followers.map(|body| self.rules.per_tick.kind(body.kind).speed).min();
        Self { speed: slowest.map_or(self.speed, |slowest| slowest.min(self.speed)), ..self }
    }

    fn hero(&self) -> Intent {
        if self.state.clock() < self.state.players.dash_until[self.body.owner.index()] {
            return Intent { walk: self.facing().vector(self.rules.per_tick.dash_speed), ..self.stay() };
        }
        let quarry = self.quarry();
        let moving = match (self.held_direction(), self.state.units.order[self.row]) {
            // A held direction completes the order.
            (Some(way), order) => Intent {
                walk: way.angle().vector(self.speed),
                facing: way.angle(),
                done: order != Order::Idle,
                ..self.stay()
            },
            (None, Order::Move) => self.travel(self.goal()),
            (None, Order::Attack) => match quarry {
                Some(foe) if self.in_reach(&foe) => self.stay(),
                Some(foe) => self.walk_to(foe.at),
                None => Intent { done: true, ..self.stay() },
            },
            (None, _) => self.stay(),
        };
        self.hero_strike(moving, quarry)
    }

    /// A hero strikes while it walks: along the held aim, else at what is in reach.
    fn hero_strike(&self, moving: Intent, quarry: Option<Foe>) -> Intent {
        if self.winding_up() {
            return Intent { facing: self.facing(), ..moving };
        }
        if !self.ready() {
            return moving;
        }
        let at = self.body.owner.index();
        let players = &self.state.players;
        if players.striking.get(at).is_some_and(|&striking| striking != 0) {
            return Intent { facing: players.aim[at], winds_up: true, ..moving };
        }
        let foe = quarry.filter(|foe| self.in_reach(foe)).or_else(|| self.foe_in_reach());
        match foe {
            Some(foe) => Intent { facing: self.aim(&foe), winds_up: true, target: foe.id, ..moving },
            None => moving,
        }
    }

    fn minion(&self) -> Intent {
        if self.winding_up() {
            return Intent { target: self.state.units.target[self.row], ..self.stay() };
        }
        match self.state.units.order[self.row] {
            Order::Move => self.travel(self.goal()),
            Order::Attack => match self.quarry() {
                Some(foe) => self.fight(&foe),
                None => Intent { done: true, ..self.stay() },
            },
            Order::AttackMove => match self.foe(self.aggro(), None) {
                Some(foe) => self.fight(&foe),
                None => self.travel(self.goal()),
            },
            Order::Idle => match self.foe(self.aggro(), Some((self.goal(), self.aggro()))) {
                Some(foe) => self.fight(&foe),
                None => self.return_to(self.goal()),
            },
            Order::Hold => match self.foe(self.stats.reach, None).filter(|foe| self.in_reach(foe)) {
                Some(foe) => self.fight(&foe),
                None => self.stay(),
            },
            Order::Follow => self.follow(),
        }
    }

    fn follow(&self) -> Intent {
        let hero = self.state.hero(self.body.owner).map(|hero| self.state.position(hero));
        // Without a hero the minion stays where it is.
        let leash = hero.map(|hero| (hero, self.rules.per_tick.guard));
        match (self.foe(self.aggro(), leash), hero) {
            (Some(foe), _) => self.fight(&foe),
            (None, None) => self.stay(),
            (None, Some(hero)) => {
                let place = usize::from(self.body.ordinal) + 1;
                let beside = hero + self.rules.base(self.body.owner).formation(place);
                self.return_to(self.rules.arena.obstacles.cleared(beside, self.stats.radius).unwrap_or(hero))
            }
        }
    }

    // Walking.

    /// Stays in place and continues the order.
    fn stay(&self) -> Intent {
        let (facing, corner) = (self.facing(), NO_CORNER);
        Intent { walk: Vec2::default(), facing, corner, winds_up: false, target: UnitId::NONE, done: false }
    }

    fn walk_to(&self, goal: Vec2) -> Intent {
        let (heading, corner) = self.heading(goal);
        let (way, left) = (heading - self.at, dist2(heading, self.at));
        let walk = match Reciprocal::of_root(left) {
            Some(norm) if left > square(self.speed) => norm.scale(way, self.speed),
            _ => way,
        };
        let facing = if walk == Vec2::default() { self.facing() } else { self.turned(Angle::of(walk)) };
        Intent { walk, facing, corner, ..self.stay() }
    }

    /// Returns the position to walk to now to reach `goal`, and the corner if that is one. The straight line is
    /// tested for every new goal, at every corner, and in the search tick, since goals move.
    fn heading(&self, goal: Vec2) -> (Vec2, u16) {
        let (arena, corner) = (&self.rules.arena, self.state.units.corner[self.row]);
        if corner == NO_CORNER && !self.is_turn() {
            return (goal, NO_CORNER);
        }
        let ahead = arena.corner(Corner(corner)).filter(|&at| dist2(self.at, at) > square(AT_CORNER));
        if let Some(at) = ahead.filter(|&at| !self.is_turn() || self.is_still_round(at, goal)) {
            return (at, corner);
        }
        let next = arena.route(self.at, goal);
        let place = next.and_then(|next| Some((arena.corner(next)?, next.0)));
        place.unwrap_or((goal, NO_CORNER))
    }

    /// Whether the path to `goal` certainly still leads through a corner. A crowd may have pushed the unit
    /// past a near corner, or block the path to it.
    fn is_still_round(&self, corner: Vec2, goal: Vec2) -> bool {
        let is_open = |to| self.rules.arena.obstacles.is_open(self.at, to, self.rules.per_tick.widest());
        let is_far = dist2(self.at, corner) > square(NEAR_CORNER);
        is_far && !self.is_held_up() && !is_open(goal) && is_open(corner)
    }

    /// Walks to the goal of an order and completes the order there.
    fn travel(&self, goal: Vec2) -> Intent {
        let left = dist2(self.at, goal);
        let is_crowded = |within| left <= square(within) && self.is_held_up();
        let arrived = left <= square(ARRIVED)
            || is_crowded(NEARLY_ARRIVED)
            || (is_crowded(CROWD) && self.touches_arrived(goal, left));
        if arrived { Intent { done: true, ..self.stay() } } else { self.walk_to(goal) }
    }

    /// Whether it touches a friendly unit that has arrived nearer to `goal`: a shared goal fills up from the
    /// middle.
    fn touches_arrived(&self, goal: Vec2, left: i64) -> bool {
        let near = self.stats.radius + self.rules.per_tick.widest() + LEANING;
        self.grid.near(self.at, near).any(|other| {
            let apart = self.stats.radius + self.rules.per_tick.kind(other.kind).radius + LEANING;
            other.owner == self.body.owner
                && other.row != self.body.row
                && self.state.units.order[usize::from(other.row)] == Order::Idle
                && dist2(self.at, other.at()) <= square(apart)
                && dist2(other.at(), goal) < left
        })
    }

    /// Whether units or obstacles let it move less than a quarter of its speed.
    fn is_held_up(&self) -> bool {
        let units = &self.state.units;
        let moved = Vec2 { x: units.vx[self.row], y: units.vy[self.row] };
        dist2(moved, Vec2::default()) < square(self.speed / 4)
    }

    fn return_to(&self, place: Vec2) -> Intent {
        if dist2(self.at, place) <= square(AT_HEEL) { self.stay() } else { self.walk_to(place) }
    }

    // Fighting.

    /// Walks into reach, turns, and strikes.
    fn fight(&self, foe: &Foe) -> Intent {
        let target = foe.id;
        if !self.in_reach(foe) {
            return Intent { target, ..self.walk_to(foe.at) };
        }
        // Only a shot needs to lead the target.
        let aim = if self.ready() { self.aim(foe) } else { self.toward(foe.at) };
        let facing = self.turned(aim);
        if self.ready() && facing == aim {
            return Intent { facing, winds_up: true, target, ..self.stay() };
        }
        Intent { walk: self.step_back(foe), facing, target, ..self.stay() }
    }

    /// A minion with a bow steps back from an enemy that is too near, unless it holds its position.
    fn step_back(&self, foe: &Foe) -> Vec2 {
        let near = || dist2(self.at, foe.at) < square(self.rules.per_tick.archer_keeps);
        let holds = self.state.units.order[self.row] == Order::Hold;
        if self.has_bow() && !holds && near() {
            with_length(self.at - foe.at, self.speed)
        } else {
            Vec2::default()
        }
    }

    fn in_reach(&self, foe: &Foe) -> bool {
        dist2(self.at, foe.at) <= square(self.stats.strikes_within + foe.depth)
            && (!self.has_bow()
                || self.rules.arena.obstacles.sees(self.at, foe.at, self.rules.per_tick.arrow_radius))
    }

    /// Returns the angle at which to strike. A bow leads its target, assuming constant velocity.
    fn aim(&self, foe: &Foe) -> Angle {
        let mut meet = foe.at;
        if self.has_bow() && self.stats.arrow_speed > Fx::ZERO {
            let velocity = foe.velocity(self.state);
            for _ in 0..3 {
                let flight = length(meet - self.at).to_bits() / self.stats.arrow_speed.to_bits();
                let ticks = flight.clamp(0, 600) + self.stats.windup.min(600).cast_signed();
                let ahead = |speed: Fx| mul_div(speed, ticks, 1);
                meet = foe.at + Vec2 { x: ahead(velocity.x), y: ahead(velocity.y) };
            }
        }
        self.toward(meet)
    }

    fn toward(&self, place: Vec2) -> Angle {
        if place == self.at { self.facing() } else { Angle::of(place - self.at) }
    }

    /// Returns the distance at which enemies are fought, at least the unit's own reach.
    fn aggro(&self) -> Fx {
        self.rules.per_tick.aggro.max(self.stats.reach)
    }

    /// For a hero: what it can strike from where it stands.
    fn foe_in_reach(&self) -> Option<Foe> {
        let foe = self.search(self.stats.reach, None).map(|body| Foe::unit(self.state, body));
        foe.filter(|foe| self.in_reach(foe)).or_else(|| self.core(self.stats.reach))
    }

    /// For a minion: the enemy within `radius` of it and of `leash`; without one, an unshielded core. It
    /// searches in its search tick and keeps its target in between.
    fn foe(&self, radius: Fx, leash: Option<Leash>) -> Option<Foe> {
        let kept = self.kept(radius, leash);
        let foe = if self.is_turn() { self.better(kept, radius, leash) } else { kept };
        let near_leash = |at: Vec2| leash.is_none_or(|(post, length)| dist2(at, post) <= square(length));
        foe.map(|body| Foe::unit(self.state, body))
            .or_else(|| self.core(radius).filter(|core| near_leash(core.at)))
    }

    /// The target of the last tick, if it is still in range.
    fn kept(&self, radius: Fx, leash: Option<Leash>) -> Option<&'a Body> {
        // A target may retreat a little before it is given up.
        let within = |radius: Fx| square(radius + radius / 8);
        let at = self.target.at();
        let on_leash = || leash.is_none_or(|(post, length)| dist2(at, post) <= within(length));
        let is_near = dist2(self.at, at) <= within(radius) && on_leash();
        (self.is_enemy(self.target) && is_near).then_some(self.target)
    }

    fn is_enemy(&self, other: &Body) -> bool {
        other.team != self.body.team
    }

    /// The nearest enemy, if it is nearer than the present target by the factor [`NEARER`].
    fn better(&self, kept: Option<&'a Body>, radius: Fx, leash: Option<Leash>) -> Option<&'a Body> {
        let Some(kept) = kept else { return self.search(radius, leash) };
        let away = length(self.at - kept.at());
        self.search(mul(away, NEARER).min(radius), leash).or(Some(kept))
    }

    /// The nearest enemy within `radius` of the unit and of `leash`.
    fn search(&self, radius: Fx, leash: Option<Leash>) -> Option<&'a Body> {
        let Body { base, team, .. } = *self.body;
        let on_leash =
            |foe: &Body| leash.is_none_or(|(post, length)| dist2(foe.at(), post) <= square(length));
        self.grid.nearest_enemy((base, team), self.at, radius, on_leash)
    }

    fn core(&self, radius: Fx) -> Option<Foe> {
        let (_, at) = open_core_near(self.rules, self.state, self.row, radius)?;
        Some(Foe { id: UnitId::NONE, row: None, at, depth: self.rules.per_tick.core_radius })
    }

    fn quarry(&self) -> Option<Foe> {
        let quarry = unit(self.state, self.grid, self.state.units.quarry[self.row]);
        quarry.filter(|quarry| self.is_enemy(quarry)).map(|body| Foe::unit(self.state, body))
    }

    // State of the unit.

    fn has_bow(&self) -> bool {
        self.rules.per_tick.attack(self.body.kind) == AttackBehaviour::Archer
    }

    /// Whether this is its search tick: the units of a side take turns.
    fn is_turn(&self) -> bool {
        let per_tick = &self.rules.per_tick;
        per_tick.turn_of(self.state.units.phase[self.row]) == per_tick.turn_at(self.state.clock())
    }

    fn winding_up(&self) -> bool {
        self.state.units.strike_at[self.row] != Tick::NEVER
    }

    fn ready(&self) -> bool {
        self.state.units.ready_at[self.row] <= self.state.clock()
    }

    fn facing(&self) -> Angle {
        self.state.units.facing[self.row]
    }

    /// Turned toward `other`, as far as a tick allows; a hero turns at once.
    fn turned(&self, other: Angle) -> Angle {
        match self.state.units.control[self.row] {
            ControlBehaviour::Player => other,
            ControlBehaviour::Minion => self.facing().toward(other, self.rules.per_tick.turn),
        }
    }

    fn goal(&self) -> Vec2 {
        Vec2 { x: self.state.units.goal_x[self.row], y: self.state.units.goal_y[self.row] }
    }

    fn held_direction(&self) -> Option<Direction> {
        let walk = *self.state.players.walk.get(self.body.owner.index())?;
        Direction::try_from(walk).ok()
    }
}
