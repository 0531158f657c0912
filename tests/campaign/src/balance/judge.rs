//! From results to figures, each with the band that the rules promise.

use std::sync::Arc;

use super::BalanceOptions;
use super::bout::{BoutPlayer, BoutResult, MATCH_SECONDS_MAX};
use super::drama::{FAR_TILES, LEADER_AT_S};
use super::figure::{Estimate, Figure, Unit, group_means};
use super::newcomer::Newcomer;
use super::plan::{Line, Suite, armies, mix_name};
use bot::BotLevel;
use sim::{Map, Outcome, TickRate};

/// Seat 0's share in a line-up against itself.
const MIRROR: [f64; 2] = [0.47, 0.53];
/// Seat 0's share over all line-ups against themselves.
const SEAT_BIAS: [f64; 2] = [0.48, 0.52];
/// The share of one hero against the other, both with the same army.
const HEROES: [f64; 2] = [0.45, 0.55];
/// Hard's share against normal.
const HARD: [f64; 2] = [0.80, 1.0];
/// Normal's share against easy.
const NORMAL: [f64; 2] = [0.95, 1.0];
/// A level's share against the one below.
const STEP: [f64; 2] = [0.65, 0.85];
/// Before this no newcomer who does nothing has lost, in seconds.
const IDLES_FOR_S: f64 = 150.0;
/// The same for one who walks, and does not train.
const WALKS_FOR_S: f64 = 120.0;
/// The share of those who walk, with repeated training.
const REPEATS: [f64; 2] = [0.60, 1.0];
/// The share of those who walk, and train by hand.
const TRAINS: [f64; 2] = [0.85, 1.0];
/// The share of those who only walk against the normal bot.
const WALKS_NORMAL: [f64; 2] = [0.0, 0.50];
/// How much more one wins who sends minions to fight, than one who only walks.
const SENDS_MORE: [f64; 2] = [0.05, 1.0];
/// The same of one with two groups.
const DIVIDES_MORE: [f64; 2] = [0.15, 1.0];
/// Half the width of the bands of two groups against a level.
const TWO_GROUPS_HALF: f64 = 0.08;
/// How much more or less one wins who repeats orders.
const INSISTS_MORE: [f64; 2] = [-0.03, 0.03];
/// The share of an army's best counter.
const COUNTER: [f64; 2] = [0.60, 1.0];
/// Hard's share against any opponent of the ladder.
const LADDER: [f64; 2] = [0.15, 1.0];
/// How many units a side loses in a minute.
const DEATHS_PER_MINUTE: [f64; 2] = [0.0, 10.0];
/// The share of deaths far from the middle of the map.
const FAR_DEATHS: [f64; 2] = [1.0 / 3.0, 1.0];
/// The share of matches in which every circle is taken twice.
const ALL_TAKEN_TWICE: [f64; 2] = [0.5, 1.0];
/// The share of matches between hard bots in which the lead changes twice.
const HARD_LEAD_CHANGES: [f64; 2] = [0.65, 1.0];
/// Their median length, in seconds.
const HARD_LENGTH_S: [f64; 2] = [240.0, 330.0];
/// When damage should have been done.
const FIRST_DAMAGE_S: u32 = 20;

/// A line and what came of it, in the order of its matches.
pub(super) struct Played<'a> {
    pub(super) line: &'a Line,
    pub(super) results: &'a [BoutResult],
}

/// All figures of the report.
pub(super) fn figures(options: &BalanceOptions, played: &[Played<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for suite in Suite::ALL {
        for one in played.iter().filter(|one| one.line.suite == suite) {
            match suite {
                Suite::Mirror => figures.push(one.figure("seat 0 wins", one.seat_share(0), Some(MIRROR))),
                Suite::Seats => figures.extend(one.seats()),
                Suite::Heroes => figures.push(one.figure("the first wins", one.side_share(0), Some(HEROES))),
                Suite::Levels => figures.push(one.level()),
                Suite::Counters => figures.push(one.figure("the first wins", one.side_share(0), None)),
                Suite::Drama => figures.extend(one.drama(options.tick_rate)),
                Suite::Fights => figures.extend(one.fights(options.tick_rate)),
                Suite::Own => figures.push(one.figure("the own bot wins", one.side_share(0), None)),
                Suite::Newcomers => figures.extend(one.newcomer(options.tick_rate)),
                Suite::Ladder => figures.push(one.opponent()),
            }
        }
        match suite {
            Suite::Seats => figures.extend(seat_bias(played)),
            Suite::Counters => figures.extend(counters(options, played)),
            Suite::Newcomers => figures.extend(options.maps.iter().flat_map(|map| gains(map, played))),
            Suite::Mirror
            | Suite::Heroes
            | Suite::Levels
            | Suite::Drama
            | Suite::Fights
            | Suite::Own
            | Suite::Ladder => {}
        }
    }
    figures.extend(endings(played));
    figures
}

/// Seat 0's share over all lines between two teams in which the sides are equals.
fn seat_bias(played: &[Played<'_>]) -> Option<Figure> {
    let fair = |one: &&Played<'_>| {
        matches!(one.line.suite, Suite::Mirror | Suite::Seats)
            && one.teams() == 2
            && one.line.seats().is_multiple_of(2)
    };
    let all: Vec<&Played<'_>> = played.iter().filter(fair).collect();
    let points: Vec<f64> = all.iter().flat_map(|one| one.seat_points(0)).collect();
    let first = all.first()?;
    let estimate = if first.line.is_paired {
        let groups = all.iter().flat_map(|one| group_means(&one.seat_points(0), one.line.seats()));
        Estimate::share_of_groups(&groups.collect::<Vec<f64>>())
    } else {
        Estimate::share(&points)
    };
    Some(Figure {
        suite: Suite::Seats,
        map: "all".into(),
        line: "all of equals".into(),
        name: "seat 0 wins".into(),
        unit: Unit::Share,
        matches: points.len(),
        estimate,
        band: Some(SEAT_BIAS),
    })
}

/// For each map and army the opponent that does best against it.
fn counters(options: &BalanceOptions, played: &[Played<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for map in &options.maps {
        for army in armies(&options.rules) {
            let lines =
                played.iter().filter(|one| Arc::ptr_eq(&one.line.map, map) && one.line.army == Some(army));
            let tried = lines.map(|one| (one, one.side_share(0).rest()));
            let Some((one, best)) =
                tried.max_by(|(_, a), (_, b)| a.value.partial_cmp(&b.value).expect("a number"))
            else {
                continue;
            };
            let name = format!("the best counter of {} wins", mix_name(&options.rules, army));
            figures.push(one.figure(name, best, Some(COUNTER)));
        }
    }
    figures
}

/// How much more each player with a plan wins against the normal bot than another, in matches with the same seeds.
fn gains(map: &Arc<Map>, played: &[Played<'_>]) -> Vec<Figure> {
    let of = |newcomer: Newcomer| {
        played.iter().find(|one| {
            Arc::ptr_eq(&one.line.map, map) && one.line.newcomer == Some(newcomer) && one.is_against_normal()
        })
    };
    let compared = [
        (Newcomer::Sends, Newcomer::Repeats, "more than by walking", SENDS_MORE),
        (Newcomer::Divides, Newcomer::Repeats, "more than by walking", DIVIDES_MORE),
        (Newcomer::Insists, Newcomer::Sends, "more than by an order once", INSISTS_MORE),
    ];
    let gain = |(more, less, name, band)| {
        let (more, less): (&Played<'_>, &Played<'_>) = (of(more)?, of(less)?);
        let pairs = more.side_points(0).into_iter().zip(less.side_points(0));
        let gains: Vec<f64> = pairs.map(|(more, less)| more - less).collect();
        Some(more.figure(name, Estimate::mean(&gains), Some(band)))
    };
    compared.into_iter().filter_map(gain).collect()
}

/// Whether every match ended.
fn endings(played: &[Played<'_>]) -> Option<Figure> {
    let ended = |result: &BoutResult| f64::from(u8::from(result.outcome != Outcome::Running));
    let points: Vec<f64> = played.iter().flat_map(|one| one.results.iter().map(ended)).collect();
    let value = points.iter().copied().min_by(f64::total_cmp)?;
    Some(Figure {
        suite: Suite::Drama,
        map: "all".into(),
        line: "all".into(),
        name: "all over before 7:00".into(),
        unit: Unit::Count,
        matches: points.len(),
        estimate: Estimate { value: Some(value), interval: None },
        band: Some([1.0, 1.0]),
    })
}

impl Played<'_> {
    fn seats(&self) -> Vec<Figure> {
        // Of two teams of equal seats one tells about the other.
        let told = if self.line.seats() == 2 { 1 } else { self.line.seats() };
        let figure = |seat| self.figure(format!("seat {seat} wins"), self.seat_share(seat), None);
        (0..told).map(figure).collect()
    }

    fn level(&self) -> Figure {
        use BotLevel::{Easy, Hard, Normal};
        let band = match [0, 1].map(|side| self.line.line_ups[0][side].player) {
            [BoutPlayer::Bot(Hard), BoutPlayer::Bot(Normal)] => HARD,
            [BoutPlayer::Bot(Normal), BoutPlayer::Bot(Easy)] => NORMAL,
            _ => STEP,
        };
        self.figure("the better wins", self.side_share(0), Some(band))
    }

    /// How the newcomer fares: the share of wins, and when the first loses.
    fn newcomer(&self, rate: TickRate) -> Vec<Figure> {
        let (share, least_s) = match self.line.newcomer {
            Some(Newcomer::Repeats) if self.is_against_normal() => (Some(WALKS_NORMAL), None),
            Some(Newcomer::Divides) => (self.two_groups(), None),
            Some(Newcomer::Sends | Newcomer::Insists) => (None, None),
            Some(Newcomer::Idles) => (None, Some(IDLES_FOR_S)),
            Some(Newcomer::Walks) => (None, Some(WALKS_FOR_S)),
            Some(Newcomer::Repeats) => (Some(REPEATS), None),
            Some(Newcomer::Trains) => (Some(TRAINS), None),
            None => (None, None),
        };
        let is_lost = |&(index, result): &(u32, &BoutResult)| {
            points(result, self.line.line_up(index)[0].team, self.teams()) < 0.5
        };
        let losses = (0..).zip(self.results).filter(is_lost);
        let seconds = losses.map(|(_, result)| f64::from(result.ticks) / f64::from(rate.hz()));
        // Nobody loses later than the latest end.
        let longest = f64::from(MATCH_SECONDS_MAX);
        let earliest = Estimate { value: Some(seconds.fold(longest, f64::min)), interval: None };
        vec![
            self.figure("the newcomer wins", self.side_share(0), share),
            self.seconds("the first loss", earliest, least_s.map(|least| [least, longest])),
        ]
    }

    /// Returns the share of the player's seat, with the band that a hard bot in it must reach.
    fn opponent(&self) -> Figure {
        let is_hard = self.line.line_ups[0][0].player == BoutPlayer::Bot(BotLevel::Hard);
        self.figure("the player wins", self.side_share(0), is_hard.then_some(LADDER))
    }

    /// Returns the band of the player with two groups against the level of this line.
    fn two_groups(&self) -> Option<[f64; 2]> {
        let BoutPlayer::Bot(level) = self.line.line_ups[0][1].player else { return None };
        let share = match level {
            BotLevel::Easy => return None,
            BotLevel::One => 0.90,
            BotLevel::Two => 0.75,
            BotLevel::Normal => 0.60,
            BotLevel::Four => 0.45,
            BotLevel::Hard => 0.30,
        };
        Some([share - TWO_GROUPS_HALF, share + TWO_GROUPS_HALF])
    }

    fn is_against_normal(&self) -> bool {
        self.line.line_ups[0][1].player == BoutPlayer::Bot(BotLevel::Normal)
    }

    fn drama(&self, rate: TickRate) -> Vec<Figure> {
        let seconds = |ticks: u32| f64::from(ticks) / f64::from(rate.hz());
        let ended = |outcome: Outcome| self.share_of(|result| result.outcome == outcome);
        let in_time = |ticks: u32| ticks <= FIRST_DAMAGE_S * rate.hz();
        let lengths = self.each(|result| Some(seconds(result.ticks)));
        let quiet = self.each(|result| Some(seconds(result.drama.longest_quiet)));
        let idle = self.each(|result| Some(seconds(result.drama.longest_idle)));
        let changes = self.each(|result| Some(f64::from(result.drama.lead_changes)));
        let first = self.each(|result| result.drama.first_damage.map(seconds));
        let leaders = self.each(|result| Some(points(result, result.drama.leader?, self.teams())));
        let soon = self.share_of(|result| result.drama.first_damage.is_some_and(in_time));
        let changed = self.share_of(|result| result.drama.lead_changes >= 2);
        let leader = self.figure("the leader at 2:00 wins", Estimate::share(&leaders), Some([0.6, 0.8]));
        let least = |share: f64| Some([share, 1.0]);
        vec![
            self.figure("first damage by 0:20", soon, least(0.95)),
            self.seconds("first damage, 95th percentile", Estimate::quantile(&first, 0.95), None),
            self.figure("two or more lead changes", changed, least(0.6)),
            Figure { unit: Unit::Count, ..self.figure("lead changes, mean", Estimate::mean(&changes), None) },
            self.figure("ends by a core", ended(Outcome::Core), least(0.15)),
            self.figure("ends by score", ended(Outcome::Score), least(0.15)),
            self.figure("ends by sudden death", ended(Outcome::SuddenDeath), least(0.15)),
            self.figure("ends in a draw", ended(Outcome::Draw), Some([0.0, 0.03])),
            Figure { matches: leaders.len(), ..leader },
            self.seconds("length, first quartile", Estimate::quantile(&lengths, 0.25), None),
            self.seconds("length, median", Estimate::quantile(&lengths, 0.5), Some([240.0, 360.0])),
            self.seconds("length, third quartile", Estimate::quantile(&lengths, 0.75), None),
            self.seconds(
                "longest without damage, 95th percentile",
                Estimate::quantile(&quiet, 0.95),
                Some([0.0, 25.0]),
            ),
            self.seconds("longest without an order, most", Estimate::most(&idle), Some([0.0, 5.0])),
        ]
    }

    /// How often units die and where, whether all circles are fought for, and what comes of it.
    fn fights(&self, rate: TickRate) -> Vec<Figure> {
        let seats = self.line.seats() as f64;
        let seconds = |result: &BoutResult| f64::from(result.ticks) / f64::from(rate.hz());
        let ratio = |of: &dyn Fn(&BoutResult) -> [f64; 2]| {
            Estimate::ratio(&self.results.iter().map(of).collect::<Vec<[f64; 2]>>())
        };
        let per_minute = ratio(&|result| [f64::from(result.drama.deaths) / seats, seconds(result) / 60.0]);
        let far = ratio(&|result| [result.drama.far_deaths, result.drama.deaths].map(f64::from));
        let twice = self.share_of(|result| result.drama.fewest_captures >= 2);
        let changed = self.share_of(|result| result.drama.lead_changes >= 2);
        let length = Estimate::quantile(&self.each(|result| Some(seconds(result))), 0.5);
        let per_minute = self.figure("own deaths per minute", per_minute, Some(DEATHS_PER_MINUTE));
        vec![
            Figure { unit: Unit::Count, ..per_minute },
            self.figure("deaths beyond 8 tiles from the middle", far, Some(FAR_DEATHS)),
            self.figure("every circle taken twice", twice, Some(ALL_TAKEN_TWICE)),
            self.figure("two or more lead changes", changed, Some(HARD_LEAD_CHANGES)),
            self.seconds("length, median", length, Some(HARD_LENGTH_S)),
        ]
    }

    /// The value of each match that has one.
    fn each(&self, of: impl Fn(&BoutResult) -> Option<f64>) -> Vec<f64> {
        self.results.iter().filter_map(of).collect()
    }

    /// The share of matches in which something is so.
    fn share_of(&self, is_so: impl Fn(&BoutResult) -> bool) -> Estimate {
        Estimate::share(&self.each(|result| Some(f64::from(u8::from(is_so(result))))))
    }

    fn seconds(&self, name: &str, estimate: Estimate, band: Option<[f64; 2]>) -> Figure {
        Figure { unit: Unit::Seconds, ..self.figure(name, estimate, band) }
    }

    fn figure(&self, name: impl Into<String>, estimate: Estimate, band: Option<[f64; 2]>) -> Figure {
        Figure {
            suite: self.line.suite,
            map: self.line.map.name.clone(),
            line: self.line.name.clone(),
            name: name.into(),
            unit: Unit::Share,
            matches: self.results.len(),
            estimate,
            band,
        }
    }

    /// The share of the side that stands at `side` in the line-up, wherever it sits.
    fn side_share(&self, side: usize) -> Estimate {
        self.share(&self.side_points(side))
    }

    fn side_points(&self, side: usize) -> Vec<f64> {
        let of = |(index, result)| points(result, self.line.line_up(index)[side].team, self.teams());
        (0..).zip(self.results).map(of).collect()
    }

    /// The share of wins of the player in `seat`.
    fn seat_share(&self, seat: usize) -> Estimate {
        self.share(&self.seat_points(seat))
    }

    fn seat_points(&self, seat: usize) -> Vec<f64> {
        let of = |(index, result)| points(result, self.line.seated(index)[seat].team, self.teams());
        (0..).zip(self.results).map(of).collect()
    }

    fn share(&self, points: &[f64]) -> Estimate {
        if self.line.is_paired {
            Estimate::grouped_share(points, self.line.seats())
        } else {
            Estimate::share(points)
        }
    }

    fn teams(&self) -> usize {
        let mut teams: Vec<u8> = self.line.line_ups[0].iter().map(|seat| seat.team).collect();
        teams.sort_unstable();
        teams.dedup();
        teams.len()
    }
}

/// What a match is worth to a team: 1 if it won, an equal part of 1 if nobody did.
fn points(result: &BoutResult, team: u8, teams: usize) -> f64 {
    match result.winner {
        Some(winner) if winner == team => 1.0,
        Some(_) => 0.0,
        None => 1.0 / teams as f64,
    }
}

const _: () = assert!(LEADER_AT_S == 120 && FAR_TILES == 8, "the report says 2:00 and 8 tiles");
