//! People who play by a simple plan, as programs: in their first match against the easy bot, and with more and more
//! command of their minions against the normal one.

use bot::Player;
use lab::named;
use sim::math::{Fx, Vec2, dist2, square};
use sim::{
    AttackBehaviour, Command, ControlBehaviour, KindId, PlayerId, PlayerInput, SUPPLY, Selection, Target,
    Tick, TickRate, UnitId, When, World,
};

/// How often a newcomer looks for somewhere to walk to.
const LOOKS_EVERY_MS: u32 = 1_000;
/// From what a newcomer sees to the command.
const REACTION_MS: u32 = 500;
/// How often one who trains by hand presses a key.
const PRESSES_EVERY_MS: u32 = 2_200;
/// How often one who sends minions sends them anew, for those trained meanwhile.
const SENDS_EVERY_MS: u32 = 10_000;
/// The same for nervous hands.
const INSISTS_EVERY_MS: u32 = 750;
/// How near an enemy must be for bows to be told to shoot at it, in tiles.
const SHOT: i32 = 9;

named! {
    /// What a newcomer does. Minions follow the hero unless told otherwise, so who walks leads an army.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Newcomer {
        /// Nothing at all.
        Idles = "idles",
        /// Walks to the nearest circle that is not its own, and to a core that is open.
        Walks = "walks",
        /// Walks, and presses the keys of all kinds by turns.
        Trains = "walks and trains",
        /// Walks, with repeated training of all kinds switched on.
        Repeats = "walks, training repeats",
        /// The same, and sends all minions there by an attack-move, once for each goal and every 10 s.
        Sends = "sends",
        /// The same, and gives each of these orders again every 0.75 s, to the same minions.
        Insists = "sends again and again",
        /// The same as one who sends, in two groups: swords with the hero, and bows that follow and shoot at the weakest.
        Divides = "two groups",
    }
}

/// What somebody remembers from one look to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    goal: Option<Vec2>,
    /// Minions that were sent there last.
    sent: Selection,
}

impl Newcomer {
    /// Who meets the normal bot: one who walks first, to whom the others are compared.
    pub const AGAINST_NORMAL: [Self; 4] = [Self::Repeats, Self::Sends, Self::Insists, Self::Divides];

    /// Ticks from what it saw to its command.
    pub(super) const fn reaction(rate: TickRate) -> u32 {
        rate.ticks_in_ms(REACTION_MS)
    }

    /// Whether it commands its minions.
    pub(super) const fn commands(self) -> bool {
        matches!(self, Self::Sends | Self::Insists | Self::Divides)
    }

    /// Its input after the last tick of `world`.
    pub(super) fn think(self, memory: &mut Memory, world: &World, player: PlayerId) -> PlayerInput {
        let mut input = PlayerInput::default();
        let (rate, Tick(now)) = (world.setup().tick_rate, world.state().tick());
        let is_time = |every_ms| now.is_multiple_of(rate.ticks_in_ms(every_ms));
        let before = memory.goal;
        if self != Self::Idles && is_time(LOOKS_EVERY_MS) {
            memory.goal = goal(world, player).or(before);
            let is_led = world.state().hero(player).is_some();
            let way = memory.goal.filter(|_| is_led).map(Target::clamped);
            input.commands.extend(way.map(Command::HeroGo));
        }
        if let Some(goal) = memory.goal.filter(|_| self.commands()) {
            let is_new = memory.goal != before || is_time(SENDS_EVERY_MS);
            let bows = |row: usize| world.unit_rules(row).attack == AttackBehaviour::Archer;
            let leads = |row: usize| self != Self::Divides || !bows(row);
            if is_new {
                memory.sent = minions(world, player, leads);
            }
            if is_new || (self == Self::Insists && is_time(INSISTS_EVERY_MS)) {
                input.commands.extend(sent(memory.sent.clone(), goal));
            }
            if self == Self::Divides && is_time(LOOKS_EVERY_MS) {
                let group = minions(world, player, bows);
                let weakest = group.first().and_then(|&first| weakest_near(world, player, first));
                input.commands.extend(match weakest {
                    Some(foe) => Some(Command::Attack(group, foe, When::Now)),
                    None => sent(group, goal),
                });
            }
        }
        let trains = match self {
            Self::Idles | Self::Walks => false,
            Self::Trains => is_time(PRESSES_EVERY_MS),
            Self::Repeats | Self::Sends | Self::Insists | Self::Divides => is_time(LOOKS_EVERY_MS),
        };
        if trains {
            let turn = now / rate.ticks_in_ms(PRESSES_EVERY_MS);
            let kinds = world.setup().rules.minion_kinds();
            let turn = turn as usize % kinds.len();
            input.commands.extend(kinds.rev().nth(turn).and_then(|kind| train(world, player, kind)));
        }
        input
    }
}

/// A newcomer in a seat, with what it remembers.
#[derive(Debug)]
pub(super) struct Seated {
    newcomer: Newcomer,
    player: PlayerId,
    rate: TickRate,
    memory: Memory,
}

impl Seated {
    pub(super) fn new(newcomer: Newcomer, player: PlayerId, rate: TickRate) -> Self {
        Self { newcomer, player, rate, memory: Memory::default() }
    }
}

impl Player for Seated {
    fn think(&mut self, world: &World) -> PlayerInput {
        self.newcomer.think(&mut self.memory, world, self.player)
    }

    fn reaction(&self) -> u32 {
        Newcomer::reaction(self.rate)
    }
}

/// The minions of a player of whose rows something holds.
fn minions(world: &World, player: PlayerId, is_meant: impl Fn(usize) -> bool) -> Selection {
    let units = &world.state().units;
    let own = |&row: &usize| units.owner[row] == player && units.control[row] == ControlBehaviour::Minion;
    let rows = (0..units.len()).filter(own).filter(|&row| is_meant(row));
    rows.take(sim::SELECTION_MAX).map(|row| units.id[row]).collect()
}

fn sent(group: Selection, goal: Vec2) -> Option<Command> {
    (!group.is_empty()).then(|| Command::AttackMove(group, Target::clamped(goal), When::Now))
}

/// The enemy with the fewest hit points that one of the group could shoot at; on a tie the nearest.
fn weakest_near(world: &World, player: PlayerId, of: UnitId) -> Option<UnitId> {
    let (state, team) = (world.state(), world.state().team_of(player));
    let at = state.position(state.row(of)?);
    let away = |row: usize| dist2(at, state.position(row));
    let foes = (0..state.units.len()).filter(|&row| state.team(row) != team);
    let near = foes.filter(|&row| away(row) <= square(Fx::from_num(SHOT)));
    near.min_by_key(|&row| (state.units.hp[row], away(row))).map(|row| state.units.id[row])
}

/// To an open core of the enemy, else to the nearest circle that is not its own.
fn goal(world: &World, player: PlayerId) -> Option<Vec2> {
    let state = world.state();
    let at = state.position(state.hero(player)?);
    let team = state.team_of(player);
    let enemies = state.player_ids().filter(|&enemy| state.team_of(enemy) != team);
    let is_open =
        |enemy: &PlayerId| state.cores.open[enemy.index()] != 0 && state.cores.hp[enemy.index()] > 0;
    let cores = enemies.filter(is_open).map(|enemy| world.base(enemy));
    let is_other = |circle: usize| {
        let owner = state.circles.owner[circle];
        owner == PlayerId::NONE || state.team_of(owner) != team
    };
    let circles = world.circles().iter().enumerate().filter(|&(circle, _)| is_other(circle));
    let circles = circles.map(|(_, &place)| place);
    let nearest = |places: &mut dyn Iterator<Item = Vec2>| places.min_by_key(|&place| dist2(at, place));
    nearest(&mut { cores }).or_else(|| nearest(&mut { circles }))
}

fn train(world: &World, player: PlayerId, kind: KindId) -> Option<Command> {
    let (rules, players) = (&world.setup().rules, &world.state().players);
    let is_paid = players.supply[player.index()] >= i32::from(rules.minions[kind.index()].cost) * SUPPLY;
    is_paid.then_some(Command::Train(kind))
}
