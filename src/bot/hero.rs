//! The control of a bot's hero.

use super::plan::{Plan, mean};
use super::view::{Draw, Orders, View, give, is_within};
use sim::math::{Angle, Fx, Vec2, dist2};
use sim::{AttackBehaviour, Command, Order, Target, UnitId};

/// Enemies within this distance of the hero fight him, in tiles.
const NEAR: i32 = 9;
/// Units of his side within this distance fight beside him: bows stand behind a sword and shoot past it.
const SUPPORT: i32 = 13;
/// Distances between which he dashes at his enemy, in tiles.
const CHARGE: (i32, i32) = (3, 7);

pub(super) fn lead(view: &View<'_>, plan: &Plan, orders: &mut Orders) {
    let Some(hero) = view.hero else { return };
    let at = view.at(hero);
    let (_, foes) = view.worth_near(at, NEAR);
    let (own, _) = view.worth_near(at, SUPPORT);
    if view.skill.is_tactical && (is_hurt(view, plan, hero, foes) || own * 100 < foes * view.skill.flight) {
        retreat(view, plan, orders, hero);
        return;
    }
    raise_banner(view, orders, at);
    let foe = view.weakest_foe(at, engagement(view, hero)).filter(|_| view.skill.is_tactical && plan.is_bold);
    // With nothing else to do it paces up and down, so that a person can see it is active.
    let waits = foe.is_none() && view.is_refresh() && is_within(at, plan.main, 3);
    if waits {
        let to = Angle::of(-view.home).turned(view.draw(Draw::Stroll, 1, 65_536) as i16);
        give(orders, Command::HeroGo(Target::clamped(plan.main + to.vector(Fx::ONE))));
        return;
    }
    match foe {
        Some(foe) => {
            charge(view, orders, hero, foe);
            let id = view.state.units.id[foe];
            if view.state.units.order[hero] != Order::Attack || view.state.units.quarry[hero] != id {
                give(orders, Command::HeroAttack(id));
            }
        }
        None => go(view, orders, hero, pace(view, plan, hero)),
    }
}

/// Returns the distance within which the hero attacks enemies, in tiles.
fn engagement(view: &View<'_>, hero: usize) -> i32 {
    match view.attack(hero) {
        AttackBehaviour::Swordsman => view.skill.engage.0,
        AttackBehaviour::Archer => view.skill.engage.1,
    }
}

/// Dashes to an enemy that a sword does not reach yet.
fn charge(view: &View<'_>, orders: &mut Orders, hero: usize, foe: usize) {
    let (at, to) = (view.at(hero), view.at(foe));
    let is_sword = view.attack(hero) == AttackBehaviour::Swordsman;
    if is_sword && is_within(at, to, CHARGE.1) && !is_within(at, to, CHARGE.0) {
        dash(view, orders, at, to);
    }
}

/// Whether the hero should retreat. A retreating hero stays at home until it has recovered.
fn is_hurt(view: &View<'_>, plan: &Plan, hero: usize, foes: i32) -> bool {
    let leaving = view.state.units.order[hero] == Order::Move && is_within(view.goal(hero), plan.shelter, 4);
    let resting = is_within(view.at(hero), plan.shelter, 5) && foes == 0;
    view.health(hero) < if leaving || resting { view.skill.well } else { view.skill.hurt }
}

fn retreat(view: &View<'_>, plan: &Plan, orders: &mut Orders, hero: usize) {
    let at = view.at(hero);
    if view.nearest_foe(at, 4).is_some() && !is_within(at, plan.shelter, 4) {
        dash(view, orders, at, plan.shelter);
    }
    go(view, orders, hero, plan.shelter);
}

/// Returns the hero's goal: the plan's, but not far ahead of its army.
fn pace(view: &View<'_>, plan: &Plan, hero: usize) -> Vec2 {
    let at = view.at(hero);
    let army = mean(view, &view.minions);
    match army {
        Some(army) if view.nearest_foe(plan.main, 9).is_some() => {
            let ahead = dist2(at, plan.main) < dist2(army, plan.main) && !is_within(at, army, 5);
            if ahead && view.skill.is_tactical { army } else { plan.main }
        }
        _ => plan.main,
    }
}

/// Sends the hero to a new goal, dashing over long open stretches.
fn go(view: &View<'_>, orders: &mut Orders, hero: usize, goal: Vec2) {
    let at = view.at(hero);
    let bound = view.state.units.order[hero] == Order::Move && is_within(view.goal(hero), goal, 3);
    if !bound && !is_within(at, goal, 2) {
        give(orders, Command::HeroGo(Target::clamped(goal)));
    }
    if view.skill.is_tactical && view.nearest_foe(at, 12).is_none() && !is_within(at, goal, 8) {
        dash(view, orders, at, goal);
    }
}

fn dash(view: &View<'_>, orders: &mut Orders, at: Vec2, to: Vec2) {
    if view.state.players.dash_ready_at[view.player.index()] <= view.state.clock() {
        give(orders, Command::Dash(Angle::of(to - at)));
    }
}

fn raise_banner(view: &View<'_>, orders: &mut Orders, at: Vec2) {
    let ready = view.state.players.banner_ready_at[view.player.index()] <= view.state.clock();
    let fighting = view
        .minions
        .iter()
        .filter(|&&row| view.state.units.target[row] != UnitId::NONE && is_within(at, view.at(row), 6));
    if ready && fighting.count() >= 3 {
        give(orders, Command::Banner);
    }
}
