//! What a bot does with what it sees.

use arrayvec::ArrayVec;

use super::{Bot, BotLevel, Mix};
use crate::sim::math::{Angle, Fx, Vec2, dist2, square};
use crate::sim::{
    AttackBehaviour, COMMANDS_PER_TICK_MAX, Command, ControlBehaviour, GameState, Order, PlayerId,
    SELECTION_MAX, Selection, Target, Tick, UnitId, When, World, objectives, random,
};

type Orders = ArrayVec<Command, COMMANDS_PER_TICK_MAX>;
type Rows = ArrayVec<usize, SELECTION_MAX>;

/// The world as one player sees it, and what that player is after.
pub(super) struct Plan<'a> {
    world: &'a World,
    state: &'a GameState,
    player: PlayerId,
    level: BotLevel,
    mix: Mix,
    /// Of its random draws.
    key: PlayerId,
    /// Own minions.
    army: Rows,
    hero: Option<usize>,
    objective: Vec2,
}

impl<'a> Plan<'a> {
    pub(super) fn new(world: &'a World, bot: Bot) -> Self {
        let Bot { level, player, mix, key, .. } = bot;
        let state = world.state();
        let minion = |&row: &usize| {
            state.units.owner[row] == player && state.units.control[row] == ControlBehaviour::Minion
        };
        let army = (0..state.units.len()).filter(minion).take(SELECTION_MAX).collect();
        let (hero, objective) = (state.hero(player), Vec2::default());
        let mut plan = Self { world, state, player, level, mix, key, army, hero, objective };
        plan.objective = plan.choose_objective();
        plan
    }

    /// Gives the orders that change something useful.
    pub(super) fn decide(&self, orders: &mut Orders) {
        self.train(orders);
        if let Some(hero) = self.hero {
            self.lead(orders, hero);
        }
        self.command_army(orders);
    }

    // What to go for.

    fn choose_objective(&self) -> Vec2 {
        let team = self.state.team_of(self.player);
        let open_core = self.state.player_ids().find(|&enemy| {
            let at = enemy.index();
            self.state.team_of(enemy) != team && self.state.cores.open[at] != 0 && self.state.cores.hp[at] > 0
        });
        let circle = self.choose_circle();
        match (open_core, circle) {
            (Some(enemy), None) => self.world.base(enemy),
            (Some(enemy), Some(_)) if self.army.len() >= self.foes().count() => self.world.base(enemy),
            (_, Some(circle)) => circle,
            (None, None) => Vec2::default(),
        }
    }

    /// The nearest circle that is not safely ours, with a taste that changes every ten seconds.
    fn choose_circle(&self) -> Option<Vec2> {
        let from = self.middle();
        let wanted = self.world.circles().iter().enumerate().filter(|&(circle, _)| !self.is_safe(circle));
        let cost = |at: Vec2| {
            let season = Tick(self.state.tick().0 / (10 * self.world.setup().tick_rate.hz()));
            let seed = self.world.setup().seed;
            let taste = random::draw(seed, season, self.key, 100 + self.rank(at)) % 12;
            // Squared tiles, and up to 12 x 12 of them for taste.
            (dist2(from, at) >> 32) + (taste * taste).cast_signed()
        };
        wanted.min_by_key(|&(_, &at)| (cost(at), self.rank(at))).map(|(_, &at)| at)
    }

    /// A circle's number as this player counts: from its own base on, of equally far ones clockwise, so
    /// that every seat of a map that turns onto itself counts alike.
    fn rank(&self, circle: Vec2) -> u32 {
        let base = self.world.base(self.player);
        let side = |at: Vec2| {
            let product = |a: Fx, b: Fx| i64::from(a.to_bits()) * i64::from(b.to_bits());
            product(base.x, at.y) - product(base.y, at.x)
        };
        let order = |at: Vec2| (dist2(base, at), side(at));
        self.world.circles().iter().filter(|&&other| order(other) < order(circle)).count() as u32
    }

    /// Whether our team holds a circle and nobody is taking it.
    fn is_safe(&self, circle: usize) -> bool {
        let circles = &self.state.circles;
        let team = self.state.team_of(self.player);
        let held =
            circles.owner[circle] != PlayerId::NONE && self.state.team_of(circles.owner[circle]) == team;
        held && circles.contested[circle] == 0 && circles.progress[circle] == 0
    }

    /// Where this side is: at its hero, else at its first minion, else at home.
    fn middle(&self) -> Vec2 {
        let row = self.hero.or_else(|| self.army.first().copied());
        row.map_or_else(|| self.world.base(self.player), |row| self.state.position(row))
    }

    fn foes(&self) -> impl Iterator<Item = usize> + '_ {
        let team = self.state.team_of(self.player);
        (0..self.state.units.len()).filter(move |&row| self.state.team(row) != team)
    }

    /// The enemy with the fewest hit points within `tiles` of `at`.
    fn weakest(&self, at: Vec2, tiles: i32) -> Option<usize> {
        let near = self.foes().filter(|&foe| is_within(at, self.state.position(foe), tiles));
        near.min_by_key(|&foe| (self.state.units.hp[foe], dist2(at, self.state.position(foe))))
    }

    // The hero.

    fn lead(&self, orders: &mut Orders, hero: usize) {
        let at = self.state.position(hero);
        let near = self.weakest(at, 9);
        if self.is_hurt(hero) && (near.is_some() || is_within(at, self.world.base(self.player), 12)) {
            self.retreat(orders, hero, near);
            return;
        }
        self.raise_banner(orders, at);
        match near.filter(|_| self.level != BotLevel::Easy) {
            Some(foe) => {
                let id = self.state.units.id[foe];
                if self.state.units.order[hero] != Order::Attack || self.state.units.quarry[hero] != id {
                    give(orders, Command::HeroAttack(id));
                }
            }
            None => self.go_hero(orders, hero, self.objective),
        }
    }

    fn is_hurt(&self, hero: usize) -> bool {
        let (hp, full) = (i32::from(self.state.units.hp[hero]), i32::from(self.world.full_hp(hero)));
        self.level != BotLevel::Easy && hp * 100 < full * 35
    }

    fn retreat(&self, orders: &mut Orders, hero: usize, near: Option<usize>) {
        let (at, home) = (self.state.position(hero), self.world.base(self.player));
        if near.is_some_and(|foe| is_within(at, self.state.position(foe), 4)) {
            self.dash(orders, at, home);
        }
        if !is_within(at, home, 4) {
            self.go_hero(orders, hero, home);
        }
    }

    /// Sends the hero where it is not going yet, dashing over long open ways.
    fn go_hero(&self, orders: &mut Orders, hero: usize, goal: Vec2) {
        let at = self.state.position(hero);
        let bound = self.state.units.order[hero] == Order::Move && is_within(self.goal(hero), goal, 3);
        if !bound && !is_within(at, goal, 2) {
            give(orders, Command::HeroGo(Target::clamped(goal)));
        }
        if self.level != BotLevel::Easy && self.weakest(at, 12).is_none() && !is_within(at, goal, 8) {
            self.dash(orders, at, goal);
        }
    }

    fn dash(&self, orders: &mut Orders, at: Vec2, to: Vec2) {
        if self.state.players.dash_ready_at[self.player.index()] <= self.state.tick() {
            give(orders, Command::Dash(Angle::of(to - at)));
        }
    }

    fn raise_banner(&self, orders: &mut Orders, at: Vec2) {
        let ready = self.state.players.banner_ready_at[self.player.index()] <= self.state.tick();
        let fighting = self.army.iter().filter(|&&row| {
            self.state.units.target[row] != UnitId::NONE && is_within(at, self.state.position(row), 6)
        });
        if ready && fighting.count() >= 3 {
            give(orders, Command::Banner);
        }
    }

    // The army.

    fn command_army(&self, orders: &mut Orders) {
        let of = |kind: AttackBehaviour| -> Rows {
            self.army.iter().copied().filter(|&row| self.state.units.attack[row] == kind).collect()
        };
        // Each kind goes at its own pace and fights its own fight.
        for group in [of(AttackBehaviour::Swordsman), of(AttackBehaviour::Archer)] {
            let Some(&first) = group.first() else { continue };
            let foe = self.weakest(self.state.position(first), 10);
            match foe.filter(|_| self.level != BotLevel::Easy) {
                Some(foe) if self.state.units.attack[first] == AttackBehaviour::Archer => {
                    self.focus(orders, &group, foe);
                }
                Some(foe) => self.march(orders, &group, self.state.position(foe)),
                None => self.march(orders, &group, self.objective),
            }
        }
    }

    /// Lets those attack `foe` who do not yet.
    fn focus(&self, orders: &mut Orders, group: &Rows, foe: usize) {
        let id = self.state.units.id[foe];
        let idle = self.select(group, |row| {
            self.state.units.order[row] != Order::Attack || self.state.units.quarry[row] != id
        });
        if !idle.is_empty() {
            give(orders, Command::Attack(idle, id, When::Now));
        }
    }

    /// Lets those walk and fight to `goal` who are neither there nor on the way.
    fn march(&self, orders: &mut Orders, group: &Rows, goal: Vec2) {
        let idle = self.select(group, |row| {
            let bound =
                self.state.units.order[row] == Order::AttackMove && is_within(self.goal(row), goal, 4);
            !bound && !is_within(self.state.position(row), goal, 3)
        });
        if !idle.is_empty() {
            give(orders, Command::AttackMove(idle, Target::clamped(goal), When::Now));
        }
    }

    fn select(&self, group: &Rows, wanted: impl Fn(usize) -> bool) -> Selection {
        group.iter().filter(|&&row| wanted(row)).map(|&row| self.state.units.id[row]).collect()
    }

    fn goal(&self, row: usize) -> Vec2 {
        Vec2 { x: self.state.units.goal_x[row], y: self.state.units.goal_y[row] }
    }

    // Training.

    fn train(&self, orders: &mut Orders) {
        let at = self.player.index();
        let rules = &self.world.setup().rules;
        let kind = self.wanted_kind();
        let cost = match kind {
            AttackBehaviour::Swordsman => rules.swordsman_cost,
            AttackBehaviour::Archer => rules.archer_cost,
        };
        let affordable = self.state.players.supply[at] >= i32::from(cost) * objectives::SUPPLY;
        let room = self.state.minions(self.player) < usize::from(rules.minions_max)
            && self.state.players.training_len[at] < rules.training_max;
        if affordable && room {
            give(orders, Command::Train(kind));
        }
    }

    /// What the mix asks for; by default archers against swordsmen, who are long on the way, and swordsmen
    /// against archers.
    fn wanted_kind(&self) -> AttackBehaviour {
        use AttackBehaviour::{Archer, Swordsman};
        let foes_of = |kind| self.foes().filter(|&foe| self.state.units.attack[foe] == kind).count();
        let own_of = |kind| self.army.iter().filter(|&&row| self.state.units.attack[row] == kind).count();
        let wants_archer = match self.mix {
            Mix::Counter => foes_of(Swordsman) > foes_of(Archer) + 1,
            Mix::Swordsmen => false,
            Mix::Archers => true,
            Mix::Half => own_of(Archer) < own_of(Swordsman),
        };
        if wants_archer { Archer } else { Swordsman }
    }
}

/// Orders beyond the most of a tick are left for the next thought.
fn give(orders: &mut Orders, command: Command) {
    let _ = orders.try_push(command);
}

fn is_within(a: Vec2, b: Vec2, tiles: i32) -> bool {
    dist2(a, b) <= square(Fx::from_num(tiles))
}
