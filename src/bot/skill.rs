//! What tells the levels apart.

use super::BotLevel;

/// What a level can do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skill {
    /// From what it sees to what it does; contract: at least 100 ms.
    pub(super) reaction_ms: u32,
    /// It thinks once in each of these.
    pub(super) period_ms: u32,
    /// Whether it picks whom to fight, gives way when outnumbered, and dashes.
    pub(super) is_tactical: bool,
    /// How many circles it sends a few minions to while the rest goes elsewhere.
    pub(super) detachments: usize,
    /// Percent of the enemy's worth below which its army goes to gather, and from which it comes out again.
    pub(super) gather: (i32, i32),
    /// How near an enemy must come for its hero to go after it, in tiles.
    pub(super) engage: i32,
    /// Percent of the enemy's worth from which it goes for a core at the beginning.
    pub(super) push: i32,
    /// Percent of the enemy's worth at which circles behind the enemy's lines are to it as any other.
    pub(super) deep: i32,
    /// Percent of its hit points below which its hero goes home, and at which it comes back.
    pub(super) hurt: i32,
    pub(super) well: i32,
    /// Its hero leaves a fight in which its side is worth less than this, in percent of the enemies there.
    pub(super) flight: i32,
    /// Whether its hero steps out of blows and arrows.
    pub(super) side_steps: bool,
}

impl Skill {
    pub(super) const fn of(level: BotLevel) -> &'static Self {
        match level {
            BotLevel::Easy => &Self {
                reaction_ms: 600,
                period_ms: 1500,
                is_tactical: false,
                detachments: 0,
                gather: (0, 0),
                engage: 0,
                push: 350,
                deep: 400,
                hurt: 0,
                well: 0,
                flight: 0,
                side_steps: false,
            },
            BotLevel::Normal => &Self {
                reaction_ms: 200,
                period_ms: 250,
                is_tactical: true,
                detachments: 1,
                gather: (85, 100),
                engage: 8,
                push: 335,
                deep: 400,
                hurt: 10,
                well: 40,
                flight: 30,
                side_steps: true,
            },
            BotLevel::Hard => &Self {
                reaction_ms: 100,
                period_ms: 160,
                is_tactical: true,
                detachments: 1,
                gather: (50, 80),
                engage: 11,
                push: 200,
                deep: 200,
                hurt: 10,
                well: 40,
                flight: 30,
                side_steps: true,
            },
        }
    }
}
