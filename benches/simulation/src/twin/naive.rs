//! The naive twin: a standard hash map of lists of entities, and a look-up in the world for everything.

use std::collections::HashMap;

use glam::Vec2;
use hecs::{Entity, World};
use lab::Plan;

use super::geometry::round_crossing;
use super::rules::{Foe, Kind, Me, NEVER, Order, SEARCH_TICKS, Terms};
use super::{Arrow, Battle, Body, Facing, Health, Ordered, Step, Target, Team, Walk, Weapon};

/// Side of a cell, tiles.
const CELL: f32 = 4.0;

/// Nothing is kept from tick to tick.
pub(crate) struct Naive;

impl Step for Naive {
    fn new(_: &Plan) -> Self {
        Self
    }

    fn step(&mut self, battle: &mut Battle, orders: &[(Vec<Entity>, Vec2)]) {
        for (platoon, target) in orders {
            battle.order(platoon, *target);
        }
        let Battle { terms, world, now, .. } = &mut *battle;
        let grid = Grid::new(world);
        decide(terms, world, &grid, *now);
        walk(terms, world, &grid);
        let grid = Grid::new(world);
        let mut hits = strike(terms, world, &grid, *now);
        fly(terms, world, &grid, *now, &mut hits);
        for (entity, damage) in hits {
            if let Ok(mut health) = world.get::<&mut Health>(entity) {
                health.0 -= damage;
            }
        }
        let dead: Vec<Entity> = world
            .query::<(Entity, &Health)>()
            .iter()
            .filter(|(_, health)| health.0 <= 0)
            .map(|(e, _)| e)
            .collect();
        for entity in dead {
            world.despawn(entity).expect("was just seen");
        }
        battle.advance_circles();
    }
}

fn decide(terms: &Terms, world: &World, grid: &Grid, now: u32) {
    let units: Vec<Entity> = world.query::<(Entity, &Weapon)>().iter().map(|(entity, _)| entity).collect();
    for entity in units {
        let (me, team) = {
            let weapon = world.get::<&Weapon>(entity).expect("a unit");
            let body = world.get::<&Body>(entity).expect("a unit");
            let me = Me {
                at: body.at,
                moved: body.moved,
                facing: world.get::<&Facing>(entity).expect("a unit").0,
                kind: *world.get::<&Kind>(entity).expect("a unit"),
                order: world.get::<&Ordered>(entity).expect("a unit").0,
                winding_up: weapon.strike_at != NEVER,
                ready: weapon.ready_at <= now,
            };
            (me, *world.get::<&Team>(entity).expect("a unit"))
        };
        let kept = world.get::<&Target>(entity).expect("a unit").0;
        let mut target = kept.filter(|&target| {
            world.get::<&Body>(target).is_ok_and(|body| me.winding_up || terms.keeps(&me, body.at))
        });
        if (now + entity.id()).is_multiple_of(SEARCH_TICKS) && !me.winding_up {
            let found = nearest(terms, world, grid, &me, team);
            let place = |entity: Entity| world.get::<&Body>(entity).expect("just seen").at;
            target = match (target, found) {
                (Some(kept), Some(found)) if !terms.is_better(&me, place(found), place(kept)) => Some(kept),
                (kept, found) => found.or(kept),
            };
        }
        let foe = target.map(|target| {
            let body = world.get::<&Body>(target).expect("just seen");
            Foe { at: body.at, moved: body.moved }
        });
        let intent = terms.decide(&me, foe);
        world.get::<&mut Target>(entity).expect("a unit").0 = target;
        world.get::<&mut Facing>(entity).expect("a unit").0 = intent.facing;
        world.get::<&mut Walk>(entity).expect("a unit").0 = intent.walk;
        if intent.winds_up {
            let mut weapon = world.get::<&mut Weapon>(entity).expect("a unit");
            let pace = terms.pace(me.kind);
            (weapon.strike_at, weapon.ready_at) = (now + pace.windup, now + pace.cooldown);
        }
        if intent.done {
            world.get::<&mut Ordered>(entity).expect("a unit").0 = Order::Idle(me.at);
        }
    }
}

fn nearest(terms: &Terms, world: &World, grid: &Grid, me: &Me, team: Team) -> Option<Entity> {
    let radius = terms.pace(me.kind).aggro;
    let mut best: Option<(f32, Entity)> = None;
    grid.near(me.at, radius, |other| {
        if *world.get::<&Team>(other).expect("a unit") == team {
            return;
        }
        let at = world.get::<&Body>(other).expect("a unit").at;
        let far = me.at.distance_squared(at);
        if far <= radius * radius
            && best.is_none_or(|(least, _)| far < least)
            && terms.on_leash(me, at, radius)
        {
            best = Some((far, other));
        }
    });
    best.map(|(_, entity)| entity)
}

fn walk(terms: &Terms, world: &World, grid: &Grid) {
    let units: Vec<(Entity, Vec2, Vec2)> =
        world.query::<(Entity, &Body, &Walk)>().iter().map(|(e, body, walk)| (e, body.at, walk.0)).collect();
    let mut places = Vec::new();
    for &(entity, at, walk) in &units {
        let mut push = Vec2::ZERO;
        grid.near(at, 2.0 * terms.radius, |other| {
            if other != entity {
                push += terms.push(at, world.get::<&Body>(other).expect("a unit").at);
            }
        });
        places.push((entity, at, terms.settle(at, walk, push)));
    }
    for (entity, from, at) in places {
        *world.get::<&mut Body>(entity).expect("a unit") = Body { at, moved: at - from };
    }
}

fn strike(terms: &Terms, world: &mut World, grid: &Grid, now: u32) -> Vec<(Entity, i32)> {
    let due: Vec<Entity> = world
        .query::<(Entity, &Weapon)>()
        .iter()
        .filter(|(_, w)| w.strike_at <= now)
        .map(|(e, _)| e)
        .collect();
    let mut hits = Vec::new();
    for entity in due {
        world.get::<&mut Weapon>(entity).expect("a unit").strike_at = NEVER;
        let at = world.get::<&Body>(entity).expect("a unit").at;
        let facing = world.get::<&Facing>(entity).expect("a unit").0;
        let team = *world.get::<&Team>(entity).expect("a unit");
        let kind = *world.get::<&Kind>(entity).expect("a unit");
        let pace = terms.pace(kind);
        match kind {
            Kind::Swordsman => {
                let mut cut = Vec::new();
                grid.near(at, pace.reach, |other| {
                    let place = world.get::<&Body>(other).expect("a unit").at;
                    if *world.get::<&Team>(other).expect("a unit") != team && terms.cuts(at, facing, place) {
                        cut.push((at.distance_squared(place), other));
                    }
                });
                cut.sort_by(|a, b| a.0.total_cmp(&b.0));
                for (index, &(_, other)) in cut.iter().take(3).enumerate() {
                    hits.push((other, if index == 0 { pace.damage } else { pace.damage / 2 }));
                }
            }
            Kind::Archer => {
                let (step, dies_at) = (facing * pace.arrow_speed, now + terms.flight(at, facing));
                world.spawn((Arrow { at, step, damage: pace.damage, dies_at }, team));
            }
        }
    }
    hits
}

fn fly(terms: &Terms, world: &mut World, grid: &Grid, now: u32, hits: &mut Vec<(Entity, i32)>) {
    let arrows: Vec<(Entity, Arrow, Team)> =
        world.query::<(Entity, &Arrow, &Team)>().iter().map(|(e, &arrow, &team)| (e, arrow, team)).collect();
    for (entity, arrow, team) in arrows {
        let (from, to) = (arrow.at, arrow.at + arrow.step);
        let body = terms.radius + terms.arrow_radius;
        let mut first: Option<(f32, Entity)> = None;
        grid.near(from, arrow.step.length() + body, |other| {
            if *world.get::<&Team>(other).expect("a unit") == team {
                return;
            }
            let at = world.get::<&Body>(other).expect("a unit").at;
            if let Some(share) = round_crossing(from, to, at, body)
                && first.is_none_or(|(least, _)| share < least)
            {
                first = Some((share, other));
            }
        });
        if let Some((_, other)) = first {
            hits.push((other, arrow.damage));
        }
        if first.is_some() || now + 1 >= arrow.dies_at {
            world.despawn(entity).expect("was just seen");
        } else {
            world.get::<&mut Arrow>(entity).expect("was just seen").at = to;
        }
    }
}

/// Who stands where.
struct Grid(HashMap<(i32, i32), Vec<Entity>>);

impl Grid {
    fn new(world: &World) -> Self {
        let mut cells: HashMap<_, Vec<Entity>> = HashMap::new();
        for (entity, body) in &mut world.query::<(Entity, &Body)>() {
            cells.entry(cell(body.at)).or_default().push(entity);
        }
        Self(cells)
    }

    fn near(&self, at: Vec2, radius: f32, mut visit: impl FnMut(Entity)) {
        let (from, to) = (cell(at - radius), cell(at + radius));
        for y in from.1..=to.1 {
            for x in from.0..=to.0 {
                for &entity in self.0.get(&(x, y)).into_iter().flatten() {
                    visit(entity);
                }
            }
        }
    }
}

fn cell(at: Vec2) -> (i32, i32) {
    ((at.x / CELL).floor() as i32, (at.y / CELL).floor() as i32)
}
