//! People in their first match, as programs: what the easy bot is measured against.

use lab::named;
use sim::math::{Vec2, dist2};
use sim::{Command, KindId, PlayerId, PlayerInput, SUPPLY, Target, Tick, TickRate, World};

/// How often a newcomer looks for somewhere to walk to.
const LOOKS_EVERY_MS: u32 = 1_000;
/// From what a newcomer sees to the command.
const REACTION_MS: u32 = 500;
/// How often one who trains by hand presses a key.
const PRESSES_EVERY_MS: u32 = 2_200;

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
    }
}

impl Newcomer {
    /// Ticks from what it saw to its command.
    pub(super) const fn reaction(rate: TickRate) -> u32 {
        rate.ticks_in_ms(REACTION_MS)
    }

    /// Its input after the last tick of `world`.
    pub(super) fn think(self, world: &World, player: PlayerId) -> PlayerInput {
        let mut input = PlayerInput::default();
        let (rate, Tick(now)) = (world.setup().tick_rate, world.state().tick());
        let is_time = |every_ms| now.is_multiple_of(rate.ticks_in_ms(every_ms));
        if self != Self::Idles && is_time(LOOKS_EVERY_MS) {
            input.commands.extend(walk(world, player));
        }
        let trains = match self {
            Self::Idles | Self::Walks => false,
            Self::Trains => is_time(PRESSES_EVERY_MS),
            Self::Repeats => is_time(LOOKS_EVERY_MS),
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

/// To an open core of the enemy, else to the nearest circle that is not its own.
fn walk(world: &World, player: PlayerId) -> Option<Command> {
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
    let goal = nearest(&mut { cores }).or_else(|| nearest(&mut { circles }))?;
    Some(Command::HeroGo(Target::clamped(goal)))
}

fn train(world: &World, player: PlayerId, kind: KindId) -> Option<Command> {
    let (rules, players) = (&world.setup().rules, &world.state().players);
    let is_paid = players.supply[player.index()] >= i32::from(rules.minions[kind.index()].cost) * SUPPLY;
    is_paid.then_some(Command::Train(kind))
}
