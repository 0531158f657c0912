//! The debriefing of a match: its highlights, and one tip for its player.

use game::phrase::{duration, possessive};
use game::{Moment, Tally};
use sim::PlayerId;

use super::bindings::{Action, key_name, training_keys};

/// Facts on which tips depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) has_won: bool,
    pub(crate) seconds: u32,
    /// Number of circles on the map.
    pub(crate) circles: u32,
    /// Counts of the player's actions.
    pub(crate) tally: Tally,
}

/// Condition under which a tip applies, and its text.
type Tip = (fn(&Course) -> bool, fn(&Course) -> String);

/// Tips from the costliest mistake to the least; the last one always applies.
const TIPS: [Tip; 9] = [
    (
        |course| course.tally.unspent_s * 5 >= course.seconds && course.tally.unspent_s >= 8,
        |course| {
            format!(
                "You left supply unspent for {}: train with {}, or Shift with them to repeat.",
                duration(course.tally.unspent_s.into()),
                training_keys().join(" and "),
            )
        },
    ),
    (
        |course| !course.has_won && course.tally.exposed_s >= 10,
        |course| {
            format!(
                "For {} your core stood open and alone: when the line at the top turns red, take a circle back \
                 or go home.",
                duration(course.tally.exposed_s.into())
            )
        },
    ),
    (
        |course| {
            let Tally { minions_lost, minions_outnumbered, .. } = course.tally;
            !course.has_won && minions_outnumbered >= 6 && minions_outnumbered * 3 >= minions_lost
        },
        |course| {
            format!(
                "{} of the {} minions you lost fell outnumbered: wait until all are together, and let your hero \
                 lead them.",
                course.tally.minions_outnumbered, course.tally.minions_lost
            )
        },
    ),
    (
        |course| course.tally.circles == 0,
        |_| {
            "You took no circle: stand in one until its rim has your colour. Circles give points, and most of \
             them open the enemy's core."
                .into()
        },
    ),
    (
        |course| course.tally.hero_deaths >= 3,
        |course| {
            format!(
                "Your hero fell {} times: lead him out of a fight while he is hurt. He heals when nobody hits him.",
                course.tally.hero_deaths
            )
        },
    ),
    (
        |course| course.tally.circles.count_ones() * 2 < course.circles,
        |course| {
            format!(
                "You held only {} of {} circles: drag over a few minions and right click a far one.",
                course.tally.circles.count_ones(),
                course.circles
            )
        },
    ),
    (
        |course| course.tally.banners == 0,
        |_| {
            let key = key_name(Action::Banner);
            format!("You never raised the banner: {key} among your minions lets them strike faster.")
        },
    ),
    (|course| course.has_won, |_| "Well played: you are ready for a stronger opponent.".into()),
    (|_| true, |_| "Fight with all you have in one place: hero, swords in front, bows behind.".into()),
];

/// Returns the most useful tip for this match.
pub(crate) fn tip(course: &Course) -> String {
    let found = TIPS.iter().find(|(applies, _)| applies(course));
    found.map_or_else(String::new, |(_, says)| says(course))
}

/// Describes a highlight. `name` maps a player and `team` a team to words; `me` becomes "you".
pub(crate) fn describe(
    moment: Moment,
    me: PlayerId,
    name: impl Fn(PlayerId) -> String,
    team: impl Fn(u8) -> String,
) -> String {
    let whose = |what: &str, player: PlayerId| match player == me {
        true => format!("Your {what}"),
        false => format!("{} {what}", possessive(&name(player))),
    };
    match moment {
        Moment::FirstCircle(player) if player == me => "You took the first circle".into(),
        Moment::FirstCircle(player) => format!("{} took the first circle", name(player)),
        Moment::BiggestFight(deaths) => format!("The biggest fight: {deaths} fell within ten seconds"),
        Moment::CoreOpened(player) => format!("{} opened", whose("core", player)),
        Moment::HeroDied(player) => format!("{} fell", whose("hero", player)),
        Moment::LeadTaken(side) => format!("{} took the lead", team(side)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two-minute defeat without a mistake.
    const GOOD: Course = Course {
        has_won: false,
        seconds: 120,
        circles: 3,
        tally: Tally {
            unspent_s: 3,
            exposed_s: 4,
            banners: 2,
            hero_deaths: 1,
            circles: 0b101,
            minions_lost: 30,
            minions_outnumbered: 5,
        },
    };

    #[test]
    fn the_tip_names_the_costliest_mistake() {
        let with = |change: fn(&mut Tally)| {
            let mut course = GOOD;
            change(&mut course.tally);
            course
        };
        let idle = with(|tally| (tally.unspent_s, tally.circles, tally.banners) = (30, 0, 0));
        let table = [
            // Idle for 20 s: the core fell at 0:46 with 20 of 20 supply.
            (Course { seconds: 46, ..idle }, "You left supply unspent for 30 s: train"),
            // Trained all the time and fought away from the base: the core fell at 1:32.
            (with(|tally| tally.exposed_s = 25), "For 25 s your core stood open and alone"),
            // Kept the army together in the middle: 0 to 201 points at 1:50.
            // Sent them one by one to the core while the hero was elsewhere.
            (with(|tally| tally.minions_outnumbered = 24), "24 of the 30 minions you lost fell outnumbered"),
            (Course { has_won: true, ..with(|tally| tally.minions_outnumbered = 24) }, "Well played"),
            (with(|tally| tally.circles = 0b1), "You held only 1 of 3 circles"),
            (with(|tally| (tally.circles, tally.hero_deaths) = (0, 4)), "You took no circle"),
            // Only walked.
            (
                Course { seconds: 50, ..with(|tally| tally.unspent_s = 31) },
                "You left supply unspent for 31 s",
            ),
            (with(|tally| tally.hero_deaths = 3), "Your hero fell 3 times"),
            (with(|tally| tally.banners = 0), "You never raised the banner"),
            (Course { has_won: true, ..with(|tally| tally.exposed_s = 60) }, "Well played"),
            (GOOD, "Fight with all you have"),
        ];
        for (course, expected) in table {
            let said = tip(&course);
            assert!(said.starts_with(expected), "{course:?}: {said}");
        }
    }

    #[test]
    fn a_long_match_tolerates_more_lost_seconds() {
        let long = Course { seconds: 300, tally: Tally { unspent_s: 30, ..GOOD.tally }, ..GOOD };
        assert!(tip(&long).starts_with("Fight"), "a tenth of it");
    }

    #[test]
    fn highlights_address_their_player() {
        let say = |moment| {
            let name = |player: PlayerId| format!("P{}", player.0);
            describe(moment, PlayerId(0), name, |team| format!("Team {team}"))
        };
        assert_eq!(say(Moment::FirstCircle(PlayerId(0))), "You took the first circle");
        assert_eq!(say(Moment::CoreOpened(PlayerId(0))), "Your core opened");
        assert_eq!(say(Moment::HeroDied(PlayerId(1))), "P1's hero fell");
        assert_eq!(say(Moment::BiggestFight(9)), "The biggest fight: 9 fell within ten seconds");
        assert_eq!(say(Moment::LeadTaken(1)), "Team 1 took the lead");
    }
}
