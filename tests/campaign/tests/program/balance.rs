//! `campaign balance`: matches between bots by the thousand, and what they show.

use crate::arena::{Arena, Ended, run};
use bot::{BotLevel, Style};
use campaign::balance::*;
use game::data;
use sim::*;
use std::path::Path;
use std::sync::Arc;

const SWORDSMAN: KindId = KindId(0);
const ARCHER: KindId = KindId(1);

/// A map for four that a quarter of a turn leaves as it is. Seats 0 and 1 face each other.
const FOUR: &str = "name = \"four\"\nsize = [44, 44]\n\
    bases = [[-16, 0], [16, 0], [0, -16], [0, 16]]\n\
    circles = [[0, 0], [9, 9], [-9, 9], [-9, -9], [9, -9]]\n";

fn options(matches: u32, suite: Suite) -> BalanceOptions {
    BalanceOptions {
        matches,
        seed: 5,
        jobs: 2,
        tick_rate: TickRate::new(30).expect("allowed"),
        rules: data::rules("standard").expect("built in"),
        maps: vec![data::map("duel").expect("built in")],
        suites: vec![suite],
        pairs: false,
        bot: None,
    }
}

fn four() -> Arc<Map> {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("four.toml");
    std::fs::write(&file, FOUR).expect("written");
    data::map(file.to_str().expect("text")).expect("a valid map")
}

fn seat(hero: KindId, level: BotLevel, key: u8) -> BoutSeat {
    BoutSeat { hero, team: key, player: BoutPlayer::Bot(level), style: Style::default(), key: PlayerId(key) }
}

fn bout(map: Arc<Map>, seed: u64, seats: &[BoutSeat]) -> Bout {
    Bout {
        seed,
        tick_rate: TickRate::HZ_60,
        rules: data::rules("standard").expect("built in"),
        map,
        seats: seats.iter().copied().collect(),
    }
}

#[test]
fn the_report_depends_on_its_options_alone() {
    let play = |jobs, seed| {
        let options = BalanceOptions { jobs, seed, ..options(6, Suite::Seats) };
        balance(&options, |over, total| assert!(over <= total && total == 18)).expect("no match breaks down")
    };
    let report = play(1, 5);
    assert_eq!(report, play(1, 5));
    assert_eq!(report, play(2, 5));
    assert_ne!(report.ticks, play(2, 6).ticks);
    assert_eq!(report.matches, 18);
}

/// Keys, heroes and levels change seats: the match turns with them and is otherwise the same.
#[test]
fn swapping_the_sides_mirrors_the_match() {
    let mut winners = [0; 2];
    for map in ["standard", "duel"] {
        for seed in 1..=6 {
            let heroes = [[SWORDSMAN, SWORDSMAN], [SWORDSMAN, ARCHER], [ARCHER, ARCHER]][seed as usize % 3];
            let level = [BotLevel::Normal, BotLevel::Hard][seed as usize % 2];
            let sides = [seat(heroes[0], level, 0), seat(heroes[1], level, 1)];
            let play = |seats: &[BoutSeat]| bout(data::map(map).expect("built in"), seed, seats).play();
            let (one, other) = (play(&sides), play(&[sides[1], sides[0]]));
            assert_eq!(one, other, "seed {seed} on {map}: {heroes:?}, {level:?}");
            if let Some(winner) = one.winner {
                winners[usize::from(winner)] += 1;
            }
        }
    }
    assert!(winners.iter().all(|&wins| wins > 0), "luck never changed sides: {winners:?}");
}

#[test]
fn pairs_give_each_seat_its_exact_share() {
    let report = balance(&BalanceOptions { pairs: true, ..options(3, Suite::Seats) }, |_, _| {});
    let report = report.expect("no match breaks down");
    // An odd number of matches is made even.
    assert!(report.lines.iter().all(|line| line.matches == 4));
    let shares = report.figures.iter().filter(|figure| figure.name == "seat 0 wins");
    let shares: Vec<_> = shares.map(|figure| (figure.estimate.value, figure.estimate.interval)).collect();
    assert_eq!(shares, [(Some(0.5), Some([0.5, 0.5])); 4]);
}

/// A quarter of a turn is the same match, too.
#[test]
fn turning_four_seats_gives_each_its_exact_share() {
    let options = BalanceOptions { pairs: true, maps: vec![four()], ..options(8, Suite::Seats) };
    let report = balance(&options, |_, _| {}).expect("no match breaks down");
    for (line, share) in [("2 v 2, opposite", 0.5), ("2 v 2, side by side", 0.5), ("each of 4 alone", 0.25)] {
        let figures: Vec<_> = report.figures.iter().filter(|figure| figure.line == line).collect();
        assert_eq!(figures.len(), 4);
        for figure in figures {
            let exact = Estimate { value: Some(share), interval: Some([share; 2]) };
            assert_eq!(figure.estimate, exact, "{line}: {}", figure.name);
        }
    }
}

#[test]
fn four_seats_play_alone_and_in_teams() {
    for teams in [[0, 1, 2, 3], [0, 0, 1, 1], [0, 1, 0, 1]] {
        let side =
            |(key, &team): (usize, &u8)| BoutSeat { team, ..seat(SWORDSMAN, BotLevel::Normal, key as u8) };
        let sides: Vec<BoutSeat> = teams.iter().enumerate().map(side).collect();
        let result = bout(four(), 3, &sides).play();
        assert_ne!(result.outcome, Outcome::Running, "{teams:?}");
        assert!(result.winner.is_none_or(|winner| teams.contains(&winner)), "{teams:?}: {result:?}");
        assert!(result.drama.first_damage.is_some(), "{teams:?}: {result:?}");
    }
}

/// The bots are asked and answered as in [`game::Match`].
#[test]
fn a_bout_is_the_match_that_two_processes_play() {
    let home = tempfile::tempdir().expect("a folder");
    let fixed = ["--headless", "--json", "--bot=hard", "--input-delay=6", "--record=off"];
    let mut words = vec!["host", "--port=0", "--no-discovery", "--seed=7", "--ticks=1200", "--hero=archer"];
    words.extend(fixed);
    let host = Arena::run(home.path(), &words);
    let address = format!("127.0.0.1:{}", host.port());
    let mut words = vec!["join", &address];
    words.extend(fixed);
    let guest = run(home.path(), &words);
    let sides = [seat(ARCHER, BotLevel::Hard, 0), seat(SWORDSMAN, BotLevel::Hard, 1)];
    let mut bout = BoutRun::new(&bout(data::map("standard").expect("built in"), 7, &sides));
    for _ in 0..1_200 {
        bout.step();
    }
    assert!(bout.world().state().players.commands.iter().all(|&commands| commands > 20));
    let hash = format!("{:016x}", bout.world().hash().whole);
    assert_eq!([&host.end().json()["state_hash"], &guest.json()["state_hash"]], [hash.as_str(); 2]);
}

fn play(home: &Path, words: &[&str]) -> Ended {
    let words = [&["balance", "--matches=2", "--map=duel", "--tick-rate=30"], words].concat();
    crate::campaign(home, &words)
}

#[test]
fn json_is_one_value_with_figures_and_lines() {
    let home = tempfile::tempdir().expect("a folder");
    let ended = play(home.path(), &["--json", "--suite=levels", "--seed=9"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = ended.json();
    assert_eq!((json["matches"].as_u64(), json["tick_rate"].as_u64()), (Some(14), Some(30)));
    for key in ["ticks", "seconds", "matches_per_s", "x_real_time", "seed"] {
        assert!(json[key].is_number(), "{key}");
    }
    let figure = &json["figures"][0];
    assert_eq!(figure["suite"], "levels");
    assert_eq!(figure["line"], "hard v normal");
    assert_eq!(figure["band"], serde_json::json!([0.8, 1.0]));
    assert!(
        figure["value"].is_number() && figure["interval"][1].is_number() && figure["verdict"].is_string()
    );
    assert_eq!(json["lines"][0]["matches"], 2);
    // Its own block of seeds, wherever the sweep began.
    assert_eq!(json["lines"][1]["first_seed"].as_u64(), Some(24_000_009));
    let text = play(home.path(), &["--suite=levels"]).stdout;
    assert!(text.contains("95 % interval") && text.contains("x real time"), "{text}");
}

#[test]
fn a_map_for_four_compares_its_seats() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("four.toml");
    std::fs::write(&file, FOUR).expect("written");
    let map = format!("--map={}", file.display());
    let words = ["balance", "--matches=1", "--suite=all", "--tick-rate=30", "--json", &map];
    let json = crate::campaign(home.path(), &words).json();
    let figures = json["figures"].as_array().expect("a list");
    let of = |line: &str| figures.iter().filter(|figure| figure["line"] == line).count();
    assert_eq!(crate::campaign(home.path(), &["balance", "--suite=levels", &map]).code, Some(2));
    assert_eq!((of("2 v 2, opposite"), of("each of 4 alone"), of("each of 3 alone")), (4, 4, 3));
}

#[test]
fn a_check_fails_with_a_figure_outside_its_band() {
    let home = tempfile::tempdir().expect("a folder");
    // Matches that never end.
    let words = ["--rules=endless", "--suite=levels", "--json"];
    let ended = play(home.path(), &words);
    assert_eq!((ended.code, &ended.json()["verdict"]), (Some(0), &"fails".into()));
    assert_eq!(play(home.path(), &[&words[..], &["--check"]].concat()).code, Some(1));
    assert_eq!(play(home.path(), &["--suite=levels", "--check"]).code, Some(0));
}

#[test]
fn wrong_use_is_reported_in_one_line() {
    let home = tempfile::tempdir().expect("a folder");
    for word in [
        "--matches=0",
        "--suite=none",
        "--map=nowhere",
        "--rules=nowhere",
        "--tick-rate=59",
        "--jobs=0",
        "--seed=x",
    ] {
        let ended = crate::campaign(home.path(), &["balance", word]);
        assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 1), "{word}: {ended:?}");
        assert_eq!(ended.stdout, "", "{word}");
    }
}

#[test]
fn newcomers_have_time_and_win_once_they_train() {
    let maps = vec![data::map("standard").expect("built in"), data::map("duel").expect("built in")];
    let options = BalanceOptions { maps, ..options(8, Suite::Newcomers) };
    let report = balance(&options, |_, _| {}).expect("played");
    let judged: Vec<&Figure> = report.figures.iter().filter(|figure| figure.band.is_some()).collect();
    // Against easy one for each; against normal the share of one who walks, and three comparisons; the shares of two groups
    // against five levels; and that all end.
    assert_eq!(judged.len(), 2 * (4 + 1 + 3 + 5) + 1);
    for figure in judged {
        // Gains take hundreds of matches to tell.
        let holds = figure.name.starts_with("more") || figure.verdict() != Some(Verdict::Fails);
        assert!(holds && figure.estimate.value.is_some(), "{figure:?}");
    }
}
