//! The ladder from TOML: opponents for a single player, each with its map, rules and bots.

use std::sync::{Arc, LazyLock};

use arrayvec::ArrayVec;
use serde::Deserialize;
use toml::Spanned;

use super::values::{Line, Title, Whole};
use super::{DataError, Source, map, rules};
use bot::{BotLevel, Mix, Style};
use net::PlayerName;
use sim::{KindId, KindName, Map, PLAYERS_MAX, Rules, SeatSetup};

const LADDER: &str = include_str!("../../../assets/ladder.toml");

/// Maximum number of bots of a match.
pub const RIVALS_MAX: usize = PLAYERS_MAX - 1;
/// Maximum number of opponents.
const OPPONENTS_MAX: usize = 32;
/// Maximum length of an opponent's twist and of its line of character, in bytes.
const TWIST_MAX: usize = 26;
const ABOUT_MAX: usize = 60;

/// Opponent of the ladder: a match against bots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opponent {
    /// Name, which no other opponent has.
    pub name: PlayerName,
    /// Difference from a usual match, in a few words.
    pub twist: String,
    /// Character, in a line.
    pub about: String,
    /// Rules.
    pub rules: Arc<Rules>,
    /// Map, with a base for each seat.
    pub map: Arc<Map>,
    /// Bots of the seats from 1 on; at least one plays against seat 0.
    pub rivals: ArrayVec<Rival, RIVALS_MAX>,
}

/// Bot of an opponent's match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Name.
    pub name: PlayerName,
    /// Team; that of the player is 0.
    pub team: u8,
    /// Level.
    pub level: BotLevel,
    /// Name of its hero, which the rules have.
    pub hero: KindName,
    /// Style.
    pub style: Style,
}

/// Returns the opponents of the ladder, the easiest first.
///
/// # Panics
/// Never: a test loads them.
#[expect(clippy::expect_used, reason = "a test loads them")]
pub fn opponents() -> &'static [Opponent] {
    static OPPONENTS: LazyLock<Vec<Opponent>> =
        LazyLock::new(|| parse(&Source { file: "ladder", text: LADDER }).expect("the ladder is valid"));
    &OPPONENTS
}

impl Opponent {
    /// Returns the seats of the match, with this hero for the player.
    #[must_use]
    pub fn seats(&self, hero: KindId) -> ArrayVec<SeatSetup, PLAYERS_MAX> {
        let rival = |rival: &Rival| {
            let hero = self.rules.hero_named(rival.hero.as_str()).unwrap_or_default();
            SeatSetup { hero, team: rival.team }
        };
        [SeatSetup { hero, team: 0 }].into_iter().chain(self.rivals.iter().map(rival)).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LadderFile {
    #[serde(rename = "opponent")]
    opponents: Vec<OpponentFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpponentFile {
    name: Spanned<PlayerName>,
    twist: Line<TWIST_MAX>,
    about: Line<ABOUT_MAX>,
    rules: Option<Spanned<Title>>,
    map: Spanned<Title>,
    bots: Spanned<Vec<RivalFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RivalFile {
    name: PlayerName,
    team: Option<Whole<0, { PLAYERS_MAX as i32 - 1 }>>,
    level: BotLevel,
    hero: Spanned<KindName>,
    trains: Option<Spanned<String>>,
    home: Option<Whole<0, 600>>,
}

fn parse(source: &Source<'_>) -> Result<Vec<Opponent>, DataError> {
    let file: LadderFile = source.parse()?;
    let mut opponents: Vec<Opponent> = Vec::new();
    for opponent in file.opponents {
        let at = opponent.name.span().start;
        if opponents.iter().any(|other| other.name == *opponent.name.get_ref()) {
            return Err(source.invalid(at, "another opponent has it"));
        }
        if opponents.len() == OPPONENTS_MAX {
            return Err(source.invalid(at, format_args!("more than {OPPONENTS_MAX} opponents")));
        }
        opponents.push(opponent.read(source)?);
    }
    if opponents.is_empty() { Err(source.invalid(0, "no opponent")) } else { Ok(opponents) }
}

impl OpponentFile {
    fn read(self, source: &Source<'_>) -> Result<Opponent, DataError> {
        let [map_at, bots_at] = [self.map.span().start, self.bots.span().start];
        let (rules_at, rules_name) = match self.rules {
            Some(name) => (name.span().start, String::from(name.into_inner())),
            None => (map_at, "standard".to_owned()),
        };
        let rules = rules(rules_name).map_err(|error| source.invalid(rules_at, error))?;
        let map = map(String::from(self.map.into_inner())).map_err(|error| source.invalid(map_at, error))?;
        let bots = self.bots.into_inner();
        if !(1..=RIVALS_MAX).contains(&bots.len()) {
            let message = format!("{} bots are not from 1 to {RIVALS_MAX}", bots.len());
            return Err(source.invalid(bots_at, message));
        }
        map.check(bots.len().saturating_add(1)).map_err(|error| source.invalid(map_at, error))?;
        let rivals = bots.into_iter().map(|bot| bot.read(source, &rules));
        let rivals = rivals.collect::<Result<ArrayVec<Rival, RIVALS_MAX>, DataError>>()?;
        if rivals.iter().all(|rival| rival.team == 0) {
            return Err(source.invalid(bots_at, "all are in the player's team, 0"));
        }
        Ok(Opponent {
            name: self.name.into_inner(),
            twist: self.twist.into(),
            about: self.about.into(),
            rules,
            map,
            rivals,
        })
    }
}

impl RivalFile {
    fn read(self, source: &Source<'_>, rules: &Rules) -> Result<Rival, DataError> {
        let hero = self.hero.get_ref();
        if rules.hero_named(hero.as_str()).is_none() {
            let message = format!("the rules {} have no hero {hero}", rules.name);
            return Err(source.invalid(self.hero.span().start, message));
        }
        let mix = match &self.trains {
            None => Mix::Counter,
            Some(trains) => match trains.get_ref().as_str() {
                "counter" => Mix::Counter,
                "even" => Mix::Even,
                kind => Mix::Only(rules.minion_named(kind).ok_or_else(|| {
                    let message =
                        format!("{kind} is not counter, even or a minion of the rules {}", rules.name);
                    source.invalid(trains.span().start, message)
                })?),
            },
        };
        let home_s = self.home.map_or(0, Into::into);
        Ok(Rival {
            name: self.name,
            team: self.team.map_or(1, Into::into),
            level: self.level,
            hero: *hero,
            style: Style { mix, home_s },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::ControlBehaviour;

    fn error(from: &str, to: &str) -> String {
        assert!(LADDER.contains(from), "{from}");
        let text = LADDER.replacen(from, to, 1);
        parse(&Source { file: "ladder.toml", text: &text }).expect_err(to).to_string()
    }

    #[test]
    fn the_ladder_has_ten_opponents_with_matches_that_can_be_set_up() {
        assert_eq!(opponents().len(), 10);
        for opponent in opponents() {
            let setup = sim::Setup {
                seed: 1,
                tick_rate: sim::TickRate::HZ_60,
                seats: opponent.seats(KindId(0)),
                rules: opponent.rules.clone(),
                map: opponent.map.clone(),
            };
            setup.check().expect("a match");
            for rival in &opponent.rivals {
                let hero = opponent.rules.hero_named(rival.hero.as_str()).expect("of the rules");
                assert_eq!(opponent.rules.unit(ControlBehaviour::Player, hero).name, rival.hero);
            }
        }
    }

    #[test]
    fn an_invalid_ladder_is_refused_with_line_and_key() {
        for (from, to, why) in [
            ("\"Runa\"", "\"Pip\"", "ladder.toml:21: name: another opponent has it"),
            (
                "\"duel\"",
                "\"duet\"",
                "ladder.toml:10: map: duet is neither built in (standard, duel and quad are) nor a file",
            ),
            ("map = \"crown\"", "rules = \"none\"\nmap = \"crown\"", "rules: none is neither built in"),
            ("trains = \"archer\"", "trains = \"bowman\"", "bowman is not counter, even or a minion"),
            ("hero = \"archer\"", "hero = \"bowman\"", "the rules standard have no hero bowman"),
            ("level = \"easy\"", "level = \"3\"", "there are easy, 1, 2, normal, 4 and hard"),
            ("home = 150", "home = 601", "601 is not from 0 to 600"),
            ("team = 0", "team = 4", "4 is not from 0 to 3"),
            ("trains = \"swordsman\"", "team = 0", "ladder.toml:11: bots: all are in the player's team"),
            ("map = \"quad\"", "map = \"duel\"", "map: "),
            ("twist = \"only swordsmen\"", "twist = \"\"", "twist: 0 bytes are not from 1 to 26"),
            ("twist = ", "# twist = ", "twist: this key is missing"),
            ("twist = ", "hat = 1\ntwist = ", "hat: unknown key"),
        ] {
            let error = error(from, to);
            assert!(error.contains(why), "{to}: {error}");
        }

        let many = format!("{}bots = []\n", LADDER.split("bots = ").next().expect("a first"));
        let none = parse(&Source { file: "l", text: &many }).expect_err("no bots").to_string();
        assert!(none.contains("0 bots are not from 1 to 3"), "{none}");
    }
}
