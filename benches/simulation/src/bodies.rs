//! A physics engine with as many balls: `rapier2d`, its results the same on every machine. It has no rules
//! to play: a platoon's balls get a velocity toward their goal when it is ordered there, and nobody fights.

use lab::{Plan, Sortie};
use rapier2d::prelude::*;
use sim::Tick;

use crate::Engine;

/// The balls of a battle.
pub(crate) struct Bodies {
    plan: Plan,
    now: u32,
    balls: Vec<RigidBodyHandle>,
    pipeline: PhysicsPipeline,
    parameters: IntegrationParameters,
    islands: IslandManager,
    broad_phase: BroadPhaseBvh,
    narrow_phase: NarrowPhase,
    bodies: RigidBodySet,
    colliders: ColliderSet,
    joints: ImpulseJointSet,
    multibody_joints: MultibodyJointSet,
    soft_bodies: SoftBodySet,
    ccd: CCDSolver,
}

impl Bodies {
    pub(crate) fn new(plan: Plan) -> Self {
        let mut colliders = ColliderSet::new();
        for solid in solids(&plan) {
            colliders.insert(solid.friction(0.0).restitution(0.0));
        }
        let mut bodies = RigidBodySet::new();
        let radius = milli(plan.rules.minions[0].unit.radius);
        let balls = plan.soldiers.iter().map(|soldier| {
            let at = Vector::new(soldier.at.x.to_num(), soldier.at.y.to_num());
            let body = bodies.insert(RigidBodyBuilder::dynamic().translation(at).lock_rotations());
            let ball = ColliderBuilder::ball(radius).friction(0.0).restitution(0.0);
            colliders.insert_with_parent(ball, body, &mut bodies);
            body
        });
        let balls = balls.collect();
        Self {
            plan,
            now: 0,
            balls,
            pipeline: PhysicsPipeline::new(),
            parameters: IntegrationParameters { dt: 1.0 / 60.0, ..IntegrationParameters::default() },
            islands: IslandManager::new(),
            broad_phase: BroadPhaseBvh::new(),
            narrow_phase: NarrowPhase::new(),
            bodies,
            colliders,
            joints: ImpulseJointSet::new(),
            multibody_joints: MultibodyJointSet::new(),
            soft_bodies: SoftBodySet::new(),
            ccd: CCDSolver::new(),
        }
    }
}

impl Engine for Bodies {
    fn name(&self) -> &'static str {
        "rapier2d, balls only"
    }

    fn prepare(&mut self) {
        for Sortie { platoon, target } in self.plan.sorties(Tick(self.now)) {
            let target = glam::Vec2::new(target.at().x.to_num(), target.at().y.to_num());
            let platoon = &self.plan.platoons[platoon];
            let middle = glam::Vec2::new(platoon.middle.x.to_num(), platoon.middle.y.to_num());
            for index in platoon.soldiers.clone() {
                let kind = self.plan.soldiers[index].kind;
                let speed = milli(self.plan.rules.minions[kind.index()].unit.speed);
                let body = &mut self.bodies[self.balls[index]];
                // Beside the others, as it began.
                let place = self.plan.soldiers[index].at;
                let goal = target + glam::Vec2::new(place.x.to_num(), place.y.to_num()) - middle;
                let way = Vector::new(goal.x, goal.y) - body.translation();
                body.set_linvel(way.normalize_or_zero() * speed, true);
            }
        }
        self.now += 1;
    }

    fn step(&mut self) {
        self.pipeline.step(
            Vector::ZERO,
            &self.parameters,
            &mut self.islands,
            &mut self.broad_phase,
            &mut self.narrow_phase,
            &mut self.bodies,
            &mut self.colliders,
            &mut self.joints,
            &mut self.multibody_joints,
            &mut self.soft_bodies,
            &mut self.ccd,
            &(),
            &(),
        );
    }

    fn places(&self) -> Vec<glam::Vec2> {
        let place = |&ball: &RigidBodyHandle| {
            let at = self.bodies[ball].translation();
            glam::Vec2::new(at.x, at.y)
        };
        self.balls.iter().map(place).collect()
    }
}

/// The map's obstacles and its edge.
fn solids(plan: &Plan) -> Vec<ColliderBuilder> {
    let (map, half) = (&plan.map, milli(plan.map.size.0) / 2.0);
    let walls = map.walls.iter().map(|wall| {
        let (x, y) = (wall.max.0 - wall.min.0, wall.max.1 - wall.min.1);
        let middle = Vector::new(milli(wall.min.0 + x / 2), milli(wall.min.1 + y / 2));
        ColliderBuilder::cuboid(milli(x) / 2.0, milli(y) / 2.0).translation(middle)
    });
    let ball = |(x, y): (i32, i32), radius: i32| {
        ColliderBuilder::ball(milli(radius)).translation(Vector::new(milli(x), milli(y)))
    };
    let rocks = map.rocks.iter().map(|rock| ball(rock.at, rock.radius));
    let cores = map.bases.iter().map(|&base| ball(base, plan.rules.core_radius));
    let edge = [Vector::X, -Vector::X, Vector::Y, -Vector::Y].map(|out| {
        let flat = Vector::new(if out.x == 0.0 { half } else { 1.0 }, if out.y == 0.0 { half } else { 1.0 });
        ColliderBuilder::cuboid(flat.x, flat.y).translation(out * (half + 1.0))
    });
    walls.chain(rocks).chain(cores).chain(edge).collect()
}

fn milli(milli: i32) -> f32 {
    milli as f32 / 1000.0
}
