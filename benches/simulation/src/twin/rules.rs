//! The rules of the arena in floats and per tick, and what a unit makes of them: the part that does not
//! depend on how a twin stores its units.

use glam::Vec2;
use sim::{AttackBehaviour, KindId, Rules, TickRate, UnitRules};

use super::geometry::milli;
use super::solids::Solids;

/// Nearer than this a unit has arrived.
const ARRIVED: f32 = 0.08;
/// Nearer than this a unit has arrived when the crowd no longer lets it on.
const NEARLY_ARRIVED: f32 = 0.75;
/// An idle unit stands still this near to its place.
const AT_HEEL: f32 = 0.6;
/// Ticks from one search for a target to the next, staggered over the units.
pub(crate) const SEARCH_TICKS: u32 = 8;
/// A target is kept until it is so much farther away than where it was searched for.
const KEPT: f32 = 1.125;
/// A unit turns to another target that is nearer than this share of the way to the present one.
const NEARER: f32 = 0.75;
/// No tick.
pub(crate) const NEVER: u32 = u32::MAX;

/// How a unit fights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Swordsman,
    Archer,
}

impl Kind {
    const fn of(attack: AttackBehaviour) -> Self {
        match attack {
            AttackBehaviour::Swordsman => Self::Swordsman,
            AttackBehaviour::Archer => Self::Archer,
        }
    }
}

/// What a unit was ordered.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Fights what comes near its place.
    Idle(Vec2),
    /// Walks there and fights what comes near.
    AttackMove(Vec2),
}

/// What a kind of unit does in a tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) hp: i32,
    pub(crate) speed: f32,
    pub(crate) reach: f32,
    pub(crate) damage: i32,
    pub(crate) cooldown: u32,
    pub(crate) windup: u32,
    pub(crate) arrow_speed: f32,
    /// How near an enemy must come to be fought.
    pub(crate) aggro: f32,
}

/// What the battle is played by.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    swordsman: Pace,
    archer: Pace,
    /// By kind of minion.
    kinds: Vec<Kind>,
    /// Of every body.
    pub(crate) radius: f32,
    pub(crate) arrow_radius: f32,
    /// Cosine of half a sword's arc.
    pub(crate) arc: f32,
    /// Cosine and sine of a tick's turn.
    turn: Vec2,
    archer_keeps: f32,
    pub(crate) circle_radius: f32,
    pub(crate) circles: Vec<Vec2>,
    pub(crate) solids: Solids,
}

/// A unit as it looks around.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Me {
    pub(crate) at: Vec2,
    /// In the last tick.
    pub(crate) moved: Vec2,
    pub(crate) facing: Vec2,
    pub(crate) kind: Kind,
    pub(crate) order: Order,
    pub(crate) winding_up: bool,
    pub(crate) ready: bool,
}

/// What it fights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foe {
    pub(crate) at: Vec2,
    pub(crate) moved: Vec2,
}

/// What it decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent {
    pub(crate) walk: Vec2,
    pub(crate) facing: Vec2,
    pub(crate) winds_up: bool,
    /// Whether its order is done.
    pub(crate) done: bool,
}

impl Terms {
    pub(crate) fn new(rules: &Rules, circles: Vec<Vec2>, solids: Solids) -> Self {
        let aggro = milli(rules.aggro);
        let pace = |attack| Pace::new(&rules.minions[rules.minion_with(attack).index()].unit, aggro);
        let turn = std::f32::consts::TAU * rules.turn_per_s as f32 / 65_536.0 / hz();
        Self {
            swordsman: pace(AttackBehaviour::Swordsman),
            archer: pace(AttackBehaviour::Archer),
            kinds: rules.minions.iter().map(|minion| Kind::of(minion.unit.attack)).collect(),
            radius: milli(rules.minions[0].unit.radius),
            arrow_radius: milli(rules.arrow_radius),
            arc: (std::f32::consts::TAU * f32::from(rules.arc_half) / 65_536.0).cos(),
            turn: Vec2::from_angle(turn),
            archer_keeps: milli(rules.archer_keeps),
            circle_radius: milli(rules.circle_radius),
            circles,
            solids,
        }
    }

    pub(crate) fn kind(&self, kind: KindId) -> Kind {
        self.kinds[kind.index()]
    }

    pub(crate) fn pace(&self, kind: Kind) -> &Pace {
        match kind {
            Kind::Swordsman => &self.swordsman,
            Kind::Archer => &self.archer,
        }
    }

    /// Whether an enemy at `other`, nearer than `within` tiles, is near enough to its place for a unit that
    /// keeps to one.
    #[inline]
    pub(crate) fn on_leash(&self, me: &Me, other: Vec2, within: f32) -> bool {
        match me.order {
            Order::Idle(place) => place.distance_squared(other) <= within * within,
            Order::AttackMove(_) => true,
        }
    }

    /// Whether a target at `other` is kept.
    pub(crate) fn keeps(&self, me: &Me, other: Vec2) -> bool {
        let within = self.pace(me.kind).aggro * KEPT;
        me.at.distance_squared(other) <= within * within && self.on_leash(me, other, within)
    }

    /// Whether a target at `found` is worth turning away from the one at `kept`.
    pub(crate) fn is_better(&self, me: &Me, found: Vec2, kept: Vec2) -> bool {
        me.at.distance_squared(found) < NEARER * NEARER * me.at.distance_squared(kept)
    }

    /// What a unit does with this enemy to fight.
    pub(crate) fn decide(&self, me: &Me, foe: Option<Foe>) -> Intent {
        if me.winding_up {
            return me.stay();
        }
        match (foe, me.order) {
            (Some(foe), _) => self.fight(me, foe),
            (None, Order::AttackMove(goal)) => self.travel(me, goal),
            (None, Order::Idle(place)) if me.at.distance_squared(place) > AT_HEEL * AT_HEEL => {
                self.walk_to(me, place)
            }
            (None, Order::Idle(_)) => me.stay(),
        }
    }

    /// How far a unit at `at` is pushed by one at `other` that may overlap it.
    #[inline]
    pub(crate) fn push(&self, at: Vec2, other: Vec2) -> Vec2 {
        let (apart, away) = (2.0 * self.radius, at - other);
        let far = away.length_squared();
        if far >= apart * apart {
            return Vec2::ZERO;
        }
        let far = far.sqrt();
        if far > 0.0 { away * ((apart - far) / (2.0 * far)) } else { Vec2::X * self.radius }
    }

    /// Where a unit comes to stand.
    pub(crate) fn settle(&self, at: Vec2, walk: Vec2, push: Vec2) -> Vec2 {
        self.solids.walk(at, walk + push.clamp_length_max(self.radius / 2.0), self.radius)
    }

    /// Whether a sword at `at` hits `other`.
    #[inline]
    pub(crate) fn cuts(&self, at: Vec2, facing: Vec2, other: Vec2) -> bool {
        let (to, reach) = (other - at, self.swordsman.reach);
        let far = to.length_squared();
        far <= reach * reach && facing.dot(to) >= self.arc * far.sqrt()
    }

    /// How many ticks an arrow flies from `at`.
    pub(crate) fn flight(&self, at: Vec2, facing: Vec2) -> u32 {
        let way = self.archer.reach * 1.25;
        let share = self.solids.first_crossing(at, at + facing * way, self.arrow_radius).unwrap_or(1.0);
        ((way * share / self.archer.arrow_speed) as u32).max(1)
    }

    fn fight(&self, me: &Me, foe: Foe) -> Intent {
        if !self.in_reach(me, foe) {
            return self.walk_to(me, foe.at);
        }
        let aim = self.aim(me, foe);
        let facing = self.turned(me.facing, aim);
        if me.ready && facing == aim {
            return Intent { facing, winds_up: true, ..me.stay() };
        }
        let keeps = self.archer_keeps;
        let near = me.kind == Kind::Archer && me.at.distance_squared(foe.at) < keeps * keeps;
        let walk =
            if near { (me.at - foe.at).normalize_or_zero() * self.pace(me.kind).speed } else { Vec2::ZERO };
        Intent { facing, walk, ..me.stay() }
    }

    fn in_reach(&self, me: &Me, foe: Foe) -> bool {
        let reach = self.pace(me.kind).reach;
        let far = me.at.distance_squared(foe.at);
        match me.kind {
            Kind::Swordsman => far <= (reach * 0.875).powi(2),
            Kind::Archer => far <= reach * reach && self.solids.sees(me.at, foe.at, self.arrow_radius),
        }
    }

    /// The direction to where the enemy will be if it goes on as it goes now.
    fn aim(&self, me: &Me, foe: Foe) -> Vec2 {
        let mut meet = foe.at;
        if me.kind == Kind::Archer {
            let pace = self.pace(me.kind);
            for _ in 0..3 {
                let ticks = me.at.distance(meet) / pace.arrow_speed + pace.windup as f32;
                meet = foe.at + foe.moved * ticks;
            }
        }
        (meet - me.at).try_normalize().unwrap_or(me.facing)
    }

    fn travel(&self, me: &Me, goal: Vec2) -> Intent {
        let left = me.at.distance_squared(goal);
        let speed = self.pace(me.kind).speed;
        let stuck = me.moved.length_squared() < (speed / 4.0).powi(2);
        if left <= ARRIVED * ARRIVED || (stuck && left <= NEARLY_ARRIVED * NEARLY_ARRIVED) {
            return Intent { done: true, ..me.stay() };
        }
        self.walk_to(me, goal)
    }

    fn walk_to(&self, me: &Me, goal: Vec2) -> Intent {
        let way = self.solids.heading(me.at, goal, self.radius) - me.at;
        let walk = way.clamp_length_max(self.pace(me.kind).speed);
        let facing = walk.try_normalize().map_or(me.facing, |way| self.turned(me.facing, way));
        Intent { walk, facing, ..me.stay() }
    }

    /// `from`, turned toward `to` as far as a tick allows.
    fn turned(&self, from: Vec2, to: Vec2) -> Vec2 {
        if from.dot(to) >= self.turn.x {
            return to;
        }
        let left = from.perp_dot(to) >= 0.0;
        let turn = Vec2::new(self.turn.x, if left { self.turn.y } else { -self.turn.y });
        turn.rotate(from)
    }
}

impl Pace {
    fn new(rules: &UnitRules, aggro: f32) -> Self {
        let ticks = |ms| TickRate::HZ_60.ticks_in_ms(ms).max(1);
        let reach = milli(rules.reach);
        Self {
            hp: i32::from(rules.hp),
            speed: milli(rules.speed) / hz(),
            reach,
            damage: i32::from(rules.damage),
            cooldown: ticks(rules.cooldown_ms),
            windup: ticks(rules.windup_ms),
            arrow_speed: milli(rules.arrow_speed) / hz(),
            aggro: aggro.max(reach),
        }
    }
}

impl Me {
    fn stay(&self) -> Intent {
        Intent { walk: Vec2::ZERO, facing: self.facing, winds_up: false, done: false }
    }
}

fn hz() -> f32 {
    TickRate::HZ_60.hz() as f32
}
