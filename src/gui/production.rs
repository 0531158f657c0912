//! The player's training: single presses, repeated training, and the reasons of refusals.

use sim::{GameState, KINDS_MAX, KindId, Outcome, PlayerId, Rules, SUPPLY, Setup, Tick};

/// Time after which a command that the state does not show counts as lost, in milliseconds.
pub(crate) const LOST_AFTER_MS: u32 = 2000;

/// A value for each kind that can be trained, by its id.
pub(crate) type ByKind<T> = [T; KINDS_MAX];

/// Facts that training depends on, in the drawn state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Economy {
    /// Supply, rounded down.
    pub(crate) supply: u32,
    pub(crate) supply_max: u32,
    /// Costs by kind, in supply.
    pub(crate) costs: ByKind<u32>,
    /// Number in training, by kind.
    pub(crate) training: ByKind<u32>,
    pub(crate) training_max: u32,
    /// Number of minions, including those in training.
    pub(crate) minions: u32,
    pub(crate) minions_max: u32,
    /// Whether the match is running and the player still has a core.
    pub(crate) is_open: bool,
    /// Number of the player's commands that the state has processed.
    pub(crate) commands: u32,
    pub(crate) tick: Tick,
    /// Number of ticks after which a command that has not run counts as lost.
    pub(crate) lost_after: u32,
}

impl Economy {
    /// Returns a player's economy in a state.
    pub(crate) fn of(setup: &Setup, state: &GameState, player: PlayerId) -> Self {
        let (rules, players, seat) = (&setup.rules, &state.players, player.index());
        let mut training = [0; KINDS_MAX];
        for kind in state.training(player) {
            training[kind.index() % KINDS_MAX] += 1;
        }
        Self {
            supply: (players.supply[seat] / SUPPLY).max(0).unsigned_abs(),
            supply_max: rules.supply_max.into(),
            costs: core::array::from_fn(|kind| {
                rules.minions.get(kind).map_or(0, |minion| minion.cost.into())
            }),
            training,
            training_max: rules.training_max.into(),
            minions: state.minions(player) as u32,
            minions_max: rules.minions_max.into(),
            is_open: state.cores.hp[seat] > 0 && state.outcome() == Outcome::Running,
            commands: players.commands[seat],
            tick: state.tick(),
            lost_after: setup.tick_rate.ticks_in_ms(LOST_AFTER_MS),
        }
    }
}

/// Reason why nothing is trained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Not enough supply.
    Supply { kind: KindId, cost: u32, has: u32 },
    /// The training queue is full, with this many minions.
    Queue(u32),
    /// The army has reached its maximum, including minions in training.
    Army(u32),
    /// The core has been destroyed, or the match is over.
    Closed,
}

impl Refusal {
    /// Explains it, by the names that the rules give.
    pub(crate) fn text(&self, rules: &Rules) -> String {
        match self {
            Self::Supply { kind, cost, has } => {
                let name = rules.minions.get(kind.index()).map(|minion| minion.unit.name.capitalised());
                format!("{} costs {cost}: you have {has}", name.unwrap_or_default())
            }
            Self::Queue(most) => format!("{most} in training: the queue is full"),
            Self::Army(most) => format!("{most} minions: the army is full"),
            Self::Closed => "Nothing can be trained any more".into(),
        }
    }
}

/// Training command that the drawn state does not show yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    kind: KindId,
    /// Number of commands that the state has processed once this one has run.
    number: u32,
    given_at: Tick,
}

/// Training presses and repeats of one player in one match.
#[derive(Debug, Default)]
pub(crate) struct Production {
    repeats: ByKind<bool>,
    /// Kind trained last; those that repeat take turns.
    last: Option<KindId>,
    pending: Vec<Pending>,
}

impl Production {
    /// Returns whether each kind's training repeats.
    pub(crate) const fn repeats(&self) -> ByKind<bool> {
        self.repeats
    }

    /// Toggles repeated training of a kind.
    pub(crate) fn toggle(&mut self, kind: KindId) {
        self.repeats[kind.index() % KINDS_MAX] ^= true;
    }

    /// Checks whether a training command by hand can succeed. `number` is the number of commands that the state will
    /// have processed once it has run.
    pub(crate) fn press(&mut self, kind: KindId, economy: &Economy, number: u32) -> Result<(), Refusal> {
        self.settle(economy);
        self.check(kind, economy)?;
        self.note(kind, economy, number);
        Ok(())
    }

    /// Returns the kind to train by repetition now, if any. Must be called with each new state; at most one command
    /// of a kind is in flight.
    pub(crate) fn repeat(&mut self, economy: &Economy, number: u32) -> Option<KindId> {
        self.settle(economy);
        let first = self.last.map_or(0, |last| last.index() + 1);
        let mut turns = (first..first + KINDS_MAX).map(|kind| kind % KINDS_MAX);
        let kind = turns.find(|&kind| self.repeats[kind]).map(|kind| KindId(kind as u8))?;
        if self.under_way(kind) > 0 || self.check(kind, economy).is_err() {
            return None;
        }
        self.note(kind, economy, number);
        Some(kind)
    }

    /// Returns the number in training of a kind, including commands in flight.
    pub(crate) fn queued(&self, kind: KindId, economy: &Economy) -> u32 {
        economy.training[kind.index() % KINDS_MAX] + self.under_way(kind)
    }

    fn under_way(&self, kind: KindId) -> u32 {
        self.pending.iter().filter(|pending| pending.kind == kind).count() as u32
    }

    /// Forgets commands that the state shows or that were lost.
    fn settle(&mut self, economy: &Economy) {
        self.pending.retain(|pending| {
            pending.number > economy.commands && economy.tick.since(pending.given_at) < economy.lost_after
        });
    }

    /// Commands in flight count as paid, and take up room.
    fn check(&self, kind: KindId, economy: &Economy) -> Result<(), Refusal> {
        let under_way = self.pending.len() as u32;
        let cost_of = |kind: KindId| economy.costs[kind.index() % KINDS_MAX];
        let spent: u32 = self.pending.iter().map(|pending| cost_of(pending.kind)).sum();
        let (cost, has) = (cost_of(kind), economy.supply.saturating_sub(spent));
        if !economy.is_open {
            Err(Refusal::Closed)
        } else if economy.minions + under_way >= economy.minions_max {
            Err(Refusal::Army(economy.minions_max))
        } else if economy.training.iter().sum::<u32>() + under_way >= economy.training_max {
            Err(Refusal::Queue(economy.training_max))
        } else if has < cost {
            Err(Refusal::Supply { kind, cost, has })
        } else {
            Ok(())
        }
    }

    fn note(&mut self, kind: KindId, economy: &Economy, number: u32) {
        self.last = Some(kind);
        self.pending.push(Pending { kind, number, given_at: economy.tick });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use game::data;

    const SWORDSMAN: KindId = KindId(0);
    const ARCHER: KindId = KindId(1);

    const RICH: Economy = Economy {
        supply: 20,
        supply_max: 20,
        costs: [2, 3, 0, 0, 0, 0, 0, 0],
        training: [0; KINDS_MAX],
        training_max: 5,
        minions: 6,
        minions_max: 12,
        is_open: true,
        commands: 0,
        tick: Tick(0),
        lost_after: 120,
    };

    #[test]
    fn a_refused_press_names_the_missing_resource() {
        let poor = Economy { supply: 1, ..RICH };
        let refused = |economy: Economy| {
            let refusal = Production::default().press(SWORDSMAN, &economy, 1).expect_err("refused");
            refusal.text(&data::rules("standard").expect("built in"))
        };
        assert_eq!(refused(poor), "Swordsman costs 2: you have 1");
        assert_eq!(
            refused(Economy { training: [3, 2, 0, 0, 0, 0, 0, 0], ..RICH }),
            "5 in training: the queue is full"
        );
        assert_eq!(refused(Economy { minions: 12, ..RICH }), "12 minions: the army is full");
        assert_eq!(refused(Economy { is_open: false, ..RICH }), "Nothing can be trained any more");
        assert_eq!(Production::default().press(SWORDSMAN, &RICH, 1), Ok(()));
    }

    #[test]
    fn commands_in_flight_count_as_paid_until_the_state_shows_them() {
        let (mut production, mut economy) = (Production::default(), Economy { supply: 3, ..RICH });
        assert_eq!(production.press(SWORDSMAN, &economy, 1), Ok(()));
        assert_eq!(production.queued(SWORDSMAN, &economy), 1);
        let refused = production.press(SWORDSMAN, &economy, 2);
        assert_eq!(refused, Err(Refusal::Supply { kind: SWORDSMAN, cost: 2, has: 1 }));
        // The command has run: the state itself counts it.
        economy =
            Economy { commands: 1, training: [1, 0, 0, 0, 0, 0, 0, 0], minions: 7, supply: 2, ..economy };
        assert_eq!(production.press(SWORDSMAN, &economy, 2), Ok(()));
        assert_eq!(production.queued(SWORDSMAN, &economy), 2);
    }

    #[test]
    fn presses_fill_the_queue_before_the_first_is_seen() {
        let mut production = Production::default();
        for number in 1..=5 {
            assert_eq!(production.press(ARCHER, &RICH, number), Ok(()));
        }
        assert_eq!(production.press(ARCHER, &RICH, 6), Err(Refusal::Queue(5)));
    }

    #[test]
    fn nothing_repeats_unless_it_is_switched_on() {
        let mut production = Production::default();
        assert_eq!(production.repeat(&RICH, 1), None);
        production.toggle(ARCHER);
        assert_eq!(production.repeat(&RICH, 1), Some(ARCHER));
        production.toggle(ARCHER);
        assert_eq!(production.repeat(&Economy { commands: 1, ..RICH }, 2), None);
    }

    #[test]
    fn at_most_one_repeated_command_of_a_kind_is_in_flight() {
        let mut production = Production::default();
        production.toggle(SWORDSMAN);
        assert_eq!(production.repeat(&RICH, 1), Some(SWORDSMAN));
        for tick in 0..119 {
            assert_eq!(production.repeat(&Economy { tick: Tick(tick), ..RICH }, 2), None, "at {tick}");
        }
        // The command was lost: the state never processed it.
        let late = Economy { tick: Tick(120), ..RICH };
        assert_eq!(production.repeat(&late, 2), Some(SWORDSMAN));
        let seen = Economy { commands: 2, ..late };
        assert_eq!(production.repeat(&seen, 3), Some(SWORDSMAN));
    }

    #[test]
    fn a_manual_press_counts_as_in_flight() {
        let mut production = Production::default();
        production.toggle(SWORDSMAN);
        assert_eq!(production.press(SWORDSMAN, &RICH, 1), Ok(()));
        assert_eq!(production.repeat(&RICH, 2), None);
    }

    #[test]
    fn kinds_that_repeat_take_turns() {
        let (mut production, mut economy) = (Production::default(), Economy { minions_max: 90, ..RICH });
        production.toggle(SWORDSMAN);
        production.toggle(ARCHER);
        let mut trained = Vec::new();
        for commands in 0..4 {
            economy.commands = commands;
            trained.extend(production.repeat(&economy, commands + 1));
        }
        assert_eq!(trained, [SWORDSMAN, ARCHER, SWORDSMAN, ARCHER]);
        // The more expensive kind keeps its turn until there is enough supply.
        economy = Economy { commands: 5, supply: 2, ..economy };
        assert_eq!(production.repeat(&economy, 6), Some(SWORDSMAN));
        economy.commands = 6;
        assert_eq!(production.repeat(&economy, 7), None);
    }

    #[test]
    fn a_repeat_waits_for_supply_places_and_a_core() {
        let mut production = Production::default();
        production.toggle(SWORDSMAN);
        for stopped in [
            Economy { supply: 1, ..RICH },
            Economy { training: [5, 0, 0, 0, 0, 0, 0, 0], ..RICH },
            Economy { minions: 12, ..RICH },
            Economy { is_open: false, ..RICH },
        ] {
            assert_eq!(production.repeat(&stopped, 1), None, "{stopped:?}");
        }
        assert_eq!(production.repeat(&RICH, 1), Some(SWORDSMAN));
    }
}
