//! Two twins of the simulation: the same battle by the same rules in `f32`, in the entity component system
//! `hecs`, written naively and with care.
//!
//! What they leave out makes them cheaper, not dearer: the two heroes, orders that wait, cores that can be
//! hurt, events, and everything that makes the simulation deterministic.

mod careful;
mod geometry;
mod naive;
mod rules;
mod solids;

pub(crate) use careful::{Careful, DenseGrid, HashGrid};
pub(crate) use naive::Naive;

use glam::Vec2;
use hecs::{Entity, World};
use lab::{Plan, Soldier, Sortie};
use sim::Tick;

use crate::Engine;
use rules::{Kind, NEVER, Order, Terms};
use solids::Solids;

// Components of units.

/// Where a unit stands, and how far it went in the last tick.
#[derive(Clone, Copy, Debug)]
struct Body {
    at: Vec2,
    moved: Vec2,
}
#[derive(Clone, Copy, Debug)]
struct Facing(Vec2);
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Team(u8);
#[derive(Clone, Copy, Debug)]
struct Health(i32);
#[derive(Clone, Copy, Debug)]
struct Ordered(Order);
#[derive(Clone, Copy, Debug)]
struct Target(Option<Entity>);
/// What it walks in this tick.
#[derive(Clone, Copy, Debug)]
struct Walk(Vec2);
/// When a blow falls, and when the next one may be wound up.
#[derive(Clone, Copy, Debug)]
struct Weapon {
    strike_at: u32,
    ready_at: u32,
}

/// The component of arrows, beside their [`Team`].
#[derive(Clone, Copy, Debug)]
struct Arrow {
    at: Vec2,
    step: Vec2,
    damage: i32,
    dies_at: u32,
}

/// Circles: who takes them, how far it has come, who holds them.
#[derive(Clone, Copy, Debug, Default)]
struct Circle {
    progress: i32,
    taker: u8,
    owner: Option<u8>,
}

/// The tick of a twin, which is all in which they differ.
pub(crate) trait Step {
    fn new(plan: &Plan) -> Self;
    /// Obeys the orders, each to a platoon and where to, and runs the tick.
    fn step(&mut self, battle: &mut Battle, orders: &[(Vec<Entity>, Vec2)]);
}

/// What both twins have.
pub(crate) struct Battle {
    terms: Terms,
    world: World,
    now: u32,
    circles: Vec<Circle>,
}

/// A twin in the battle of the plan.
pub(crate) struct Twin<S> {
    name: &'static str,
    plan: Plan,
    battle: Battle,
    step: S,
    ranks: Vec<Entity>,
    orders: Vec<(Vec<Entity>, Vec2)>,
    fallen: u64,
}

impl<S: Step> Twin<S> {
    pub(crate) fn new(name: &'static str, plan: Plan) -> Self {
        let circles: Vec<Vec2> = plan
            .map
            .circles
            .iter()
            .map(|circle| Vec2::new(geometry::milli(circle.at.0), geometry::milli(circle.at.1)))
            .collect();
        let solids = Solids::new(&plan.map, &plan.rules);
        let mut battle = Battle {
            circles: vec![Circle::default(); circles.len()],
            terms: Terms::new(&plan.rules, circles, solids),
            world: World::new(),
            now: 0,
        };
        let ranks = plan.soldiers.iter().map(|soldier| battle.muster(soldier)).collect();
        Self { name, step: S::new(&plan), plan, battle, ranks, orders: Vec::new(), fallen: 0 }
    }
}

impl<S: Step> Engine for Twin<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn prepare(&mut self) {
        for (entity, soldier) in self.ranks.iter_mut().zip(&self.plan.soldiers) {
            if !self.battle.world.contains(*entity) {
                *entity = self.battle.muster(soldier);
                self.fallen += 1;
            }
        }
        self.orders.clear();
        for Sortie { platoon, target } in self.plan.sorties(Tick(self.battle.now)) {
            let soldiers = self.plan.platoons[platoon].soldiers.clone();
            self.orders.push((self.ranks[soldiers].to_vec(), vec2(target.at())));
        }
    }

    fn step(&mut self) {
        self.step.step(&mut self.battle, &self.orders);
        self.battle.now += 1;
    }

    fn fallen(&self) -> u64 {
        self.fallen
    }

    fn arrows(&self) -> usize {
        self.battle.world.query::<&Arrow>().iter().len()
    }

    fn engaged(&self) -> usize {
        let bodies = self.battle.world.view::<&Body>();
        let is_there = |target: &&Target| target.0.is_some_and(|target| bodies.contains(target));
        self.battle.world.query::<&Target>().iter().filter(is_there).count()
    }

    fn places(&self) -> Vec<Vec2> {
        self.battle.world.query::<&Body>().iter().map(|body| body.at).collect()
    }
}

impl Battle {
    fn muster(&mut self, soldier: &Soldier) -> Entity {
        let kind = self.terms.kind(soldier.kind);
        let pace = self.terms.pace(kind);
        let at = self.terms.solids.walk(vec2(soldier.at), Vec2::ZERO, self.terms.radius);
        self.world.spawn((
            Body { at, moved: Vec2::ZERO },
            Facing(Vec2::X),
            Team(soldier.player.0),
            kind,
            Health(pace.hp),
            Ordered(Order::Idle(at)),
            Target(None),
            Walk(Vec2::ZERO),
            Weapon { strike_at: NEVER, ready_at: self.now },
        ))
    }

    /// Sends a platoon to places around `target`.
    fn order(&mut self, platoon: &[Entity], target: Vec2) {
        let mut view = self.world.view_mut::<(&Body, &Kind, &mut Ordered)>();
        let mut soldiers: Vec<Placed> = platoon
            .iter()
            .filter_map(|&entity| {
                let (body, &kind, _) = view.get_mut(entity)?;
                Some(Placed { entity, kind, at: body.at, goal: target })
            })
            .collect();
        form_up(&mut soldiers, target);
        for Placed { entity, goal, .. } in soldiers {
            if let Some((_, _, ordered)) = view.get_mut(entity) {
                let goal = self.terms.solids.walk(goal, Vec2::ZERO, self.terms.radius);
                ordered.0 = Order::AttackMove(goal);
            }
        }
    }

    /// Units in each circle by team, to [`Circle`]s.
    fn advance_circles(&mut self) {
        let mut present = vec![[0; 2]; self.circles.len()];
        let within = self.terms.circle_radius.powi(2);
        for (body, team) in &mut self.world.query::<(&Body, &Team)>() {
            for (present, &circle) in present.iter_mut().zip(&self.terms.circles) {
                if body.at.distance_squared(circle) <= within {
                    present[usize::from(team.0)] += 1;
                }
            }
        }
        for (circle, present) in self.circles.iter_mut().zip(present) {
            circle.advance(present);
        }
    }
}

impl Circle {
    /// Progress at which a circle changes hands: four seconds of one unit.
    const TAKEN: i32 = 240;

    fn advance(&mut self, present: [i32; 2]) {
        let (team, units) = match present {
            [0, 0] => {
                self.progress = (self.progress - 1).max(0);
                return;
            }
            [units, 0] => (0, units),
            [0, units] => (1, units),
            _ => return,
        };
        if self.owner == Some(team) || (self.progress > 0 && self.taker != team) {
            self.progress = (self.progress - units.min(2)).max(0);
            return;
        }
        self.taker = team;
        self.progress += units.min(2);
        if self.progress >= Self::TAKEN {
            (self.owner, self.progress) = (Some(team), 0);
        }
    }
}

/// A soldier's place in the formation of its platoon.
struct Placed {
    entity: Entity,
    kind: Kind,
    at: Vec2,
    goal: Vec2,
}

/// Ranks across the way, twice as wide as deep, swordsmen before archers, 1.1 tiles apart.
fn form_up(soldiers: &mut [Placed], target: Vec2) {
    const SPACING: f32 = 1.1;
    let Some(last) = soldiers.len().checked_sub(1) else { return };
    let middle = soldiers.iter().map(|soldier| soldier.at).sum::<Vec2>() / soldiers.len() as f32;
    let ahead = (target - middle).try_normalize().unwrap_or(Vec2::X);
    let left = ahead.perp();
    let by_rank = |soldier: &Placed| (soldier.kind as u8, -ahead.dot(soldier.at));
    soldiers.sort_by(|a, b| by_rank(a).partial_cmp(&by_rank(b)).expect("finite"));
    let width = ((2 * soldiers.len()) as f32).sqrt().ceil() as usize;
    let ranks = last / width + 1;
    for (rank, soldiers) in soldiers.chunks_mut(width).enumerate() {
        soldiers.sort_by(|a, b| left.dot(b.at).total_cmp(&left.dot(a.at)));
        let files = soldiers.len();
        for (file, soldier) in soldiers.iter_mut().enumerate() {
            let back = (ranks - 1) as f32 / 2.0 - rank as f32;
            let aside = (files - 1) as f32 / 2.0 - file as f32;
            soldier.goal = target + (ahead * back + left * aside) * SPACING;
        }
    }
}

fn vec2(at: sim::math::Vec2) -> Vec2 {
    Vec2::new(at.x.to_num(), at.y.to_num())
}
