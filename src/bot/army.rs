//! The commands of a bot to its minions.

use arrayvec::ArrayVec;

use super::Mix;
use super::plan::{Plan, mean};
use super::view::{Draw, Orders, Rows, View, give, is_within};
use sim::math::{Vec2, dist2};
use sim::{
    AttackBehaviour, CIRCLES_MAX, Command, ControlBehaviour, KindId, Order, SUPPLY, Selection, Target, Tick,
    When,
};

/// An army below this strength, in percent of the enemies around it, retreats.
const LOST: i32 = 60;
/// Number of enemies with a bow for each runner.
const PREY: usize = 2;
/// Distance within which runners look for enemies with a bow, in tiles.
const HUNT: i32 = 12;
/// An army smaller than this is not split.
const WHOLE: usize = 4;

/// Minions, and their assignment to goals.
pub(super) struct Army<'a> {
    view: &'a View<'a>,
    plan: &'a Plan,
    main: Rows,
    /// Minions sent to other circles.
    detached: ArrayVec<(Rows, Vec2), CIRCLES_MAX>,
}

impl<'a> Army<'a> {
    pub(super) fn new(view: &'a View<'a>, plan: &'a Plan) -> Self {
        let mut army = Self { view, plan, main: view.minions.clone(), detached: ArrayVec::new() };
        for &circle in &plan.spare {
            if army.main.len() >= WHOLE {
                let few = army.detach(circle);
                army.detached.push((few, circle));
            }
        }
        army
    }

    pub(super) fn command(&self, orders: &mut Orders) {
        for (few, circle) in &self.detached {
            self.march(orders, few, *circle);
        }
        self.command_main(orders);
    }

    /// Repeats the command of the main army.
    pub(super) fn confirm(&self, orders: &mut Orders) {
        let all = self.select(&self.main, |_| true);
        if all.is_empty() {
            let home = self.view.hero.map(|hero| self.view.at(hero));
            orders.extend(home.map(|at| Command::HeroGo(Target::clamped(at))));
        } else {
            give(orders, Command::AttackMove(all, Target::clamped(self.plan.main), When::Now));
        }
    }

    /// Detaches minions for a circle from the main army: first those already on their way, then the nearest.
    fn detach(&mut self, circle: Vec2) -> Rows {
        let view = self.view;
        let cost = |row: usize| {
            let going =
                view.state.units.order[row] == Order::AttackMove && is_within(view.goal(row), circle, 4);
            (!going, dist2(view.at(row), circle))
        };
        let mut few = Rows::new();
        let count = 1 + view.draw(Draw::Detachment, 20, 2);
        for _ in 0..count {
            let next = (0..self.main.len()).min_by_key(|&place| cost(self.main[place]));
            few.extend(next.map(|place| self.main.remove(place)));
        }
        few
    }

    fn command_main(&self, orders: &mut Orders) {
        let view = self.view;
        let Some(middle) = mean(view, &self.main) else { return };
        if view.skill.is_tactical && self.is_lost(middle) {
            self.withdraw(orders);
            return;
        }
        let of = |kind: AttackBehaviour| -> Rows {
            self.main.iter().copied().filter(|&row| view.attack(row) == kind).collect()
        };
        if let Some(hero) = view.hero
            && self.has_time(middle, hero)
        {
            self.follow(orders);
            return;
        }
        let (mut swords, bows) = (of(AttackBehaviour::Swordsman), of(AttackBehaviour::Archer));
        let runners: Rows = swords.iter().copied().filter(|&row| view.is_runner(row)).collect();
        let prey = mean(view, &runners).and_then(|at| view.nearest_prey(at, HUNT));
        if let Some(prey) = prey.filter(|_| view.skill.focuses) {
            swords.retain(|row| !runners.contains(row));
            self.focus(orders, &runners, prey);
        }
        self.march(orders, &swords, self.plan.main);
        let foe = mean(view, &bows).and_then(|at| view.weakest_foe(at, 9)).filter(|_| view.skill.focuses);
        match foe {
            Some(foe) => self.focus(orders, &bows, foe),
            None => self.march(orders, &bows, self.plan.main),
        }
    }

    /// Whether the enemies here are too strong.
    fn is_lost(&self, middle: Vec2) -> bool {
        let (own, foes) = self.view.worth_near(middle, 10);
        let home = is_within(middle, self.plan.shelter, 10);
        !home && own * 100 < foes * LOST && !self.view.is_sudden_death()
    }

    /// Whether all minions are at their places with their hero, with no enemy near.
    fn has_time(&self, middle: Vec2, hero: usize) -> bool {
        let view = self.view;
        let there = is_within(view.at(hero), self.plan.main, 3) && is_within(middle, self.plan.main, 5);
        there && view.nearest_foe(self.plan.main, 14).is_none()
    }

    /// Stays with the hero.
    fn follow(&self, orders: &mut Orders) {
        let others = self.select(&self.main, |row| self.view.state.units.order[row] != Order::Follow);
        if !others.is_empty() {
            give(orders, Command::Follow(others, When::Now));
        }
    }

    /// Walks to the shelter and ignores enemies.
    fn withdraw(&self, orders: &mut Orders) {
        let view = self.view;
        let goal = self.plan.shelter;
        let late = self.select(&self.main, |row| {
            let going = view.state.units.order[row] == Order::Move && is_within(view.goal(row), goal, 6);
            !going && !is_within(view.at(row), goal, 6)
        });
        if !late.is_empty() {
            give(orders, Command::Move(late, Target::clamped(goal), When::Now));
        }
    }

    /// Commands an attack on `foe`, for minions that do not attack it yet.
    fn focus(&self, orders: &mut Orders, group: &Rows, foe: usize) {
        let units = &self.view.state.units;
        let id = units.id[foe];
        let idle = self.select(group, |row| units.order[row] != Order::Attack || units.quarry[row] != id);
        if !idle.is_empty() {
            give(orders, Command::Attack(idle, id, When::Now));
        }
    }

    /// Commands an attack-move to `goal`, for minions neither there nor on their way.
    fn march(&self, orders: &mut Orders, group: &Rows, goal: Vec2) {
        let view = self.view;
        let idle = self.select(group, |row| {
            let order = view.state.units.order[row];
            let bound = order == Order::AttackMove && is_within(view.goal(row), goal, 4);
            let there = order == Order::Idle && is_within(view.at(row), goal, 3) && !view.is_refresh();
            !bound && !there
        });
        if !idle.is_empty() {
            give(orders, Command::AttackMove(idle, Target::clamped(goal), When::Now));
        }
    }

    fn select(&self, group: &Rows, wanted: impl Fn(usize) -> bool) -> Selection {
        group.iter().filter(|&&row| wanted(row)).map(|&row| self.view.state.units.id[row]).collect()
    }
}

/// Trains as many minions as the supply pays for.
pub(super) fn train(view: &View<'_>, orders: &mut Orders) {
    let at = view.player.index();
    let rules = &view.world.setup().rules;
    let kind = wanted_kind(view);
    let Some(minion) = rules.minions.get(kind.index()) else { return };
    let affordable = view.state.players.supply[at] >= i32::from(minion.cost) * SUPPLY;
    let room = view.state.minions(view.player) < usize::from(rules.minions_max)
        && view.state.players.training_len[at] < rules.training_max;
    if affordable && room && is_time_to_train(view) {
        give(orders, Command::Train(kind));
    }
}

/// Whether this is the first decision of a training interval of the level.
fn is_time_to_train(view: &View<'_>) -> bool {
    let rate = view.world.setup().tick_rate;
    let [every, period] = [view.skill.trains_every_ms, view.skill.period_ms].map(|ms| rate.ticks_in_ms(ms));
    let Tick(now) = view.state.clock();
    every == 0 || (now / period * period) % every < period
}

/// Returns the kind that the mix asks for. By default bows against swords, which take long to reach them, and swords
/// against bows.
fn wanted_kind(view: &View<'_>) -> KindId {
    let rules = &view.world.setup().rules;
    let own = |kind: KindId| view.minions.iter().filter(|&&row| view.state.units.kind[row] == kind).count();
    let fewest = |kinds: &mut dyn Iterator<Item = KindId>| kinds.min_by_key(|&kind| own(kind));
    let any = || fewest(&mut rules.minion_kinds()).unwrap_or_default();
    match view.style.mix {
        Mix::Counter if view.skill.answers => {
            let attack = wanted_attack(view);
            let unit = |kind: KindId| rules.unit(ControlBehaviour::Minion, kind);
            // Of the kinds with a sword the fastest run bows down, the others fight swords.
            let fast = |kind: KindId| attack == AttackBehaviour::Swordsman && unit(kind).speed > view.run();
            let runners = view.minions.iter().filter(|&&row| view.is_runner(row)).count();
            let bows = view.minions.iter().filter(|&&row| view.is_prey(row)).count();
            let prey = view.foes().filter(|&foe| view.is_prey(foe)).count();
            // As many as there is prey for, but not more than swords to stand in front.
            let wants_runner = runners * PREY < prey && runners * 2 + bows <= view.minions.len();
            let has_it = |kind: &KindId| unit(*kind).attack == attack;
            let of_attack = || rules.minion_kinds().filter(has_it);
            fewest(&mut of_attack().filter(|&kind| fast(kind) == wants_runner))
                .or_else(|| fewest(&mut of_attack()))
                .unwrap_or_else(any)
        }
        Mix::Only(kind) => kind,
        Mix::Counter | Mix::Even => any(),
    }
}

/// Returns the attack that does best against the enemies in view: of ten minions, six bows if most enemies carry
/// swords, else four, and only two if most of those with a sword run bows down. A hero with a bow counts as one of the
/// bows, since somebody must stand in front of him too.
fn wanted_attack(view: &View<'_>) -> AttackBehaviour {
    use AttackBehaviour::{Archer, Swordsman};
    let foes = |attack| view.foes().filter(|&foe| view.attack(foe) == attack).count();
    let runners = view.foes().filter(|&foe| view.is_runner(foe)).count();
    let bow = view.hero.filter(|&hero| view.attack(hero) == Archer);
    let own = |attack| view.minions.iter().chain(&bow).filter(|&&row| view.attack(row) == attack).count();
    let tenths = if runners * 2 > foes(Swordsman) {
        2
    } else if foes(Swordsman) > foes(Archer) {
        6
    } else {
        4
    };
    if own(Archer) * 10 < (own(Archer) + own(Swordsman) + 1) * tenths { Archer } else { Swordsman }
}
