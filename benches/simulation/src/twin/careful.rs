//! The careful twin: components in queries and views, cells that hold all that a search asks for, buffers
//! that are kept. Its cells lie in a fast hash map, as one has them who does not know how large the world is,
//! or are sorted line by line into one array, which is faster.

use glam::Vec2;
use hecs::{CommandBuffer, Entity, World};
use lab::Plan;
use rustc_hash::FxHashMap;

use super::geometry::{milli, round_crossing};
use super::rules::{Foe, Kind, Me, NEVER, Order, SEARCH_TICKS, Terms};
use super::{Arrow, Battle, Body, Facing, Health, Ordered, Step, Target, Team, Walk, Weapon};

/// What is kept from tick to tick.
pub(crate) struct Careful<G> {
    grid: G,
    hits: Vec<(Entity, i32)>,
    dead: Vec<Entity>,
    commands: CommandBuffer,
}

impl<G: Grid> Step for Careful<G> {
    fn new(plan: &Plan) -> Self {
        let grid = G::new(milli(plan.map.size.0) / 2.0);
        Self { grid, hits: Vec::new(), dead: Vec::new(), commands: CommandBuffer::new() }
    }

    fn step(&mut self, battle: &mut Battle, orders: &[(Vec<Entity>, Vec2)]) {
        for (platoon, target) in orders {
            battle.order(platoon, *target);
        }
        let Battle { terms, world, now, .. } = &mut *battle;
        self.grid.fill(world);
        self.decide(terms, world, *now);
        self.walk(terms, world);
        self.grid.fill(world);
        self.strike(terms, world, *now);
        self.fly(terms, world, *now);
        self.bury(world);
        battle.advance_circles();
    }
}

impl<G: Grid> Careful<G> {
    fn decide(&self, terms: &Terms, world: &World, now: u32) {
        let bodies = world.view::<&Body>();
        type Unit<'a> = (
            Entity,
            (&'a Body, &'a Team, &'a Kind),
            &'a mut Facing,
            &'a mut Ordered,
            &'a mut Target,
            &'a mut Walk,
            &'a mut Weapon,
        );
        for (entity, (body, team, &kind), facing, ordered, target, walk, weapon) in
            &mut world.query::<Unit<'_>>()
        {
            let me = Me {
                at: body.at,
                moved: body.moved,
                facing: facing.0,
                kind,
                order: ordered.0,
                winding_up: weapon.strike_at != NEVER,
                ready: weapon.ready_at <= now,
            };
            let kept = target.0.and_then(|target| Some((target, *bodies.get(target)?)));
            let mut foe = kept.filter(|(_, body)| me.winding_up || terms.keeps(&me, body.at));
            if (now + entity.id()).is_multiple_of(SEARCH_TICKS)
                && !me.winding_up
                && let Some(found) = self.nearest(terms, &me, *team)
                && foe.is_none_or(|(_, kept)| terms.is_better(&me, found.1.at, kept.at))
            {
                foe = Some(found);
            }
            target.0 = foe.map(|(entity, _)| entity);
            let foe = foe.map(|(_, Body { at, moved })| Foe { at, moved });
            let intent = terms.decide(&me, foe);
            facing.0 = intent.facing;
            walk.0 = intent.walk;
            if intent.winds_up {
                let pace = terms.pace(kind);
                (weapon.strike_at, weapon.ready_at) = (now + pace.windup, now + pace.cooldown);
            }
            if intent.done {
                ordered.0 = Order::Idle(me.at);
            }
        }
    }

    fn nearest(&self, terms: &Terms, me: &Me, team: Team) -> Option<(Entity, Body)> {
        let radius = terms.pace(me.kind).aggro;
        let (mut least, mut best) = (radius * radius, None);
        self.grid.near(me.at, radius, |other| {
            let far = me.at.distance_squared(other.at);
            if far <= least && other.team != team && terms.on_leash(me, other.at, radius) {
                (least, best) = (far, Some(other));
            }
        });
        best.map(|other| (other.entity, Body { at: other.at, moved: other.moved }))
    }

    fn walk(&self, terms: &Terms, world: &mut World) {
        for (entity, body, walk) in world.query_mut::<(Entity, &mut Body, &Walk)>() {
            let at = body.at;
            let mut push = Vec2::ZERO;
            self.grid.near(at, 2.0 * terms.radius, |other| {
                if other.entity != entity {
                    push += terms.push(at, other.at);
                }
            });
            let place = terms.settle(at, walk.0, push);
            *body = Body { at: place, moved: place - at };
        }
    }

    fn strike(&mut self, terms: &Terms, world: &mut World, now: u32) {
        let Self { grid, hits, commands, .. } = self;
        hits.clear();
        for (weapon, body, facing, &team, &kind) in
            world.query_mut::<(&mut Weapon, &Body, &Facing, &Team, &Kind)>()
        {
            if weapon.strike_at > now {
                continue;
            }
            weapon.strike_at = NEVER;
            let (at, facing, pace) = (body.at, facing.0, terms.pace(kind));
            match kind {
                Kind::Swordsman => {
                    let mut cut: [(f32, Option<Entity>); 3] = [(f32::INFINITY, None); 3];
                    grid.near(at, pace.reach, |other| {
                        if other.team == team || !terms.cuts(at, facing, other.at) {
                            return;
                        }
                        let mut found = (at.distance_squared(other.at), Some(other.entity));
                        for place in &mut cut {
                            if found.0 < place.0 {
                                std::mem::swap(place, &mut found);
                            }
                        }
                    });
                    let entities = cut.iter().map_while(|&(_, entity)| entity);
                    hits.extend(entities.enumerate().map(|(index, entity)| {
                        (entity, if index == 0 { pace.damage } else { pace.damage / 2 })
                    }));
                }
                Kind::Archer => {
                    let (step, dies_at) = (facing * pace.arrow_speed, now + terms.flight(at, facing));
                    commands.spawn((Arrow { at, step, damage: pace.damage, dies_at }, team));
                }
            }
        }
        commands.run_on(world);
    }

    fn fly(&mut self, terms: &Terms, world: &mut World, now: u32) {
        let Self { grid, hits, dead, .. } = self;
        let body = terms.radius + terms.arrow_radius;
        for (entity, arrow, &team) in world.query_mut::<(Entity, &mut Arrow, &Team)>() {
            let (from, to) = (arrow.at, arrow.at + arrow.step);
            let mut first: Option<(f32, Entity)> = None;
            grid.between(from.min(to) - body, from.max(to) + body, |other| {
                if other.team != team
                    && let Some(share) = round_crossing(from, to, other.at, body)
                    && first.is_none_or(|(least, _)| share < least)
                {
                    first = Some((share, other.entity));
                }
            });
            if let Some((_, other)) = first {
                hits.push((other, arrow.damage));
            }
            if first.is_some() || now + 1 >= arrow.dies_at {
                dead.push(entity);
            }
            arrow.at = to;
        }
    }

    fn bury(&mut self, world: &mut World) {
        let mut healths = world.view_mut::<&mut Health>();
        for (entity, damage) in self.hits.drain(..) {
            if let Some(health) = healths.get_mut(entity) {
                // Who falls is noted once.
                if health.0 > 0 && health.0 <= damage {
                    self.dead.push(entity);
                }
                health.0 -= damage;
            }
        }
        for entity in self.dead.drain(..) {
            world.despawn(entity).expect("was just seen");
        }
    }
}

/// A unit as others see it.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    at: Vec2,
    moved: Vec2,
    entity: Entity,
    team: Team,
}

/// Who stands where.
pub(crate) trait Grid {
    /// For a square map of half this size.
    fn new(half: f32) -> Self;
    fn fill(&mut self, world: &mut World);
    /// Calls `visit` for all who stand between, and for some around.
    fn between<'a>(&'a self, min: Vec2, max: Vec2, visit: impl FnMut(&'a Seen));
    #[inline]
    fn near<'a>(&'a self, at: Vec2, radius: f32, visit: impl FnMut(&'a Seen)) {
        self.between(at - radius, at + radius, visit);
    }
}

/// All of the world, as others see them.
fn all(world: &mut World) -> impl Iterator<Item = Seen> {
    let units = world.query_mut::<(Entity, &Body, &Team)>().into_iter();
    units.map(|(entity, body, &team)| Seen { at: body.at, moved: body.moved, entity, team })
}

/// Cells in a hash map.
pub(crate) struct HashGrid(FxHashMap<(i32, i32), Vec<Seen>>);

impl HashGrid {
    /// Side of a cell, tiles: of 2, 3, 4 and 6 the fastest.
    const CELL: f32 = 4.0;

    fn cell(at: Vec2) -> (i32, i32) {
        ((at.x / Self::CELL).floor() as i32, (at.y / Self::CELL).floor() as i32)
    }
}

impl Grid for HashGrid {
    fn new(_: f32) -> Self {
        Self(FxHashMap::default())
    }

    fn fill(&mut self, world: &mut World) {
        self.0.values_mut().for_each(Vec::clear);
        for seen in all(world) {
            self.0.entry(Self::cell(seen.at)).or_default().push(seen);
        }
    }

    #[inline]
    fn between<'a>(&'a self, min: Vec2, max: Vec2, mut visit: impl FnMut(&'a Seen)) {
        let (from, to) = (Self::cell(min), Self::cell(max));
        for y in from.1..=to.1 {
            for x in from.0..=to.0 {
                self.0.get(&(x, y)).into_iter().flatten().for_each(&mut visit);
            }
        }
    }
}

/// Cells in an array, line by line.
pub(crate) struct DenseGrid {
    half: f32,
    columns: usize,
    starts: Vec<u32>,
    seen: Vec<Seen>,
    unsorted: Vec<(u32, Seen)>,
}

impl DenseGrid {
    /// Side of a cell, tiles: of 1, 2, 3 and 4 the fastest.
    const CELL: f32 = 2.0;

    /// The line, or the column, of a coordinate.
    #[inline]
    fn line(&self, at: f32) -> usize {
        // Casts saturate: what lies below the map is in the first line.
        (((at + self.half) / Self::CELL) as usize).min(self.columns - 1)
    }
}

impl Grid for DenseGrid {
    fn new(half: f32) -> Self {
        let columns = (2.0 * half / Self::CELL) as usize + 1;
        let starts = vec![0; columns * columns + 1];
        Self { half, columns, starts, seen: Vec::new(), unsorted: Vec::new() }
    }

    fn fill(&mut self, world: &mut World) {
        self.starts.fill(0);
        self.unsorted.clear();
        for seen in all(world) {
            let cell = self.line(seen.at.y) * self.columns + self.line(seen.at.x);
            self.starts[cell] += 1;
            self.unsorted.push((cell as u32, seen));
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        if let Some(&(_, any)) = self.unsorted.first() {
            self.seen.resize(self.unsorted.len(), any);
        }
        for &(cell, seen) in &self.unsorted {
            let start = &mut self.starts[cell as usize];
            *start -= 1;
            self.seen[*start as usize] = seen;
        }
    }

    #[inline]
    fn between<'a>(&'a self, min: Vec2, max: Vec2, mut visit: impl FnMut(&'a Seen)) {
        let (left, right) = (self.line(min.x), self.line(max.x));
        for line in self.line(min.y)..=self.line(max.y) {
            let first = self.starts[line * self.columns + left] as usize;
            let last = self.starts[line * self.columns + right + 1] as usize;
            self.seen[first..last].iter().for_each(&mut visit);
        }
    }
}
