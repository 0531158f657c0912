//! What tells the levels apart.

use super::BotLevel;

/// What a level can do. Shares are in percent.
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
    /// Percent of its hit points below which its hero goes home, and at which it comes back.
    pub(super) hurt: i32,
    pub(super) well: i32,
    /// Its hero leaves a fight in which its side is worth less than this, in percent of the enemies there.
    pub(super) flight: i32,
    /// Whether its hero steps out of blows and arrows.
    pub(super) side_steps: bool,
    /// Whether its archers keep away from swords.
    pub(super) kites: bool,
}

impl Skill {
    pub(super) const fn of(level: BotLevel) -> &'static Self {
        match level {
            BotLevel::Easy => &Self {
                reaction_ms: 400,
                period_ms: 1000,
                is_tactical: false,
                detachments: 0,
                hurt: 0,
                well: 0,
                flight: 0,
                side_steps: false,
                kites: false,
            },
            BotLevel::Normal => &Self {
                reaction_ms: 200,
                period_ms: 250,
                is_tactical: true,
                detachments: 1,
                hurt: 10,
                well: 40,
                flight: 30,
                side_steps: true,
                kites: false,
            },
            BotLevel::Hard => &Self {
                reaction_ms: 100,
                period_ms: 160,
                is_tactical: true,
                detachments: 2,
                hurt: 25,
                well: 50,
                flight: 50,
                side_steps: true,
                kites: true,
            },
        }
    }
}
