//! The differences between the levels.

use super::BotLevel;

/// Skill of a level.
///
/// A quick reaction pays most against a player with two groups: only the hard level has one. The levels from 1 to 4 react
/// after 400 ms, and differ in what they decide. No level is quick enough to dodge a blow of the standard rules, which
/// falls within 250 ms; rules with a longer windup leave them the time.
///
/// `hurt` and `well` weigh more in a match of two bots than against a player with two groups; `trains_every_ms` weighs
/// alike in both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skill {
    /// Reaction time, in milliseconds; at least 100 by contract.
    pub(super) reaction_ms: u32,
    /// Interval between decisions, in milliseconds.
    pub(super) period_ms: u32,
    /// Whether it retreats when outnumbered, its hero attacks the weakest, and dashes.
    pub(super) is_tactical: bool,
    /// Whether its bows shoot at the weakest, and its riders hunt bows.
    pub(super) focuses: bool,
    /// Whether it trains what does best against the enemies in view; otherwise equal numbers of all kinds.
    pub(super) answers: bool,
    /// Number of circles to which it sends a few minions, beside the main army.
    pub(super) detachments: usize,
    /// Percent of the enemy's strength below which its army retreats to gather, and from which it advances
    /// again.
    pub(super) gather: (i32, i32),
    /// Distance within which its hero attacks enemies, in tiles: with a sword, and with a bow.
    pub(super) engage: (i32, i32),
    /// Percent of the enemy's strength from which it attacks a core at the beginning.
    pub(super) push: i32,
    /// Percent of the enemy's strength from which it values circles behind the enemy's lines like any other.
    pub(super) deep: i32,
    /// Percent of hit points below which its hero retreats.
    pub(super) hurt: i32,
    /// Percent of hit points from which a hero that has retreated returns.
    pub(super) well: i32,
    /// Percent of the enemies' strength in a fight below which its hero leaves it.
    pub(super) flight: i32,
    /// Whether its hero dodges attacks and arrows.
    pub(super) side_steps: bool,
    /// Minimum time between two minions that it trains, in milliseconds; 0 if supply alone decides.
    pub(super) trains_every_ms: u32,
    /// Time for which it lets a newcomer look around, in seconds: until then it takes only the circle nearest to its
    /// base, and attacks no core.
    pub(super) lenient_s: u32,
}

impl Skill {
    /// Returns the skill of a level.
    pub(super) const fn of(level: BotLevel) -> &'static Self {
        match level {
            BotLevel::Easy => &EASY,
            BotLevel::One => &ONE,
            BotLevel::Two => &TWO,
            BotLevel::Normal => &NORMAL,
            BotLevel::Four => &FOUR,
            BotLevel::Hard => &HARD,
        }
    }
}

const NORMAL: Skill = Skill {
    reaction_ms: 400,
    period_ms: 500,
    is_tactical: true,
    focuses: true,
    answers: true,
    detachments: 1,
    gather: (50, 60),
    engage: (7, 8),
    push: 420,
    deep: 350,
    hurt: 11,
    well: 30,
    flight: 30,
    side_steps: true,
    trains_every_ms: 6_500,
    lenient_s: 0,
};

const EASY: Skill = Skill {
    reaction_ms: 600,
    period_ms: 1_300,
    is_tactical: false,
    focuses: false,
    answers: true,
    detachments: 0,
    gather: (0, 0),
    engage: (0, 0),
    push: 450,
    deep: 400,
    hurt: 0,
    well: 0,
    flight: 0,
    side_steps: false,
    trains_every_ms: 23_200,
    lenient_s: 135,
};

const ONE: Skill = Skill {
    reaction_ms: 400,
    period_ms: 1_400,
    answers: false,
    trains_every_ms: 8_000,
    lenient_s: 0,
    ..EASY
};

const TWO: Skill = Skill {
    period_ms: 700,
    focuses: false,
    answers: false,
    detachments: 0,
    engage: (7, 7),
    hurt: 20,
    well: 60,
    side_steps: false,
    trains_every_ms: 5_800,
    ..NORMAL
};

const FOUR: Skill = Skill { gather: (40, 45), engage: (9, 8), hurt: 8, trains_every_ms: 5_600, ..NORMAL };

const HARD: Skill = Skill {
    reaction_ms: 200,
    gather: (30, 30),
    engage: (10, 10),
    push: 450,
    deep: 70,
    hurt: 10,
    well: 10,
    flight: 20,
    trains_every_ms: 2_600,
    ..NORMAL
};
