//! What is played: lines of matches that answer one question each.

use arrayvec::ArrayVec;
use std::sync::Arc;

use super::bout::{Bout, BoutPlayer, BoutSeat};
use super::newcomer::Newcomer;
use super::{BalanceOptions, MATCHES_MAX};
use bot::{BotLevel, Mix, Style};
use game::data;
use lab::named;
use sim::{ControlBehaviour, KindId, Map, PLAYERS_MAX, PlayerId, Rules, SeatSetup};

named! {
    /// A group of lines.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Suite {
        /// Line-ups against themselves: is it the seat that wins?
        Mirror = "mirror",
        /// Levels against themselves, and four seats: which seat wins?
        Seats = "seats",
        /// One hero against the other: is either the better choice?
        Heroes = "heroes",
        /// Bot levels against each other.
        Levels = "levels",
        /// What armies lose to.
        Counters = "counters",
        /// How matches between normal bots go.
        Drama = "drama",
        /// How often units die, and where, between hard bots.
        Fights = "fights",
        /// How people with a simple plan fare, in their first match and later.
        Newcomers = "newcomers",
        /// A bot of the user's own against every level.
        Own = "own",
        /// The ladder: how hard each opponent is.
        Ladder = "ladder",
    }
}

/// Who plays, in the order in which the bases lie around the map. Each draws by its place in it.
pub(super) type LineUp = ArrayVec<BoutSeat, PLAYERS_MAX>;

/// Matches that answer one question. Each line-up of the line is played from every seat.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) suite: Suite,
    pub(super) map: Arc<Map>,
    pub(super) rules: Arc<Rules>,
    pub(super) name: String,
    /// Of equal length.
    pub(super) line_ups: Vec<LineUp>,
    pub(super) first_seed: u64,
    pub(super) matches: u32,
    /// Whether the matches with one seed follow each other, one for each seat a side can play from.
    pub(super) is_paired: bool,
    /// The army whose counter is sought, and who is tried against it.
    pub(super) army: Option<Mix>,
    /// Who plays by a simple plan.
    pub(super) newcomer: Option<Newcomer>,
}

impl Line {
    /// Seats in its matches.
    pub(super) fn seats(&self) -> usize {
        self.line_ups[0].len()
    }

    /// Its match number `index`.
    pub(super) fn bout(&self, options: &BalanceOptions, index: u32) -> Bout {
        let turns = self.seats() as u32;
        let seed = if self.is_paired { index / turns } else { index };
        Bout {
            seed: self.first_seed + u64::from(seed),
            tick_rate: options.tick_rate,
            rules: self.rules.clone(),
            map: self.map.clone(),
            seats: self.seated(index),
        }
    }

    /// Returns the seats of match number `index`: the line-up, turned by one seat from match to match, but for the
    /// ladder, whose player always has seat 0.
    pub(super) fn seated(&self, index: u32) -> LineUp {
        if self.suite == Suite::Ladder {
            return self.line_up(index).clone();
        }
        let turn = self.turn(index);
        let line_up = self.line_up(index);
        let ring = ring(&self.map, self.seats());
        let mut seats = line_up.clone();
        for (place, &seat) in ring.iter().enumerate() {
            seats[seat] = line_up[(place + turn) % self.seats()];
        }
        seats
    }

    /// The line-up of match number `index`.
    pub(super) fn line_up(&self, index: u32) -> &LineUp {
        &self.line_ups[index as usize / self.seats() % self.line_ups.len()]
    }

    fn turn(&self, index: u32) -> usize {
        index as usize % self.seats()
    }
}

/// The lines that the options ask for.
pub(super) fn lines(options: &BalanceOptions) -> Vec<Line> {
    let mut plan = Plan { options, lines: Vec::new() };
    for map in &options.maps {
        if map.bases.len() == 2 {
            plan.add_two_seats(map);
        } else {
            plan.add_four_seats(map);
        }
    }
    plan.add_ladder();
    plan.lines.retain(|line| options.suites.contains(&line.suite));
    plan.lines
}

/// Lines in the making.
struct Plan<'a> {
    options: &'a BalanceOptions,
    lines: Vec<Line>,
}

impl Plan<'_> {
    fn add(
        &mut self,
        map: &Arc<Map>,
        suite: Suite,
        name: impl Into<String>,
        line_ups: impl IntoIterator<Item = LineUp>,
    ) -> &mut Line {
        let line_ups: Vec<LineUp> = line_ups.into_iter().collect();
        let (matches, seats) = (self.options.matches, line_ups[0].len() as u32);
        let is_paired = self.options.pairs && matches!(suite, Suite::Mirror | Suite::Seats);
        let place = self.lines.len();
        self.lines.push(Line {
            suite,
            map: map.clone(),
            rules: self.options.rules.clone(),
            name: name.into(),
            line_ups,
            // Every line has seeds of its own, the same whichever suites are played.
            first_seed: self.options.seed + place as u64 * u64::from(MATCHES_MAX),
            matches: if is_paired { matches.next_multiple_of(seats) } else { matches },
            is_paired,
            army: None,
            newcomer: None,
        });
        &mut self.lines[place]
    }

    fn add_two_seats(&mut self, map: &Arc<Map>) {
        use BotLevel::{Easy, Hard, Normal};
        let rules = &self.options.rules;
        for hero in rules.hero_kinds() {
            for mix in mixes(rules) {
                let name = format!("{}, {}", hero_name(rules, hero), mix_name(rules, mix));
                self.add(map, Suite::Mirror, name, [duel([side(hero, Normal, mix); 2])]);
            }
        }
        let different = rules.hero_kinds().flat_map(|a| rules.hero_kinds().map(move |b| [a, b]));
        for heroes in different.filter(|[a, b]| a < b) {
            for level in [Normal, Hard] {
                for mix in mixes(rules) {
                    let [a, b] = heroes.map(|hero| hero_name(rules, hero));
                    let name = format!("{a} v {b}, {}, {}", mix_name(rules, mix), level.as_str());
                    self.add(map, Suite::Heroes, name, [duel(heroes.map(|hero| side(hero, level, mix)))]);
                }
            }
        }
        for level in [Easy, Normal, Hard] {
            let name = format!("{0} v {0}", level.as_str());
            self.add(map, Suite::Seats, name, duels(rules, [level; 2]));
        }
        let steps = BotLevel::ALL.windows(2).map(|pair| [pair[1], pair[0]]);
        for [better, worse] in [[Hard, Normal], [Normal, Easy]].into_iter().chain(steps) {
            let name = format!("{} v {}", better.as_str(), worse.as_str());
            self.add(map, Suite::Levels, name, duels(rules, [better, worse]));
        }
        for army in armies(rules) {
            for other in mixes(rules).filter(|&other| other != army) {
                for hero in rules.hero_kinds() {
                    let [army_name, other_name] = [army, other].map(|mix| mix_name(rules, mix));
                    let name = format!("{army_name} v {other_name}, {} hero", hero_name(rules, hero));
                    let sides = |own| [side(own, Normal, army), side(hero, Normal, other)];
                    let line_ups = rules.hero_kinds().map(|own| duel(sides(own)));
                    self.add(map, Suite::Counters, name, line_ups).army = Some(army);
                }
            }
        }
        self.add(map, Suite::Drama, "normal v normal", duels(rules, [Normal; 2]));
        for newcomer in Newcomer::ALL.into_iter().filter(|newcomer| !newcomer.commands()) {
            let name = format!("{} v easy", newcomer.as_str());
            let line_ups = pairs(rules, [BoutPlayer::Newcomer(newcomer), BoutPlayer::Bot(Easy)]);
            self.add(map, Suite::Newcomers, name, line_ups).newcomer = Some(newcomer);
        }
        let mut seed = None;
        for newcomer in Newcomer::AGAINST_NORMAL {
            let name = format!("{} v normal", newcomer.as_str());
            let line_ups = pairs(rules, [BoutPlayer::Newcomer(newcomer), BoutPlayer::Bot(Normal)]);
            let line = self.add(map, Suite::Newcomers, name, line_ups);
            line.newcomer = Some(newcomer);
            // Gains are differences between matches with the same seeds.
            line.first_seed = *seed.get_or_insert(line.first_seed);
        }
        for level in BotLevel::ALL.into_iter().filter(|level| ![Easy, Normal].contains(level)) {
            let name = format!("{} v {}", Newcomer::Divides.as_str(), level.as_str());
            let players = [BoutPlayer::Newcomer(Newcomer::Divides), BoutPlayer::Bot(level)];
            self.add(map, Suite::Newcomers, name, pairs(rules, players)).newcomer = Some(Newcomer::Divides);
        }
        self.add(map, Suite::Fights, "hard v hard", duels(rules, [Hard; 2]));
        if let Some(command) = self.options.bot {
            for level in BotLevel::ALL {
                let name = format!("own v {}", level.as_str());
                let players = [BoutPlayer::Exec(command), BoutPlayer::Bot(level)];
                self.add(map, Suite::Own, name, pairs(rules, players));
            }
        }
    }

    fn add_four_seats(&mut self, map: &Arc<Map>) {
        let seatings: [(&str, &[u8]); 4] = [
            ("2 v 2, opposite", &[0, 1, 0, 1]),
            ("2 v 2, side by side", &[0, 0, 1, 1]),
            ("each of 4 alone", &[0, 1, 2, 3]),
            ("each of 3 alone", &[0, 1, 2]),
        ];
        for (name, teams) in seatings {
            let line_up = |hero| {
                let seat = |&team| BoutSeat { team, ..side(hero, BotLevel::Normal, Mix::Counter) };
                keyed(teams.iter().map(seat))
            };
            self.add(map, Suite::Seats, name, self.options.rules.hero_kinds().map(line_up));
        }
    }
}

impl Plan<'_> {
    /// Bots in the player's seat, with either hero, against every opponent.
    fn add_ladder(&mut self) {
        for level in [BotLevel::Normal, BotLevel::Hard] {
            for opponent in data::opponents() {
                let line_up = |hero| {
                    let seats = opponent.seats(hero);
                    let own = [(level, Style::default())].into_iter();
                    let players = own.chain(opponent.rivals.iter().map(|rival| (rival.level, rival.style)));
                    let seated = seats.into_iter().zip(players);
                    keyed(seated.map(|(SeatSetup { hero, team }, (level, style))| BoutSeat {
                        team,
                        style,
                        ..side(hero, level, Mix::Counter)
                    }))
                };
                let line_ups = opponent.rules.hero_kinds().map(line_up);
                let name = format!("{} v {}", level.as_str(), opponent.name.as_str());
                self.add(&opponent.map, Suite::Ladder, name, line_ups).rules = opponent.rules.clone();
            }
        }
    }
}

/// Both levels with every pair of heroes.
fn duels(rules: &Rules, levels: [BotLevel; 2]) -> impl Iterator<Item = LineUp> + use<> {
    pairs(rules, levels.map(BoutPlayer::Bot))
}

/// Both players with every pair of heroes.
fn pairs(rules: &Rules, players: [BoutPlayer; 2]) -> impl Iterator<Item = LineUp> + use<> {
    let heroes: Vec<KindId> = rules.hero_kinds().collect();
    let pairs: Vec<_> = heroes.iter().flat_map(|&a| heroes.iter().map(move |&b| [a, b])).collect();
    let side = |hero, player| BoutSeat { player, ..side(hero, BotLevel::Normal, Mix::Counter) };
    pairs.into_iter().map(move |[a, b]| duel([side(a, players[0]), side(b, players[1])]))
}

fn duel(sides: [BoutSeat; 2]) -> LineUp {
    let [a, b] = sides;
    keyed([BoutSeat { team: 0, ..a }, BoutSeat { team: 1, ..b }])
}

fn side(hero: KindId, level: BotLevel, mix: Mix) -> BoutSeat {
    let style = Style { mix, home_s: 0 };
    BoutSeat { hero, team: 0, player: BoutPlayer::Bot(level), style, key: PlayerId(0) }
}

fn keyed(sides: impl IntoIterator<Item = BoutSeat>) -> LineUp {
    let key = |(at, side)| BoutSeat { key: PlayerId(at as u8), ..side };
    sides.into_iter().enumerate().map(key).collect()
}

/// The seats in the order in which their bases lie around the centre, anticlockwise from seat 0: turning a
/// line-up along it turns the match with the map.
fn ring(map: &Map, seats: usize) -> ArrayVec<usize, PLAYERS_MAX> {
    use std::f64::consts::TAU;
    let angle = |seat: usize| {
        let (x, y) = map.bases[seat];
        f64::from(y).atan2(f64::from(x))
    };
    let from_first = |seat: usize| (angle(seat) - angle(0)).rem_euclid(TAU);
    let mut ring: ArrayVec<usize, PLAYERS_MAX> = (0..seats).collect();
    ring.sort_by(|&a, &b| from_first(a).total_cmp(&from_first(b)));
    ring
}

/// The armies of one kind.
pub(super) fn armies(rules: &Rules) -> impl Iterator<Item = Mix> + use<> {
    rules.minion_kinds().map(Mix::Only)
}

/// All mixes.
fn mixes(rules: &Rules) -> impl Iterator<Item = Mix> + use<> {
    [Mix::Counter].into_iter().chain(armies(rules)).chain([Mix::Even])
}

fn hero_name(rules: &Rules, hero: KindId) -> String {
    rules.unit(ControlBehaviour::Player, hero).name.to_string()
}

pub(super) fn mix_name(rules: &Rules, mix: Mix) -> String {
    match mix {
        Mix::Counter => "counter".into(),
        Mix::Only(kind) => rules.minions[kind.index()].plural(),
        Mix::Even => "even".into(),
    }
}
