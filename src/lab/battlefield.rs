//! A battle of any size, for measuring: everybody fights all the time, everywhere on the map.
//!
//! The map grows with the number of units, 6 tiles^2 for each, so that a unit of a large battle has as much
//! to do as one of a small battle. Two players stand in alternating stripes, four abreast; every third unit
//! is an archer. By platoons of 32 they are sent to attack somewhere nearby, each platoon anew every 128
//! ticks, spread over the ticks. Who falls is replaced at its first place before the next tick. Rules are
//! `endless`, without minions at the start; obstacles and circles are those of the standard map, moved apart
//! with the map, and the cores stand in the corners.

use std::sync::Arc;

use game::data;
use sim::math::{Fx, Vec2};
use sim::{
    AttackBehaviour, Command, Map, Milli, MilliPoint, PLAYERS_MAX, PlayerId, Rock, Rules, SELECTION_MAX,
    SeatSetup, Selection, Setup, Target, Tick, TickInputs, TickRate, UNITS_MAX, UnitId, Wall, When, World,
    random,
};

/// Ticks from one order of a platoon to its next.
pub const ORDER_TICKS: u32 = 128;
/// Square tiles of the map for each unit.
const AREA_PER_UNIT: usize = 6;
/// Units of a stripe side by side.
const ABREAST: usize = 4;
/// How far from the middle of its places a platoon is sent at most, in tiles on each axis.
const SORTIE: i32 = 8;
/// How far a core stands from the sides of its corner, thousandths of a tile.
const CORE_INSET: Milli = 4_000;
/// How many players usually fight.
const PLAYERS: usize = 2;

/// A unit of the battle, and where it begins, also when it has fallen and another takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Soldier {
    /// Whose it is.
    pub player: PlayerId,
    /// How it fights.
    pub attack: AttackBehaviour,
    /// Where it begins; what is solid may push it away from there.
    pub at: Vec2,
}

/// Soldiers that go together, neighbours in a stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platoon {
    /// Whose it is.
    pub player: PlayerId,
    /// Which soldiers of [`Plan::soldiers`].
    pub soldiers: std::ops::Range<usize>,
    /// The middle of their places.
    pub middle: Vec2,
    /// Its orders come in ticks of this remainder by [`ORDER_TICKS`].
    phase: u32,
}

/// Everything that a battle depends on, without a world: programs that are compared with the simulation
/// play the same.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Of the targets, and of the world.
    pub seed: u64,
    /// How many fight, all against all.
    pub players: usize,
    /// `endless`, without minions at the start.
    pub rules: Arc<Rules>,
    /// The battlefield. It is larger than maps of files may be.
    pub map: Arc<Map>,
    /// All units but the heroes, stripe by stripe.
    pub soldiers: Vec<Soldier>,
    /// Of up to [`SELECTION_MAX`] each.
    pub platoons: Vec<Platoon>,
}

/// A platoon's order: attack toward a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sortie {
    /// Which of [`Plan::platoons`].
    pub platoon: usize,
    /// Where to.
    pub target: Target,
}

impl Plan {
    /// The battle of `units` units of two players, their heroes included.
    ///
    /// # Panics
    /// If that is not 10 to [`UNITS_MAX`].
    #[must_use]
    pub fn new(units: usize, seed: u64) -> Self {
        Self::between(PLAYERS, units, seed)
    }

    /// The same of two to four players.
    ///
    /// # Panics
    /// As [`Self::new`], and if it is another number of players.
    #[must_use]
    pub fn between(players: usize, units: usize, seed: u64) -> Self {
        assert!((10..=UNITS_MAX).contains(&units), "a battle of {units} units");
        assert!((2..=PLAYERS_MAX).contains(&players), "a battle of {players} players");
        let standard = data::map("standard").expect("built in");
        let map = battlefield(&standard, players, side(units));
        let rules = data::rules("endless").expect("built in");
        let rules = Rules { start_swordsmen: 0, start_archers: 0, ..(*rules).clone() };
        let (soldiers, platoons) = line_up(units - players, players, map.size.0);
        Self { seed, players, rules: Arc::new(rules), map: Arc::new(map), soldiers, platoons }
    }

    /// The world before tick 0, with the heroes and nobody else.
    #[must_use]
    pub fn setup(&self) -> Setup {
        let seat = |team| SeatSetup { hero: AttackBehaviour::Swordsman, team };
        Setup {
            seed: self.seed,
            tick_rate: TickRate::HZ_60,
            seats: (0..self.players as u8).map(seat).collect(),
            rules: Arc::clone(&self.rules),
            map: Arc::clone(&self.map),
        }
    }

    /// The orders that are given in `tick`.
    pub fn sorties(&self, tick: Tick) -> impl Iterator<Item = Sortie> {
        let due = move |&(_, platoon): &(usize, &Platoon)| platoon.phase == tick.0 % ORDER_TICKS;
        self.platoons.iter().enumerate().filter(due).map(move |(index, platoon)| {
            let offset = |ordinal: usize| {
                let drawn = random::draw(self.seed, tick, platoon.player, ordinal as u32);
                // As many halves of a tile as fit in.
                Fx::from_num(drawn % (4 * SORTIE as u64 + 1)) / 2 - Fx::from_num(SORTIE)
            };
            let (x, y) = (offset(2 * index), offset(2 * index + 1));
            let target = self.inside(platoon.middle + Vec2 { x, y });
            Sortie { platoon: index, target: Target::clamped(target) }
        })
    }

    /// `at`, moved off the edge of the map.
    fn inside(&self, at: Vec2) -> Vec2 {
        let limit = milli(self.map.size.0 / 2 - 2_000);
        Vec2 { x: at.x.clamp(-limit, limit), y: at.y.clamp(-limit, limit) }
    }
}

/// A battle of the simulation's own.
#[derive(Clone, Debug)]
pub struct Battlefield {
    plan: Plan,
    world: World,
    /// Who stands for each of the plan's soldiers; [`UnitId::NONE`] if there was no room.
    ranks: Vec<UnitId>,
    inputs: TickInputs,
    fallen: u64,
}

impl Battlefield {
    /// The battle before tick 0.
    ///
    /// # Panics
    /// As [`Plan::new`].
    #[must_use]
    pub fn new(units: usize, seed: u64) -> Self {
        Self::of(Plan::new(units, seed))
    }

    /// The battle of a plan before tick 0.
    #[must_use]
    pub fn of(plan: Plan) -> Self {
        let world = World::new(plan.setup());
        let ranks = vec![UnitId::NONE; plan.soldiers.len()];
        let inputs = TickInputs::idle(Tick(0), plan.players);
        let mut battlefield = Self { plan, world, ranks, inputs, fallen: 0 };
        battlefield.replace_fallen();
        battlefield.fallen = 0;
        battlefield
    }

    /// Replaces who fell and gives the orders of the next tick: what comes before [`Self::step`] and does
    /// not belong to the simulation.
    pub fn prepare(&mut self) {
        self.replace_fallen();
        self.inputs.tick = self.world.state().tick();
        for input in &mut self.inputs.inputs {
            input.commands.clear();
        }
        for Sortie { platoon, target } in self.plan.sorties(self.inputs.tick) {
            let platoon = &self.plan.platoons[platoon];
            let selection: Selection = self.ranks[platoon.soldiers.clone()].iter().copied().collect();
            let commands = &mut self.inputs.inputs[platoon.player.index()].commands;
            commands.push(Command::AttackMove(selection, target, When::Now));
        }
    }

    /// Runs the tick that was prepared.
    pub fn step(&mut self) {
        self.world.step(&self.inputs);
    }

    /// Prepares and runs `ticks` ticks.
    pub fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.prepare();
            self.step();
        }
    }

    /// What it is played by.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The world.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }

    /// How many soldiers have fallen and were replaced.
    #[must_use]
    pub fn fallen(&self) -> u64 {
        self.fallen
    }

    fn replace_fallen(&mut self) {
        for (id, soldier) in self.ranks.iter_mut().zip(&self.plan.soldiers) {
            if self.world.state().row(*id).is_none() {
                let Soldier { player, attack, at } = *soldier;
                *id = self.world.spawn_minion(player, attack, at).unwrap_or(UnitId::NONE);
                self.fallen += 1;
            }
        }
    }
}

/// The side of the square map for `units` units, thousandths of a tile.
fn side(units: usize) -> Milli {
    // Even, so that both halves are whole.
    let half = (units * AREA_PER_UNIT * 1_000_000 / 4).isqrt();
    Milli::try_from(2 * half).expect("50,000 units stand on 548 tiles")
}

/// The standard map, pulled apart to a square: things keep their size and change their place.
fn battlefield(standard: &Map, players: usize, side: Milli) -> Map {
    let scaled = |at: Milli, of: Milli| (i64::from(at) * i64::from(side) / i64::from(of)) as Milli;
    let place = |(x, y): MilliPoint| (scaled(x, standard.size.0), scaled(y, standard.size.1));
    let corner = side / 2 - CORE_INSET;
    let wall = |wall: &Wall| {
        let (from, to) = (wall.min, wall.max);
        let middle = place(((from.0 + to.0) / 2, (from.1 + to.1) / 2));
        let half = ((to.0 - from.0) / 2, (to.1 - from.1) / 2);
        Wall { min: (middle.0 - half.0, middle.1 - half.1), max: (middle.0 + half.0, middle.1 + half.1) }
    };
    Map {
        name: "battlefield".into(),
        size: (side, side),
        bases: [(-corner, -corner), (corner, corner), (-corner, corner), (corner, -corner)][..players]
            .to_vec(),
        circles: standard.circles.iter().copied().map(place).collect(),
        walls: standard.walls.iter().map(wall).collect(),
        rocks: standard.rocks.iter().map(|rock| Rock { at: place(rock.at), ..*rock }).collect(),
    }
}

/// Soldiers and platoons on a square map of this side.
fn line_up(soldiers: usize, players: usize, side: Milli) -> (Vec<Soldier>, Vec<Platoon>) {
    // As wide as high between neighbours: a stripe is about 10 tiles wide. All players have as many.
    let stripes = players * ((soldiers.isqrt() + ABREAST) / (players * ABREAST)).max(1);
    let place = |index: usize, of: usize| {
        // The middle of the `index`th of `of` parts of the side.
        let parts = (2 * index + 1) as i64 * i64::from(side) / (2 * of as i64);
        milli(parts as Milli - side / 2)
    };
    let (mut placed, mut platoons) = (Vec::with_capacity(soldiers), Vec::new());
    for stripe in 0..stripes {
        let player = PlayerId((stripe % players) as u8);
        let first = placed.len();
        let count = soldiers * (stripe + 1) / stripes - soldiers * stripe / stripes;
        for index in 0..count {
            let x = place(stripe * ABREAST + index % ABREAST, stripes * ABREAST);
            let y = place(index / ABREAST, count.div_ceil(ABREAST));
            let is_archer = (first + index) % 3 == 2;
            let attack = if is_archer { AttackBehaviour::Archer } else { AttackBehaviour::Swordsman };
            placed.push(Soldier { player, attack, at: Vec2 { x, y } });
        }
        for begin in (first..placed.len()).step_by(SELECTION_MAX) {
            let soldiers = begin..placed.len().min(begin + SELECTION_MAX);
            let (from, to) = (placed[soldiers.start].at, placed[soldiers.end - 1].at);
            let middle = Vec2 { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
            platoons.push(Platoon { player, soldiers, middle, phase: 0 });
        }
    }
    spread(&mut platoons, players);
    (placed, platoons)
}

/// Gives each player's platoons their phases, evenly over [`ORDER_TICKS`].
fn spread(platoons: &mut [Platoon], players: usize) {
    for player in (0..players as u8).map(PlayerId) {
        let count = platoons.iter().filter(|platoon| platoon.player == player).count();
        let own = platoons.iter_mut().filter(|platoon| platoon.player == player);
        for (index, platoon) in own.enumerate() {
            platoon.phase = index as u32 * ORDER_TICKS / count as u32;
        }
    }
}

/// Thousandths of a tile as tiles.
fn milli(milli: Milli) -> Fx {
    Fx::from_bits((i64::from(milli) * 65_536 / 1_000) as i32)
}
