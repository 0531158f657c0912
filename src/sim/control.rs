//! Control: what every unit does in this tick, decided from where all units stood before it.

use super::combat::{Nearness, nearness, open_core_near};
use super::command::Direction;
use super::grid::Grid;
use super::math::{Angle, Fx, Vec2, dist2, length, mul_div, square, with_length};
use super::pace::{Terms, UnitPace};
use super::state::{AttackBehaviour, ControlBehaviour, GameState, Order, UnitId};
use super::tick::{PlayerId, Tick};
use super::world::Scratch;

/// Nearer than this a unit has arrived.
const ARRIVED: Fx = Fx::from_bits(5_243);
/// Nearer than this a unit has arrived when the crowd no longer lets it on.
const NEARLY_ARRIVED: Fx = Fx::from_bits(49_152);
/// A minion that follows stands still this near to its place beside the hero.
const AT_HEEL: Fx = Fx::from_bits(39_322);

/// Lets every unit decide. Nobody sees what another decided in the same tick.
pub(super) fn decide(terms: &Terms, state: &mut GameState, scratch: &mut Scratch) {
    scratch.wishes.clear();
    for row in 0..state.units.len() {
        let mind = Mind::of(terms, state, scratch, row);
        let intent = match state.units.control[row] {
            ControlBehaviour::Player => mind.hero(),
            ControlBehaviour::Minion => mind.minion(),
        };
        scratch.wishes.push(intent.walk);
        carry_out(terms, state, row, &intent);
    }
}

/// What a unit decided.
struct Intent {
    /// Tiles to walk in this tick.
    walk: Vec2,
    /// Where it looks now.
    facing: Angle,
    /// Whether it begins a blow or draws the bow, along the facing.
    winds_up: bool,
    /// Whom it fights.
    target: UnitId,
    /// Whether its order is done.
    done: bool,
}

fn carry_out(terms: &Terms, state: &mut GameState, row: usize, intent: &Intent) {
    let now = state.tick();
    let cooldown = cooldown(terms, state, row);
    let windup = terms.unit(&state.units, row).windup;
    let here = state.position(row);
    let units = &mut state.units;
    units.facing[row] = intent.facing;
    units.target[row] = intent.target;
    if intent.winds_up {
        units.strike_at[row] = now.plus(windup);
        units.ready_at[row] = now.plus(cooldown);
    }
    if intent.done {
        units.order[row] = Order::Idle;
        units.quarry[row] = UnitId::NONE;
        // An idle unit keeps to where its order ended.
        (units.goal_x[row], units.goal_y[row]) = (here.x, here.y);
    }
}

/// Ticks from blow to blow, shorter for a minion near its hero's banner.
fn cooldown(terms: &Terms, state: &GameState, row: usize) -> u32 {
    let cooldown = terms.unit(&state.units, row).cooldown;
    let owner = state.units.owner[row];
    let until = state.players.banner_until.get(owner.index()).copied().unwrap_or_default();
    let minion = state.units.control[row] == ControlBehaviour::Minion;
    let reached = minion
        && state.tick() < until
        && state.hero(owner).is_some_and(|hero| {
            dist2(state.position(row), state.position(hero)) <= square(terms.pace.banner_radius)
        });
    if reached { (cooldown * terms.rules.banner_cooldown_percent).div_ceil(100) } else { cooldown }
}

/// Something to fight: a unit, or a core by its wall.
#[derive(Clone, Copy)]
struct Foe {
    id: UnitId,
    at: Vec2,
    /// Tiles per tick.
    velocity: Vec2,
    /// How much nearer than `at` it can be hit.
    depth: Fx,
}

/// A unit as it looks around.
struct Mind<'a> {
    terms: &'a Terms,
    state: &'a GameState,
    grid: &'a Grid,
    ordinals: &'a [u16],
    row: usize,
    owner: PlayerId,
    at: Vec2,
    pace: &'a UnitPace,
}

impl<'a> Mind<'a> {
    fn of(terms: &'a Terms, state: &'a GameState, scratch: &'a Scratch, row: usize) -> Self {
        Self {
            terms,
            state,
            grid: &scratch.grid,
            ordinals: &scratch.ordinals,
            row,
            owner: state.units.owner[row],
            at: state.position(row),
            pace: terms.unit(&state.units, row),
        }
    }

    // What the two kinds of unit do.

    fn hero(&self) -> Intent {
        if self.state.tick() < self.state.units.dash_until[self.row] {
            return Intent { walk: self.facing().vector(self.terms.pace.dash_speed), ..self.stay() };
        }
        let quarry = self.quarry();
        let moving = match (self.held_direction(), self.state.units.order[self.row]) {
            // A held direction ends what was ordered.
            (Some(way), order) => Intent {
                walk: way.angle().vector(self.pace.speed),
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

    /// A hero strikes while it walks: where it is told to, else what comes into reach.
    fn hero_strike(&self, moving: Intent, quarry: Option<Foe>) -> Intent {
        if self.winding_up() {
            return Intent { facing: self.facing(), ..moving };
        }
        if !self.ready() {
            return moving;
        }
        let at = self.owner.index();
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
            return self.stay();
        }
        let aggro = self.aggro();
        match self.state.units.order[self.row] {
            Order::Move => self.travel(self.goal()),
            Order::Attack => match self.quarry() {
                Some(foe) => self.fight(&foe),
                None => Intent { done: true, ..self.stay() },
            },
            Order::AttackMove => match self.foe_within(aggro, None) {
                Some(foe) => self.fight(&foe),
                None => self.travel(self.goal()),
            },
            Order::Idle => match self.foe_within(aggro, Some(self.goal())) {
                Some(foe) => self.fight(&foe),
                None => self.return_to(self.goal(), AT_HEEL),
            },
            Order::Hold => match self.foe_in_reach() {
                Some(foe) => self.fight(&foe),
                None => self.stay(),
            },
            Order::Follow => self.follow(),
        }
    }

    fn follow(&self) -> Intent {
        let hero = self.state.hero(self.owner).map(|hero| self.state.position(hero));
        // Without a hero there is nobody to stay with.
        match (self.foe_within(self.aggro(), hero), hero) {
            (Some(foe), _) => self.fight(&foe),
            (None, None) => self.stay(),
            (None, Some(hero)) => {
                let place = usize::from(self.ordinals[self.row]) + 1;
                let beside = hero + self.terms.base(self.owner).formation(place);
                let beside = self.terms.arena.cleared(beside, self.pace.radius).unwrap_or(hero);
                self.return_to(beside, AT_HEEL)
            }
        }
    }

    // Walking.

    /// Nothing changes, but the order may go on.
    fn stay(&self) -> Intent {
        let facing = self.facing();
        Intent { walk: Vec2::default(), facing, winds_up: false, target: UnitId::NONE, done: false }
    }

    fn walk_to(&self, goal: Vec2) -> Intent {
        let arena = &self.terms.arena;
        let heading = arena.route(self.at, goal).and_then(|corner| arena.corner(corner)).unwrap_or(goal);
        let way = heading - self.at;
        let walk = if length(way) <= self.pace.speed { way } else { with_length(way, self.pace.speed) };
        let facing = if walk == Vec2::default() { self.facing() } else { self.turned(Angle::of(walk)) };
        Intent { walk, facing, ..self.stay() }
    }

    /// Walks to the goal of an order, which is then done.
    fn travel(&self, goal: Vec2) -> Intent {
        let left = dist2(self.at, goal);
        let units = &self.state.units;
        let moved = Vec2 { x: units.vx[self.row], y: units.vy[self.row] };
        let stuck = dist2(moved, Vec2::default()) < square(self.pace.speed / 4);
        if left <= square(ARRIVED) || (stuck && left <= square(NEARLY_ARRIVED)) {
            return Intent { done: true, ..self.stay() };
        }
        self.walk_to(goal)
    }

    fn return_to(&self, place: Vec2, slack: Fx) -> Intent {
        if dist2(self.at, place) <= square(slack) { self.stay() } else { self.walk_to(place) }
    }

    // Fighting.

    /// Walks into reach, turns, and strikes.
    fn fight(&self, foe: &Foe) -> Intent {
        let target = foe.id;
        if !self.in_reach(foe) {
            return Intent { target, ..self.walk_to(foe.at) };
        }
        let aim = self.aim(foe);
        let facing = self.turned(aim);
        if self.ready() && facing == aim {
            return Intent { facing, winds_up: true, target, ..self.stay() };
        }
        Intent { walk: self.step_back(foe), facing, target, ..self.stay() }
    }

    /// An archer gives way to an enemy too near for a bow, unless it has to hold.
    fn step_back(&self, foe: &Foe) -> Vec2 {
        let near = dist2(self.at, foe.at) < square(self.terms.pace.archer_keeps);
        let holds = self.state.units.order[self.row] == Order::Hold;
        if near && !holds && self.is_archer() {
            with_length(self.at - foe.at, self.pace.speed)
        } else {
            Vec2::default()
        }
    }

    fn in_reach(&self, foe: &Foe) -> bool {
        // A sword is raised a little inside its reach, so that one step back does not yet save the enemy.
        let reach = if self.is_archer() { self.pace.reach } else { self.pace.reach - self.pace.reach / 8 };
        dist2(self.at, foe.at) <= square(reach + foe.depth)
            && (!self.is_archer() || self.terms.arena.sees(self.at, foe.at, self.terms.pace.arrow_radius))
    }

    /// Where to strike: for an archer, where the enemy will be if it goes on as it goes now.
    fn aim(&self, foe: &Foe) -> Angle {
        let mut meet = foe.at;
        if self.is_archer() && self.pace.arrow_speed > Fx::ZERO {
            for _ in 0..3 {
                let flight = length(meet - self.at).to_bits() / self.pace.arrow_speed.to_bits();
                let ticks = flight.clamp(0, 600) + self.pace.windup.min(600).cast_signed();
                let ahead = |speed: Fx| mul_div(speed, ticks, 1);
                meet = foe.at + Vec2 { x: ahead(foe.velocity.x), y: ahead(foe.velocity.y) };
            }
        }
        if meet == self.at { self.facing() } else { Angle::of(meet - self.at) }
    }

    /// How near an enemy must come to be fought: a bow that reaches farther shoots farther.
    fn aggro(&self) -> Fx {
        self.terms.pace.aggro.max(self.pace.reach)
    }

    fn foe_in_reach(&self) -> Option<Foe> {
        let foe = self.nearest(self.pace.reach, None).map(|row| self.unit(row));
        foe.filter(|foe| self.in_reach(foe)).or_else(|| self.core(self.pace.reach))
    }

    /// The nearest enemy within `radius` of the unit, and of `leash` too; without one, an open core.
    fn foe_within(&self, radius: Fx, leash: Option<Vec2>) -> Option<Foe> {
        let near_leash = |at: Vec2| leash.is_none_or(|post| dist2(at, post) <= square(radius));
        let foe = self.nearest(radius, leash).map(|row| self.unit(row));
        foe.or_else(|| self.core(radius).filter(|core| near_leash(core.at)))
    }

    fn nearest(&self, radius: Fx, leash: Option<Vec2>) -> Option<usize> {
        let (team, within) = (self.state.team(self.row), square(radius));
        let mut best: Option<(Nearness, usize)> = None;
        self.grid.near(self.at, radius, |row| {
            let at = self.state.position(row);
            if self.state.team(row) == team
                || dist2(self.at, at) > within
                || leash.is_some_and(|post| dist2(at, post) > within)
            {
                return;
            }
            let key = (nearness(self.state, self.ordinals, self.owner, self.at, row), row);
            if best.is_none_or(|other| key < other) {
                best = Some(key);
            }
        });
        best.map(|(_, row)| row)
    }

    fn core(&self, radius: Fx) -> Option<Foe> {
        let (_, at) = open_core_near(self.terms, self.state, self.row, radius)?;
        Some(Foe { id: UnitId::NONE, at, velocity: Vec2::default(), depth: self.terms.pace.core_radius })
    }

    fn quarry(&self) -> Option<Foe> {
        let row = self.state.row(self.state.units.quarry[self.row])?;
        (self.state.team(row) != self.state.team(self.row)).then(|| self.unit(row))
    }

    fn unit(&self, row: usize) -> Foe {
        let units = &self.state.units;
        Foe {
            id: units.id[row],
            at: self.state.position(row),
            velocity: Vec2 { x: units.vx[row], y: units.vy[row] },
            depth: Fx::ZERO,
        }
    }

    // What it is and what it was told.

    fn is_archer(&self) -> bool {
        self.state.units.attack[self.row] == AttackBehaviour::Archer
    }

    fn winding_up(&self) -> bool {
        self.state.units.strike_at[self.row] != Tick::NEVER
    }

    fn ready(&self) -> bool {
        self.state.units.ready_at[self.row] <= self.state.tick()
    }

    fn facing(&self) -> Angle {
        self.state.units.facing[self.row]
    }

    /// Turned toward `other` as far as a tick allows: a hero at once.
    fn turned(&self, other: Angle) -> Angle {
        match self.state.units.control[self.row] {
            ControlBehaviour::Player => other,
            ControlBehaviour::Minion => self.facing().toward(other, self.terms.pace.turn),
        }
    }

    fn goal(&self) -> Vec2 {
        Vec2 { x: self.state.units.goal_x[self.row], y: self.state.units.goal_y[self.row] }
    }

    fn held_direction(&self) -> Option<Direction> {
        let walk = *self.state.players.walk.get(self.owner.index())?;
        Direction::try_from(walk).ok()
    }
}
